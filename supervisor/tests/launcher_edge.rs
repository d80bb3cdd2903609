//! The supervisor's side of the edge to the launcher, against a scripted launcher.
//! Trust: test code.
#![cfg(target_os = "linux")]

mod support;

use bulkhead_contract::isolation::Demand;
use bulkhead_ipc::{
    codec::{decode, encode},
    edge::{
        WorkerKind,
        launcher::{End, FromLauncher, MAX_PACKET, StatusOf, ToLauncher},
        read::{FromRead, ToRead},
    },
    frame,
};
use bulkhead_sandbox::{handover, spawn::set_nonblocking};
use bulkhead_supervisor::{
    carrier::{
        Carrier, Ended, Ending,
        launcher::{GONE, Launcher},
    },
    outcome::CallError,
    pool::Pool,
};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use std::{
    fs::File,
    io::{self, Write},
    os::fd::{AsFd, OwnedFd},
    rc::Rc,
    thread::{self, JoinHandle},
};
use support::{ask, begin, paused, report, settings, settle, unpaused};

/// The launcher's end.
struct Far(OwnedFd);

/// The worker's ends.
struct WorkerSide {
    requests: File,
    answers: File,
    stderr: File,
}

fn edge() -> (OwnedFd, Far) {
    let (ours, theirs) =
        socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC).expect("a pair");
    set_nonblocking(&ours).expect("a socket");
    (ours, Far(theirs))
}

impl Far {
    fn hear(&self) -> Option<ToLauncher> {
        let mut packet = vec![0; MAX_PACKET];
        match handover::receive(self.0.as_fd(), &mut packet, 0) {
            Ok((0, _)) => None,
            Ok((len, _)) => Some(decode(&packet[..len]).expect("the supervisor's")),
            Err(e) => panic!("{e}"),
        }
    }

    fn say(&self, message: &FromLauncher, fds: &[OwnedFd]) {
        let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
        handover::send(self.0.as_fd(), &encode(message).expect("small"), &fds).expect("the supervisor lives");
    }

    /// Answers a spawn that must come now.
    fn spawn(&self, pid: i32) -> WorkerSide {
        let Some(ToLauncher::Spawn { ticket, kind: WorkerKind::Read, path }) = self.hear() else { panic!("a spawn") };
        assert_eq!(path.as_deref(), Some(&b"/r"[..]));
        let (requests, ours) = io::pipe().expect("a pipe");
        let (theirs, answers) = io::pipe().expect("a pipe");
        let (errors, stderr) = io::pipe().expect("a pipe");
        let fds: [OwnedFd; 3] = [ours.into(), theirs.into(), errors.into()];
        fds.iter().for_each(|fd| set_nonblocking(fd).expect("a pipe"));
        self.say(&FromLauncher::Spawned { ticket, pid }, &fds);
        let file = |fd: OwnedFd| File::from(fd);
        WorkerSide { requests: file(requests.into()), answers: file(answers.into()), stderr: file(stderr.into()) }
    }
}

fn far(script: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    thread::spawn(script)
}

fn start(launcher: &Launcher) -> impl Future<Output = Result<bulkhead_supervisor::carrier::Link, String>> + use<> {
    let start = launcher.start(WorkerKind::Read, Some(b"/r".to_vec()));
    async { start.await.map_err(|e| e.why) }
}

#[test]
fn a_worker_is_handed_over_spoken_to_and_ended() {
    let (socket, theirs) = edge();
    let launcher = far(move || {
        let mut worker = theirs.spawn(77);
        worker.stderr.write_all(b"thread panicked\n").expect("the supervisor reads");
        let call = frame::read(&mut worker.requests).expect("well-formed").expect("a message");
        assert_eq!(decode::<ToRead>(&call).expect("the supervisor's"), ToRead::Cancel { id: 3 });
        let answer = encode(&FromRead::Moved { id: 3 }).expect("small");
        frame::write(&mut worker.answers, &answer).expect("the supervisor reads");
        assert_eq!(theirs.hear(), Some(ToLauncher::Kill { pid: 77 }));
        drop(worker);
        theirs.say(&FromLauncher::Ended { pid: 77, end: End::Signal(9) }, &[]);
        assert_eq!(theirs.hear(), None, "one kill, though the link was ended and dropped too");
    });
    unpaused(async {
        let carrier = Launcher::new(socket).expect("a runtime");
        let mut link = start(&carrier).await.expect("a worker");
        assert_eq!((link.pid(), link.name()), (Some(77), "worker-read 77"));
        link.post(&ToRead::Cancel { id: 3 }).expect("there is room");
        assert_eq!(link.next().await.expect("well-formed"), Some(FromRead::Moved { id: 3 }));
        link.end(Ending::Kill);
        link.end(Ending::Dismiss);
        assert_eq!(link.ended().await, Ended::Signal(9));
        assert_eq!(link.next().await.expect("a clean end"), None);
        while link.last_words().text().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(link.last_words().text(), "thread panicked");
    });
    launcher.join().expect("no panic");
}

#[test]
fn answers_find_their_askers_in_any_order() {
    let (socket, theirs) = edge();
    let launcher = far(move || {
        let asked = [theirs.hear(), theirs.hear()].map(|message| match message {
            Some(ToLauncher::Status { ticket, of }) => (ticket, of),
            other => panic!("{other:?}"),
        });
        assert_eq!([asked[0].1, asked[1].1], [StatusOf::Launcher, StatusOf::Supervisor]);
        theirs.say(&FromLauncher::Status { ticket: asked[1].0, text: b"Name:\tb\n".to_vec() }, &[]);
        theirs.say(&FromLauncher::Status { ticket: asked[0].0, text: vec![] }, &[]);
        let Some(ToLauncher::Spawn { ticket, .. }) = theirs.hear() else { panic!("a spawn") };
        theirs.say(&FromLauncher::SpawnFailed { ticket, errno: 11, step: "fork\x1b[2J".to_owned() }, &[]);
        theirs.hear();
    });
    unpaused(async {
        let carrier = Launcher::new(socket).expect("a runtime");
        let (one, two) = tokio::join!(carrier.status(StatusOf::Launcher), carrier.status(StatusOf::Supervisor));
        assert_eq!(one, Err("its /proc status cannot be read".to_owned()));
        assert_eq!(two.as_deref(), Ok("Name:\tb\n"));
        let why = start(&carrier).await.expect_err("it failed");
        assert!(why.starts_with("fork\\u{1b}[2J failed: "), "{why}");
    });
    launcher.join().expect("no panic");
}

#[test]
fn when_the_launcher_ends_everything_is_told_so() {
    let (socket, theirs) = edge();
    let launcher = far(move || {
        let worker = theirs.spawn(5);
        theirs.hear();
        theirs.hear();
        drop((theirs, worker));
    });
    unpaused(async {
        let carrier = Launcher::new(socket).expect("a runtime");
        let mut link = start(&carrier).await.expect("a worker");
        let (started, status) = tokio::join!(start(&carrier), carrier.status(StatusOf::Launcher));
        assert_eq!((started.expect_err("gone"), status), (GONE.to_owned(), Err(GONE.to_owned())));
        assert!(matches!(link.ended().await, Ended::Other(_)));
        assert_eq!(start(&carrier).await.expect_err("gone"), GONE);
        let pool = Pool::new(Rc::new(settings(Demand::Off)), Rc::new(carrier), &report(true));
        let Err(CallError::Gone { why }) = ask(&pool, "/r").await else { panic!("nothing can be started") };
        assert_eq!(why, GONE);
    });
    launcher.join().expect("no panic");
}

#[test]
fn a_worker_that_nobody_waits_for_any_more_is_ended() {
    let (socket, theirs) = edge();
    let (asked, told) = std::sync::mpsc::channel();
    let (left, go_on) = std::sync::mpsc::channel();
    let launcher = far(move || {
        // the spawn is only looked at once its asker has left
        go_on.recv().expect("the test goes on");
        let worker = theirs.spawn(8);
        assert_eq!(theirs.hear(), Some(ToLauncher::Kill { pid: 8 }));
        theirs.say(&FromLauncher::Ended { pid: 8, end: End::Signal(9) }, &[]);
        drop(worker);
        asked.send(()).expect("the test waits");
        assert_eq!(theirs.hear(), None);
    });
    unpaused(async {
        let carrier = Launcher::new(socket).expect("a runtime");
        drop(start(&carrier));
        let mut never_taken = Box::pin(start(&carrier));
        assert!(poll_once(&mut never_taken).await.is_none());
        drop(never_taken);
        settle().await;
        left.send(()).expect("the launcher waits");
        carrier.close().await;
        told.recv().expect("it was ended");
    });
    launcher.join().expect("no panic");
}

/// Polls once.
async fn poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    std::future::poll_fn(|cx| match std::pin::Pin::new(&mut *future).poll(cx) {
        std::task::Poll::Ready(output) => std::task::Poll::Ready(Some(output)),
        std::task::Poll::Pending => std::task::Poll::Ready(None),
    })
    .await
}

#[test]
fn a_launcher_that_says_what_does_not_fit_is_heard_no_more() {
    type Lie = fn(&Far);
    let lies: [Lie; 5] = [
        |far| far.say(&FromLauncher::Ended { pid: 9, end: End::Exit(0) }, &[]),
        |far| far.say(&FromLauncher::Spawned { ticket: 1, pid: 9 }, &[]),
        |far| far.say(&FromLauncher::Status { ticket: 99, text: vec![] }, &[]),
        |far| far.say(&FromLauncher::Status { ticket: 1, text: vec![] }, &[io::pipe().expect("a pipe").0.into()]),
        |far| handover::send(far.0.as_fd(), &[250, 1], &[]).expect("it is read"),
    ];
    for (n, lie) in lies.into_iter().enumerate() {
        let (socket, theirs) = edge();
        let launcher = far(move || {
            theirs.hear();
            lie(&theirs);
            while theirs.hear().is_some() {}
        });
        unpaused(async {
            let carrier = Launcher::new(socket).expect("a runtime");
            assert_eq!(start(&carrier).await.expect_err("no worker"), GONE, "lie {n}");
        });
        launcher.join().expect("no panic");
    }
}

#[test]
fn no_more_is_asked_of_the_launcher_than_it_takes() {
    let (socket, theirs) = edge();
    paused(async {
        let carrier = Rc::new(Launcher::new(socket).expect("a runtime"));
        let mut settings = settings(Demand::Off);
        settings.max_workers = 100;
        settings.workers_per_repository = 100;
        let pool = Pool::new(Rc::new(settings), carrier, &report(true));
        let calls: Vec<_> = (0..40).map(|n| begin(&pool, &format!("/{n}"))).collect();
        settle().await;
        let refused = calls.iter().filter(|call| call.outcome.is_finished()).count();
        assert_eq!(refused, 10);
        drop(theirs);
    });
}
