//! The launcher: it starts programs, so no allow-list fits it, and its children inherit whatever it puts on.
//! Trust: constant. Nothing may stand here that a worker needs to build its own jail.

use super::{Policy, never};

/// The policy.
pub const POLICY: Policy = Policy { allow: None, refuse: None, kill: Some(&[never::EVERYWHERE]) };
