//! Result types of every tool: the `data` member of the envelope, field by field (contract `results.md`).
//! Trust: filled by workers from hostile repositories; texts in them are data and are only ever rendered as JSON strings.

mod agents;
mod brief;
mod checkouts;
mod conflict;
mod diff;
mod direct;
mod facts;
mod fleet;
mod history;
mod refs;
mod safety;
mod scope;
mod semantic;
mod status;

pub use agents::*;
pub use brief::{
    Brief, BriefHead, BriefSubmodules, BriefWorkingTree, Conventions, Operation, RecentCommit, SubmoduleRow,
    SubmoduleState,
};
pub use checkouts::*;
pub use conflict::*;
pub use diff::*;
pub use direct::*;
pub use facts::*;
pub use fleet::*;
pub use history::*;
pub use refs::*;
pub use safety::*;
pub use scope::*;
pub use semantic::*;
pub use status::{Changes, ChangesTotals, Partial, Status, StatusRow};
