//! What the commit-graph holds beyond commits and parents: the changed-path filters.
//! Trust: the files are the repository's; they can make a walk slower or, as with Git, miss a change, never do harm.

mod filters;
mod murmur3;

pub(crate) use filters::{Filters, Keys};
