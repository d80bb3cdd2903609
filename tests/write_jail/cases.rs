//! What works in the jail, what a run does at its limits, and what nobody may ask.
//! Trust: test code.

use crate::house::{House, Place, becomes, found, hashing_in, notes, script};
use bulkhead_contract::direct::Class;
use bulkhead_ipc::edge::{
    WorkerKind,
    launcher::{CLOSED_GATE, FromLauncher, ToLauncher},
    write::{Operation, Outcome},
};
use bulkhead_worker_write::programs::{self, Surroundings};
use std::{
    fs,
    io::Read as _,
    net::{Ipv4Addr, TcpListener},
    os::unix::fs::PermissionsExt as _,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

type Case = (&'static str, fn());

/// All of them.
pub const ALL: &[Case] = &[
    ("an_honest_commit_is_made", honest_commit),
    ("files_have_the_operators_permissions", permissions),
    ("a_rebase_and_its_children_work", rebase),
    ("every_operation_works", operations),
    ("a_worktree_is_made_beside_the_repository", worktree),
    ("a_file_remote_is_fetched_and_pushed_to", file_remote),
    ("a_remote_is_dialled_by_https_and_by_ssh", dialled),
    ("an_operators_own_filter_runs_where_it_is_allowed", filtered),
    ("what_a_repository_says_of_its_author_counts_more", identity),
    ("much_in_and_much_out_at_once", both_ways),
    ("long_output_is_cut_and_told", cut),
    ("a_run_ends_at_its_deadline", deadline),
    ("a_run_ends_when_it_is_cancelled", cancelled),
    ("nothing_outlives_a_worker_that_is_killed", killed),
    ("a_closed_gate_starts_nobody", closed_gate),
    ("one_kind_does_not_answer_for_the_other", other_kind),
    ("the_walls_are_there_when_they_are_tried", probed),
];

fn fine(notes: &[String]) -> &str {
    assert_eq!(notes[0], "Some(0)", "{notes:?}");
    &notes[1]
}

fn honest_commit() {
    let place = Place::new();
    assert_eq!(fine(&place.run(&["git", "status", "--porcelain"])), "");
    fs::write(place.at("repo/a.txt"), "two\n").expect("a file");
    fs::write(place.at("repo/new.txt"), "new\n").expect("a file");
    let house = place.serve();
    assert_eq!(fine(&house.run(&["git", "status", "--porcelain"])), " M a.txt\n?? new.txt\n");
    fine(&house.run(&["git", "add", "--", "a.txt", "new.txt"]));
    let (report, said) = house.perform(WorkerKind::Write, script(&["git", "commit", "-q", "-m", "by the jail"]));
    fine(&said);
    assert!(report.rows.iter().all(|row| row.sufficient), "{report:?}");
    assert_eq!(place.git(&["log", "-1", "--format=%s %an %ae"]), "by the jail Jailed jailed@example.org");
    assert_eq!(place.git(&["status", "--porcelain"]), "");
    assert_eq!(place.git(&["fsck", "--strict"]), "");
}

fn permissions() {
    let place = Place::new();
    place.git(&["rm", "-q", "b.txt"]);
    fine(&place.run(&["git", "checkout", "-q", "HEAD", "--", "b.txt"]));
    let own = place.at("own");
    fs::write(&own, "").expect("a file");
    let mode = |path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(place.at("repo/b.txt")), mode(own), "as a file that the operator makes");
}

fn rebase() {
    let place = Place::new();
    place.git(&["checkout", "-q", "-b", "topic", "HEAD~1"]);
    for name in ["c.txt", "d.txt"] {
        fs::write(place.at("repo").join(name), "topic\n").expect("a file");
        place.git(&["add", name]);
        place.git(&["commit", "-q", "-m", name]);
    }
    fine(&place.run(&["git", "rebase", "-q", "main"]));
    assert_eq!(place.git(&["log", "--format=%s"]), "d.txt\nc.txt\nb.txt\na.txt");
    assert_eq!(place.git(&["status", "--porcelain"]), "");
}

fn worktree() {
    let place = Place::new();
    let make = |path: &str| Operation::CreateWorktree {
        path: path.to_owned(),
        branch: "beside".to_owned(),
        base: "main".to_owned(),
    };
    let house = place.serve();
    house.done(make("../beside"));
    assert!(place.at("beside/a.txt").is_file());
    house.done(Operation::RemoveWorktree { path: "../beside".to_owned(), force: false });
    assert!(!place.at("beside").exists());
    // one that lies outside of the roots is out of reach, whoever asks
    let outside = place.dir.parent().expect("it has one").join("outside");
    house.failed(make(outside.to_str().expect("plain")));
    assert!(!outside.exists());
}

fn file_remote() {
    let place = Place::new();
    let (near, far) = (place.text("far.git"), place.dir.parent().expect("it has one").join("far.git"));
    for dir in [near.as_str(), far.to_str().expect("plain")] {
        place.git(&["clone", "-q", "--bare", ".", dir]);
    }
    place.git(&["remote", "add", "origin", &near]);
    place.git(&["--git-dir", &near, "branch", "there", "main"]);
    let house = place.serve();
    house.done(Operation::Fetch);
    assert_eq!(place.git(&["rev-parse", "origin/there"]), place.git(&["rev-parse", "main"]));
    fs::write(place.at("repo/a.txt"), "pushed\n").expect("a file");
    place.git(&["commit", "-q", "-a", "-m", "pushed"]);
    house.done(Operation::Push { branch: "main".to_owned() });
    assert_eq!(place.git(&["--git-dir", &near, "rev-parse", "main"]), place.git(&["rev-parse", "main"]));
    // one that lies outside of the roots is out of reach
    place.git(&["remote", "set-url", "origin", far.to_str().expect("plain")]);
    house.failed(Operation::Fetch);
}

/// The programs for a network start, find names, and dial: a listener hears the first words of each.
fn dialled() {
    for (scheme, wanted, program) in [("https", &b"\x16\x03"[..], "git-remote-https"), ("ssh", b"SSH-2.0-", "ssh")] {
        if !found().network_files.iter().any(|file| file.ends_with(program.as_bytes())) {
            eprintln!("SKIPPED 1: no {program} here");
            continue;
        }
        let place = Place::new();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("it is bound").port();
        // a name, so that it is looked up
        place.git(&["remote", "add", "origin", &format!("{scheme}://localhost:{port}/a")]);
        listener.set_nonblocking(true).expect("a socket");
        // before there is a second thread
        let house = place.serve();
        let over = Arc::new(AtomicBool::new(false));
        let heard = thread::spawn({
            let over = Arc::clone(&over);
            move || first_words(&listener, &over)
        });
        let ask = Operation::Push { branch: "git ls-remote origin".to_owned() };
        let (_, said) = house.perform(WorkerKind::WriteNet, ask);
        over.store(true, Ordering::SeqCst);
        let heard = heard.join().expect("it does not panic");
        if said[2].contains("No user exists for uid") {
            eprintln!("SKIPPED 1: ssh does not know this user");
            continue;
        }
        assert!(heard.starts_with(wanted), "{scheme}: {heard:?} {said:?}");
        assert_ne!(said[0], "Some(0)", "nobody answered: {said:?}");
    }
}

/// What the first connection says first; nothing, where none came before it was over.
fn first_words(listener: &TcpListener, over: &AtomicBool) -> Vec<u8> {
    loop {
        match listener.accept() {
            Ok((mut stream, _)) => {
                let mut words = vec![0; 8];
                stream.set_nonblocking(false).expect("a socket");
                stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket");
                let length = stream.read(&mut words).unwrap_or(0);
                words.truncate(length);
                return words;
            }
            Err(_) if over.load(Ordering::SeqCst) => return Vec::new(),
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// Every kind of change, and back.
fn operations() {
    let place = Place::new();
    let house = place.serve();
    let text = str::to_owned;
    fs::write(place.at("repo/a.txt"), "two\n").expect("a file");
    house.done(Operation::Commit {
        paths: vec![text("a.txt")],
        message: text("two"),
        allow_empty: false,
        include_untracked: false,
    });
    assert_eq!(place.git(&["log", "-1", "--format=%s %an"]), "two Jailed");
    house.done(Operation::CreateBranch { name: text("topic") });
    house.done(Operation::CreateTag { name: text("v1"), message: Some(text("first")), revision: None });
    house.done(Operation::Checkout { reference: text("topic") });
    fs::write(place.at("repo/a.txt"), "topic\n").expect("a file");
    house.done(Operation::Commit {
        paths: vec![text("a.txt")],
        message: text("topic"),
        allow_empty: false,
        include_untracked: false,
    });
    house.done(Operation::Checkout { reference: text("main") });
    fs::write(place.at("repo/a.txt"), "main\n").expect("a file");
    house.done(Operation::Commit {
        paths: vec![text("a.txt")],
        message: text("main"),
        allow_empty: false,
        include_untracked: false,
    });
    house.done(Operation::Checkout { reference: text("topic") });
    let failed = house.failed(Operation::Rebase { onto: text("main") });
    assert_eq!(failed.unmerged, ["a.txt"], "{failed:?}");
    house.done(Operation::Abort);
    assert_eq!(place.git(&["status", "--porcelain", "--branch"]), "## topic");
    let point = failed.restore_point.expect("one was made");
    fs::write(place.at("repo/b.txt"), "lost\n").expect("a file");
    house.done(Operation::Restore { id: point });
    assert_eq!(fs::read_to_string(place.at("repo/b.txt")).expect("it is there"), "one\n");
    assert!(!place.git(&["for-each-ref", "refs/bulkhead/restore/*/index"]).is_empty());
    house.done(Operation::Checkout { reference: text("main") });
    house.done(Operation::RenameBranch { old: text("topic"), new: text("other") });
    house.done(Operation::DeleteBranch { name: text("other"), force: true });
    house.done(Operation::DeleteTag { name: text("v1") });
    assert_eq!(place.git(&["for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags"]), "refs/heads/main");
    assert_eq!(place.git(&["fsck", "--strict", "--no-dangling"]), "");
}

fn filtered() {
    let place = Place::new();
    fs::write(place.at("repo/.gitattributes"), "*.up filter=up\n").expect("a file");
    place.git(&["add", ".gitattributes"]);
    place.git(&["commit", "-q", "-m", "attributes"]);
    // the repository's own of the same name is not the one
    place.git(&["config", "filter.up.clean", "false"]);
    fs::write(place.at("repo/a.up"), "text\n").expect("a file");
    let around = Surroundings { path: Some("/usr/bin:/bin".into()), ..Surroundings::default() };
    let mut allowed = place.allowed();
    allowed.filters = true;
    let filters = [("filter.up.clean".to_owned(), "tr a-z A-Z".to_owned())];
    let filters = programs::with_filters(&mut allowed.programs, &filters, &around).expect("every system has it");
    allowed.pinned.extend(filters);
    let commit = || Operation::Commit {
        paths: vec!["a.up".to_owned()],
        message: "up".to_owned(),
        allow_empty: false,
        include_untracked: false,
    };
    place.git(&["-c", "filter.up.clean=", "add", "-N", "a.up"]);
    place.serve().failed(commit());
    House::new(Some(allowed)).done(commit());
    assert_eq!(place.git(&["cat-file", "blob", "HEAD:a.up"]), "TEXT");
}

fn identity() {
    let place = Place::new();
    place.git(&["config", "user.email", "of-the-repository@example.org"]);
    fs::write(place.at("repo/a.txt"), "whose\n").expect("a file");
    place.serve().done(Operation::Commit {
        paths: vec!["a.txt".to_owned()],
        message: "whose".to_owned(),
        allow_empty: false,
        include_untracked: false,
    });
    assert_eq!(place.git(&["log", "-1", "--format=%an %ae"]), "Jailed of-the-repository@example.org");
}

fn both_ways() {
    let place = Place::new();
    fs::write(place.at("repo/large"), "x".repeat(1_000)).expect("a file");
    let id = place.git(&["hash-object", "-w", "large"]);
    let said = place.run(&["echo objects", &id, "5000"]);
    // id, kind and length in a line, the text, a line's end
    assert_eq!(fine(&said), (5_000 * (40 + " blob 1000\n".len() + 1_001)).to_string());
    assert_eq!(said[3], "cut false");
}

fn cut() {
    let place = Place::new();
    fs::write(place.at("repo/large"), vec![b'x'; 40 << 20]).expect("room");
    let id = place.git(&["hash-object", "-w", "large"]);
    let said = place.run(&["git", "cat-file", "blob", &id]);
    assert_eq!((said[0].as_str(), said[3].as_str()), ("Some(0)", "cut true"));
}

/// A run that never ends by itself: Git opens a file that nobody writes.
fn endless(place: &Place) -> Operation {
    let pipe = place.text("repo/pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()), "a pipe by name");
    script(&["git", "hash-object", &pipe])
}

fn deadline() {
    let place = Place::new();
    let house = place.serve();
    let ask = endless(&place);
    // on a busy machine the time may be over before the run begins: then again, with more
    for budget in [2_000, 8_000, 32_000] {
        let mut worker = house.start(WorkerKind::Write);
        worker.call(ask.clone(), budget);
        let (_, outcome) = worker.outcome();
        assert_eq!(hashing_in(&place.at("repo")), Vec::<i32>::new(), "git is gone when the answer is there");
        worker.leave();
        match outcome {
            Outcome::Done(done) => return assert_eq!(done.notes[0], "Deadline"),
            Outcome::Failed(failed) => assert_eq!(failed.class, Class::Timeout, "{failed:?}"),
        }
    }
    panic!("no run began within its time");
}

fn cancelled() {
    let place = Place::new();
    let house = place.serve();
    let mut worker = house.start(WorkerKind::Write);
    worker.call(endless(&place), 60_000);
    worker.closed();
    assert!(becomes(|| !hashing_in(&place.at("repo")).is_empty()), "git runs");
    worker.cancel();
    assert_eq!(notes(worker.answer())[0], "Cancelled");
    assert_eq!(hashing_in(&place.at("repo")), Vec::<i32>::new());
    worker.leave();
}

fn killed() {
    let place = Place::new();
    let house = place.serve();
    let mut worker = house.start(WorkerKind::Write);
    // an alias that is no shell's: git starts git, and waits for it
    let Operation::Commit { paths, .. } = endless(&place) else { panic!("a script") };
    place.git(&["config", "alias.nested", "hash-object"]);
    worker.call(script(&["git", "-c", "alias.twice=nested", "twice", &paths[2]]), 60_000);
    worker.closed();
    assert!(becomes(|| hashing_in(&place.at("repo")).len() >= 2), "git runs, and what it started");
    worker.kill();
    assert!(
        becomes(|| hashing_in(&place.at("repo")).is_empty()),
        "something goes on: {:?}",
        hashing_in(&place.at("repo"))
    );
}

fn closed_gate() {
    let house = House::new(None);
    for kind in [WorkerKind::Write, WorkerKind::WriteNet] {
        house.ask(&ToLauncher::Spawn { ticket: 7, kind, path: None });
        match house.hear().0 {
            FromLauncher::SpawnFailed { ticket: 7, step, .. } => assert_eq!(step, CLOSED_GATE),
            other => panic!("{other:?}"),
        }
    }
}

fn other_kind() {
    let place = Place::new();
    let house = place.serve();
    for (kind, operation) in [(WorkerKind::Write, Operation::Fetch), (WorkerKind::WriteNet, script(&["own", "path"]))] {
        let mut worker = house.start(kind);
        worker.call(operation, 60_000);
        // it ends without a word
        worker.leave();
    }
    let told = place.run(&["own", "network"]);
    assert_eq!(told, ["[]"], "what the one without a network is not told, it cannot use");
}

fn probed() {
    let place = Place::new();
    let house = place.serve();
    for (kind, open) in [
        (WorkerKind::Write, &["metadata-outside-roots"][..]),
        (WorkerKind::WriteNet, &["metadata-outside-roots", "network-tcp"]),
    ] {
        let mut worker = house.start(kind);
        let (report, tried) = worker.probe();
        worker.leave();
        assert!(report.rows.iter().all(|row| row.sufficient), "{report:?}");
        for row in tried.rows.iter().filter(|row| row.capability != "signals") {
            let wide = row.enforcer == "none";
            assert_eq!(wide, open.contains(&row.capability.as_str()), "{} {row:?}", kind.name());
        }
    }
}
