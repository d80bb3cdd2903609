//! Working trees and submodules are what `git worktree list` and `git submodule status` say, in every state.
//! Trust: the judge is the real git.

#[path = "../support/mod.rs"]
mod support;

mod submodules;
mod worktrees;
