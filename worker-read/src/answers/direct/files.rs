//! repo_show_file and repo_list_files: from the index or a tree, never from the disk.
//! Trust: see the module above; sizes are read before contents, and trees that name each other end with the call's time.

use super::{bad, either, named, partial, path, tree};
use crate::{
    answers::budget::Budget, diff::contents::MAX_READ, pace::Pace, repo::Repo, scope, staged::Unfinished, unmerged::cut,
};
use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    limits::DIRECT_TEXT_BYTES,
    results::{PathList, ShownFile},
};
use bulkhead_ipc::edge::asks;
use gix::{ObjectId, bstr::ByteSlice as _, index::entry::Mode, objs::FindExt as _};

const SHOW: &str = "showFile";
const LIST: &str = "listFiles";
/// Paths of one answer at most.
const MAX_PATHS: u32 = 200_000;
/// Files of a tree that are counted at most.
const MAX_FILES: u64 = 5_000_000;
/// Deepest directory that is followed.
const MAX_DEPTH: usize = 512;
/// Bytes of one tree at most.
const MAX_TREE: u64 = 64 << 20;

/// `repo_show_file`.
pub(in crate::answers) fn show(repo: &Repo, ask: &asks::ShowFile, pace: &Pace) -> Result<ShownFile, ReadFailure> {
    let asked = path(&ask.path, SHOW)?;
    let found = match stage(&ask.revision) {
        Some(stage) => either(&asked, |path| in_index(repo, path, stage))?,
        None => {
            let root = tree(repo, &ask.revision, SHOW, pace)?;
            either(&asked, |path| scope::in_tree(repo, root, path))?
        }
    };
    let Some((mode, id)) = found else {
        let details = format!("There is no such file in `{}`.", bulkhead_contract::args::shown(&ask.revision));
        return Err(ReadFailure::new(Reason::NoSuchPath, SHOW, details).at(&asked));
    };
    match mode {
        Mode::DIR => return Err(bad(SHOW, "It is a directory; repo_list_files lists files.").at(&asked)),
        Mode::COMMIT => {
            return Err(
                bad(SHOW, format!("It is a submodule at commit {id}; its files are in another repository.")).at(&asked)
            );
        }
        _ => {}
    }
    let missing = || {
        repo.doubt();
        ReadFailure::new(Reason::ObjectMissing, SHOW, "Its contents are not in this clone, or are damaged.").at(&asked)
    };
    let size = repo.git.find_header(id).map_err(|_| missing())?.size();
    if size > MAX_READ {
        let details = format!("It has {size} bytes; files of more than {MAX_READ} are not shown.");
        return Err(ReadFailure::new(Reason::TooLarge, SHOW, details).at(&asked));
    }
    let mut bytes = Vec::new();
    repo.git.objects.find_blob(&id, &mut bytes).map_err(|_| missing())?;
    Ok(shown(&bytes, ask.bytes.min(DIRECT_TEXT_BYTES) as usize))
}

/// The text of `bytes`, at most `most` bytes of it.
fn shown(bytes: &[u8], most: usize) -> ShownFile {
    const REPLACEMENT: &str = "\u{fffd}";
    let (mut text, mut total, mut full) = (String::new(), 0, false);
    // what stands for a byte is longer than the byte, so it is the text that is measured
    for chunk in bytes.utf8_chunks() {
        for part in [chunk.valid(), if chunk.invalid().is_empty() { "" } else { REPLACEMENT }] {
            total += part.len() as u64;
            if !full {
                let fits = cut(part.as_bytes(), most - text.len()).len();
                text.push_str(&part[..fits]);
                full = fits < part.len();
            }
        }
    }
    ShownFile { text, total }
}

/// The stage that `:0` to `:3` names.
fn stage(revision: &str) -> Option<u32> {
    match revision {
        ":" | ":0" => Some(0),
        ":1" => Some(1),
        ":2" => Some(2),
        ":3" => Some(3),
        _ => None,
    }
}

type Entry = Option<(Mode, ObjectId)>;

fn in_index(repo: &Repo, path: &[u8], stage: u32) -> Result<Entry, ReadFailure> {
    if repo.is_bare() {
        return Err(ReadFailure::new(Reason::Bare, SHOW, "A bare repository has no index."));
    }
    let index = repo.index()?;
    let first = index.state.entries().partition_point(|entry| entry.path(&index.state) < path.as_bstr());
    let mut stages = index.state.entries()[first..].iter().take_while(|entry| entry.path(&index.state) == path);
    let found = stages.find(|entry| entry.stage_raw() == stage);
    Ok(found.map(|entry| (crate::changes::normalised(entry.mode.bits()), entry.id)))
}

/// `repo_list_files`.
pub(in crate::answers) fn list(repo: &Repo, ask: &asks::ListFiles, pace: &Pace) -> Result<PathList, ReadFailure> {
    let mut rows = Rows::new(ask.chars);
    let root = match &ask.revision {
        Some(revision) => tree(repo, revision, LIST, pace)?,
        None => {
            listed(repo, &mut rows, pace)?;
            return Ok(rows.list);
        }
    };
    match (TreeWalk { repo, rows: &mut rows, prefix: Vec::new(), pace }).directory(root, 0) {
        Ok(()) => {}
        Err(Unfinished::Stopped(stopped)) => rows.list.partial = partial(stopped),
        Err(Unfinished::Failed(failure)) => return Err(failure),
    }
    Ok(rows.list)
}

/// Paths of the index as `git ls-files` has them: one that is unmerged comes once for each of its stages.
fn listed(repo: &Repo, rows: &mut Rows, pace: &Pace) -> Result<(), ReadFailure> {
    if repo.is_bare() {
        return Err(ReadFailure::new(Reason::Bare, LIST, "A bare repository has no index; give a revision."));
    }
    let index = repo.index()?;
    let expanded = match index.expanded(|_| true, &repo.git, pace) {
        Ok(expanded) => expanded,
        // directories that are not checked out stand for their files
        Err(Unfinished::Stopped(stopped)) => {
            rows.list.partial = partial(stopped);
            None
        }
        Err(Unfinished::Failed(failure)) => return Err(failure),
    };
    let index = expanded.as_ref().unwrap_or(&index);
    (0..index.state.entries().len()).for_each(|at| rows.add(index.path(at)));
    Ok(())
}

/// Files of the tree `root` and of those in it, as `git ls-tree -r` has them.
struct TreeWalk<'a> {
    repo: &'a Repo,
    rows: &'a mut Rows,
    prefix: Vec<u8>,
    pace: &'a Pace,
}

impl TreeWalk<'_> {
    fn directory(&mut self, tree: ObjectId, depth: usize) -> Result<(), Unfinished> {
        if depth > MAX_DEPTH {
            return Err(failed(Reason::TooLarge, "A tree is nested too deeply."));
        }
        if tree == ObjectId::empty_tree(self.repo.git.object_hash()) {
            return Ok(());
        }
        let missing = || {
            self.repo.doubt();
            failed(Reason::ObjectMissing, "A tree is not in this clone, or is damaged.")
        };
        if self.repo.git.find_header(tree).map_err(|_| missing())?.size() > MAX_TREE {
            return Err(failed(Reason::TooLarge, "A tree is too large."));
        }
        let mut bytes = Vec::new();
        for entry in self.repo.git.objects.find_tree_iter(&tree, &mut bytes).map_err(|_| missing())? {
            self.pace.step(1)?;
            let entry = entry.map_err(|_| failed(Reason::Corrupt, "A tree cannot be read."))?;
            let length = self.prefix.len();
            self.prefix.extend_from_slice(entry.filename);
            if entry.mode.is_tree() {
                self.prefix.push(b'/');
                self.directory(entry.oid.to_owned(), depth + 1)?;
            } else {
                self.rows.add(&self.prefix);
            }
            self.prefix.truncate(length);
            if self.rows.list.total >= MAX_FILES {
                return Err(Unfinished::Stopped(self.pace.end()));
            }
        }
        Ok(())
    }
}

fn failed(reason: Reason, details: &str) -> Unfinished {
    Unfinished::Failed(ReadFailure::new(reason, LIST, details))
}

/// Paths as they are found: the first ones that fit are kept, all are counted.
pub(super) struct Rows {
    budget: Budget,
    full: bool,
    pub(super) list: PathList,
}

impl Rows {
    /// Room for `chars` characters of JSON.
    pub(super) fn new(chars: u32) -> Self {
        let budget = Budget::new(MAX_PATHS, chars.min(DIRECT_TEXT_BYTES));
        Self { budget, full: false, list: PathList::default() }
    }

    pub(super) fn add(&mut self, path: &[u8]) {
        self.list.total += 1;
        if self.full {
            return;
        }
        let row = named(path);
        self.full = !self.budget.take(&row.path);
        if !self.full {
            self.list.paths.push(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_at_a_character_and_measured_as_it_is_shown() {
        let bytes = b"a\xffb\xe2\x82\xacc";
        let whole = "a\u{fffd}b\u{20ac}c";
        for most in 0..=whole.len() + 1 {
            let ShownFile { text, total } = shown(bytes, most);
            assert_eq!(total, whole.len() as u64);
            assert!(whole.starts_with(&text) && text.len() <= most, "{most}: {text}");
            assert!(text.len() + 3 > most.min(whole.len()), "{most}: {text}");
        }
    }

    #[test]
    fn the_first_paths_that_fit_are_kept_and_all_are_counted() {
        let mut rows = Rows::new(12);
        [&b"a"[..], b"bb", b"\xff", b"c"].into_iter().for_each(|path| rows.add(path));
        let paths: Vec<_> = rows.list.paths.iter().map(|row| row.path.as_str()).collect();
        assert_eq!((paths, rows.list.total), (vec!["a", "bb"], 4));
    }
}
