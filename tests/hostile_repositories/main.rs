//! Repositories made to hurt their reader: every tool on each ends safely, says nothing that it must not, runs nothing,
//! and leaves a server that answers the next call.
//! Trust: what is built here is as hostile as its builders could make it; sizes are small unless `BULKHEAD_SLOW=1`.

#[path = "../support/mod.rs"]
mod support;

mod formats;
mod memory;
mod objects;
mod outside;
mod programs;
mod refs;
mod special_files;
mod texts;

use serde_json::json;
use std::path::{Path, PathBuf};
use support::{
    Outcome, Repo, Start, TOOLS, calls,
    hostile::{Build, Scene},
    process::Process,
};

/// Private memory that one worker gets, in MiB.
const WORKER_MEMORY: u64 = 256;
/// Resident memory that the supervisor may ever have, in KiB: it holds bounded messages and nothing else.
const SUPERVISOR_KIB: u64 = 128 * 1024;

/// How the calls on one repository ended, in the order of [`TOOLS`].
struct Report(Vec<(PathBuf, Vec<Outcome>)>);

/// Builds it, and calls every tool on every repository of it.
fn attack(build: Build) -> Report {
    run(Scene::of(build))
}

/// Calls every tool on every repository, then an honest one; checks what holds for every attack.
fn run(scene: Scene) -> Report {
    let honest = Repo::honest(&scene.place, "honest");
    let roots = if scene.roots.is_empty() { &scene.repositories } else { &scene.roots };
    let mut start = Start::new(&scene.place).root(honest.path());
    for root in roots {
        start = start.root(root);
    }
    let memory = WORKER_MEMORY.to_string();
    let mut server = start.arguments(&["--deadline", "8", "--worker-memory", &memory]).spawn();
    let mut report = Vec::new();
    for repository in &scene.repositories {
        let mut outcomes = Vec::new();
        for (tool, arguments) in calls::on(repository) {
            let what = format!("{tool} {arguments}");
            let outcome = server.call(tool, arguments);
            assert!(outcome.elapsed.as_secs() < 15, "{what}: silence past the deadline: {:?}", outcome.elapsed);
            assert!(outcome.bytes < 1 << 20, "{what}: {} bytes", outcome.bytes);
            let code = outcome.code();
            // an error of a known kind; -32602, -32603 would be a bad question or a fault of ours
            let known = [-32011, 10001, 10010, 10021, 10022, 10023, 10024];
            assert!(code.is_none_or(|code| known.contains(&code)), "{what}: {}", outcome.message);
            assert_ne!(outcome.reason(), Some("internal"), "{what}: {}", outcome.message);
            let end = outcome.reason().map(str::to_owned).or(code.map(|code| code.to_string()));
            eprintln!("{what}: {} in {:?}", end.as_deref().unwrap_or("answered"), outcome.elapsed);
            if TOOLS.contains(&tool) {
                outcomes.push(outcome);
            }
        }
        report.push((repository.clone(), outcomes));
        let next = server.read("repo.status", honest.path());
        assert_eq!(next.data()["clean"], json!(true), "after {}: the next call", repository.display());
    }
    let peak = Process(server.pid()).peak_kib().expect("it runs");
    assert!(peak < SUPERVISOR_KIB, "the supervisor grew to {peak} KiB");
    let ended = server.finish();
    assert!(ended.status.success(), "it ended with {}: {}", ended.status, ended.said);
    for text in scene.secrets.iter().chain(&scene.names) {
        assert!(!ended.said.contains(text), "{text:?} came out: {}", excerpt(&ended.said, text));
    }
    assert!(!scene.fired(), "a program of the repository was run");
    Report(report)
}

fn excerpt<'t>(text: &'t str, part: &str) -> &'t str {
    let at = text.find(part).unwrap_or(0);
    let from = text[..at].char_indices().rev().nth(200).map_or(0, |(at, _)| at);
    let to = text[at..].char_indices().nth(200).map_or(text.len(), |(to, _)| at + to);
    &text[from..to]
}

impl Report {
    /// What the three tools said about the repository at a path that ends so.
    fn on(&self, name: &str) -> &[Outcome] {
        let found = self.0.iter().find(|(path, _)| path.ends_with(Path::new(name)));
        &found.unwrap_or_else(|| panic!("no call was made on {name}")).1
    }

    /// Every tool refused it for one of these reasons.
    fn all_refused(&self, name: &str, reasons: &[&str]) {
        for (tool, outcome) in TOOLS.iter().zip(self.on(name)) {
            outcome.expect_refused(&format!("{tool} on {name}"), reasons);
        }
    }

    /// Every tool answered.
    fn all_answered(&self, name: &str) {
        for (tool, outcome) in TOOLS.iter().zip(self.on(name)) {
            assert!(outcome.is_ok(), "{tool} on {name}: {}", outcome.message);
        }
    }

    /// Every tool answered, or said that one of these is wrong.
    fn answered_or(&self, name: &str, reasons: &[&str]) {
        for (tool, outcome) in TOOLS.iter().zip(self.on(name)) {
            if !outcome.is_ok() {
                outcome.expect_refused(&format!("{tool} on {name}"), reasons);
            }
        }
    }
}
