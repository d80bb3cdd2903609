//! Fetch and push against repositories on the disk, and what of a remote's settings is not taken.
//! Trust: test code.
#![cfg(unix)]

mod support;

use bulkhead_contract::direct::Class;
use bulkhead_ipc::edge::write::Operation;
use std::{fs, path::PathBuf};
use support::Bench;

fn push(branch: &str) -> Operation {
    Operation::Push { branch: branch.to_owned() }
}

/// The honest repository, with `origin` beside it, and another clone that moves origin on.
struct World {
    bench: Bench,
}

impl World {
    fn new() -> Self {
        let bench = Bench::honest();
        bench.git(&["clone", "-q", "--bare", ".", "../origin.git"]);
        bench.git(&["remote", "add", "origin", "../origin.git"]);
        bench.git(&["fetch", "-q", "origin"]);
        Self { bench }
    }

    /// Somebody else's commit on a branch of origin; its id.
    fn moves_on(&self, branch: &str) -> String {
        let bench = &self.bench;
        let other = bench.beside("other");
        if !other.exists() {
            bench.git(&["clone", "-q", "../origin.git", "../other"]);
        }
        let run = |arguments: &[&str]| {
            let output = bench.git_command().current_dir(&other).args(arguments).output().expect("git runs");
            assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        };
        run(&["checkout", "-q", "-B", branch, &format!("origin/{branch}")]);
        fs::write(other.join("theirs"), branch).expect("ours");
        run(&["add", "-A"]);
        run(&["commit", "-q", "-m", "theirs"]);
        run(&["push", "-q", "origin", branch]);
        run(&["rev-parse", "HEAD"])
    }

    fn of_origin(&self, name: &str) -> String {
        self.bench.git(&["--git-dir=../origin.git", "rev-parse", "--verify", "-q", name])
    }

    fn canary(&self) -> PathBuf {
        self.bench.beside("canary")
    }
}

#[test]
fn a_fetch_moves_the_remotes_refs_and_nothing_else() {
    let world = World::new();
    let theirs = world.moves_on("main");
    let head = world.bench.id("HEAD");
    fs::remove_file(world.bench.git_dir().join("FETCH_HEAD")).expect("the owner's fetch made one");
    world.bench.done(&Operation::Fetch);
    assert_eq!((world.bench.id("origin/main"), world.bench.id("HEAD")), (theirs, head));
    assert!(!world.bench.git_dir().join("FETCH_HEAD").exists());
}

#[test]
fn a_fetch_never_overwrites_or_prunes_local_branches() {
    let world = World::new();
    let bench = &world.bench;
    bench.git(&["branch", "unpushed", "main~1"]);
    bench.git(&["config", "--replace-all", "remote.origin.fetch", "+refs/heads/*:refs/heads/*"]);
    bench.git(&["config", "fetch.prune", "true"]);
    bench.git(&["config", "remote.origin.prune", "true"]);
    let theirs = world.moves_on("side");
    let before = bench.git(&["for-each-ref", "refs/heads"]);
    let done = bench.done(&Operation::Fetch);
    assert_eq!(bench.git(&["for-each-ref", "refs/heads"]), before);
    assert_eq!(bench.id("refs/remotes/origin/side"), theirs);
    assert!(done.notes[0].contains("+refs/heads/*:refs/heads/*"), "{done:?}");
}

#[test]
fn the_remote_is_that_of_the_current_branch_or_the_only_one() {
    let world = World::new();
    let bench = &world.bench;
    bench.git(&["remote", "rename", "origin", "elsewhere"]);
    let theirs = world.moves_on("main");
    bench.done(&Operation::Fetch);
    assert_eq!(bench.id("elsewhere/main"), theirs);
    bench.git(&["remote", "add", "origin", "../nowhere.git"]);
    bench.refused(&Operation::Fetch, Class::NotFound);
    bench.git(&["config", "branch.main.remote", "elsewhere"]);
    bench.done(&Operation::Fetch);
    bench.git(&["config", "branch.main.remote", "."]);
    bench.refused(&Operation::Fetch, Class::Unsupported);
    let alone = Bench::honest();
    alone.refused(&Operation::Fetch, Class::NotFound);
}

/// A push that was killed leaves a lock and what had arrived at a repository that nobody looks into.
#[test]
fn what_a_dead_push_left_at_the_other_side_is_named() {
    let world = World::new();
    let bench = &world.bench;
    let origin = bench.beside("origin.git");
    let arrived = origin.join("objects/tmp_objdir-incoming-Dead");
    fs::create_dir_all(arrived.join("pack")).expect("ours");
    fs::write(arrived.join("pack/tmp_pack_x"), "x".repeat(77)).expect("ours");
    let (lock, tip) = (origin.join("refs/heads/main.lock"), world.of_origin("main"));
    fs::write(&lock, "").expect("ours");
    bench.write("a.txt", "mine\n");
    let mine = bench.commit("mine");
    let failed = bench.refused(&push("main"), Class::Locked);
    let named = |text: &str| text.contains(&*origin.to_string_lossy()) && text.contains("incoming-Dead (77 bytes");
    assert!(failed.reason.contains(&*lock.to_string_lossy()) && named(&failed.reason), "{failed:#?}");
    assert!(failed.next.contains("delete the lock file that is named there"), "{failed:#?}");
    assert_eq!(world.of_origin("main"), tip);
    fs::remove_file(&lock).expect("it is there");
    let done = bench.done(&push("main"));
    assert!(named(&done.notes.join("\n")), "{done:#?}");
    assert_eq!(world.of_origin("main"), mine);
    fs::remove_dir_all(&arrived).expect("it is there");
    assert_eq!(bench.done(&push("main")).notes, Vec::<String>::new());
}

#[test]
fn a_push_moves_one_branch_forward_and_follows_it() {
    let world = World::new();
    let bench = &world.bench;
    bench.git(&["config", "push.followTags", "true"]);
    bench.git(&["tag", "-a", "-m", "x", "annotated"]);
    bench.write("a.txt", "mine\n");
    let mine = bench.commit("mine");
    let done = bench.done(&push("main"));
    assert_eq!((done.id, world.of_origin("main")), (Some(mine.clone()), mine));
    assert_eq!(bench.git(&["rev-parse", "--abbrev-ref", "main@{upstream}"]), "origin/main");
    assert!(bench.git(&["--git-dir=../origin.git", "tag"]).lines().all(|tag| tag == "v1"));
    bench.done(&push("main"));
    bench.git(&["branch", "fresh"]);
    bench.done(&push("fresh"));
    assert_eq!(world.of_origin("refs/heads/fresh"), bench.id("fresh"));
}

#[test]
fn a_push_that_would_drop_commits_is_refused_by_that_name() {
    let world = World::new();
    let bench = &world.bench;
    let theirs = world.moves_on("main");
    bench.write("a.txt", "mine\n");
    bench.commit("mine");
    bench.git(&["config", "remote.origin.push", "+refs/heads/*:refs/heads/*"]);
    for _ in 0..2 {
        let failed = bench.refused(&push("main"), Class::RejectedNonFastForward);
        assert!(failed.next.contains("repo_fetch"), "{failed:#?}");
        assert_eq!(world.of_origin("main"), theirs);
        bench.done(&Operation::Fetch);
    }
}

#[test]
fn only_local_branches_are_pushed() {
    let world = World::new();
    let before = world.bench.git(&["--git-dir=../origin.git", "for-each-ref"]);
    for name in ["v1", "HEAD", "refs/heads/main", "nosuch", "main:evil", "+main", ":main", "-f", "", "mai*"] {
        world.bench.refused(&push(name), Class::NotFound);
    }
    assert_eq!(world.bench.git(&["--git-dir=../origin.git", "for-each-ref"]), before);
}

#[test]
fn a_mirror_is_not_pushed() {
    let world = World::new();
    let bench = &world.bench;
    bench.git(&["config", "remote.origin.mirror", "true"]);
    bench.git(&["branch", "-D", "side"]);
    bench.write("a.txt", "mine\n");
    bench.commit("mine");
    bench.done(&push("main"));
    assert_eq!(world.of_origin("refs/heads/side"), bench.id("origin/side"));
}

#[test]
fn a_hook_of_the_remote_that_refuses_is_told_as_such() {
    let world = World::new();
    let bench = &world.bench;
    bench.git(&["--git-dir=../origin.git", "config", "receive.denyDeletes", "true"]);
    bench.git(&["--git-dir=../origin.git", "config", "transfer.hideRefs", "refs/heads/hidden"]);
    bench.git(&["branch", "hidden"]);
    let failed = bench.refused(&push("hidden"), Class::Refused);
    assert!(failed.reason.contains("hidden"), "{failed:#?}");
}

#[test]
fn settings_that_name_programs_or_lead_elsewhere_are_refused_by_name() {
    let world = World::new();
    let bench = &world.bench;
    let touch = format!("touch {}", world.canary().display());
    let settings = [
        ("remote.origin.uploadpack", touch.as_str()),
        ("remote.origin.receivepack", &touch),
        ("remote.origin.vcs", "ext"),
        ("remote.origin.proxy", "http://127.0.0.1:9"),
        ("core.sshCommand", &touch),
        ("core.alternateRefsCommand", &touch),
        ("credential.https://example.invalid.helper", &touch),
        ("http.sslVerify", "false"),
        ("http.https://example.invalid.proxy", "http://127.0.0.1:9"),
        ("fetch.bundleURI", "file:///nowhere"),
    ];
    for (key, value) in settings {
        bench.git(&["config", key, value]);
        for operation in [Operation::Fetch, push("main")] {
            let failed = bench.refused(&operation, Class::Refused);
            let named = failed.reason.to_lowercase().contains(&key.to_lowercase());
            assert!(named, "{key}: {failed:#?}");
        }
        bench.git(&["config", "--unset-all", key]);
    }
    assert!(!world.canary().exists());
    bench.done(&Operation::Fetch);
}

#[test]
fn addresses_of_other_kinds_and_places_are_refused() {
    let world = World::new();
    let bench = &world.bench;
    let other = Bench::honest();
    let outside = other.root();
    let ext = format!("ext::sh -c touch% {}", world.canary().display());
    bench.git(&["config", "protocol.ext.allow", "always"]);
    for url in
        [&ext, "http://127.0.0.1:9/x", "git://127.0.0.1:9/x", "ftp://h/x", "foo::bar", outside.to_str().expect("UTF-8")]
    {
        bench.git(&["config", "remote.origin.url", url]);
        for operation in [Operation::Fetch, push("main")] {
            bench.refused(&operation, Class::Refused);
        }
    }
    // what an address becomes counts, not what it looks like
    bench.git(&["config", "remote.origin.url", "https://example.invalid/x"]);
    bench.git(&["config", &format!("url.{ext}.insteadOf"), "https://example.invalid/x"]);
    bench.refused(&Operation::Fetch, Class::Refused);
    bench.git(&["config", "--unset", &format!("url.{ext}.insteadOf")]);
    bench.git(&["config", &format!("url.{ext}.pushInsteadOf"), "https://example.invalid/x"]);
    bench.refused(&push("main"), Class::Refused);
    assert!(!world.canary().exists());
    bench.git(&["config", "remote.origin.url", "../nosuch.git"]);
    bench.refused(&Operation::Fetch, Class::NotFound);
}

#[test]
fn pointers_of_lfs_are_not_pushed_alone() {
    let world = World::new();
    let mut bench = world.bench;
    bench.write(".gitattributes", "*.big filter=lfs\n");
    bench.write("text.big", "no pointer\n");
    bench.commit("no pointer yet");
    bench.done(&push("main"));
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0000\nsize 12\n";
    bench.write("x.big", pointer);
    bench.write("y.txt", pointer);
    bench.commit("a pointer");
    let failed = bench.refused(&push("main"), Class::Refused);
    assert!(failed.reason.contains("x.big") && !failed.reason.contains("y.txt"), "{failed:#?}");
    bench.allowed.filters = true;
    bench.refused(&push("main"), Class::Refused);
    bench.allowed.pinned.push(("filter.lfs.clean".into(), "git-lfs clean -- %f".into()));
    bench.done(&push("main"));
}

#[test]
fn a_remote_that_is_not_reached_is_tried_again_and_told() {
    let world = World::new();
    let bench = &world.bench;
    // what answers is no repository: Git says so at once, and nothing is tried again
    fs::create_dir_all(bench.beside("empty.git")).expect("ours");
    bench.git(&["config", "remote.origin.url", "../empty.git"]);
    let failed = bench.refused(&Operation::Fetch, Class::NotFound);
    assert!(!failed.reason.contains("attempts"), "{failed:#?}");
    let exec_path = PathBuf::from(String::from_utf8(bench.allowed.programs.exec_path.clone()).expect("UTF-8"));
    if !exec_path.join("git-remote-https").exists() {
        eprintln!("SKIPPED: this git has no git-remote-https, so nothing is dialled");
        return;
    }
    // a port that nobody listens at
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port").port();
    bench.git(&["config", "remote.origin.url", &format!("https://127.0.0.1:{port}/x")]);
    let failed = bench.refused(&Operation::Fetch, Class::Network);
    assert!(failed.reason.contains("3 attempts"), "{failed:#?}");
    let failed = bench.refused(&push("main"), Class::Network);
    assert!(failed.reason.contains("3 attempts"), "{failed:#?}");
}
