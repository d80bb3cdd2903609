//! What the integration tests share: a hermetic place, repositories, raw Git formats, and the server as a client sees it.
//! Trust: test code; what the server prints is checked line by line and never believed.
#![allow(dead_code, unused_imports, reason = "every test file uses its own part of this")]

#[cfg(target_os = "linux")]
pub mod auditor;
pub mod calls;
pub mod dice;
pub mod direct;
#[cfg(unix)]
pub mod direct_repository;
pub mod fixtures;
pub mod gateway;
#[cfg(unix)]
pub mod hostile;
pub mod index;
#[cfg(target_os = "linux")]
pub mod layers;
pub mod objects;
pub mod outcome;
pub mod pack;
pub mod place;
pub mod process;
pub mod repo;
pub mod rows;
pub mod server;
pub mod snapshot;
pub mod status;
pub mod unmet;

pub use outcome::Outcome;
pub use place::Place;
pub use repo::Repo;
pub use server::{Server, Start};

/// The tools whose answers the tests know best: what these say of a hostile repository is asserted reason by reason.
pub const TOOLS: [&str; 3] = ["repo.brief", "repo.status", "worktree.changes"];

/// Whether `BULKHEAD_SLOW=1` asks for the full sizes of attacks and generated repositories.
pub fn slow() -> bool {
    std::env::var_os("BULKHEAD_SLOW").is_some_and(|value| value == "1")
}

/// Whether the tests run as root, which some situations need and which changes who owns what.
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}
