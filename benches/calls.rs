//! Latency of a call on a warm worker: request line written → answer line read, interleaved with what it is compared to.
//! Trust: our own fixture. `BULKHEAD_REFERENCE="program args"` adds the reference; `BULKHEAD_BENCH_REPO=DIR` a repository.

mod support;

use std::{path::Path, process::Command};
use support::{Figures, Server, ours, say};

const ROUNDS: usize = 300;
const REFERENCE_ROUNDS: usize = 20;

fn main() {
    let (_keep, root) = support::fixture();
    compare(&root, &root.join("rich"), "rich");
    if let Ok(repository) = std::env::var("BULKHEAD_BENCH_REPO") {
        let repository = Path::new(&repository).canonicalize().expect("BULKHEAD_BENCH_REPO exists");
        compare(&repository, &repository, "BULKHEAD_BENCH_REPO");
    }
}

fn compare(root: &Path, repository: &Path, name: &str) {
    let mut jailed = Server::start(&ours(&[], root), root);
    let mut single = Server::start(&ours(&["--isolation", "off"], root), root);
    let mut reference = support::reference().map(|command| Server::start(&command, root));
    for server in [Some(&mut jailed), Some(&mut single), reference.as_mut()].into_iter().flatten() {
        server.initialize();
    }
    for tool in ["repo.brief", "repo.status", "worktree.changes"] {
        let (mut a, mut b, mut git, mut theirs) =
            (Figures::default(), Figures::default(), Figures::default(), Figures::default());
        for _ in 0..20 {
            jailed.call(tool, repository);
            single.call(tool, repository);
        }
        for round in 0..ROUNDS {
            a.take(|| jailed.call(tool, repository));
            b.take(|| single.call(tool, repository));
            if round % 10 == 0 {
                git.take(|| git_status(repository));
            }
            if round < REFERENCE_ROUNDS
                && let Some(reference) = &mut reference
            {
                theirs.take(|| reference.call(tool, repository));
            }
        }
        say(&format!("{tool} on {name}"));
        say(&format!("  jailed           {}", a.line()));
        say(&format!("  --isolation off  {}   tax {:+.3} ms", b.line(), a.at(0.5) - b.at(0.5)));
        say(&format!("  git status       {}   {:.1} x ours", git.line(), git.at(0.5) / a.at(0.5)));
        if reference.is_some() {
            say(&format!("  reference        {}   {:.1} x ours", theirs.line(), theirs.at(0.5) / a.at(0.5)));
        }
    }
}

/// What a fresh `git` process costs for the largest part of the same question.
fn git_status(repository: &Path) {
    let output = Command::new("git")
        .args(["--no-optional-locks", "status", "--porcelain=v2", "--branch"])
        .current_dir(repository)
        .output()
        .expect("git is there");
    assert!(output.status.success());
}
