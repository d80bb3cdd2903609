//! Read workers that are killed or stopped while all of them have work.
//! Trust: test code.

use crate::{
    load::{GIVEN, Load, dice},
    span,
    support::{
        Place,
        process::{self, Process},
    },
};
use nix::sys::signal::{Signal, kill};
use std::time::{Duration, Instant};

/// A few of them, by the dice.
fn victims(load: &Load, dice: &mut crate::support::dice::Dice, most: usize) -> Vec<Process> {
    let mut workers = process::workers(load.server.pid());
    let count = 1 + dice.below(most);
    let mut chosen = Vec::new();
    while chosen.len() < count && !workers.is_empty() {
        chosen.push(workers.swap_remove(dice.below(workers.len())));
    }
    chosen
}

fn signal(process: Process, signal: Signal) {
    // it may have ended by itself in the meantime
    let _ = kill(nix::unistd::Pid::from_raw(process.0), signal);
}

#[test]
fn killed_at_any_moment_they_cost_their_own_calls_and_come_back() {
    let place = Place::new();
    let mut dice = dice("killed workers");
    let mut load = Load::new(&place, |start| start);
    let until = Instant::now() + span();
    let (mut killed, mut longest) = (0, Duration::ZERO);
    while Instant::now() < until || killed < 6 {
        load.run(Duration::from_millis(dice.below(60) as u64));
        for victim in victims(&load, &mut dice, 4) {
            signal(victim, Signal::SIGKILL);
            killed += 1;
        }
        // a repository whose workers die and never answer in between is given a rest, which is another matter
        longest = longest.max(load.until_all_answer("after a kill"));
    }
    load.drain();
    eprintln!("{killed} killed: {:?} good, {:?}; all answered again after {longest:?} at most", load.good, load.failed);
    assert!(
        load.failed.keys().all(|code| *code == 10022),
        "nothing but the calls of the dead failed: {:?}",
        load.words
    );
    assert_eq!(load.errors().len(), 0);
    assert!(load.server.finish().status.success());
}

#[test]
fn stopped_at_any_moment_they_are_ended_by_the_deadline() {
    let place = Place::new();
    let mut dice = dice("stopped workers");
    let mut load = Load::new(&place, |start| start);
    let until = Instant::now() + span();
    let (mut stopped, mut longest) = (0, Duration::ZERO);
    while Instant::now() < until {
        load.run(Duration::from_millis(dice.below(60) as u64));
        let chosen = victims(&load, &mut dice, 3);
        for victim in &chosen {
            signal(*victim, Signal::SIGSTOP);
            stopped += 1;
        }
        longest = longest.max(load.until_all_answer("after a stop"));
        // one that had nothing to do when it was stopped is found out by the next call that it is given
        let since = Instant::now();
        while chosen.iter().any(|victim| victim.is_alive()) {
            assert!(since.elapsed() < Duration::from_secs(2 * GIVEN + 10), "a worker that stands still is ended");
            load.run(Duration::from_millis(20));
        }
    }
    load.drain();
    eprintln!(
        "{stopped} stopped: {:?} good, {:?}; all answered again after {longest:?} at most",
        load.good, load.failed
    );
    assert_eq!(load.errors().len(), 0);
    assert!(load.server.finish().status.success());
}
