//! The documents are true: files and tests that they name are there, the tables list the tools that there are, and commands run.
//! Trust: our own texts; commands are taken from them and run in a place of their own.

#[path = "support/mod.rs"]
mod support;

use bulkhead_contract::catalogue::{self, Surface};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use support::{Place, Repo};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every document: its name, and its text.
fn documents() -> Vec<(String, String)> {
    let in_dir = |dir: &str| fs::read_dir(root().join(dir)).expect("ours").flatten().map(|entry| entry.path());
    let mut all: Vec<PathBuf> = in_dir("").chain(in_dir("docs")).collect();
    all.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    all.sort();
    let named = |path: PathBuf| {
        let name = path.strip_prefix(root()).expect("beneath it").display().to_string();
        (name, fs::read_to_string(path).expect("a text"))
    };
    all.into_iter().map(named).collect()
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2))
}

#[test]
fn files_that_documents_name_are_there() {
    const OURS: [&str; 18] = [
        ".ci/",
        ".github/",
        "benches/",
        "contract/",
        "docs/",
        "fuzz/",
        "ipc/",
        "launcher/",
        "ledger/",
        "packaging/",
        "sandbox/",
        "src/",
        "supervisor/",
        "tests/",
        "worker-",
        "deny.toml",
        "Cargo.toml",
        "rust-toolchain.toml",
    ];
    let mut looked_at = 0;
    for (document, text) in documents() {
        for name in quoted(&text) {
            let is_path = OURS.iter().any(|ours| name.starts_with(ours)) && !name.contains(['*', ' ', '<', '…', '=']);
            // words of the house that look alike: `worker-read` is a process, and capitals stand for a name
            let stands_for = name.as_bytes().windows(3).any(|three| three.iter().all(u8::is_ascii_uppercase));
            if !is_path || stands_for || !name.contains(['/', '.']) {
                continue;
            }
            looked_at += 1;
            let path = root().join(name);
            let there = path.exists() || path.with_extension("rs").exists();
            assert!(there, "{document} names {name}, which is not there");
        }
    }
    assert!(looked_at > 100, "{looked_at} paths: the documents are not read as they are written");
}

#[test]
fn tests_that_are_named_as_proof_are_there() {
    let text = fs::read_to_string(root().join("docs/prior-art-cves.md")).expect("ours");
    let mut held = 0;
    for row in text.lines().filter(|line| line.starts_with('|')) {
        let mut file: Option<PathBuf> = None;
        for name in quoted(row) {
            let at = [root().join("tests").join(name), root().join(name)].into_iter().find(|path| path.exists());
            if let Some(at) = at.filter(|_| name.ends_with(".rs") || root().join("tests").join(name).is_dir()) {
                file = Some(at);
            } else if let Some(file) = file.as_ref().filter(|_| is_a_tests_name(name)) {
                assert!(sources(file).contains(&format!("fn {name}(")), "{name} is no test of {}", file.display());
                held += 1;
            }
        }
    }
    assert!(held > 20, "{held} tests: the table is not read as it is written");
}

fn is_a_tests_name(name: &str) -> bool {
    name.matches('_').count() >= 2
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

fn sources(at: &Path) -> String {
    if at.is_file() {
        return fs::read_to_string(at).expect("a text");
    }
    let files = fs::read_dir(at).expect("a directory").flatten();
    files.map(|entry| fs::read_to_string(entry.path()).unwrap_or_default()).collect()
}

/// Names in the first cell of rows; `.rebase` behind `operation.preview.merge` has the same beginning.
fn in_table(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for row in text.lines().filter_map(|line| line.strip_prefix("| `")) {
        let cell = format!("`{}", row.split(" | ").next().unwrap_or_default());
        let mut before = String::new();
        for name in quoted(&cell) {
            let name = match name.strip_prefix('.') {
                Some(last) => format!("{}.{last}", before.rsplit_once('.').map_or("", |(family, _)| family)),
                None => name.to_owned(),
            };
            before.clone_from(&name);
            names.insert(name);
        }
    }
    names
}

#[test]
fn the_table_of_tools_has_every_tool_and_no_other() {
    let readme = fs::read_to_string(root().join("README.md")).expect("ours");
    let named: BTreeSet<_> =
        in_table(&readme).into_iter().filter(|name| name.contains('.') && !name.contains(['/', ' '])).collect();
    let listed: BTreeSet<_> = Surface::Review.tools().map(|tool| tool.name.to_owned()).collect();
    assert_eq!(named, listed);
    let direct = fs::read_to_string(root().join("docs/direct.md")).expect("ours");
    let named: BTreeSet<&str> = quoted(&direct).collect();
    let missing: Vec<_> = Surface::Direct.tools().map(|tool| tool.name).filter(|name| !named.contains(name)).collect();
    assert!(missing.is_empty(), "docs/direct.md does not name {missing:?}");
    assert!(catalogue::find("repo.brief").is_some());
}

/// Commands of all documents, those in several lines as one; without what stands behind `  #`.
fn commands() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (document, text) in documents() {
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let Some(command) = line.strip_prefix("$ ") else { continue };
            let mut command = command.to_owned();
            while let Some(begun) = command.strip_suffix('\\') {
                command = format!("{begun}{}", lines.next().unwrap_or_default().trim_start());
            }
            let command = command.split("  #").next().unwrap_or_default().split(" # ").next().unwrap_or_default();
            all.push((document.clone(), command.trim_end().to_owned()));
        }
    }
    all
}

/// Commands that are not run here: they would build or test everything once more, or need what a test has not. What they
/// name is looked at instead.
fn is_only_looked_at(command: &str) -> bool {
    if command == "bash .ci/run" {
        return root().join(".ci/run").exists();
    }
    // variables that are set for it say nothing of what it is
    let is_variable = |word: &&str| word.split_once('=').is_some_and(|(name, _)| name == name.to_uppercase());
    let words: Vec<_> = command.split(' ').skip_while(is_variable).collect();
    for (flag, dir) in [("--test", "tests"), ("--bench", "benches")] {
        let name = words.iter().position(|word| *word == flag).and_then(|at| words.get(at + 1));
        if let Some(name) = name {
            let at = root().join(dir).join(name);
            assert!(at.is_dir() || at.with_extension("rs").is_file(), "{command}: there is no {name}");
        }
    }
    matches!(words.as_slice(), ["cargo", "test" | "bench" | "install" | "build" | "fmt" | "clippy", ..])
        || matches!(words.as_slice(), ["claude", "mcp", "add", ..] | ["docker", ..] | ["podman", ..])
}

/// Words as a shell sees them, as far as the documents quote.
fn split(command: &str) -> Vec<String> {
    let (mut words, mut word, mut within) = (Vec::new(), String::new(), false);
    for c in command.chars() {
        match c {
            '\'' => within = !within,
            ' ' if !within => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn commands_of_the_documents_run() {
    let place = Place::new();
    Repo::honest(&place, "home/src/app");
    let ping = place.at("ping");
    fs::write(&ping, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").expect("the place is ours");
    let mut ran = 0;
    for (document, command) in commands() {
        if is_only_looked_at(&command) {
            continue;
        }
        let words = match command.strip_prefix("cargo run --release -- ") {
            Some(words) => words,
            None => {
                command.strip_prefix("bulkhead ").unwrap_or_else(|| panic!("{document}: {command}: nobody runs it"))
            }
        };
        let home = place.home().display().to_string();
        let words: Vec<_> = split(words).into_iter().map(|word| word.replace('~', &home)).collect();
        let output = place
            .command(env!("CARGO_BIN_EXE_bulkhead"))
            .args(&words)
            .current_dir(place.home().join("src/app"))
            .stdin(fs::File::open(&ping).expect("just written"))
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        let fine = match words.first().map(String::as_str) {
            // what confines it is the machine's affair, that it can be told is ours
            Some("doctor") => matches!(output.status.code(), Some(0..=2)),
            // nobody listens behind the documents' gateway
            Some("call") if words.iter().any(|word| word.starts_with("operation.")) => said.contains("10003"),
            _ => output.status.success(),
        };
        assert!(fine, "{document}: {command}: {}: {said}", output.status);
        ran += 1;
    }
    assert!(ran >= 12, "{ran} commands: the documents are not read as they are written");
}

#[test]
fn help_names_every_command_that_the_documents_use() {
    let help = Command::new(env!("CARGO_BIN_EXE_bulkhead")).arg("--help").output().expect("it starts");
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    for (document, command) in commands() {
        let Some(word) = command.strip_prefix("bulkhead ").and_then(|words| words.split(' ').next()) else { continue };
        if !word.starts_with('-') {
            assert!(help.lines().any(|line| line.trim_start().starts_with(word)), "{document}: {command}");
        }
    }
}
