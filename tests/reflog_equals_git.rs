//! A reflog is what git lists: the same entries under the same numbers, page by page, also while the log grows.
//! Trust: the judge is the real git, and the log file itself for what git does not print.

mod support;

use serde_json::{Value, json};
use std::{fs, path::Path};
use support::{Place, Repo, Server, Start, fixtures};

/// Selector, commit, message, name, address, seconds.
type Entry = (String, String, String, String, String, i64);

/// What git lists of the log of `name`; the time of an entry comes with the other form of its selector.
fn expected(repo: &Repo<'_>, name: &str) -> Vec<Entry> {
    let list = |date: &[&str]| {
        let format = "--format=%gd%x00%H%x00%gs%x00%gn%x00%ge";
        let arguments: Vec<_> =
            ["log", "-g", format].into_iter().chain(date.iter().copied()).chain([name, "--"]).collect();
        let output = repo.try_git(&arguments);
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().map(|line| line.split('\0').map(str::to_owned).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let dated = list(&["--date=unix"]);
    let rows = list(&[]).into_iter().zip(dated).map(|(mut row, dated)| {
        let time = dated[0].rsplit_once("@{").and_then(|(_, time)| time.strip_suffix('}')?.parse().ok());
        // git 2.47 shortens `origin/HEAD` further, to what stands for the same
        if let (true, Some(rest)) = (name.ends_with("/HEAD"), row[0].strip_prefix("origin@")) {
            row[0] = format!("origin/HEAD@{rest}");
        }
        let [selector, id, message, who, email] = <[String; 5]>::try_from(row).expect("five fields");
        (selector, id, message, who, email, time.expect("a time"))
    });
    rows.collect()
}

fn entries(data: &Value) -> Vec<Entry> {
    let of = |entry: &Value| {
        let text = |key: &str| entry[key].as_str().expect("a text").to_owned();
        let time = entry["timestamp"].as_i64().expect("seconds");
        (text("selector"), text("newCommit"), text("message"), text("authorName"), text("authorEmail"), time)
    };
    data["entries"].as_array().expect("a list").iter().map(of).collect()
}

/// Where the reference was before each entry, newest first, from the log file itself.
fn old_commits(repo: &Repo<'_>, full: &str) -> Vec<String> {
    let path = repo.at(repo.git(&["rev-parse", "--git-path", &format!("logs/{full}")]));
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let old = |line: &str| line.split(' ').next().expect("a first word").to_owned();
    text.lines().rev().map(old).map(|id| if id.bytes().all(|b| b == b'0') { String::new() } else { id }).collect()
}

/// All pages: entries, where the reference was before each, and its full name.
fn pages(server: &mut Server, repository: &Path, name: &str, limit: usize) -> (Vec<Entry>, Vec<String>, String) {
    let mut arguments = json!({"repoPath": repository, "refName": name, "limit": limit});
    let (mut all, mut raw) = (Vec::new(), Vec::new());
    loop {
        let outcome = server.call("repo.reflog", arguments.clone());
        let data = outcome.data();
        all.extend(entries(data));
        let old = |entry: &Value| entry["oldCommit"].as_str().expect("a text").to_owned();
        raw.extend(data["entries"].as_array().expect("a list").iter().map(old));
        assert_eq!(data["truncated"], json!(data.get("nextCursor").is_some()));
        match data["nextCursor"].as_str() {
            Some(cursor) => arguments["cursor"] = json!(cursor),
            None => {
                assert_eq!(data["totalEntries"], json!(all.len()), "{name}");
                return (all, raw, data["ref"].as_str().expect("a name").to_owned());
            }
        }
    }
}

#[test]
fn in_every_state() {
    let mut logs = 0;
    for script in [fixtures::RECORDED, fixtures::STATES] {
        let fixture = fixtures::build(script);
        let mut server = Start::new(&fixture.place).root(fixture.directory()).spawn();
        for entry in fs::read_dir(fixture.directory()).expect("it was just built") {
            let path = entry.expect("an entry").path();
            let repo = Repo::open(&fixture.place, path.clone());
            let name = path.file_name().expect("it has one").to_string_lossy().into_owned();
            if !path.is_dir() || path.is_symlink() || name == "reftable" {
                continue;
            }
            let head = repo.try_git(&["rev-parse", "-q", "--verify", "HEAD"]);
            if !head.status.success() {
                continue;
            }
            let short = repo.git(&["for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads", "refs/remotes"]);
            let full = repo.git(&["for-each-ref", "--format=%(refname)"]);
            for reference in ["HEAD", "@"]
                .into_iter()
                .chain(short.lines())
                .chain(full.lines().filter(|name| !name.starts_with("refs/tags/")))
            {
                let git = expected(&repo, if reference == "@" { "HEAD" } else { reference });
                for limit in [2, 100] {
                    let (ours, raw, full) = pages(&mut server, &path, reference, limit);
                    assert_eq!(ours, git, "{name}: {reference}");
                    assert_eq!(raw, old_commits(&repo, &full), "{name}: {reference}");
                }
                logs += usize::from(!git.is_empty());
            }
        }
    }
    assert!(logs > 60, "only {logs} logs were looked at");
}

/// Of a clone of a real repository, named by `BULKHEAD_REAL_REPOSITORY`, with `BULKHEAD_SLOW=1`.
#[test]
fn in_a_clone_of_a_real_repository() {
    let Some(of) = std::env::var_os("BULKHEAD_REAL_REPOSITORY").filter(|_| support::slow()) else { return };
    let place = Place::new();
    let path = place.at("clone");
    let status = place.command("git").args(["clone", "-q", "-n"]).arg(of).arg(&path).status();
    assert!(status.expect("git is installed").success());
    let repo = Repo::open(&place, path);
    let all = repo.git(&["rev-list", "--max-count=20000", "HEAD"]);
    for (at, commit) in all.lines().step_by(all.lines().count() / 300 + 1).enumerate() {
        repo.git(&["update-ref", "-m", &format!("step {at}"), "HEAD", commit]);
        repo.git(&["update-ref", "--create-reflog", &format!("refs/heads/b{}", at % 7), commit]);
    }
    let mut server = Start::new(&place).root(place.path()).spawn();
    let names = repo.git(&["for-each-ref", "--format=%(refname)", "refs/heads"]);
    let mut seen = 0;
    for name in ["HEAD"].into_iter().chain(names.lines()) {
        let git = expected(&repo, name);
        let (ours, raw, full) = pages(&mut server, repo.path(), name, 100);
        assert_eq!(ours, git, "{name}");
        assert_eq!(raw, old_commits(&repo, &full), "{name}");
        seen += git.len();
    }
    eprintln!("{seen} entries agree");
}

#[test]
fn names_are_resolved_as_git_does_and_expressions_are_refused() {
    let place = Place::new();
    let repo = Repo::honest(&place, "r");
    repo.git(&["tag", "main", "HEAD~1"]);
    repo.write(".git/refs/heads/alias", "ref: refs/heads/main\n");
    let mut server = Start::new(&place).root(place.path()).spawn();
    let call =
        |server: &mut Server, name: &str| server.call("repo.reflog", json!({"repoPath": repo.path(), "refName": name}));
    let main = call(&mut server, "main");
    let selector = &main.data()["entries"][0]["selector"];
    assert_eq!(selector, "heads/main@{0}", "a tag of that name stands in the way");
    assert_eq!(
        repo.git(&["rev-parse", "heads/main@{0}"]),
        main.data()["entries"][0]["newCommit"].as_str().expect("an id")
    );
    assert_eq!(call(&mut server, "alias").data()["ref"], "refs/heads/main");
    assert_eq!(call(&mut server, "v1").data()["entries"], json!([]), "a tag has no log");
    let second = call(&mut server, "HEAD@{1}");
    assert_eq!(second.data()["entries"][0]["selector"], "HEAD@{1}");
    assert_eq!(second.data()["entries"][0]["index"], json!(0));
    for bad in [
        "nope",
        "",
        " ",
        "--all",
        "-n1",
        "main..side",
        "^main",
        "HEAD~1",
        "HEAD^",
        "main@{yesterday}",
        "HEAD@{99}",
        ":x",
        "config",
        "../HEAD",
        "logs/HEAD",
        "refs/heads",
    ] {
        call(&mut server, bad).expect_refused(bad, &["bad-argument"]);
    }
    let unborn = Repo::init(&place, "unborn");
    let outcome = server.read("repo.reflog", unborn.path());
    assert_eq!((&outcome.data()["entries"], &outcome.data()["totalEntries"]), (&json!([]), &json!(0)));
    let outcome = server.call("repo.reflog", json!({"repoPath": unborn.path(), "refName": "main"}));
    outcome.expect_refused("an unborn branch is no reference yet", &["bad-argument"]);
}

#[test]
fn a_cursor_holds_while_the_log_grows_and_not_when_it_is_rewritten() {
    let place = Place::new();
    let repo = Repo::init(&place, "r");
    for n in 0..30 {
        repo.git(&["commit", "-q", "--allow-empty", "-m", &format!("c{n}")]);
    }
    let mut server = Start::new(&place).root(place.path()).spawn();
    let page = |server: &mut Server, cursor: Option<&str>| {
        let mut arguments = json!({"repoPath": repo.path(), "limit": 5});
        if let Some(cursor) = cursor {
            arguments["cursor"] = json!(cursor);
        }
        server.call("repo.reflog", arguments)
    };
    let messages = |data: &Value| entries(data).into_iter().map(|entry| (entry.0, entry.2)).collect::<Vec<_>>();
    let first = page(&mut server, None);
    let cursor = first.data()["nextCursor"].as_str().expect("more follow").to_owned();
    repo.git(&["commit", "-q", "--allow-empty", "-m", "on top"]);
    let second = page(&mut server, Some(&cursor));
    assert_eq!(messages(second.data())[0], ("HEAD@{6}".to_owned(), "commit: c24".to_owned()));
    let log = repo.git_dir().join("logs/HEAD");
    let text = fs::read_to_string(&log).expect("there");
    let kept: Vec<_> = text.lines().take(10).collect();
    fs::write(&log, kept.join("\n") + "\n").expect("the place is ours");
    page(&mut server, Some(&cursor)).expect_refused("rewritten", &["bad-argument"]);
    page(&mut server, Some("5")).expect_refused("made up", &["bad-argument"]);
    assert_eq!(
        messages(page(&mut server, None).data()),
        expected(&repo, "HEAD").into_iter().take(5).map(|e| (e.0, e.2)).collect::<Vec<_>>()
    );
}

#[test]
fn bad_lines_count_as_git_counts_them_and_nothing_is_followed() {
    let place = Place::new();
    let repo = Repo::honest(&place, "r");
    let id = repo.git(&["rev-parse", "HEAD"]);
    let log = repo.git_dir().join("logs/HEAD");
    let mut bytes = fs::read(&log).expect("there");
    for line in [
        "rubbish".to_owned(),
        format!("{id} {id} A <a@b> 0 +0000\tno time"),
        format!("{id} {id} A <a@b> 1700000000 +0000\tgood"),
        format!("{id} {id} A 1700000000 +0000\tno address"),
        format!("{id} {id} <> 1700000001 -0130\tno name"),
        format!("{id} {id} A <a@b> 1700000002 +0000"),
    ] {
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(format!("{id} {id} A <a@b> 1700000003 +0000\tcut").as_bytes());
    fs::write(&log, bytes).expect("the place is ours");
    let mut server = Start::new(&place).root(place.path()).spawn();
    assert_eq!(pages(&mut server, repo.path(), "HEAD", 3).0, expected(&repo, "HEAD"));
    let side = repo.git_dir().join("logs/refs/heads/side");
    for kind in ["fifo", "link"] {
        let _ = fs::remove_file(&side);
        if kind == "fifo" {
            nix::unistd::mkfifo(&side, nix::sys::stat::Mode::S_IRUSR).expect("FIFOs are possible here");
        } else {
            std::os::unix::fs::symlink("../../HEAD", &side).expect("links are possible here");
        }
        let outcome = server.call("repo.reflog", json!({"repoPath": repo.path(), "refName": "side"}));
        outcome.expect_refused(kind, &["special-file"]);
    }
}
