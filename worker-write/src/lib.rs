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
mod failure;
pub mod git;
pub mod guard;
mod jail;
pub mod leftover;
pub mod lock;
pub mod operations;
pub mod operator;
pub mod programs;
pub mod reach;
mod repo;
pub mod restore;
mod serve;
mod settings;
mod standing;

pub use serve::{Perform, run};
