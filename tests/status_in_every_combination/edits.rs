//! The edits of one combination: which file has which part, what is done to it, and how all of it is undone.
//! Trust: test code; git does what is staged, the file system the rest.

use super::support::{Repo, dice::Dice};
use std::{
    cell::RefCell,
    collections::BTreeSet,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::PathBuf,
    time::{Duration, SystemTime},
};

/// What is done to a working tree; a combination is a set of these.
#[derive(Debug, Clone, Copy)]
pub enum Edit {
    Conflicted,
    Staged,
    Renamed,
    Unstaged,
    Ignored,
    Submodule,
}

/// All of them, in the order in which they are done: a merge wants an index that is clean.
pub const EDITS: [Edit; 6] =
    [Edit::Conflicted, Edit::Staged, Edit::Renamed, Edit::Unstaged, Edit::Ignored, Edit::Submodule];

/// An untracked file that no rule ignores stands beside those that rules do.
pub const BESIDE_IGNORED: &str = "beside-ignored";
/// Files that have a part in edits.
const PARTS: usize = 48;
/// Those of them that the two sides of a merge change.
const OF_MERGE: usize = 8;

/// What all combinations start from.
#[derive(Debug)]
pub struct Base {
    ours: String,
    theirs: String,
    files: Vec<String>,
}

/// Plain files of some size: their paths.
fn candidates(repo: &Repo<'_>) -> Vec<String> {
    let list = repo.git(&["ls-tree", "-r", "-l", "HEAD"]);
    let line = |line: &str| {
        let (meta, path) = line.split_once('\t')?;
        let words: Vec<&str> = meta.split_whitespace().collect();
        let size: u64 = words[3].parse().ok()?;
        let plain = words[0] == "100644" && (64..60_000).contains(&size) && !path.starts_with('"');
        (plain && !path.starts_with(".git")).then(|| path.to_owned())
    };
    list.lines().filter_map(line).collect()
}

/// Directories that a sparse checkout keeps: every other one of those two levels deep, and that of a submodule.
pub fn kept_directories(repo: &Repo<'_>) -> Vec<String> {
    let upper = |path: &String| {
        let (directory, _) = path.rsplit_once('/')?;
        Some(directory.splitn(3, '/').take(2).collect::<Vec<_>>().join("/"))
    };
    let all: BTreeSet<String> = candidates(repo).iter().filter_map(upper).collect();
    all.into_iter().step_by(2).chain(["dir".into()]).collect()
}

/// Commits the two sides of a merge with conflicts of every kind.
pub fn prepare(repo: &Repo<'_>) -> Base {
    let all = candidates(repo);
    assert!(all.len() >= PARTS, "only {} files", all.len());
    let mut dice = Dice::of_run();
    let kept = kept_directories(repo);
    let is_kept = |file: &&String| kept.iter().any(|name| file.starts_with(&format!("{name}/")));
    // every other one is left out by a sparse checkout
    let (inside, outside): (Vec<&String>, Vec<&String>) = all.iter().partition(is_kept);
    let mut files: Vec<String> = Vec::new();
    while files.len() < PARTS {
        let from = if files.len().is_multiple_of(2) { &inside } else { &outside };
        let file = from[dice.below(from.len())];
        if !files.contains(file) {
            files.push(file.clone());
        }
    }
    // Git takes an unmerged path for a new one in its search for renames, and where it pairs it with a file that is gone,
    // that one is in no row at all; so what conflicts resembles nothing
    for file in &files[..OF_MERGE] {
        let lines: Vec<String> = (0..64).map(|_| format!("{}\n", dice.below(usize::MAX))).collect();
        repo.write(file, lines.concat());
    }
    let base = repo.commit("texts that resemble nothing");
    let side = |name: &str, changed: [&str; 2], removed: &str| {
        repo.git(&["checkout", "-q", "--detach", &base]);
        for file in changed {
            repo.write(file, format!("{name}\n{}", fs::read_to_string(repo.at(file)).unwrap_or_default()));
        }
        repo.git(&["rm", "-q", removed]);
        repo.write("both-added", format!("{name}\n").repeat(9));
        repo.git(&["mv", &files[3], &format!("{}.{name}", files[3])]);
        repo.git(&["mv", &files[4], &format!("{}.moved", files[4])]);
        repo.append(format!("{}.moved", files[4]), format!("{name}\n"));
        repo.append(&files[if name == "ours" { 5 } else { 6 }], "merged without a conflict\n");
        repo.commit(name)
    };
    let theirs = side("theirs", [&files[0], &files[2]], &files[1]);
    let ours = side("ours", [&files[0], &files[1]], &files[2]);
    Base { ours, theirs, files: files.split_off(OF_MERGE) }
}

/// A checkout and the combination in the making. Every edit leaves out what a sparse checkout does not have on the disk.
#[derive(Debug)]
pub struct Parts<'a> {
    repo: &'a Repo<'a>,
    base: &'a Base,
    dice: RefCell<Dice>,
    exclude: PathBuf,
    lock: PathBuf,
    empty: String,
    sparse_index: bool,
    soiled: RefCell<Vec<&'static str>>,
}

impl<'a> Parts<'a> {
    pub fn new(repo: &'a Repo<'a>, base: &'a Base) -> Self {
        let at = |name: &str| repo.git(&["rev-parse", "--path-format=absolute", "--git-path", name]).into();
        let empty = repo.git(&["hash-object", "-w", "-t", "blob", "/dev/null"]);
        let (exclude, lock) = (at("info/exclude"), at("index.lock"));
        let sparse_index = repo.try_git(&["config", "index.sparse"]).stdout == b"true\n";
        let (dice, soiled) = (RefCell::new(Dice(0)), RefCell::default());
        Parts { repo, base, dice, exclude, lock, empty, sparse_index, soiled }
    }

    /// The checkout as it is without any edit; the dice of what follows fall by this number.
    pub fn reset(&self, seed: u64) {
        assert!(!self.lock.exists(), "a git ended before its time");
        let _ = fs::remove_file(&self.exclude);
        self.repo.git(&["reset", "-q", "--hard", &self.base.ours]);
        self.repo.git(&["clean", "-ffdxq"]);
        for name in self.soiled.take() {
            self.repo.git(&["-C", name, "clean", "-ffdxq"]);
            let recorded = self.repo.git(&["rev-parse", &format!("HEAD:{name}")]);
            self.repo.git(&["-C", name, "checkout", "-q", "-f", "--detach", &recorded]);
        }
        self.dice.replace(Dice(seed));
    }

    /// Those that are checked out.
    fn submodules(&self) -> impl Iterator<Item = &'static str> {
        ["sub", "dir/sub"].into_iter().filter(|name| self.repo.at(name).join(".git").exists())
    }

    /// So many files that are on the disk, other ones for each `first`.
    fn files(&self, first: usize, count: usize) -> Vec<&str> {
        let there = |file: &&String| fs::symlink_metadata(self.repo.at(file)).is_ok_and(|meta| meta.is_file());
        let all: Vec<&String> = self.base.files.iter().filter(there).collect();
        // parts meet in a few files, so that a path is staged, moved and changed at once
        let at = |n: usize| all[(first * 5 + n) % all.len()].as_str();
        (0..count).map(at).collect()
    }

    /// Files that a sparse checkout leaves out. Of a sparse index none: there git 2.47 writes entries twice where one of
    /// them is staged.
    fn left_out(&self) -> impl Iterator<Item = &String> {
        let files = self.base.files.iter().filter(|_| !self.sparse_index);
        files.filter(|file| fs::symlink_metadata(self.repo.at(file)).is_err())
    }

    fn below(&self, bound: usize) -> usize {
        self.dice.borrow_mut().below(bound)
    }

    /// Git may refuse a step, where another edit of the combination came first.
    fn git(&self, arguments: &[&str], paths: &[&str]) {
        self.repo.try_git(&[arguments, &["--"], paths].concat());
    }

    pub fn apply(&self, edit: Edit) {
        match edit {
            Edit::Conflicted => drop(self.repo.try_git(&["merge", "-q", &self.base.theirs])),
            Edit::Staged => self.stage(),
            Edit::Renamed => self.rename(),
            Edit::Unstaged => self.change(),
            Edit::Ignored => self.ignore(),
            Edit::Submodule => self.soil_submodules(),
        }
    }

    fn stage(&self) {
        let files = self.files(0, 8);
        let (new, intended) = (format!("{}-new", files[6]), format!("{}-intended", files[7]));
        self.repo.append(files[0], "staged\n");
        self.replace_by_link(files[4]);
        self.repo.write(&new, "staged and new\n");
        self.repo.write(&intended, "to be added\n");
        self.git(&["rm", "-q", "--cached"], &[files[1]]);
        self.git(&["rm", "-q"], &[files[2]]);
        self.git(&["update-index", "--chmod=+x"], &[files[3]]);
        self.git(&["add", "--sparse"], &[files[0], files[4], &new]);
        self.git(&["add", "-N", "--sparse"], &[&intended]);
        // on the disk it is as before
        self.repo.try_git(&["update-index", "--cacheinfo", &format!("100644,{},{}", self.empty, files[5])]);
        // and this where a sparse checkout has none
        if let Some(file) = self.left_out().next() {
            self.repo.try_git(&["update-index", "--cacheinfo", &format!("100644,{},{file}", self.empty)]);
        }
    }

    fn rename(&self) {
        let files = self.files(1, 6);
        let to = |at: usize, how: &str| format!("{}.{how}", files[at]);
        let [moved, edited, gone, later, tree] =
            [(0, "moved"), (1, "edited"), (2, "gone"), (3, "later"), (4, "tree")].map(|(at, how)| to(at, how));
        // `git mv` of 2.47 ends with a fault of its memory where a sparse index holds a part of a directory
        for (at, name) in [&moved, &edited, &gone, &later, &tree].into_iter().enumerate() {
            let _ = fs::rename(self.repo.at(files[at]), self.repo.at(name));
        }
        let (copy, second) = (to(5, "copy"), to(5, "second"));
        if let Ok(bytes) = fs::read(self.repo.at(files[5])) {
            self.repo.write(&copy, &bytes);
            self.repo.write(&second, bytes);
        }
        if self.repo.at(&later).is_file() {
            self.repo.append(&later, "with the move\n");
        }
        // each on its own: where one is refused, nothing is done for the others
        for file in [files[0], files[1], files[2], files[3], files[5]] {
            self.git(&["rm", "-q", "--cached", "--sparse"], &[file]);
        }
        self.git(&["add", "--sparse"], &[&moved, &edited, &gone, &later, &copy, &second]);
        // only the working tree knows of this one
        self.git(&["add", "-N", "--sparse"], &[&tree]);
        if self.repo.at(&edited).is_file() {
            self.repo.append(&edited, "after the move\n");
        }
        let _ = fs::remove_file(self.repo.at(&gone));
    }

    fn change(&self) {
        let files = self.files(0, 9);
        for file in [files[0], files[8]] {
            self.repo.append(file, "changed\n");
        }
        let _ = fs::remove_file(self.repo.at(files[1]));
        let _ = fs::set_permissions(self.repo.at(files[2]), fs::Permissions::from_mode(0o755));
        self.replace_by_link(files[3]);
        if fs::remove_file(self.repo.at(files[4])).is_ok() {
            self.repo.write(format!("{}/inside", files[4]), "a directory now\n");
        }
        if let Ok(file) = fs::File::options().write(true).open(self.repo.at(files[5])) {
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).expect("ours");
        }
        if let Ok(mut bytes) = fs::read(self.repo.at(files[6])) {
            bytes[0] ^= 1;
            self.repo.write(files[6], bytes);
        }
        // a file where a sparse checkout has none
        if let Some(file) = self.left_out().last() {
            self.repo.write(file, "out of place\n");
        }
    }

    fn ignore(&self) {
        if let Some(parent) = self.exclude.parent() {
            fs::create_dir_all(parent).expect("ours");
        }
        fs::write(&self.exclude, "*.ignored\n/hidden/\n").expect("ours");
        let directory = self.files(2, 1)[0].rsplit_once('/').map_or("", |(directory, _)| directory);
        let at = |name: &str| self.repo.at(directory).join(name);
        self.repo.write(at(".gitignore.also"), "x");
        if !at(".gitignore").exists() {
            self.repo.write(at(".gitignore"), "*.made\n!kept.made\nbuilt/\n");
        }
        for name in
            ["a.ignored", "b.made", "kept.made", "built/deep/file", "mixed/c.ignored", "mixed/d", "only/e.ignored"]
        {
            self.repo.write(at(name), name);
        }
        self.repo.write(at(BESIDE_IGNORED), "untracked\n");
        self.repo.write("hidden/file", "ignored\n");
        if self.below(2) == 0 && !self.sparse_index {
            // a tracked file stays one, whatever a rule says
            self.git(&["add", "-f", "--sparse"], &["hidden/file"]);
            self.repo.append("hidden/file", "changed\n");
        }
    }

    fn soil_submodules(&self) {
        for name in self.submodules() {
            let how = self.below(7) + 1;
            if how & 1 != 0 {
                self.repo.git(&["-C", name, "checkout", "-q", "-f", "--detach", "HEAD~1"]);
            }
            if how & 2 != 0 {
                self.repo.write(format!("{name}/a.txt"), "edited\n");
            }
            if how & 4 != 0 {
                self.repo.write(format!("{name}/untracked"), "new\n");
            }
            if self.below(3) == 0 {
                self.git(&["add", "--sparse"], &[name]);
            }
            self.soiled.borrow_mut().push(name);
        }
    }

    fn replace_by_link(&self, file: &str) {
        if fs::remove_file(self.repo.at(file)).is_ok() {
            symlink("elsewhere", self.repo.at(file)).expect("it was just removed");
        }
    }
}
