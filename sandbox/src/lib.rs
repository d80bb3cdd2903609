//! What one process may do: the layers it puts on, the policy of each kind of process, and the report of what holds.
//! Trust: policies are reviewed data of this crate; descriptors, pids and packets come from peers and are checked.
//!
//! The only crate with `unsafe`. All of it is Linux below the seam in this file; elsewhere there is the report type
//! and a best-effort [`early`](early::early), and processes run without walls under `--isolation off`.
#![deny(unsafe_op_in_unsafe_fn)]

#[cfg(unix)]
pub mod disk;
pub mod enforced;
mod error;
pub mod identity;
pub mod processors;

#[cfg(target_os = "linux")]
pub mod children;
#[cfg(target_os = "linux")]
pub mod dial;
#[cfg(target_os = "linux")]
pub mod early;
#[cfg(target_os = "linux")]
pub mod fork;
#[cfg(target_os = "linux")]
pub mod handover;
#[cfg(target_os = "linux")]
pub mod image;
#[cfg(target_os = "linux")]
pub mod inherited;
#[cfg(target_os = "linux")]
pub mod jail;
#[cfg(target_os = "linux")]
mod layers;
#[cfg(target_os = "linux")]
pub mod policy;
#[cfg(all(target_os = "linux", feature = "probes"))]
pub mod probe;
#[cfg(target_os = "linux")]
pub mod program;
pub mod secret;
#[cfg(target_os = "linux")]
pub mod signals;
#[cfg(target_os = "linux")]
pub mod spawn;
pub mod streams;

#[cfg(not(target_os = "linux"))]
#[path = "elsewhere/early.rs"]
pub mod early;

#[cfg(all(test, target_os = "linux"))]
mod trial;

pub use enforced::{Enforced, Row};
pub use error::Error;
