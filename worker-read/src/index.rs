//! The index as one checked snapshot: paths that Git allows, in order, counted, and kept until the file changes.
//! Trust: the file is the repository's; the library decodes it, and nothing uses it before these checks.

use crate::{
    discover::Found,
    files::{self, NoContents, Version},
};
use bulkhead_contract::failure::{ReadFailure, Reason};
use gix::{
    bstr::ByteSlice as _,
    index::{
        Entry, State,
        entry::{Flags, Mode},
    },
};
use std::{fs, path::Path};

const OPERATION: &str = "index";
/// Bytes of an index file at most; some three million entries.
const MAX_INDEX: u64 = 384 << 20;
/// Files that present sparse directories may expand to, in all.
const MAX_EXPANDED: usize = 1_000_000;

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
    version: Version,
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
        files::version(&found.git_dir.join("index")) == self.version
    }

    /// Reads the index of `found`; a repository without one has an empty one.
    ///
    /// # Errors
    /// [`Reason::TooLarge`], [`Reason::Corrupt`], or the disk's.
    pub fn read(found: &Found, hash: gix::hash::Kind) -> Result<Self, ReadFailure> {
        let path = found.git_dir.join("index");
        // taken before the read: a change in between shows as a changed file at the next call
        let version = files::version(&path);
        let state = match fs::symlink_metadata(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => State::new(hash),
            Err(e) => return Err(NoContents::of(&e).failure(OPERATION, ".git/index")),
            Ok(meta) => {
                plausible(&path, &meta)?;
                let options = gix::index::decode::Options { thread_limit: Some(1), ..Default::default() };
                let file = gix::index::File::at(&path, hash, false, options)
                    .map_err(|_| corrupt("The index cannot be read; `git fsck` and `git read-tree` can tell more."))?;
                file.into_parts().0
            }
        };
        Self::check(state, version)
    }

    /// The same with its present sparse directories replaced by the files in them, as Git does before a status.
    ///
    /// # Errors
    /// Where a tree cannot be read, or there is too much of it.
    pub fn expanded(
        &self,
        is_present: impl Fn(&[u8]) -> bool,
        repo: &gix::Repository,
    ) -> Result<Option<Self>, ReadFailure> {
        let present: Vec<usize> = self.sparse.iter().copied().filter(|&at| is_present(self.path(at))).collect();
        if present.is_empty() {
            return Ok(None);
        }
        let mut state = self.state.clone();
        state.remove_tree();
        let mut added = 0;
        for &at in &present {
            let entry = self.state.entry(at);
            let mut todo = vec![(self.path(at).to_vec(), entry.id)];
            while let Some((prefix, tree)) = todo.pop() {
                let tree = repo.find_tree(tree).map_err(|_| missing("A tree of a sparse directory is missing."))?;
                for item in tree.iter() {
                    let item = item.map_err(|_| corrupt("A tree of a sparse directory cannot be read."))?;
                    let mut path = [&prefix[..], item.filename()].concat();
                    if item.mode().is_tree() {
                        path.push(b'/');
                        todo.push((path, item.object_id()));
                        continue;
                    }
                    added += 1;
                    if added > MAX_EXPANDED {
                        return Err(ReadFailure::new(
                            Reason::TooLarge,
                            OPERATION,
                            "A sparse directory holds too many files.",
                        ));
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
        Self::check(state, self.version).map(Some)
    }

    fn check(state: State, version: Version) -> Result<Self, ReadFailure> {
        let mut snapshot = Self {
            gitlinks: Vec::new(),
            ignores: Vec::new(),
            attributes: Vec::new(),
            sparse: Vec::new(),
            intent_to_add: false,
            version,
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

/// Size and claimed number of entries, before the library reserves memory for them.
fn plausible(path: &Path, meta: &fs::Metadata) -> Result<(), ReadFailure> {
    if !meta.is_file() && !meta.is_symlink() {
        return Err(NoContents::NotRegular.failure(OPERATION, ".git/index"));
    }
    if meta.len() > MAX_INDEX {
        return Err(NoContents::TooLarge(MAX_INDEX).failure(OPERATION, ".git/index"));
    }
    let mut head = [0u8; 12];
    let file = fs::File::open(path).map_err(|e| NoContents::of(&e).failure(OPERATION, ".git/index"))?;
    let len = file.metadata().map_err(|e| NoContents::of(&e).failure(OPERATION, ".git/index"))?.len();
    if std::io::Read::read_exact(&mut &file, &mut head).is_err() {
        return Err(corrupt("The index is shorter than its header."));
    }
    let count = u32::from_be_bytes([head[8], head[9], head[10], head[11]]);
    // 40 bytes of stat, at least 20 of id, 2 of flags, and a byte of path
    if u64::from(count) * 63 > len {
        return Err(corrupt("The index claims more entries than it can hold."));
    }
    Ok(())
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

fn corrupt(details: &str) -> ReadFailure {
    ReadFailure::new(Reason::Corrupt, OPERATION, details).at(b".git/index")
}

fn missing(details: &str) -> ReadFailure {
    ReadFailure::new(Reason::ObjectMissing, OPERATION, details)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let failure = Snapshot::check(state(&[path]), Version::default()).expect_err(path);
            assert_eq!(failure.reason, Reason::Corrupt);
        }
        assert!(Snapshot::check(state(&[".gitmodules", "a/.gitx", "a/b"]), Version::default()).is_ok());
    }

    #[test]
    fn entries_out_of_order_or_twice_are_refused() {
        assert!(Snapshot::check(state(&["b", "a"]), Version::default()).is_err());
        assert!(Snapshot::check(state(&["a", "a"]), Version::default()).is_err());
    }
}
