//! The direct surface: typed tools on one repository, reads always, writes behind a gate (contract `direct/`).
//! Trust: constants and types; nothing here comes from outside.

mod class;
pub mod conflict_path;
mod state;

pub use class::Class;
pub use state::OperationState;
