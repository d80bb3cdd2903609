//! Supervisor ⇄ launcher, over one SEQPACKET socket: a packet is one message, without a length word.
//! Trust: the launcher treats the supervisor as taken over: anything but these small requests ends it.

use super::WorkerKind;
use bincode::{Decode, Encode};

/// Bytes of the longest packet in either direction: a spawn with its path, or a `/proc` status.
pub const MAX_PACKET: usize = 40 * 1024;
/// The step of a spawn that failed only because there were too many just before.
pub const TOO_FAST: &str = "rate";
/// The step of a spawn that failed because no repository may be written: the operator did not open the gate.
pub const CLOSED_GATE: &str = "write gate";
/// Bytes of the longest path that a spawn may carry (the contract's bound on `repoPath`).
pub const MAX_SPAWN_PATH: usize = 32 * 1024;
/// Bytes of `/proc/PID/status` that are passed on.
pub const MAX_STATUS: usize = 8 * 1024;

/// What the supervisor may ask.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum ToLauncher {
    /// Start a worker from the table.
    Spawn {
        /// Chosen by the asker; comes back in the answer.
        ticket: u32,
        /// Row of the table.
        kind: WorkerKind,
        /// The caller's path, passed on in `Init` and never looked into; at most [`MAX_SPAWN_PATH`] bytes.
        path: Option<Vec<u8>>,
    },
    /// End one of the launcher's own children at once.
    Kill {
        /// Its process id.
        pid: i32,
    },
    /// Read `/proc/PID/status` of one of the launcher's own children, of the supervisor, or of the launcher itself.
    Status {
        /// Chosen by the asker; comes back in the answer.
        ticket: u32,
        /// Whose.
        of: StatusOf,
    },
}

/// Whose `/proc` status is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum StatusOf {
    /// A child of the launcher.
    Worker {
        /// Its process id.
        pid: i32,
    },
    /// The launcher.
    Launcher,
    /// The process that asks.
    Supervisor,
}

/// What the launcher may say.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum FromLauncher {
    /// A worker runs. The packet carries three descriptors: its requests (to write), its answers (to read) and its
    /// standard error (to read), all non-blocking.
    Spawned {
        /// Of the request.
        ticket: u32,
        /// Process id of the worker.
        pid: i32,
    },
    /// A worker could not be started.
    SpawnFailed {
        /// Of the request.
        ticket: u32,
        /// `errno` of the call that failed.
        errno: i32,
        /// Which call failed, or [`TOO_FAST`] or [`CLOSED_GATE`].
        step: String,
    },
    /// A child ended, asked for or not; said once for every child.
    Ended {
        /// Its process id.
        pid: i32,
        /// How.
        end: End,
    },
    /// The status asked for; empty when the process is not there or cannot be read.
    Status {
        /// Of the request.
        ticket: u32,
        /// The text of `/proc/PID/status`, cut at [`MAX_STATUS`].
        text: Vec<u8>,
    },
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum End {
    /// It left with this code.
    Exit(i32),
    /// This signal ended it.
    Signal(i32),
}
