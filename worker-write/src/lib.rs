//! Writes in one repository: branches, commits, rebases, remotes, by running Git, with a way back from each.
//! Trust: operations are an agent's; the repository, its configuration and what Git says of it are anybody's.
//!
//! A process of its own for each operation. `operations` goes from an operation to its outcome; `guard` undoes what
//! nobody asked for; `restore` keeps what was there before.
#![forbid(unsafe_code)]

mod failure;
pub mod git;
pub mod guard;
pub mod leftover;
pub mod lock;
pub mod operations;
mod repo;
pub mod restore;
mod settings;
mod standing;
