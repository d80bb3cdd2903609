//! Many calls under way to many repositories, each of them accounted for.
//! Trust: test code; a second answer to a call fails the test in the client already.

use crate::support::{Outcome, Place, Repo, Server, Start, dice::Dice, process::Process};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    path::PathBuf,
    time::{Duration, Instant},
};

/// Repositories: few enough that each may have a second worker for its second call.
pub const REPOSITORIES: usize = 4;
/// Calls to each of them that are under way at any time: eight in all.
const DEPTH: usize = 2;
/// Seconds that a call is given.
pub const GIVEN: u64 = 3;
/// The longest that an answer may take: what it is given, and what a loaded machine adds.
const LATEST: Duration = Duration::from_secs(GIVEN + 15);
/// What a call may come to while processes die: its deadline, its worker's death, no worker to be had, too many open.
const CODES: [i64; 4] = [10021, 10022, 10023, 10025];

/// A server under load.
pub struct Load {
    pub server: Server,
    repositories: Vec<PathBuf>,
    open: BTreeMap<u64, (usize, Instant)>,
    number: u64,
    /// Good answers of each repository.
    pub good: [u64; REPOSITORIES],
    /// Errors by code.
    pub failed: BTreeMap<i64, u64>,
    /// Messages of errors, the last few.
    pub words: Vec<String>,
}

/// Dice of this run, and the seed on standard error: what happened can then be made to happen again.
pub fn dice(name: &str) -> Dice {
    let dice = Dice::of_run();
    eprintln!("{name}: BULKHEAD_SEED={}", dice.0);
    dice
}

/// Some repositories with something to look at.
pub fn repositories(place: &Place) -> Vec<PathBuf> {
    let build = |n: usize| {
        let repo = Repo::honest(place, format!("repo{n}"));
        for file in 0..200 {
            repo.write(format!("d{}/f{file}", file % 9), "x\n");
        }
        repo.path().to_owned()
    };
    (0..REPOSITORIES).map(build).collect()
}

impl Load {
    /// Starts a server, and waits until every repository has answered once.
    pub fn new(place: &Place, change: impl FnOnce(Start<'_>) -> Start<'_>) -> Self {
        let repositories = repositories(place);
        let start = Start::new(place).root(place.path()).arguments(&["--deadline", &GIVEN.to_string()]);
        let server = change(start).spawn();
        let (open, failed, words) = Default::default();
        let mut load = Self { server, repositories, open, number: 0, good: [0; REPOSITORIES], failed, words };
        load.until_all_answer("at the start");
        load
    }

    /// Keeps as many calls under way as there are to be, for so long.
    pub fn run(&mut self, span: Duration) {
        let until = Instant::now() + span;
        while Instant::now() < until {
            self.fill();
            self.take(Duration::from_millis(20));
        }
    }

    /// Runs until every repository has given a good answer from now on; the time that it took.
    ///
    /// # Panics
    /// Where that takes longer than any wait of the server and a loaded machine explain.
    pub fn until_all_answer(&mut self, when: &str) -> Duration {
        let (since, before) = (Instant::now(), self.good);
        // what was under way counts neither for nor against
        while self.good.iter().zip(&before).any(|(now, before)| *now < before + DEPTH as u64 + 1) {
            self.fill();
            self.take(Duration::from_millis(20));
            let took = since.elapsed();
            assert!(
                took < LATEST * 2,
                "{when}: {:?} good, {:?} before; {:?} {:?}",
                self.good,
                before,
                self.failed,
                self.words
            );
        }
        since.elapsed()
    }

    /// Waits for all that is under way, and asks for no more.
    pub fn drain(&mut self) {
        while !self.open.is_empty() {
            self.take(Duration::from_millis(50));
        }
    }

    /// Puts one call to every repository, and gives the errors of all.
    pub fn errors(&mut self) -> Vec<Outcome> {
        let asked: Vec<Value> = (0..REPOSITORIES).map(|n| self.ask(n).1).collect();
        self.open.clear();
        asked.iter().map(|id| self.server.answer(id)).filter(|outcome| !outcome.is_ok()).collect()
    }

    fn fill(&mut self) {
        for at in 0..REPOSITORIES {
            while self.open.values().filter(|(repository, _)| *repository == at).count() < DEPTH {
                let (number, _) = self.ask(at);
                self.open.insert(number, (at, Instant::now()));
            }
        }
    }

    /// Asks that repository something that was not asked before: a call that ended two workers would be refused.
    fn ask(&mut self, at: usize) -> (u64, Value) {
        self.number += 1;
        let path = self.repositories[at].to_str().expect("places have UTF-8 paths");
        let limit = 1 + self.number % 10_000;
        let arguments = if self.number.is_multiple_of(3) {
            ("worktree.changes", json!({"repoPath": path, "limit": limit}))
        } else {
            ("repo.status", json!({"repoPath": path, "limit": limit}))
        };
        let id = self.server.ask(arguments.0, arguments.1);
        (id.as_u64().expect("ids are numbers"), id)
    }

    fn take(&mut self, patience: Duration) {
        if let Some(message) = self.server.receive(patience)
            && let Some(number) = message["id"].as_u64()
        {
            let outcome = self.server.answer(&message["id"]);
            let (at, since) = self.open.remove(&number).expect("an answer to a call that was asked and not answered");
            assert!(since.elapsed() < LATEST, "an answer after {:?}: {}", since.elapsed(), outcome.message);
            self.count(at, &outcome);
        }
        let late = self.open.values().find(|(_, since)| since.elapsed() > LATEST);
        assert!(late.is_none(), "a call that nobody answers: {late:?}; {}", self.server.stderr());
    }

    fn count(&mut self, at: usize, outcome: &Outcome) {
        match outcome.code() {
            None => self.good[at] += 1,
            Some(code) => {
                assert!(CODES.contains(&code), "{}", outcome.message);
                *self.failed.entry(code).or_default() += 1;
                if self.words.len() < 8 {
                    self.words.push(outcome.error().map(ToString::to_string).unwrap_or_default());
                }
            }
        }
    }

    /// All processes of the server but the supervisor.
    pub fn processes(&self) -> Vec<Process> {
        let mut all = Process(self.server.pid()).children();
        let mut at = 0;
        while let Some(one) = all.get(at).copied() {
            all.extend(one.children());
            at += 1;
        }
        all
    }
}
