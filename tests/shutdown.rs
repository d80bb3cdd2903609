//! The server leaves with exit status 0 within a second when it is told to, whatever it is doing, and nobody stays.
//! Trust: as any client; hosts escalate to SIGKILL within two seconds.

mod support;

use nix::sys::signal::Signal;
use serde_json::json;
use std::time::Duration;
use support::{
    Place, Repo, Server, Start,
    process::{self, Process},
};

/// The promise (a second), and room for a machine that runs other tests meanwhile.
const PROMPTLY: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy)]
enum Order {
    EndOfInput,
    Signal(Signal),
}

const ORDERS: [Order; 3] = [Order::EndOfInput, Order::Signal(Signal::SIGTERM), Order::Signal(Signal::SIGINT)];

fn end(server: Server, order: Order, what: &str) {
    let supervisor = server.pid();
    let launcher = process::launcher(supervisor);
    let workers = launcher.children();
    let ended = match order {
        Order::EndOfInput => server.finish(),
        Order::Signal(signal) => {
            Process(supervisor).signal(signal);
            server.ended()
        }
    };
    assert_eq!(ended.status.code(), Some(0), "{what}, {order:?}: {}", ended.said);
    assert!(ended.elapsed < PROMPTLY, "{what}, {order:?}: it took {:?}", ended.elapsed);
    let gone = || !launcher.is_alive() && workers.iter().all(|worker| !worker.is_alive());
    assert!(process::until(PROMPTLY, gone), "{what}, {order:?}: somebody stayed");
}

#[test]
fn when_it_was_just_started() {
    for order in ORDERS {
        let place = Place::new();
        let mut server = Start::new(&place).root(place.path()).spawn();
        let id = server.request("ping", json!({}));
        server.answer(&id);
        end(server, order, "just started");
    }
}

#[test]
fn when_workers_are_idle() {
    for order in ORDERS {
        let place = Place::new();
        let repo = Repo::honest(&place, "repo");
        let mut server = Start::new(&place).root(place.path()).spawn();
        assert!(server.read("repo.status", repo.path()).is_ok());
        end(server, order, "workers idle");
    }
}

#[test]
fn when_a_worker_hangs_in_a_call() {
    for order in ORDERS {
        let place = Place::new();
        let repo = Repo::honest(&place, "repo");
        let mut server = Start::new(&place).root(place.path()).spawn();
        assert!(server.read("repo.status", repo.path()).is_ok());
        process::workers(server.pid())[0].stop();
        server.ask("repo.status", json!({"repoPath": repo.path()}));
        end(server, order, "a worker hangs");
    }
}

#[test]
fn when_its_output_is_full() {
    let place = Place::new();
    let mut server = Start::new(&place).root(place.path()).backlog(1).spawn();
    let id = server.request("ping", json!({}));
    server.answer(&id);
    // few enough requests that they all fit on the way in, many enough answers that they do not fit on the way out
    for id in 1_000..1_200 {
        server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"}));
    }
    let (supervisor, launcher) = (Process(server.pid()), process::launcher(server.pid()));
    supervisor.signal(Signal::SIGTERM);
    assert!(process::until(PROMPTLY, || !supervisor.is_alive()), "a client that does not read holds it up");
    assert!(process::until(PROMPTLY, || !launcher.is_alive()), "the launcher stayed");
}

/// A server whose input is over, with more answers than its output holds.
fn over(place: &Place, requests: usize) -> std::process::Child {
    use std::io::Write as _;
    let (child, mut input) = opened(place);
    for id in 1..=requests {
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"})).expect("it reads");
    }
    child
}

/// A server with an open session, and its input.
fn opened(place: &Place) -> (std::process::Child, std::process::ChildStdin) {
    use std::{io::Write as _, process::Stdio};
    let mut command = place.command(env!("CARGO_BIN_EXE_bulkhead"));
    command.arg("--root").arg(place.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    let opening = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "slow", "version": "1"}}});
    writeln!(input, "{opening}").expect("it reads");
    (child, input)
}

#[test]
fn when_its_reader_is_slow_and_nothing_is_lost() {
    use std::io::Read as _;
    let place = Place::new();
    let mut child = over(&place, 40);
    let mut output = child.stdout.take().expect("a pipe");
    let (mut all, mut piece) = (Vec::new(), vec![0; 32 * 1024]);
    std::thread::sleep(Duration::from_millis(300));
    loop {
        let got = output.read(&mut piece).expect("it is a pipe");
        if got == 0 {
            break;
        }
        all.extend_from_slice(&piece[..got]);
        std::thread::sleep(Duration::from_millis(20));
    }
    let ids = all.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let ids = ids.map(|line| serde_json::from_slice::<serde_json::Value>(line).expect("whole lines")["id"].clone());
    assert_eq!(ids.collect::<Vec<_>>(), (0..=40).map(|id| json!(id)).collect::<Vec<_>>());
    assert_eq!(child.wait().expect("ours").code(), Some(0));
}

#[test]
fn when_nobody_reads_and_it_says_so() {
    use std::io::Read as _;
    let place = Place::new();
    let mut child = over(&place, 40);
    // held open, and never read
    let output = child.stdout.take();
    assert_eq!(child.wait().expect("ours").code(), Some(1));
    let mut said = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("UTF-8");
    assert!(said.contains("answers were lost"), "{said}");
    drop(output);
}

/// Requests that come one by one fill what waits to be looked at, and the end of the input lies behind them.
#[test]
fn when_nobody_reads_and_not_all_was_taken() {
    use std::{io::Write as _, time::Instant};
    let place = Place::new();
    let (mut child, mut input) = opened(&place);
    for id in 1..=80 {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"});
        writeln!(input, "{request}").expect("it reads, or the pipe has room");
        std::thread::sleep(Duration::from_millis(3));
    }
    let output = child.stdout.take();
    drop(input);
    let until = Instant::now() + Duration::from_secs(30);
    let status = loop {
        match child.try_wait().expect("ours") {
            None if Instant::now() < until => std::thread::sleep(Duration::from_millis(50)),
            None => {
                child.kill().expect("ours");
                panic!("it waits for a reader for ever");
            }
            Some(status) => break status,
        }
    };
    assert_eq!(status.code(), Some(1));
    drop(output);
}

#[test]
fn two_copies_do_not_know_each_other() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let mut one = Start::new(&place).root(place.path()).spawn();
    let mut two = Start::new(&place).root(place.path()).spawn();
    assert!(one.read("repo.status", repo.path()).is_ok());
    assert!(two.read("repo.status", repo.path()).is_ok());
    assert!(one.finish().status.success());
    assert!(two.read("repo.brief", repo.path()).is_ok());
    assert!(two.finish().status.success());
}

/// A host may have made the pipe non-blocking for everybody who shares it; a slow reader still gets every byte.
#[test]
fn a_call_into_a_full_non_blocking_pipe_waits_for_its_reader() {
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    use std::{io::Read as _, process::Stdio};
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    for n in 0..3_000 {
        std::fs::write(repo.path().join(format!("untracked-file-with-a-long-name-{n}")), "").expect("ours");
    }
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    fcntl(&writer, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).expect("ours");
    let mut command = place.command(env!("CARGO_BIN_EXE_bulkhead"));
    command.arg("--root").arg(place.path()).args(["call", "repo.status", "limit=3000"]).current_dir(repo.path());
    let mut child = command.stdout(writer).stderr(Stdio::null()).spawn().expect("it starts");
    drop(command);
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("UTF-8");
    assert!(child.wait().expect("ours").success());
    let value: serde_json::Value = serde_json::from_str(&text).expect("all of it came");
    assert_eq!(value["data"]["changedFiles"], 3_000);
}
