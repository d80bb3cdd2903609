//! Expressions for one revision lead to the object that `git rev-parse` finds, and to none where Git finds none.
//! Trust: real git is the oracle.

#[path = "support/mod.rs"]
mod support;

use serde_json::json;
use support::{Place, Repo, Start};

const EXPRESSIONS: &[&str] = &[
    "HEAD",
    "@",
    "main",
    "heads/main",
    "refs/heads/main",
    "side",
    "v1",
    "v1^{}",
    "tags/v1",
    "HEAD~2",
    "HEAD^",
    "@~1",
    "HEAD^0",
    "HEAD~1^0",
    "main~3",
    "main@{0}",
    "main@{1}",
    "main@{2}",
    "HEAD@{1}",
    "HEAD@{3}",
    "@{1}",
    "@{0}",
    "@{-1}",
    "@{-2}",
    "@{-1}~1",
    "@@{1}",
    "HEAD@{1}~1",
    "HEAD@{0}^{commit}",
    "@{u}",
    "main@{upstream}",
    "@{push}",
    "HEAD@{upstream}",
    "HEAD@{99}",
    "main@{99}",
    "@{-9}",
    "nothing",
    "nothing@{1}",
    "HEAD~99",
    "HEAD^7",
    "origin/main",
    "origin",
    "stash",
    "stash@{0}",
    "stash@{1}",
    "stash^2",
    "HEAD^{/c1}",
    "HEAD^{/nowhere}",
    "HEAD^{/^c[12]$}",
    "HEAD^{/^c(0|3)}",
    "HEAD^{/c1}^{tree}",
    "HEAD^{/c1}~1",
    "HEAD^{/!-c[0-9]}",
    "HEAD^{/!!c}",
    "HEAD^{/!c}",
    "HEAD^{/}",
    "HEAD^{/c{1}[0]}",
    "HEAD^{/[}",
    "side^{/on.side}^2",
    "v1^{/c}",
    "v1^{tag}",
    "v1^{tag}^{tag}",
    "v1^{object}",
    "v1^{tree}",
    "v1^{blob}",
    "HEAD^{tag}",
    "HEAD^{nothing}",
    "HEAD^{tree",
    "HEAD~~~",
    "HEAD~1~1^0",
    "HEAD^^",
    "HEAD~0",
    "HEAD~00001",
    "HEAD~99999999999999999999",
    "HEAD~-1",
    "v1~1",
    "v1^1",
    "HEAD:a.txt",
    "HEAD:",
    "HEAD:/a.txt",
    "HEAD:nothing",
    "HEAD:a.txt/",
    "HEAD:a.txt/x",
    "HEAD^{tree}:a.txt",
    "HEAD~2:a.txt",
    "v1:a.txt",
    "HEAD:a.txt~1",
    "HEAD:dir/below.txt",
    "HEAD:dir",
    "HEAD:dir/",
    "HEAD:dir//below.txt",
    "HEAD:dir^{tree}",
    "v1-0-gHEAD",
    "HEAD@{}",
    "abc",
    "side@{u}",
    "same",
    "same~1",
    "config",
    "ORIG_HEAD",
];

#[test]
fn each_expression_leads_where_git_leads() {
    let place = Place::new();
    let upstream = Repo::honest(&place, "upstream");
    let repo = Repo::init(&place, "repo");
    for n in 0..5 {
        repo.write("a.txt", format!("{n}\n"));
        repo.write("dir/below.txt", format!("{n}\n"));
        repo.commit(&format!("c{n}"));
    }
    repo.git(&["tag", "-a", "-m", "x", "v1", "HEAD~1"]);
    repo.git(&["branch", "same", "HEAD~2"]);
    repo.git(&["tag", "same", "HEAD~3"]);
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.write("a.txt", "side\n");
    repo.commit("on side");
    repo.git(&["checkout", "-q", "HEAD~1"]);
    repo.git(&["checkout", "-q", "main"]);
    repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    repo.write("a.txt", "stashed\n");
    repo.git(&["stash", "-q"]);
    repo.git(&["remote", "add", "origin", upstream.path().to_str().expect("places have UTF-8 paths")]);
    repo.git(&["fetch", "-q", "origin"]);
    repo.git(&["remote", "set-head", "origin", "main"]);
    repo.git(&["branch", "-q", "--set-upstream-to=origin/main", "main"]);
    let head = repo.git(&["rev-parse", "HEAD"]);
    let head = head.trim();
    let own = [head.to_owned(), head[..7].to_owned(), head[..12].to_uppercase(), format!("v1-7-g{}", &head[..8])];
    let mut server = Start::new(&place).root(repo.path()).spawn();
    for expression in EXPRESSIONS.iter().copied().chain(own.iter().map(String::as_str)) {
        let arguments = json!({"repoPath": repo.path().to_str().expect("as above"), "commit": expression});
        let outcome = server.call("commit.details", arguments);
        let said = repo.try_git(&["rev-parse", "-q", "--verify", &format!("{expression}^{{commit}}")]);
        if said.status.success() {
            let expected = String::from_utf8_lossy(&said.stdout).trim().to_owned();
            assert!(outcome.is_ok(), "{expression}: {}", outcome.message);
            assert!(outcome.message.to_string().contains(&expected), "{expression}: {expected}: {}", outcome.message);
        } else {
            outcome.expect_refused(expression, &["bad-argument"]);
        }
        // the same as a directory, which more expressions name
        let arguments = json!({"repoPath": repo.path(), "base": expression, "head": "HEAD"});
        let outcome = server.call("diff.text", arguments);
        let tree = format!("{expression}^{{tree}}");
        let tree = if expression.contains(':') { expression } else { tree.as_str() };
        let said = repo.try_git(&["diff-tree", "-p", "-M", tree, "HEAD"]);
        if said.status.success() {
            assert!(outcome.is_ok(), "{expression} as a directory: {}", outcome.message);
            assert_eq!(outcome.data()["diff"], json!(String::from_utf8_lossy(&said.stdout)), "{expression}");
        } else {
            outcome.expect_refused(expression, &["bad-argument"]);
        }
    }
}
