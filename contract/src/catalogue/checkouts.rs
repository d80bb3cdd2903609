//! Rows of worktree.list and submodule.status (contract `tools.json`, `results.md`, corrected by `corrections.md`).
//! Trust: constants.

use crate::tool::Tool;

/// This family.
pub(super) const TOOLS: &[Tool] = &[];
