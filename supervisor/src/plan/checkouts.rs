//! Questions of worktree.list and submodule.status.
//! Trust: see the module above.

use super::Room;
use bulkhead_contract::{
    args::Checked,
    limits::{MAX_SUBMODULES, MAX_WORKTREES},
};
use bulkhead_ipc::edge::{
    asks,
    read::{Ask, Page},
};

/// What `tool` asks; `None` for a tool of another family.
pub(super) fn ask(tool: &str, checked: &Checked<'_>, room: Room) -> Option<Ask> {
    let page = |limit: usize| Page {
        limit: u32::try_from(limit).unwrap_or(u32::MAX),
        chars: room.chars(false),
        cursor: checked.text("cursor").map(str::to_owned),
    };
    match tool {
        "worktree.list" => Some(Ask::Worktrees(asks::Worktrees { page: page(MAX_WORKTREES) })),
        "submodule.status" => {
            let path = checked.text("path").map(str::to_owned);
            Some(Ask::Submodules(asks::Submodules { path, page: page(MAX_SUBMODULES) }))
        }
        _ => None,
    }
}
