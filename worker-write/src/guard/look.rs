//! What stands where programs, attributes, ignored names or other places can be named, and whether it can all be kept.
//! Trust: anybody's files, in any number and at any depth; links are not followed, and nothing is opened but regular files.

use crate::text;
use std::{
    collections::BTreeMap,
    fs::{self, Metadata},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

/// Files of a git directory in which these can be named.
const FILES: &[&str] = &[
    "config",
    "config.worktree",
    "commondir",
    "gitdir",
    "info/attributes",
    "info/exclude",
    "info/grafts",
    "objects/info/alternates",
];
/// Directories in which these lie: as links they would lead Git to files that anybody may change later.
const DIRECTORIES: &[&str] = &["info", "objects", "objects/info", "modules", "worktrees"];
/// Those of another working tree.
const OF_WORKTREES: &[&str] = &["commondir", "gitdir", "config.worktree"];
/// Files and directories that are looked at, at most.
const MAX_ENTRIES: usize = 20_000;
/// Bytes of files that are kept, at most.
const MAX_BYTES: u64 = 64 << 20;
/// Directories of hooks within each other, and of submodules' repositories, at most.
const MAX_DEPTH: usize = 24;
/// Other working trees, and repositories of submodules, at most.
const MAX_BESIDES: usize = 2_000;

/// There is more beneath this directory than can be kept, so that it could not be put back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is more beneath {} than is kept ({MAX_ENTRIES} files, {} MiB, {MAX_DEPTH} directories within each other)", .0.display(), MAX_BYTES >> 20)]
pub struct TooMuch(pub PathBuf);

/// What stands under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stood {
    File {
        bytes: Vec<u8>,
        mode: u32,
    },
    Link(PathBuf),
    Directory {
        mode: u32,
    },
    /// A pipe, a device, or what may not be read: which one it is, and when it was changed.
    Unread(Identity, (i64, i64)),
}

/// Which file or directory something is: device and inode.
pub(super) type Identity = (u64, u64);

pub(super) fn identity(found: &Metadata) -> Identity {
    (found.dev(), found.ino())
}

/// Where is looked. Settled once, so that what appears elsewhere in the meantime moves nothing into view or out of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Places {
    /// The git directory and the one that it shares.
    own: Vec<PathBuf>,
    /// Git directories of submodules.
    modules: Vec<PathBuf>,
    /// Git directories of other working trees.
    worktrees: Vec<PathBuf>,
    /// Files of the git directories that the configuration takes in.
    included: Vec<PathBuf>,
}

impl Places {
    pub(super) fn of(git_dir: &Path, common_dir: &Path, included: &[PathBuf]) -> Result<Self, TooMuch> {
        let mut own = vec![git_dir.to_owned(), common_dir.to_owned()];
        own.dedup();
        let mut modules = Vec::new();
        repositories(&common_dir.join("modules"), 0, &mut modules)?;
        let besides = common_dir.join("worktrees");
        let mut worktrees: Vec<_> =
            directories(&besides).filter(|path| path != git_dir).take(MAX_BESIDES + 1).collect();
        if worktrees.len() > MAX_BESIDES {
            return Err(TooMuch(besides));
        }
        worktrees.sort_unstable();
        let is_own = |path: &&PathBuf| own.iter().any(|directory| path.starts_with(directory));
        let included = included.iter().filter(is_own).cloned().collect();
        Ok(Self { own, modules, worktrees, included })
    }

    /// All that stands there.
    pub(super) fn look(&self) -> Result<BTreeMap<PathBuf, Stood>, TooMuch> {
        let mut found = Found { all: BTreeMap::new(), entries: MAX_ENTRIES, bytes: MAX_BYTES };
        for directory in self.own.iter().chain(&self.modules) {
            for name in DIRECTORIES {
                let path = directory.join(name);
                // one that is a directory says nothing, and Git makes some
                if path.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
                    found.take(path)?;
                }
            }
            for name in FILES {
                found.file(directory.join(name))?;
            }
            let hooks = directory.join("hooks");
            found.tree(&hooks, 0).map_err(|TooMuch(_)| TooMuch(hooks))?;
        }
        for directory in &self.worktrees {
            if directory.symlink_metadata().is_ok() {
                OF_WORKTREES.iter().try_for_each(|name| found.file(directory.join(name)))?;
            }
        }
        self.included.iter().try_for_each(|path| found.file(path.clone()))?;
        Ok(found.all)
    }

    /// What stands under one name.
    pub(super) fn one(path: &Path) -> Option<Stood> {
        let mut found = Found { all: BTreeMap::new(), entries: 1, bytes: MAX_BYTES };
        found.file(path.to_owned()).ok()?;
        found.all.remove(path)
    }

    /// Whether a name belongs to another working tree that is not there any more: that was taken away as a whole.
    pub(super) fn is_gone(&self, path: &Path) -> bool {
        self.worktrees.iter().any(|directory| path.starts_with(directory) && directory.symlink_metadata().is_err())
    }
}

fn directories(of: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(of).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path())
}

/// Git directories of submodules: their names have slashes in them, and each may have submodules of its own.
fn repositories(beneath: &Path, depth: usize, all: &mut Vec<PathBuf>) -> Result<(), TooMuch> {
    if depth > MAX_DEPTH || all.len() > MAX_BESIDES {
        return Err(TooMuch(beneath.to_owned()));
    }
    for directory in directories(beneath) {
        if directory.join("HEAD").symlink_metadata().is_ok() {
            repositories(&directory.join("modules"), depth + 1, all)?;
            all.push(directory);
        } else {
            repositories(&directory, depth + 1, all)?;
        }
    }
    Ok(())
}

struct Found {
    all: BTreeMap<PathBuf, Stood>,
    entries: usize,
    bytes: u64,
}

impl Found {
    /// Takes what stands where a file should, so that a directory there is one more thing that is not read.
    fn file(&mut self, path: PathBuf) -> Result<(), TooMuch> {
        self.take(path.clone())?;
        if let Some(stood @ Stood::Directory { .. }) = self.all.get_mut(&path)
            && let Ok(found) = path.symlink_metadata()
        {
            *stood = Stood::Unread(identity(&found), (found.ctime(), found.ctime_nsec()));
        }
        Ok(())
    }

    /// Takes what stands under a name, if anything does.
    fn take(&mut self, path: PathBuf) -> Result<(), TooMuch> {
        let Ok(found) = path.symlink_metadata() else { return Ok(()) };
        let mode = found.permissions().mode();
        let unread = Stood::Unread(identity(&found), (found.ctime(), found.ctime_nsec()));
        let stood = if found.is_symlink() {
            fs::read_link(&path).map_or(unread, Stood::Link)
        } else if found.is_dir() {
            Stood::Directory { mode }
        } else if !found.is_file() {
            unread
        } else {
            match text::bytes(&path, self.bytes) {
                Ok(Some(bytes)) => {
                    self.bytes -= bytes.len() as u64;
                    Stood::File { bytes, mode }
                }
                Err(text::Unread::Long(_)) => return Err(TooMuch(path)),
                Ok(None) | Err(_) => unread,
            }
        };
        self.entries = self.entries.checked_sub(1).ok_or_else(|| TooMuch(path.clone()))?;
        self.all.insert(path, stood);
        Ok(())
    }

    /// Takes a directory of hooks with all that is beneath it but the samples that Git comes with, which nothing runs.
    fn tree(&mut self, directory: &Path, depth: usize) -> Result<(), TooMuch> {
        self.take(directory.to_owned())?;
        if !matches!(self.all.get(directory), Some(Stood::Directory { .. })) {
            return Ok(());
        }
        if depth > MAX_DEPTH {
            return Err(TooMuch(directory.to_owned()));
        }
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type());
            if kind.as_ref().is_ok_and(|kind| kind.is_dir()) {
                self.tree(&path, depth + 1)?;
            } else if path.extension().is_none_or(|extension| extension != "sample") {
                self.take(path)?;
            }
        }
        Ok(())
    }
}
