//! worker-syntax: two pipes and its own memory. No file, no path, no socket, no thread, no process, no signal.
//! Trust: constant. What parses hostile text with code in C gets what every process needs to live, and nothing else.

use super::{Policy, base, never};

/// The policy.
pub const POLICY: Policy = Policy {
    allow: Some(&[base::BASE]),
    refuse: None,
    kill: Some(&[
        never::EVERYWHERE,
        never::NO_PROGRAMS,
        never::NO_PROGRAMS_LEGACY,
        never::CONFINED,
        never::CONFINED_LEGACY,
        never::NO_SOCKETS,
    ]),
};
