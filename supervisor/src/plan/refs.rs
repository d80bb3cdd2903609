//! Questions of repo.refs, repo.reflog and repo.branchStack.
//! Trust: see the module above.

use super::{Room, number};
use bulkhead_contract::{
    args::Checked,
    limits::{DEFAULT_REFS, REFLOG_ENTRIES},
};
use bulkhead_ipc::edge::{asks, read::Ask};
use serde_json::Value;

/// What `tool` asks; `None` for a tool of another family.
pub(super) fn ask(tool: &str, checked: &Checked<'_>, room: Room) -> Option<Ask> {
    let owned = |name: &str| checked.text(name).map(str::to_owned);
    Some(match tool {
        "repo.refs" => Ask::Refs(asks::Refs {
            kind: owned("kind"),
            pattern: owned("pattern"),
            details: checked.boolean("details")?,
            page: room.page(checked, DEFAULT_REFS)?,
        }),
        "repo.reflog" => Ask::Reflog(asks::Reflog {
            ref_name: owned("refName").unwrap_or_else(|| "HEAD".to_owned()),
            page: room.page(checked, REFLOG_ENTRIES.0)?,
        }),
        "repo.branchStack" => Ask::BranchStack(asks::BranchStack {
            base_candidates: checked
                .list("baseCandidates")
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            max_related: number(checked, "maxRelated")?,
            chars: room.chars(false),
        }),
        _ => return None,
    })
}
