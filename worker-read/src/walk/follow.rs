//! `--follow`: one path at a time, exchanged for its source where the walk comes to the commit that made it.
//! Trust: trees and blobs are the repository's; sizes are read before contents, and contents are bounded.

use super::{Lookup, Source, entries::Entries};
use crate::{
    diff::contents::is_binary,
    pace::{Pace, Stopped},
    renames::{self, Candidate, LEAST, MAX_BLOB, WHOLE, better, keep_better},
    repo::Repo,
};
use gix::{ObjectId, bstr::ByteSlice as _, index::entry::Mode, objs::FindExt as _};

/// Deepest directory that is searched for a source.
const MAX_DEPTH: usize = 256;
/// Files among which a source is searched at most; above as many Git compares contents no more either.
const MAX_FILES: usize = 1_000_000;
/// Identical files that are looked at (Git's `find_identical_files`).
const IDENTICAL: usize = 101;

/// The path that is followed now.
#[derive(Clone)]
pub(super) struct Follow {
    pub(super) lookup: Lookup,
    /// What it was before the commit that was given last.
    next: Option<Vec<u8>>,
}

impl Follow {
    pub(super) fn new(lookup: Lookup) -> Self {
        Self { lookup, next: None }
    }

    /// The path for the commits to come.
    pub(super) fn path_next(&self) -> &[u8] {
        self.next.as_deref().unwrap_or(&self.lookup.path)
    }

    /// The commit that was given last is done with.
    pub(super) fn go_on(&mut self, repo: &Repo, source: &Source) {
        if let Some(path) = self.next.take() {
            self.lookup = Lookup::new(repo, source, &path);
        }
    }

    /// The commit that was given last will be given again.
    pub(super) fn stay(&mut self) {
        self.next = None;
    }

    /// Whether the commit with the tree `tree` changes the path since `before`, its parent's tree.
    pub(super) fn changes(
        &mut self,
        repo: &Repo,
        tree: ObjectId,
        before: Option<ObjectId>,
        pace: &Pace,
    ) -> Result<bool, Stopped> {
        let entries = &mut self.lookup.entries;
        let after = entries.at(repo, tree);
        let past = before.and_then(|before| entries.at(repo, before));
        if after == past {
            return Ok(false);
        }
        let is_new = past.is_none_or(|(mode, _)| mode == Mode::DIR);
        if let (true, Some((mode, id)), Some(before)) = (is_new, after, before)
            && mode != Mode::DIR
        {
            self.next = source(repo, before, tree, (&self.lookup.path, mode, id), pace)?;
        }
        Ok(true)
    }
}

/// A file of the parent's tree.
struct File {
    path: Vec<u8>,
    mode: Mode,
    id: ObjectId,
}

/// The file of the tree `before` that became `target` in the tree `after`, by Git's rules: all files are candidates, those
/// that are gone take precedence.
fn source(
    repo: &Repo,
    before: ObjectId,
    after: ObjectId,
    target: (&[u8], Mode, ObjectId),
    pace: &Pace,
) -> Result<Option<Vec<u8>>, Stopped> {
    let mut files = Vec::new();
    collect(repo, before, &mut Vec::new(), 0, &mut files, pace)?;
    let (path, mode, id) = target;
    let is_gone =
        |file: &File| Entries::new(repo, &file.path).at(repo, after).is_none_or(|(mode, _)| mode == Mode::DIR);
    let same_name = |file: &File| renames::name(&file.path) == renames::name(path);
    let mut best: Option<(u8, &File)> = None;
    for file in files.iter().filter(|file| file.id == id).take(IDENTICAL) {
        let fits = (renames::is_file(mode) && renames::is_file(file.mode)) || file.mode == mode;
        let score = u8::from(is_gone(file)) + u8::from(same_name(file));
        if fits && best.is_none_or(|(most, _)| score > most) {
            best = Some((score, file));
        }
    }
    if let Some((_, file)) = best {
        return Ok(Some(file.path.clone()));
    }
    if !renames::is_file(mode) {
        return Ok(None);
    }
    let Some(contents) = renames::blob(&repo.git, id) else { return Ok(None) };
    let (size, chunks) = (contents.len() as u64, renames::chunks(&contents, !is_binary(&contents)));
    let mut best: Vec<Candidate> = Vec::new();
    for (at, file) in files.iter().enumerate() {
        pace.step(1)?;
        // those that are too unlike are kept as well for now: which of equals is tried first depends on the slots
        let likeness = likeness(repo, file, size, &chunks).unwrap_or(0);
        keep_better(&mut best, (likeness, same_name(file), at, 0));
    }
    best.retain(|candidate| candidate.0 >= LEAST);
    best.sort_by(better);
    let gone = best.iter().find(|candidate| is_gone(&files[candidate.2]));
    Ok(gone.or(best.first()).map(|candidate| files[candidate.2].path.clone()))
}

/// How like `file` is to contents of that size and those chunks; nothing where it is not even looked at.
fn likeness(repo: &Repo, file: &File, size: u64, chunks: &[(u32, u32)]) -> Option<u64> {
    let theirs = repo.git.find_header(file.id).ok().filter(|_| renames::is_file(file.mode))?.size();
    let (most, least) = (size.max(theirs), size.min(theirs));
    if most == 0 || most > MAX_BLOB || most * (WHOLE - LEAST) < (most - least) * WHOLE {
        return None;
    }
    let contents = renames::blob(&repo.git, file.id)?;
    Some(renames::common(&renames::chunks(&contents, !is_binary(&contents)), chunks) * WHOLE / most)
}

/// All files of the tree, in its order.
fn collect(
    repo: &Repo,
    tree: ObjectId,
    prefix: &mut Vec<u8>,
    depth: usize,
    files: &mut Vec<File>,
    pace: &Pace,
) -> Result<(), Stopped> {
    let mut buffer = Vec::new();
    if depth > MAX_DEPTH {
        return Ok(());
    }
    let Ok(entries) = repo.git.objects.find_tree_iter(&tree, &mut buffer) else { return Ok(()) };
    for entry in entries.map_while(Result::ok) {
        pace.step(1)?;
        if files.len() >= MAX_FILES {
            break;
        }
        let length = prefix.len();
        prefix.extend_from_slice(entry.filename.as_bytes());
        if entry.mode.is_tree() {
            prefix.push(b'/');
            collect(repo, entry.oid.to_owned(), prefix, depth + 1, files, pace)?;
        } else {
            let mode = crate::changes::normalised(u32::from(entry.mode.value()));
            files.push(File { path: prefix.clone(), mode, id: entry.oid.to_owned() });
        }
        prefix.truncate(length);
    }
    Ok(())
}
