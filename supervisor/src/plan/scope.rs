//! Questions of repo.scope.
//! Trust: see the module above.

use super::{Room, number};
use bulkhead_contract::args::Checked;
use bulkhead_ipc::edge::{asks, read::Ask};

/// What `tool` asks; `None` for a tool of another family.
pub(super) fn ask(tool: &str, checked: &Checked<'_>, _room: Room) -> Option<Ask> {
    if tool != "repo.scope" {
        return None;
    }
    Some(Ask::Scope(asks::Scope {
        path: checked.text("path")?.to_owned(),
        recent_commits: number(checked, "recentCommits")?,
        churn_days: number(checked, "churnDays")?,
    }))
}
