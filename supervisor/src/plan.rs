//! Checked arguments to the question that a worker is asked.
//! Trust: arguments fit their tool's rows; texts among them are still the caller's and are passed on unread.

use crate::reads::Question;
use bulkhead_contract::{
    args::Checked,
    canonical,
    limits::{DEFAULT_ANSWER_CHARS, DEFAULT_STATUS_ROWS, MAX_ANSWER_CHARS},
    tool::Tool,
};
use bulkhead_ipc::edge::read::{Ask, Page};
use serde_json::Value;

/// Characters of an answer that are not its rows: the envelope without `repoPath`, and the fields around a list.
const ENVELOPE_CHARS: usize = 1_000;

/// The question that `tool` asks with these arguments; `None` for a tool that no worker answers.
#[must_use]
pub fn question(tool: &Tool, checked: &Checked<'_>, arguments: &Value) -> Option<Question> {
    let path = checked.text("repoPath")?.to_owned();
    let ask = match tool.name {
        "repo.brief" => Ask::Brief { recent_commits: number(checked, "recentCommits")? },
        "repo.status" => Ask::Status(page(checked, &path)?),
        "worktree.changes" => Ask::Changes(page(checked, &path)?),
        _ => return None,
    };
    let fingerprint = canonical::digest([&Value::from(tool.name), arguments]);
    Some(Question { path, ask, fingerprint })
}

fn page(checked: &Checked<'_>, path: &str) -> Option<Page> {
    let limit = number(checked, "limit")?;
    // who asks for more rows than usual also gets more room for them
    let budget = if limit > DEFAULT_STATUS_ROWS { MAX_ANSWER_CHARS } else { DEFAULT_ANSWER_CHARS };
    let chars = budget.saturating_sub(ENVELOPE_CHARS + path.chars().count()).max(budget / 2);
    Some(Page { limit, chars: u32::try_from(chars).ok()?, cursor: checked.text("cursor").map(str::to_owned) })
}

fn number(checked: &Checked<'_>, name: &str) -> Option<u32> {
    checked.integer(name).and_then(|number| u32::try_from(number).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_contract::{args, catalogue};
    use serde_json::json;

    fn plan(name: &str, arguments: &Value) -> Question {
        let tool = catalogue::find(name).expect("the tool has a row");
        let checked = args::check(tool, arguments).expect("the arguments fit");
        question(tool, &checked, arguments).expect("the tool has a question")
    }

    #[test]
    fn every_tool_has_a_question() {
        for tool in catalogue::TOOLS {
            assert_eq!(plan(tool.name, &json!({"repoPath": "/w"})).path, "/w", "{}", tool.name);
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
