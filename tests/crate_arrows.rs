//! The house keeps its shape: which crate may know which, what may be imported where, how long a file may be.
//! Trust: reads this repository and what cargo says of it.

use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::Command,
};

/// Arrows inside the workspace that may exist (ARCHITECTURE.md). A crate that is not a row here may not exist.
const ARROWS: &[(&str, &[&str])] = &[
    ("bulkhead-contract", &[]),
    ("bulkhead-sandbox", &[]),
    ("bulkhead-ipc", &["bulkhead-contract"]),
    ("bulkhead-ledger", &["bulkhead-contract"]),
    ("bulkhead-launcher", &["bulkhead-ipc", "bulkhead-ledger", "bulkhead-sandbox"]),
    ("bulkhead-supervisor", &["bulkhead-contract", "bulkhead-ipc", "bulkhead-sandbox"]),
    ("bulkhead-worker-read", &["bulkhead-contract", "bulkhead-ipc", "bulkhead-sandbox"]),
    ("bulkhead-worker-agents", &["bulkhead-contract", "bulkhead-ipc", "bulkhead-sandbox"]),
    ("bulkhead-worker-audit", &["bulkhead-contract", "bulkhead-ipc", "bulkhead-ledger", "bulkhead-sandbox"]),
    ("bulkhead-worker-gateway", &["bulkhead-contract", "bulkhead-ipc", "bulkhead-ledger", "bulkhead-sandbox"]),
    ("bulkhead-worker-syntax", &["bulkhead-contract", "bulkhead-ipc", "bulkhead-sandbox"]),
    ("bulkhead-worker-write", &["bulkhead-contract", "bulkhead-ipc", "bulkhead-sandbox"]),
    (
        "bulkhead",
        &[
            "bulkhead-contract",
            "bulkhead-ipc",
            "bulkhead-launcher",
            "bulkhead-ledger",
            "bulkhead-sandbox",
            "bulkhead-supervisor",
            "bulkhead-worker-agents",
            "bulkhead-worker-audit",
            "bulkhead-worker-gateway",
            "bulkhead-worker-read",
            "bulkhead-worker-syntax",
            "bulkhead-worker-write",
        ],
    ),
];

/// Libraries that only these crates may use, directly; each is a power or a parser that the others must not have.
const ONLY_IN: &[(&str, &[&str])] = &[
    ("gix", &["bulkhead-worker-read", "bulkhead-worker-write"]),
    ("tokio", &["bulkhead-supervisor", "bulkhead-worker-gateway"]),
    ("landlock", &["bulkhead-sandbox"]),
    ("seccompiler", &["bulkhead-sandbox"]),
    ("libc", &["bulkhead-sandbox"]),
    ("nix", &["bulkhead-sandbox", "bulkhead-launcher", "bulkhead-ledger", "bulkhead-worker-read", "bulkhead-ipc"]),
    ("rustix", &["bulkhead-worker-read", "bulkhead-worker-agents"]),
    ("bincode", &["bulkhead-contract", "bulkhead-ipc"]),
    (
        "sha2",
        &[
            "bulkhead-contract",
            "bulkhead-ledger",
            "bulkhead-supervisor",
            "bulkhead-worker-agents",
            "bulkhead-worker-audit",
            "bulkhead-worker-gateway",
            "bulkhead-worker-write",
        ],
    ),
    ("clap", &["bulkhead"]),
    ("clap_complete", &["bulkhead"]),
    ("clap_mangen", &["bulkhead"]),
    ("gix-imara-diff", &["bulkhead"]),
    ("jsonc-parser", &["bulkhead"]),
    ("tempfile", &["bulkhead"]),
    ("toml_edit", &["bulkhead"]),
    ("ed25519-dalek", &["bulkhead-ledger"]),
    ("zeroize", &["bulkhead-ledger", "bulkhead-worker-audit", "bulkhead-worker-gateway"]),
    ("tree-sitter", &["bulkhead-worker-syntax"]),
    ("tree-sitter-bash", &["bulkhead-worker-syntax"]),
    ("tree-sitter-c", &["bulkhead-worker-syntax"]),
    ("tree-sitter-cpp", &["bulkhead-worker-syntax"]),
    ("tree-sitter-go", &["bulkhead-worker-syntax"]),
    ("tree-sitter-java", &["bulkhead-worker-syntax"]),
    ("tree-sitter-javascript", &["bulkhead-worker-syntax"]),
    ("tree-sitter-json", &["bulkhead-worker-syntax"]),
    ("tree-sitter-language", &["bulkhead-worker-syntax"]),
    ("tree-sitter-md", &["bulkhead-worker-syntax"]),
    ("tree-sitter-python", &["bulkhead-worker-syntax"]),
    ("tree-sitter-rust", &["bulkhead-worker-syntax"]),
    ("tree-sitter-toml-ng", &["bulkhead-worker-syntax"]),
    ("tree-sitter-typescript", &["bulkhead-worker-syntax"]),
    ("tree-sitter-yaml", &["bulkhead-worker-syntax"]),
    ("hyper", &["bulkhead-worker-gateway"]),
    ("reqwest", &[]),
    ("rustls", &[]),
    ("openssl", &[]),
    ("git2", &[]),
    ("rusqlite", &[]),
];

/// The one file that may dial by such a type: where there is no launcher, one process is all there is.
const DIALS: &str = "worker-gateway/src/stream/elsewhere.rs";

/// The files that may start programs: one run of Git in its jail; what the front door asks the operator's programs about
/// themselves; the group that a program is kept in; a try that must fail.
const RUNS: [&str; 4] = [
    "worker-write/src/git/running.rs",
    "worker-write/src/asked.rs",
    "sandbox/src/program.rs",
    "sandbox/src/jail/tried.rs",
];

/// Types of the standard library that are a way to the network or to other processes.
const SOCKETS: &[&str] = &["TcpStream", "TcpListener", "UdpSocket", "UnixStream", "UnixListener", "UnixDatagram"];

/// Lines of source files: most a file may have.
const LONGEST_FILE: usize = 900;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn metadata(further: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root()).args(["metadata", "--format-version", "1", "--locked", "--offline"]).args(further);
    let output = command.output().expect("cargo runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo writes JSON")
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

fn list<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

/// Direct dependencies of every crate of the workspace: those of the product, and those of tests and build scripts.
fn dependencies() -> BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)> {
    let metadata = metadata(&["--no-deps"]);
    let mut crates = BTreeMap::new();
    for package in list(&metadata, "packages") {
        let (product, other): (Vec<_>, Vec<_>) =
            list(package, "dependencies").iter().partition(|dependency| dependency["kind"].is_null());
        let names = |rows: Vec<&Value>| rows.iter().map(|row| text(row, "name").to_owned()).collect();
        crates.insert(text(package, "name").to_owned(), (names(product), names(other)));
    }
    crates
}

#[test]
fn no_crate_knows_another_than_the_house_allows() {
    let mut faults = Vec::new();
    for (name, (product, other)) in dependencies() {
        let Some((_, allowed)) = ARROWS.iter().find(|(from, _)| *from == name) else {
            faults.push(format!("{name}: a crate that the table of arrows does not have"));
            continue;
        };
        let strangers = |known: &&String| known.starts_with("bulkhead") && !allowed.contains(&known.as_str());
        faults.extend(product.iter().filter(strangers).map(|known| format!("{name} -> {known}")));
        // tests may also say what the contract says
        let other = other.iter().filter(strangers).filter(|known| *known != "bulkhead-contract");
        faults.extend(other.map(|known| format!("{name} -> {known} (tests)")));
    }
    assert!(faults.is_empty(), "arrows that may not exist:\n{}", faults.join("\n"));
}

#[test]
fn no_crate_uses_a_library_that_is_another_crates_power() {
    let mut faults = Vec::new();
    for (name, (product, _)) in dependencies() {
        for (library, allowed) in ONLY_IN {
            if product.contains(*library) && !allowed.contains(&name.as_str()) {
                faults.push(format!("{name} uses {library}, which only {allowed:?} may"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_codec_is_pinned_to_the_one_version_that_was_read() {
    let metadata = metadata(&["--no-deps"]);
    let packages = list(&metadata, "packages").iter().flat_map(|package| list(package, "dependencies"));
    let pins: BTreeSet<&str> = packages.filter(|d| text(d, "name") == "bincode").map(|d| text(d, "req")).collect();
    assert_eq!(pins, BTreeSet::from(["=2.0.1"]));
}

/// The licences that `deny.toml` allows to everybody, and those that it allows to one crate: crate, licence.
fn licences() -> (Vec<String>, Vec<(String, String)>) {
    let text = read(&root().join("deny.toml"));
    let quoted = |text: &str| -> Vec<String> { text.split('"').skip(1).step_by(2).map(str::to_owned).collect() };
    let to_all = text.lines().find_map(|line| line.strip_prefix("allow = [")).expect("deny.toml has a list");
    let exceptions = text.lines().filter_map(|line| {
        let (allowed, name) = line.trim().strip_prefix("{ allow = ")?.split_once("crate = ")?;
        Some((quoted(name).pop()?, quoted(allowed).pop()?))
    });
    (quoted(to_all), exceptions.collect())
}

#[test]
fn every_dependency_has_a_licence_from_the_list() {
    let (to_all, exceptions) = licences();
    assert!(to_all.len() > 5 && to_all.iter().any(|licence| licence == "MIT"), "{to_all:?}");
    // what is linked here; packages of other systems are not even downloaded
    let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let metadata = metadata(&["--filter-platform", &triple]);
    let mut faults = Vec::new();
    for package in list(&metadata, "packages") {
        let name = text(package, "name");
        // "A OR B/C" offers three; "A AND B" needs both
        let words = text(package, "license").replace(['(', ')'], " ").replace('/', " OR ");
        let fine = |word: &str| {
            let word = word.trim();
            to_all.iter().any(|licence| licence == word)
                || exceptions.iter().any(|(exempt, licence)| exempt == name && licence == word)
        };
        if !words.split(" OR ").any(|choice| choice.split(" AND ").all(fine)) {
            faults.push(format!("{name} {}: {words:?}", text(package, "version")));
        }
    }
    assert!(faults.is_empty(), "licences that are not on the list:\n{}", faults.join("\n"));
}

/// Every `.rs` file of the repository; `target` is left out, and sources that are data of a test.
fn sources() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![root().to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).expect("the repository is readable").flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if path.is_dir() && name != "target" && name != "golden" && !name.to_string_lossy().starts_with('.') {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("sources are text")
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// Whether a file is part of the product and not of its tests, benches or fuzz targets.
fn is_product(path: &Path) -> bool {
    let shown = shown(path);
    !shown.split('/').any(|part| ["tests", "benches", "fuzz", "examples"].contains(&part))
}

/// The lines before a file's unit tests.
fn product_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().take_while(|line| !line.starts_with("#[cfg(test)]") && !line.starts_with("#[cfg(all(test"))
}

#[test]
fn files_stay_short() {
    let mut lengths: Vec<(usize, PathBuf)> =
        sources().into_iter().map(|path| (read(&path).lines().count(), path)).collect();
    lengths.sort();
    let at = |hundredth: usize| lengths[(lengths.len() - 1) * hundredth / 100].0;
    eprintln!("{} files: median {} lines, 90th percentile {}, longest {}", lengths.len(), at(50), at(90), at(100));
    let long: Vec<_> = lengths.iter().filter(|(lines, _)| *lines > LONGEST_FILE).collect();
    assert!(long.is_empty(), "longer than {LONGEST_FILE} lines: {long:?}");
}

#[test]
fn every_module_says_its_job_and_how_far_it_trusts_its_input() {
    let faults: Vec<String> = sources()
        .iter()
        .filter(|path| {
            let text = read(path);
            let head: Vec<&str> = text.lines().take_while(|line| line.starts_with("//!")).collect();
            head.len() < 2 || !head.iter().any(|line| line.contains("Trust: "))
        })
        .map(|path| shown(path))
        .collect();
    assert!(faults.is_empty(), "without the two opening lines:\n{}", faults.join("\n"));
}

#[test]
fn unsafe_code_lives_in_the_sandbox_and_is_forbidden_elsewhere() {
    let mut faults = Vec::new();
    for path in sources().iter().filter(|path| is_product(path)) {
        let text = read(path);
        let name = shown(path);
        let in_sandbox = name.starts_with("sandbox/");
        let is_crate_root = name.ends_with("src/lib.rs") || name.ends_with("src/main.rs");
        if !in_sandbox && is_crate_root && !text.contains("#![forbid(unsafe_code)]") {
            faults.push(format!("{name}: does not forbid unsafe code"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn only_the_sandbox_starts_processes_and_only_git_is_run() {
    let mut faults = Vec::new();
    for path in sources().iter().filter(|path| is_product(path)) {
        let name = shown(path);
        for (number, line) in product_lines(&read(path)).enumerate() {
            let runs = line.contains("process::Command") || line.contains("Command::new(");
            let sockets = SOCKETS.iter().any(|name| line.contains(name));
            if !line.trim_start().starts_with("//")
                && (runs && !RUNS.contains(&name.as_str()) || sockets && name != DIALS)
            {
                faults.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "powers that no crate may have:\n{}", faults.join("\n"));
}

#[test]
fn the_repository_names_no_place_of_the_machine_it_was_made_on() {
    let mut faults = Vec::new();
    for path in sources() {
        let name = shown(&path);
        for (number, line) in read(&path).lines().enumerate() {
            // put together so that this line is not one of its own findings
            let places = [concat!("/wo", "rk/"), concat!("../sha", "red"), concat!("/ro", "ot/.")];
            if places.iter().any(|place| line.contains(place)) {
                faults.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
