//! Names in a git directory that would block, or lead elsewhere, if the library opened them.
//! Trust: `lstat` only; the race between this look and the library's open is the watchdog's.

use super::{OPERATION, refused};
use crate::{files::NoContents, raw_index::MAX_INDEX, refs::MAX_PACKED, repo::MAX_SHALLOW};
use bulkhead_contract::failure::{ReadFailure, Reason};
use std::{fs, path::Path};

/// Opened by the library or by us in the git directory itself.
const IN_GIT_DIR: &[&str] = &["HEAD", "index", "config.worktree", "commondir", "gitdir", "info", "logs", "refs"];
/// Opened in the common directory.
const IN_COMMON_DIR: &[&str] = &[
    "config",
    "packed-refs",
    "shallow",
    "refs",
    "refs/replace",
    "logs",
    "info",
    "info/exclude",
    "info/attributes",
    "info/grafts",
    "objects",
    "objects/info",
    "objects/info/alternates",
    "objects/info/commit-graph",
    "objects/info/commit-graphs",
    "objects/info/commit-graphs/commit-graph-chain",
    "objects/pack",
];
/// Bytes at most of what the library reads as a whole, and perhaps before we do.
const SIZES: &[(&str, u64)] = &[
    ("HEAD", 1 << 20),
    ("index", MAX_INDEX),
    ("packed-refs", MAX_PACKED),
    ("shallow", MAX_SHALLOW),
    ("info/grafts", 1 << 20),
    ("objects/info/alternates", 64 << 10),
    ("objects/info/commit-graphs/commit-graph-chain", 1 << 20),
];
/// Bytes of a replacing reference at most.
const MAX_REPLACE: u64 = 64 << 10;
/// Directories of which every entry is opened.
const LISTED: &[&str] = &["objects", "objects/pack", "objects/info", "objects/info/commit-graphs", "refs/replace"];
/// Entries of a listed directory that are looked at; the object directory has 259, of loose objects in one of its
/// directories there are a few dozen before Git packs them, and packs by the thousand are a repository in need of care.
const MAX_ENTRIES: usize = 20_000;

/// Refuses FIFOs, sockets and devices where Git keeps files, links that lead out of the git directory, and files beyond
/// measure.
///
/// # Errors
/// [`Reason::SpecialFile`], [`Reason::Redirected`] or [`Reason::TooLarge`], naming the path.
pub fn special_files(git_dir: &Path, common_dir: &Path) -> Result<(), ReadFailure> {
    let inside = [git_dir, common_dir];
    let names =
        IN_GIT_DIR.iter().map(|name| (git_dir, name)).chain(IN_COMMON_DIR.iter().map(|name| (common_dir, name)));
    for (dir, name) in names {
        if let Ok(meta) = fs::symlink_metadata(dir.join(name)) {
            look(&dir.join(name), name, meta.file_type(), &inside)?;
            if let Some((_, most)) = SIZES.iter().find(|(of, _)| of == name) {
                size(&dir.join(name), name, *most)?;
            }
        }
    }
    for dir in LISTED {
        listed(&common_dir.join(dir), dir, &inside)?;
    }
    loose(&common_dir.join("objects"), &inside)
}

/// Looks at every loose object: the library opens what is there, and on a FIFO it would wait for ever.
fn loose(objects: &Path, inside: &[&Path]) -> Result<(), ReadFailure> {
    let Ok(entries) = fs::read_dir(objects) else { return Ok(()) };
    for entry in entries.take(MAX_ENTRIES).flatten() {
        let name = entry.file_name();
        if let Some(name) = name.to_str().filter(|name| name.len() == 2 && name.bytes().all(|b| b.is_ascii_hexdigit()))
        {
            listed(&entry.path(), &format!("objects/{name}"), inside)?;
        }
    }
    Ok(())
}

/// The same for the object directory of another repository, which is read as this one's own.
///
/// # Errors
/// As [`special_files`].
pub(super) fn object_dir(objects: &Path) -> Result<(), ReadFailure> {
    for dir in ["", "pack", "info"] {
        listed(&objects.join(dir), "objects", &[objects])?;
    }
    loose(objects, &[objects])
}

fn listed(dir: &Path, shown: &str, inside: &[&Path]) -> Result<(), ReadFailure> {
    let Ok(entries) = fs::read_dir(dir) else { return Ok(()) };
    for entry in entries.take(MAX_ENTRIES).flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if !kind.is_file() && !kind.is_dir() {
            let name = format!("{shown}/{}", entry.file_name().to_string_lossy());
            look(&entry.path(), &name, kind, inside)?;
        }
        if shown == "refs/replace" {
            size(&entry.path(), &format!("{shown}/{}", entry.file_name().to_string_lossy()), MAX_REPLACE)?;
        }
    }
    Ok(())
}

fn size(path: &Path, name: &str, most: u64) -> Result<(), ReadFailure> {
    match fs::metadata(path) {
        Ok(meta) if meta.is_file() && meta.len() > most => {
            Err(NoContents::TooLarge(most).failure(OPERATION, &format!(".git/{name}")))
        }
        _ => Ok(()),
    }
}

fn look(path: &Path, name: &str, kind: fs::FileType, inside: &[&Path]) -> Result<(), ReadFailure> {
    if kind.is_file() || kind.is_dir() {
        return Ok(());
    }
    let shown = format!(".git/{name}");
    if !kind.is_symlink() {
        let details = format!("{shown} is a FIFO, a socket or a device where Git keeps a file.");
        return Err(refused(Reason::SpecialFile, &details).at(shown.as_bytes()));
    }
    let Ok(target) = fs::canonicalize(path) else {
        // a link to nothing reads as absent; HEAD linked to a branch that is not born yet is one
        return Ok(());
    };
    if !inside.iter().any(|dir| target.starts_with(dir)) {
        let details = format!("{shown} is a link that leads out of the git directory.");
        return Err(refused(Reason::Redirected, &details).at(shown.as_bytes()));
    }
    match fs::metadata(&target) {
        Ok(meta) if meta.is_file() || meta.is_dir() => Ok(()),
        _ => Err(ReadFailure::new(Reason::SpecialFile, OPERATION, format!("{shown} leads to a special file."))
            .at(shown.as_bytes())),
    }
}
