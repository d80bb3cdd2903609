//! A status is what `git status` says, in every state of a working tree and of storage, and after any edits.
//! Trust: the judge is the real git, run with the configuration that a status may rest on.

mod support;

use serde_json::json;
use std::fs;
use support::{
    Place, Repo, Start,
    dice::Dice,
    fixtures,
    rows::{self, Row},
    status::{agree, answered, differences, expected},
};

/// Repositories of the states fixture whose storage nobody can read here.
const UNREADABLE: &[&str] = &["reftable"];
/// Where answers differ from git by design, and how.
const BY_DESIGN: &[(&str, &str)] = &[
    ("configured", "no filter is run, and an excludes file that the repository names outside of itself is not read"),
    ("bare.git", "there is no working tree"),
];

#[test]
fn in_every_state() {
    let fixture = fixtures::build(fixtures::STATES);
    let mut server = Start::new(&fixture.place).root(fixture.directory()).spawn();
    let mut faults = Vec::new();
    let mut seen = 0;
    for entry in fs::read_dir(fixture.directory()).expect("it was just built") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("it has one").to_string_lossy().into_owned();
        if !path.is_dir() || BY_DESIGN.iter().any(|(repository, _)| *repository == name) {
            continue;
        }
        if UNREADABLE.contains(&name.as_str()) {
            let outcome = server.read("repo.status", &path);
            outcome.expect_refused(&name, &["unsupported-format"]);
            continue;
        }
        let repo = Repo::open(&fixture.place, path.clone());
        faults.extend(differences(&name, expected(&repo), answered(&mut server, &path)));
        seen += 1;
    }
    assert!(faults.is_empty(), "{} differences:\n{}", faults.len(), faults.join("\n"));
    assert_eq!(seen, 25, "another number of repositories than the builder should make");
}

#[test]
fn where_it_differs_by_design() {
    let fixture = fixtures::build(fixtures::STATES);
    let mut server = Start::new(&fixture.place).root(fixture.directory()).spawn();
    let outcome = server.read("repo.status", &fixture.at("configured"));
    let entries = &outcome.data()["entries"];
    let rows = rows::from_answer(entries);
    let has = |status: &str, path: &str| rows.iter().any(|r| r.status == status && r.path.0 == path.as_bytes());
    assert!(has(" M", "p1"), "a changed file is changed whatever a filter would make of it: {entries}");
    assert!(has("??", "x.hidden"), "an excludes file outside of the repository is not read: {entries}");
    assert!(!fixture.at("CANARY").exists(), "a program of the repository's configuration was run");
    server.read("repo.status", &fixture.at("bare.git")).expect_refused("bare", &["bare"]);
}

#[test]
fn the_three_tools_agree_with_each_other() {
    let fixture = fixtures::build(fixtures::STATES);
    let mut server = Start::new(&fixture.place).root(fixture.directory()).spawn();
    for name in ["columns", "conflicts", "sparse", "sha256", "linked", "unborn"] {
        let path = fixture.at(name);
        let status = rows::from_answer(&server.read("repo.status", &path).data()["entries"]);
        let changes = server.read("worktree.changes", &path);
        let changes = changes.data();
        let unmerged = |row: &&Row| row.status.contains('U') || ["AA", "DD"].contains(&row.status.as_str());
        let column = |at: usize| {
            let of = move |row: &&Row| !row.status.starts_with('?') && row.status.as_bytes()[at] != b' ';
            status.iter().filter(of).cloned().collect::<Vec<_>>()
        };
        assert_eq!(rows::from_answer(&changes["staged"]), column(0), "{name}: staged");
        assert_eq!(rows::from_answer(&changes["unstaged"]), column(1), "{name}: unstaged");
        let untracked: Vec<_> = status.iter().filter(|row| row.status == "??").cloned().collect();
        assert_eq!(rows::from_answer(&changes["untracked"]), untracked, "{name}: untracked");
        let conflicted: Vec<_> = status.iter().filter(unmerged).cloned().collect();
        assert_eq!(rows::from_answer(&changes["conflicted"]), conflicted, "{name}: conflicted");

        let brief = server.read("repo.brief", &path);
        let counts = &brief.data()["workingTree"];
        let without_conflicts = |rows: Vec<Row>| rows.iter().filter(|row| !unmerged(row)).count();
        let expected = json!({
            "clean": status.is_empty(), "staged": without_conflicts(column(0)), "unstaged": without_conflicts(column(1)),
            "untracked": untracked.len(), "conflicted": conflicted.len(),
        });
        assert_eq!(counts, &expected, "{name}: counters of the brief");
    }
}

/// `BULKHEAD_SEED=N` repeats a run; `BULKHEAD_SLOW=1` makes it larger.
#[test]
fn a_rule_file_that_is_no_file() {
    let place = Place::new();
    let repo = Repo::init(&place, "repo");
    repo.write(".gitattributes", "*.txt text\n");
    repo.write(".gitignore", "*.o\n");
    repo.write("crlf.txt", "a\r\nb\r\n");
    repo.write("built.o", "x");
    repo.commit("first");
    let mut server = Start::new(&place).root(place.path()).spawn();
    for (day, kind) in (0..).zip(["absent", "directory", "directory with a file", "link"]) {
        for name in [".gitattributes", ".gitignore"] {
            let path = repo.at(name);
            match kind {
                "absent" => fs::remove_file(&path).expect("it was there"),
                "link" => {
                    fs::remove_dir_all(&path).expect("it was there");
                    std::os::unix::fs::symlink("crlf.txt", &path).expect("ours");
                }
                _ => fs::create_dir_all(&path).expect("ours"),
            }
            if kind == "directory with a file" {
                fs::write(path.join("inside"), "x").expect("ours");
            }
        }
        // another time makes both sides read the contents, and the attributes that decide about them
        repo.write("crlf.txt", "a\r\nb\r\n");
        let file = fs::File::options().write(true).open(repo.at("crlf.txt")).expect("ours");
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000 + day * 86_400);
        file.set_modified(time).expect("ours");
        agree(kind, &repo, &mut server);
        let expected = repo.git(&["--no-optional-locks", "diff", "--no-ext-diff", "HEAD", "--", "crlf.txt"]);
        let outcome = server.call("diff.text", json!({"repoPath": repo.path(), "base": "HEAD"}));
        let diff = outcome.data()["diff"].as_str().expect("a text").to_owned();
        assert_eq!(diff.contains("diff --git a/crlf.txt"), !expected.is_empty(), "{kind}: {diff}\n{expected}");
        assert!(diff.contains(&expected), "{kind}: {diff}\n{expected}");
    }
    assert!(server.finish().status.success());
}

#[test]
fn after_random_edits() {
    let seed = std::env::var("BULKHEAD_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let (files, rounds) = if support::slow() { (20_000, 40) } else { (1_500, 8) };
    let mut dice = Dice(seed);
    let place = Place::new();
    let repo = Repo::init(&place, "generated");
    let mut names: Vec<String> = (0..files).map(|n| format!("d{}/e{}/f{n}", dice.below(12), dice.below(9))).collect();
    for (n, name) in names.iter().enumerate() {
        repo.write(name, format!("file {n}\n{}", "a line of some length\n".repeat(dice.below(20))));
    }
    repo.write(".gitignore", "*.o\n/d3/e4/\n!keep.o\n");
    repo.commit("generated");
    let mut server = Start::new(&place).root(place.path()).spawn();
    for round in 0..rounds {
        for _ in 0..40 {
            edit(&repo, &names, &mut dice);
        }
        let faults = differences("generated", expected(&repo), answered(&mut server, repo.path()));
        assert!(faults.is_empty(), "BULKHEAD_SEED={seed}, round {round}:\n{}", faults.join("\n"));
        if dice.below(3) == 0 {
            repo.commit("a round");
            names.retain(|name| repo.at(name).is_file());
        }
    }
}

/// One random edit of the working tree or of the index.
fn edit(repo: &Repo<'_>, names: &[String], dice: &mut Dice) {
    let name = names[dice.below(names.len())].clone();
    let fresh = format!("d{}/new{}", dice.below(12), dice.below(100_000));
    let there = repo.at(&name).is_file();
    match dice.below(12) {
        0 | 1 if there => repo.append(&name, "changed\n"),
        2 if there => fs::remove_file(repo.at(&name)).expect("it is there"),
        3 if there => drop(repo.try_git(&["mv", &name, &fresh])),
        4 if there => drop(repo.try_git(&["rm", "-q", "--cached", &name])),
        5 => drop(repo.try_git(&["add", "-A", name.split('/').next().expect("a directory")])),
        6 => repo.write(&fresh, "new\n"),
        7 => repo.write(format!("{fresh}-dir/deep/{}.o", dice.below(9)), "ignored\n"),
        8 => repo.write(format!("{fresh}-dir/file"), "new\n"),
        9 if there => {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = if dice.below(2) == 0 { 0o755 } else { 0o644 };
            fs::set_permissions(repo.at(&name), fs::Permissions::from_mode(mode)).expect("it is there");
        }
        10 if there => {
            let content = fs::read(repo.at(&name)).expect("it is there");
            repo.write(&name, content);
        }
        11 if there => {
            fs::remove_file(repo.at(&name)).expect("it is there");
            std::os::unix::fs::symlink("elsewhere", repo.at(&name)).expect("it was just removed");
        }
        _ => {}
    }
}
