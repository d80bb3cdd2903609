//! The repository in the hands of an operation: Git run in it, and the facts that several operations ask for.
//! Trust: every output is parsed as data; names that are not UTF-8 are told lossily and never passed back.

use crate::{
    call::{self, Call},
    failure::{Step, failed, not_run, refused},
    git::{Begun, Git},
    hooks::Hooks,
    standing,
    store::{self, Store, index::Index},
};
use bulkhead_contract::direct::{Class, OperationState};
use bulkhead_ipc::edge::write::Allowed;
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    rc::Rc,
};

/// Bytes of arguments in one run of Git at most; the system's own limit is 2 MiB with the environment.
const MAX_ARGUMENTS: usize = 200_000;

/// How files are compared. What is inside of a submodule is its own affair, and so is what its configuration has Git run.
const COMPARED: [&str; 4] = ["--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"];

/// Said where a listing of files fails.
const UNREAD: &str = "The working tree could not be listed.";

/// One working tree with its repository.
#[derive(Debug)]
pub(crate) struct Repo<'a> {
    pub(crate) allowed: &'a Allowed,
    pub(crate) git: &'a Git,
    /// Canonical.
    pub(crate) root: PathBuf,
    pub(crate) git_dir: PathBuf,
    pub(crate) common_dir: PathBuf,
    /// The restore point that the operation made last, of whichever working tree.
    pub(crate) point: Rc<RefCell<Option<String>>>,
    /// What is read without Git, where the repository is of a kind for that.
    pub(crate) store: Option<Rc<Store>>,
    /// Those that belong to what an operation does.
    pub(crate) hooks: Hooks,
    /// A listing of untracked files that was begun ahead of its time.
    pub(crate) untracked: RefCell<Option<Begun<'a>>>,
    /// Global arguments besides those that Git is always given.
    pub(crate) globals: Vec<OsString>,
}

/// Where HEAD is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    /// Branch without `refs/heads/`; `None` when detached.
    pub(crate) branch: Option<String>,
    /// Full id; `None` on an unborn branch.
    pub(crate) commit: Option<String>,
}

impl Head {
    /// What an operation that needs a commit starts from.
    pub(crate) fn born(&self) -> Step<&str> {
        self.commit.as_deref().ok_or_else(|| {
            failed(Class::NotFound, "There is no commit yet on the current branch.", "Make a first commit.")
        })
    }
}

/// One entry of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) mode: String,
    pub(crate) id: String,
    pub(crate) stage: u8,
    pub(crate) path: Vec<u8>,
}

impl<'a> Repo<'a> {
    /// The working tree that is served.
    pub(crate) fn new(allowed: &'a Allowed, git: &'a Git) -> Self {
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        Self {
            allowed,
            git,
            root: path(&allowed.root),
            git_dir: path(&allowed.git_dir),
            common_dir: path(&allowed.common_dir),
            point: Rc::default(),
            store: None,
            hooks: Hooks::default(),
            untracked: RefCell::default(),
            globals: Vec::new(),
        }
    }

    /// Another working tree of the same repository.
    pub(crate) fn at(&self, root: &Path, git_dir: &Path) -> Repo<'a> {
        let mut globals = self.globals.clone();
        for (name, value) in [("--git-dir=", git_dir), ("--work-tree=", root)] {
            let mut argument = OsString::from(name);
            argument.push(value);
            globals.push(argument);
        }
        globals.extend(["-C".into(), root.into()]);
        Repo {
            allowed: self.allowed,
            git: self.git,
            root: root.to_owned(),
            git_dir: git_dir.to_owned(),
            common_dir: self.common_dir.clone(),
            point: Rc::clone(&self.point),
            store: self.store.clone(),
            hooks: self.hooks.clone(),
            untracked: RefCell::default(),
            globals,
        }
    }

    /// Settles `key=value` for every further run; a later one of the same key wins.
    pub(crate) fn pin(&mut self, settings: impl IntoIterator<Item = String>) {
        for setting in settings {
            self.globals.extend(["-c".into(), setting.into()]);
        }
    }

    /// A run of Git, to be finished with arguments.
    pub(crate) fn call<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Call<'_, 'a> {
        let arguments = arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect();
        Call::of(self, arguments)
    }

    /// Where HEAD is now.
    pub(crate) fn head(&self) -> Step<Head> {
        if let Some(store) = &self.store
            && let Ok(head) = store.head(&self.git_dir)
        {
            return Ok(head);
        }
        let branch = match self.call(["symbolic-ref", "-q", "HEAD"]).line()? {
            Some(name) => Some(name.strip_prefix("refs/heads/").map(str::to_owned).ok_or_else(|| {
                failed(
                    Class::Unusable,
                    format!("HEAD names {name}, which is no branch."),
                    "Have somebody look at the repository.",
                )
            })?),
            None => None,
        };
        Ok(Head { branch, commit: self.commit("HEAD")? })
    }

    /// The commit that a revision names.
    pub(crate) fn commit(&self, revision: &str) -> Step<Option<String>> {
        if let Some(store) = &self.store
            && let Ok(found) = match revision {
                "HEAD" => store.head(&self.git_dir).map(|head| head.commit),
                name => store.commit(name).map(|id| id.map(|id| id.to_string())),
            }
        {
            return Ok(found);
        }
        self.call(["rev-parse", "--verify", "-q", "--end-of-options"]).arg(format!("{revision}^{{commit}}")).line()
    }

    /// What a full name of a ref holds, unpeeled.
    pub(crate) fn reference(&self, name: &str) -> Step<Option<String>> {
        if let Some(store) = &self.store
            && let Ok(found) = store.reference(name)
        {
            return Ok(found.map(|id| id.to_string()));
        }
        let listed = self.call(["for-each-ref", "--format=%(refname) %(objectname)", name]).line()?;
        let whole = listed.as_deref().and_then(|line| line.split_once(' '));
        Ok(whole.filter(|(found, _)| *found == name).map(|(_, id)| id.to_owned()))
    }

    /// Entries of the index for these paths, or all of them; unmerged ones alone where that is asked.
    pub(crate) fn entries(&self, unmerged: bool, paths: &[Vec<u8>]) -> Step<Vec<Entry>> {
        let which = if unmerged { "--unmerged" } else { "--stage" };
        let mut entries = Vec::new();
        for batch in batches(paths) {
            let listing =
                self.call(["ls-files", which, "-z", "--"]).paths(batch).all("The index could not be read.")?;
            entries.extend(fields(&listing).filter_map(Entry::read));
        }
        Ok(entries)
    }

    /// The index, where it is read without Git; one that is not there has no entries.
    pub(crate) fn index(&self) -> Option<Option<Index>> {
        self.store.as_ref().and_then(|store| Index::read(store, &self.git_dir).ok())
    }

    /// Names of unmerged paths, each once, in the index's order.
    pub(crate) fn unmerged(&self) -> Step<Vec<String>> {
        let mut paths: Vec<_> = match self.index() {
            Some(index) => index.iter().flat_map(Index::unmerged).map(<[u8]>::to_vec).collect(),
            None => self.entries(true, &[])?.into_iter().map(|entry| entry.path).collect(),
        };
        paths.dedup();
        Ok(paths.iter().map(|path| lossy(path)).collect())
    }

    /// Brings what the index knows of times and sizes up to date; what differs is not this call's question.
    pub(crate) fn refresh(&self) -> Step<()> {
        self.call(["update-index", "-q", "--refresh"]).run().map(drop)
    }

    /// Begins to ask which tracked paths differ from HEAD in the working tree, beneath these paths or all of them.
    pub(crate) fn begin_to_compare(&self, head: &Head, paths: Vec<Vec<u8>>) -> Step<Comparing<'a>> {
        let base = match &head.commit {
            Some(commit) => commit.clone(),
            None => self.empty_tree()?,
        };
        let mut begun = Vec::new();
        // what is named by so many arguments that Git runs more than once takes its time in any case
        if let [all] = batches(&paths)[..] {
            begun.push(self.comparison(&base, all).begin()?);
        }
        Ok(Comparing { head: head.clone(), base, paths, begun })
    }

    /// Compares what differs by its time alone, and writes no index for that.
    fn comparison<'r>(&'r self, base: &str, paths: &[Vec<u8>]) -> Call<'r, 'a> {
        let call = self.call(["diff", "--name-only", "-z", "-O/dev/null", "--no-relative"]);
        call.global("-c").global("diff.autoRefreshIndex=true").args(COMPARED).arg(base).arg("--").paths(paths)
    }

    /// Tracked paths whose state in index or working tree differs from HEAD, or may do so by the times of files.
    pub(crate) fn changed(&self, head: &Head, paths: &[Vec<u8>]) -> Step<Vec<Vec<u8>>> {
        let base = match &head.commit {
            Some(commit) => commit.clone(),
            None => self.empty_tree()?,
        };
        let mut changed = Vec::new();
        for batch in batches(paths) {
            let listing = self
                .call(["diff-index", "-z", "--name-only"])
                .args(COMPARED)
                .args([&base, "--"])
                .paths(batch)
                .all("The working tree could not be compared.")?;
            changed.extend(fields(&listing).map(<[u8]>::to_vec));
        }
        Ok(changed)
    }

    /// What the repository is in the middle of.
    pub(crate) fn state(&self) -> OperationState {
        let state = standing::state(&self.git_dir);
        if state != OperationState::Clear || !self.common_dir.join("reftable").is_dir() {
            return state;
        }
        // there these two are no files
        let is = |name: &str| self.commit(name).is_ok_and(|commit| commit.is_some());
        match (is("CHERRY_PICK_HEAD"), is("REVERT_HEAD")) {
            (true, _) => OperationState::CherryPick,
            (false, true) => OperationState::Revert,
            (false, false) => state,
        }
    }

    /// Paths at which a commit would put something, and where something untracked, or ignored, is now.
    pub(crate) fn in_the_way(&self, to: &str) -> Step<Vec<Vec<u8>>> {
        let listing = self
            .call([
                "diff-index",
                "--cached",
                "-z",
                "--name-only",
                "--no-renames",
                "--diff-filter=D",
                "--no-ext-diff",
                to,
                "--",
            ])
            .all("The commits could not be compared.")?;
        let mut here: Vec<_> = fields(&listing).filter_map(|path| self.blocker(path)).collect();
        here.dedup();
        if here.is_empty() {
            return Ok(Vec::new());
        }
        let tracked: BTreeSet<_> = self.entries(false, &here)?.into_iter().map(|entry| entry.path).collect();
        let mut in_the_way = Vec::new();
        for path in here.iter().filter(|path| !tracked.contains(*path)) {
            let directory = self.root.join(OsStr::from_bytes(path)).symlink_metadata().is_ok_and(|it| it.is_dir());
            // a directory gives way to a file where all of it is tracked
            let occupied = !directory || !self.others(false, std::slice::from_ref(path))?.is_empty();
            if occupied {
                in_the_way.push(path.clone());
            }
        }
        Ok(in_the_way)
    }

    /// Those of these paths, as [`Self::in_the_way`] found them, that no restore point holds, because they are ignored, and
    /// that a commit has otherwise.
    pub(crate) fn lost(&self, paths: &[Vec<u8>], to: &str) -> Step<Vec<String>> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let (all, kept) = (self.others(false, paths)?, self.others(true, paths)?);
        let mut lost = Vec::new();
        for path in all.difference(&kept) {
            let there =
                self.call(["rev-parse", "--verify", "-q"]).paths(&[[to.as_bytes(), b":", path].concat()]).line()?;
            let is_file = self.root.join(OsStr::from_bytes(path)).symlink_metadata().is_ok_and(|it| it.is_file());
            let here = match is_file {
                true => self.call(["hash-object", "--no-filters", "--"]).paths(std::slice::from_ref(path)).line()?,
                false => None,
            };
            if here.is_none() || here != there {
                lost.push(lossy(path));
            }
        }
        Ok(lost)
    }

    /// Untracked files among these paths and beneath them; without those that are ignored, where that is asked.
    fn others(&self, without_ignored: bool, paths: &[Vec<u8>]) -> Step<BTreeSet<Vec<u8>>> {
        let mut others = BTreeSet::new();
        for batch in batches(paths) {
            let call = self.call(["ls-files", "--others", "-z"]).args(without_ignored.then_some("--exclude-standard"));
            others.extend(fields(&call.arg("--").paths(batch).all(UNREAD)?).map(<[u8]>::to_vec));
        }
        Ok(others)
    }

    /// What is on the disk where this path would be put: the path itself, or something above it that is no directory.
    fn blocker(&self, path: &[u8]) -> Option<Vec<u8>> {
        let ends = (0..path.len()).filter(|at| path[*at] == b'/').chain([path.len()]);
        for end in ends {
            let found = self.root.join(OsStr::from_bytes(&path[..end])).symlink_metadata().ok()?;
            if end == path.len() || !found.is_dir() {
                return Some(path[..end].to_vec());
            }
        }
        None
    }

    /// Id of the tree without entries, in the repository's own hash.
    pub(crate) fn empty_tree(&self) -> Step<String> {
        if let Some(store) = &self.store {
            return Ok(store.empty_tree().to_string());
        }
        let id = self.call(["hash-object", "-w", "-t", "tree", "--stdin"]).stdin(Vec::new()).line()?;
        id.ok_or_else(|| failed(Class::Failed, "Git could not write the empty tree.", "Check the disk."))
    }

    /// Refuses a name that Git would not take for a branch or a tag.
    pub(crate) fn checked_name(&self, kind: &str, name: &str) -> Step<()> {
        let full = format!("refs/{kind}/{name}");
        let taken = store::is_name(&full) || self.call(["check-ref-format", &full]).output()?.is_some();
        if !taken || name.starts_with('-') || name == "HEAD" {
            return refused(format!("{name:?} is not a name that Git allows here."), "Choose another name.");
        }
        Ok(())
    }

    /// Working trees that hold a branch: their paths.
    pub(crate) fn holders(&self, branch: &str) -> Step<Vec<String>> {
        let full = format!("refs/heads/{branch}");
        let listing = self.call(["worktree", "list", "--porcelain", "-z"]).all("Worktrees could not be listed.")?;
        let mut path = String::new();
        let mut holders = Vec::new();
        for line in fields(&listing).map(lossy) {
            if let Some(found) = line.strip_prefix("worktree ") {
                path = found.to_owned();
            } else if line.strip_prefix("branch ") == Some(&full) {
                holders.push(path.clone());
            }
        }
        Ok(holders)
    }

    /// Those of these paths for which an attribute is set, with its value.
    pub(crate) fn attributes(&self, name: &str, paths: &[Vec<u8>]) -> Step<BTreeMap<String, String>> {
        let mut input = paths.join(&0);
        if !input.is_empty() {
            input.push(0);
        }
        let listing =
            self.call(["check-attr", "-z", "--stdin", name]).stdin(input).all("Attributes could not be read.")?;
        let all: Vec<_> = fields(&listing).collect();
        let set = all.chunks_exact(3).filter(|row| !matches!(row[2], b"unspecified" | b"unset" | b""));
        Ok(set.map(|row| (lossy(row[0]), lossy(row[2]))).collect())
    }
}

/// Fields that end in NUL.
pub(crate) fn fields(listing: &[u8]) -> impl Iterator<Item = &[u8]> {
    listing.split(|byte| *byte == 0).filter(|field| !field.is_empty())
}

/// A name for eyes, not for Git.
pub(crate) fn lossy(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

impl Entry {
    /// `mode id stage TAB path` of `ls-files --stage`.
    pub(crate) fn read(field: &[u8]) -> Option<Self> {
        let tab = field.iter().position(|byte| *byte == b'\t')?;
        let (facts, path) = (std::str::from_utf8(&field[..tab]).ok()?, &field[tab + 1..]);
        let mut facts = facts.split(' ');
        let (mode, id, stage) = (facts.next()?, facts.next()?, facts.next()?);
        Some(Self { mode: mode.to_owned(), id: id.to_owned(), stage: stage.parse().ok()?, path: path.to_vec() })
    }
}

/// A comparison with HEAD that goes on.
pub(crate) struct Comparing<'a> {
    head: Head,
    base: String,
    paths: Vec<Vec<u8>>,
    begun: Vec<Begun<'a>>,
}

impl<'a> Comparing<'a> {
    /// Waits for it: the paths that differ.
    pub(crate) fn ended(mut self, repo: &Repo<'a>) -> Step<Vec<Vec<u8>>> {
        let mut differing = Vec::new();
        for batch in batches(&self.paths) {
            let begun = match self.begun.pop() {
                Some(begun) => begun,
                None => repo.comparison(&self.base, batch).begin()?,
            };
            let Some(listing) = call::output(begun.ended().map_err(|why| not_run(&why))?)? else {
                // settings of how differences are shown can be wrong, and stop this one; the other does not read them
                repo.refresh()?;
                return repo.changed(&self.head, &self.paths);
            };
            differing.extend(fields(&listing).map(<[u8]>::to_vec));
        }
        Ok(differing)
    }
}

/// Paths in stretches that fit on a command line; one empty stretch where there are none, which Git takes for all.
fn batches(paths: &[Vec<u8>]) -> Vec<&[Vec<u8>]> {
    if paths.is_empty() {
        return vec![paths];
    }
    let (mut batches, mut from, mut size) = (Vec::new(), 0, 0);
    for (at, path) in paths.iter().enumerate() {
        if size + path.len() + 16 > MAX_ARGUMENTS && at > from {
            batches.push(&paths[from..at]);
            (from, size) = (at, 0);
        }
        size += path.len() + 16;
    }
    batches.push(&paths[from..]);
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cut_into_stretches_that_lose_none() {
        let paths: Vec<Vec<u8>> = (0..1_000).map(|number| vec![b'a'; number]).collect();
        let batches = batches(&paths);
        assert!(batches.len() > 1, "{}", batches.len());
        assert_eq!(batches.concat(), paths);
        assert_eq!(super::batches(&[]).len(), 1);
    }

    #[test]
    fn an_entry_is_read_as_git_writes_it() {
        let read = Entry::read(b"100644 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391 2\ta\tb").expect("an entry");
        assert_eq!((read.stage, read.path.as_slice()), (2, b"a\tb".as_slice()));
        assert_eq!(Entry::read(b"nonsense"), None);
    }
}
