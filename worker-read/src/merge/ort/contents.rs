//! Two versions of one file, merged over a third: modes, links, submodules, and text.
//! Trust: contents are the repository's, of bounded size; a merge driver that attributes name is never run.

use super::{BASE, Entry, Merge, is_file, same_kind};
use crate::{
    aside,
    diff::{
        contents::is_binary,
        lines::{AT_ONCE, MAX_LINES},
    },
    merge::{scratch::Scratch, submodule},
};
use bulkhead_contract::failure::ReadFailure;
use gix::{
    bstr::ByteSlice as _,
    diff::blob::InternedInput,
    merge::plumbing::blob::{
        BuiltinDriver, PlatformRef, Resolution, ResourceKind,
        builtin_driver::{self, text},
        platform::{builtin_merge::Pick, merge::Options},
    },
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
        let mut prepared = platform.prepare_merge(scratch, options).map_err(|_| scratch.failure())?;
        if let text::Conflict::Keep { marker_size, .. } = &mut prepared.options.text.conflict {
            *marker_size = marker_size.saturating_add(longer);
        }
        let moved = names[1] != names[2] || names[0] != names[1];
        let label = |side: usize| {
            let label = self.labels[side - 1].as_bytes();
            if moved { [label, b":", names[side]].concat() } else { label.to_vec() }
        };
        let (current, other) = (label(1), label(2));
        let labels = text::Labels { ancestor: None, current: Some(current.as_bstr()), other: Some(other.as_bstr()) };
        let (out, pick, resolution) = merged(scratch, &prepared, labels)?;
        let id = prepared
            .id_by_pick(pick, &out, |bytes| scratch.write_buf(Kind::Blob, bytes))
            .map_err(|_| scratch.failure())?
            .unwrap_or(if pick == Pick::Theirs { theirs.1 } else { ours.1 });
        Ok((id, resolution != Resolution::Conflict, pick != Pick::Buffer))
    }
}

/// Merges what was prepared. Where that takes longer than any look at the clock may be put off, on a thread of its own.
fn merged(
    scratch: &Scratch<'_>,
    prepared: &PlatformRef<'_>,
    labels: text::Labels<'_>,
) -> Result<(Vec<u8>, Pick, Resolution), ReadFailure> {
    let sides = [&prepared.current, &prepared.ancestor, &prepared.other].map(|side| side.data.as_slice());
    let texts = sides.map(Option::unwrap_or_default);
    let lines: usize = texts.iter().map(|text| text.iter().filter(|&&byte| byte == b'\n').count()).sum();
    let driver = prepared.configured_driver().err().unwrap_or(BuiltinDriver::Text);
    let is_text = driver != BuiltinDriver::Binary && !texts.iter().any(|text| is_binary(text));
    if is_text && lines > 2 * MAX_LINES {
        return Err(scratch.too_many_lines());
    }
    let mut out = Vec::new();
    if !is_text || lines <= AT_ONCE {
        let merged = prepared.merge(&mut out, labels, &Default::default()).map_err(|_| scratch.failure())?;
        return Ok((out, merged.0, merged.1));
    }
    let mut options = prepared.options.text;
    if driver == BuiltinDriver::Union {
        options.conflict = text::Conflict::ResolveWithUnion;
    }
    let texts = texts.map(<[u8]>::to_vec);
    let [current, other] = [labels.current, labels.other].map(|label| label.map(ToOwned::to_owned));
    let merge = move || {
        let [ours, base, theirs] = &texts;
        let (current, other) = (current.as_ref().map(AsRef::as_ref), other.as_ref().map(AsRef::as_ref));
        let labels = text::Labels { ancestor: None, current, other };
        let mut input = InternedInput::new(&[][..], &[]);
        let resolution = builtin_driver::text(&mut out, &mut input, labels, ours, base, theirs, options);
        (out, resolution)
    };
    let (out, resolution) = aside::run(scratch.pace, merge).map_err(|stopped| scratch.stopped(stopped))?;
    Ok((out, Pick::Buffer, resolution))
}
