//! Files that name another directory: `.git`, `commondir`, and the `gitdir` that must point back.
//! Trust: written by whoever made the repository; where they lead out of the ceilings they are refused by name.

use super::{Bounds, Link, Pointed, identity, looks_like_git_dir, reached, refused};
use crate::files::{self, Links, NoContents};
use bulkhead_contract::failure::{ReadFailure, Reason};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Bytes of a `.git`, `commondir` or `gitdir` file at most.
pub(super) const MAX_POINTER: u64 = 8 * 1024;

/// The repository whose working tree starts at `dir`, if one does.
pub(super) fn follow(dir: &Path, bounds: Bounds<'_>) -> Result<Option<Pointed>, ReadFailure> {
    let dot_git = dir.join(".git");
    let Some(meta) = reached(fs::symlink_metadata(&dot_git), "the directory in which `.git` is looked for")? else {
        return Ok(None);
    };
    let kind = meta.file_type();
    let (git_dir, link) = if kind.is_dir() {
        (dot_git, Link::Directory)
    } else if kind.is_file() {
        (named_by(&dot_git, dir)?, Link::File)
    } else if kind.is_symlink() {
        (dot_git, Link::Directory)
    } else {
        return Err(refused(Reason::SpecialFile, "`.git` is neither a directory nor a file.").at(b".git"));
    };
    let Some(git_dir) = reached(fs::canonicalize(&git_dir), "what `.git` leads to")? else {
        return match link {
            Link::File => Err(not_there()),
            _ => Ok(None),
        };
    };
    if !bounds.hold(&git_dir) {
        return Err(leads_out("`.git`", b".git"));
    }
    if !looks_like_git_dir(&git_dir)? {
        // Git goes on upwards past a directory of that name, and gives up at a file
        return if link == Link::File { Err(not_there()) } else { Ok(None) };
    }
    let common_dir = common_dir(&git_dir, bounds)?;
    let mut pointed = Pointed { worktree: Some(dir.to_path_buf()), git_dir, common_dir, link };
    if pointed.common_dir != pointed.git_dir && link == Link::File {
        points_back(&pointed, dir)?;
        pointed.link = Link::Worktree;
    }
    Ok(Some(pointed))
}

/// The directory that holds refs, objects and configuration of `git_dir`.
pub(super) fn common_dir(git_dir: &Path, bounds: Bounds<'_>) -> Result<PathBuf, ReadFailure> {
    let text = match files::read(&git_dir.join("commondir"), MAX_POINTER, Links::Refuse) {
        Ok(text) => text,
        Err(NoContents::Absent) => return Ok(git_dir.to_path_buf()),
        Err(e) => return Err(e.failure(super::OPERATION, ".git/commondir")),
    };
    let common = path_in(&text, git_dir).and_then(|path| fs::canonicalize(path).ok());
    match common {
        Some(common) if bounds.hold(&common) => Ok(common),
        Some(_) => Err(leads_out("`.git/commondir`", b".git/commondir")),
        None => Err(refused(Reason::Redirected, "`commondir` names no directory.").at(b".git/commondir")),
    }
}

/// A linked worktree's git directory must name the `.git` file that names it.
fn points_back(pointed: &Pointed, dir: &Path) -> Result<(), ReadFailure> {
    let text = files::read(&pointed.git_dir.join("gitdir"), MAX_POINTER, Links::Refuse)
        .map_err(|e| e.failure(super::OPERATION, ".git/gitdir"))?;
    let back = path_in(&text, &pointed.git_dir).filter(|back| back.ends_with(".git"));
    let same = back.as_deref().and_then(Path::parent).and_then(|there| identity(there).ok()) == Some(identity(dir)?);
    if same {
        Ok(())
    } else {
        Err(refused(
            Reason::Redirected,
            "`.git` names the git directory of another linked worktree. `git worktree repair` mends a moved one.",
        )
        .at(b".git"))
    }
}

/// The directory that the `.git` file names.
fn named_by(dot_git: &Path, dir: &Path) -> Result<PathBuf, ReadFailure> {
    let text = files::read(dot_git, MAX_POINTER, Links::Refuse).map_err(|e| e.failure(super::OPERATION, ".git"))?;
    text.strip_prefix(b"gitdir: ")
        .and_then(|rest| path_in(rest, dir))
        .ok_or_else(|| refused(Reason::Corrupt, "`.git` is a file that does not say `gitdir: PATH`.").at(b".git"))
}

/// The path in the text of such a file: line ends cut off at the end, relative to `base`.
pub(super) fn path_in(text: &[u8], base: &Path) -> Option<PathBuf> {
    let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'))? + 1;
    if text[..end].contains(&0) {
        return None;
    }
    files::bytes_path(&text[..end]).map(|path| base.join(path))
}

fn not_there() -> ReadFailure {
    refused(Reason::Redirected, "`.git` is a file that names no git directory.").at(b".git")
}

fn leads_out(what: &str, path: &[u8]) -> ReadFailure {
    let details = format!(
        "{what} leads to a directory outside the allowed roots. If this is a linked worktree or a submodule of yours, \
         allow the main repository with another --root."
    );
    refused(Reason::Redirected, &details).at(path)
}
