//! Questions of worktree.list and submodule.status.
//! Trust: see the module above.

use super::Room;
use bulkhead_contract::args::Checked;
use bulkhead_ipc::edge::read::Ask;

/// What `tool` asks; `None` for a tool of another family.
pub(super) fn ask(tool: &str, _checked: &Checked<'_>, _room: Room) -> Option<Ask> {
    match tool {
        _ => None,
    }
}
