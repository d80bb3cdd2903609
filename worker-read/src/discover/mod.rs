//! From the caller's path to one repository, before any of its objects, refs, index or configuration is parsed.
//! Trust: the path is the caller's and every file met is the repository's; both stay beneath the ceilings.

mod alternates;
mod gate;
mod owner;
mod pointer;

pub use gate::special_files;
pub use owner::{Trust, check as check_owner};

use crate::files::{self, Links, NoContents};
use bulkhead_contract::failure::{ReadFailure, Reason};
use bulkhead_ipc::edge::FileId;
use std::{
    fs,
    path::{Component, Path, PathBuf},
};

/// Name of this stage in failures.
pub(crate) const OPERATION: &str = "discover";

/// A repository as it was found. All paths are canonical.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Top of the working tree; `None` for a bare repository.
    pub worktree: Option<PathBuf>,
    /// The git directory: HEAD and index.
    pub git_dir: PathBuf,
    /// Where refs, objects and configuration are; `git_dir` itself unless this is a linked worktree.
    pub common_dir: PathBuf,
    /// Object directories of other repositories, all beneath a ceiling.
    pub alternates: Vec<PathBuf>,
    /// How the working tree names its git directory.
    pub link: Link,
    /// The directory that the caller's path named.
    pub asked: FileId,
    /// Identity of `git_dir`.
    pub git_dir_id: FileId,
    /// Identity of `worktree`.
    pub worktree_id: Option<FileId>,
    /// Device of `worktree`, where its file system is known to change the times of a directory with every name in it.
    pub times_on: Option<u64>,
}

/// How a working tree names its git directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// `.git` is the directory.
    Directory,
    /// `.git` is a file, and the directory it names is a linked worktree's that points back at it.
    Worktree,
    /// `.git` is a file, and nothing in the directory it names points back: a submodule's, which says so in its
    /// `core.worktree`, or one split off with `--separate-git-dir`.
    File,
    /// Bare.
    None,
}

impl Found {
    /// Everything that may be read from now on.
    #[must_use]
    pub fn directories(&self) -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = Vec::new();
        for path in self.worktree.iter().chain([&self.git_dir, &self.common_dir]).chain(&self.alternates) {
            if !all.iter().any(|have| path.starts_with(have)) {
                all.push(path.clone());
            }
        }
        all
    }

    /// The directory that results name as `repoPath`.
    #[must_use]
    pub fn canonical(&self) -> &Path {
        self.worktree.as_deref().unwrap_or(&self.git_dir)
    }
}

/// The bounds of a discovery.
#[derive(Debug, Clone, Copy)]
pub struct Bounds<'a> {
    /// Canonical directories beneath which everything must lie.
    pub ceilings: &'a [PathBuf],
    /// Whose repositories are read.
    pub trust: &'a Trust,
}

impl Bounds<'_> {
    /// True where `path` is a ceiling or lies beneath one.
    #[must_use]
    pub fn hold(&self, path: &Path) -> bool {
        self.ceilings.iter().any(|ceiling| path.starts_with(ceiling))
    }
}

/// Finds the repository that `path` names or lies in.
///
/// # Errors
/// A refusal by name; its text holds no path from outside the repository.
pub fn discover(path: &[u8], bounds: Bounds<'_>) -> Result<Found, ReadFailure> {
    let asked_path = resolve(path, bounds)?;
    let asked = identity(&asked_path)?;
    // `REPO/.git` means REPO
    let start = match asked_path.parent() {
        Some(parent) if asked_path.ends_with(".git") && bounds.hold(parent) && looks_like_git_dir(&asked_path)? => {
            parent
        }
        _ => &asked_path,
    };
    if let Some(found) = climb(start, bounds)? {
        if found.worktree.as_deref() != Some(start) && !start.starts_with(&found.git_dir) && looks_like_git_dir(start)?
        {
            return Err(refused(
                Reason::Redirected,
                "The path is a bare repository inside the working tree of another repository, which may have been \
                 planted there by a clone. Name the outer repository, or move the bare one out of it.",
            ));
        }
        return finish(found, asked, bounds);
    }
    if looks_like_git_dir(start)? {
        let common_dir = pointer::common_dir(start, bounds)?;
        let bare = Pointed { worktree: None, git_dir: start.to_path_buf(), common_dir, link: Link::None };
        return finish(bare, asked, bounds);
    }
    Err(refused(
        Reason::NotARepository,
        "Neither the path nor a directory above it, up to the allowed root, is a Git repository.",
    ))
}

/// The submodule checked out at `worktree`, a canonical directory in `parent`'s working tree. `None` where nothing is
/// checked out.
///
/// # Errors
/// As [`discover`]; also where its `.git` file leads out of the parent repository.
pub fn submodule(worktree: &Path, parent: &Found, trust: &Trust) -> Result<Option<Found>, ReadFailure> {
    let inside = [parent.canonical().to_path_buf(), parent.git_dir.clone(), parent.common_dir.clone()];
    let bounds = Bounds { ceilings: &inside, trust };
    let asked = identity(worktree)?;
    match pointer::follow(worktree, bounds)? {
        Some(found) => {
            let mut found = finish(found, asked, bounds)?;
            // behind the jail, file systems cannot be asked for what they are
            found.times_on = parent.times_on.filter(|&device| found.worktree_id.is_some_and(|id| id.dev == device));
            Ok(Some(found))
        }
        None => Ok(None),
    }
}

/// What `.git` leads to.
struct Pointed {
    worktree: Option<PathBuf>,
    git_dir: PathBuf,
    common_dir: PathBuf,
    link: Link,
}

/// True where [`discover`] would go on upwards from `dir`: no repository's working tree starts there, and nothing there
/// is refused.
pub(crate) fn passes_over(dir: &Path, bounds: Bounds<'_>) -> bool {
    matches!(pointer::follow(dir, bounds), Ok(None))
}

fn climb(start: &Path, bounds: Bounds<'_>) -> Result<Option<Pointed>, ReadFailure> {
    for dir in start.ancestors().take_while(|dir| bounds.hold(dir)) {
        if let Some(found) = pointer::follow(dir, bounds)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn finish(pointed: Pointed, asked: FileId, bounds: Bounds<'_>) -> Result<Found, ReadFailure> {
    let Pointed { worktree, git_dir, common_dir, link } = pointed;
    owner::check(worktree.as_deref(), &git_dir, &common_dir, bounds.trust)?;
    gate::special_files(&git_dir, &common_dir)?;
    let alternates = alternates::find(&common_dir.join("objects"), bounds)?;
    alternates.iter().try_for_each(|objects| gate::object_dir(objects))?;
    let worktree_id = worktree.as_deref().map(identity).transpose()?;
    Ok(Found {
        asked,
        times_on: worktree.as_deref().filter(|top| files::tells_times(top)).and(worktree_id).map(|id| id.dev),
        git_dir_id: identity(&git_dir)?,
        worktree_id,
        worktree,
        git_dir,
        common_dir,
        alternates,
        link,
    })
}

/// The canonical form of the caller's path, which must be a directory beneath a ceiling. Of what lies outside nothing
/// is told, not even whether it exists.
pub(crate) fn resolve(path: &[u8], bounds: Bounds<'_>) -> Result<PathBuf, ReadFailure> {
    let outside = || refused(Reason::OutsideRoots, "The path lies outside the allowed roots.");
    let written = files::bytes_path(path)
        .filter(|written| written.is_absolute() && !path.contains(&0))
        .ok_or_else(|| refused(Reason::NoSuchPath, "The path is not an absolute path of this system."))?;
    match fs::canonicalize(&written) {
        Ok(canonical) if !bounds.hold(&canonical) => Err(outside()),
        Ok(canonical) if canonical.is_dir() => Ok(canonical),
        Ok(_) => Err(refused(Reason::NoSuchPath, "The path is not a directory.")),
        Err(_) if !bounds.hold(&without_dots(&written)) => Err(outside()),
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(refused(Reason::PermissionDenied, &files::out_of_reach("the path")))
        }
        Err(_) => Err(refused(Reason::NoSuchPath, "The path does not exist.")),
    }
}

/// `path` with `.` and `..` taken away by their text alone.
fn without_dots(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

/// True where Git would take `dir` for a git directory: it holds HEAD, objects and refs, the latter two perhaps in its
/// common directory. False also where our rights do not reach that far.
#[must_use]
pub fn is_git_dir(dir: &Path) -> bool {
    matches!(looks_like_git_dir(dir), Ok(true))
}

/// As [`is_git_dir`], but what our rights do not reach is not taken for absent: going on upwards would answer for another
/// repository than the one that is there.
fn looks_like_git_dir(dir: &Path) -> Result<bool, ReadFailure> {
    // HEAD may also be a link to a branch that is not born, as very old Git made it
    if reached(fs::symlink_metadata(dir.join("HEAD")), "`.git`")?.is_none() {
        return Ok(false);
    }
    let common = match files::read(&dir.join("commondir"), pointer::MAX_POINTER, Links::Refuse) {
        Ok(text) => pointer::path_in(&text, dir),
        Err(denied @ NoContents::Denied) => return Err(denied.failure(OPERATION, ".git/commondir")),
        Err(_) => Some(dir.to_path_buf()),
    };
    let Some(common) = common else { return Ok(false) };
    for name in ["objects", "refs"] {
        let there = reached(fs::metadata(common.join(name)), "the directory of objects and references")?;
        if !there.is_some_and(|meta| meta.is_dir()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What was found at a path; `None` where nothing is, or nothing that can be looked at for another reason than rights.
fn reached<T>(looked: std::io::Result<T>, what: &str) -> Result<Option<T>, ReadFailure> {
    match looked {
        Ok(found) => Ok(Some(found)),
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(refused(Reason::PermissionDenied, &files::out_of_reach(what)))
        }
        Err(_) => Ok(None),
    }
}

pub(crate) fn identity(path: &Path) -> Result<FileId, ReadFailure> {
    match fs::metadata(path) {
        Ok(meta) => Ok(files::file_id(&meta)),
        Err(e) => Err(NoContents::of(&e).failure(OPERATION, "the repository's directory")),
    }
}

fn refused(reason: Reason, details: &str) -> ReadFailure {
    ReadFailure::new(reason, OPERATION, details)
}
