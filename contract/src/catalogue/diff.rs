//! Rows of diff.text, commit.details, diff.semantic and diff.semanticFallbacks (contract `tools.json`, `results.md`, corrected by `corrections.md`).
//! Trust: constants.

use crate::tool::Tool;

/// This family.
pub(super) const TOOLS: &[Tool] = &[];
