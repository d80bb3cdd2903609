//! Formats that a reader may not know, index files that are wrong, and paths of any bytes.
//! Trust: hostile by construction.

use super::{Attack, support::*};
use serde_json::json;
use std::os::unix::ffi::OsStrExt as _;
use std::{ffi::OsStr, fs};

#[test]
fn formats_that_nobody_here_can_read_are_refused_by_name() {
    let mut attack = Attack::new();
    for (name, settings) in [
        ("future", &[("core.repositoryformatversion", "99")][..]),
        ("extension", &[("core.repositoryformatversion", "1"), ("extensions.zzz", "1")]),
        ("marked-reftable", &[("core.repositoryformatversion", "1"), ("extensions.refStorage", "reftable")]),
        ("negative", &[("core.repositoryformatversion", "-1")]),
        ("not-a-number", &[("core.repositoryformatversion", "one")]),
        ("other-hash", &[("core.repositoryformatversion", "1"), ("extensions.objectFormat", "md5")]),
    ] {
        let repo = Repo::honest(&attack.place, name);
        for (key, value) in settings {
            repo.git(&["config", key, value]);
            if repo.try_git(&["status"]).status.code() == Some(128) {
                // git itself no longer reads it, so the rest is written by hand
                let config = repo.git_dir().join("config");
                let rest: String = settings
                    .iter()
                    .map(|(key, value)| {
                        let (section, key) = key.split_once('.').expect("section and key");
                        format!("[{section}]\n\t{key} = {value}\n")
                    })
                    .collect();
                let text = fs::read_to_string(&config).expect("it is there") + &rest;
                fs::write(&config, text).expect("ours");
                break;
            }
        }
        attack.aim(repo.path().to_owned());
    }
    let report = attack.run();
    for name in ["future", "extension", "marked-reftable", "other-hash"] {
        report.all_refused(name, &["unsupported-format"]);
    }
    for name in ["negative", "not-a-number"] {
        report.answered_or(name, &["unsupported-format", "corrupt"]);
    }
}

#[test]
fn index_files_that_lie() {
    let mut attack = Attack::new();
    let paths: [&[u8]; 10] = [
        b"../../x",
        b".GIT/x",
        b".git/config",
        b".git/hooks/post-checkout",
        b"/etc/passwd",
        b"a/../../b",
        b"git~1/x",
        b"n\nl",
        &[b'x'; 0xfff],
        b"\xff\xfe",
    ];
    let one = || index::Index::default().entry(b"a");
    let nested = b"d\x001 1\n\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
    let nested = [nested, b"x\x001 1\n".repeat(2000)].concat();
    let size = u32::try_from(nested.len()).expect("small");
    for (name, index) in [
        ("paths", paths.iter().fold(index::Index::default(), |index, path| index.entry(path))),
        ("count", one().count(u32::MAX)),
        ("short", one().entry(b"b").cut(30)),
        ("extension", one().extension(b"TREE", 0xffff_fff0, b"x").extension(b"evil", 4, b"zzzz")),
        ("unknown", one().extension(b"evil", 4, b"zzzz")),
        ("nested", one().extension(b"TREE", size, &nested)),
        ("link", one().extension(b"link", 20, &[0x41; 20])),
    ] {
        let repo = Repo::honest(&attack.place, format!("index-{name}"));
        index.write(&repo.git_dir());
        attack.aim(repo.path().to_owned());
    }
    for (name, bytes) in [("empty", &b""[..]), ("rubbish", &[0x5a; 4096]), ("header", b"DIRC\0\0\0\x63\0\0\0\0")] {
        let repo = Repo::honest(&attack.place, format!("index-{name}"));
        fs::write(repo.git_dir().join("index"), bytes).expect("ours");
        attack.aim(repo.path().to_owned());
    }
    let report = attack.run();
    for name in ["paths", "count", "short", "extension", "unknown", "nested", "link", "empty", "rubbish", "header"] {
        report.answered_or(&format!("index-{name}"), &["corrupt", "unsupported-format", "too-large", "object-missing"]);
    }
    for name in ["count", "short", "rubbish"] {
        for outcome in report.on(&format!("index-{name}")) {
            assert!(!outcome.is_ok(), "{name}: a wrong answer without a mark: {}", outcome.message);
        }
    }
}

#[test]
fn paths_of_any_bytes_come_back_as_they_are() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let long = [b'x'; 255];
    let names: [&[u8]; 17] = [
        b"nl\nx",
        b"tab\tx",
        b"quote\"x",
        b"\xff\xfe\x80",
        b"\x1b[31mred",
        b" lead",
        b"trail ",
        b"-rf",
        b"--",
        b"a\\\\b",
        b"a\\xFFb",
        "\u{202e}gnp.exe".as_bytes(),
        &long,
        b"::literal",
        b":(exclude)a.txt",
        b"*",
        b"r -> s",
    ];
    for name in names {
        repo.write(OsStr::from_bytes(name), "x\n");
    }
    let mut server = Start::new(&place).root(place.path()).spawn();
    for stage in ["untracked", "added", "changed"] {
        match stage {
            "added" => drop(repo.git(&["add", "-A"])),
            "changed" => {
                repo.commit("names");
                names.iter().for_each(|name| repo.append(OsStr::from_bytes(name), "more\n"));
            }
            _ => {}
        }
        let outcome = server.call("repo.status", json!({"repoPath": repo.path()}));
        let entries = &outcome.data()["entries"];
        assert_eq!(rows::sorted(rows::from_answer(entries)), rows::sorted(repo.status()), "{stage}");
        for row in entries.as_array().expect("rows") {
            let text = row["path"].as_str().expect("text");
            let marked = row["pathEncoding"] == "escaped";
            assert_eq!(marked, text.contains("\\xFF\\xFE"), "what is not the path's own bytes is marked: {row}");
        }
    }
}
