//! The process that parses source files: it has no file, no socket and no thread, and can crash without anybody noticing.
//! Trust: sources are hostile and the parsers are C; what they say is bounded, and the jail holds what they might do.
#![forbid(unsafe_code)]

pub mod compare;
mod definition;
mod hunks;
mod jail;
pub mod language;
pub mod limits;
mod moved;
mod pairs;
mod parse;
mod rows;
pub mod serve;
mod text;
mod tokens;

pub use serve::run;
