//! `--follow`: one path at a time, exchanged for its source where the walk comes to the commit that made it.
//! Trust: trees and blobs are the repository's; sizes are read before contents, and contents are bounded.

use super::{Lookup, Source, entries::Entries};
use crate::{
    diff::contents::is_binary,
    pace::{Pace, Stopped},
    renames::{self, LEAST, MAX_BLOB, WHOLE},
    repo::Repo,
};
use gix::{ObjectId, bstr::ByteSlice as _, index::entry::Mode, objs::FindExt as _};

/// Deepest directory that is searched for a source.
const MAX_DEPTH: usize = 256;
/// Files among which a source is searched at most; above as many Git compares contents no more either.
const MAX_FILES: usize = 1_000_000;
/// Candidates that are kept (Git's `NUM_CANDIDATE_PER_DST`).
const CANDIDATES: usize = 4;
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
    let mut candidates: Vec<(u64, bool, &File)> = Vec::new();
    for file in files.iter().filter(|file| renames::is_file(file.mode)) {
        pace.step(1)?;
        let Ok(theirs) = repo.git.find_header(file.id).map(|header| header.size()) else { continue };
        let (most, least) = (size.max(theirs), size.min(theirs));
        if most == 0 || most > MAX_BLOB || most * (WHOLE - LEAST) < (most - least) * WHOLE {
            continue;
        }
        let Some(contents) = renames::blob(&repo.git, file.id) else { continue };
        let likeness = renames::common(&renames::chunks(&contents, !is_binary(&contents)), &chunks) * WHOLE / most;
        if likeness < LEAST {
            continue;
        }
        let candidate = (likeness, same_name(file), file);
        if candidates.len() < CANDIDATES {
            candidates.push(candidate);
            continue;
        }
        let worst = (1..CANDIDATES)
            .fold(0, |worst, at| if rank(&candidates[at]) < rank(&candidates[worst]) { at } else { worst });
        if rank(&candidates[worst]) < rank(&candidate) {
            candidates[worst] = candidate;
        }
    }
    candidates.sort_by_key(|candidate| std::cmp::Reverse(rank(candidate)));
    let chosen = candidates.iter().find(|(.., file)| is_gone(file)).or_else(|| candidates.first());
    Ok(chosen.map(|(.., file)| file.path.clone()))
}

fn rank(candidate: &(u64, bool, &File)) -> (u64, bool) {
    (candidate.0, candidate.1)
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
