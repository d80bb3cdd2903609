//! Random histories: edits, renames, modes, links, line ends, binary files, odd names; every diff is Git's, and applies.
//! Trust: test code; the histories are written by `git fast-import` from a seeded generator.

use super::{ask, compare, git_diff, support::git_line, whole, worker};
use bulkhead_ipc::edge::asks;
use std::{
    collections::BTreeMap,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A small generator; the same numbers in every run.
pub struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[usize::try_from(self.below(of.len() as u64)).expect("small")]
    }
}

const WORDS: &[&str] =
    &["", "}", "{", "    return x;", "fn main() {", "\tindented", "alpha beta", "int f(void)", "caf\u{e9}", "x  y"];
const NAMES: &[&str] = &[
    "a",
    "b.txt",
    "dir/c.rs",
    "dir/deep/d.py",
    "sp ace",
    "tab\there",
    "quo\"te",
    "back\\slash",
    "caf\u{e9}.txt",
    "dir.x",
    "z/a",
    "nl\nx",
];

fn text(random: &mut Random) -> Vec<u8> {
    let lines = random.below(60);
    let mut text = Vec::new();
    let ends = *random.one(&["\n", "\n", "\n", "\r\n"]);
    for at in 0..lines {
        let word = *random.one(WORDS);
        text.extend_from_slice(word.as_bytes());
        if random.below(3) == 0 {
            text.extend_from_slice(format!(" {}", random.below(20)).as_bytes());
        }
        if at + 1 < lines || random.below(5) > 0 {
            text.extend_from_slice(ends.as_bytes());
        }
    }
    match random.below(25) {
        0 => text.extend_from_slice(b"\0binary"),
        1 => text.extend_from_slice(b"latin \xe9\n"),
        _ => {}
    }
    text
}

/// Some lines changed, taken out, put in, or doubled.
fn edited(random: &mut Random, old: &[u8]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = old.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..=random.below(5) {
        let at = usize::try_from(random.below(lines.len() as u64 + 1)).expect("small");
        match random.below(4) {
            0 if at < lines.len() => drop(lines.remove(at)),
            1 if at < lines.len() => lines[at] = format!("{} changed\n", random.one(WORDS)).into_bytes(),
            2 if at < lines.len() => lines.insert(at, lines[at].clone()),
            _ => lines.insert(at.min(lines.len()), format!("{}\n", random.one(WORDS)).into_bytes()),
        }
    }
    lines.concat()
}

type Files = BTreeMap<String, (&'static str, Vec<u8>)>;

fn step(random: &mut Random, files: &mut Files) {
    for _ in 0..=random.below(6) {
        let names: Vec<String> = files.keys().cloned().collect();
        match random.below(8) {
            0 | 1 => {
                let name = format!("{}{}", random.one(NAMES), random.below(4));
                let content = text(random);
                files.insert(name, ("100644", content));
            }
            _ if names.is_empty() => {}
            2 => drop(files.remove(random.one(&names))),
            3 => {
                if let Some(mut file) = files.remove(random.one(&names)) {
                    if random.below(2) == 0 {
                        file.1 = edited(random, &file.1);
                    }
                    files.insert(format!("{}moved{}", random.one(NAMES), random.below(4)), file);
                }
            }
            4 => {
                let mode = *random.one(&["100644", "100755", "120000"]);
                files.entry(random.one(&names).clone()).and_modify(|file| file.0 = mode);
            }
            _ => {
                let name = random.one(&names).clone();
                let content = edited(random, &files[&name].1);
                files.entry(name).and_modify(|file| file.1 = content);
            }
        }
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t"))
}

/// A repository of that many commits.
fn history(random: &mut Random, directory: &Path, commits: usize) -> PathBuf {
    let repo = directory.join("generated");
    let run = |arguments: &[&str]| {
        let status = Command::new("git").args(arguments).stdin(Stdio::null()).status().expect("git is installed");
        assert!(status.success());
    };
    run(&["init", "-q", repo.to_str().expect("UTF-8")]);
    let mut stream: Vec<u8> = Vec::new();
    let mut files = Files::new();
    for number in 0..commits {
        step(random, &mut files);
        let time = 1_700_000_000 + number * 60;
        let _ =
            write!(stream, "commit refs/heads/main\ncommitter A <a@example.org> {time} +0000\ndata 1\nx\ndeleteall\n");
        for (name, (mode, content)) in &files {
            // a name that another one has as a directory is left out
            if files.keys().any(|other| other.starts_with(&format!("{name}/"))) {
                continue;
            }
            let content = if *mode == "120000" && content.is_empty() { b"t" } else { &content[..] };
            let _ = write!(stream, "M {mode} inline {}\ndata {}\n", quoted(name), content.len());
            stream.extend_from_slice(content);
            stream.push(b'\n');
        }
    }
    let mut command = Command::new("git");
    command.arg("-C").arg(&repo).args(["fast-import", "--quiet"]).stdin(Stdio::piped());
    let mut child = command.spawn().expect("git is installed");
    child.stdin.take().expect("piped").write_all(&stream).expect("it reads");
    assert!(child.wait().expect("it ends").success());
    run(&["-C", repo.to_str().expect("UTF-8"), "symbolic-ref", "HEAD", "refs/heads/main"]);
    repo
}

#[test]
fn random_histories_are_shown_as_git_shows_them() {
    let slow = std::env::var_os("BULKHEAD_SLOW").is_some_and(|value| value == "1");
    let (mut faults, mut pairs) = (Vec::new(), 0);
    for seed in 1..=if slow { 20 } else { 3u64 } {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let temp = tempfile::tempdir().expect("a writable temporary directory");
        let directory = temp.path().canonicalize().expect("it is there");
        let repo = history(&mut random, &directory, 40);
        let info = repo.join(".git/info");
        std::fs::create_dir_all(&info).expect("writable");
        std::fs::write(info.join("attributes"), "*.rs* diff=rust\n*.py* diff=python\ndir.x* -diff\nb.txt1 diff\n")
            .expect("writable");
        let mut worker = worker(&repo, &directory);
        for number in 0..38 {
            let (old, new) =
                (format!("main~{}", number + 1 + number % 3 % (38 - number).max(1)), format!("main~{number}"));
            let mut ask = ask(Some(&old), Some(&new));
            let mut arguments = vec![];
            match number % 5 {
                1 => (ask.context, arguments) = (Some(0), vec!["-U0"]),
                2 => (ask.ignore_whitespace, arguments) = (true, vec!["-w"]),
                3 => (ask.context, arguments) = (Some(7), vec!["-U7"]),
                _ => {}
            }
            arguments.extend([&old[..], &new]);
            faults.extend(compare(&mut worker, &repo, ask, &arguments).err());
            pairs += 1;
        }
        faults.extend(pages_go_on(&mut worker, &repo));
    }
    assert!(
        faults.is_empty(),
        "{} of {pairs}:\n{}",
        faults.len(),
        faults.iter().take(5).cloned().collect::<Vec<_>>().join("\n")
    );
}

/// Pages of hunks hold all lines of the whole, and Git applies what is shown.
fn pages_go_on(worker: &mut super::support::Worker, repo: &Path) -> Option<String> {
    let theirs = String::from_utf8_lossy(&git_diff(repo, &["main~20", "main"])).into_owned();
    let mut seen = std::collections::HashSet::new();
    let mut cursor = None;
    for _ in 0..10_000 {
        let mut ask = asks::TextDiff { max_bytes: 700, ..ask(Some("main~20"), Some("main")) };
        ask.page.cursor = cursor;
        let (text, diff) = whole(worker, ask);
        seen.extend(text.lines().map(str::to_owned));
        cursor = diff.next_cursor;
        if cursor.is_none() {
            let lost = theirs.lines().find(|line| line.len() < 700 && !seen.contains(*line));
            return lost.map(|line| format!("{line:?} is on no page"));
        }
    }
    Some("pages go on for ever".to_owned())
}

#[test]
fn what_is_shown_applies() {
    let mut random = Random(77);
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let directory = temp.path().canonicalize().expect("it is there");
    let repo = history(&mut random, &directory, 30);
    let mut worker = worker(&repo, &directory);
    let git = |arguments: &[&str]| git_line(&repo, arguments).unwrap_or_default();
    let mut applied = 0;
    for number in 0..28 {
        let (old, new) = (format!("main~{}", number + 1), format!("main~{number}"));
        let (text, diff) = whole(&mut worker, ask(Some(&old), Some(&new)));
        if diff.lossy || text.contains("Binary files") || text.is_empty() {
            continue;
        }
        let patch = directory.join("patch");
        std::fs::write(&patch, text).expect("writable");
        git(&["read-tree", &old]);
        let output = Command::new("git")
            .arg("-C")
            .arg(&repo)
            .args(["apply", "--cached", "--whitespace=nowarn"])
            .arg(&patch)
            .output()
            .expect("git is installed");
        assert!(output.status.success(), "{old}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(git(&["write-tree"]), git(&["rev-parse", &format!("{new}^{{tree}}")]), "{old}");
        applied += 1;
    }
    assert!(applied > 5, "only {applied} were tried");
}
