//! Objects that lie about their size, unfold without end, name themselves, or hold names that no path may have.
//! Trust: hostile by construction.

use super::Scene;
use crate::support::{
    objects::{self as raw, EMPTY_BLOB, EMPTY_TREE},
    pack::{self, Pack},
    slow,
};

/// Levels of sixteen copies each, over an object of 64 KiB: 64 GiB.
const LEVELS: usize = 5;

/// Adds levels of deltas, each sixteen copies of the one below; the name of the last.
fn unfolding(pack: &mut Pack, mut at: usize, mut size: usize, first: usize) -> String {
    let mut name = String::new();
    for level in 0..LEVELS {
        name = format!("{:040x}", first + level);
        at = pack.offset_delta(&name, isize::try_from(at).expect("small"), &pack::copies(size, 16));
        size *= 16;
    }
    name
}

/// Deltas that grow to 64 GiB, and a chain of thousands.
pub fn delta_bomb(scene: &mut Scene) {
    let repo = scene.honest("repo");
    let mut pack = Pack::new();
    let (_, at) = pack.add("blob", &[0; 65_536]);
    let bomb = unfolding(&mut pack, at, 65_536, 0xb0);
    let (_, mut at) = pack.add("blob", b"base\n");
    let mut deep = String::new();
    for level in 0..if slow() { 50_000 } else { 5_000 } {
        deep = format!("{:040x}", 0xc0000 + level);
        at = pack.offset_delta(&deep, isize::try_from(at).expect("small"), &pack::copies(5, 1));
    }
    pack.write(&repo.git_dir());
    let tree = raw::tree(&[("100644", b"bomb", &bomb), ("100644", b"deep", &deep)]);
    raw::set_main(&repo.git_dir(), &raw::put(&repo.git_dir(), "tree", &tree));
    scene.aim("repo");
    scene.paths(&["bomb", "deep"]);
    scene.revision("v1");
}

/// The commit of HEAD itself is such a bomb.
pub fn commit_bomb(scene: &mut Scene) {
    let repo = scene.honest("repo");
    let mut pack = Pack::new();
    let commit = raw::commit(EMPTY_TREE, &[], &vec![b'm'; 65_000]);
    let (_, at) = pack.add("commit", &commit);
    let bomb = unfolding(&mut pack, at, commit.len(), 0xd0);
    pack.write(&repo.git_dir());
    raw::set_ref(&repo.git_dir(), "refs/heads/main", format!("{bomb}\n"));
    scene.aim("repo");
}

/// Deltas that are based on each other, on themselves, and on what lies before the pack.
pub fn delta_circle(scene: &mut Scene) {
    let repo = scene.honest("repo");
    let mut pack = Pack::new();
    pack.add("blob", &[b'x'; 64]);
    let delta = pack::copies(64, 1);
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|digit| digit.repeat(40));
    pack.named_delta(&a, &b, &delta);
    pack.named_delta(&b, &a, &delta);
    pack.offset_delta(&c, -100, &delta);
    let here = isize::try_from(pack.position()).expect("small");
    pack.offset_delta(&d, here, &delta);
    pack.write(&repo.git_dir());
    let tree = raw::tree(&[("100644", b"a", &a), ("100644", b"b", &b), ("100644", b"c", &c), ("100644", b"d", &d)]);
    raw::set_main(&repo.git_dir(), &raw::put(&repo.git_dir(), "tree", &tree));
    // and one whose commit is part of the circle
    let circle = scene.honest("circle");
    let mut pack = Pack::new();
    pack.named_delta(&a, &b, &delta);
    pack.named_delta(&b, &a, &delta);
    pack.write(&circle.git_dir());
    raw::set_ref(&circle.git_dir(), "refs/heads/main", format!("{a}\n"));
    scene.aim("repo");
    scene.aim("circle");
    scene.paths(&["a", "b", "c", "d"]);
}

/// Loose objects that inflate without end or lie about size and kind.
pub fn streams_without_end(scene: &mut Scene) {
    let mebibytes = if slow() { 1024 } else { 300 };
    let head = format!("blob {}\0", mebibytes << 20);
    let bomb_bytes = raw::deflate_repeated(head.as_bytes(), &[0; 1 << 20], mebibytes);
    let lie_bytes = raw::deflate_repeated(b"blob 10\0", &[b'A'; 1 << 20], 64);
    let huge_bytes = raw::deflate(format!("blob {}\0x", 1u64 << 62).as_bytes());
    let repo = scene.honest("repo");
    let git = repo.git_dir();
    // the bomb stands where the content of a file that changed is needed, to compare it with the file
    let bomb = repo.git(&["rev-parse", "HEAD:a.txt"]);
    raw::put_as(&git, &bomb, &bomb_bytes);
    let lie = raw::put_as(&git, &"1".repeat(40), &lie_bytes);
    let huge = raw::put_as(&git, &"2".repeat(40), &huge_bytes);
    let tree = raw::tree(&[("100644", b"a.txt", &bomb), ("100644", b"huge", &huge), ("100644", b"lie", &lie)]);
    raw::set_main(&git, &raw::put(&git, "tree", &tree));
    repo.append("a.txt", "changed\n");
    scene.aim("repo");
    for (name, bytes) in [
        ("commit-bomb", raw::deflate_repeated(format!("commit {}\0", 1u64 << 40).as_bytes(), &[b'c'; 1 << 20], 64)),
        ("commit-lies", raw::deflate_repeated(b"commit 10\0", &[b'c'; 1 << 20], 64)),
        ("commit-is-huge", raw::deflate(format!("commit {}\0tree", 1u64 << 62).as_bytes())),
        ("commit-is-a-blob", raw::deflate(b"blob 4\0text")),
        ("commit-is-rubbish", b"no zlib at all".to_vec()),
    ] {
        let repo = scene.honest(name);
        let id = raw::put_as(&repo.git_dir(), &"3".repeat(40), &bytes);
        raw::set_ref(&repo.git_dir(), "refs/heads/main", format!("{id}\n"));
        scene.aim(name);
    }
    scene.paths(&["huge", "lie"]);
}

/// A tree that is nested thousands of levels deep, and one that unfolds to 10⁵ files, at full size to 10⁹.
pub fn trees_without_end(scene: &mut Scene) {
    let repo = scene.honest("repo");
    let (depth, width) = if slow() { (30_000, 9) } else { (3_000, 5) };
    let mut pack = Pack::new();
    let (mut deep, mut mode) = (EMPTY_BLOB.to_owned(), "100644");
    for _ in 0..depth {
        deep = pack.add("tree", &raw::tree(&[(mode, b"d", &deep)])).0;
        mode = "40000";
    }
    let (mut wide, mut mode) = (EMPTY_BLOB.to_owned(), "100644");
    let digits: Vec<Vec<u8>> = (0..10).map(|digit: u8| vec![b'0' + digit]).collect();
    for _ in 0..width {
        let entries: Vec<_> = digits.iter().map(|name| (mode, &name[..], &wide[..])).collect();
        wide = pack.add("tree", &raw::tree(&entries)).0;
        mode = "40000";
    }
    let top = pack.add("tree", &raw::tree(&[("40000", b"bomb", &wide), ("40000", b"deep", &deep)])).0;
    pack.write(&repo.git_dir());
    raw::put(&repo.git_dir(), "blob", b"");
    raw::set_main(&repo.git_dir(), &top);
    scene.aim("repo");
    scene.revision("v1");
    scene.paths(&["bomb", "deep/d/d/d"]);
}

/// Names that no path may have: of the git directory, upwards, absolute, empty, endless.
pub const BAD_NAMES: [&[u8]; 16] = [
    b".git",
    b".GIT",
    b"git~1",
    b".git\xe2\x80\x8c",
    b"..",
    b".",
    b"a/b",
    b"",
    b"../../../etc/passwd",
    b"/etc/passwd",
    b"a\\b",
    b"nl\nx",
    b"\x1b]0;x\x07",
    b"\xff\xfe",
    b"con",
    &[b'x'; 5000],
];

/// Trees with such names, doubled names, odd modes, missing parts, and a cut end: `tree1` to `tree5`.
pub fn bad_trees(scene: &mut Scene) {
    let cut = b"100644 no-nul-and-short".to_vec();
    for number in 1..=5 {
        let name = format!("tree{number}");
        let git = scene.honest(&name).git_dir();
        let evil = raw::put(&git, "blob", b"[core]\n\tfsmonitor = touch PWNED\n");
        let link = raw::put(&git, "blob", b"/etc/passwd");
        let missing = "4".repeat(40);
        let body = match number {
            1 => raw::tree(&BAD_NAMES.map(|name| ("100644", name, evil.as_str()))),
            2 => raw::tree(&[("100644", &b"dup"[..], evil.as_str()); 3]),
            3 => cut.clone(),
            4 => raw::tree(&[
                ("999999", b"mode", &evil),
                ("0", b"zero", &evil),
                ("120000", b"link", &link),
                ("160000", b"sub", &missing),
            ]),
            _ => raw::tree(&[("40000", b"missing", &missing)]),
        };
        raw::set_main(&git, &raw::put(&git, "tree", &body));
        scene.aim(name);
    }
    scene.paths(&[".git", "..", "a/b", "../../../etc/passwd", "/etc/passwd", "link", "sub", "mode", "missing"]);
}

/// Commits with endless or broken parts: messages, headers, parents, dates, mail addresses, encodings.
pub fn bad_commits(scene: &mut Scene) {
    let repo = scene.honest("repo");
    let git = repo.git_dir();
    let size = if slow() { 64 << 20 } else { 5 << 20 };
    let who = "a <a@example.invalid> 1700000000 +0000";
    let of_tree = |tree: &str, more: &str, who: &str, message: &[u8]| {
        let head = format!("tree {tree}\n{more}author {who}\ncommitter {who}\n\n");
        [head.as_bytes(), message].concat()
    };
    let text = |more: &str, who: &str, message: &[u8]| of_tree(EMPTY_TREE, more, who, message);
    let parents: String = (1..=40_000).map(|n| format!("parent {n:040x}\n")).collect();
    let header = format!("x-header {}\n", "H".repeat(size));
    let signature = format!("gpgsig -----BEGIN\n{} -----END\n", " x\n".repeat(100_000));
    for (name, body) in [
        ("huge-message", text("", who, &vec![b'M'; size])),
        ("huge-header", [text("", who, b"").trim_ascii_end(), b"\n", header.as_bytes(), b"\nm\n"].concat()),
        ("many-parents", text(&parents, who, b"many\n")),
        ("bad-text", text("", who, b"\xff\xfe\x80 bad \xc0\xaf utf8 \0 nul \xed\xa0\x80")),
        ("date-max", text("", "a <a@b> 9223372036854775807 +9999", b"m\n")),
        ("date-negative", text("", "a <a@b> -99999999999999999999 -9959", b"m\n")),
        ("no-date", text("", "no-email-no-date", b"m\n")),
        ("nested-mail", text("", "a <a@b <c@d>> 1 +0000", b"m\n")),
        ("odd-encoding", text("", &format!("{who}\nencoding utf-7"), b"+ADw-script+AD4-\n")),
        ("huge-signature", [text("", who, b"").trim_ascii_end(), b"\n", signature.as_bytes(), b"\nm\n"].concat()),
        ("only-tree", format!("tree {EMPTY_TREE}\n").into_bytes()),
        ("empty", Vec::new()),
        ("bad-tree", b"tree zz\n\n".to_vec()),
        ("missing-tree", of_tree(&"5".repeat(40), "", who, b"m\n")),
    ] {
        let id = raw::put(&git, "commit", &body);
        raw::set_ref(&git, &format!("refs/heads/{name}"), format!("{id}\n"));
        scene.revisions.push(name.to_owned());
    }
    raw::put(&git, "tree", b"");
    scene.aim("repo");
    // the same as what HEAD is
    for name in ["many-parents", "empty", "no-date"] {
        let one = scene.honest(name);
        let from = std::fs::read_to_string(git.join("refs/heads").join(name)).expect("just written");
        let at = |git: &std::path::Path| git.join("objects").join(&from[..2]).join(&from[2..40]);
        std::fs::create_dir_all(at(&one.git_dir()).parent().expect("it has one")).expect("ours");
        std::fs::copy(at(&git), at(&one.git_dir())).expect("just written");
        raw::set_ref(&one.git_dir(), "refs/heads/main", from);
        scene.aim(name);
    }
}
