//! Questions of diff.text and commit.details.
//! Trust: see the module above.

use super::{Room, number};
use bulkhead_contract::{args::Checked, limits::DEFAULT_COMMIT_PATHS};
use bulkhead_ipc::edge::{asks, read::Ask};
use serde_json::Value;

/// What `tool` asks; `None` for a tool of another family.
pub(super) fn ask(tool: &str, checked: &Checked<'_>, room: Room) -> Option<Ask> {
    match tool {
        "diff.text" => Some(Ask::TextDiff(asks::TextDiff {
            compared: compared(checked),
            repo_path: checked.text("repoPath")?.to_owned(),
            paths: checked.list("paths").iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            staged: checked.boolean("staged")?,
            context: Some(number(checked, "context")?),
            ignore_whitespace: checked.boolean("ignoreWhitespace")?,
            stat: checked.boolean("stat")?,
            max_bytes: number(checked, "maxBytes")?,
            max_lines: number(checked, "maxLines"),
            page: room.page(checked, DEFAULT_COMMIT_PATHS)?,
        })),
        "commit.details" => Some(Ask::CommitDetails(asks::CommitDetails {
            commit: checked.text("commit")?.to_owned(),
            page: room.page(checked, DEFAULT_COMMIT_PATHS)?,
        })),
        _ => None,
    }
}

pub(super) fn compared(checked: &Checked<'_>) -> asks::Compared {
    let text = |name| checked.text(name).map(str::to_owned);
    asks::Compared { base: text("base"), head: text("head"), path: text("path"), uncommitted: false }
}
