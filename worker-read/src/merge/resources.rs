//! How contents are compared and merged: attributes, line ends, and the algorithm, as `git merge` has them.
//! Trust: attribute files and configuration are the repository's; a merge driver that they name is never run.

use super::scratch::Scratch;
use crate::{open_beneath, worktree::attributes::conversions};
use bulkhead_contract::failure::ReadFailure;
use gix::{
    ObjectId,
    attrs::{Search, search::MetadataCollection},
    bstr::{BString, ByteSlice as _},
    diff::blob::Algorithm,
    merge::plumbing::blob,
    objs::Write as _,
    worktree::{
        Stack,
        stack::{
            State,
            state::{self, attributes::Source},
        },
    },
};
use std::path::Path;

/// Bytes of one attribute file at most (Git: 100 MiB).
const MAX_ATTRIBUTES: u64 = 1 << 20;
/// Attribute files at most.
const MAX_ATTRIBUTE_FILES: usize = 1_000;
/// Git's limit of files on either side of a rename search when it merges (`merge.renameLimit`).
const RENAME_LIMIT: usize = 7_000;
/// Greatest limit that a repository may set.
const MAX_RENAME_LIMIT: usize = 20_000;

/// What all merges of one call share.
pub(super) struct Resources {
    /// Merges contents.
    pub(super) merge: blob::Platform,
    /// How.
    pub(super) content: blob::platform::merge::Options,
    /// Deleted or added files that are compared with each other at most, on average.
    pub(super) rename_limit: usize,
    /// `merge.directoryRenames`.
    pub(super) directory_renames: DirectoryRenames,
}

/// What becomes of files that one side added in a directory which the other renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DirectoryRenames {
    /// They stay.
    Off,
    /// They go along, and it is a conflict.
    Suggested,
    /// They go along.
    Done,
}

/// The attribute files that are in force, and what tells them from others.
pub(super) struct Rules {
    stack: Stack,
    /// Changes with any of them.
    pub(super) digest: ObjectId,
}

/// Sets up merges in `scratch`.
pub(super) fn resources(scratch: &Scratch<'_>, rules: Rules) -> Resources {
    let repo = scratch.repo;
    let stack = rules.stack;
    let hash = repo.git.object_hash();
    let snapshot = repo.git.config_snapshot();
    let config = snapshot.plumbing();
    let renormalize = config.boolean("merge.renormalize").ok().flatten().unwrap_or(false);
    let mode = if renormalize { blob::pipeline::Mode::Renormalize } else { blob::pipeline::Mode::ToGit };
    let merge = blob::Platform::new(
        blob::Pipeline::new(
            Default::default(),
            conversions(hash, repo.settings.eol),
            blob::pipeline::Options { large_file_threshold_bytes: 0 },
        ),
        mode,
        stack,
        Vec::new(),
        blob::platform::Options { default_driver: None },
    );
    let content = blob::platform::merge::Options {
        is_virtual_ancestor: false,
        resolve_binary_with: None,
        text: blob::builtin_driver::text::Options {
            // whatever diff.algorithm says, a merge compares like this
            diff_algorithm: Algorithm::Histogram,
            conflict: Default::default(),
        },
    };
    Resources { merge, content, rename_limit: rename_limit(config), directory_renames: directory_renames(config) }
}

/// `merge.renameLimit`, which `diff.renameLimit` stands in for. Renames cannot be turned off for this kind of merge.
fn rename_limit(config: &gix::config::File) -> usize {
    let limit = |key: &str| config.integer(key).ok().flatten();
    match limit("merge.renameLimit").or_else(|| limit("diff.renameLimit")) {
        Some(limit) if limit > 0 => usize::try_from(limit).unwrap_or(MAX_RENAME_LIMIT).min(MAX_RENAME_LIMIT),
        _ => RENAME_LIMIT,
    }
}

fn directory_renames(config: &gix::config::File) -> DirectoryRenames {
    match config.boolean("merge.directoryRenames") {
        Ok(Some(true)) => DirectoryRenames::Done,
        Ok(Some(false)) => DirectoryRenames::Off,
        _ => DirectoryRenames::Suggested,
    }
}

/// The attribute files that are in force: those of the working tree, and of the index where the working tree has none.
pub(super) fn rules(scratch: &Scratch<'_>) -> Result<Rules, ReadFailure> {
    let repo = scratch.repo;
    let mut names = MetadataCollection::default();
    let mut globals = Search::default();
    let mut add = |bytes: &[u8]| {
        let added = globals.add_patterns_buffer(bytes, ".gitattributes".into(), Some(Path::new("")), &mut names, true);
        debug_assert!(added.is_ok(), "a relative source has a parent");
    };
    add(b"[attr]binary -diff -merge -text\n");
    if let Some(bytes) = repo.operator.config.attributes.as_deref() {
        add(bytes);
    }
    // a damaged index keeps no merge of commits from being predicted
    let index = repo.index().ok();
    let worktree = repo.found.worktree.as_deref().filter(|_| !repo.is_bare());
    let there = |path: &[u8]| worktree.and_then(|top| open_beneath::read(top, path, MAX_ATTRIBUTES).ok());
    let mut mappings: Vec<(BString, ObjectId)> = Vec::new();
    let mut top = there(b".gitattributes");
    let known = index.iter().flat_map(|index| index.attributes.iter().map(move |&at| (index, at)));
    for (index, at) in known.take(MAX_ATTRIBUTE_FILES) {
        let path = index.path(at);
        let small = || {
            let id = index.state.entry(at).id;
            repo.git.find_header(id).ok().filter(|header| header.size() <= MAX_ATTRIBUTES).map(|_| id)
        };
        if path == b".gitattributes" {
            let stored = || repo.git.find_object(small()?).ok().map(|object| object.data.clone());
            top = top.or_else(stored);
            continue;
        }
        if let Some(bytes) = there(path) {
            if let Ok(id) = scratch.write_buf(gix::objs::Kind::Blob, &bytes) {
                mappings.push((path.as_bstr().to_owned(), id));
            }
        } else if let Some(id) = small() {
            mappings.push((path.as_bstr().to_owned(), id));
        }
    }
    let info = repo.info_attributes();
    if top.is_some() || info.is_some() {
        let mut bytes = top.unwrap_or_default();
        bytes.push(b'\n');
        bytes.extend_from_slice(info.as_ref().map_or(&[][..], |info| &info[..]));
        if let Ok(id) = scratch.write_buf(gix::objs::Kind::Blob, &bytes) {
            mappings.push((".gitattributes".into(), id));
        }
    }
    mappings.sort_unstable();
    let text: Vec<u8> =
        mappings.iter().flat_map(|(path, id)| [path.as_slice(), id.as_slice(), b"\n"].concat()).collect();
    let digest =
        gix::objs::compute_hash(repo.git.object_hash(), gix::objs::Kind::Blob, &text).map_err(|_| scratch.failure())?;
    let state = State::AttributesStack(state::Attributes::new(globals, None, Source::IdMapping, names));
    let stack = Stack::new(Path::new("").to_owned(), state, repo.settings.case(), Vec::new(), mappings);
    Ok(Rules { stack, digest })
}
