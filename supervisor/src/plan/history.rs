//! Questions of repo.history.
//! Trust: see the module above.

use super::Room;
use bulkhead_contract::{args::Checked, limits::HISTORY_COMMITS};
use bulkhead_ipc::edge::{asks, read::Ask};

/// What `tool` asks; `None` for a tool of another family.
pub(super) fn ask(tool: &str, checked: &Checked<'_>, room: Room) -> Option<Ask> {
    if tool != "repo.history" {
        return None;
    }
    let text = |name| checked.text(name).map(str::to_owned);
    Some(Ask::History(asks::History {
        page: room.page(checked, HISTORY_COMMITS.0)?,
        only: Box::new(asks::Commits {
            range: text("range"),
            path: text("path"),
            follow: checked.boolean("follow")?,
            author: text("author"),
            grep: text("grep"),
            since: text("since"),
            until: text("until"),
        }),
    }))
}
