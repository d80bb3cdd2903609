//! Checked arguments to the work that a call is: one file per family of tools.
//! Trust: arguments fit their tool's rows; texts among them are still the caller's and are passed on unread.

mod checkouts;
mod conflict;
mod diff;
mod history;
mod refs;
mod safety;
mod scope;

use crate::{
    company::{Asker, Company},
    fleet,
    proposals::{One, Proposal},
    reads::Question,
    safety as records, semantic,
    work::Work,
};
use bulkhead_contract::{
    args::Checked,
    canonical,
    limits::{DEFAULT_ANSWER_CHARS, DEFAULT_STATUS_ROWS, MAX_ANSWER_CHARS, SEMANTIC_FILES},
    tool::{Tool, Toolset},
};
use bulkhead_ipc::edge::{
    asks,
    read::{Ask, Page},
};
use serde_json::Value;

/// Characters of an answer that are not its rows: the envelope without `repoPath`, and the fields around a list.
const ENVELOPE_CHARS: usize = 1_000;

/// How much room an answer has.
#[derive(Debug, Clone, Copy)]
struct Room {
    /// Characters that the envelope and `repoPath` take.
    envelope: usize,
}

impl Room {
    fn of(path: &str) -> Self {
        Self { envelope: ENVELOPE_CHARS + path.chars().count() }
    }

    /// Characters that rows may take. `raised` says that the caller asked for more rows than usual, which gets more room.
    fn chars(self, raised: bool) -> u32 {
        let budget = if raised { MAX_ANSWER_CHARS } else { DEFAULT_ANSWER_CHARS };
        u32::try_from(budget.saturating_sub(self.envelope).max(budget / 2)).unwrap_or(u32::MAX)
    }

    /// The page that `limit` and `cursor` ask for; `usual` is the limit's default.
    fn page(self, checked: &Checked<'_>, usual: u32) -> Option<Page> {
        let limit = number(checked, "limit")?;
        let cursor = checked.text("cursor").map(str::to_owned);
        Some(Page { limit, chars: self.chars(limit > usual), cursor })
    }
}

/// The work that a call of `tool` with these arguments is; `None` for a tool that nothing answers.
#[must_use]
pub fn work(tool: &'static Tool, checked: &Checked<'_>, arguments: &Value) -> Option<Work> {
    let fingerprint = canonical::digest([&Value::from(tool.name), arguments]);
    match tool.toolset {
        Toolset::Fleet => return fleet::Fleet::plan(tool.name, checked, fingerprint).map(Work::Fleet),
        Toolset::Propose if tool.proposes().is_some() => {
            return Proposal::plan(tool, arguments, fingerprint).map(|proposal| Work::Propose(Box::new(proposal)));
        }
        Toolset::Propose => return One::plan(tool, checked).map(Work::One),
        Toolset::Repo | Toolset::Write => return None,
        Toolset::Inspect | Toolset::Safety | Toolset::Agents => {}
    }
    let path = checked.text("repoPath")?.to_owned();
    let room = Room::of(&path);
    if tool.toolset == Toolset::Safety {
        let ask = safety::ask(tool.name, checked, room)?;
        let text = |name| checked.text(name).filter(|text| !text.is_empty()).map(str::to_owned);
        return Some(Work::Safety(records::Safety {
            question: Question { path, ask, fingerprint },
            run_dir: text("runDir"),
            repo_id: text("repoId"),
        }));
    }
    if tool.name == "agents.presence" {
        let question = Question { path, ask: Ask::Traces, fingerprint };
        return Some(Work::Company(Company { question, asker: Asker::default() }));
    }
    if let "diff.semantic" | "diff.semanticFallbacks" = tool.name {
        let asked = diff::compared(checked);
        let cursor = checked.text("cursor").map(str::to_owned);
        let later = cursor.is_some();
        let ask = Ask::Sources(asks::Sources { compared: asked.clone(), files: SEMANTIC_FILES, cursor });
        return Some(Work::Semantic(semantic::Semantic {
            question: Question { path, ask, fingerprint },
            asked,
            later,
            fallbacks: tool.name == "diff.semanticFallbacks",
            chars: room.chars(false) as usize,
            repo_id: checked.text("repoId").filter(|id| !id.is_empty()).map(str::to_owned),
        }));
    }
    let ask = match tool.name {
        "repo.brief" => Ask::Brief { recent_commits: number(checked, "recentCommits")? },
        "repo.status" => Ask::Status(room.page(checked, DEFAULT_STATUS_ROWS)?),
        "worktree.changes" => Ask::Changes(room.page(checked, DEFAULT_STATUS_ROWS)?),
        name => refs::ask(name, checked, room)
            .or_else(|| history::ask(name, checked, room))
            .or_else(|| scope::ask(name, checked, room))
            .or_else(|| diff::ask(name, checked, room))
            .or_else(|| checkouts::ask(name, checked, room))
            .or_else(|| conflict::ask(name, checked, room))?,
    };
    Some(Work::Read(Question { path, ask, fingerprint }))
}

fn number(checked: &Checked<'_>, name: &str) -> Option<u32> {
    checked.integer(name).and_then(|number| u32::try_from(number).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_contract::{args, catalogue, tool::Kind};
    use serde_json::{Map, json};

    fn plan(name: &str, arguments: &Value) -> Question {
        let tool = catalogue::find(name).expect("the tool has a row");
        let checked = args::check(tool, arguments).expect("the arguments fit");
        match work(tool, &checked, arguments).expect("the tool is answered") {
            Work::Read(question) => question,
            other => panic!("one question was expected, not {other:?}"),
        }
    }

    /// The least value that fits.
    fn least_of(kind: &Kind) -> Value {
        match kind {
            Kind::Path => json!("/w"),
            Kind::Text { min, .. } => json!("x".repeat(*min)),
            Kind::Word { max } => json!("x".repeat(*max)),
            Kind::Integer { min, .. } => json!(min),
            Kind::Boolean { .. } => json!(false),
            Kind::OneOf { words, .. } => json!(words[0]),
            Kind::ListOf { item, .. } => json!([least_of(item)]),
            Kind::Object(rows) => {
                let required = rows.iter().filter(|row| row.required);
                required.map(|row| (row.name.to_owned(), least_of(&row.kind))).collect::<Map<_, _>>().into()
            }
        }
    }

    /// The least arguments that fit the rows of `tool`.
    fn least(tool: &Tool) -> Value {
        let alternative = tool.alternatives().first();
        let required =
            tool.arguments.iter().filter(|argument| argument.required || Some(&argument.name) == alternative);
        required.map(|argument| (argument.name.to_owned(), least_of(&argument.kind))).collect::<Map<_, _>>().into()
    }

    #[test]
    fn every_tool_is_answered() {
        for tool in catalogue::TOOLS {
            let arguments = least(tool);
            let checked = args::check(tool, &arguments).expect("the least arguments fit");
            assert!(work(tool, &checked, &arguments).is_some(), "{}", tool.name);
        }
    }

    #[test]
    fn arguments_reach_the_question() {
        assert_eq!(plan("repo.brief", &json!({"repoPath": "/w"})).ask, Ask::Brief { recent_commits: 10 });
        assert_eq!(
            plan("repo.brief", &json!({"repoPath": "/w", "recentCommits": 3})).ask,
            Ask::Brief { recent_commits: 3 }
        );
        let Ask::Status(page) = plan("repo.status", &json!({"repoPath": "/w", "limit": 5, "cursor": "c"})).ask else {
            panic!("repo.status asks for a status");
        };
        assert_eq!((page.limit, page.cursor.as_deref()), (5, Some("c")));
    }

    #[test]
    fn a_page_leaves_room_for_the_envelope() {
        let chars = |arguments| match plan("worktree.changes", &arguments).ask {
            Ask::Changes(page) => page.chars as usize,
            other => panic!("worktree.changes asks for changes, not {other:?}"),
        };
        assert!((30_000..DEFAULT_ANSWER_CHARS).contains(&chars(json!({"repoPath": "/w"}))));
        assert!((60_000..MAX_ANSWER_CHARS).contains(&chars(json!({"repoPath": "/w", "limit": 10_000}))));
        let long = format!("/{}", "d".repeat(32_000));
        assert!(chars(json!({ "repoPath": long })) >= DEFAULT_ANSWER_CHARS / 2);
    }

    #[test]
    fn calls_are_told_apart_by_tool_and_arguments_not_by_their_order() {
        let one: Value = serde_json::from_str(r#"{"repoPath":"/w","limit":5}"#).expect("JSON");
        let two: Value = serde_json::from_str(r#"{"limit":5,"repoPath":"/w"}"#).expect("JSON");
        assert_eq!(plan("repo.status", &one).fingerprint, plan("repo_status", &two).fingerprint);
        assert_ne!(plan("repo.status", &one).fingerprint, plan("worktree.changes", &one).fingerprint);
        assert_ne!(plan("repo.status", &one).fingerprint, plan("repo.status", &json!({"repoPath": "/w"})).fingerprint);
    }
}
