//! Result types of every tool: the `data` member of the envelope, field by field (contract `results.md`).
//! Trust: filled by workers from hostile repositories; texts in them are data and are only ever rendered as JSON strings.

mod brief;
mod status;

pub use brief::{
    Brief, BriefHead, BriefSubmodules, BriefWorkingTree, Conventions, Operation, RecentCommit, SubmoduleRow,
    SubmoduleState,
};
pub use status::{Changes, ChangesTotals, Partial, Status, StatusRow};
