//! repo.refs, repo.reflog and repo.branchStack.
//! Trust: see the module above.

mod list;
mod log;
mod stack;

pub(super) use list::refs;
pub(super) use log::reflog;
pub(super) use stack::branch_stack;

use bulkhead_contract::failure::{ReadFailure, Reason};

fn bad(operation: &'static str, details: impl Into<String>) -> ReadFailure {
    ReadFailure::new(Reason::BadArgument, operation, details)
}

fn bad_cursor(operation: &'static str) -> ReadFailure {
    bad(operation, "The cursor is not one that this tool gave out for such a question.")
}
