//! Whether one commit of a submodule contains the other, as far as the submodule's objects are here.
//! Trust: the submodule is opened as every submodule is, inside the jail; a missing object leaves the conflict.

use super::scratch::Scratch;
use crate::submodules;
use gix::ObjectId;

/// True where Git would take one side's commit of the submodule at `path` without asking: both build on `base`, and
/// one of them contains the other.
pub(super) fn resolves(scratch: &Scratch<'_>, path: &[u8], [base, ours, theirs]: [ObjectId; 3]) -> bool {
    scratch.asked_elsewhere.set(true);
    let Some(nested) = submodules::checked_out(scratch.repo, path) else { return false };
    let inside = Scratch::new(&nested, scratch.pace);
    let contains =
        |old: ObjectId, new: ObjectId| super::bases(&inside, new, old).is_ok_and(|bases| bases.first() == Some(&old));
    contains(base, ours) && contains(base, theirs) && (contains(ours, theirs) || contains(theirs, ours))
}
