//! Whether one commit of a submodule contains the other, as far as the submodule's objects are here.
//! Trust: the submodule is opened as every submodule is, inside the jail; a missing object leaves the conflict.

use super::scratch::Scratch;
use crate::submodules;
use gix::ObjectId;

/// The commit of the submodule at `path` that Git would take without asking: both sides build on `base`, and one of them
/// contains the other.
pub(super) fn resolved(scratch: &Scratch<'_>, path: &[u8], [base, ours, theirs]: [ObjectId; 3]) -> Option<ObjectId> {
    scratch.asked_elsewhere.set(true);
    let nested = submodules::checked_out(scratch.repo, path)?;
    let inside = Scratch::new(&nested, scratch.pace);
    let contains =
        |old: ObjectId, new: ObjectId| super::bases(&inside, new, old).is_ok_and(|bases| bases.first() == Some(&old));
    if !contains(base, ours) || !contains(base, theirs) {
        return None;
    }
    if contains(ours, theirs) {
        return Some(theirs);
    }
    contains(theirs, ours).then_some(ours)
}
