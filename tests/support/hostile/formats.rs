//! Formats that a reader may not know, index files that are wrong, attributes and modules beyond measure.
//! Trust: hostile by construction.

use super::Scene;
use crate::support::{index::Index, slow};
use std::fs;

/// Formats from the future, with unknown extensions, of reftable, SHA-256 or an unknown hash.
pub fn unknown(scene: &mut Scene) {
    for (name, settings) in [
        ("future", &[("core.repositoryformatversion", "99")][..]),
        ("extension", &[("core.repositoryformatversion", "1"), ("extensions.zzz", "1")]),
        ("marked-reftable", &[("core.repositoryformatversion", "1"), ("extensions.refStorage", "reftable")]),
        ("negative", &[("core.repositoryformatversion", "-1")]),
        ("not-a-number", &[("core.repositoryformatversion", "one")]),
        ("other-hash", &[("core.repositoryformatversion", "1"), ("extensions.objectFormat", "md5")]),
    ] {
        let repo = scene.honest(name);
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
        scene.aim(name);
    }
}

/// Paths that no index may have.
const PATHS: [&[u8]; 10] = [
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

/// The repositories of [`indexes`], by what is wrong with their index.
pub const INDEXES: [&str; 10] =
    ["paths", "count", "short", "extension", "unknown", "nested", "link", "empty", "rubbish", "header"];

/// Index files with such paths, false counts, cut ends, bad extensions, or no content at all: `index-…`.
pub fn indexes(scene: &mut Scene) {
    let one = || Index::default().entry(b"a");
    let nested = b"d\x001 1\n\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
    let nested = [nested, b"x\x001 1\n".repeat(2000)].concat();
    let size = u32::try_from(nested.len()).expect("small");
    for (name, index) in [
        ("paths", PATHS.iter().fold(Index::default(), |index, path| index.entry(path))),
        ("count", one().count(u32::MAX)),
        ("short", one().entry(b"b").cut(30)),
        ("extension", one().extension(b"TREE", 0xffff_fff0, b"x").extension(b"evil", 4, b"zzzz")),
        ("unknown", one().extension(b"evil", 4, b"zzzz")),
        ("nested", one().extension(b"TREE", size, &nested)),
        ("link", one().extension(b"link", 20, &[0x41; 20])),
    ] {
        index.write(&scene.honest(format!("index-{name}")).git_dir());
    }
    for (name, bytes) in [("empty", &b""[..]), ("rubbish", &[0x5a; 4096]), ("header", b"DIRC\0\0\0\x63\0\0\0\0")] {
        fs::write(scene.honest(format!("index-{name}")).git_dir().join("index"), bytes).expect("ours");
    }
    INDEXES.iter().for_each(|name| scene.aim(format!("index-{name}")));
    scene.paths(&["../../x", ".git/config", "/etc/passwd"]);
}

/// Names and paths of submodules that climb, look like options, or lie in the git directory.
pub fn modules(scene: &mut Scene) {
    let repo = scene.honest("repo");
    let head = repo.git(&["rev-parse", "HEAD"]);
    let mut text = String::new();
    for (at, (name, path)) in [
        ("../../../outside", "sub0"),
        ("-c", "sub1"),
        ("x", "../../etc"),
        ("y", ".git/hooks"),
        ("z", "/etc"),
        ("--upload-pack=touch PWNED", "sub5"),
        ("w", "-q"),
    ]
    .iter()
    .enumerate()
    {
        text.push_str(&format!(
            "[submodule \"{name}\"]\n\tpath = {path}\n\turl = -u./PWNED\n\tupdate = !touch PWNED\n"
        ));
        repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},sub{at}")]);
    }
    repo.write(".gitmodules", text);
    repo.git(&["add", ".gitmodules"]);
    repo.git(&["commit", "-q", "-m", "modules"]);
    scene.aim("repo");
    // parts of parts of parts, each the repository itself again
    let own = scene.honest("own");
    let head = own.git(&["rev-parse", "HEAD"]);
    own.write(".gitmodules", "[submodule \"own\"]\n\tpath = sub\n\turl = ./.\n");
    own.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},sub")]);
    own.commit("itself");
    fs::create_dir_all(own.at("sub")).expect("ours");
    fs::write(own.at("sub/.git"), "gitdir: ../.git\n").expect("ours");
    scene.aim("own");
    scene.paths(&["sub0", "../../etc", "sub"]);
}

/// Attributes and patterns beyond measure: one endless line, a great many names, patterns that take long to match.
pub fn attributes(scene: &mut Scene) {
    let lines = if slow() { 2_000_000 } else { 200_000 };
    let endless = format!("* {}\n", "a".repeat(4 << 20));
    let many: String = (0..lines).map(|n| format!("f{n} a{n}=x\n")).collect();
    let backtracking = format!("{}b diff=x\n", "*a".repeat(200));
    for (name, text) in [("endless", endless), ("many", many), ("backtracking", backtracking)] {
        let repo = scene.honest(name);
        repo.write(format!("{}.txt", "a".repeat(200)), "x\n");
        repo.write(".gitattributes", &text);
        repo.write(".gitignore", &text);
        repo.append("a.txt", "changed\n");
        scene.aim(name);
    }
}
