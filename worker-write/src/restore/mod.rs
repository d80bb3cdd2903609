//! Restore points: what HEAD, index, working tree and untracked files were before an operation, as refs of our own.
//! Trust: the refs may have been made by anybody; a point is taken only if it reads as one of ours does.
//!
//! `refs/bulkhead/restore/<id>/` holds up to five names. Contents are raw bytes: no filter and no conversion of line ends
//! takes part, neither here nor on the way back.
//!
//! * `head`: the commit that HEAD was at; missing on an unborn branch.
//! * `index`: a commit whose tree holds `index` (the file itself, which alone keeps all of it: stages, intents to add,
//!   flags), `tree` (all entries that are merged) and `unmerged` (objects of the others), so that nothing of it is
//!   collected as garbage.
//! * `worktree`: a commit of all tracked files as they lie in the working tree.
//! * `untracked`: a commit of files that are neither tracked nor ignored; missing where there are none, or where there are
//!   more than [`MAX_UNTRACKED`] or more bytes than [`MAX_UNTRACKED_BYTES`].
//! * `tip`: what a branch or tag named that the operation deletes or moves.
//!
//! The shared stash is never touched. Points belong to one working tree, whose path is in their message.

mod back;
mod by_git;
mod disk;
mod in_process;
mod list;
mod make;
mod untracked;
mod when;

pub(crate) use back::back;
pub(crate) use list::points;
use make::Ready;
pub(crate) use make::{all_kept, make, make_unless, nothing_lost};
pub(crate) use untracked::begin as begin_to_list;

pub use bulkhead_contract::direct::point::PREFIX;
pub(crate) use bulkhead_contract::direct::point::{Message, NOTHING};

/// Points of one repository that are kept; making another one removes the oldest.
pub const MAX_POINTS: usize = 100;
/// Untracked files that a point holds at most.
pub const MAX_UNTRACKED: usize = 5_000;
/// Bytes of untracked files that a point holds at most.
pub const MAX_UNTRACKED_BYTES: u64 = 64 << 20;
