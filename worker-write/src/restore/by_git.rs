//! The parts of a restore point made by Git, where the repository is of a kind that this process does not read itself.
//! Trust: contents pass as bytes from files to objects; names of files go to Git on standard input, each ended or quoted.

use super::{
    PREFIX, Ready,
    disk::{Disk, mode},
};
use crate::{
    call::Call,
    failure::{Step, failed},
    leftover::Scratch,
    repo::{Entry, Repo, fields, lossy},
};
use bulkhead_contract::direct::Class;
use std::{
    cell::RefCell,
    ffi::OsStr,
    fs, io,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

/// Makes and names all parts.
pub(super) fn make(repo: &Repo<'_>, ready: &Ready<'_>, scratch: &Scratch) -> Step<()> {
    let disk = RefCell::new(Disk::of(&repo.root));
    let point = Point { repo, empty: repo.empty_tree()?, index: scratch.path("index"), scratch, disk };
    let index = point.index()?;
    let worktree = point.worktree()?;
    let untracked = point.untracked(ready)?;
    let commit = |tree: &str| point.commit(tree, ready);
    let mut names = vec![("index", commit(&index)?), ("worktree", commit(&worktree)?)];
    if let Some(tree) = &untracked {
        names.push(("untracked", commit(tree)?));
    }
    for (name, value) in [("head", ready.head), ("tip", ready.tip)] {
        names.extend(value.map(|value| (name, value.to_owned())));
    }
    let id = ready.id;
    let orders: String = names.iter().map(|(name, value)| format!("create {PREFIX}{id}/{name} {value}\n")).collect();
    let call = point.call(["update-ref", "--stdin"]).stdin(orders);
    call.all("The restore point could not be named. Nothing was done.").map(drop)
}

/// A point while it is made.
struct Point<'r, 'a> {
    repo: &'r Repo<'a>,
    empty: String,
    index: PathBuf,
    scratch: &'r Scratch,
    disk: RefCell<Disk<'r>>,
}

impl<'r, 'a> Point<'r, 'a> {
    /// A run of Git that takes contents as they are, and has what it wrote on disk when it ends.
    fn call<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Call<'r, 'a> {
        raw(self.repo, &self.empty, arguments)
    }

    /// The same with the copy of the index.
    fn on_index<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Call<'r, 'a> {
        self.call(arguments).env("GIT_INDEX_FILE", &self.index)
    }

    /// A tree with the index as a file, and with all that keeps its objects. The copy is left merged.
    fn index(&self) -> Step<String> {
        let original = self.repo.git_dir.join("index");
        let raw = match copy(&original, &self.index) {
            Ok(()) => {
                // as one file, because half of a split one is in a file that Git removes in time; and written anew, so that
                // Git marks the entries whose times prove nothing, which only the original's own time tells
                let anew = ["update-index", "--no-split-index", "--force-write-index"];
                self.on_index(anew).all("The index could not be copied. Nothing was done.")?;
                Some(self.blobs(&[self.index.as_os_str().as_bytes().to_vec()])?.remove(0))
            }
            // `git init`, and nothing added yet
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(unreadable(&original, &error)),
        };
        if raw.is_none() {
            self.on_index(["read-tree", "--empty"]).all("An empty index could not be made.")?;
        }
        let listing = self.on_index(["ls-files", "--unmerged", "-z"]).all("The index could not be read.")?;
        let unmerged: Vec<_> = fields(&listing).filter_map(Entry::read).collect();
        self.set(unmerged.iter().map(|entry| (None, entry.path.as_slice())))?;
        let tree = self.write_tree()?;

        let mut rows = format!("040000 tree {tree}\ttree\0");
        if let Some(raw) = raw {
            rows.push_str(&format!("100644 blob {raw}\tindex\0"));
        }
        let objects = unmerged.iter().filter(|entry| entry.mode != "160000").enumerate();
        let objects: String =
            objects.map(|(at, entry)| format!("{} blob {}\t{at}-{}\0", entry.mode, entry.id, entry.stage)).collect();
        if !objects.is_empty() {
            rows.push_str(&format!("040000 tree {}\tunmerged\0", self.tree_of(&objects)?));
        }
        // in the copy they stand as if added from now on, so that the working tree's files of these names are kept
        let mut rows_of_copy: Vec<_> =
            unmerged.iter().map(|it| (Some((it.mode.clone(), it.id.clone())), it.path.as_slice())).collect();
        rows_of_copy.dedup_by(|a, b| a.1 == b.1);
        // in place of a directory, an entry would take those beneath it away
        let is_directory = |path: &[u8]| self.disk.borrow_mut().stands(path).is_some_and(|found| found.is_dir());
        rows_of_copy.retain(|(_, path)| !is_directory(path));
        self.set(rows_of_copy.into_iter())?;
        self.tree_of(&rows)
    }

    /// A tree of all tracked files as they lie in the working tree.
    fn worktree(&self) -> Step<String> {
        unflag(self.repo, &self.empty, &self.index)?;
        self.on_index(["update-index", "-q", "--refresh"]).run()?;
        let differing = ["diff-files", "-z", "--raw", "--no-renames", "--ignore-submodules=all", "--no-ext-diff"];
        let listing = self.on_index(differing).all("The working tree could not be compared.")?;
        let mut all = fields(&listing);
        let mut paths = Vec::new();
        // `:modes ids LETTER`, then the path
        while let (Some(_), Some(path)) = (all.next(), all.next()) {
            paths.push(path.to_vec());
        }
        self.take_in(&paths)?;
        self.write_tree()
    }

    /// A tree of all untracked files, where there are any and the point is to hold them.
    fn untracked(&self, ready: &Ready<'_>) -> Step<Option<String>> {
        let Some(paths) = ready.untracked.filter(|paths| !paths.is_empty()) else { return Ok(None) };
        self.on_index(["read-tree", "--empty"]).all("An empty index could not be made.")?;
        self.take_in(paths)?;
        let tree = self.write_tree()?;
        Ok(Some(tree).filter(|tree| *tree != self.empty))
    }

    /// Puts files of the working tree into the copy of the index, by their bytes; those that are gone leave it.
    fn take_in(&self, paths: &[Vec<u8>]) -> Step<()> {
        let mut sources = Vec::new();
        let mut rows = Vec::new();
        for (at, path) in paths.iter().enumerate() {
            let on_disk = self.disk.borrow().path(path);
            let found = self.disk.borrow_mut().stands(path);
            // a directory where a file was: what is in it is untracked, or another entry
            let Some((mode, found)) = found.and_then(|found| Some((mode(&found)?, found))) else {
                rows.push((None, path));
                continue;
            };
            if found.is_symlink() {
                let copy = self.scratch.path(&format!("link-{at}"));
                let target = fs::read_link(&on_disk).map_err(|error| unreadable(&on_disk, &error))?;
                fs::write(&copy, target.as_os_str().as_bytes()).map_err(|error| unreadable(&copy, &error))?;
                sources.push((copy.into_os_string().into_vec(), path, mode));
            } else {
                sources.push((path.clone(), path, mode));
            }
        }
        let files: Vec<_> = sources.iter().map(|(file, _, _)| file.clone()).collect();
        let ids = self.blobs(&files)?;
        let taken = sources.into_iter().zip(ids).map(|((_, path, mode), id)| (Some((format!("{mode:o}"), id)), path));
        // removals first: a file may stand now where entries stood beneath a directory
        rows.extend(taken);
        self.set(rows.into_iter().map(|(entry, path)| (entry, path.as_slice())))
    }

    /// Sets entries of the copy, or removes them.
    fn set<'p>(&self, rows: impl Iterator<Item = (Option<(String, String)>, &'p [u8])>) -> Step<()> {
        let nothing = "0".repeat(self.empty.len());
        let mut input = Vec::new();
        for (entry, path) in rows {
            let (mode, id) = entry.unwrap_or_else(|| ("0".to_owned(), nothing.clone()));
            input.extend_from_slice(format!("{mode} {id}\t").as_bytes());
            input.extend_from_slice(path);
            input.push(0);
        }
        if !input.is_empty() {
            let call = self.on_index(["update-index", "--add", "--replace", "-z", "--index-info"]).stdin(input);
            call.all("The copy of the index could not be written. Nothing was done.")?;
        }
        Ok(())
    }

    /// Objects of files, in their order.
    fn blobs(&self, files: &[Vec<u8>]) -> Step<Vec<String>> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let input: Vec<u8> = files.iter().flat_map(|file| quoted(file)).collect();
        let call = self.call(["hash-object", "-w", "--no-filters", "--stdin-paths"]).stdin(input);
        let listing = call.all("A file could not be kept in a restore point. Nothing was done.")?;
        let ids: Vec<_> = lossy(&listing).lines().map(str::to_owned).collect();
        if ids.len() != files.len() {
            return Err(failed(
                Class::Failed,
                format!("Git kept {} of {} files for the restore point. Nothing was done.", ids.len(), files.len()),
                "Try again; files may have changed meanwhile.",
            ));
        }
        Ok(ids)
    }

    fn write_tree(&self) -> Step<String> {
        let id = self.on_index(["write-tree"]).line()?;
        id.ok_or_else(|| {
            failed(
                Class::Unusable,
                "The index could not be written as a tree: an object that it names may be missing. Nothing was done.",
                "Have the repository checked with git fsck.",
            )
        })
    }

    fn tree_of(&self, rows: &str) -> Step<String> {
        let made = self.call(["mktree", "-z"]).stdin(rows).all("A restore point could not be written.")?;
        Ok(lossy(&made).trim().to_owned())
    }

    fn commit(&self, tree: &str, ready: &Ready<'_>) -> Step<String> {
        let mut call = self.call(["commit-tree", "--no-gpg-sign", "-F", "-"]).stdin(ready.message);
        for (name, value) in [
            ("GIT_AUTHOR_NAME", "bulkhead"),
            ("GIT_AUTHOR_EMAIL", "bulkhead@localhost"),
            ("GIT_COMMITTER_NAME", "bulkhead"),
            ("GIT_COMMITTER_EMAIL", "bulkhead@localhost"),
        ] {
            call = call.env(name, value);
        }
        let time = format!("{} +0000", ready.made);
        call = call.env("GIT_AUTHOR_DATE", &time).env("GIT_COMMITTER_DATE", &time);
        if let Some(parent) = ready.head {
            call = call.args(["-p", parent]);
        }
        let made = call.arg(tree).all("A restore point could not be written.")?;
        Ok(lossy(&made).trim().to_owned())
    }
}

/// A run of Git without attributes and conversions, whose writes are on disk when it ends.
pub(super) fn raw<'r, 'a, S: AsRef<OsStr>>(
    repo: &'r Repo<'a>,
    empty: &str,
    arguments: impl IntoIterator<Item = S>,
) -> Call<'r, 'a> {
    let mut call = repo.call(arguments).global(format!("--attr-source={empty}"));
    for setting in [
        "core.autocrlf=false",
        "core.safecrlf=false",
        "core.attributesFile=/dev/null",
        "core.splitIndex=false",
        "core.fsync=all",
        "core.fsyncMethod=batch",
    ] {
        call = call.global("-c").global(setting);
    }
    call
}

/// Takes from a copy of the index what has Git not look at files: "assume unchanged", and "skip" of those that are there.
pub(super) fn unflag(repo: &Repo<'_>, empty: &str, index: &Path) -> Step<()> {
    let call = |arguments: &[&str]| raw(repo, empty, arguments).env("GIT_INDEX_FILE", index);
    let listing = call(&["ls-files", "-v", "-z"]).all("The index could not be read.")?;
    let (mut assumed, mut skipped) = (Vec::new(), Vec::new());
    // `LETTER path`: a small letter is assumed, `S` is skipped
    for row in fields(&listing) {
        let (Some(letter), Some(path)) = (row.first(), row.get(2..)) else { continue };
        if letter.is_ascii_lowercase() {
            assumed.extend([path, b"\0"].concat());
        }
        if letter.eq_ignore_ascii_case(&b'S') && repo.root.join(OsStr::from_bytes(path)).symlink_metadata().is_ok() {
            skipped.extend([path, b"\0"].concat());
        }
    }
    for (flag, paths) in [("--no-assume-unchanged", assumed), ("--no-skip-worktree", skipped)] {
        if !paths.is_empty() {
            let call = call(&["update-index", flag, "-z", "--stdin"]).stdin(paths);
            call.all("The copy of the index could not be written. Nothing was done.")?;
        }
    }
    Ok(())
}

/// A path on a line of its own, quoted as C does where it holds what would end or begin something.
pub(super) fn quoted(path: &[u8]) -> Vec<u8> {
    if !path.iter().any(|byte| matches!(byte, b'\n' | b'"' | b'\\' | b'\r')) {
        return [path, b"\n"].concat();
    }
    let mut line = vec![b'"'];
    for byte in path {
        match byte {
            b'"' | b'\\' => line.extend([b'\\', *byte]),
            b' '..=b'~' => line.push(*byte),
            other => line.extend(format!("\\{other:03o}").bytes()),
        }
    }
    line.extend(b"\"\n");
    line
}

/// Copies an index with its time: an entry that is as young as the index may have changed since without a trace.
pub(super) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let time = from.metadata()?.modified()?;
    fs::copy(from, to)?;
    fs::OpenOptions::new().write(true).open(to)?.set_modified(time)
}

fn unreadable(path: &Path, error: &io::Error) -> Box<bulkhead_ipc::edge::write::Failed> {
    let next = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "Make room on the disk, then try again.",
        _ => "Make the file readable for the server's user, or move it away.",
    };
    failed(
        Class::Failed,
        format!("{} could not be kept in a restore point: {error}. Nothing was done.", path.display()),
        next,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_would_end_a_line_are_quoted() {
        assert_eq!(quoted(b"a b"), b"a b\n");
        assert_eq!(quoted(b"a\n\"\\\xff"), b"\"a\\012\\\"\\\\\\377\"\n");
    }
}
