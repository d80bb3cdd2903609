//! Sources that crash, hang or explode a parser, in one repository with an honest one: each falls back by name, nobody else
//! notices.
//! Trust: test code.

use crate::support::{Place, Repo, Start};
use serde_json::{Value, json};

fn reason<'a>(files: &'a [Value], path: &str) -> &'a str {
    let file = files.iter().find(|file| file["path"] == path).unwrap_or_else(|| panic!("{path} is not told"));
    file["reason"].as_str().unwrap_or("compared")
}

#[test]
fn hostile_sources_fall_back_by_name_and_honest_ones_are_compared() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let nested = |times: usize| format!("[{}1{}]", "[".repeat(times), "]".repeat(times)).into_bytes();
    let large = "int x;\n".repeat(200_000).into_bytes();
    let sources: Vec<(&str, Vec<u8>, &[&str])> = vec![
        ("deep.json", nested(5_000), &["too-deep"]),
        ("deep.rs", nested(20_000), &["too-deep", "too-many-errors", "time"]),
        ("token.js", vec![b'a'; 900 << 10], &["compared"]),
        ("string.py", [&b"x = '"[..], &vec![b'y'; 900 << 10], b"'\n"].concat(), &["compared"]),
        ("huge.c", large, &["too-large"]),
        ("latin.py", b"name = 'caf\xe9'\n".to_vec(), &["not-utf8"]),
        ("mixed.go", b"package a // \xc3\xa9 and \xe9\n".to_vec(), &["not-utf8"]),
        ("nul.c", b"int a;\0int b;\n".to_vec(), &["binary"]),
        ("utf16.ts", b"\xff\xfec\0o\0n\0s\0t\0".to_vec(), &["binary"]),
        ("elf.rs", b"\x7fELF\x02\x01\x01\0\0\0".to_vec(), &["binary"]),
        ("noise.java", b"}}}) ((( @@ ## $$ %% ^^\n".repeat(100), &["too-many-errors"]),
        ("controls.sh", b"echo \x01\x02\x1b[31m\n".to_vec(), &["compared", "too-many-errors"]),
        ("bom.rs", b"\xef\xbb\xbffn main() {}\n".to_vec(), &["compared"]),
        ("crlf.rs", b"fn main() {\r\n    a();\r\n}\r\n".to_vec(), &["compared"]),
        ("honest.rs", b"fn main() {\n    a();\n}\n".to_vec(), &["compared"]),
    ];
    for (path, ..) in &sources {
        repo.write(path, "\n");
    }
    repo.git(&["add", "-A"]);
    repo.commit("old");
    for (path, text, _) in &sources {
        repo.write(path, text);
    }
    let mut server = Start::new(&place).root(place.path()).spawn();
    let files = crate::rules::all_pages(&mut server, &json!({"repoPath": repo.path()}));
    assert_eq!(files.len(), sources.len());
    for (path, _, expected) in &sources {
        let found = reason(&files, path);
        assert!(expected.contains(&found), "{path}: {found}");
    }
    let rows = server.read("diff.semanticFallbacks", repo.path());
    assert_eq!(rows.data()["analyzedFiles"], json!(sources.len()), "{}", rows.message);
    assert!(server.finish().status.success());
}

#[test]
fn a_parser_that_is_out_of_memory_costs_its_file_alone() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    // one statement of many small tokens: its tree takes a multiple of what the worker may have
    let greedy = format!("x = [{}]\n", "1,".repeat(400_000));
    for path in ["a.rs", "greedy.py", "z.rs"] {
        repo.write(path, "\n");
    }
    repo.git(&["add", "-A"]);
    repo.commit("old");
    repo.write("a.rs", "fn a() {}\n");
    repo.write("greedy.py", greedy);
    repo.write("z.rs", "fn z() {}\n");
    let mut server = Start::new(&place).root(place.path()).arguments(&["--worker-memory", "64"]).spawn();
    for round in 0..2 {
        let outcome = server.read("diff.semantic", repo.path());
        let files = outcome.data()["files"].as_array().expect("files").clone();
        let reasons: Vec<_> = ["a.rs", "greedy.py", "z.rs"].iter().map(|path| reason(&files, path)).collect();
        assert_eq!(reasons, ["compared", "parser-crashed", "compared"], "round {round}: {}", server.stderr());
    }
    let status = server.read("repo.status", repo.path());
    assert!(status.is_ok(), "nobody else notices: {}", status.message);
    assert!(server.finish().status.success());
}
