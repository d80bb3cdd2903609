//! What callers see, as data and types: tool rows, arguments, results, error codes, limits. Both surfaces.
//! Trust: holds no input of its own; values that callers sent pass through [`args`], which trusts nothing.
#![forbid(unsafe_code)]

pub mod address;
pub mod agents;
pub mod args;
pub mod canonical;
pub mod catalogue;
pub mod cursor;
pub mod direct;
pub mod failure;
pub mod isolation;
pub mod limits;
pub mod nearest;
pub mod path;
pub mod results;
pub mod rules;
pub mod schema;
pub mod tool;
