//! A worker that dies takes one call with it and nothing else; when the supervisor or the launcher dies, nobody stays.
//! Trust: processes are killed from outside, as an out-of-memory killer would.

mod support;

use nix::sys::signal::Signal;
use serde_json::json;
use std::time::Duration;
use support::{
    Place, Repo, Server, Start,
    process::{self, Process},
};

/// Time in which processes that must not outlive another have to be gone.
const SOON: Duration = Duration::from_secs(1);

/// A server with one warm worker, and the worker.
fn warm(place: &Place) -> (Server, Process) {
    let repo = Repo::honest(place, "repo");
    let mut server = Start::new(place).root(place.path()).spawn();
    assert!(server.read("repo.status", repo.path()).is_ok());
    let workers = process::workers(server.pid());
    assert_eq!(workers.len(), 1, "one repository, one worker");
    (server, workers[0])
}

#[test]
fn a_worker_killed_between_calls_is_replaced_unnoticed() {
    let place = Place::new();
    let (mut server, worker) = warm(&place);
    worker.signal(Signal::SIGKILL);
    assert!(process::until(SOON, || !worker.is_alive()));
    let outcome = server.read("repo.status", &place.at("repo"));
    assert!(outcome.is_ok(), "{}", outcome.message);
    assert_ne!(process::workers(server.pid()), [worker]);
    assert!(server.finish().status.success());
}

#[test]
fn a_worker_killed_during_a_call_costs_that_call_alone() {
    let place = Place::new();
    let (mut server, _) = warm(&place);
    let other = Repo::honest(&place, "other");
    assert!(server.read("repo.status", other.path()).is_ok());
    let busy = Repo::honest(&place, "busy");
    // enough to look at that the call is still open when its worker is stopped and killed
    for directory in 0..60 {
        for file in 0..100 {
            busy.write(format!("d{directory}/f{file}"), "x");
        }
    }
    let known = process::workers(server.pid());
    let call = server.ask("repo.status", json!({"repoPath": busy.path()}));
    let mut victim = None;
    assert!(process::until(Duration::from_secs(20), || {
        victim = process::workers(server.pid()).into_iter().find(|worker| !known.contains(worker));
        victim.is_some()
    }));
    let victim = victim.expect("just found");
    victim.stop();
    let meanwhile = server.read("repo.status", other.path());
    assert!(meanwhile.is_ok(), "another repository does not notice: {}", meanwhile.message);
    victim.signal(Signal::SIGKILL);
    let outcome = server.answer(&call);
    // it may have been done before it was stopped
    assert!(outcome.is_ok() || outcome.code() == Some(10022), "{}", outcome.message);
    // a question that is on its way to somebody who is dying may be lost with it, one to the dead is asked of another
    assert!(process::until(SOON, || !victim.is_alive()), "it was killed");
    let again = server.read("repo.status", busy.path());
    assert!(again.is_ok(), "{}", again.message);
    assert!(server.finish().status.success());
}

#[test]
fn a_worker_that_hangs_is_ended_by_the_deadline() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let mut server = Start::new(&place).root(place.path()).arguments(&["--deadline", "2"]).spawn();
    assert!(server.read("repo.status", repo.path()).is_ok());
    let worker = process::workers(server.pid())[0];
    worker.stop();
    let outcome = server.read("repo.status", repo.path());
    assert_eq!(outcome.code(), Some(10021), "{}", outcome.message);
    assert!(process::until(SOON, || !worker.is_alive()), "the worker that hung is gone");
    let again = server.read("repo.brief", repo.path());
    assert!(again.is_ok(), "{}", again.message);
    assert!(server.finish().status.success());
}

#[test]
fn nobody_outlives_a_killed_supervisor() {
    let place = Place::new();
    let (server, worker) = warm(&place);
    let (supervisor, launcher) = (Process(server.pid()), process::launcher(server.pid()));
    // one that is stopped cannot react; the kernel must end it
    worker.stop();
    supervisor.signal(Signal::SIGKILL);
    let gone = process::until(SOON, || !worker.is_alive() && !launcher.is_alive());
    assert!(gone, "worker alive: {}, launcher alive: {}", worker.is_alive(), launcher.is_alive());
    assert!(!server.ended().status.success());
}

#[test]
fn a_killed_launcher_is_reported_and_its_workers_are_gone() {
    let place = Place::new();
    let (mut server, worker) = warm(&place);
    process::launcher(server.pid()).signal(Signal::SIGKILL);
    assert!(process::until(SOON, || !worker.is_alive()), "the worker outlived its launcher");
    // the session goes on, and says why it cannot read
    let outcome = server.read("repo.status", &place.at("repo"));
    let code = outcome.code();
    assert!(matches!(code, Some(10022 | 10023)), "{}", outcome.message);
    let outcome = server.read("repo.brief", &place.at("repo"));
    assert_eq!(outcome.code(), Some(10023), "{}", outcome.message);
    let message = outcome.error().expect("it has a code").to_string();
    assert!(message.contains("launcher"), "the reason is named: {message}");
    assert!(message.contains("restart the server"), "{message}");
    assert_eq!(outcome.error().expect("it has a code")["data"]["retryable"], false, "{message}");
    let id = server.request("ping", json!({}));
    assert_eq!(server.answer(&id).message["result"], json!({}));
    assert!(server.finish().status.success());
}

#[test]
fn a_launcher_that_gets_a_signal_of_the_terminal_goes_with_the_server() {
    let place = Place::new();
    let (server, worker) = warm(&place);
    let launcher = process::launcher(server.pid());
    let ended = server.finish();
    assert!(ended.status.success(), "{}", ended.said);
    assert!(process::until(SOON, || !worker.is_alive() && !launcher.is_alive()));
}
