//! Two versions of one file, merged over a third: modes, links, submodules, and text.
//! Trust: contents are the repository's, of bounded size; a merge driver that attributes name is never run.

use super::{BASE, Entry, Merge, is_file, same_kind};
use crate::{
    aside,
    diff::{
        contents::is_binary,
        lines::{AT_ONCE, MAX_LINES},
    },
    merge::{
        submodule,
        text::{Merged, OnConflict, merge},
    },
};
use bulkhead_contract::failure::ReadFailure;
use gix::{
    bstr::ByteSlice as _,
    merge::plumbing::blob::{BuiltinDriver, ResourceKind, builtin_driver::text::Conflict, platform::merge::Options},
    objs::{Kind, Write as _, tree::EntryKind},
};

/// What came of it.
pub(super) struct Content {
    /// With conflict markers, or one side's version, where it is not clean; nothing where that has none.
    pub(super) entry: Option<Entry>,
    pub(super) clean: bool,
    /// No text could be merged.
    pub(super) binary: bool,
}

impl Merge<'_, '_> {
    /// Merges `ours` and `theirs`, which are of one kind. `names` is where each version was; attributes are those of
    /// `path`, and conflict markers are `longer` than Git's.
    pub(super) fn content(
        &mut self,
        path: &[u8],
        base: Option<Entry>,
        [ours, theirs]: [Entry; 2],
        names: [&[u8]; 3],
        longer: u8,
    ) -> Result<Content, ReadFailure> {
        let base_kind = base.map(|(kind, _)| kind);
        let base_id = base.map(|(_, id)| id);
        let (mode, mut clean) = if ours.0 == theirs.0 || Some(ours.0) == base_kind {
            (theirs.0, true)
        } else {
            (ours.0, Some(theirs.0) == base_kind)
        };
        let done = |id, clean| Content { entry: Some((mode, id)), clean, binary: false };
        if ours.1 == theirs.1 || Some(ours.1) == base_id {
            return Ok(done(theirs.1, clean));
        }
        if Some(theirs.1) == base_id {
            return Ok(done(ours.1, clean));
        }
        // a version of another kind is none to merge over
        let over = base.filter(|(kind, _)| same_kind(*kind, ours.0));
        if is_file(ours.0) {
            let (id, merged, binary) = self.text(path, over, [ours, theirs], names, longer)?;
            clean &= merged;
            return Ok(Content { entry: Some((mode, id)), clean, binary });
        }
        if ours.0 == EntryKind::Commit {
            let fallback = if self.level > 0 { base_id.unwrap_or(ours.1) } else { ours.1 };
            if let Some((_, over)) = over
                && let Some(id) = submodule::resolved(self.scratch, names[BASE], [over, ours.1, theirs.1])
            {
                return Ok(done(id, clean));
            }
            if self.level > 0 && over.is_none() {
                return Ok(Content { entry: base, clean: false, binary: false });
            }
            return Ok(done(fallback, false));
        }
        // links
        let entry = if self.level > 0 { base } else { Some((mode, ours.1)) };
        Ok(Content { entry, clean: false, binary: false })
    }

    /// The merged blob, whether it is clean, and whether it is no text.
    fn text(
        &mut self,
        path: &[u8],
        base: Option<Entry>,
        [ours, theirs]: [Entry; 2],
        names: [&[u8]; 3],
        longer: u8,
    ) -> Result<(gix::ObjectId, bool, bool), ReadFailure> {
        let scratch = self.scratch;
        scratch.look()?;
        let platform = &mut self.resources.merge;
        let null = scratch.repo.git.object_hash().null();
        let base = base.unwrap_or((EntryKind::Blob, null));
        for (entry, kind) in [
            (ours, ResourceKind::CurrentOrOurs),
            (theirs, ResourceKind::OtherOrTheirs),
            (base, ResourceKind::CommonAncestorOrBase),
        ] {
            platform.set_resource(entry.1, entry.0, path.as_bstr(), kind, scratch).map_err(|_| scratch.failure())?;
        }
        let options = Options { is_virtual_ancestor: self.level > 0, ..self.resources.content };
        let prepared = platform.prepare_merge(scratch, options).map_err(|_| scratch.failure())?;
        let versions = [prepared.ancestor, prepared.current, prepared.other].map(|side| side.data.as_slice());
        // drivers of the configuration are not among those that are known here
        let driver = prepared.configured_driver().err().unwrap_or_default();
        let text = match versions {
            [Some(base), Some(left), Some(right)] if ![base, left, right].into_iter().any(is_binary) => {
                Some([base, left, right])
            }
            _ => None,
        };
        let (Some([over, left, right]), BuiltinDriver::Text | BuiltinDriver::Union) = (text, driver) else {
            // no text to merge: below another merge what both come from stands in, and nobody is asked
            return match base.1 {
                _ if self.level == 0 => Ok((ours.1, false, true)),
                id if id == null => {
                    Ok((scratch.write_buf(Kind::Blob, b"").map_err(|_| scratch.failure())?, true, true))
                }
                id => Ok((id, true, true)),
            };
        };
        let length = match prepared.options.text.conflict {
            Conflict::Keep { marker_size, .. } => marker_size.get().saturating_add(longer),
            _ => Conflict::DEFAULT_MARKER_SIZE.saturating_add(longer),
        };
        let moved = names[1] != names[2] || names[0] != names[1];
        let label = |side: usize| {
            let label = self.labels[side - 1].as_bytes();
            if moved { [label, b":", names[side]].concat() } else { label.to_vec() }
        };
        let (current, other) = (label(1), label(2));
        let on_conflict = match driver {
            BuiltinDriver::Union => OnConflict::Union,
            _ => OnConflict::Mark { length: usize::from(length), names: [&current, &other] },
        };
        let lines = |text: &[u8]| text.iter().filter(|&&byte| byte == b'\n').count();
        let lines: usize = [over, left, right].into_iter().map(lines).sum();
        if lines > 2 * MAX_LINES {
            return Err(scratch.too_many_lines());
        }
        let Merged { text, clean } = if lines <= AT_ONCE {
            merge(over, left, right, on_conflict)
        } else {
            // longer than any look at the clock may be put off
            let texts = [over, left, right].map(<[u8]>::to_vec);
            let is_union = matches!(on_conflict, OnConflict::Union);
            let work = move || {
                let marks = OnConflict::Mark { length: usize::from(length), names: [&current, &other] };
                merge(&texts[0], &texts[1], &texts[2], if is_union { OnConflict::Union } else { marks })
            };
            aside::run(scratch.pace, work).map_err(|stopped| scratch.stopped(stopped))?
        };
        let id = scratch.write_buf(Kind::Blob, &text).map_err(|_| scratch.failure())?;
        Ok((id, clean, false))
    }
}
