//! The direct surface: typed tools on one repository, reads always, writes behind a gate (contract `direct/`).
//! Trust: rows and words are constants; arguments are an agent's and are only brought into one form by [`args`].

pub mod args;
mod class;
pub mod conflict_path;
pub mod gate;
pub mod point;
mod rows;
mod state;

pub use class::Class;
pub use rows::TOOLS;
pub use state::OperationState;

/// Name of the member that holds a result which is no object, in structured content.
pub const WRAPPED: &str = "result";
