//! The process that reads one repository: found inside its jail, opened once, kept warm, and never written to.
//! Trust: the path is a caller's and every byte of the repository is hostile; nothing read here runs, or is followed out.
//!
//! [`run`] is the whole of it. In order of a call: [`serve`] hears it, [`place`] checks that it means this repository,
//! [`repo`] is brought up to date, [`answers`] composes the answer of [`status`], [`refs`], [`history`] and the rest.
//! For a run directory in place of a repository, [`run_dir`] is the way in and [`records`] answers.
//! The worktree side is in [`worktree`], the staged side in [`staged`]; [`discover`] and [`open`] are the only ways in.
#![forbid(unsafe_code)]

pub mod ahead_behind;
pub mod answers;
pub mod aside;
mod blame;
pub mod branch_stack;
pub mod changes;
pub mod codeowners;
mod commit;
mod commit_graph;
pub mod crew;
pub mod detached;
pub mod diff;
pub mod digest;
pub mod discover;
pub mod files;
pub mod hearing;
pub mod history;
pub mod index;
pub mod jail;
pub mod memory;
pub mod merge;
pub mod open;
pub mod open_beneath;
pub mod operation;
pub mod operator_config;
pub mod pace;
pub mod place;
pub mod probe;
mod raw_index;
pub mod records;
pub mod reflog;
pub mod refs;
pub mod renames;
pub mod repo;
pub mod revision;
pub mod run_dir;
pub mod scope;
pub mod serve;
pub mod settings;
pub mod staged;
pub mod stash;
pub mod status;
pub mod submodules;
pub(crate) mod timeline;
pub mod unmerged;
pub mod userdiff;
pub mod walk;
pub mod worktree;
pub mod worktrees;

pub use serve::run;
