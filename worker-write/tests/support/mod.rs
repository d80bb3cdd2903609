//! Repositories that the real git builds, and operations performed in them.
//! Trust: test code.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use bulkhead_contract::direct::Class;
use bulkhead_ipc::edge::write::{Allowed, Done, Failed, Operation, Outcome, Programs};
use bulkhead_worker_write::{
    git::Git,
    operations::perform,
    programs::{self, Surroundings},
};
use std::{
    cell::Cell,
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
    time::{Duration, Instant},
};

/// Time of one operation; no test waits for it but those that say so.
const TIME: Duration = Duration::from_secs(120);

/// A temporary directory with one repository, `repo`, and what the operator allows there.
#[derive(Debug)]
pub struct Bench {
    pub allowed: Allowed,
    path: PathBuf,
    clock: Cell<u64>,
    _directory: tempfile::TempDir,
}

/// The git that operations run, and its owner: the newest of this machine, as the server would choose it.
fn found() -> &'static Programs {
    static FOUND: OnceLock<Programs> = OnceLock::new();
    FOUND.get_or_init(|| {
        let around = Surroundings { path: std::env::var_os("PATH"), ..Surroundings::default() };
        programs::find(&around).expect("a git that the server would take is installed")
    })
}

fn program() -> PathBuf {
    PathBuf::from(OsStr::from_bytes(&found().git))
}

fn bytes(path: impl AsRef<Path>) -> Vec<u8> {
    path.as_ref().as_os_str().as_bytes().to_vec()
}

impl Bench {
    /// A repository without a commit.
    pub fn empty() -> Self {
        Self::with(&[])
    }

    /// The same, with further arguments to `git init`.
    pub fn with(init: &[&str]) -> Self {
        let directory = tempfile::Builder::new().prefix("bulkhead-write-").tempdir().expect("a temporary directory");
        let path = directory.path().canonicalize().expect("it was just made");
        let root = path.join("repo");
        fs::create_dir_all(path.join("home")).expect("the place is ours");
        fs::create_dir_all(path.join("locks")).expect("the place is ours");
        fs::create_dir_all(&root).expect("the place is ours");
        let allowed = Allowed {
            root: bytes(&root),
            git_dir: bytes(root.join(".git")),
            common_dir: bytes(root.join(".git")),
            roots: vec![bytes(&path)],
            lenders: Vec::new(),
            locks: Some(bytes(path.join("locks"))),
            programs: found().clone(),
            pinned: vec![
                ("user.name".to_owned(), "Op Erator".to_owned()),
                ("user.email".to_owned(), "op@example.org".to_owned()),
            ],
            hooks_path: None,
            hooks: None,
            filters: false,
            allow_unsigned: false,
            ssh_command: None,
            trust_repo_ssh_command: false,
            log_commands: false,
        };
        let bench = Self { allowed, path, clock: Cell::new(1_700_000_000), _directory: directory };
        let mut all = vec!["init", "-q", "-b", "main"];
        all.extend(init);
        bench.git(&all);
        bench
    }

    /// Three commits on `main`, a branch `side` at the second, a tag `v1` there; `a.txt`, `b.txt`, `dir/c.txt`.
    pub fn honest() -> Self {
        Self::empty().settled()
    }

    /// What is empty so far becomes the honest one.
    pub fn settled(self) -> Self {
        let bench = self;
        bench.write("a.txt", "one\ntwo\nthree\n");
        bench.write("b.txt", "b\n");
        bench.write("dir/c.txt", "c\n");
        bench.commit("first");
        bench.write("b.txt", "b\nb2\n");
        bench.commit("second");
        bench.git(&["tag", "v1"]);
        bench.git(&["branch", "side"]);
        bench.write("a.txt", "one\ntwo\nthree main\n");
        bench.commit("third");
        bench
    }

    /// The same, and `side` changes what `main` changed: on `side`, each onto the other conflicts in `a.txt`.
    pub fn clashing() -> Self {
        let bench = Self::honest();
        bench.git(&["checkout", "-q", "side"]);
        bench.write("a.txt", "one\ntwo\nthree side\n");
        bench.commit("fourth");
        bench
    }

    /// An operation on this repository as another working tree of it serves it.
    pub fn serving(&mut self, root: &Path) {
        let text = fs::read_to_string(root.join(".git")).expect("a linked working tree");
        let git_dir = text.trim().strip_prefix("gitdir: ").expect("git writes it so");
        self.allowed.root = bytes(root);
        self.allowed.git_dir = bytes(git_dir);
    }

    pub fn root(&self) -> PathBuf {
        PathBuf::from(OsStr::from_bytes(&self.allowed.root))
    }

    pub fn git_dir(&self) -> PathBuf {
        PathBuf::from(OsStr::from_bytes(&self.allowed.git_dir))
    }

    /// Beside the repository.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root().join(name)
    }

    pub fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().expect("it is beneath the root")).expect("the place is ours");
        fs::write(path, content).expect("the place is ours");
    }

    pub fn read(&self, name: impl AsRef<Path>) -> String {
        String::from_utf8_lossy(&fs::read(self.at(name)).expect("the file is there")).into_owned()
    }

    pub fn is_there(&self, name: impl AsRef<Path>) -> bool {
        self.at(name).symlink_metadata().is_ok()
    }

    /// Adds everything and commits it; its id.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.id("HEAD")
    }

    pub fn id(&self, revision: &str) -> String {
        self.git(&["rev-parse", "--verify", revision])
    }

    /// Output of git, which must succeed, without space at its end.
    pub fn git<S: AsRef<OsStr>>(&self, arguments: &[S]) -> String {
        let output = self.try_git(arguments);
        let names: Vec<_> = arguments.iter().map(AsRef::as_ref).collect();
        assert!(output.status.success(), "git {names:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    pub fn try_git<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Output {
        self.git_command().args(arguments).output().expect("git is installed")
    }

    /// Git as the repository's owner runs it, at a time of its own.
    pub fn git_command(&self) -> Command {
        let time = self.clock.get() + 60;
        self.clock.set(time);
        let mut command = Command::new(program());
        command.current_dir(self.root()).env_clear().env("HOME", self.path.join("home")).env("LC_ALL", "C");
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_EDITOR", ":");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Ow Ner").env(format!("GIT_{who}_EMAIL"), "ow@example.org");
            command.env(format!("GIT_{who}_DATE"), format!("{time} +0000"));
        }
        command.args(["-c", "commit.gpgSign=false", "-c", "gc.auto=0", "-c", "advice.detachedHead=false"]);
        command.args(["-c", "protocol.file.allow=always"]);
        command
    }

    pub fn perform(&self, operation: &Operation) -> Outcome {
        self.perform_within(operation, TIME)
    }

    pub fn perform_within(&self, operation: &Operation, time: Duration) -> Outcome {
        let outcome = perform(operation, &self.allowed, &Git::new(&self.allowed, Instant::now() + time));
        assert!(outcome.is_bounded(), "{outcome:?}");
        outcome
    }

    /// What was done.
    ///
    /// # Panics
    /// When it was not.
    pub fn done(&self, operation: &Operation) -> Done {
        match self.perform(operation) {
            Outcome::Done(done) => *done,
            Outcome::Failed(failed) => panic!("{operation:?}: {failed:#?}"),
        }
    }

    /// Why it was not done.
    ///
    /// # Panics
    /// When it was, or when its kind is another.
    pub fn refused(&self, operation: &Operation, class: Class) -> Failed {
        match self.perform(operation) {
            Outcome::Done(done) => panic!("{operation:?} was done: {done:#?}"),
            Outcome::Failed(failed) => {
                assert_eq!(failed.class, class, "{failed:#?}");
                assert!(!failed.reason.is_empty() && !failed.next.is_empty(), "{failed:#?}");
                *failed
            }
        }
    }

    /// The same of one that must leave everything as it was.
    pub fn unchanged(&self, operation: &Operation, class: Class) -> Failed {
        let before = self.picture();
        let failed = self.refused(operation, class);
        assert_eq!(self.picture(), before, "{failed:#?}");
        failed
    }

    /// Everything that a refused operation must leave as it is: refs but restore points, HEAD, index entries, files.
    pub fn picture(&self) -> String {
        let mut picture = self.git(&["for-each-ref", "--exclude=refs/bulkhead"]);
        picture.push_str(&String::from_utf8_lossy(&self.try_git(&["symbolic-ref", "-q", "HEAD"]).stdout));
        picture.push_str(&String::from_utf8_lossy(&self.try_git(&["rev-parse", "HEAD"]).stdout));
        picture.push_str(&self.git(&["ls-files", "--stage"]));
        picture.push_str(&self.git(&["ls-files", "--others"]));
        let mut open = vec![self.root()];
        while let Some(directory) = open.pop() {
            let mut entries: Vec<_> =
                fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path()).collect();
            entries.sort();
            for path in entries.iter().filter(|path| path.file_name() != Some(OsStr::new(".git"))) {
                if path.is_symlink() {
                    picture.push_str(&format!("\n{} -> {:?}", path.display(), fs::read_link(path)));
                } else if path.is_dir() {
                    open.push(path.clone());
                } else {
                    let mode =
                        std::os::unix::fs::PermissionsExt::mode(&path.metadata().expect("it is there").permissions());
                    picture.push_str(&format!("\n{} {mode:o} {:?}", path.display(), fs::read(path).ok()));
                }
            }
        }
        picture
    }
}

/// `repo_commit` of these paths.
pub fn commit(paths: &[&str], message: &str) -> Operation {
    Operation::Commit {
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        message: message.to_owned(),
        allow_empty: false,
        include_untracked: false,
    }
}

pub fn checkout(reference: &str) -> Operation {
    Operation::Checkout { reference: reference.to_owned() }
}

pub fn rebase(onto: &str) -> Operation {
    Operation::Rebase { onto: onto.to_owned() }
}
