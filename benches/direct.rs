//! The direct surface: reads against `vcs-mcp`, writes against the bare git command.
//! Trust: our own fixture. `BULKHEAD_DIRECT_REFERENCE=vcs-mcp` names the reference, `BULKHEAD_BENCH_REPO=DIR[,DIR…]` adds repositories to
//! read, `BULKHEAD_BENCH_ROUNDS=N` changes how often.

mod support;

use std::{
    path::Path,
    process::{Command, Stdio},
};
use support::{BINARY, Figures, Server, say};

/// Calls of ours that are timed, and of the reference, which is slower.
const ROUNDS: usize = 100;
const THEIR_ROUNDS: usize = 20;
/// Writes of each kind.
const WRITES: usize = 25;

fn main() {
    let (_keep, root) = support::fixture();
    let mut ratios = Vec::new();
    reads(&root.join("rich"), "rich", &mut ratios);
    for name in std::env::var("BULKHEAD_BENCH_REPO").unwrap_or_default().split(',').filter(|name| !name.is_empty()) {
        let repository = Path::new(name).canonicalize().expect("BULKHEAD_BENCH_REPO exists");
        let short = repository.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        reads(&repository, &short, &mut ratios);
    }
    ratios.sort_by(f64::total_cmp);
    if let (Some(least), Some(median)) = (ratios.first(), ratios.get(ratios.len() / 2)) {
        say(&format!("against the reference: median {median:.1} x, least {least:.1} x of {}", ratios.len()));
    }
    writes(&root);
}

fn ours(repository: &Path, more: &[&str]) -> Server {
    let run_dir = concat!(env!("CARGO_TARGET_TMPDIR"), "/bench-run-dir");
    let repository = repository.to_str().expect("fixtures have plain names");
    let words = [BINARY, "--surface", "direct", "--run-dir", run_dir, "--repo", repository];
    let command: Vec<String> = words.iter().chain(more).map(|word| (*word).to_owned()).collect();
    let mut server = Server::start(&command, Path::new("/"));
    server.initialize();
    server
}

fn ms(milliseconds: f64) -> String {
    format!("{milliseconds:.2} ms")
}

fn rounds() -> usize {
    std::env::var("BULKHEAD_BENCH_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS)
}

fn reads(repository: &Path, name: &str, ratios: &mut Vec<f64>) {
    let mut ours = ours(repository, &[]);
    let reference = std::env::var("BULKHEAD_DIRECT_REFERENCE").ok().map(|program| {
        let repo = repository.display().to_string();
        let mut server = Server::start(&[program, "--repo".to_owned(), repo], Path::new("/"));
        server.initialize();
        server
    });
    let mut reference = reference;
    let file = Command::new("git").current_dir(repository).args(["ls-files"]).output().expect("git is there");
    let listed = String::from_utf8_lossy(&file.stdout).into_owned();
    let file = listed.lines().find(|name| !name.contains(['"', '\\'])).unwrap_or("README.md").to_owned();
    let file = format!(r#""{file}""#);
    let calls = [
        ("repo_snapshot", "{}".to_owned()),
        ("repo_info", "{}".to_owned()),
        ("repo_status", "{}".to_owned()),
        ("repo_diff_stat", "{}".to_owned()),
        ("repo_diff", "{}".to_owned()),
        ("repo_branches", "{}".to_owned()),
        ("repo_current_branch", "{}".to_owned()),
        ("repo_conflicts", "{}".to_owned()),
        ("repo_worktrees", "{}".to_owned()),
        ("repo_remotes", "{}".to_owned()),
        ("repo_log", r#"{"revspec_or_revset":"HEAD","max":20}"#.to_owned()),
        ("repo_show_file", format!(r#"{{"rev":"HEAD","path":{file}}}"#)),
        ("repo_annotate", format!(r#"{{"path":{file}}}"#)),
        ("repo_conflict_regions", format!(r#"{{"path":{file}}}"#)),
        ("repo_list_files", "{}".to_owned()),
        ("repo_tags", "{}".to_owned()),
        ("repo_merge_base", r#"{"a":"HEAD","b":"HEAD~1"}"#.to_owned()),
    ];
    say(&format!("\n| on {name} | p50 | p95 | reference p50 | x |\n|---|---|---|---|---|"));
    for (tool, arguments) in &calls {
        let (mut own, mut theirs) = (Figures::default(), Figures::default());
        if let Err(answer) = ours.try_call(tool, arguments) {
            say(&format!("| {tool} | refused: {answer:.160} |"));
            continue;
        }
        let answers = reference.as_mut().is_some_and(|server| server.try_call(tool, arguments).is_ok());
        let mut asked = reference.as_mut().filter(|_| answers);
        let rounds = rounds();
        for round in 0..rounds {
            own.take(|| ours.try_call(tool, arguments).expect("it answered before"));
            if let Some(server) = asked.as_mut().filter(|_| round % rounds.div_ceil(THEIR_ROUNDS).max(1) == 0) {
                let _ = theirs.take(|| server.try_call(tool, arguments).is_ok());
            }
        }
        let p50 = own.at(0.5);
        let (reference, x) = match asked {
            Some(_) => {
                let ratio = theirs.at(0.5) / p50;
                // answered without a process by both
                if !matches!(*tool, "repo_info" | "repo_conflict_regions") {
                    ratios.push(ratio);
                }
                (ms(theirs.at(0.5)), format!("{ratio:.1}"))
            }
            None => ("-".to_owned(), "-".to_owned()),
        };
        say(&format!("| `{tool}` | {} | {} | {reference} | {x} |", ms(p50), ms(own.at(0.95))));
    }
}

/// The same write by us and by git, in two clones of one repository, in turns.
fn writes(root: &Path) {
    let base = root.join("writes");
    let git = |dir: &Path, arguments: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(dir).args(arguments).stdout(Stdio::null());
        git.env("GIT_AUTHOR_NAME", "B").env("GIT_AUTHOR_EMAIL", "b@example.invalid");
        git.env("GIT_COMMITTER_NAME", "B").env("GIT_COMMITTER_EMAIL", "b@example.invalid");
        assert!(git.status().expect("git is there").success(), "{arguments:?}");
    };
    std::fs::create_dir_all(&base).expect("the directory is ours");
    let origin = root.join("rich");
    for name in ["ours", "theirs"] {
        git(&base, &["clone", "-q", "--no-hardlinks", &origin.display().to_string(), name]);
        let dir = base.join(name);
        git(&dir, &["config", "user.name", "B"]);
        git(&dir, &["config", "user.email", "b@example.invalid"]);
        std::fs::write(dir.join("bench.txt"), "0\n").expect("the directory is ours");
        git(&dir, &["add", "bench.txt"]);
        git(&dir, &["commit", "-qm", "bench"]);
    }
    let (our_dir, their_dir) = (base.join("ours"), base.join("theirs"));
    let mut server = ours(&our_dir, &["--allow-write"]);
    let mut table = [
        ("repo_create_branch", Figures::default(), Figures::default()),
        ("repo_commit", Figures::default(), Figures::default()),
        ("repo_checkout", Figures::default(), Figures::default()),
        ("repo_tag_create", Figures::default(), Figures::default()),
    ];
    for round in 0..WRITES {
        for dir in [&our_dir, &their_dir] {
            std::fs::write(dir.join("bench.txt"), format!("{}\n", round + 1)).expect("the directory is ours");
        }
        let branch = format!("bench-{round}");
        let tag = format!("tag-{branch}");
        let calls = [
            (format!(r#"{{"name":"{branch}"}}"#), vec!["branch", &branch]),
            (
                r#"{"paths":["bench.txt"],"message":"m"}"#.to_owned(),
                vec!["commit", "-qm", "m", "--only", "--", "bench.txt"],
            ),
            (format!(r#"{{"reference":"{branch}"}}"#), vec!["checkout", "-q", &branch]),
            (format!(r#"{{"name":"{tag}"}}"#), vec!["tag", &tag]),
        ];
        for ((tool, own, theirs), (arguments, command)) in table.iter_mut().zip(&calls) {
            own.take(|| server.try_call(tool, arguments).unwrap_or_else(|answer| panic!("{tool}: {answer:.600}")));
            theirs.take(|| git(&their_dir, command));
        }
    }
    say("\n| write | p50 | bare git p50 | more |\n|---|---|---|---|");
    for (tool, own, theirs) in &table {
        let (own, theirs) = (own.at(0.5), theirs.at(0.5));
        say(&format!("| `{tool}` | {} | {} | {} |", ms(own), ms(theirs), ms(own - theirs)));
    }
}
