//! Who owns a path by GitHub's rules for CODEOWNERS.
//! Trust: the file is the repository's: bounded, never followed through a link, never a FIFO; its patterns cost steps that
//! are counted.
//!
//! The rules are those of GitHub's documentation, "About code owners":
//! * The first of `.github/CODEOWNERS`, `CODEOWNERS` and `docs/CODEOWNERS` that exists is the only one that counts.
//! * A line is a pattern followed by owners: `@user`, `@org/team` or an email address. Of all lines whose pattern matches,
//!   the last one decides. One without owners takes ownership away.
//! * Patterns are those of gitignore without `!`, without `[ ]`, and without `\#` at the start. `docs/*` owns the files in
//!   `docs` and none in directories below; every other pattern that matches a directory owns what is below it. Case counts.
//! * What follows a `#` at the start of a line or after a space is a comment.
//! * A line with invalid syntax is skipped, as if it were not there. That is a pattern that GitHub does not know, or a word
//!   after it that cannot be an owner. Whether an owner exists and may write to the repository only GitHub knows.
//! * A file of more than 3 MB is not loaded. Here that is a failure ([`Reason::TooLarge`]), because "there are no owners" and
//!   "the owners do not count" are different answers.
//!
//! A directory is owned by the last line whose pattern owns everything that may ever be below it: lines for single files in
//! it may say otherwise.

mod line;
mod pattern;
#[cfg(test)]
mod tests;

use crate::{
    files::{self, NoContents},
    open_beneath,
    repo::Repo,
    worktree::disk::Dir,
};
use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    path::text_of,
};
use gix::bstr::ByteSlice as _;
use std::path::Path;

const OPERATION: &str = "codeowners";
/// Where the file may be, in the order in which GitHub looks.
const PLACES: [&str; 3] = [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"];
/// Bytes of the file at most; GitHub does not load a larger one.
pub const MAX_FILE: u64 = 3 << 20;
/// Steps that all patterns of one file may take for one path. Files that people write need some thousands.
const MAX_STEPS: u64 = 200_000_000;

/// What the file says of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owned {
    /// The file, relative to the top.
    pub source: &'static str,
    /// The pattern that decides, as it is written; `None` where none matches.
    pub pattern: Option<String>,
    /// Its owners; none where the line names none, which takes ownership away.
    pub owners: Vec<String>,
}

/// The line that decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision<'f> {
    /// Its pattern, as it is written.
    pub pattern: &'f [u8],
    /// Its owners.
    pub owners: Vec<&'f str>,
}

/// What a path stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One file.
    File,
    /// Everything below a directory.
    Directory,
}

/// The patterns would take more steps than a person could have meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooCostly;

/// Owners of `path`, relative to the top, by the file in the working tree (in the commit at HEAD for a bare
/// repository). `None` where there is no such file.
///
/// # Errors
/// Where the file is too large, its patterns are too costly, or it is no regular file.
pub fn owners(repo: &Repo, path: &[u8]) -> Result<Option<Owned>, ReadFailure> {
    let Some((source, text)) = file(repo)? else { return Ok(None) };
    let scope = if is_directory(repo, path) { Scope::Directory } else { Scope::File };
    let decision = decide(&text, path, scope).map_err(|TooCostly| {
        let details = format!("The patterns of {source} take too many steps to match; it holds too many wildcards.");
        ReadFailure::new(Reason::TooLarge, OPERATION, details).at(source.as_bytes())
    })?;
    Ok(Some(match decision {
        None => Owned { source, pattern: None, owners: Vec::new() },
        Some(line) => Owned {
            source,
            pattern: Some(text_of(line.pattern).0),
            owners: line.owners.into_iter().map(str::to_owned).collect(),
        },
    }))
}

/// The line of `text`, the contents of a CODEOWNERS file, that decides about `path`.
///
/// # Errors
/// [`TooCostly`].
pub fn decide<'f>(text: &'f [u8], path: &[u8], scope: Scope) -> Result<Option<Decision<'f>>, TooCostly> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let place = pattern::Place::new(path, scope);
    let mut steps = MAX_STEPS;
    // the last one decides, so the search starts there
    for line in text.rsplit(|&byte| byte == b'\n') {
        steps = steps.checked_sub(line.len() as u64).ok_or(TooCostly)?;
        let Some(line) = line::parse(line) else { continue };
        if place.is_owned_by(line.pattern, &mut steps)? {
            return Ok(Some(Decision { pattern: line.pattern, owners: line.owners().collect() }));
        }
    }
    Ok(None)
}

/// The file that counts and its contents.
fn file(repo: &Repo) -> Result<Option<(&'static str, Vec<u8>)>, ReadFailure> {
    match repo.found.worktree.as_deref().filter(|_| !repo.is_bare()) {
        Some(top) => on_disk(top),
        None => committed(repo),
    }
}

fn on_disk(top: &Path) -> Result<Option<(&'static str, Vec<u8>)>, ReadFailure> {
    for place in PLACES {
        match open_beneath::read(top, place.as_bytes(), MAX_FILE) {
            Ok(text) => return Ok(Some((place, text))),
            Err(NoContents::Absent) => {}
            // a directory of that name is not the file, and GitHub looks on
            Err(NoContents::NotRegular) if top.join(place).symlink_metadata().is_ok_and(|meta| meta.is_dir()) => {}
            Err(NoContents::TooLarge(_) | NoContents::NoRoom) => return Err(too_large(place)),
            Err(e) => return Err(e.failure(OPERATION, place)),
        }
    }
    Ok(None)
}

fn committed(repo: &Repo) -> Result<Option<(&'static str, Vec<u8>)>, ReadFailure> {
    let Some(head) = repo.refs.head()?.id else { return Ok(None) };
    let missing = |place: &str| {
        repo.doubt();
        ReadFailure::new(Reason::ObjectMissing, OPERATION, "The commit at HEAD, or a part of it, is not in this clone.")
            .at(place.as_bytes())
    };
    let tree = repo.tree_of(head)?;
    for place in PLACES {
        let tree = repo.git.find_tree(tree).map_err(|_| missing(place))?;
        let Some(entry) = tree.lookup_entry_by_path(place).map_err(|_| missing(place))? else { continue };
        if entry.mode().is_tree() {
            continue;
        }
        if !entry.mode().is_blob() {
            return Err(NoContents::NotRegular.failure(OPERATION, place));
        }
        let header = repo.git.find_header(entry.object_id()).map_err(|_| missing(place))?;
        if header.size() > MAX_FILE {
            return Err(too_large(place));
        }
        let mut blob = repo.git.find_blob(entry.object_id()).map_err(|_| missing(place))?;
        return Ok(Some((place, blob.take_data())));
    }
    Ok(None)
}

fn too_large(place: &str) -> ReadFailure {
    let details = format!("{place} is larger than 3 MB, and GitHub loads none that large: nobody owns anything by it.");
    ReadFailure::new(Reason::TooLarge, OPERATION, details).at(place.as_bytes())
}

/// Whether `path` is a directory: on the disk, or, where it is not there, in the index or the commit at HEAD.
fn is_directory(repo: &Repo, path: &[u8]) -> bool {
    let names: Vec<&[u8]> = path.split(|&byte| byte == b'/').filter(|name| !matches!(*name, b"" | b".")).collect();
    if names.is_empty() || path.ends_with(b"/") {
        return true;
    }
    let path = names.join(&b'/');
    match repo.found.worktree.as_deref().filter(|_| !repo.is_bare()) {
        Some(top) => {
            let there = Dir::open(top).and_then(|top| names.iter().try_fold(top, |dir, name| dir.child(name))).is_ok();
            let below = [&path[..], b"/"].concat();
            there || repo.index().is_ok_and(|index| index.state.prefixed_entries(below.as_bstr()).is_some())
        }
        None => {
            let tree = repo.refs.head().ok().and_then(|head| head.id).and_then(|head| repo.tree_of(head).ok());
            let tree = tree.and_then(|tree| repo.git.find_tree(tree).ok());
            let path = files::bytes_path(&path);
            let entry = tree.zip(path).and_then(|(tree, path)| tree.lookup_entry_by_path(path).ok().flatten());
            entry.is_some_and(|entry| entry.mode().is_tree())
        }
    }
}
