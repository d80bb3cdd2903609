//! What a hook cannot reach: files and programs elsewhere, a network, the operator's keys and variables.
//! Trust: test code; each way is shown to work without the walls, by the same script under the real `git`.

use crate::{
    World, executable,
    support::{
        Start,
        direct::{Served, identity},
    },
};
use serde_json::json;
use std::{fs, net::TcpListener, process::Command};

#[test]
fn a_hook_reaches_the_repository_and_the_systems_programs_alone() {
    let world = World::new();
    identity(&world.place);
    let outside = world.place.directory("outside");
    fs::write(outside.join("secret"), "TOP-SECRET\n").expect("ours");
    fs::write(outside.join("program"), "#!/bin/sh\necho ran >ran.txt\n").expect("ours");
    executable(&outside.join("program"));
    fs::create_dir_all(world.place.home().join(".ssh")).expect("ours");
    fs::write(world.place.home().join(".ssh/id_test"), "PRIVATE KEY\n").expect("ours");
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    listener.set_nonblocking(true).expect("ours");
    let port = listener.local_addr().expect("it is bound").port();
    let tester = std::process::id();
    let (there, home) = (outside.display(), world.place.home().display().to_string());
    world.hook(
        "post-commit",
        &format!(
            "mkdir -p found; cat {there}/secret >found/secret; cat {home}/.ssh/id_test >found/key\n\
             cat {home}/.gitconfig >found/gitconfig; {there}/program; mv ran.txt found/\n\
             echo planted >{there}/planted; ln {there}/secret found/hard\n\
             perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(PeerAddr => \"127.0.0.1:{port}\") ? 1 : q()' >found/tcp\n\
             perl -MIO::Socket::UNIX -e 'print IO::Socket::UNIX->new(Local => \"found/socket\") ? 1 : q()' >found/unix\n\
             kill -0 {tester} && echo 1 >found/signal\n\
             env >found/env.txt; cat /proc/$PPID/environ >found/proc; ls / >found/root\n\
             find found -type f -size 0 -delete; exit 0"
        ),
    );
    let found = |name: &str| fs::read_to_string(world.repo.join("found").join(name)).ok();

    // the same script reaches all of it under the real git
    world.write("a.txt", "control\n");
    let mut control = Command::new("git");
    control.current_dir(&world.repo).args(["commit", "-qam", "control"]).env("HOME", world.place.home());
    assert!(control.output().expect("git is there").status.success());
    let reached = ["secret", "key", "gitconfig", "ran.txt", "hard", "tcp", "unix", "signal", "proc", "root"];
    let missed: Vec<_> = reached.iter().filter(|name| !world.repo.join("found").join(name).exists()).collect();
    assert!(missed.is_empty() && outside.join("planted").exists(), "a trap that does not work: {missed:?}");
    assert!(listener.accept().is_ok(), "it was called");
    fs::remove_dir_all(world.repo.join("found")).expect("ours");
    fs::remove_file(outside.join("planted")).expect("ours");

    let mut start = Start::new(&world.place).arguments(&["--surface", "direct", "--allow-write", "--repo"]);
    start = start.argument(&world.repo).arguments(&["--hooks", "run"]);
    start = start.environment("AN_API_TOKEN", "TOP-SECRET").environment("SSH_AUTH_SOCK", "/nonexistent/agent");
    let mut served = Served(start.spawn());
    world.write("a.txt", "walled\n");
    let done = served.value("repo_commit", json!({"paths": ["a.txt"], "message": "walled"}));
    assert_eq!(done["hooks_run"], json!(["post-commit"]), "{done}");
    let reached: Vec<_> = reached.iter().filter(|name| world.repo.join("found").join(name).exists()).collect();
    assert!(reached.is_empty(), "reached: {reached:?}");
    assert!(!outside.join("planted").exists());
    assert!(listener.accept().is_err(), "nobody called");
    let env = found("env.txt").expect("the hook went to its end");
    assert!(env.contains("HOME=/nonexistent") && env.contains("PATH=/"), "{env}");
    for hidden in ["TOP-SECRET", "SSH_AUTH_SOCK", home.as_str()] {
        let leaked =
            env.lines().find(|line| line.contains(hidden) && !line.starts_with("GIT_") && !is_of_the_place(line));
        assert_eq!(leaked, None, "{hidden}");
    }
}

/// Variables that name the repository, which may lie beneath the home.
fn is_of_the_place(line: &str) -> bool {
    ["PWD=", "OLDPWD=", "TMPDIR=", "PATH="].iter().any(|name| line.starts_with(name))
}

#[test]
fn a_push_runs_no_hook_beside_the_operators_keys() {
    let world = World::new();
    world.hook("pre-push", "echo ran >ran.txt");
    world.hook("reference-transaction", "echo ran >ran.txt");
    let mut served = world.served(&[]);
    let done = served.value("repo_push", json!({"branch": "main"}));
    assert_eq!(done["hooks_skipped"], json!(["pre-push", "reference-transaction"]), "{done}");
    assert_eq!(done.get("hooks_run"), None, "{done}");
    served.value("repo_fetch", json!({}));
    assert!(!world.repo.join("ran.txt").exists());
}

#[test]
fn without_walls_no_hook_runs() {
    use crate::support::layers::{EINVAL, ENOSYS, PRCTL, SECCOMP, under, without, without_files_layers};
    let no_files = || without_files_layers(ENOSYS).to_vec();
    let no_calls = || vec![without(&[SECCOMP, PRCTL], EINVAL)];
    for (lacking, name) in [(no_files(), "Landlock"), (no_calls(), "system-call filters")] {
        let world = World::new();
        world.hook("pre-commit", "echo ran >ran.txt");
        let best = ["--isolation", "best-effort"];
        let mut served = under(&lacking, || world.served(&best));
        world.write("a.txt", "changed\n");
        let commit = json!({"paths": ["a.txt"], "message": "x"});
        let failure = served.fails("repo_commit", commit.clone(), "refused");
        assert!(failure["reason"].as_str().is_some_and(|reason| reason.contains("--hooks run")), "{name}: {failure}");
        assert!(!world.repo.join("ran.txt").exists(), "{name}");
        if name != "Landlock" {
            // without filters no Git is started at all
            continue;
        }
        // Git alone is taken as the operator wants it, and so are fetch and push, beside which none runs
        assert_eq!(served.value("repo_fetch", json!({}))["fetched"], true, "{name}");
        let off = || Served::writing(&world.place, &world.repo, &best);
        assert_eq!(under(&lacking, off).value("repo_commit", commit)["hooks_skipped"], json!(["pre-commit"]), "{name}");
    }
}
