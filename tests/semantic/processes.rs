//! The processes that parse: when they start, how many there are, that one may die or hang, and one process for all.
//! Trust: processes are looked at and killed from outside.

use crate::support::{Place, Repo, Start, process};
use nix::sys::signal::Signal;
use serde_json::json;
use std::time::Duration;

fn changed(place: &Place, files: usize) -> Repo<'_> {
    let repo = Repo::honest(place, "repo");
    for file in 0..files {
        repo.write(format!("f{file}.rs"), "fn one() {\n    a();\n}\n");
    }
    repo.git(&["add", "-A"]);
    repo.commit("old");
    for file in 0..files {
        repo.write(format!("f{file}.rs"), "fn one() {\n    b();\n}\n");
    }
    repo
}

#[test]
fn parsers_start_with_the_first_file_and_are_replaced_when_they_die() {
    let place = Place::new();
    let repo = changed(&place, 6);
    let mut server = Start::new(&place).root(place.path()).spawn();
    let parsers = |server: &crate::support::Server| process::of_kind(server.pid(), "syntax");
    assert!(server.read("repo.status", repo.path()).is_ok());
    assert!(server.read("diff.text", repo.path()).is_ok());
    assert_eq!(parsers(&server), [], "nothing was to be parsed yet");
    assert!(server.read("diff.semantic", repo.path()).is_ok());
    let first = parsers(&server);
    assert!((1..=2).contains(&first.len()), "{first:?}");
    assert!(server.read("diff.semantic", repo.path()).is_ok());
    assert_eq!(parsers(&server), first, "they stay, warm");
    for one in &first {
        one.signal(Signal::SIGKILL);
        assert!(process::until(Duration::from_secs(10), || !one.is_alive()));
    }
    let again = server.read("diff.semantic", repo.path());
    let files = again.data()["files"].as_array().expect("files");
    assert!(files.iter().all(|file| file["fallbackToText"] == json!(false)), "{}", again.message);
    assert!(parsers(&server).iter().all(|one| !first.contains(one)));
    assert!(server.finish().status.success());
}

#[test]
fn a_parser_that_stands_still_costs_its_file_and_not_the_call() {
    let place = Place::new();
    let repo = changed(&place, 1);
    let mut server = Start::new(&place).root(place.path()).arguments(&["--deadline", "18"]).spawn();
    assert!(server.read("diff.semantic", repo.path()).is_ok());
    let parser = process::of_kind(server.pid(), "syntax")[0];
    parser.stop();
    let outcome = server.read("diff.semanticFallbacks", repo.path());
    assert_eq!(outcome.data()["fallbacks"][0]["reason"], json!("time"), "{}", outcome.message);
    assert!(process::until(Duration::from_secs(10), || !parser.is_alive()), "it was ended");
    let again = server.read("diff.semanticFallbacks", repo.path());
    assert_eq!(again.data()["fallbacks"], json!([]), "{}", again.message);
    assert!(server.finish().status.success());
}

#[test]
fn a_parser_has_no_thread_and_no_descriptor_but_its_pipes() {
    let place = Place::new();
    let repo = changed(&place, 1);
    let mut server = Start::new(&place).root(place.path()).spawn();
    assert!(server.read("diff.semantic", repo.path()).is_ok());
    let parser = process::of_kind(server.pid(), "syntax")[0];
    assert_eq!(parser.status("Threads").as_deref(), Some("1"));
    assert_eq!(parser.status("Seccomp").as_deref(), Some("2"));
    if crate::support::is_root() {
        let open = std::fs::read_dir(parser.proc("fd")).expect("root may look").flatten();
        let open: Vec<_> = open.filter_map(|fd| std::fs::read_link(fd.path()).ok()).collect();
        let pipes = open.iter().filter(|target| target.to_string_lossy().starts_with("pipe:")).count();
        let others: Vec<_> = open
            .iter()
            .filter(|target| !target.to_string_lossy().starts_with("pipe:") && target.as_os_str() != "/dev/null")
            .collect();
        assert!(pipes >= 2 && others.is_empty(), "{open:?}");
    }
    assert!(server.finish().status.success());
}

#[test]
fn one_process_answers_the_same() {
    let place = Place::new();
    let repo = changed(&place, 3);
    let mut answers = Vec::new();
    for arguments in [&[][..], &["--isolation", "off"]] {
        let mut server = Start::new(&place).root(place.path()).arguments(arguments).spawn();
        let outcome = server.read("diff.semantic", repo.path());
        assert!(outcome.is_ok(), "{}", outcome.message);
        answers.push(outcome.data().clone());
        assert!(server.finish().status.success());
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0]["files"].as_array().map(Vec::len), Some(3));
}

#[test]
fn a_cancelled_call_is_not_answered_and_the_next_one_is() {
    let place = Place::new();
    let repo = changed(&place, 40);
    let mut server = Start::new(&place).root(place.path()).spawn();
    let id = server.ask("diff.semantic", json!({"repoPath": repo.path()}));
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    // it may have been answered before it was cancelled
    let next = server.read("diff.semantic", repo.path());
    let files = next.data()["files"].as_array().expect("files");
    assert!(files.iter().all(|file| file["fallbackToText"] == json!(false)), "{}", next.message);
    assert!(server.finish().status.success());
}
