//! Counts and relations of a branch stack are git's, for few branches and for a thousand, with a commit-graph and without.
//! Trust: the judge is the real git.

mod support;

use serde_json::{Value, json};
use std::{fmt::Write as _, io::Write as _, path::Path, process::Stdio};
use support::{Place, Repo, Server, Start, dice::Dice};

/// A repository with `trunk` commits on main and so many branches that leave it, or one another, anywhere. Some clocks
/// are wrong.
fn generated<'place>(place: &'place Place, name: &str, trunk: usize, branches: usize, dice: &mut Dice) -> Repo<'place> {
    let repo = Repo::init(place, name);
    let mut script = String::new();
    let mut mark = 0;
    let mut commit = |script: &mut String, branch: &str, parents: &[usize], time: usize| {
        mark += 1;
        let _ = write!(script, "commit refs/heads/{branch}\nmark :{mark}\ncommitter A <a@b> {time} +0000\ndata 1\nx\n");
        for (at, parent) in parents.iter().enumerate() {
            let _ = writeln!(script, "{} :{parent}", if at == 0 { "from" } else { "merge" });
        }
        mark
    };
    let mut all: Vec<usize> = Vec::new();
    for n in 0..trunk {
        let parents: Vec<_> = all.last().copied().into_iter().collect();
        all.push(commit(&mut script, "main", &parents, 1_700_000_000 + n * 60));
    }
    for branch in 0..branches {
        let mut at = if dice.below(20) == 0 { None } else { Some(all[dice.below(all.len())]) };
        for _ in 0..=dice.below(4) {
            let mut parents: Vec<_> = at.into_iter().collect();
            if !parents.is_empty() && dice.below(5) == 0 {
                let other = all[dice.below(all.len())];
                parents.extend(Some(other).filter(|other| *other != parents[0]));
            }
            let time = 1_700_000_000 + (trunk + branch) * 60;
            let time = if dice.below(15) == 0 { time - dice.below(trunk * 60) } else { time };
            let made = commit(&mut script, &format!("b{branch:04}"), &parents, time);
            all.push(made);
            at = Some(made);
        }
    }
    let mut command = place.command("git");
    command.current_dir(repo.path()).args(["fast-import", "--quiet", "--force"]).stdin(Stdio::piped());
    let mut child = command.spawn().expect("git is installed");
    child.stdin.take().expect("piped").write_all(script.as_bytes()).expect("it reads");
    assert!(child.wait().expect("it ends").success());
    repo
}

fn stack(server: &mut Server, repository: &Path, most: usize, base: &[&str]) -> Value {
    let arguments = json!({"repoPath": repository, "maxRelated": most, "baseCandidates": base});
    server.call("repo.branchStack", arguments).data().clone()
}

fn drift(repo: &Repo<'_>, left: &str, right: &str) -> (u64, u64) {
    let text = repo.git(&["rev-list", "--left-right", "--count", &format!("{left}...{right}")]);
    let (one, two) = text.split_once('\t').expect("two numbers");
    (one.parse().expect("a number"), two.parse().expect("a number"))
}

/// Compares the answer for the branch that is checked out with what git says of every branch.
fn compare(server: &mut Server, repo: &Repo<'_>, base: &str) -> usize {
    let data = stack(server, repo.path(), 50, &[base]);
    let current = repo.git(&["rev-parse", "--symbolic-full-name", "HEAD"]);
    let list = |target: &str| -> Vec<String> {
        let text = repo.git(&["for-each-ref", "--format=%(refname)", "--contains", target, "refs/heads"]);
        text.lines().map(str::to_owned).collect()
    };
    let has_base = data["base"].is_object();
    let base_ref = data["base"]["ref"].as_str().unwrap_or_default().to_owned();
    let (with_current, with_base) = (list("HEAD"), if has_base { list(&base_ref) } else { vec![] });
    let upstreams = repo.git(&["for-each-ref", "--format=%(refname) %(upstream)", "refs/heads"]);
    let mut expected = Vec::new();
    for line in upstreams.lines() {
        let (name, upstream) = line.split_once(' ').unwrap_or((line, ""));
        let relation = if upstream == current {
            "tracks-current"
        } else if with_current.iter().any(|one| one == name) {
            "descends-from-current"
        } else if with_base.iter().any(|one| one == name) {
            "shares-base"
        } else {
            continue;
        };
        if name != current && name != base_ref {
            expected.push((name.to_owned(), relation));
        }
    }
    assert_eq!(data["relatedTotal"], json!(expected.len()), "{current} on {base}");
    assert_eq!(data["relatedTruncated"], json!(expected.len() > 50));
    let related = data["related"].as_array().expect("a list");
    assert_eq!(related.len(), expected.len().min(50));
    for (ours, (name, relation)) in related.iter().zip(expected) {
        assert_eq!((ours["ref"].as_str(), ours["relation"].as_str()), (Some(&name[..]), Some(relation)), "{current}");
        let (ahead, behind) = drift(repo, &name, "HEAD");
        assert_eq!((&ours["aheadOfCurrent"], &ours["behindCurrent"]), (&json!(ahead), &json!(behind)), "{name}");
    }
    if has_base {
        let (ahead, behind) = drift(repo, "HEAD", &base_ref);
        let distance = json!({"aheadFromBase": ahead, "behindBase": behind});
        assert_eq!(data["base"]["distance"], distance, "{current} on {base}");
    }
    related.len()
}

/// `BULKHEAD_SEED=N` repeats a run.
#[test]
fn of_generated_branches_with_and_without_a_commit_graph() {
    let seed = std::env::var("BULKHEAD_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let mut dice = Dice(seed);
    let place = Place::new();
    let branches = 40;
    let repo = generated(&place, "r", 60, branches, &mut dice);
    let mut server = Start::new(&place).root(place.path()).spawn();
    let mut seen = 0;
    for round in 0..if support::slow() { 60 } else { 12 } {
        if round % 3 == 1 {
            repo.git(&["commit-graph", "write", "--reachable"]);
        } else if round % 3 == 2 {
            // commits that the graph does not know
            repo.git(&["commit", "-q", "--allow-empty", "-m", "newer"]);
        } else {
            let _ = std::fs::remove_file(repo.git_dir().join("objects/info/commit-graph"));
        }
        let branch = format!("b{:04}", dice.below(branches));
        repo.git(&["symbolic-ref", "HEAD", &format!("refs/heads/{branch}")]);
        let follower = format!("b{:04}", dice.below(branches));
        repo.git(&["config", &format!("branch.{follower}.remote"), "."]);
        repo.git(&["config", &format!("branch.{follower}.merge"), &format!("refs/heads/{branch}")]);
        for base in ["main", &format!("b{:04}", dice.below(branches)), "none"] {
            seen += compare(&mut server, &repo, base);
        }
        repo.git(&["symbolic-ref", "HEAD", "refs/heads/main"]);
        seen += compare(&mut server, &repo, &branch);
    }
    assert!(seen > 50, "only {seen} related branches were compared");
}

#[test]
fn of_a_thousand_branches() {
    let mut dice = Dice(7);
    let place = Place::new();
    let repo = generated(&place, "r", 300, 1_000, &mut dice);
    let mut server = Start::new(&place).root(place.path()).spawn();
    repo.git(&["symbolic-ref", "HEAD", "refs/heads/main"]);
    repo.git(&["update-ref", "refs/heads/old", "main~250"]);
    assert!(compare(&mut server, &repo, "old") == 50, "far more than fifty share the base");
    repo.git(&["commit-graph", "write", "--reachable"]);
    assert!(compare(&mut server, &repo, "old") == 50);
}

/// Of a clone of a real repository, named by `BULKHEAD_REAL_REPOSITORY`, with `BULKHEAD_SLOW=1`: branches anywhere in its
/// history, each following another; ahead and behind as `repo.status` tells them, too.
#[test]
fn of_branches_anywhere_in_a_real_repository() {
    let Some(of) = std::env::var_os("BULKHEAD_REAL_REPOSITORY").filter(|_| support::slow()) else { return };
    let place = Place::new();
    let path = place.at("clone");
    let status = place.command("git").args(["clone", "-q", "-n"]).arg(of).arg(&path).status();
    assert!(status.expect("git is installed").success());
    let repo = Repo::open(&place, path);
    let all = repo.git(&["rev-list", "--all"]);
    let all: Vec<&str> = all.lines().collect();
    let mut dice = Dice(5);
    let branches = 60;
    for branch in 0..branches {
        let name = format!("b{branch:04}");
        repo.git(&["update-ref", &format!("refs/heads/{name}"), all[dice.below(all.len())]]);
        repo.git(&["config", &format!("branch.{name}.remote"), "."]);
        repo.git(&["config", &format!("branch.{name}.merge"), &format!("refs/heads/b{:04}", dice.below(branches))]);
    }
    let mut server = Start::new(&place).root(place.path()).spawn();
    let (mut related, mut counted) = (0, 0);
    for round in 0..30 {
        if round == 15 {
            repo.git(&["commit-graph", "write", "--reachable"]);
        }
        let branch = format!("b{:04}", dice.below(branches));
        repo.git(&["symbolic-ref", "HEAD", &format!("refs/heads/{branch}")]);
        related += compare(&mut server, &repo, &format!("b{:04}", dice.below(branches)));
        let (ahead, behind) = drift(&repo, "HEAD", "HEAD@{upstream}");
        let outcome = server.call("repo.branchStack", json!({"repoPath": repo.path()}));
        let current = &outcome.data()["current"];
        assert_eq!((&current["ahead"], &current["behind"]), (&json!(ahead), &json!(behind)), "{branch}");
        counted += 1;
    }
    eprintln!("{related} related branches and {counted} upstreams agree");
}

#[test]
fn upstream_base_and_risk() {
    let place = Place::new();
    let repo = Repo::honest(&place, "r");
    let mut server = Start::new(&place).root(place.path()).spawn();
    let get = |server: &mut Server| stack(server, repo.path(), 8, &[]);
    let data = get(&mut server);
    assert_eq!((&data["risk"], &data["upstream"], &data["base"]), (&json!("medium"), &Value::Null, &Value::Null));
    assert_eq!(data["related"][0]["ref"], "refs/heads/side", "it is at the same commit");
    repo.git(&["branch", "-D", "side"]);
    repo.git(&["update-ref", "refs/remotes/origin/main", "HEAD~1"]);
    repo.git(&["config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"]);
    repo.git(&["config", "branch.main.remote", "origin"]);
    repo.git(&["config", "branch.main.merge", "refs/heads/main"]);
    let data = get(&mut server);
    assert_eq!((&data["risk"], &data["upstream"]["ref"]), (&json!("low"), &json!("origin/main")), "{data}");
    assert_eq!((&data["current"]["ahead"], &data["current"]["behind"]), (&json!(1), &json!(0)));
    assert_eq!(data["base"]["ref"], "refs/remotes/origin/main");
    repo.git(&["commit", "-q", "--amend", "-m", "other"]);
    repo.git(&["update-ref", "refs/remotes/origin/main", "HEAD@{1}"]);
    assert_eq!(get(&mut server)["risk"], "high", "moved behind its back");
    repo.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
    let data = get(&mut server);
    assert_eq!((&data["risk"], &data["upstream"]["commit"]), (&json!("medium"), &Value::Null), "gone");
    repo.git(&["checkout", "-q", "--detach"]);
    let data = get(&mut server);
    assert_eq!((&data["current"]["ref"], &data["current"]["label"]), (&Value::Null, &json!("HEAD")));
    assert_eq!(data["base"]["ref"], "refs/heads/main");
    for bad in ["--help", "main^{/x}", "a..b", "HEAD~1"] {
        let arguments = json!({"repoPath": repo.path(), "baseCandidates": [bad]});
        server.call("repo.branchStack", arguments).expect_refused(bad, &["bad-argument"]);
    }
    let unborn = Repo::init(&place, "unborn");
    let data = stack(&mut server, unborn.path(), 8, &[]);
    assert_eq!((&data["current"]["commit"], &data["current"]["label"]), (&Value::Null, &json!("main")));
    assert_eq!(data["related"], json!([]));
}
