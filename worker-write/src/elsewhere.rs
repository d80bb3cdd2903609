//! Operations on systems where nothing is written, because nothing there could hold the Git that would write.
//! Trust: says the same to everything.

use crate::git::Git;
use bulkhead_contract::direct::Class;
use bulkhead_ipc::edge::write::{Allowed, Failed, Operation, Outcome};

/// Refuses.
#[must_use]
pub fn perform(_: &Operation, _: &Allowed, _: &Git) -> Outcome {
    Outcome::Failed(Box::new(Failed {
        class: Class::Unsupported,
        reason: "this system cannot confine Git, so nothing is written here".to_owned(),
        next: "use Git itself".to_owned(),
        state: None,
        restore_point: None,
        unmerged: Vec::new(),
        ran: Vec::new(),
    }))
}
