//! `submodule.status`: every state, nested ones, a path to narrow it, and addresses that hold secrets.
//! Trust: test code.

use crate::support::{Place, Repo, Server, Start};
use serde_json::{Value, json};
use std::{fs, path::Path};

/// State, commit and path of every line of git, the description cut off. Of a `+` git prints the commit that is checked
/// out, of a `U` zeros.
fn expected(repo: &Repo<'_>) -> Vec<(String, String, String)> {
    let output = repo.try_git(&["submodule", "status", "--recursive"]);
    assert!(output.status.success(), "git submodule status: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("these paths are UTF-8");
    let line = |line: &str| {
        let (commit, rest) = line[1..].split_once(' ').expect("a commit and a path");
        (line[..1].to_owned(), commit.to_owned(), rest.split(" (").next().unwrap_or_default().to_owned())
    };
    text.lines().map(line).collect()
}

fn rows(server: &mut Server, arguments: Value) -> Vec<Value> {
    let outcome = server.call("submodule.status", arguments);
    let data = outcome.data();
    let rows = data["submodules"].as_array().expect("a list").clone();
    assert_eq!((&data["total"], &data["truncated"]), (&json!(rows.len()), &json!(false)), "{data}");
    rows
}

fn answered(server: &mut Server, path: &Path) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let row = |row: Value| {
        let commit = match row["state"].as_str() {
            Some("+") => text(&row["checkedOut"]),
            Some("U") => "0".repeat(40),
            _ => text(&row["commit"]),
        };
        (text(&row["state"]), commit, text(&row["path"]))
    };
    rows(server, json!({"repoPath": path})).into_iter().map(row).collect()
}

/// `top` holds submodules in every state; `top/nest` holds further ones, one of them two levels deep.
fn nested(place: &Place) -> Repo<'_> {
    Repo::honest(place, "leaf");
    let url = |name: &str| place.at(name).to_str().expect("UTF-8").to_owned();
    let middle = Repo::init(place, "middle");
    for name in ["deep/one", "two", "absent"] {
        middle.git(&["submodule", "--quiet", "add", &url("leaf"), name]);
    }
    middle.commit("middle");
    let outer = Repo::init(place, "outer");
    outer.git(&["submodule", "--quiet", "add", &url("middle"), "inner"]);
    outer.commit("outer");
    let top = Repo::init(place, "top");
    for (name, of) in [
        ("clean", "leaf"),
        ("drifted", "leaf"),
        ("dirty", "leaf"),
        ("absent", "leaf"),
        ("removed", "leaf"),
        ("inactive", "leaf"),
        ("nest", "outer"),
        ("nest-sibling", "leaf"),
        ("with space/x", "leaf"),
    ] {
        top.git(&["submodule", "--quiet", "add", &url(of), name]);
    }
    top.commit("top");
    top.git(&["submodule", "--quiet", "update", "--init", "--recursive"]);
    top.git(&["-C", "drifted", "checkout", "-q", "HEAD~1"]);
    top.git(&["-C", "nest/inner/two", "checkout", "-q", "HEAD~1"]);
    top.git(&["-C", "nest/inner", "submodule", "--quiet", "deinit", "-f", "absent"]);
    top.git(&["submodule", "--quiet", "deinit", "-f", "absent"]);
    top.git(&["config", "submodule.inactive.active", "false"]);
    fs::remove_dir_all(top.at("removed")).expect("it was just made");
    top.write("dirty/new", "untracked");
    top.append("dirty/a.txt", "changed");
    top
}

#[test]
fn every_state_and_nested_ones() {
    let place = Place::new();
    let top = nested(&place);
    let mut server = Start::new(&place).root(place.path()).spawn();
    let git = expected(&top);
    assert_eq!(git.len(), 13, "{git:?}");
    assert_eq!(answered(&mut server, top.path()), git);
    // a plain clone has none of them
    top.git(&["clone", "-q", ".", "../clone"]);
    let clone = Repo::open(&place, place.at("clone"));
    assert_eq!(answered(&mut server, clone.path()), expected(&clone));
    // changes behind its back are seen
    top.git(&["-C", "drifted", "checkout", "-q", "-"]);
    top.git(&["submodule", "--quiet", "update", "--init", "--recursive"]);
    assert_eq!(answered(&mut server, top.path()), expected(&top));
}

#[test]
fn a_conflict_shows_our_side() {
    let place = Place::new();
    let leaf = Repo::honest(&place, "leaf");
    leaf.git(&["checkout", "-q", "-b", "other", "HEAD~1"]);
    leaf.commit("another way");
    leaf.git(&["checkout", "-q", "main"]);
    let top = Repo::init(&place, "top");
    top.git(&["submodule", "--quiet", "add", "../leaf", "sub"]);
    top.commit("base");
    let (base, ours, theirs) = ("HEAD~2", "main", "other");
    top.git(&["-C", "sub", "checkout", "-q", base]);
    top.commit("at its root");
    top.git(&["checkout", "-q", "-b", "side"]);
    top.git(&["-C", "sub", "checkout", "-q", &format!("origin/{theirs}")]);
    top.commit("theirs");
    top.git(&["checkout", "-q", "main"]);
    top.git(&["-C", "sub", "checkout", "-q", ours]);
    top.commit("ours");
    assert!(!top.try_git(&["merge", "-q", "side"]).status.success(), "a conflict was wanted");
    let mut server = Start::new(&place).root(place.path()).spawn();
    assert_eq!(answered(&mut server, top.path()), expected(&top));
    let row = &rows(&mut server, json!({"repoPath": top.path()}))[0];
    assert_eq!((&row["state"], &row["commit"]), (&json!("U"), &json!(top.git(&["rev-parse", "HEAD:sub"]))));
}

#[test]
fn one_that_may_not_be_read_is_told_and_looked_into_again() {
    let place = Place::new();
    Repo::honest(&place, "leaf");
    let top = Repo::init(&place, "top");
    top.git(&["submodule", "--quiet", "add", "../leaf", "sub"]);
    top.commit("top");
    top.append("sub/a.txt", "changed");
    let config = top.git_dir().join("modules/sub/config");
    let sound = fs::read_to_string(&config).expect("it was just made");
    let unknown = sound.replace("repositoryformatversion = 0", "repositoryformatversion = 99");
    assert_ne!(unknown, sound);
    let mut server = Start::new(&place).root(place.path()).spawn();
    let mut told = |tool: &str| {
        let answer = server.read(tool, top.path());
        let partial = &answer.data()["partial"];
        let details = partial["details"].as_str().unwrap_or_default().to_owned();
        assert!(partial.is_null() || partial["reason"] == "unreadable", "{tool}: {partial}");
        details.contains("sub ")
    };
    for (text, wanted) in [(&sound, false), (&unknown, true), (&sound, false)] {
        fs::write(&config, text).expect("ours");
        for tool in ["repo.status", "worktree.changes", "repo.brief", "diff.text", "submodule.status"] {
            assert_eq!(told(tool), wanted, "{tool}");
        }
    }
    assert_eq!(answered(&mut server, top.path()), expected(&top));
}

#[test]
fn a_path_narrows_it_and_additions_say_more() {
    let place = Place::new();
    let top = nested(&place);
    let mut server = Start::new(&place).root(place.path()).spawn();
    let mut paths = |path: &str| {
        let rows = rows(&mut server, json!({"repoPath": top.path(), "path": path}));
        rows.iter().map(|row| row["path"].as_str().expect("text").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(paths("nest/inner/two"), ["nest/inner/two"]);
    assert_eq!(paths("./nest/inner/deep/"), ["nest/inner/deep/one"]);
    assert_eq!(paths("with space"), ["with space/x"]);
    assert_eq!(paths("nest").len(), 5);
    assert_eq!(paths("nes"), [""; 0]);
    assert_eq!(paths("clean/a.txt"), [""; 0]);
    assert_eq!(paths("").len(), 13);
    assert_eq!(paths(top.at("nest").to_str().expect("plain")).len(), 5);
    assert_eq!(paths(top.path().to_str().expect("plain")).len(), 13);
    for path in ["../x", "/x", "a/../../b"] {
        let outcome = server.call("submodule.status", json!({"repoPath": top.path(), "path": path}));
        outcome.expect_refused(path, &["bad-argument"]);
    }
    top.git(&["config", "-f", ".gitmodules", "submodule.dirty.url", "https://user:secret@example.org/x?token=secret"]);
    let row = rows(&mut server, json!({"repoPath": top.path(), "path": "dirty"})).remove(0);
    assert_eq!(
        (&row["dirty"], &row["name"], &row["url"]),
        (&json!("MU"), &json!("dirty"), &json!("https://example.org/x"))
    );
    let row = rows(&mut server, json!({"repoPath": top.path(), "path": "drifted"})).remove(0);
    assert_eq!(row["dirty"], json!("C"));
    assert_eq!(row["checkedOut"], json!(top.git(&["-C", "drifted", "rev-parse", "HEAD"])));
    let row = rows(&mut server, json!({"repoPath": top.path(), "path": "clean"})).remove(0);
    assert_eq!(row.get("dirty"), None);
}

#[test]
fn many_are_given_in_pages_and_nesting_ends_somewhere() {
    let place = Place::new();
    let repo = Repo::honest(&place, "many");
    let head = repo.git(&["rev-parse", "HEAD"]);
    let mut lines = String::new();
    for n in 0..1_200 {
        lines.push_str(&format!("160000 {head} 0\tvendor/module-{n:04}\n"));
    }
    let list = place.at("list");
    fs::write(&list, lines).expect("writable");
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},first")]);
    let script = format!("git update-index --index-info < '{}'", list.display());
    let done = place.command("sh").arg("-c").arg(script).current_dir(repo.path()).status().expect("sh is there");
    assert!(done.success());
    let mut server = Start::new(&place).root(place.path()).spawn();
    let (mut seen, mut pages) = (Vec::new(), 0);
    let mut arguments = json!({"repoPath": repo.path()});
    loop {
        let outcome = server.call("submodule.status", arguments.clone());
        assert!(outcome.characters() <= 40_000);
        let data = outcome.data();
        assert_eq!(data["total"], json!(1_201));
        seen.extend(data["submodules"].as_array().expect("a list").iter().map(|row| row["path"].clone()));
        pages += 1;
        match data.get("nextCursor") {
            Some(next) => arguments["cursor"] = next.clone(),
            None => break,
        }
    }
    assert!(pages > 1);
    assert_eq!((seen.len(), &seen[0], &seen[1_200]), (1_201, &json!("first"), &json!("vendor/module-1199")));
    for cursor in ["", "wp:a", "sp:nobody"] {
        let outcome = server.call("submodule.status", json!({"repoPath": repo.path(), "cursor": cursor}));
        outcome.expect_refused(cursor, &["bad-argument"]);
    }

    // a repository in a repository, and so on
    let mut path = place.directory("deep");
    for level in 0..20 {
        let repo = Repo::open(&place, path.clone());
        repo.git(&["init", "-q"]);
        repo.git(&["commit", "-q", "--allow-empty", "-m", "level"]);
        if level > 0 {
            let parent = Repo::open(&place, path.parent().expect("one above").to_owned());
            let id = repo.git(&["rev-parse", "HEAD"]);
            parent.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{id},s")]);
        }
        path = path.join("s");
        fs::create_dir(&path).expect("writable");
    }
    let outcome = server.read("submodule.status", &place.at("deep"));
    let data = outcome.data();
    assert_eq!((&data["total"], &data["truncated"]), (&json!(16), &json!(true)), "{data}");
    assert_eq!(data["partial"]["reason"], "depth");
}
