//! What an agent pays for in its context: lists of tools, and a typical session, beside Git's own commands and other servers.
//! Trust: our own fixture. `BULKHEAD_BENCH_REPO=DIR[,DIR…]` adds clones of repositories, `BULKHEAD_REFERENCE` and
//! `BULKHEAD_DIRECT_REFERENCE` the commands of the servers to compare with.

mod support;

use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    process::Command,
};
use support::{BINARY, Server, say};
use tiktoken_rs::CoreBPE;

/// What one text costs.
#[derive(Clone, Copy, Default)]
struct Cost {
    bytes: usize,
    tokens: usize,
}

impl Cost {
    fn add(&mut self, other: Cost) {
        self.bytes += other.bytes;
        self.tokens += other.tokens;
    }

    /// Bytes, a quarter of them (the estimate that hosts commonly make), and tokens as counted.
    fn cells(self) -> String {
        format!("{} | {} | {}", self.bytes, self.bytes.div_ceil(4), self.tokens)
    }
}

/// Counts by a tokenizer whose table is part of its crate: no host publishes the one that it bills by for all of its models, and
/// this one's counts lie nearer to any of them than a share of bytes, which ids and dates defeat.
struct Meter(&'static CoreBPE);

impl Meter {
    fn cost(&self, text: &str) -> Cost {
        Cost { bytes: text.len(), tokens: self.0.encode_ordinary(text).len() }
    }
}

fn main() {
    let meter = Meter(tiktoken_rs::o200k_base_singleton());
    let (_keep, root) = support::fixture();
    let rich = root.join("rich");
    lists(&meter, &rich, &root);
    session(&meter, "rich", &rich, &root);
    // beneath a name without chance in it, since paths are a part of answers
    let clones = Path::new(env!("CARGO_TARGET_TMPDIR")).join("src");
    let _none_left = std::fs::remove_dir_all(&clones);
    std::fs::create_dir_all(&clones).expect("cargo's directory is ours");
    for named in std::env::var("BULKHEAD_BENCH_REPO").unwrap_or_default().split(',').filter(|name| !name.is_empty()) {
        let origin = Path::new(named).canonicalize().expect("BULKHEAD_BENCH_REPO exists");
        let name = origin.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let clone = edited_clone(&origin, &clones, &name);
        session(&meter, &name, &clone, &clones);
    }
    let _left = std::fs::remove_dir_all(&clones);
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").current_dir(directory).args(["--no-pager"]).args(arguments).output();
    let output = output.expect("git is there");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A clone in which somebody is at work: a line more in each of three files, one of them staged, and a new file.
fn edited_clone(origin: &Path, keep: &Path, name: &str) -> PathBuf {
    let clone = keep.join(name);
    let (from, to) = (origin.to_str().expect("a plain name"), clone.to_str().expect("a plain name"));
    git(keep, &["clone", "-q", "--local", from, to]);
    let listed = git(&clone, &["ls-files", "-z", "--", "*.rs", "*.c", "*.py", "*.md"]);
    let files: Vec<_> = listed.split('\0').filter(|name| !name.is_empty()).take(3).collect();
    for (at, file) in files.iter().enumerate() {
        let path = clone.join(file);
        let mut text = std::fs::read(&path).expect("it is tracked");
        text.extend_from_slice(b"\n// one line more\n");
        std::fs::write(&path, text).expect("the clone is ours");
        if at == 0 {
            git(&clone, &["add", "--", file]);
        }
    }
    std::fs::write(clone.join("notes-of-today.txt"), "new\n").expect("the clone is ours");
    clone
}

/// A server on `repository`, opened.
fn opened(command: &[String], cwd: &Path) -> Server {
    let mut server = Server::start(command, cwd);
    server.initialize();
    server
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn ours(flags: &[&str]) -> Vec<String> {
    let run_dir = concat!(env!("CARGO_TARGET_TMPDIR"), "/bench-run-dir");
    words(&[&[BINARY, "--run-dir", run_dir], flags].concat())
}

fn direct_reference(repository: &Path) -> Option<Vec<String>> {
    let program = std::env::var("BULKHEAD_DIRECT_REFERENCE").ok()?;
    Some(words(&[&program, "--repo", repository.to_str()?]))
}

/// `tools/list`, as a host of the 2025-11-25 revision gets it.
fn lists(meter: &Meter, repository: &Path, root: &Path) {
    let (repo, root) = (repository.to_str().expect("a plain name"), root.to_str().expect("a plain name"));
    let surfaces: [(&str, &[&str]); 3] = [
        ("review", &["--root", root]),
        ("direct", &["--surface", "direct", "--repo", repo]),
        (
            "both (all groups)",
            &[
                "--surface",
                "both",
                "--toolsets",
                "inspect,fleet,safety,propose,agents,repo,write",
                "--root",
                root,
                "--repo",
                repo,
            ],
        ),
    ];
    say("| `tools/list` | tools | bytes | bytes / 4 | tokens | without output schemas |\n|---|---|---|---|---|---|");
    for (surface, flags) in surfaces {
        for schemas in ["brief", "full", "none"] {
            let command = ours(&[flags, &["--output-schemas", schemas]].concat());
            list(meter, &format!("{surface}, `--output-schemas {schemas}`"), &command, repository);
        }
    }
    if let Some(command) = support::reference() {
        list(meter, "reference, review surface", &command, repository);
    }
    if let Some(command) = direct_reference(repository) {
        list(meter, "reference, direct surface", &command, repository);
    }
}

/// One row. Hosts that hand output schemas to no model pay for the last column alone.
fn list(meter: &Meter, name: &str, command: &[String], cwd: &Path) {
    let answer: Value = serde_json::from_str(&opened(command, cwd).ask("tools/list", "{}")).expect("JSON");
    let mut tools = answer["result"]["tools"].clone();
    let (count, cost) = (tools.as_array().map_or(0, Vec::len), meter.cost(&tools.to_string()));
    for tool in tools.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        tool.remove("outputSchema");
    }
    say(&format!("| {name} | {count} | {} | {} |", cost.cells(), meter.cost(&tools.to_string()).tokens));
}

/// What stands in the answer for the model: its text blocks.
fn shown(answer: &str) -> Option<String> {
    let answer: Value = serde_json::from_str(answer).ok()?;
    let blocks = answer["result"]["content"].as_array()?;
    Some(blocks.iter().filter_map(|block| block["text"].as_str()).collect())
}

/// One step of the session: what it is, our tool and its arguments, and the git command for the same.
const STEPS: [(&str, &str, &str, &[&str]); 5] = [
    ("first look", "repo.brief", "", &[]),
    ("status", "repo.status", "", &["status"]),
    ("diff", "diff.text", "", &["diff", "HEAD"]),
    ("history", "repo.history", r#","limit":10"#, &["log", "-n", "10"]),
    ("one commit", "commit.details", r#","commit":"HEAD""#, &["show", "HEAD"]),
];

/// The same steps on the direct surface.
const DIRECT: [(&str, &str, &str); 4] = [
    ("first look", "repo_snapshot", "{}"),
    ("status", "repo_status", "{}"),
    ("diff", "repo_diff", "{}"),
    ("history", "repo_log", r#"{"revspec_or_revset":"HEAD","max":10}"#),
];

fn session(meter: &Meter, name: &str, repository: &Path, root: &Path) {
    let (repo, above) = (repository.to_str().expect("a plain name"), root.to_str().expect("a plain name"));
    let beside = (support::reference(), "reference");
    let mut servers = vec![("bulkhead", opened(&ours(&["--root", above]), repository))];
    if let (Some(command), title) = beside {
        servers.push((title, opened(&command, repository)));
    }
    say(&format!("\n| session on {name} | by | bytes | bytes / 4 | tokens |\n|---|---|---|---|---|"));
    let mut totals: Vec<(&str, Cost)> = Vec::new();
    let mut row = |step: &str, by: &'static str, what: &str, text: Option<String>| {
        let Some(text) = text else { return say(&format!("| {step} | {by} {what} | refused | | |")) };
        let cost = meter.cost(&text);
        say(&format!("| {step} | {by} {what} | {} |", cost.cells()));
        match totals.iter_mut().find(|(known, _)| *known == by) {
            Some((_, total)) => total.add(cost),
            None => totals.push((by, cost)),
        }
    };
    for (step, tool, arguments, command) in STEPS {
        for (by, server) in &mut servers {
            let answer = server.try_call(tool, &format!(r#"{{"repoPath":"{repo}"{arguments}}}"#));
            row(step, by, &format!("`{tool}`"), answer.ok().and_then(|answer| shown(&answer)));
        }
        if !command.is_empty() {
            row(step, "git", &format!("`git {}`", command.join(" ")), Some(git(repository, command)));
        }
    }
    let mut direct = vec![("bulkhead direct", opened(&ours(&["--surface", "direct", "--repo", repo]), repository))];
    if let Some(command) = direct_reference(repository) {
        direct.push(("reference direct", opened(&command, repository)));
    }
    for (step, tool, arguments) in DIRECT {
        for (by, server) in &mut direct {
            let answer = server.try_call(tool, arguments);
            row(step, by, &format!("`{tool}`"), answer.ok().and_then(|answer| shown(&answer)));
        }
    }
    for (by, total) in totals {
        say(&format!("| **together** | {by} | {} |", total.cells()));
    }
}
