//! What a release is made of says what the program is: one version, one name, words that it understands.
//! Trust: test code; the files are this repository's own.
#![cfg(target_os = "linux")]

mod support;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};
use support::{Place, unmet};

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn repository(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(relative)
}

fn text(relative: &str) -> String {
    fs::read_to_string(repository(relative)).unwrap_or_else(|e| panic!("{relative}: {e}"))
}

fn json(relative: &str) -> Value {
    serde_json::from_str(&text(relative)).unwrap_or_else(|e| panic!("{relative}: {e}"))
}

fn run(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).output().expect("it starts")
}

#[track_caller]
fn printed(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it is text")
}

/// The members of an object, all of which `known` has.
#[track_caller]
fn only(object: &Value, known: &[&str]) {
    for member in object.as_object().expect("an object").keys() {
        assert!(known.contains(&member.as_str()), "{member} is no member that the schema has");
    }
}

/// What the schema of 2025-12-11 asks of an entry, and what the registry asks besides.
fn is_an_entry(entry: &Value) {
    only(entry, &["$schema", "name", "title", "description", "version", "repository", "websiteUrl", "packages"]);
    let word = |member: &str| entry[member].as_str().unwrap_or_else(|| panic!("{member} is text")).to_owned();
    assert!(word("$schema").ends_with("/2025-12-11/server.schema.json"));
    assert_eq!(word("version"), VERSION);
    let (namespace, server) =
        word("name").split_once('/').map(|(a, b)| (a.to_owned(), b.to_owned())).expect("one slash");
    let fine = |part: &str| part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)) && !part.is_empty();
    assert!(fine(&namespace) && fine(&server) && !namespace.contains('_'));
    assert!((1..=100).contains(&word("description").chars().count()), "a description has a hundred characters at most");
    assert!((1..=100).contains(&word("title").chars().count()));
    assert_eq!(entry["repository"]["url"], env!("CARGO_PKG_REPOSITORY"));
    assert_eq!(entry["repository"]["source"], "github");
    for package in entry["packages"].as_array().into_iter().flatten() {
        only(package, &["registryType", "identifier", "version", "fileSha256", "transport"]);
        assert_eq!((&package["registryType"], &package["transport"]["type"]), (&"mcpb".into(), &"stdio".into()));
        assert_eq!(package["version"], VERSION);
        let identifier = package["identifier"].as_str().expect("text");
        let release = format!("{}/releases/download/v{VERSION}/", env!("CARGO_PKG_REPOSITORY"));
        assert!(identifier.starts_with(&release) && identifier.ends_with(".mcpb"), "{identifier}");
        let hash = package["fileSha256"].as_str().expect("text");
        assert!(hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)), "{hash}");
    }
}

#[test]
fn the_registrys_entry_keeps_the_schema_and_names_nothing_that_is_not_there() {
    let entry = json("server.json");
    is_an_entry(&entry);
    assert!(entry.get("packages").is_none(), "nothing is published yet");
}

#[test]
fn a_release_gets_its_bundles_into_the_entry() {
    let place = Place::new();
    let bundles = [("a.mcpb", &b"one"[..]), ("b.mcpb", b"two")];
    for (name, bytes) in bundles {
        fs::write(place.at(name), bytes).expect("the place is ours");
    }
    fs::write(place.at("other.tgz"), "").expect("the place is ours");
    let entry = printed(run(place.command(repository("packaging/registry-entry")).arg(place.path())));
    let entry: Value = serde_json::from_str(&entry).unwrap_or_else(|e| panic!("{e}\n{entry}"));
    is_an_entry(&entry);
    let packages = entry["packages"].as_array().expect("a list");
    assert_eq!(packages.len(), 2);
    for ((name, bytes), package) in bundles.iter().zip(packages) {
        assert!(package["identifier"].as_str().expect("text").ends_with(name));
        let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(package["fileSha256"], hash);
    }
    fs::create_dir(place.at("empty")).expect("the place is ours");
    let nothing = run(place.command(repository("packaging/registry-entry")).arg(place.at("empty")));
    assert!(!nothing.status.success() && nothing.stdout.is_empty());
}

/// What manifest version 0.4 asks of a bundle.
fn is_a_manifest(manifest: &Value) {
    only(
        manifest,
        &[
            "manifest_version",
            "name",
            "display_name",
            "version",
            "description",
            "long_description",
            "author",
            "repository",
            "homepage",
            "documentation",
            "license",
            "keywords",
            "server",
            "tools_generated",
            "compatibility",
            "user_config",
        ],
    );
    assert_eq!((&manifest["manifest_version"], &manifest["version"]), (&"0.4".into(), &VERSION.into()));
    only(&manifest["author"], &["name", "url"]);
    only(&manifest["server"], &["type", "entry_point", "mcp_config"]);
    only(&manifest["server"]["mcp_config"], &["command", "args", "platform_overrides"]);
    only(&manifest["user_config"]["root"], &["type", "title", "description", "required", "default"]);
}

/// The words that a host starts the bundle's program with.
fn words(manifest: &Value, root: &Path) -> Vec<String> {
    let args = manifest["server"]["mcp_config"]["args"].as_array().expect("a list");
    let root = root.to_str().expect("plain");
    args.iter().map(|word| word.as_str().expect("text").replace("${user_config.root}", root)).collect()
}

#[test]
fn a_bundles_manifest_has_words_that_the_program_understands() {
    let manifest = json("packaging/mcpb/manifest.json");
    is_a_manifest(&manifest);
    let place = Place::new();
    let tools =
        printed(run(place.command(env!("CARGO_BIN_EXE_bulkhead")).args(words(&manifest, place.path())).arg("tools")));
    // hosts that install bundles refuse a server for one dot
    assert!(tools.contains("repo_status") && !tools.contains("repo.status"));
}

#[test]
fn a_packed_bundle_has_what_its_manifest_names_and_it_starts() {
    if !unmet::has_program("zip") || !unmet::has_program("unzip") {
        return;
    }
    let place = Place::new();
    let foreign = place.at("foreign");
    fs::write(&foreign, "a program of another system").expect("the place is ours");
    let own = Path::new(env!("CARGO_BIN_EXE_bulkhead"));
    for (platform, source, program) in
        [("linux", own, "server/bulkhead"), ("win32", foreign.as_path(), "server/bulkhead.exe")]
    {
        let bundle = place.at(format!("{platform}.mcpb"));
        let mut pack = place.command(repository("packaging/mcpb/pack"));
        // a program with all that debuggers want is large, and how small it gets is not what is tested
        printed(run(pack.arg(source).arg(platform).arg(&bundle).env("ZIPOPT", "-1")));
        let opened = place.at(platform);
        printed(run(place.command("unzip").arg("-q").arg(&bundle).arg("-d").arg(&opened)));
        let manifest = fs::read_to_string(opened.join("manifest.json")).expect("it is in the bundle");
        let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
        is_a_manifest(&manifest);
        assert_eq!(manifest["compatibility"]["platforms"], serde_json::json!([platform]));
        assert_eq!(manifest["server"]["entry_point"], program);
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            assert!(opened.join(licence).is_file());
        }
        if source == own {
            printed(run(place.command(opened.join(program)).args(words(&manifest, place.path())).arg("tools")));
        }
    }
    let nothing = run(place.command(repository("packaging/mcpb/pack")).args(["x", "solaris", "y"]));
    assert_eq!(nothing.status.code(), Some(2));
}

#[test]
fn the_image_starts_the_program_with_words_that_it_understands() {
    let dockerfile = text("Dockerfile");
    let name = json("server.json")["name"].as_str().expect("text").to_owned();
    assert!(dockerfile.contains(&format!("LABEL io.modelcontextprotocol.server.name=\"{name}\"")));
    assert!(dockerfile.lines().any(|line| line == "USER 10001:10001"), "it is nobody's user");
    let entry = dockerfile.lines().find_map(|line| line.strip_prefix("ENTRYPOINT ")).expect("it has one");
    let words: Vec<String> = serde_json::from_str(entry).expect("a list of words");
    assert_eq!(words[0], "/usr/local/bin/bulkhead");
    let place = Place::new();
    let root = place.path().to_str().expect("plain");
    let words: Vec<String> = words[1..].iter().map(|word| word.replace("/workspace", root)).collect();
    printed(run(place.command(env!("CARGO_BIN_EXE_bulkhead")).args(words).arg("tools")));
    // the toolchain of the image is the one of this repository
    let channel = text("rust-toolchain.toml");
    let channel =
        channel.lines().find_map(|line| line.strip_prefix("channel = ")).expect("it has one").trim_matches('"');
    assert!(dockerfile.contains(&format!("RUSTUP_TOOLCHAIN={channel}")));
}

#[test]
fn workflows_run_what_was_looked_at_and_may_do_little() {
    for workflow in [".github/workflows/ci.yml", ".github/workflows/release.yml"] {
        let text = text(workflow);
        assert!(
            text.contains("\npermissions:\n  contents: read\n"),
            "{workflow} may read and nothing else, but for a job"
        );
        assert!(text.matches("uses: ").count() >= 3);
        for uses in text.lines().filter_map(|line| line.split_once("uses: ")).map(|(_, uses)| uses) {
            let (_, commit) = uses.split_once('@').expect("a version");
            let commit = commit.split(' ').next().unwrap_or_default();
            let hash = commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit());
            assert!(hash && uses.contains(" # v"), "{workflow}: {uses} is not pinned by its commit");
        }
        for line in text.lines().filter(|line| line.contains("actions/checkout@")) {
            let behind = &text[text.find(line).expect("it is there") + line.len()..];
            assert!(behind.trim_start().starts_with("with: { persist-credentials: false }"), "{workflow}: {line}");
        }
    }
}

#[test]
fn archives_are_where_binstall_looks_for_them() {
    let manifest: toml_edit::DocumentMut = text("Cargo.toml").parse().expect("TOML");
    let release = text(".github/workflows/release.yml");
    let binstall = &manifest["package"]["metadata"]["binstall"];
    assert!(
        release.contains("name=bulkhead-$TARGET")
            && release.contains("dist/$name.tgz")
            && release.contains("dist/$name.zip")
    );
    for (table, ending) in [(binstall, "tgz"), (&binstall["overrides"]["x86_64-pc-windows-msvc"], "zip")] {
        let address = table["pkg-url"].as_str().expect("text");
        assert_eq!(address, format!("{{ repo }}/releases/download/v{{ version }}/bulkhead-{{ target }}.{ending}"));
        assert_eq!(table["pkg-fmt"].as_str(), Some(ending));
    }
    assert_eq!(binstall["bin-dir"].as_str(), Some("bulkhead-{ target }/{ bin }{ binary-ext }"));
}
