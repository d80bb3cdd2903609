//! Who else works in a repository: processes, the stores of other agents and editors, and presence files.
//! Trust: every byte that is read was written by other programs, and may have been written to mislead or to break this one.
//!
//! A process of its own for each look. Its first half names what is there and parses nothing; its second half can read the
//! stores that were named and nothing else, parses them, answers and ends. A second kind of process
//! keeps the note that this server leaves about itself.
#![forbid(unsafe_code)]

mod jail;
pub mod note;
pub mod place;
mod serve;
pub mod stores;

pub use serve::{run, run_note};
