//! The fuzz targets' judgements of indexes and of hunks over mutations of real ones, on the stable toolchain.
//! Trust: the corpus is made here, by the real git; `BULKHEAD_SEED=N` repeats a run, `BULKHEAD_SLOW=1` makes it longer.
#![cfg(unix)]

#[path = "../../tests/support/dice.rs"]
mod dice;
#[path = "trials/patch.rs"]
mod patch;
#[path = "trials/status.rs"]
mod status;

use dice::Dice;
use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Output},
};

impl Dice {
    fn mutated(&mut self, bytes: &[u8], pieces: &[&[u8]]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len().max(1));
            let end = (at + self.below(9)).min(bytes.len());
            match self.below(6) {
                0 | 1 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
                2 if at < bytes.len() => bytes[at] = [0, 1, 0x7f, 0x80, 0xff, b'/', b'.', b'\n'][self.below(8)],
                3 => drop(bytes.drain(at.min(end)..end)),
                4 => {
                    let again = bytes[at.min(end)..end].to_vec();
                    bytes.splice(at..at, again);
                }
                _ => drop(bytes.splice(at..at, pieces[self.below(pieces.len())].iter().copied())),
            }
        }
        bytes
    }
}

fn slow() -> bool {
    std::env::var_os("BULKHEAD_SLOW").is_some_and(|value| value == "1")
}

fn git(top: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("git");
    command.arg("-C").arg(top).args(arguments).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "a").env(format!("GIT_{who}_EMAIL"), "a@example.org");
    }
    command.env("GIT_OPTIONAL_LOCKS", "0").output().expect("git is installed")
}

/// Index files of one repository, of every format and with every extension that Git writes, without their checksums.
fn indexes(top: &Path) -> Vec<Vec<u8>> {
    let run = |arguments: &[&str]| assert!(git(top, arguments).status.success(), "git {arguments:?}");
    run(&["init", "-q", "-b", "main"]);
    for name in ["a", "b/c", "b/d/e", "f.txt", "b.x", "caf\u{e9}"] {
        fs::create_dir_all(top.join(name).parent().expect("it has one")).expect("writable");
        fs::write(top.join(name), format!("{name}\n").repeat(5)).expect("writable");
    }
    run(&["add", "-A"]);
    run(&["commit", "-q", "-m", "one"]);
    run(&["rm", "-q", "--cached", "f.txt"]);
    fs::write(top.join("new"), "new\n").expect("writable");
    fs::write(top.join("a"), "changed\n").expect("writable");
    run(&["add", "new"]);
    let mut all = Vec::new();
    let mut keep = || {
        let mut bytes = fs::read(top.join(".git/index")).expect("git wrote it");
        bytes.truncate(bytes.len() - 20);
        all.push(bytes);
    };
    keep();
    run(&["add", "-N", "f.txt"]);
    run(&["update-index", "--skip-worktree", "b/c"]);
    keep();
    run(&["update-index", "--index-version", "4"]);
    keep();
    run(&["update-index", "--force-untracked-cache"]);
    git(top, &["status"]);
    keep();
    run(&["update-index", "--index-version", "2", "--no-untracked-cache", "--no-skip-worktree", "b/c"]);
    run(&["commit", "-q", "-m", "two", "b", "a", "new"]);
    run(&["checkout", "-q", "-f", "-b", "other", "HEAD~1"]);
    for (branch, text) in [("other", "theirs\n"), ("main", "ours\n")] {
        run(&["checkout", "-q", "-f", branch]);
        fs::write(top.join("a"), text).expect("writable");
        run(&["commit", "-q", "-m", branch, "a"]);
    }
    git(top, &["merge", "-q", "other"]);
    keep();
    run(&["merge", "--abort"]);
    run(&["sparse-checkout", "set", "--cone", "--sparse-index", "b/d"]);
    keep();
    all
}

/// Every path that Git's status speaks of, or nothing where it refuses the index.
fn paths_of_git(top: &Path) -> Option<BTreeSet<Vec<u8>>> {
    let output = git(top, &["status", "--porcelain=v1", "-z", "--untracked-files=all"]);
    if !output.status.success() || !output.stderr.is_empty() {
        return None;
    }
    let mut rows = output.stdout.split(|&byte| byte == 0).filter(|row| !row.is_empty());
    let mut paths = BTreeSet::new();
    while let Some(row) = rows.next() {
        paths.insert(row[3..].to_vec());
        if row[..2].contains(&b'R') {
            paths.extend(rows.next().map(<[u8]>::to_vec));
        }
    }
    Some(paths)
}

#[test]
fn mutated_indexes_are_refused_or_read_as_git_reads_them() {
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let top = temp.path().canonicalize().expect("it is there");
    let mut dice = Dice::of_run();
    let rounds = if slow() { 600 } else { 100 };
    let (mut read, mut compared, mut faults) = (0, 0, Vec::new());
    let pieces: [&[u8]; 8] = [
        b"TREE\0\0\0\x08",
        b"\0\0\0\0\0\0\0",
        b"../",
        b".git",
        b"link",
        b"\x40\x00\x20\x00",
        b"a\0",
        b"\xff\xff\xff\xff",
    ];
    for seed in indexes(&top) {
        assert!(status::trial(&top, &seed).is_ok(), "what git wrote is readable");
        for _ in 0..rounds {
            let bytes = dice.mutated(&seed, &pieces);
            let Ok(sides) = status::trial(&top, &bytes) else { continue };
            read += 1;
            if sides.partial.is_some() || (!slow() && read % 10 != 0) {
                continue;
            }
            let Some(git) = paths_of_git(&top) else { continue };
            compared += 1;
            let changes = sides.staged.iter().chain(&sides.moved);
            let mut ours: BTreeSet<Vec<u8>> =
                changes.flat_map(|change| [Some(change.path.clone()), change.from.clone()]).flatten().collect();
            ours.extend(sides.differs.iter().map(|found| sides.index.path(found.at).to_vec()));
            ours.extend(sides.untracked.kept.iter().cloned());
            if ours != git {
                let text = |paths: &BTreeSet<Vec<u8>>| {
                    paths.iter().map(|path| path.escape_ascii().to_string()).collect::<Vec<_>>().join(" ")
                };
                faults.push(format!("git  {}\nours {}\n{}\n", text(&git), text(&ours), bytes.escape_ascii()));
            }
        }
    }
    eprintln!("{read} mutated indexes could be read, {compared} compared, {} differ", faults.len());
    assert!(read > rounds / 4 && compared > 0, "{read} read, {compared} compared");
    assert!(faults.is_empty(), "{} differ:\n{}", faults.len(), faults[..faults.len().min(5)].join("\n"));
}

#[test]
fn hunks_of_mutated_texts_make_the_new_text_of_the_old_one() {
    let code: String = (0..60).map(|n| format!("fn f{n}() {{\n    line {n};\n\n}}\n")).collect();
    let seeds: [&[u8]; 4] = [
        b"\0\0a\nb\nc\n\x1ea\nx\nc\n",
        code.as_bytes(),
        b"\x11\0a b\r\n\tc\n\x1ea  b\nc",
        b"\x02\0\n\n\n\n\x1e\n\n\xff\n",
    ];
    let pieces: [&[u8]; 8] = [b"\n", b"\n\n", b"\x1e", b" ", b"\r\n", b"}\n", b"\"\\", b"fn x\xe9\n"];
    let mut dice = Dice::of_run();
    for seed in seeds {
        patch::trial(seed);
        for _ in 0..if slow() { 10_000 } else { 1_000 } {
            let old = dice.mutated(seed, &pieces);
            let new = dice.mutated(&old, &pieces);
            let [how, around] = [(); 2].map(|()| u8::try_from(dice.below(256)).expect("below 256"));
            patch::trial(&[&[how, around], &old[..], b"\x1e", &new[..]].concat());
            patch::trial(&old);
        }
    }
}

#[test]
fn hunks_of_random_texts_make_the_new_text_of_the_old_one() {
    let mut dice = Dice::of_run();
    for _ in 0..4_000 {
        let mut bytes = [(); 2].map(|()| u8::try_from(dice.below(256)).expect("below 256")).to_vec();
        let length = dice.below(120);
        bytes.extend((0..length).map(|_| b"ab \n\n\r}\x1e\xff"[dice.below(9)]));
        patch::trial(&bytes);
    }
}
