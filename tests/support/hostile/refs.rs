//! Refs that climb, look like options, are rubbish, or are very many; logs of rubbish.
//! Trust: hostile by construction.

use super::Scene;
use crate::support::{objects, slow};
use std::{fs, os::unix::fs::symlink};

/// Bytes that mean nothing, the same in every run.
fn rubbish(words: u32) -> Vec<u8> {
    (0..words).flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()).collect()
}

/// Names that climb or look like options, targets that are rubbish, and heads that lead nowhere.
pub fn names_and_targets(scene: &mut Scene) {
    let repo = scene.honest("repo");
    let git = repo.git_dir();
    let main = fs::read_to_string(git.join("refs/heads/main")).expect("it is there");
    for name in ["-x", "--output=PWNED", "$(touch PWNED)", ";touch PWNED", "`id`", "\u{202e}gnp"] {
        fs::write(git.join("refs/heads").join(name), &main).expect("ours");
        scene.revisions.push(name.to_owned());
    }
    objects::set_ref(&git, "refs/heads/climb", "ref: refs/heads/../../../../../../etc/passwd\n");
    objects::set_ref(&git, "refs/heads/absolute", "ref: /etc/passwd\n");
    objects::set_ref(&git, "refs/heads/circle", "ref: refs/heads/circle\n");
    let id = main.trim();
    let packed =
        format!("{id} refs/heads/../../config\n{id} refs/heads/a..b\n{id} refs/heads/.lock\nnothex refs/heads/z\n");
    fs::write(git.join("packed-refs"), packed).expect("ours");
    scene.aim("repo");
    let rubbish = rubbish(1_000_000);
    for (name, head) in [
        ("head-climbs", &b"ref: ../../../../../etc/passwd\n"[..]),
        ("head-climbs-later", b"ref: refs/heads/../../../../../../etc/passwd\n"),
        ("head-is-absolute", b"ref: /etc/passwd\n"),
        ("head-is-rubbish", &rubbish),
        ("head-is-empty", b""),
        ("head-is-endless", &[b'a'; 3_000_000]),
        ("head-circles", b"ref: HEAD\n"),
    ] {
        fs::write(scene.honest(name).git_dir().join("HEAD"), head).expect("ours");
        scene.aim(name);
    }
    ["climb", "absolute", "circle", "z"].iter().for_each(|name| scene.revision(*name));
}

/// An upstream that circles, climbs, or is rubbish.
pub fn upstreams(scene: &mut Scene) {
    for (name, merge, target) in [
        ("upstream-circles", "refs/heads/one", "ref: refs/heads/one\n"),
        ("upstream-climbs", "refs/heads/../../../../etc/passwd", "ref: refs/heads/x\n"),
        ("upstream-is-rubbish", "refs/heads/one", "rubbish\n"),
    ] {
        let repo = scene.honest(name);
        repo.git(&["config", "branch.main.remote", "."]);
        repo.git(&["config", "branch.main.merge", merge]);
        objects::set_ref(&repo.git_dir(), "refs/heads/one", target);
        scene.aim(name);
    }
}

/// A very long list of packed refs: a million at full size.
pub fn many_packed(scene: &mut Scene) {
    let repo = scene.honest("repo");
    let id = repo.git(&["rev-parse", "HEAD"]);
    let count = if slow() { 1_000_000 } else { 100_000 };
    let mut text = String::from("# pack-refs with: peeled fully-peeled sorted \n");
    for number in 0..count {
        text.push_str(&format!("{id} refs/heads/b{number:08}\n"));
    }
    fs::write(repo.git_dir().join("packed-refs"), text).expect("ours");
    scene.revision("b00099999");
    scene.aim("repo");
}

/// Very many loose refs.
pub fn many_loose(scene: &mut Scene) {
    let repo = scene.honest("repo");
    let content = fs::read(repo.git_dir().join("refs/heads/main")).expect("it is there");
    let count = if slow() { 100_000 } else { 5_000 };
    for number in 0..count {
        objects::set_ref(&repo.git_dir(), &format!("refs/heads/x/{}/{number}", number / 1000), &content);
    }
    scene.aim("repo");
}

/// Names longer than a file system takes.
pub fn long_names(scene: &mut Scene) {
    let repo = scene.honest("repo");
    let id = repo.git(&["rev-parse", "HEAD"]);
    let (component, path) = long();
    let packed =
        format!("# pack-refs with: peeled fully-peeled sorted \n{id} refs/heads/{component}\n{id} refs/heads/{path}\n");
    fs::write(repo.git_dir().join("packed-refs"), packed).expect("ours");
    scene.revisions.extend([component, "n".repeat(5_000)]);
    scene.aim("repo");
}

/// A component of a name that a directory cannot hold, and a name that no answer can hold.
pub fn long() -> (String, String) {
    ("c".repeat(300), "d/".repeat(2_000_000) + "x")
}

/// Logs of rubbish, of one endless line, and one that is a link.
pub fn logs(scene: &mut Scene) {
    let repo = scene.honest("repo");
    let logs = repo.git_dir().join("logs");
    fs::write(logs.join("HEAD"), rubbish(500_000)).expect("ours");
    fs::write(logs.join("refs/heads/main"), vec![b'x'; if slow() { 50 << 20 } else { 12 << 20 }]).expect("ours");
    let _ = fs::remove_file(logs.join("refs/heads/side"));
    symlink("/etc/passwd", logs.join("refs/heads/side")).expect("ours");
    ["HEAD@{1}", "main@{1}", "main@{yesterday}", "side@{0}", "@{-1}"].iter().for_each(|name| scene.revision(*name));
    scene.aim("repo");
}

/// Tags of tags of tags, a tag that names itself, replacements in a circle, grafts and a shallow border that lies.
pub fn tags_and_replacements(scene: &mut Scene) {
    let repo = scene.honest("repo");
    let git = repo.git_dir();
    let head = repo.git(&["rev-parse", "HEAD"]);
    let parent = repo.git(&["rev-parse", "HEAD~1"]);
    let mut last = head.clone();
    let tagger = "a <a@example.invalid> 1700000000 +0000";
    let mut kind = "commit";
    for number in 0..2_000 {
        let text = format!("object {last}\ntype {kind}\ntag n{number}\ntagger {tagger}\n\nx\n");
        last = objects::put(&git, "tag", text.as_bytes());
        kind = "tag";
    }
    objects::set_ref(&git, "refs/tags/nested", format!("{last}\n"));
    let own = "7".repeat(40);
    let text = format!("object {own}\ntype tag\ntag own\ntagger {tagger}\n\nx\n");
    objects::put_as(&git, &own, &objects::deflate(&objects::framed("tag", text.as_bytes())));
    objects::set_ref(&git, "refs/tags/own", format!("{own}\n"));
    scene.aim("repo");
    let replaced = scene.honest("replaced");
    objects::set_ref(&replaced.git_dir(), &format!("refs/replace/{head}"), format!("{parent}\n"));
    objects::set_ref(&replaced.git_dir(), &format!("refs/replace/{parent}"), format!("{head}\n"));
    scene.aim("replaced");
    let shallow = scene.honest("shallow");
    fs::write(shallow.git_dir().join("shallow"), format!("{}\nrubbish\n{head}\n", "8".repeat(40))).expect("ours");
    fs::create_dir_all(shallow.git_dir().join("info")).expect("ours");
    fs::write(shallow.git_dir().join("info/grafts"), format!("{head} {head}\n{parent} {head}\n")).expect("ours");
    scene.aim("shallow");
    ["nested", "own", "nested^{}"].iter().for_each(|name| scene.revision(*name));
}
