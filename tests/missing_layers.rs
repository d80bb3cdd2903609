//! On a machine that lacks a layer, `required` serves the handshake and refuses every call by the layer's name;
//! `best-effort` goes on and says so; what is only a convenience is done without.
//! Trust: the machine is this one, seen through a seccomp filter that the product inherits.

#![cfg(target_os = "linux")]

mod support;

use serde_json::{Value, json};
use support::{
    Place, Repo, Server, Start,
    layers::{
        CLONE3, CLOSE_RANGE, EINVAL, ENOSYS, EOPNOTSUPP, EPERM, LANDLOCK, OPENAT2, PIDFD_OPEN, PRCTL, SECCOMP, UNSHARE,
        under, without, without_files_layers,
    },
    server::meta,
    unmet,
};

fn handshake(server: &mut Server) {
    for method in ["server/discover", "tools/list"] {
        let id = server.request(method, json!({"_meta": meta()}));
        let message = server.answer(&id).message;
        assert!(message.get("result").is_some(), "{method} is served: {message}");
    }
}

/// The ways in which Landlock can be missing, and a word that tells each from the others.
const WITHOUT_LANDLOCK: [(u32, &str); 3] =
    [(ENOSYS, "ENOSYS"), (EPERM, "outer filter"), (EOPNOTSUPP, "disabled at boot")];

#[test]
fn without_landlock_and_namespaces_required_refuses_every_call_and_says_why() {
    for (errno, word) in WITHOUT_LANDLOCK {
        let place = Place::new();
        let repo = Repo::honest(&place, "repo");
        let filters = without_files_layers(errno);
        let mut server = under(&filters, || Start::new(&place).root(place.path()).spawn());
        handshake(&mut server);
        for tool in support::TOOLS {
            let outcome = server.read(tool, repo.path());
            assert_eq!(outcome.code(), Some(10020), "{word}: {}", outcome.message);
            let error = outcome.error().expect("it has a code").to_string();
            assert!(error.contains("landlock") && error.contains(word), "layer and cause are named: {error}");
            assert!(error.contains("--isolation best-effort"), "the flag that goes on without it is named: {error}");
        }
        assert!(server.finish().status.success());

        let start = || Start::new(&place).root(place.path()).cwd(place.at("repo"));
        let output = under(&filters, || start().arguments(&["doctor"]).output());
        assert_eq!(output.status.code(), Some(2), "doctor: required is not met");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("landlock"), "doctor names the layer: {text}");
        let output = under(&filters, || start().arguments(&["call", "repo.status"]).output());
        assert_eq!(output.status.code(), Some(1), "call: an error of the tool");
    }
}

#[test]
fn without_landlock_alone_the_empty_root_takes_its_place_or_calls_are_refused() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let filters = [without(LANDLOCK, ENOSYS)];
    let start = || Start::new(&place).root(place.path()).cwd(place.at("repo"));
    let mut server = under(&filters, || start().spawn());
    let outcome = server.read("repo.status", repo.path());
    assert!(server.finish().status.success());
    let output = under(&filters, || start().arguments(&["doctor", "--json"]).output());
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    if outcome.is_ok() {
        assert!(report.contains("empty-root"), "what confines files instead is named: {report}");
        assert_ne!(output.status.code(), Some(2), "required is met");
    } else {
        assert_eq!(outcome.code(), Some(10020), "{}", outcome.message);
        assert_eq!(output.status.code(), Some(2), "required is not met");
        unmet::unmet("namespaces for the empty root");
    }
}

#[test]
fn best_effort_answers_and_says_what_is_missing() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let filters = without_files_layers(ENOSYS);
    let start = || Start::new(&place).root(place.path()).arguments(&["--isolation", "best-effort"]);
    let mut server = under(&filters, || start().spawn());
    handshake(&mut server);
    assert!(server.read("repo.status", repo.path()).is_ok());
    let said = instructions(&mut server);
    assert!(said.contains("isolation: best effort"), "the agent is told: {said}");
    // the paths are still checked
    server.read("repo.status", std::path::Path::new("/etc")).expect_refused("outside", &["outside-roots"]);
    assert!(server.finish().status.success());
    let output = under(&filters, || start().cwd(place.at("repo")).arguments(&["doctor", "--json"]).output());
    assert_eq!(output.status.code(), Some(1), "doctor: it works, with less");
    let report: Value = serde_json::from_slice(&output.stdout).expect("doctor --json prints JSON");
    assert!(report.to_string().contains("landlock"), "{report}");
}

fn instructions(server: &mut Server) -> String {
    let id = server.request("server/discover", json!({"_meta": meta()}));
    server.answer(&id).message["result"]["instructions"].as_str().unwrap_or_default().to_lowercase()
}

#[test]
fn without_seccomp_required_refuses_and_best_effort_goes_on() {
    let filter = [without(&[SECCOMP, PRCTL], EINVAL)];
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let mut server = under(&filter, || Start::new(&place).root(place.path()).spawn());
    handshake(&mut server);
    let outcome = server.read("repo.status", repo.path());
    assert_eq!(outcome.code(), Some(10020), "{}", outcome.message);
    assert!(outcome.error().expect("it has a code").to_string().contains("seccomp"), "{}", outcome.message);
    assert!(server.finish().status.success());
    let start = || Start::new(&place).root(place.path()).arguments(&["--isolation", "best-effort"]).spawn();
    let mut server = under(&filter, start);
    assert!(server.read("repo.status", repo.path()).is_ok());
    assert!(server.finish().status.success());
}

#[test]
fn what_is_only_a_convenience_is_done_without() {
    for (what, calls, errno, flags) in [
        ("close_range", &[CLOSE_RANGE][..], ENOSYS, &[][..]),
        ("openat2", &[OPENAT2], ENOSYS, &[]),
        ("pidfd", &[PIDFD_OPEN], ENOSYS, &[]),
        ("clone3", &[CLONE3], ENOSYS, &[]),
        ("user namespaces", &[UNSHARE], EPERM, &["--empty-root"]),
    ] {
        let place = Place::new();
        let repo = Repo::honest(&place, "repo");
        let filter = [without(calls, errno)];
        let mut server = under(&filter, || Start::new(&place).root(place.path()).arguments(flags).spawn());
        let outcome = server.read("repo.status", repo.path());
        assert!(outcome.is_ok(), "without {what}: {}", outcome.message);
        assert!(server.finish().status.success());
    }
}

#[test]
fn off_is_visible() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let start = Start::new(&place).root(place.path()).arguments(&["--isolation", "off"]);
    let mut server = start.clone().spawn();
    assert!(server.read("repo.status", repo.path()).is_ok());
    let said = instructions(&mut server);
    assert!(said.contains("isolation: off"), "the agent is told: {said}");
    let ended = server.finish();
    assert!(ended.status.success());
    assert!(ended.said.contains("isolation is off"), "one line on standard error: {}", ended.said);
    let output = start.cwd(repo.path()).arguments(&["doctor"]).output();
    assert_eq!(output.status.code(), Some(1), "doctor: it works, with less");
}
