//! Predicted conflicts are those that a real merge or rebase leaves, and what is read of them is what the index says.
//! Trust: the judge is the real git; every kind of conflict is built with it.

mod support;

use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, path::Path};
use support::{Place, Repo, Server, Start, snapshot::Snapshot};

/// A pair of branches, `ours` checked out and `theirs`, that conflict in one way.
type Build = fn(&Repo<'_>);

const KINDS: &[(&str, Build, &[&str])] = &[
    ("content", content, &["content"]),
    ("content-of-many-lines", content_of_many_lines, &["content"]),
    ("both-added", both_added, &["add/add"]),
    ("deleted-by-them", deleted_by_them, &["modify/delete"]),
    ("deleted-by-us", deleted_by_us, &["modify/delete"]),
    ("renamed-twice", renamed_twice, &["rename/rename"]),
    ("renamed-deleted", renamed_deleted, &["rename/delete", "modify/delete"]),
    ("directory-renamed", directory_renamed, &["directory-rename"]),
    ("binary", binary, &["binary", "content"]),
    ("file-directory", file_directory, &["file/directory", "modify/delete"]),
    ("link-file", link_file, &["mode", "other"]),
    ("odd-name", odd_name, &["content"]),
];

fn long(word: &str) -> String {
    (0..30).map(|n| format!("line {n} of {word}\n")).collect()
}

/// Commits `base`, then each side from it; ends on `ours`.
fn sides(repo: &Repo<'_>, base: impl Fn(), theirs: impl Fn(), ours: impl Fn()) {
    base();
    repo.write("same.txt", "same\n");
    repo.commit("base");
    repo.git(&["checkout", "-q", "-b", "theirs"]);
    theirs();
    repo.commit("their change");
    repo.git(&["checkout", "-q", "-b", "ours", "main"]);
    ours();
    repo.commit("our change");
}

fn content(repo: &Repo<'_>) {
    let text = |line: &str| long("a").replace("line 7 of a\n", line);
    sides(
        repo,
        || repo.write("a", long("a")),
        || repo.write("a", text("theirs\n")),
        || repo.write("a", text("ours\n")),
    );
}
fn content_of_many_lines(repo: &Repo<'_>) {
    let text = |seven: &str, late: &str| -> String {
        let line = |n: usize| match n {
            7 => format!("{seven}\n"),
            20_000 => format!("{late}\n"),
            n => format!("line {}\n", n % 5_000),
        };
        (0..30_000).map(line).collect()
    };
    sides(
        repo,
        || repo.write("a", text("base", "base")),
        || repo.write("a", text("theirs", "theirs")),
        || repo.write("a", text("ours", "base")),
    );
}
fn both_added(repo: &Repo<'_>) {
    sides(repo, || {}, || repo.write("a", "theirs\n"), || repo.write("a", "ours\n"));
}
fn deleted_by_them(repo: &Repo<'_>) {
    let base = || repo.write("a", long("a"));
    sides(repo, base, || fs::remove_file(repo.at("a")).expect("it is there"), || repo.append("a", "more\n"));
}
fn deleted_by_us(repo: &Repo<'_>) {
    let base = || repo.write("a", long("a"));
    sides(repo, base, || repo.append("a", "more\n"), || fs::remove_file(repo.at("a")).expect("it is there"));
}
fn renamed_twice(repo: &Repo<'_>) {
    let to = |name: &str| drop(repo.git(&["mv", "a", name]));
    sides(repo, || repo.write("a", long("a")), || to("theirs-name"), || to("ours-name"));
}
fn renamed_deleted(repo: &Repo<'_>) {
    sides(
        repo,
        || repo.write("a", long("a")),
        || drop(repo.git(&["mv", "a", "b"])),
        || drop(repo.git(&["rm", "-q", "a"])),
    );
}
fn directory_renamed(repo: &Repo<'_>) {
    let base = || ["x", "y", "z"].iter().for_each(|name| repo.write(format!("old/{name}"), long(name)));
    sides(repo, base, || repo.write("old/added", long("added")), || drop(repo.git(&["mv", "old", "new"])));
}
fn binary(repo: &Repo<'_>) {
    sides(repo, || repo.write("a", b"\0base"), || repo.write("a", b"\0theirs"), || repo.write("a", b"\0ours"));
}
fn file_directory(repo: &Repo<'_>) {
    let theirs = || {
        fs::remove_file(repo.at("a")).expect("it is there");
        repo.write("a/inside", "theirs\n");
    };
    sides(repo, || repo.write("a", long("a")), theirs, || repo.append("a", "more\n"));
}
fn link_file(repo: &Repo<'_>) {
    let link = || std::os::unix::fs::symlink("elsewhere", repo.at("a")).expect("it is not there");
    sides(repo, || {}, link, || repo.write("a", long("a")));
}
fn odd_name(repo: &Repo<'_>) {
    use std::os::unix::ffi::OsStrExt as _;
    let name = std::ffi::OsStr::from_bytes(b"sp ace/caf\xe9");
    sides(repo, || repo.write(name, "b\n"), || repo.write(name, "t\n"), || repo.write(name, "o\n"));
}

/// The bytes of a path in an answer.
fn bytes(row: &Value) -> Vec<u8> {
    let text = row["path"].as_str().expect("a path");
    let encoding = row.get("pathEncoding").map(|_| bulkhead_contract::path::PathEncoding::Escaped);
    bulkhead_contract::path::bytes_of(text, encoding).expect("an escape that was written")
}

fn z(repo: &Repo<'_>, arguments: &[&str]) -> Vec<Vec<u8>> {
    let output = repo.try_git(arguments);
    output.stdout.split(|&byte| byte == 0).filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
}

/// Stages by path, as `git ls-files -u` lists them: mode and id.
fn stages(repo: &Repo<'_>) -> BTreeMap<Vec<u8>, [Option<(String, String)>; 3]> {
    let mut all: BTreeMap<Vec<u8>, [Option<(String, String)>; 3]> = BTreeMap::new();
    for line in z(repo, &["ls-files", "-u", "-z"]) {
        let tab = line.iter().position(|&byte| byte == b'\t').expect("a tab before the path");
        let words: Vec<String> = String::from_utf8_lossy(&line[..tab]).split(' ').map(str::to_owned).collect();
        let stage: usize = words[2].parse().expect("a stage");
        all.entry(line[tab + 1..].to_vec()).or_default()[stage - 1] = Some((words[0].clone(), words[1].clone()));
    }
    all
}

/// `conflict.read` says what the index says. Gives its data.
fn reads_the_index(server: &mut Server, repo: &Repo<'_>, name: &str) -> Value {
    let outcome = server.read("conflict.read", repo.path());
    let data = outcome.data().clone();
    let expected = stages(repo);
    assert_eq!(data["inConflict"], json!(!expected.is_empty()), "{name}");
    if expected.is_empty() {
        return data;
    }
    assert_eq!(data["conflictedFileCount"], json!(expected.len()), "{name}");
    let files = data["files"].as_array().expect("a list");
    assert_eq!(files.len(), expected.len(), "{name}");
    for (file, (path, stages)) in files.iter().zip(&expected) {
        assert_eq!(&bytes(file), path, "{name}");
        for (side, stage) in ["base", "ours", "theirs"].iter().zip(stages) {
            let side = &file["sides"][side];
            match stage {
                None => assert_eq!(side, &Value::Null, "{name}"),
                Some((mode, id)) => assert_eq!((&side["mode"], &side["sha"]), (&json!(mode), &json!(id)), "{name}"),
            }
        }
        let word = match stages.each_ref().map(Option::is_some) {
            [true, true, true] => "both-modified",
            [true, true, false] => "deleted-by-them",
            [true, false, true] => "deleted-by-us",
            [false, true, true] => "both-added",
            [false, true, false] => "added-by-us",
            [false, false, true] => "added-by-them",
            _ => "both-deleted",
        };
        assert_eq!(file["kind"], word, "{name}");
    }
    data
}

#[test]
fn every_kind_is_predicted_and_read() {
    let place = Place::new();
    let mut server = Start::new(&place).root(place.path()).spawn();
    let mut faults = Vec::new();
    for (name, build, kinds) in KINDS {
        let repo = Repo::init(&place, name);
        build(&repo);
        let before = Snapshot::of(repo.path());
        let arguments = json!({"repoPath": repo.path(), "targetRef": "theirs"});
        let outcome = server.call("repo.conflictPreflight", arguments);
        assert!(before.differences(&Snapshot::of(repo.path())).is_empty(), "{name}: a prediction wrote something");
        let data = outcome.data();
        repo.try_git(&["merge", "-q", "theirs"]);
        let mut expected = z(&repo, &["diff", "--name-only", "-z", "--diff-filter=U"]);
        expected.dedup();
        let predicted: Vec<Vec<u8>> = data["conflicts"].as_array().expect("a list").iter().map(bytes).collect();
        if predicted != expected || data["status"] != "conflicts" {
            faults.push(format!("{name}: {data} predicted, {expected:?} left"));
        }
        for row in data["conflicts"].as_array().expect("a list") {
            if !kinds.iter().any(|kind| row["kind"] == *kind) {
                faults.push(format!("{name}: {row}, of {kinds:?}"));
            }
        }
        assert_eq!(data["conflictCount"], json!(predicted.len()), "{name}");
        let read = reads_the_index(&mut server, &repo, name);
        assert_eq!(read["operation"], "merge", "{name}");
        assert_eq!(read["theirs"]["sha"], json!(repo.git(&["rev-parse", "theirs"])), "{name}");
        assert_eq!(read["theirs"]["subject"], "their change", "{name}");
        if *name == "renamed-twice" {
            let renamed: Vec<&Value> = read["files"]
                .as_array()
                .expect("a list")
                .iter()
                .filter(|row| row.get("renamedFrom").is_some())
                .collect();
            assert_eq!(renamed.len(), 2, "{read}");
            assert!(renamed.iter().all(|row| row["renamedFrom"]["path"] == "a"), "{read}");
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// One file with a line for each side to change.
fn diverged(repo: &Repo<'_>) {
    content(repo);
    repo.git(&["checkout", "-q", "theirs"]);
    repo.write("b", "b\n");
    repo.commit("their second");
    repo.git(&["checkout", "-q", "ours"]);
}

#[test]
fn every_operation_is_named_with_its_commits_and_its_progress() {
    let place = Place::new();
    let mut server = Start::new(&place).root(place.path()).spawn();

    let repo = Repo::init(&place, "rebase");
    diverged(&repo);
    repo.git(&["checkout", "-q", "theirs"]);
    for backend in ["--merge", "--apply"] {
        let predicted = server.call(
            "repo.conflictPreflight",
            json!({"repoPath": repo.path(), "targetRef": "ours", "currentRef": "theirs", "operation": "rebase"}),
        );
        repo.try_git(&["rebase", "-q", backend, "ours"]);
        let data = reads_the_index(&mut server, &repo, backend);
        assert_eq!(data["operation"], "rebase", "{backend}");
        assert_eq!(data["theirs"]["sha"], json!(repo.git(&["rev-parse", "REBASE_HEAD"])), "{backend}");
        assert_eq!(data["ours"]["sha"], json!(repo.git(&["rev-parse", "HEAD"])), "{backend}");
        let progress = &data["progress"];
        assert_eq!((&progress["step"], &progress["steps"]), (&json!(1), &json!(2)), "{backend}");
        assert_eq!((&progress["branch"], &progress["onto"]), (&json!("theirs"), &data["ours"]["sha"]), "{backend}");
        let predicted = predicted.data();
        assert_eq!(predicted["rebase"]["stoppedAt"]["sha"], data["theirs"]["sha"], "{predicted}");
        assert_eq!(predicted["rebase"]["commits"], json!(2));
        assert_eq!(predicted["conflictingPaths"], json!(["a"]));
        repo.git(&["rebase", "--abort"]);
    }

    let repo = Repo::init(&place, "pick");
    diverged(&repo);
    repo.try_git(&["cherry-pick", "theirs~1", "theirs"]);
    let data = reads_the_index(&mut server, &repo, "cherry-pick");
    assert_eq!((&data["operation"], &data["progress"]["remaining"]), (&json!("cherry-pick"), &json!(2)), "{data}");
    assert_eq!(data["theirs"]["sha"], json!(repo.git(&["rev-parse", "theirs~1"])));
    repo.git(&["cherry-pick", "--abort"]);
    repo.append("a", "x\n");
    repo.write("a", long("z"));
    repo.commit("all of it");
    repo.try_git(&["revert", "--no-edit", "HEAD~1"]);
    let data = reads_the_index(&mut server, &repo, "revert");
    assert_eq!(data["operation"], "revert");
    assert_eq!(data["theirs"]["sha"], json!(repo.git(&["rev-parse", "HEAD~1"])));
    repo.git(&["revert", "--abort"]);

    let repo = Repo::init(&place, "am");
    diverged(&repo);
    let patches = place.directory("patches");
    repo.git(&["format-patch", "-q", "-2", "theirs", "-o", patches.to_str().expect("places have UTF-8 paths")]);
    let mut names: Vec<String> = fs::read_dir(&patches)
        .expect("git wrote them")
        .map(|entry| entry.expect("an entry").path().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let mut arguments = vec!["am".to_owned(), "-q".to_owned(), "-3".to_owned()];
    arguments.extend(names);
    repo.try_git(&arguments);
    let data = reads_the_index(&mut server, &repo, "am");
    assert_eq!((&data["operation"], &data["theirs"]), (&json!("am"), &Value::Null), "{data}");
    assert_eq!((&data["progress"]["step"], &data["progress"]["steps"]), (&json!(1), &json!(2)), "{data}");

    let repo = Repo::init(&place, "octopus");
    content(&repo);
    repo.try_git(&["merge", "-q", "theirs"]);
    let heads = format!("{}\n{}\n", repo.git(&["rev-parse", "theirs"]), repo.git(&["rev-parse", "main"]));
    fs::write(repo.git_dir().join("MERGE_HEAD"), heads).expect("the place is ours");
    let data = reads_the_index(&mut server, &repo, "octopus");
    assert_eq!(data["allTheirs"].as_array().map(Vec::len), Some(2), "{data}");
}

#[test]
fn hostile_state_and_files_are_told_and_never_waited_for() {
    let place = Place::new();
    let outside = place.directory("outside");
    fs::write(outside.join("secret"), "1111111111111111111111111111111111111111\n").expect("the place is ours");
    let mut server = Start::new(&place).root(place.directory("allowed")).spawn();
    for hostile in ["fifo", "link", "huge", "rubbish"] {
        let repo = Repo::init(&place, format!("allowed/{hostile}"));
        content(&repo);
        repo.try_git(&["merge", "-q", "theirs"]);
        for path in [repo.git_dir().join("MERGE_HEAD"), repo.at("a")] {
            fs::remove_file(&path).expect("git wrote it");
            match hostile {
                "fifo" => {
                    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("FIFOs are possible here");
                }
                "link" => std::os::unix::fs::symlink(outside.join("secret"), &path).expect("links are possible"),
                "huge" => fs::write(&path, vec![b'1'; 9 << 20]).expect("the place is ours"),
                _ => fs::write(&path, b"<<<<<<< \xff\n=======\n>>>>>>> \n").expect("the place is ours"),
            }
        }
        let outcome = server.read("conflict.read", repo.path());
        if !outcome.is_ok() {
            // a special file in the git directory may be refused as a whole, by name
            outcome.expect_refused(hostile, &["special-file", "redirected"]);
            continue;
        }
        let data = outcome.data();
        assert_eq!(data["theirs"], Value::Null, "{hostile}: {data}");
        assert_eq!(data["files"][0]["sides"]["ours"]["truncated"], false, "{hostile}: the stages are readable");
        match hostile {
            "fifo" | "link" => assert_eq!(data["files"][0]["worktreeFile"], "not-a-file", "{hostile}"),
            "huge" => assert_eq!(data["files"][0]["regionsTruncated"], true),
            _ => assert_eq!(data["files"][0]["regions"][0]["endLine"], 3),
        }
    }
}

#[test]
fn markers_of_any_length_and_style_are_found() {
    let place = Place::new();
    let mut server = Start::new(&place).root(place.path()).spawn();
    let repo = Repo::init(&place, "markers");
    repo.write(".gitattributes", "a conflict-marker-size=12\n");
    content(&repo);
    repo.git(&["config", "merge.conflictStyle", "diff3"]);
    repo.try_git(&["merge", "-q", "theirs"]);
    let data = reads_the_index(&mut server, &repo, "markers");
    let text = fs::read_to_string(repo.at("a")).expect("git wrote it");
    let line = |sign: &str| 1 + text.lines().position(|line| line.starts_with(&sign.repeat(12))).expect("a marker");
    let file = &data["files"][0];
    assert_eq!(
        file["regions"],
        json!([{"startLine": line("<"), "baseLine": line("|"), "sepLine": line("="), "endLine": line(">")}])
    );
    assert_eq!(file["markerSize"], 12);
}

#[test]
fn long_answers_are_cut_and_paged_within_their_bounds() {
    let place = Place::new();
    let mut server = Start::new(&place).root(place.path()).spawn();
    let repo = Repo::init(&place, "large");
    let body =
        |word: &str, n: usize| format!("{word} {n} é \u{1}\n").repeat(if support::slow() { 2_500_000 } else { 60_000 });
    let write = |word: &str| (0..2).for_each(|n| repo.write(format!("f{n}"), body(word, n)));
    sides(&repo, || write("base"), || write("theirs"), || write("ours"));
    repo.try_git(&["merge", "-q", "theirs"]);
    for (most, limit) in [(1, 40_000), (16_384, 40_000), (1_048_576, 900_000)] {
        let outcome = server.call("conflict.read", json!({"repoPath": repo.path(), "maxBytesPerSide": most}));
        let data = outcome.data();
        let chars = data.to_string().chars().count();
        assert!(chars <= limit, "{most}: {chars} characters");
        let side = &data["files"][0]["sides"]["ours"];
        assert_eq!(side["truncated"], true);
        assert_eq!(side["size"], json!(body("ours", 0).len()));
        assert!(side["content"].as_str().is_some_and(|text| text.len() <= most && !text.contains('\u{fffd}')));
        assert_eq!(data["conflictedFileCount"], 2);
    }
    let repo = Repo::init(&place, "many");
    let write = |word: &str| (0..45).for_each(|n| repo.write(format!("f{n:03}"), format!("{word} {n}\n")));
    sides(&repo, || write("base"), || write("theirs"), || write("ours"));
    repo.try_git(&["merge", "-q", "theirs"]);
    let mut seen = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut arguments = json!({"repoPath": repo.path()});
        if let Some(cursor) = &cursor {
            arguments["cursor"] = json!(cursor);
        }
        let outcome = server.call("conflict.read", arguments);
        let data = outcome.data();
        assert_eq!(data["conflictedFileCount"], 45);
        let files = data["files"].as_array().expect("a list");
        assert!(files.len() <= 20);
        seen.extend(files.iter().map(bytes));
        cursor = data["nextCursor"].as_str().map(str::to_owned);
        assert_eq!(data["fileListTruncated"], json!(cursor.is_some()));
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, stages(&repo).into_keys().collect::<Vec<_>>());
    for wrong in ["", "x", "up:f001"] {
        let outcome = server.call("conflict.read", json!({"repoPath": repo.path(), "cursor": wrong}));
        outcome.expect_refused(wrong, &["bad-argument"]);
    }
}

/// A commit in the submodule `sub` of `repo`, recorded on the branch that is checked out.
fn move_submodule(repo: &Repo<'_>, to: &str, message: &str) {
    repo.git(&["-C", "sub", "checkout", "-q", to]);
    repo.commit(message);
}

#[test]
fn submodules_conflict_where_git_says_so() {
    let place = Place::new();
    let source = Repo::init(&place, "source");
    for number in 1..=3 {
        source.write("a", format!("{number}\n"));
        source.commit(&format!("commit {number}"));
    }
    source.git(&["checkout", "-q", "-b", "side", "main~2"]);
    source.write("b", "b\n");
    source.commit("side");
    // what a clone checks out cannot be fetched into
    source.git(&["checkout", "-q", "main"]);
    let repo = Repo::init(&place, "super");
    let address = source.path().to_str().expect("places have UTF-8 paths");
    repo.git(&["submodule", "--quiet", "add", address, "sub"]);
    repo.git(&["-C", "sub", "fetch", "-q", "origin", "side:side", "main:all"]);
    move_submodule(&repo, "all~2", "base");
    for (branch, to) in [("one", "all~1"), ("two", "all"), ("other", "side")] {
        repo.git(&["checkout", "-q", "-b", branch, "main"]);
        move_submodule(&repo, to, branch);
    }
    let mut server = Start::new(&place).root(place.path()).spawn();
    for (ours, theirs) in [("one", "two"), ("two", "one"), ("one", "other"), ("other", "two")] {
        let arguments = json!({"repoPath": repo.path(), "targetRef": theirs, "currentRef": ours});
        let outcome = server.call("repo.conflictPreflight", arguments);
        let clean = repo.try_git(&["merge-tree", "--write-tree", ours, theirs]).status.success();
        let data = outcome.data();
        assert_eq!(data["status"], if clean { "clean-merge" } else { "conflicts" }, "{ours} {theirs}: {data}");
        if !clean {
            assert_eq!(data["conflicts"], json!([{"path": "sub", "kind": "submodule"}]), "{ours} {theirs}");
        }
    }
    repo.git(&["checkout", "-q", "-f", "one"]);
    repo.try_git(&["merge", "-q", "other"]);
    let data = reads_the_index(&mut server, &repo, "submodule");
    let side = &data["files"][0]["sides"]["ours"];
    assert_eq!(side["submodule"], true, "{side}");
    assert_eq!(side["content"], json!(format!("Subproject commit {}\n", side["sha"].as_str().expect("an id"))));
}

#[test]
fn every_state_of_storage_has_an_answer() {
    let place = Place::new();
    let mut server = Start::new(&place).root(place.path()).spawn();
    let preflight = |server: &mut Server, path: &Path, target: &str| {
        server.call("repo.conflictPreflight", json!({"repoPath": path, "targetRef": target}))
    };
    let repo = Repo::init_with(&place, "sha256", &["--object-format=sha256"]);
    content(&repo);
    assert_eq!(preflight(&mut server, repo.path(), "theirs").data()["conflictingPaths"], json!(["a"]));
    repo.git(&["worktree", "add", "-q", "../linked", "theirs"]);
    assert_eq!(preflight(&mut server, &place.at("linked"), "ours").data()["conflictingPaths"], json!(["a"]));
    repo.git(&["clone", "-q", "--bare", ".", "../bare"]);
    assert_eq!(preflight(&mut server, &place.at("bare"), "theirs").data()["conflictingPaths"], json!(["a"]));
    server.read("conflict.read", &place.at("bare")).expect_refused("bare", &["bare"]);
    let source = format!("file://{}", repo.path().display());
    repo.git(&["clone", "-q", "--depth=1", "--no-single-branch", &source, "../shallow"]);
    let outcome = preflight(&mut server, &place.at("shallow"), "origin/theirs");
    assert_eq!(outcome.data()["status"], "unrelated-histories");
    let guidance = outcome.data()["guidance"].as_str().expect("text");
    assert!(guidance.contains("shallow"), "{guidance}");
    let unborn = Repo::init(&place, "unborn");
    preflight(&mut server, unborn.path(), "HEAD").expect_refused("unborn", &["bad-argument"]);
    assert_eq!(server.read("conflict.read", unborn.path()).data()["inConflict"], false);

    // a rule that changes behind a warm worker's back
    let repo = Repo::init(&place, "rules");
    content(&repo);
    assert_eq!(preflight(&mut server, repo.path(), "theirs").data()["status"], "conflicts");
    repo.write(".gitattributes", "a merge=union\n");
    assert_eq!(preflight(&mut server, repo.path(), "theirs").data()["status"], "clean-merge");
    repo.write(".gitattributes", "a merge=binary\n");
    assert_eq!(preflight(&mut server, repo.path(), "theirs").data()["status"], "conflicts");
}
