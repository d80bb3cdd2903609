//! Many exchanges at once: none waits for another's silence, and what falls or is left costs its own alone.
//! Trust: the peer is scripted.

use crate::{
    house::{Case, House, To, get, post},
    peer::answer,
    wire::whole,
};
use bulkhead_ipc::edge::gateway::{Exchange, Failure, MAX_OPEN, Outcome};
use bulkhead_supervisor::outcome::CallError;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

pub const ALL: &[Case] = &[
    ("answers_do_not_wait_for_the_silence_of_others", at_once),
    ("what_nobody_waits_for_any_more_is_closed", left),
    ("a_worker_that_is_killed_says_what_may_have_left", killed),
    ("more_than_a_burst_wait_for_their_turn", beyond_the_burst),
    ("descriptors_do_not_pile_up", descriptors),
];

fn at_once(house: &House) {
    for way in [To::Peer, To::PeerByThread] {
        house.over(way, async |lane| {
            const SILENT: usize = MAX_OPEN / 2;
            let mut silent = Vec::new();
            for _ in 0..SILENT {
                house.peer.falls_silent();
                silent.push(lane.begin(post("/v1/mcp/silent", "{}")));
            }
            // each silent one has its connection before the scripts of the others are next
            let counted = house.peer.clone();
            tokio::task::spawn_blocking(move || counted.wait_for(SILENT)).await.expect("no panic");
            let mut quick = Vec::new();
            for _ in 0..MAX_OPEN - SILENT {
                house.peer.answers(answer(200, b"quick"));
                quick.push(lane.begin(get("/v1/mcp/quick")));
            }
            for (_stopper, task) in quick {
                assert_eq!(task.await.expect("no panic").expect("carried"), whole(200, "quick"), "{way:?}");
            }
            assert!(silent.iter().all(|(_, task)| !task.is_finished()), "and the others still wait");
            house.peer.came();
            // there is no place for one more: it waits within its own time
            let mut more = Vec::new();
            for _ in 0..MAX_OPEN - SILENT {
                house.peer.falls_silent();
                more.push(lane.begin(post("/v1/mcp/silent", "{}")));
            }
            let counted = house.peer.clone();
            tokio::task::spawn_blocking(move || counted.wait_for(MAX_OPEN - SILENT)).await.expect("no panic");
            let beyond = Exchange { budget_ms: 200, ..get("/v1/mcp/beyond") };
            let beyond = lane.carry(beyond).await.expect("carried");
            assert_eq!(beyond, Outcome::Failed { why: Failure::Timeout, sent: false });
            for (stopper, task) in silent.into_iter().chain(more) {
                stopper.stop();
                let interrupted = task.await.expect("no panic").expect_err("it was stopped");
                assert!(matches!(interrupted.why, CallError::Cancelled) && interrupted.sent, "{interrupted:?}");
            }
            let counted = house.peer.clone();
            tokio::task::spawn_blocking(move || counted.wait_for_closed(MAX_OPEN)).await.expect("no panic");
            house.peer.came();
        });
    }
}

fn left(house: &House) {
    house.over(To::Peer, async |lane| {
        for _ in 0..20 {
            house.peer.falls_silent();
            let (stopper, task) = lane.begin(post("/v1/mcp/x", vec![b'x'; 2 << 20]));
            let counted = house.peer.clone();
            tokio::task::spawn_blocking(move || counted.wait_for(1)).await.expect("no panic");
            stopper.stop();
            let interrupted = task.await.expect("no panic").expect_err("it was stopped");
            assert!(interrupted.sent);
            let counted = house.peer.clone();
            tokio::task::spawn_blocking(move || counted.wait_for_closed(1)).await.expect("no panic");
            house.peer.came();
        }
        // stopped before it was even begun
        let (stopper, task) = lane.begin(get("/v1/mcp/x"));
        stopper.stop();
        let interrupted = task.await.expect("no panic").expect_err("it was stopped");
        assert!(matches!(interrupted.why, CallError::Cancelled) && !interrupted.sent, "{interrupted:?}");
    });
}

fn killed(house: &House) {
    house.over(To::Peer, async |lane| {
        house.peer.falls_silent();
        let (_stopper, mid) = lane.begin(post("/v1/mcp/x", "{}"));
        let counted = house.peer.clone();
        tokio::task::spawn_blocking(move || counted.wait_for(1)).await.expect("no panic");
        let pid = lane.worker().expect("it serves");
        kill(Pid::from_raw(pid), Signal::SIGKILL).expect("ours");
        let interrupted = mid.await.expect("no panic").expect_err("its worker is gone");
        assert!(matches!(interrupted.why, CallError::WorkerDied { .. }) && interrupted.sent, "{interrupted:?}");
        house.peer.wait_for_closed(1);
        house.peer.came();
        // another one is started, and one that was killed while it was idle costs nothing
        for _ in 0..2 {
            house.peer.answers(answer(200, b"again"));
            assert_eq!(lane.carry(get("/v1/mcp/x")).await.expect("carried"), whole(200, "again"));
            let next = lane.worker().expect("it serves");
            assert_ne!(next, pid);
            kill(Pid::from_raw(next), Signal::SIGKILL).expect("ours");
        }
        house.peer.came();
    });
}

fn beyond_the_burst(house: &House) {
    house.over(To::Peer, async |lane| {
        // more than the launcher dials in a row: the rest waits for its turn, and none is taken for a connection that fails
        const ALL: usize = 300;
        let mut tasks = Vec::new();
        for _ in 0..ALL {
            house.peer.answers(answer(200, b"well"));
            tasks.push(lane.begin(get("/v1/mcp/x")));
        }
        for (_stopper, task) in tasks {
            assert_eq!(task.await.expect("no panic").expect("carried"), whole(200, "well"));
        }
        assert_eq!(house.peer.came().len(), ALL);
    });
}

fn descriptors(house: &House) {
    house.over(To::Peer, async |lane| {
        house.peer.answers(answer(200, b""));
        lane.carry(get("/v1/mcp/x")).await.expect("carried");
        let before = lane.descriptors();
        for n in 0..150 {
            match n % 3 {
                0 => house.peer.answers(answer(200, b"well")),
                1 => house.peer.script(|_| ()),
                _ => house.peer.answers(b"babble\r\n\r\n".to_vec()),
            }
            let _ = lane.carry(get("/v1/mcp/x")).await.expect("carried");
        }
        // the launcher closes its copy of the last stream after the worker has got it, and may still be about to
        for _ in 0..500 {
            if lane.descriptors() == before {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert_eq!(lane.descriptors(), before);
        house.peer.came();
    });
}
