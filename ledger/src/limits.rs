//! Sizes and counts of the format, in one table; the contract's unless a line says otherwise.
//! Trust: holds no input.

use bulkhead_contract::canonical::Bounds;

/// Bytes of one line, its newline included.
pub const MAX_LINE: usize = 262_144;
/// Bytes beyond which the active file is rotated before the next line.
pub const ROTATE_AT: u64 = 4 * 1024 * 1024;
/// Bytes beyond which no file is read or written.
pub const MAX_FILE: u64 = ROTATE_AT + 256 * 1024;
/// Rotated segments that are kept.
pub const KEEP_SEGMENTS: usize = 4;
/// Rotated segments that may be met: one more than is kept, since a crash may fall between rotating and pruning.
pub const MAX_SEGMENTS: usize = 5;
/// Checkpoint files that may be met.
pub const MAX_CHECKPOINTS: usize = 16;
/// Entries of the ledger's directory that are looked at.
pub const MAX_DIRECTORY: usize = 4096;
/// Bytes of a checkpoint file.
pub const MAX_CHECKPOINT: usize = 16 * 1024;
/// Bytes of a signing key file.
pub const MAX_KEY_FILE: u64 = 65_536;
/// Characters of a summary; longer ones are cut.
pub const MAX_SUMMARY: usize = 512;
/// Characters of a tool's name, a session and a repository scope (ours; the contract's writer has no bound, and a
/// caller could push evidence out of retention with long names).
pub const MAX_NAME: usize = 512;
/// Events of one group (ours).
pub const MAX_GROUP: usize = 1024;
/// Public keys of one verification (ours).
pub const MAX_KEYS: usize = 64;
/// Findings that a report lists; their true number is beside them (ours).
pub const MAX_FINDINGS: usize = 256;
/// Arrays and objects inside each other in one record (ours).
pub const MAX_DEPTH: usize = 64;
/// Values in one record or checkpoint; an entry has some 25 (ours). It bounds what a hostile line takes in memory.
pub const MAX_VALUES: usize = 8192;

/// Bounds of one record, its newline not counted.
pub const RECORD: Bounds = Bounds { bytes: MAX_LINE - 1, depth: MAX_DEPTH, values: MAX_VALUES };
