//! Objects that lie about their size, unfold without end, name themselves, or hold names that no path may have.
//! Trust: hostile by construction.

use super::{Attack, support::objects as raw, support::*};
use raw::{EMPTY_BLOB, EMPTY_TREE};
use support_pack::Pack;

use super::support::pack as support_pack;

/// Reasons that fit an object which cannot be had.
const BAD: &[&str] = &["corrupt", "too-large", "object-missing"];

/// How one attack on the objects may end: answered, refused for a reason of the object, or with the one worker dead.
fn ended_safely(report: &super::Report, name: &str) {
    for (tool, outcome) in TOOLS.iter().zip(report.on(name)) {
        let died = matches!(outcome.code(), Some(10021..=10024));
        if !outcome.is_ok() && !died {
            outcome.expect_refused(&format!("{tool} on {name}"), BAD);
        }
    }
}

fn aim_at(attack: &mut Attack, repo: &str) {
    attack.aim(attack.place.at(repo));
}

#[test]
fn deltas_that_grow_and_a_chain_that_is_deep() {
    let mut attack = Attack::new();
    let repo = Repo::honest(&attack.place, "repo");
    let mut pack = Pack::new();
    let (_, mut at) = pack.add("blob", &[0; 65_536]);
    let (mut size, mut bomb) = (65_536, String::new());
    // each level is sixteen copies of the one below: 64 GiB
    for level in 0..5 {
        bomb = format!("{:040x}", 0xb0 + level);
        at = pack.offset_delta(&bomb, isize::try_from(at).expect("small"), &support_pack::copies(size, 16));
        size *= 16;
    }
    let (_, mut at) = pack.add("blob", b"base\n");
    let mut deep = String::new();
    for level in 0..if slow() { 50_000 } else { 5_000 } {
        deep = format!("{:040x}", 0xc0000 + level);
        at = pack.offset_delta(&deep, isize::try_from(at).expect("small"), &support_pack::copies(5, 1));
    }
    pack.write(&repo.git_dir());
    let tree = raw::tree(&[("100644", b"bomb", &bomb), ("100644", b"deep", &deep)]);
    raw::set_main(&repo.git_dir(), &raw::put(&repo.git_dir(), "tree", &tree));
    aim_at(&mut attack, "repo");
    ended_safely(&attack.run(), "repo");
}

#[test]
fn a_head_commit_that_is_a_delta_bomb() {
    let mut attack = Attack::new();
    let repo = Repo::honest(&attack.place, "repo");
    let mut pack = Pack::new();
    let commit = raw::commit(EMPTY_TREE, &[], &vec![b'm'; 65_000]);
    let (_, mut at) = pack.add("commit", &commit);
    let (mut size, mut bomb) = (commit.len(), String::new());
    for level in 0..5 {
        bomb = format!("{:040x}", 0xd0 + level);
        at = pack.offset_delta(&bomb, isize::try_from(at).expect("small"), &support_pack::copies(size, 16));
        size *= 16;
    }
    pack.write(&repo.git_dir());
    raw::set_ref(&repo.git_dir(), "refs/heads/main", format!("{bomb}\n"));
    aim_at(&mut attack, "repo");
    ended_safely(&attack.run(), "repo");
}

#[test]
fn deltas_in_a_circle() {
    let mut attack = Attack::new();
    let repo = Repo::honest(&attack.place, "repo");
    let mut pack = Pack::new();
    pack.add("blob", &[b'x'; 64]);
    let delta = support_pack::copies(64, 1);
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|digit| digit.repeat(40));
    pack.named_delta(&a, &b, &delta);
    pack.named_delta(&b, &a, &delta);
    pack.offset_delta(&c, -100, &delta);
    let here = isize::try_from(pack.position()).expect("small");
    pack.offset_delta(&d, here, &delta);
    pack.write(&repo.git_dir());
    let tree = raw::tree(&[("100644", b"a", &a), ("100644", b"b", &b), ("100644", b"c", &c), ("100644", b"d", &d)]);
    raw::set_main(&repo.git_dir(), &raw::put(&repo.git_dir(), "tree", &tree));
    aim_at(&mut attack, "repo");
    // and one whose commit is part of the circle
    let circle = Repo::honest(&attack.place, "circle");
    let mut pack = Pack::new();
    pack.named_delta(&a, &b, &delta);
    pack.named_delta(&b, &a, &delta);
    pack.write(&circle.git_dir());
    raw::set_ref(&circle.git_dir(), "refs/heads/main", format!("{a}\n"));
    aim_at(&mut attack, "circle");
    let report = attack.run();
    ended_safely(&report, "repo");
    ended_safely(&report, "circle");
}

#[test]
fn streams_that_inflate_without_end_or_lie() {
    let mut attack = Attack::new();
    let mebibytes = if slow() { 1024 } else { 300 };
    let head = format!("blob {}\0", mebibytes << 20);
    let bomb_bytes = raw::deflate_repeated(head.as_bytes(), &[0; 1 << 20], mebibytes);
    let lie_bytes = raw::deflate_repeated(b"blob 10\0", &[b'A'; 1 << 20], 64);
    let huge_bytes = raw::deflate(format!("blob {}\0x", 1u64 << 62).as_bytes());
    let repo = Repo::honest(&attack.place, "repo");
    let git = repo.git_dir();
    // the bomb stands where the content of a file that changed is needed, to compare it with the file
    let bomb = repo.git(&["rev-parse", "HEAD:a.txt"]);
    raw::put_as(&git, &bomb, &bomb_bytes);
    let lie = raw::put_as(&git, &"1".repeat(40), &lie_bytes);
    let huge = raw::put_as(&git, &"2".repeat(40), &huge_bytes);
    let tree = raw::tree(&[("100644", b"a.txt", &bomb), ("100644", b"huge", &huge), ("100644", b"lie", &lie)]);
    raw::set_main(&git, &raw::put(&git, "tree", &tree));
    repo.append("a.txt", "changed\n");
    aim_at(&mut attack, "repo");
    for (name, bytes) in [
        ("commit-bomb", raw::deflate_repeated(format!("commit {}\0", 1u64 << 40).as_bytes(), &[b'c'; 1 << 20], 64)),
        ("commit-lies", raw::deflate_repeated(b"commit 10\0", &[b'c'; 1 << 20], 64)),
        ("commit-is-huge", raw::deflate(format!("commit {}\0tree", 1u64 << 62).as_bytes())),
        ("commit-is-a-blob", raw::deflate(b"blob 4\0text")),
        ("commit-is-rubbish", b"no zlib at all".to_vec()),
    ] {
        let repo = Repo::honest(&attack.place, name);
        let id = raw::put_as(&repo.git_dir(), &"3".repeat(40), &bytes);
        raw::set_ref(&repo.git_dir(), "refs/heads/main", format!("{id}\n"));
        aim_at(&mut attack, name);
    }
    let report = attack.run();
    for name in ["repo", "commit-bomb", "commit-lies", "commit-is-huge", "commit-is-a-blob", "commit-is-rubbish"] {
        ended_safely(&report, name);
    }
}

#[test]
fn trees_without_end() {
    let mut attack = Attack::new();
    let repo = Repo::honest(&attack.place, "repo");
    let (depth, width) = if slow() { (30_000, 9) } else { (3_000, 6) };
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
    aim_at(&mut attack, "repo");
    let report = attack.run();
    for (tool, outcome) in TOOLS.iter().zip(report.on("repo")) {
        let died = matches!(outcome.code(), Some(10021..=10024));
        if outcome.is_ok() {
            let data = outcome.data();
            let marked = data["truncated"] == true || data.get("partial").is_some();
            assert!(marked || *tool == "repo.brief", "{tool}: cut and not marked: {data}");
        } else if !died {
            outcome.expect_refused(tool, BAD);
        }
    }
}

#[test]
fn tree_entries_that_no_path_may_have() {
    let mut attack = Attack::new();
    let names: [&[u8]; 16] = [
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
    let cut = b"100644 no-nul-and-short".to_vec();
    for number in 1..=5 {
        let name = format!("tree{number}");
        let repo = Repo::honest(&attack.place, &name);
        let git = repo.git_dir();
        let evil = raw::put(&git, "blob", b"[core]\n\tfsmonitor = touch PWNED\n");
        let link = raw::put(&git, "blob", b"/etc/passwd");
        let missing = "4".repeat(40);
        let body = match number {
            1 => raw::tree(&names.map(|name| ("100644", name, evil.as_str()))),
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
        aim_at(&mut attack, &name);
    }
    let report = attack.run();
    for number in 1..=5 {
        report.answered_or(&format!("tree{number}"), BAD);
    }
    report.on("tree3")[1].expect_refused("a cut tree", BAD);
}

#[test]
fn a_commit_of_very_many_parents_that_are_missing() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let parents: String = (1..=40_000).map(|n| format!("parent {n:040x}\n")).collect();
    let who = "a <a@example.invalid> 1700000000 +0000";
    let text = format!("tree {EMPTY_TREE}\n{parents}author {who}\ncommitter {who}\n\nmany\n");
    raw::set_ref(&repo.git_dir(), "refs/heads/main", raw::put(&repo.git_dir(), "commit", text.as_bytes()) + "\n");
    let mut server = Start::new(&place).root(repo.path()).arguments(&["--deadline", "8"]).spawn();
    for tool in ["repo.history", "repo.branchStack", "repo.brief"] {
        let outcome = server.read(tool, repo.path());
        assert_ne!(outcome.code(), Some(10021), "{tool}: {}", outcome.message);
        assert!(outcome.elapsed.as_secs() < 8, "{tool}: {:?}", outcome.elapsed);
    }
}

/// Takes the loose object away.
fn lose(repo: &Repo<'_>, revision: &str) {
    let id = repo.git(&["rev-parse", revision]);
    std::fs::remove_file(repo.git_dir().join("objects").join(&id[..2]).join(&id[2..])).expect("it is loose");
}

#[test]
fn a_commit_that_is_missing_between_a_branch_and_its_upstream() {
    for (name, lost) in [("ours", "main~2"), ("theirs", "side~1"), ("tip", "side")] {
        let place = Place::new();
        let repo = Repo::honest(&place, name);
        let fork = repo.git(&["rev-parse", "HEAD"]);
        for branch in ["side", "main"] {
            repo.git(&["checkout", "-q", "-B", branch, &fork]);
            for n in 0..4 {
                repo.write("a.txt", format!("{branch} {n}\n"));
                repo.commit(&format!("{branch} {n}"));
            }
        }
        repo.git(&["config", "branch.main.remote", "."]);
        repo.git(&["config", "branch.main.merge", "refs/heads/side"]);
        let mut server = Start::new(&place).root(repo.path()).spawn();
        let whole = server.read("repo.status", repo.path());
        assert_eq!((&whole.data()["ahead"], &whole.data()["behind"]), (&4.into(), &4.into()));
        assert!(whole.data().get("partial").is_none());
        lose(&repo, lost);
        // a server of its own: the other one still has the objects in its memory
        let mut server = Start::new(&place).root(repo.path()).spawn();
        for tool in ["repo.status", "repo.brief", "repo.branchStack"] {
            let outcome = server.read(tool, repo.path());
            let data = outcome.data();
            assert_eq!(data["partial"]["reason"], "object-missing", "{tool}, {lost} is gone: {data}");
        }
        let radar = server.call("fleet.radar", serde_json::json!({"repoPaths": [repo.path()]}));
        assert!(radar.data().to_string().contains("object-missing"), "{lost}: {}", radar.message);
        assert_eq!(server.read("repo.status", repo.path()).data()["clean"], true, "nothing is changed all the same");
    }
}

#[test]
fn commits_that_the_commit_graph_knows_and_nothing_else_does() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    for n in 0..4 {
        repo.write("a.txt", format!("{n}\n"));
        repo.commit(&format!("later {n}"));
    }
    repo.git(&["commit-graph", "write", "--reachable"]);
    lose(&repo, "HEAD~2");
    let mut server = Start::new(&place).root(repo.path()).spawn();
    let outcome = server.read("repo.history", repo.path());
    let data = outcome.data();
    assert_eq!(data["partial"]["reason"], "object-missing", "a row without its fields is marked: {data}");
    assert_eq!(data["commits"][1]["subject"], "later 2");
    let scope = server.call("repo.scope", serde_json::json!({"repoPath": repo.path(), "path": "a.txt"}));
    assert_eq!(scope.data()["partial"]["reason"], "object-missing", "{}", scope.message);
    // and one that is too large to be shown
    let commit = raw::commit(&repo.git(&["rev-parse", "HEAD^{tree}"]), &[], &vec![b'm'; 5 << 20]);
    let id = raw::put(&repo.git_dir(), "commit", &commit);
    let outcome = server.call("repo.history", serde_json::json!({"repoPath": repo.path(), "range": id}));
    assert_eq!(outcome.data()["partial"]["reason"], "too-large", "{}", outcome.message);
}

#[test]
fn a_commit_that_is_missing_where_a_move_is_told_from_a_rewrite() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    for n in 0..4 {
        repo.write("a.txt", format!("{n}\n"));
        repo.commit(&format!("later {n}"));
    }
    let tip = repo.git(&["rev-parse", "HEAD"]);
    repo.git(&["reset", "-q", "--hard", "HEAD~4"]);
    repo.git(&["reset", "-q", "--hard", &tip]);
    let digest = || {
        let mut server = Start::new(&place).root(repo.path()).spawn();
        let arguments = serde_json::json!({"repoPaths": [repo.path()], "sinceMs": 0});
        server.call("fleet.digest", arguments).data().to_string()
    };
    assert!(!digest().contains("object-missing"));
    lose(&repo, "HEAD~2");
    assert!(digest().contains("object-missing"), "whether the last move only went forward cannot be seen");
}

#[test]
fn a_commit_graph_that_gives_a_commit_no_parents() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    for n in 0..6 {
        repo.write("a.txt", format!("{n}\n"));
        repo.commit(&format!("later {n}"));
    }
    repo.git(&["commit-graph", "write", "--reachable"]);
    let path = repo.git_dir().join("objects/info/commit-graph");
    let mut graph = std::fs::read(&path).expect("just written");
    // the chunk of commits: of each its tree, two parents, generation and time
    let chunk = (0..).map(|at| 8 + 12 * at).find(|&at| graph[at..at + 4] == *b"CDAT").expect("there is one");
    let start = usize::try_from(u64::from_be_bytes(graph[chunk + 4..chunk + 12].try_into().expect("eight bytes")));
    let start = start.expect("small");
    let names = (0..).map(|at| 8 + 12 * at).find(|&at| graph[at..at + 4] == *b"OIDL").expect("there is one");
    let names = usize::try_from(u64::from_be_bytes(graph[names + 4..names + 12].try_into().expect("eight bytes")));
    let names = names.expect("small");
    let lied_about = raw::unhex(&repo.git(&["rev-parse", "HEAD~2"]));
    let at = (0..).find(|at| graph[names + 20 * at..names + 20 * at + 20] == lied_about).expect("it is listed");
    let parent = start + 36 * at + 20;
    graph[parent..parent + 4].copy_from_slice(&0x7000_0000_u32.to_be_bytes());
    std::fs::remove_file(&path).expect("ours");
    std::fs::write(&path, graph).expect("ours");
    let mut server = Start::new(&place).root(repo.path()).spawn();
    for limit in [1, 2, 200] {
        let (mut subjects, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let mut arguments = serde_json::json!({"repoPath": repo.path(), "limit": limit});
            if let Some(cursor) = &cursor {
                arguments["cursor"] = cursor.as_str().into();
            }
            let outcome = server.call("repo.history", arguments);
            let data = outcome.data();
            subjects.extend(data["commits"].as_array().expect("rows").iter().map(|row| row["subject"].clone()));
            match data["nextCursor"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => break,
            }
        }
        assert_eq!(subjects.len(), 9, "limit {limit}: {subjects:?}");
    }
}
