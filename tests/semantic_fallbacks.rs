//! What `diff.semantic` says of files that it leaves to the text diff: in a build with grammars of those whose name has none,
//! and in a build without of every file, by that reason; and what such a build is made of.
//! Trust: test code.

#[path = "support/mod.rs"]
mod support;

use serde_json::json;
use std::process::Command;
use support::{Place, Repo, Start, process};

/// The feature decides which of the two the same question is answered by.
const GRAMMARS: bool = cfg!(feature = "grammars");

#[test]
fn the_reason_says_whether_the_name_or_the_build_lacks_a_grammar() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let write = |body: &str| {
        repo.write("known.rs", format!("fn one() {{\n    {body}();\n}}\n"));
        repo.write("unknown.zzz", format!("{body}\n"));
    };
    write("a");
    repo.git(&["add", "-A"]);
    repo.commit("old");
    let mut server = Start::new(&place).root(place.path()).spawn();
    let nothing = server.read("diff.semantic", repo.path());
    assert_eq!(nothing.data()["supported"], json!(true), "nothing differs: {}", nothing.message);
    write("b");

    let rows = server.read("diff.semanticFallbacks", repo.path());
    let told: Vec<_> = rows.data()["fallbacks"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| (row["path"].as_str().unwrap_or_default(), row["reason"].as_str().unwrap_or_default()))
        .collect();
    let (right, engine) = match GRAMMARS {
        true => (vec![("unknown.zzz", "unsupported-language")], "tree-sitter"),
        false => (vec![("known.rs", "no-grammars"), ("unknown.zzz", "no-grammars")], "none"),
    };
    assert_eq!((told, &rows.data()["engine"]), (right, &json!(engine)), "{}", rows.message);
    assert_eq!(rows.data()["analyzedFiles"], json!(2));

    let both = server.read("diff.semantic", repo.path());
    assert_eq!(both.data()["supported"], json!(GRAMMARS), "{}", both.message);
    if !GRAMMARS {
        let why = both.data()["reason"].as_str().expect("why");
        assert!(why.ends_with("There are no grammars in this build."), "{why}");
        assert_eq!(both.data()["fallback"], json!("diff.text"));
        let text = server.call("diff.text", both.data()["textDiffArguments"].clone());
        assert!(
            text.is_ok() && text.data().to_string().contains("b();"),
            "the arguments are good ones: {}",
            text.message
        );
    }
    // whoever looks at files of others does it behind the same walls
    let parsers = process::of_kind(server.pid(), "syntax");
    assert!(!parsers.is_empty() && parsers.iter().all(|one| one.status("Seccomp").as_deref() == Some("2")));
    assert!(server.finish().status.success());
}

#[test]
fn without_the_feature_no_parser_is_compiled() {
    let tree = |further: &[&str]| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(env!("CARGO_MANIFEST_DIR")).args([
            "tree",
            "--locked",
            "--offline",
            "--edges",
            "normal,build",
        ]);
        let output = cargo.args(["--prefix", "none"]).args(further).output().expect("cargo runs");
        assert!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("text");
        text.lines().filter(|line| line.starts_with("tree-sitter") || line.starts_with("cc ")).count()
    };
    assert!(tree(&[]) > 14, "the question finds them where they are");
    assert_eq!(tree(&["--no-default-features"]), 0);
}
