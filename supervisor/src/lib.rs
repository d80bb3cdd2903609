//! The process that speaks MCP and may do nothing else.
//! Trust: standard input comes from an agent and is hostile; workers are treated as taken over.
#![forbid(unsafe_code)]

pub mod control;
pub mod outcome;
pub mod reads;
pub mod settings;
