//! Unmerged paths: their stages in the index, the texts of the sides, the file in the working tree, and the operation.
//! Trust: everything is the repository's; contents are measured first and cut, files are never followed through links.

pub mod operation;
pub mod regions;
pub mod sections;
mod sides;

pub(crate) use sides::{File, Stage, cut, side};

use crate::{
    index::Snapshot,
    open_beneath,
    pace::Pace,
    renames::{self, Blobs},
    repo::Repo,
    worktree::attributes::Attributes,
};
use bulkhead_contract::{failure::ReadFailure, results::ConflictKind};
use std::{collections::HashMap, io::Read as _};

/// Bytes of a file that are searched for markers.
const MAX_SEARCHED: u64 = 8 << 20;
/// Bytes of an attribute file at most (Git: 100 MiB).
const MAX_ATTRIBUTES: u64 = 1 << 20;
/// Deleted times added unmerged paths that are looked at for renames.
const MAX_PAIRS: usize = 10_000;
/// Length of markers where no attribute says otherwise.
pub(crate) const MARKER_SIZE: usize = 7;
/// Greatest length that an attribute may ask for here.
const MAX_MARKER_SIZE: usize = 1_000;

/// The unmerged paths of the index, in order.
pub(crate) fn files(index: &Snapshot) -> Vec<File> {
    let mut files: Vec<File> = Vec::new();
    for (at, entry) in index.state.entries().iter().enumerate() {
        let stage = entry.stage_raw();
        if stage == 0 {
            continue;
        }
        let path = index.path(at);
        if files.last().is_none_or(|file| file.path != path) {
            files.push(File { path: path.to_vec(), stages: [None; 3] });
        }
        if let Some(file) = files.last_mut()
            && let Some(place) = file.stages.get_mut(stage as usize - 1)
        {
            *place = Some(Stage { id: entry.id, mode: entry.mode.bits() });
        }
    }
    files
}

/// Which sides have it, in the contract's words.
pub(crate) fn kind(file: &File) -> ConflictKind {
    match file.stages.map(|stage| stage.is_some()) {
        [true, true, true] => ConflictKind::BothModified,
        [true, true, false] => ConflictKind::DeletedByThem,
        [true, false, true] => ConflictKind::DeletedByUs,
        [false, true, true] => ConflictKind::BothAdded,
        [false, true, false] => ConflictKind::AddedByUs,
        [false, false, true] => ConflictKind::AddedByThem,
        [true, false, false] => ConflictKind::BothDeleted,
        [false, false, false] => ConflictKind::Unknown,
    }
}

/// Where a file that only one side has came from, if another unmerged path has nothing but the base: both sides
/// renamed it then, each to another name. New path to old path.
pub(crate) fn renamed(repo: &Repo, files: &[File], pace: &Pace) -> HashMap<Vec<u8>, Vec<u8>> {
    let mut found = HashMap::new();
    let of = |wanted: [bool; 3]| {
        let stage = wanted.iter().position(|&there| there).unwrap_or(0);
        let fits = move |file: &&File| file.stages.map(|stage| stage.is_some()) == wanted;
        files
            .iter()
            .filter(fits)
            .filter_map(|file| {
                let stage = file.stages[stage]?;
                Some(crate::changes::Side {
                    path: file.path.clone(),
                    mode: crate::changes::normalised(stage.mode),
                    id: stage.id,
                })
            })
            .collect::<Vec<_>>()
    };
    let gone = of([true, false, false]);
    for side in [[false, true, false], [false, false, true]] {
        let new = of(side);
        if gone.is_empty() || new.is_empty() || gone.len() * new.len() > MAX_PAIRS {
            continue;
        }
        let blobs = Blobs { repo: &repo.git, worktree: None };
        // without an answer in time there are only fewer hints
        for change in renames::pair(gone.clone(), new, blobs, pace).unwrap_or_default() {
            if let Some(from) = change.from {
                found.insert(change.path, from);
            }
        }
    }
    found
}

/// What was found between markers in the file of the working tree.
#[derive(Debug, Default)]
pub(crate) struct Marked {
    pub(crate) regions: Vec<bulkhead_contract::results::ConflictRegion>,
    /// There may be more.
    pub(crate) truncated: bool,
    /// Why nothing was looked at.
    pub(crate) missing: Option<&'static str>,
}

/// Looks for markers of `size` characters in the file at `path`.
pub(crate) fn marked(repo: &Repo, path: &[u8], size: usize) -> Marked {
    let none = |missing| Marked { missing: Some(missing), ..Marked::default() };
    let Some(top) = repo.found.worktree.as_deref() else { return none("absent") };
    let file = match open_beneath::open(top, path) {
        Ok(file) => file,
        Err(crate::files::NoContents::Absent) => return none("absent"),
        Err(crate::files::NoContents::NotRegular) => return none("not-a-file"),
        Err(_) => return none("unreadable"),
    };
    if !file.metadata().is_ok_and(|meta| meta.is_file()) {
        return none("not-a-file");
    }
    let mut bytes = Vec::new();
    if file.take(MAX_SEARCHED + 1).read_to_end(&mut bytes).is_err() {
        return none("unreadable");
    }
    let whole = bytes.len() as u64 <= MAX_SEARCHED;
    bytes.truncate(usize::try_from(MAX_SEARCHED).unwrap_or(usize::MAX));
    let (regions, more) = regions::find(&bytes, size);
    Marked { regions, truncated: more || !whole, missing: None }
}

/// The attribute files around the paths of one answer.
pub(crate) struct Markers<'a> {
    repo: &'a Repo,
    index: &'a Snapshot,
    read: HashMap<Vec<u8>, Option<Vec<u8>>>,
}

impl<'a> Markers<'a> {
    pub(crate) fn new(repo: &'a Repo, index: &'a Snapshot) -> Self {
        Self { repo, index, read: HashMap::new() }
    }

    /// The value of `conflict-marker-size` for `path`.
    pub(crate) fn size(&mut self, path: &[u8]) -> usize {
        let value = self.attributes(path).value(path, "conflict-marker-size");
        let value = value.and_then(|value| String::from_utf8(value).ok());
        match value.and_then(|value| value.parse::<usize>().ok()) {
            Some(size @ 1..=MAX_MARKER_SIZE) => size,
            _ => MARKER_SIZE,
        }
    }

    /// Whether `-merge` says that versions of `path` are never merged line by line.
    pub(crate) fn merges_whole(&mut self, path: &[u8]) -> bool {
        self.attributes(path).is_unset(path, "merge")
    }

    fn attributes(&mut self, path: &[u8]) -> Attributes {
        let info = self.repo.info_attributes();
        let operator = self.repo.operator.config.attributes.as_deref();
        let mut attributes =
            Attributes::new(operator, info.as_ref().map(|bytes| &bytes[..]), self.repo.settings.case());
        let directories =
            std::iter::once(0).chain(path.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(at, _)| at + 1));
        for end in directories {
            let prefix = &path[..end];
            let (repo, index) = (self.repo, self.index);
            let bytes = self.read.entry(prefix.to_vec()).or_insert_with(|| attribute_file(repo, index, prefix));
            if let Some(bytes) = bytes {
                attributes.push(bytes, prefix);
            }
        }
        attributes
    }
}

/// `.gitattributes` in the directory `prefix`: of the working tree, or of the index where the working tree has none.
fn attribute_file(repo: &Repo, index: &Snapshot, prefix: &[u8]) -> Option<Vec<u8>> {
    let path = [prefix, b".gitattributes"].concat();
    let top = repo.found.worktree.as_deref()?;
    if let Ok(bytes) = open_beneath::read(top, &path, MAX_ATTRIBUTES) {
        return Some(bytes);
    }
    let at = index.attributes.iter().copied().find(|&at| index.path(at) == path)?;
    let id = index.state.entry(at).id;
    repo.git.find_header(id).ok().filter(|header| header.size() <= MAX_ATTRIBUTES)?;
    repo.git.find_object(id).ok().map(|object| object.data.clone())
}

/// The failure of a repository without a working tree.
pub(crate) fn bare() -> ReadFailure {
    ReadFailure::new(
        bulkhead_contract::failure::Reason::Bare,
        "conflict",
        "A bare repository has no working tree, so nothing in it can be unmerged.",
    )
}
