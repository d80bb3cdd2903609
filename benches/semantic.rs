//! `diff.semantic` through all processes: files of 2 000 and of 7 000 lines, fifty files in one call, and what the process
//! that parses holds of memory afterwards.
//! Trust: makes its own repositories; a pair of real files can be named by `BULKHEAD_BENCH_PAIR=OLD:NEW` (the new one's name
//! decides on the language). Memory needs root: the processes are not dumpable.

mod support;

use std::{fs, path::Path, process::Command};
use support::{Figures, Server, ours, say};

const ROUNDS: usize = 41;

/// A file: its name, its old text, its new one.
type Changed = (String, String, String);

/// One function of each language; `NAME` is another in each copy, `EDIT` differs in some.
const PIECES: &[(&str, &str)] = &[
    (
        "rs",
        "/// Sums.\npub fn NAME(list: &[u32], start: u32) -> Result<u32, Error> {\n    let mut sum = start;\n    for (index, one) in \
         list.iter().enumerate() {\n        if *one > index as u32 {\n            sum += one * EDIT;\n        }\n    }\n    \
         Ok(sum)\n}\n\n",
    ),
    (
        "py",
        "class NAME(Base):\n    def run(self, items, start=0):\n        total = start\n        for index, item in \
         enumerate(items):\n            if item > index:\n                total += item * EDIT\n        return total\n\n\n",
    ),
    (
        "c",
        "/* Sums. */\nstatic int NAME(const struct item *list, int n, int start)\n{\n\tint sum = start;\n\n\tfor (int i = 0; i < n; \
         i++) {\n\t\tif (list[i].value > i)\n\t\t\tsum += list[i].value * EDIT;\n\t}\n\treturn sum;\n}\n\n",
    ),
    (
        "ts",
        "export class NAME extends Base<number> {\n  run(items: number[], start = 0): number {\n    let total = start;\n    for \
         (const item of items) {\n      if (item > start) {\n        total += item * EDIT;\n      }\n    }\n    return total;\n  \
         }\n}\n\n",
    ),
];

/// Both versions of a file of about `lines` lines; every tenth copy differs.
fn texts(piece: &str, lines: usize) -> (String, String) {
    let length = piece.lines().count();
    let version = |word: &str| {
        let copy = |copy: usize| {
            let edit = if copy.is_multiple_of(10) { word } else { "factor" };
            piece.replace("NAME", &format!("name_{copy}")).replace("EDIT", edit)
        };
        (0..lines / length).map(copy).collect::<String>()
    };
    (version("first"), version("(second + 1)"))
}

/// A repository in which every one of `files` is committed in its first version and stands in its second one.
fn repository(at: &Path, files: &[Changed]) {
    fs::create_dir_all(at).expect("the directory is ours");
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=b", "-c", "user.email=b@example.org", "-c", "init.defaultBranch=main"];
        let mut command = Command::new("git");
        command.args(identity).args(arguments).current_dir(at).env("HOME", at).env("GIT_CONFIG_NOSYSTEM", "1");
        assert!(command.output().expect("git is there").status.success(), "{arguments:?}");
    };
    git(&["init", "-q"]);
    for (name, old, _) in files {
        fs::write(at.join(name), old).expect("writable");
    }
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "old"]);
    for (name, _, new) in files {
        fs::write(at.join(name), new).expect("writable");
    }
}

fn main() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let root = dir.path().canonicalize().expect("it exists");
    let mut cases: Vec<(String, Vec<Changed>)> = Vec::new();
    for (ending, piece) in PIECES {
        for lines in [2_000, 7_000] {
            let (old, new) = texts(piece, lines);
            cases.push((format!("{ending}, {lines} lines"), vec![(format!("x.{ending}"), old, new)]));
        }
    }
    let fifty = (0..50).map(|file| {
        let (ending, piece) = PIECES[file % PIECES.len()];
        let (old, new) = texts(piece, 600);
        (format!("f{file:02}.{ending}"), old, new)
    });
    cases.push(("50 files of 600 lines".to_owned(), fifty.collect()));
    if let Ok(pair) = std::env::var("BULKHEAD_BENCH_PAIR") {
        let (old, new) = pair.split_once(':').expect("OLD:NEW");
        let read = |path: &str| String::from_utf8_lossy(&fs::read(path).expect("readable")).into_owned();
        let name = Path::new(new).file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        cases.push((format!("{name}, {} lines", read(new).lines().count()), vec![(name, read(old), read(new))]));
    }
    say(&format!("{:<24} {:<22} figures", "files", "tool"));
    for (number, (title, files)) in cases.iter().enumerate() {
        let at = root.join(format!("r{number}"));
        repository(&at, files);
        let mut server = Server::start(&ours(&[], &root), &root);
        server.initialize();
        // every file of a call is looked at by this one; the other stops where its page is full
        for tool in ["diff.semantic", "diff.semanticFallbacks"] {
            let mut figures = Figures::default();
            for _ in 0..3 {
                server.call(tool, &at);
            }
            for _ in 0..ROUNDS {
                figures.take(|| server.call(tool, &at));
            }
            say(&format!("{title:<24} {tool:<22} {}", figures.line()));
        }
        for (pid, private, peak) in parsers(server.pid()) {
            say(&format!("{title:<24} worker-syntax {pid}: private {private} KiB now, {peak} KiB resident at most"));
        }
    }
}

/// The processes that parse beneath the server: id, private memory in KiB, largest resident set in KiB.
fn parsers(server: u32) -> Vec<(u32, u64, u64)> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("Linux").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        if fs::read_to_string(entry.path().join("comm")).is_ok_and(|comm| comm.trim() == "bulkhead-syntax")
            && ancestors(pid).contains(&server)
        {
            let sum = ["Private_Clean:", "Private_Dirty:"].map(|name| field(pid, "smaps_rollup", name));
            let private = sum.into_iter().flatten().sum();
            found.push((pid, private, field(pid, "status", "VmHWM:").unwrap_or(0)));
        }
    }
    found
}

fn ancestors(pid: u32) -> Vec<u32> {
    let parent = |pid: u32| field(pid, "status", "PPid:").and_then(|pid| u32::try_from(pid).ok());
    std::iter::successors(parent(pid), |pid| parent(*pid).filter(|pid| *pid > 1)).collect()
}

fn field(pid: u32, file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
}
