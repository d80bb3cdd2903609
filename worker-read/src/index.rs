//! The index as one checked snapshot: paths that Git allows, in order, counted, and kept until the file changes.
//! Trust: the file is the repository's; the library decodes it, and nothing uses it before these checks.

use crate::{
    discover::Found,
    files::{self, NoContents, Version},
    pace::Pace,
    raw_index::{self, MAX_PATH, MAX_PATHS},
    staged::Unfinished,
};
use bulkhead_contract::failure::{ReadFailure, Reason};
use gix::{
    bstr::ByteSlice as _,
    index::{
        Entry, State,
        entry::{Flags, Mode},
    },
};
use std::fs;

pub(crate) const OPERATION: &str = "index";
/// Files and directories that present sparse directories may expand to, in all.
const MAX_EXPANDED: usize = 1_000_000;
/// Names in a path at most; directories are followed by recursion.
const MAX_DEPTH: usize = 512;

/// One version of the index.
pub struct Snapshot {
    /// Entries and extensions.
    pub state: State,
    /// Positions of the gitlinks of stage 0 and of unmerged ones, in order, each path once.
    pub gitlinks: Vec<usize>,
    /// Positions of `.gitignore` entries that are not checked out.
    pub ignores: Vec<usize>,
    /// Positions of `.gitattributes` entries.
    pub attributes: Vec<usize>,
    /// Positions of sparse directories.
    pub sparse: Vec<usize>,
    /// Some entry says only that a file will be added.
    pub intent_to_add: bool,
    versions: Versions,
}

/// Of the index, and of the shared one that it is split from: its name and its version.
#[derive(Debug, Clone, PartialEq, Default)]
struct Versions {
    index: Version,
    shared: Option<(String, Version)>,
}

impl Snapshot {
    /// The path of the entry at `at`.
    #[must_use]
    pub fn path(&self, at: usize) -> &[u8] {
        self.state.entry(at).path(&self.state)
    }

    /// True where the file has not changed since.
    #[must_use]
    pub fn is_current(&self, found: &Found) -> bool {
        files::version(&found.git_dir.join("index")) == self.versions.index
            && self.versions.shared.as_ref().is_none_or(|(name, version)| shared(found, name) == *version)
    }

    /// Reads the index of `found`; a repository without one has an empty one.
    ///
    /// # Errors
    /// [`Reason::TooLarge`], [`Reason::Corrupt`], or the disk's.
    pub fn read(found: &Found, hash: gix::hash::Kind) -> Result<Self, ReadFailure> {
        let path = found.git_dir.join("index");
        // taken before the read: a change in between shows as a changed file at the next call
        let mut versions = Versions { index: files::version(&path), shared: None };
        let state = match fs::symlink_metadata(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => State::new(hash),
            Err(e) => return Err(NoContents::of(&e).failure(OPERATION, ".git/index")),
            Ok(_) => {
                if let Some(name) = raw_index::check(&found.git_dir, &path, hash)? {
                    let version = shared(found, &name);
                    versions.shared = Some((name, version));
                }
                let options = gix::index::decode::Options { thread_limit: Some(1), ..Default::default() };
                let file = gix::index::File::at(&path, hash, false, options)
                    .map_err(|_| corrupt("The index cannot be read; `git fsck` and `git read-tree` can tell more."))?;
                file.into_parts().0
            }
        };
        Self::check(state, versions)
    }

    /// The same with its present sparse directories replaced by the files in them, as Git does before a status.
    ///
    /// # Errors
    /// Where a tree cannot be read, there is too much of it, or the call's time is over.
    pub fn expanded(
        &self,
        is_present: impl Fn(&[u8]) -> bool,
        repo: &gix::Repository,
        pace: &Pace,
    ) -> Result<Option<Self>, Unfinished> {
        let present: Vec<usize> = self.sparse.iter().copied().filter(|&at| is_present(self.path(at))).collect();
        if present.is_empty() {
            return Ok(None);
        }
        let mut state = self.state.clone();
        state.remove_tree();
        // trees count as well: some that hold no file at all name each other a million times over
        let (mut met, mut bytes) = (0, 0);
        for &at in &present {
            let mut todo = vec![(self.path(at).to_vec(), self.state.entry(at).id)];
            while let Some((prefix, tree)) = todo.pop() {
                let tree = repo
                    .find_tree(tree)
                    .map_err(|_| Unfinished::Failed(missing("A tree of a sparse directory is missing.")))?;
                for item in tree.iter() {
                    pace.step(1)?;
                    let item =
                        item.map_err(|_| Unfinished::Failed(corrupt("A tree of a sparse directory cannot be read.")))?;
                    let mut path = [&prefix[..], item.filename()].concat();
                    met += 1;
                    bytes += path.len() as u64;
                    if met > MAX_EXPANDED || bytes > MAX_PATHS || !fits(&path) {
                        let details = "A sparse directory holds too many files, or is nested too deeply.";
                        return Err(Unfinished::Failed(too_large(details)));
                    }
                    if item.mode().is_tree() {
                        path.push(b'/');
                        todo.push((path, item.object_id()));
                        continue;
                    }
                    let mode = Mode::from_bits_truncate(u32::from(item.mode().value()));
                    state.dangerously_push_entry(
                        Default::default(),
                        item.object_id(),
                        Flags::SKIP_WORKTREE | Flags::EXTENDED,
                        mode,
                        path.as_bstr(),
                    );
                }
            }
        }
        state.remove_entries(|at, _, entry| entry.mode.is_sparse() && present.binary_search(&at).is_ok());
        state.sort_entries();
        Self::check(state, self.versions.clone()).map(Some).map_err(Unfinished::Failed)
    }

    fn check(state: State, versions: Versions) -> Result<Self, ReadFailure> {
        let mut snapshot = Self {
            gitlinks: Vec::new(),
            ignores: Vec::new(),
            attributes: Vec::new(),
            sparse: Vec::new(),
            intent_to_add: false,
            versions,
            state,
        };
        let mut before: Option<(&[u8], u32)> = None;
        for (at, entry) in snapshot.state.entries().iter().enumerate() {
            let path: &[u8] = entry.path(&snapshot.state);
            let stage = entry.stage_raw();
            let ordered = before.is_none_or(|before| before < (path, stage));
            if !ordered || !allowed(path, entry) {
                return Err(corrupt("The index holds paths that Git does not allow, or not in Git's order."));
            }
            if !fits(path) {
                return Err(too_large("The index holds a path that is too long, or nested too deeply."));
            }
            if entry.mode.is_submodule() && before.is_none_or(|(last, _)| last != path) {
                snapshot.gitlinks.push(at);
            }
            if entry.mode.is_sparse() {
                snapshot.sparse.push(at);
            }
            let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
            if name == b".gitignore" && entry.flags.contains(Flags::SKIP_WORKTREE) {
                snapshot.ignores.push(at);
            } else if name == b".gitattributes" && stage == 0 {
                snapshot.attributes.push(at);
            }
            snapshot.intent_to_add |= entry.flags.contains(Flags::INTENT_TO_ADD);
            before = Some((path, stage));
        }
        Ok(snapshot)
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("entries", &self.state.entries().len()).finish_non_exhaustive()
    }
}

fn shared(found: &Found, name: &str) -> Version {
    files::version(&found.git_dir.join(name))
}

/// Git's own rule for paths in an index (`verify_path`), as far as it does not depend on the file system.
fn allowed(path: &[u8], entry: &Entry) -> bool {
    let path = if entry.mode.is_sparse() { path.strip_suffix(b"/").unwrap_or(b"") } else { path };
    !path.is_empty()
        && !path.contains(&0)
        && path
            .split(|&byte| byte == b'/')
            .all(|name| !name.is_empty() && name != b"." && name != b".." && !name.eq_ignore_ascii_case(b".git"))
}

/// Whether a path fits what is walked by recursion and opened by name.
fn fits(path: &[u8]) -> bool {
    path.len() <= MAX_PATH && path.iter().filter(|&&byte| byte == b'/').count() < MAX_DEPTH
}

fn too_large(details: &str) -> ReadFailure {
    ReadFailure::new(Reason::TooLarge, OPERATION, details).at(b".git/index")
}

pub(crate) fn corrupt(details: &str) -> ReadFailure {
    ReadFailure::new(Reason::Corrupt, OPERATION, details).at(b".git/index")
}

fn missing(details: &str) -> ReadFailure {
    ReadFailure::new(Reason::ObjectMissing, OPERATION, details)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gix::{ObjectId, objs::Write as _};

    fn state(paths: &[&str]) -> State {
        let mut state = State::new(gix::hash::Kind::Sha1);
        for path in paths {
            let id = gix::hash::Kind::Sha1.null();
            state.dangerously_push_entry(Default::default(), id, Flags::empty(), Mode::FILE, (*path).into());
        }
        state
    }

    #[test]
    fn paths_that_leave_the_worktree_or_name_the_git_directory_are_refused() {
        for path in ["../x", "/etc/passwd", "a/../b", ".git/config", "a/.GIT/x", "a//b", "a/./b", ""] {
            let failure = Snapshot::check(state(&[path]), Versions::default()).expect_err(path);
            assert_eq!(failure.reason, Reason::Corrupt);
        }
        assert!(Snapshot::check(state(&[".gitmodules", "a/.gitx", "a/b"]), Versions::default()).is_ok());
    }

    #[test]
    fn entries_out_of_order_or_twice_are_refused() {
        assert!(Snapshot::check(state(&["b", "a"]), Versions::default()).is_err());
        assert!(Snapshot::check(state(&["a", "a"]), Versions::default()).is_err());
    }

    #[test]
    fn a_path_that_is_nested_too_deeply_is_too_large() {
        let deep = |names: usize| format!("{}x", "a/".repeat(names - 1));
        assert!(Snapshot::check(state(&[&deep(512)]), Versions::default()).is_ok());
        let failure = Snapshot::check(state(&[&deep(513)]), Versions::default()).expect_err("too deep");
        assert_eq!(failure.reason, Reason::TooLarge);
    }

    fn pace(budget_ms: u32) -> Pace {
        Pace::alone(budget_ms)
    }

    /// A repository, and what its sparse directory `s/` of the tree `of` expands to.
    fn expanded(of: impl FnOnce(&gix::Repository) -> ObjectId, budget_ms: u32) -> Result<Option<Snapshot>, Unfinished> {
        let temp = tempfile::tempdir().expect("a writable temporary directory");
        let repo = gix::init_bare(temp.path()).expect("writable");
        let mut state = State::new(gix::hash::Kind::Sha1);
        let id = of(&repo);
        state.dangerously_push_entry(Default::default(), id, Flags::empty(), Mode::DIR, "s/".into());
        let sparse = Snapshot::check(state, Versions::default()).expect("allowed");
        sparse.expanded(|_| true, &repo, &pace(budget_ms))
    }

    fn tree(repo: &gix::Repository, names: impl Iterator<Item = String>, of: ObjectId) -> ObjectId {
        let bytes: Vec<u8> =
            names.flat_map(|name| [format!("40000 {name}\0").as_bytes(), of.as_slice()].concat()).collect();
        repo.write_buf(gix::objs::Kind::Tree, &bytes).expect("writable")
    }

    #[test]
    fn a_sparse_directory_of_too_many_directories_or_levels_is_too_large() {
        let empty = gix::hash::Kind::Sha1.empty_tree();
        let too_large = |unfinished| match unfinished {
            Err(Unfinished::Failed(failure)) => failure.reason == Reason::TooLarge,
            _ => false,
        };
        let many = |repo: &gix::Repository| tree(repo, (0..=MAX_EXPANDED).map(|n| format!("{n:07}")), empty);
        assert!(too_large(expanded(many, 600_000)), "directories count");
        let deep = |levels: usize| {
            move |repo: &gix::Repository| {
                (0..levels).fold(empty, |below, _| tree(repo, std::iter::once("d".to_owned()), below))
            }
        };
        assert!(too_large(expanded(deep(MAX_DEPTH + 1), 600_000)));
        assert!(matches!(expanded(deep(300), 600_000), Ok(Some(_))));
        assert!(matches!(expanded(deep(300), 0), Err(Unfinished::Stopped(_))));
    }
}
