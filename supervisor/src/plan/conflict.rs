//! Questions of repo.conflictPreflight and conflict.read.
//! Trust: see the module above.

use super::{Room, number};
use bulkhead_contract::{
    args::Checked,
    limits::{CONFLICT_BYTES_PER_SIDE, CONFLICT_FILES, MAX_CONFLICT_CHARS},
};
use bulkhead_ipc::edge::{asks, read::Ask};

/// What `tool` asks; `None` for a tool of another family.
pub(super) fn ask(tool: &str, checked: &Checked<'_>, room: Room) -> Option<Ask> {
    match tool {
        "repo.conflictPreflight" => Some(Ask::Preflight(asks::Preflight {
            current: checked.text("currentRef").unwrap_or("HEAD").to_owned(),
            target: checked.text("targetRef")?.to_owned(),
            rebase: checked.text("operation") == Some("rebase"),
            chars: room.chars(false),
        })),
        "conflict.read" => {
            let max_files = number(checked, "maxFiles")?;
            let max_bytes_per_side = number(checked, "maxBytesPerSide")?;
            let chars = room.chars(max_files > CONFLICT_FILES.0);
            Some(Ask::Conflict(asks::Conflict {
                max_files,
                max_bytes_per_side,
                // who asks for longer sides wants to see them; three of them are a file
                chars: if max_bytes_per_side > CONFLICT_BYTES_PER_SIDE.0 {
                    let most = u32::try_from(MAX_CONFLICT_CHARS).unwrap_or(u32::MAX);
                    chars.max(max_bytes_per_side.saturating_mul(3)).min(most)
                } else {
                    chars
                },
                cursor: checked.text("cursor").map(str::to_owned),
            }))
        }
        _ => None,
    }
}
