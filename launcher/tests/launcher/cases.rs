//! What the launcher does and refuses.
//! Trust: part of the tests.

use crate::side::{Side, Worker, audit_init, init};
use bulkhead_ipc::{
    codec,
    edge::{
        WorkerKind,
        audit::ToAudit,
        launcher::{End, FromLauncher, MAX_PACKET, MAX_SPAWN_PATH, MAX_STATUS, StatusOf, ToLauncher},
        read::Init,
    },
};
use bulkhead_launcher::{EXIT_VIOLATION, MAX_CHILDREN};
use bulkhead_sandbox::children::Ended;
use nix::errno::Errno;
use std::{
    env,
    fs::{self, File},
    io::{self, Read},
    os::fd::OwnedFd,
    process::{self, Command},
};

/// All cases by name.
pub const ALL: &[(&str, fn())] = &[
    ("a_worker_is_told_its_init_and_then_talks_over_its_pipes", told_and_talks),
    ("two_workers_do_not_share_ends", two_workers),
    ("a_path_passes_byte_for_byte", path_passes),
    ("a_worker_starts_with_nothing_but_its_own", clean_start),
    ("a_killed_worker_and_one_that_leaves_are_told_apart_and_said_once", ends),
    ("a_kill_of_a_stranger_does_nothing", stranger),
    ("status_of_all_three_and_of_no_one_else", status),
    ("the_end_of_a_child_survives_a_full_socket", full_socket),
    ("closing_the_socket_ends_the_workers_and_then_the_launcher", closing),
    ("what_is_no_request_ends_the_launcher_and_its_workers", violations),
    ("a_worker_beyond_the_limit_ends_it_all", too_many),
    ("the_one_that_records_has_a_socket_of_its_own_and_is_alone", recorder),
    ("a_host_that_ignores_the_ends_of_its_children_hides_none", ignored),
    ("an_executable_replaced_on_disk_is_not_started", replaced),
];

fn told_and_talks() {
    let side = Side::start();
    let mut worker = side.spawn(41, None);
    assert_eq!(worker.init(), init());
    assert_eq!(worker.ask(b"anything"), b"anything");
    let mut buffer = [0; 1];
    for end in [&mut worker.answers, &mut worker.stderr] {
        let nothing = end.read(&mut buffer).expect_err("nothing is there to read");
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock, "the ends are handed over non-blocking");
    }
    worker.say(b"exit");
    assert_eq!(worker.errors(), "");
}

fn two_workers() {
    let side = Side::start();
    let (mut one, mut two) = (side.spawn(1, None), side.spawn(2, Some(b"/two")));
    assert_ne!(one.pid, two.pid);
    assert_eq!((one.init().path, two.init().path), (None, Some(b"/two".to_vec())));
    one.say(b"for one");
    two.say(b"for two");
    assert_eq!((one.answer(), two.answer()), (b"for one".to_vec(), b"for two".to_vec()));
    // if the launcher or the second worker still held an end of it, the first would not notice this
    drop(one.requests);
    assert_eq!(side.hear().0, FromLauncher::Ended { pid: one.pid, end: End::Exit(0) });
    assert_eq!(two.ask(b"still here"), b"still here");
}

fn path_passes() {
    let side = Side::start();
    let every: Vec<u8> = (0..=255).collect();
    let paths = [every, vec![0xfe; MAX_SPAWN_PATH], Vec::new()];
    // all live until the end, so that no `Ended` comes in between
    let mut workers: Vec<_> = paths.iter().zip(1..).map(|(path, ticket)| side.spawn(ticket, Some(path))).collect();
    for (worker, path) in workers.iter_mut().zip(paths) {
        assert_eq!(worker.init(), Init { path: Some(path), ..init() });
    }
}

fn clean_start() {
    let side = Side::start();
    let mut worker = side.spawn(1, None);
    worker.init();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    let mut variables: Vec<_> = text(worker.ask(b"environment")).split_terminator('\0').map(str::to_owned).collect();
    variables.sort();
    assert_eq!(variables, ["HOME=/nonexistent", "LC_ALL=C", "TZ=UTC0"]);
    assert_eq!(
        text(worker.ask(b"arguments")),
        format!("bulkhead-read\0worker\0read\0{}\0", side.launcher_pid()),
        "the whole command line, which anybody may read"
    );
    assert_eq!(text(worker.ask(b"directory")), "/");
    assert_eq!(text(worker.ask(b"descriptors")), "0 /dev/null\n1 /dev/null\n2 pipe\n3 pipe\n4 pipe");
    let status = text(worker.ask(b"status"));
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    assert!(status.contains("SigBlk:\t0000000000000000"), "{status}");
    assert!(status.contains(&format!("PPid:\t{}", side.launcher_pid())), "{status}");
}

fn ends() {
    let side = Side::start();
    let (mut killed, mut leaves) = (side.spawn(1, None), side.spawn(2, None));
    side.ask(&ToLauncher::Kill { pid: killed.pid });
    assert_eq!(side.hear().0, FromLauncher::Ended { pid: killed.pid, end: End::Signal(9) });
    killed.gone();
    leaves.say(b"exit");
    assert_eq!(side.hear().0, FromLauncher::Ended { pid: leaves.pid, end: End::Exit(7) });
    // a taken-over worker chooses its signal, also among those without a name
    let odd = side.spawn(3, None);
    assert!(Command::new("kill").args(["-34", &odd.pid.to_string()]).status().expect("kill").success());
    assert_eq!(side.hear().0, FromLauncher::Ended { pid: odd.pid, end: End::Signal(34) });
    // asked again about one that is gone, it says nothing more about it
    side.ask(&ToLauncher::Kill { pid: killed.pid });
    side.ask(&ToLauncher::Status { ticket: 9, of: StatusOf::Worker { pid: killed.pid } });
    assert_eq!(side.hear().0, FromLauncher::Status { ticket: 9, text: Vec::new() });
}

fn stranger() {
    let mut stranger = Command::new("sleep").arg("1000").spawn().expect("sleep");
    let pid = stranger.id() as i32;
    let side = Side::start();
    for pid in [pid, 1, side.launcher_pid(), process::id() as i32] {
        side.ask(&ToLauncher::Kill { pid });
    }
    side.ask(&ToLauncher::Status { ticket: 3, of: StatusOf::Worker { pid } });
    assert_eq!(side.hear().0, FromLauncher::Status { ticket: 3, text: Vec::new() }, "nor is its status shown");
    assert!(stranger.try_wait().expect("own child").is_none(), "the launcher killed what is not its own");
    stranger.kill().expect("own child");
    stranger.wait().expect("own child");
}

fn status() {
    let side = Side::start();
    let worker = side.spawn(1, None);
    let all = [
        (StatusOf::Worker { pid: worker.pid }, worker.pid),
        (StatusOf::Launcher, side.launcher_pid()),
        (StatusOf::Supervisor, process::id() as i32),
    ];
    for (of, pid) in all {
        side.ask(&ToLauncher::Status { ticket: 5, of });
        let FromLauncher::Status { ticket: 5, text } = side.hear().0 else { panic!("no status") };
        assert!(text.len() <= MAX_STATUS);
        let text = String::from_utf8(text).expect("text");
        for line in ["Name:\t", &format!("Pid:\t{pid}\n"), "NoNewPrivs:\t", "Seccomp:\t"] {
            assert!(text.contains(line), "{of:?}: no {line:?} in {text}");
        }
        if of == StatusOf::Launcher {
            assert!(text.contains("NoNewPrivs:\t1") && text.contains("Seccomp:\t2"), "an unjailed launcher: {text}");
        }
    }
}

fn full_socket() {
    let side = Side::start();
    let mut worker = side.spawn(1, None);
    worker.init();
    let request = codec::encode(&ToLauncher::Status { ticket: 2, of: StatusOf::Launcher }).expect("small");
    let mut asked = 0;
    // both directions fill up, because nobody reads the answers
    while asked < 100_000 && side.send(&request).is_ok() {
        asked += 1;
    }
    assert!(asked < 100_000, "the launcher took everything, so its memory grows without bound");
    worker.say(b"exit");
    worker.gone();
    let (mut answered, mut ended) = (0, 0);
    while answered < asked || ended == 0 {
        match side.hear().0 {
            FromLauncher::Status { ticket: 2, .. } => answered += 1,
            FromLauncher::Ended { pid, end: End::Exit(7) } if pid == worker.pid => ended += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((answered, ended), (asked, 1));
}

fn closing() {
    let side = Side::start();
    let (mut one, mut two) = (side.spawn(1, None), side.spawn(2, None));
    assert_eq!(side.close(), Ended::Exit(0));
    one.gone();
    two.gone();
}

fn violations() {
    let spawn = |path: usize| ToLauncher::Spawn { ticket: 1, kind: WorkerKind::Read, path: Some(vec![b'a'; path]) };
    let encode = |request: &ToLauncher| codec::encode(request).expect("small");
    let with_a_tail = [encode(&spawn(3)), vec![0]].concat();
    let packets = [
        ("garbage", b"\xff\xff\xff".to_vec()),
        ("an unknown kind", b"\x00\x01\x09\x00".to_vec()),
        ("bytes after the request", with_a_tail),
        ("a path too long", encode(&spawn(MAX_SPAWN_PATH + 1))),
        (
            "a path for the one that records",
            encode(&ToLauncher::Spawn { ticket: 1, kind: WorkerKind::Audit, path: Some(b"/a".to_vec()) }),
        ),
        (
            "a path for one that writes",
            encode(&ToLauncher::Spawn { ticket: 1, kind: WorkerKind::Write, path: Some(b"/a".to_vec()) }),
        ),
        ("a packet too long", vec![0; MAX_PACKET + 1]),
        ("a kill of a group", encode(&ToLauncher::Kill { pid: 0 })),
        ("a kill of everybody", encode(&ToLauncher::Kill { pid: -1 })),
    ];
    for (what, packet) in packets {
        let side = Side::start();
        let mut worker = side.spawn(1, None);
        side.send(&packet).expect("the socket has room");
        assert_eq!(side.ended(), Ended::Exit(EXIT_VIOLATION), "{what}");
        worker.gone();
    }
}

fn too_many() {
    let side = Side::start();
    let mut workers: Vec<_> = (0..MAX_CHILDREN).map(|n| side.spawn(n as u32, None)).collect();
    side.ask(&ToLauncher::Spawn { ticket: 99, kind: WorkerKind::Read, path: None });
    assert_eq!(side.ended(), Ended::Exit(EXIT_VIOLATION));
    workers.iter_mut().for_each(super::side::Worker::gone);
}

fn recorder() {
    let side = Side::start();
    let spawn = |ticket| {
        side.ask(&ToLauncher::Spawn { ticket, kind: WorkerKind::Audit, path: None });
        side.hear()
    };
    for ticket in [1, 3] {
        let (FromLauncher::Spawned { ticket: same, pid }, fds) = spawn(ticket) else { panic!("not spawned") };
        assert_eq!(same, ticket);
        let [requests, answers, stderr] = <[OwnedFd; 3]>::try_from(fds).expect("three descriptors").map(File::from);
        let mut worker = Worker { pid, requests, answers, stderr };
        let told: ToAudit = codec::decode(&worker.answer()).expect("the launcher's own frame");
        assert_eq!(told, ToAudit::Init(Box::new(audit_init())));
        let held = String::from_utf8(worker.ask(b"descriptors")).expect("text");
        assert_eq!(held, "0 /dev/null\n1 /dev/null\n2 pipe\n3 pipe\n4 pipe\n5 socket");
        let (refused, _) = spawn(ticket + 1);
        assert!(
            matches!(refused, FromLauncher::SpawnFailed { errno, .. } if errno == Errno::EBUSY as i32),
            "{refused:?}"
        );
        worker.say(b"exit");
        assert_eq!(side.hear().0, FromLauncher::Ended { pid, end: End::Exit(7) }, "it is not killed for leaving");
    }
}

fn ignored() {
    let script = "trap '' CHLD; exec \"$0\" started-by-a-host-that-ignores-its-children";
    let own = env::current_exe().expect("own");
    let ended = Command::new("sh").arg("-c").arg(script).arg(own).status().expect("starts");
    assert!(ended.success(), "{ended}");
}

/// In a process that inherited an ignored SIGCHLD.
pub fn under_a_careless_host() {
    let side = Side::start();
    let mut worker = side.spawn(1, None);
    worker.say(b"exit");
    assert_eq!(side.hear().0, FromLauncher::Ended { pid: worker.pid, end: End::Exit(7) });
}

fn replaced() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let copy = directory.path().join("copy");
    fs::copy(env::current_exe().expect("own"), &copy).expect("room");
    let ended = Command::new(&copy).arg("started-from-a-file-to-be-replaced").status().expect("starts");
    assert!(ended.success(), "{ended}");
}

/// In the process that was started from a copy: something else takes the copy's place, as an upgrade does.
pub fn after_replacing_the_own_file() {
    let side = Side::start();
    let own = env::current_exe().expect("own");
    let other = own.with_extension("new");
    fs::write(&other, "#!/bin/false\n").expect("room");
    fs::rename(&other, &own).expect("same directory");
    let mut worker = side.spawn(1, None);
    assert_eq!(worker.init(), init());
    assert_eq!(worker.ask(b"the old one"), b"the old one");
}
