//! The process that changes a repository: it runs Git, each time in a jail that holds that repository and no shell.
//! Trust: operations are an agent's; the repository, its configuration and what Git says of it are anybody's, and Git may
//! be taken over by what it reads.
//!
//! A process of its own for each operation, since what it may reach depends on the operation: a worktree lies beside the
//! repository, a `file` remote somewhere beneath the roots. `serve` holds the conversation, `reach` says which paths and
//! ports an operation needs, `jail` closes the process around them, `git` runs the program; `operations` goes from an
//! operation to its outcome, `guard` undoes what nobody asked for, `restore` keeps what was there before. `programs` and
//! `operator` are for the front door, which asks once, at start, what there is to run and by whom.
#![forbid(unsafe_code)]

mod asked;
mod bounded;
#[cfg(unix)]
mod call;
#[cfg(unix)]
mod clear;
pub mod git;
mod jail;
pub mod operator;
pub mod programs;
pub mod reach;
mod serve;
mod text;

#[cfg(unix)]
mod failure;
#[cfg(unix)]
pub mod guard;
#[cfg(unix)]
mod hooks;
#[cfg(unix)]
pub mod leftover;
#[cfg(unix)]
pub mod lock;
#[cfg(unix)]
pub mod operations;
#[cfg(unix)]
mod place;
#[cfg(unix)]
mod repo;
#[cfg(unix)]
pub mod restore;
#[cfg(unix)]
mod settings;
#[cfg(unix)]
mod standing;
#[cfg(unix)]
mod store;

#[cfg(not(unix))]
#[path = "elsewhere.rs"]
pub mod operations;

pub use serve::{Perform, run};
