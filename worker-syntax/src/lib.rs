//! The process that parses source files: it has no file, no socket and no thread, and can crash without anybody noticing.
//! Trust: sources are hostile and the parsers are C; what they say is bounded, and the jail holds what they might do.
#![forbid(unsafe_code)]

#[cfg(feature = "grammars")]
pub mod engine;
#[cfg(not(feature = "grammars"))]
#[path = "no_engine.rs"]
pub mod engine;
mod jail;
pub mod serve;

pub use serve::run;
