//! The working trees of one repository, from the records in its common directory.
//! Trust: records are the repository's: bounded, links and FIFOs never followed. A directory that a record names is only
//! looked for, name by name, and only beneath the ceilings.

use crate::{
    discover::Link,
    files::{self, NoContents},
    open_beneath,
    pace::{Pace, Stopped},
    refs::Refs,
    repo::Repo,
    worktree::disk::{Dir, Kind, Listing},
};
use gix::{
    ObjectId,
    bstr::{BString, ByteSlice as _},
};
use std::path::{Component, Path, PathBuf};

/// Bytes of `gitdir` at most, as for every file that names a directory.
const MAX_POINTER: u64 = 8 << 10;
/// Bytes of `locked` at most; a longer reason is shown as none.
const MAX_LOCKED: u64 = 64 << 10;
/// Git's words for why records are prunable.
const GONE: &str = "gitdir file points to non-existent location";
const INVALID: &str = "invalid gitdir file";

/// One working tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checkout {
    /// Its directory; of a bare repository the git directory.
    pub path: Vec<u8>,
    /// The one that holds the git directory.
    pub is_main: bool,
    /// The one that was asked about.
    pub current: bool,
    /// Full name of the branch.
    pub branch: Option<BString>,
    /// HEAD points at a commit.
    pub detached: bool,
    /// The commit.
    pub head: Option<ObjectId>,
    /// The reason, perhaps none, for which it is locked.
    pub locked: Option<Vec<u8>>,
    /// Why its records are prunable.
    pub prunable: Option<&'static str>,
    /// Whether they are could not be seen.
    pub unseen: bool,
    /// There is no working tree.
    pub bare: bool,
    /// Its HEAD, or the branch that it names, cannot be read.
    pub unreadable: bool,
}

/// The records of one linked working tree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Record {
    /// Its directory.
    pub path: Vec<u8>,
    /// Name of the records' directory.
    id: Vec<u8>,
    /// The `.git` file that they name, line ends cut off.
    dot_git: Vec<u8>,
}

impl Record {
    /// Name of the records' directory, which no two have in common.
    #[must_use]
    pub fn id(&self) -> &[u8] {
        &self.id
    }
}

/// All records.
#[derive(Debug, Default)]
pub struct Records {
    /// By path.
    pub records: Vec<Record>,
    /// The first one that is there and could not be read.
    pub unreadable: Option<Vec<u8>>,
    /// The list is not whole.
    pub stopped: Option<Stopped>,
}

/// The records of all linked working trees of `repo`.
///
/// # Errors
/// Where the directory of records cannot be listed.
pub fn records(repo: &Repo, pace: &Pace) -> Result<Records, NoContents> {
    let mut found = Records::default();
    let dir = Dir::open(&repo.found.common_dir).and_then(|common| common.child(b"worktrees"));
    let dir = match dir.map_err(|e| NoContents::of(&e)) {
        Ok(dir) => dir,
        Err(NoContents::Absent) => return Ok(found),
        // a link in its place is not followed, and hides nothing that Git made
        Err(e) => return Err(e),
    };
    let mut listing = Listing::default();
    if let Err(stopped) = dir.list(&mut listing, pace).map_err(|e| NoContents::of(&e))? {
        found.stopped = Some(stopped);
        return Ok(found);
    }
    for (id, kind) in (0..listing.len()).filter_map(|at| listing.get(at)) {
        if let Err(stopped) = pace.step(1) {
            found.stopped = Some(stopped);
            break;
        }
        if kind != Kind::Dir {
            // a file is no record for Git either; a link may be one, and is not followed
            if kind == Kind::Link {
                found.unreadable.get_or_insert_with(|| id.to_vec());
            }
            continue;
        }
        let text = dir
            .child(id)
            .and_then(|dir| dir.file(b"gitdir"))
            .map_err(|e| NoContents::of(&e))
            .and_then(|file| files::read_open(file, MAX_POINTER));
        match text {
            // Git passes over one that is not there, or empty
            Err(NoContents::Absent) => {}
            Ok(text) if text.is_empty() || text.contains(&0) => {}
            Ok(text) => found.records.push(record(repo, id, &text)),
            Err(_) => drop(found.unreadable.get_or_insert_with(|| id.to_vec())),
        }
    }
    found.records.sort_unstable();
    Ok(found)
}

fn record(repo: &Repo, id: &[u8], text: &[u8]) -> Record {
    let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |at| at + 1);
    let mut dot_git = text[..end].to_vec();
    // newer versions of Git may write the path relative to the records
    if !dot_git.is_empty()
        && let Some(path) = files::bytes_path(&dot_git).filter(|path| path.is_relative())
    {
        let records = repo.found.common_dir.join("worktrees").join(files::bytes_path(id).unwrap_or_default());
        dot_git = files::path_bytes(&without_dots(&records.join(path)));
    }
    let path = dot_git.trim_end_with(|c| matches!(c, ' ' | '\t' | '\n' | '\r'));
    let path = path.strip_suffix(b"/.git").unwrap_or(path).to_vec();
    Record { path, id: id.to_vec(), dot_git }
}

/// The main working tree, or the bare repository.
#[must_use]
pub fn main(repo: &Repo) -> Checkout {
    let found = &repo.found;
    let current = found.link != Link::Worktree;
    let bare = if current { repo.is_bare() } else { repo.settings.bare };
    let path = match &found.worktree {
        Some(worktree) if current && !bare => files::path_bytes(worktree),
        _ => {
            let common = files::path_bytes(&found.common_dir);
            common.strip_suffix(b"/.git").map_or(common.clone(), <[u8]>::to_vec)
        }
    };
    let mut checkout = Checkout { path, is_main: true, current, bare, ..Checkout::default() };
    if !bare {
        place(repo, &found.common_dir, &mut checkout);
    }
    checkout
}

/// What the records of a linked working tree say of it.
#[must_use]
pub fn linked(repo: &Repo, record: &Record) -> Checkout {
    let Some(id) = files::bytes_path(&record.id) else { return Checkout::default() };
    let records = repo.found.common_dir.join("worktrees").join(id);
    let current = repo.found.git_dir == records;
    let mut checkout = Checkout { path: record.path.clone(), current, ..Checkout::default() };
    place(repo, &records, &mut checkout);
    checkout.locked = match open_beneath::read(&records, b"locked", MAX_LOCKED) {
        Ok(reason) => Some(reason.trim_ascii().to_vec()),
        Err(NoContents::Absent) => None,
        Err(_) => Some(Vec::new()),
    };
    if checkout.locked.is_none() && !current {
        match dot_git_is_there(repo, &record.dot_git) {
            Some(true) => {}
            Some(false) => checkout.prunable = Some(if record.dot_git.is_empty() { INVALID } else { GONE }),
            None => checkout.unseen = true,
        }
    }
    checkout
}

/// Branch and commit by the HEAD in `git_dir`. What cannot be read is left out, and noted.
fn place(repo: &Repo, git_dir: &Path, checkout: &mut Checkout) {
    let own = Refs::new(git_dir.to_path_buf(), repo.found.common_dir.clone());
    let head = match own.target(b"HEAD".as_bstr()) {
        Ok(Some(branch)) => {
            // through the repository's own references, which keep the packed ones
            let head = repo.refs.resolve(branch.as_ref());
            checkout.branch = Some(branch);
            head
        }
        Ok(None) => {
            let head = own.head().map(|head| head.id);
            checkout.detached = matches!(head, Ok(Some(_)));
            head
        }
        Err(failure) => Err(failure),
    };
    checkout.unreadable = head.is_err();
    checkout.head = head.ok().flatten();
}

/// Whether the `.git` file of a working tree is there; `None` where that may not be looked at: outside the ceilings, or
/// behind a link, which could lead there.
fn dot_git_is_there(repo: &Repo, dot_git: &[u8]) -> Option<bool> {
    if dot_git.is_empty() {
        return Some(false);
    }
    let path = without_dots(&files::bytes_path(dot_git)?);
    let found = &repo.found;
    let own = [found.worktree.as_deref(), Some(&*found.git_dir), Some(&*found.common_dir)];
    let ceilings = repo.operator.ceilings.iter().map(PathBuf::as_path).chain(own.into_iter().flatten());
    let ceiling = ceilings.filter(|ceiling| path.starts_with(ceiling)).min_by_key(|it| it.as_os_str().len())?;
    let mut at = ceiling.to_path_buf();
    let mut names = path.strip_prefix(ceiling).ok()?.components().peekable();
    while let Some(name) = names.next() {
        at.push(name);
        match std::fs::symlink_metadata(&at) {
            Ok(_) if names.peek().is_none() => {}
            Ok(meta) if meta.is_symlink() => return None,
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => return Some(false),
            Err(e) if matches!(NoContents::of(&e), NoContents::Absent) => return Some(false),
            Err(_) => return None,
        }
    }
    Some(true)
}

/// `path` with `.` and `..` taken away by their text alone; what is then looked at is behind no link.
fn without_dots(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}
