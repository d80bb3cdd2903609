//! The repository whose recorded answers the direct surface is held against: ids of commits are those of the records.
//! Trust: test code; it drives the real `git` and needs nothing but the standard library.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Seconds since the epoch before the first commit; each one is an hour later.
const BEFORE: u64 = 1_700_000_000;
/// Id of the last commit on `main`.
pub const MAIN: &str = "1459e0456c38a72f19d43f1550ce0ac68b5fd83f";
/// Its parent.
pub const SECOND: &str = "fef960b0aec8d04496cfa3b0e51bded5567f6cf7";
/// The first commit.
pub const FIRST: &str = "658405b275cc16dc556024cc5e64dbeb729c6927";

struct Builder {
    dir: PathBuf,
    now: u64,
}

/// Builds `origin.git`, `repo` and its clone `other` in `dir`, which must be there and empty. Gives the path of `repo`.
///
/// # Panics
/// Where git fails.
#[must_use]
pub fn build(dir: &Path) -> PathBuf {
    let repo = dir.join("repo");
    fs::create_dir_all(repo.join("dir/sub")).expect("the place is ours");
    let mut it = Builder { dir: repo.clone(), now: BEFORE };
    git(dir, BEFORE, &["init", "-q", "--bare", "-b", "main", "origin.git"]);
    it.git(&["init", "-q", "-b", "main"]);
    it.git(&["config", "user.name", "Ada Fixture"]);
    it.git(&["config", "user.email", "ada@example.invalid"]);
    it.git(&["config", "commit.gpgsign", "false"]);
    it.first();
    it.edit("a.txt", "two", "TWO");
    it.commit(&["-qam", "c2: second\n\nbody line 1\nbody line 2"]);
    it.git(&["tag", "v1"]);
    it.git(&["branch", "merged-old"]);

    it.git(&["checkout", "-qb", "feature"]);
    it.write("feat.txt", b"feat\n");
    it.git(&["add", "feat.txt"]);
    it.commit(&["-qm", "f1: feature adds a file"]);

    it.git(&["checkout", "-q", "main"]);
    it.git(&["checkout", "-qb", "clash", "HEAD~1"]);
    it.edit("a.txt", "three", "THREE-clash");
    it.write("dir/b.txt", b"b1\nB2-clash\n");
    it.commit(&["-qam", "k1: clashing edit"]);

    it.git(&["checkout", "-q", "main"]);
    it.edit("a.txt", "three", "THREE-main");
    it.write("dir/b.txt", b"b1\nB2-main\n");
    it.commit(&["-qam", "c3: main edit"]);
    it.now += 3_600;
    it.git(&["tag", "-a", "v2", "-m", "annotated two"]);

    it.git(&["checkout", "-q", "--orphan", "island"]);
    it.git(&["rm", "-rqf", "."]);
    it.write("i.txt", b"i\n");
    it.git(&["add", "i.txt"]);
    it.commit(&["-qm", "o1: orphan root"]);
    it.git(&["checkout", "-q", "main"]);

    let origin = dir.join("origin.git");
    it.git(&["remote", "add", "origin", &origin.to_string_lossy()]);
    it.git(&["push", "-q", "-u", "origin", "main", "feature"]);
    it.git(&["remote", "add", "backup", "https://user:s3cret@example.invalid/x/y.git"]);
    it.git(&["remote", "set-url", "--push", "backup", "ssh://git@example.invalid/x/y.git"]);
    git(dir, it.now, &["clone", "-q", "origin.git", "other"]);
    repo
}

impl Builder {
    fn first(&mut self) {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let many: String = (1..=20).map(|number| format!("ren line {number}\n")).collect();
        for (path, contents) in [
            ("a.txt", &b"one\ntwo\nthree\nfour\nfive\n"[..]),
            ("dir/b.txt", b"b1\nb2\n"),
            ("dir/sub/c.txt", b"deep\n"),
            ("run.sh", b"#!/bin/sh\necho hi\n"),
            ("empty.txt", b""),
            ("crlf.txt", b"x\r\ny\r\n"),
            ("bin.dat", b"\0\x01\x02bin\xff\n"),
            ("\u{fc}n\u{ef}.txt", b"u\n"),
            ("sp ace.txt", b"s\n"),
            ("latin1.txt", b"latin \xe9\n"),
            ("nonl.txt", b"no newline"),
            (".gitignore", b"*.ign\n"),
            ("old-name.txt", many.as_bytes()),
            ("gone.txt", b"del\n"),
            ("gone2.txt", b"del2\n"),
        ] {
            self.write(path, contents);
        }
        let run = self.dir.join("run.sh");
        fs::set_permissions(run, fs::Permissions::from_mode(0o755)).expect("the place is ours");
        symlink("a.txt", self.dir.join("link")).expect("the place is ours");
        self.git(&["add", "-A"]);
        self.commit(&["-qm", "c1: initial"]);
    }

    fn commit(&mut self, arguments: &[&str]) {
        self.now += 3_600;
        self.git(&[&["commit"], arguments].concat());
    }

    fn git(&self, arguments: &[&str]) {
        git(&self.dir, self.now, arguments);
    }

    fn write(&self, path: &str, contents: &[u8]) {
        fs::write(self.dir.join(path), contents).expect("the place is ours");
    }

    fn edit(&self, path: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.dir.join(path)).expect("it is there");
        self.write(path, text.replace(from, to).as_bytes());
    }
}

fn git(dir: &Path, now: u64, arguments: &[&str]) {
    let output = Command::new("git")
        .current_dir(dir)
        .args(arguments)
        .stdin(Stdio::null())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("LC_ALL", "C")
        .env("GIT_AUTHOR_NAME", "Ada Fixture")
        .env("GIT_AUTHOR_EMAIL", "ada@example.invalid")
        .env("GIT_COMMITTER_NAME", "Cy Fixture")
        .env("GIT_COMMITTER_EMAIL", "cy@example.invalid")
        .env("GIT_AUTHOR_DATE", format!("{now} +0200"))
        .env("GIT_COMMITTER_DATE", format!("{now} +0000"))
        .output()
        .expect("git is installed where the tests run");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}
