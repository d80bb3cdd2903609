//! Which of the two families of tools a server has, and which tool a name means there.
//! Trust: names come from callers and are only compared.

use super::{TOOLS, find, meant};
use crate::{direct, nearest::nearest, tool::Tool};

/// What a server serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Surface {
    /// Dotted tools on any repository beneath the roots.
    #[default]
    Review,
    /// `repo_*` tools on one repository.
    Direct,
    /// Both. A name that both have, where dots and underscores are the same, means the direct one.
    Both,
}

/// What stands before the name of a review tool where only its underscores would tell it from a direct one.
const REVIEW: &str = "review_";

/// The tool whose row has exactly this name, on either surface.
#[must_use]
pub fn row(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().chain(direct::TOOLS).find(|tool| tool.name == name)
}

impl Surface {
    /// Its tools, in the order in which they are listed.
    pub fn tools(self) -> impl Iterator<Item = &'static Tool> {
        let review = if self == Surface::Direct { &[] } else { TOOLS };
        let direct = if self == Surface::Review { &[] } else { direct::TOOLS };
        direct.iter().chain(review)
    }

    /// The tool that a caller names.
    #[must_use]
    pub fn find(self, name: &str) -> Option<&'static Tool> {
        let direct = || direct::TOOLS.iter().find(|tool| tool.name == name);
        match self {
            Surface::Review => find(name),
            Surface::Direct => direct(),
            Surface::Both => direct().or_else(|| find(name)).or_else(|| find(name.strip_prefix(REVIEW)?)),
        }
    }

    /// How a host that refuses dots is shown the name of `tool`.
    #[must_use]
    pub fn underscored(self, tool: &Tool) -> String {
        let name = tool.underscored();
        let taken = self == Surface::Both && !tool.is_direct() && direct::TOOLS.iter().any(|other| other.name == name);
        if taken { format!("{REVIEW}{name}") } else { name }
    }

    /// Name of the tool that a caller probably meant.
    #[must_use]
    pub fn meant(self, name: &str) -> Option<&'static str> {
        match self {
            Surface::Review => meant(name),
            Surface::Direct | Surface::Both => {
                let direct = nearest(name, direct::TOOLS.iter().map(|tool| tool.name));
                direct.or_else(|| meant(name).filter(|_| self == Surface::Both))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn found(surface: Surface, name: &str) -> Option<&'static str> {
        surface.find(name).map(|tool| tool.name)
    }

    #[test]
    fn a_name_means_one_tool() {
        assert_eq!(found(Surface::Review, "repo_status"), Some("repo.status"));
        assert_eq!(found(Surface::Direct, "repo_status"), Some("repo_status"));
        assert_eq!(found(Surface::Direct, "repo.status"), None);
        assert_eq!(found(Surface::Both, "repo_status"), Some("repo_status"));
        assert_eq!(found(Surface::Both, "repo.status"), Some("repo.status"));
        assert_eq!(found(Surface::Both, "repo_brief"), Some("repo.brief"));
        assert_eq!(found(Surface::Both, "review_repo_status"), Some("repo.status"));
        assert_eq!(row("repo_status").map(|tool| tool.is_direct()), Some(true));
        assert_eq!(row("repo_brief").map(|tool| tool.name), None);
    }

    #[test]
    fn every_listed_name_leads_to_its_tool_and_no_two_are_alike() {
        for surface in [Surface::Review, Surface::Direct, Surface::Both] {
            let mut seen = HashSet::new();
            for tool in surface.tools() {
                for name in [tool.name.to_owned(), surface.underscored(tool)] {
                    assert_eq!(found(surface, &name), Some(tool.name));
                }
                assert!(seen.insert(surface.underscored(tool).to_ascii_lowercase()), "{}", tool.name);
            }
        }
    }

    #[test]
    fn a_typo_finds_its_tool() {
        assert_eq!(Surface::Direct.meant("repo_stauts"), Some("repo_status"));
        assert_eq!(Surface::Direct.meant("worktree.changes"), None);
        assert_eq!(Surface::Both.meant("worktree.change"), Some("worktree.changes"));
    }

    #[test]
    fn direct_rows_read_as_the_others_do() {
        for tool in direct::TOOLS {
            assert!(tool.description.starts_with("Call "), "{}", tool.name);
            assert!(tool.name.len() <= 40 && tool.description.chars().count() <= 400, "{}", tool.name);
        }
    }
}
