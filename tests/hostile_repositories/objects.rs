//! Objects that lie about their size, unfold without end, name themselves, or hold names that no path may have.
//! Trust: hostile by construction.

use super::{
    attack,
    support::{
        hostile::{graph, objects as build},
        objects as raw, *,
    },
};
use raw::EMPTY_TREE;

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

#[test]
fn deltas_that_grow_and_a_chain_that_is_deep() {
    ended_safely(&attack(build::delta_bomb), "repo");
}

#[test]
fn a_head_commit_that_is_a_delta_bomb() {
    ended_safely(&attack(build::commit_bomb), "repo");
}

#[test]
fn deltas_in_a_circle() {
    let report = attack(build::delta_circle);
    ended_safely(&report, "repo");
    ended_safely(&report, "circle");
}

#[test]
fn streams_that_inflate_without_end_or_lie() {
    let report = attack(build::streams_without_end);
    for name in ["repo", "commit-bomb", "commit-lies", "commit-is-huge", "commit-is-a-blob", "commit-is-rubbish"] {
        ended_safely(&report, name);
    }
}

#[test]
fn trees_without_end() {
    let report = attack(build::trees_without_end);
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
    let report = attack(build::bad_trees);
    for number in 1..=5 {
        report.answered_or(&format!("tree{number}"), BAD);
    }
    report.on("tree3")[1].expect_refused("a cut tree", BAD);
}

#[test]
fn commits_with_endless_or_broken_parts() {
    let report = attack(build::bad_commits);
    for name in ["repo", "many-parents", "empty", "no-date"] {
        ended_safely(&report, name);
    }
}

#[test]
fn helper_files_of_wrong_offsets() {
    let report = attack(graph::wrong_offsets);
    for name in ["graph", "midx", "falling", "all"] {
        report.answered_or(name, BAD);
    }
}

#[test]
fn objects_that_are_gone() {
    let report = attack(graph::missing_objects);
    for name in ["commit", "tree", "content", "tip"] {
        report.answered_or(name, BAD);
    }
    report.on("tip")[1].expect_refused("HEAD is gone", BAD);
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
