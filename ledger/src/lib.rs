//! The audit ledger: a hash-chained, signed log in rotated segments. Format and rules; no policy about processes.
//! Trust: lines, names, checkpoints and heads may be forged and are judged; events are bounded before they are written.
//!
//! The format is the contract's (`docs/audit.md` tells it in full). What decides and what touches files are apart:
//!
//! * [`entry`], [`record`], [`chain`], [`checkpoint`], [`head`], [`signature`], [`event`] are pure.
//! * [`append`] writes through [`append::Directory`] and [`append::ActiveFile`], which a process without the right to
//!   open paths implements by descriptors that it is handed; [`append::disk`] is the plain implementation on paths.
//! * [`verify`] reads a whole ledger from a [`verify::Snapshot`] in bounded memory, on all cores, and changes nothing;
//!   [`read`] hands out its rows.
#![forbid(unsafe_code)]

pub mod append;
mod base64url;
pub mod chain;
pub mod checkpoint;
pub mod entry;
pub mod event;
pub mod hash;
pub mod head;
pub mod key;
pub mod key_file;
pub mod limits;
pub mod names;
mod platform;
pub mod read;
pub mod record;
pub mod signature;
mod statement;
pub mod uuid;
pub mod verify;

pub use platform::Identity;
