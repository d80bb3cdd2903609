//! The review surface's tools, in the order in which they are listed, and which surfaces a server has.
//! Trust: constants; names looked up here come from callers and are only compared.

mod agents;
#[cfg(test)]
mod agreement;
mod checkouts;
mod conflict;
mod diff;
mod fleet;
mod history;
mod inspect;
mod outcomes;
mod propose;
mod refs;
mod safety;
mod scope;
mod semantic;
mod shared;
mod surface;

pub use outcomes::{COMPLETED, FAILED_STATES, OPEN_STATES};
pub(crate) use outcomes::{OF_ONE, PREVIEW};
pub use surface::{Surface, row};

use crate::{
    nearest::nearest,
    tool::{self, Tool},
};

/// The families in the order of the list.
const FAMILIES: &[&[Tool]] = &[
    inspect::TOOLS,
    refs::TOOLS,
    history::TOOLS,
    scope::TOOLS,
    diff::TOOLS,
    semantic::TOOLS,
    checkouts::TOOLS,
    conflict::TOOLS,
    fleet::TOOLS,
    safety::TOOLS,
    agents::TOOLS,
    propose::TOOLS,
];

/// Every tool of the review surface.
pub static TOOLS: &[Tool] = &tool::joined::<{ tool::count(FAMILIES) }>(FAMILIES);

/// The review surface's tool of that name, in either spelling.
#[must_use]
pub fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name || same_but_for_dots(tool.name, name))
}

/// Contract name of the tool that a caller probably meant.
#[must_use]
pub fn meant(name: &str) -> Option<&'static str> {
    nearest(&name.replace('_', "."), TOOLS.iter().map(|tool| tool.name))
}

fn same_but_for_dots(dotted: &str, name: &str) -> bool {
    dotted.len() == name.len() && dotted.bytes().zip(name.bytes()).all(|(d, n)| n == if d == b'.' { b'_' } else { d })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn both_spellings_lead_to_the_row() {
        for name in ["repo.status", "repo_status"] {
            assert_eq!(find(name).map(|tool| tool.name), Some("repo.status"));
        }
        for name in ["repo-status", "Repo.status", "repo.statu", "repo.status ", ""] {
            assert!(find(name).is_none(), "{name}");
        }
    }

    #[test]
    fn names_fit_every_known_host_and_stay_apart() {
        let mut seen = HashSet::new();
        for tool in TOOLS {
            let spelled = tool.underscored();
            // 64 characters is the least limit of a host, and the prefix `mcp__bulkhead__` counts
            assert!(spelled.len() <= 40, "{spelled} is too long for hosts that add a prefix");
            assert!(spelled.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{spelled}");
            assert!(seen.insert(spelled.to_ascii_lowercase()), "{spelled} twice");
        }
    }

    #[test]
    fn descriptions_say_when_to_call() {
        for tool in TOOLS {
            let first = tool.description.split(". ").next().unwrap_or_default();
            assert!(first.starts_with("Call "), "{}: {first}", tool.name);
            assert!(tool.description.chars().count() <= 700, "{}", tool.name);
        }
    }

    #[test]
    fn a_typo_finds_its_tool() {
        assert_eq!(meant("repo_stauts"), Some("repo.status"));
        assert_eq!(meant("worktree.change"), Some("worktree.changes"));
        assert_eq!(meant("zzz"), None);
    }
}
