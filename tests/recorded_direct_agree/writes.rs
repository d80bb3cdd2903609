//! Recorded sessions of writes, replayed call by call with what happened to the repository between them.
//! Trust: recordings are data; what was prose in them was never kept, so the class of a failure is this file's own.

use crate::{
    World, corrections, expected, is_as,
    support::{
        Start,
        direct::{Came, Served, identity},
    },
};
use serde_json::Value;

const RECORDED: &str = include_str!("../fixtures/recorded_direct/git_writes.json");

/// What happened before a call: session, number of the call in it, and the deed.
type Step = (&'static str, usize, fn(&World));

const STEPS: &[Step] = &[
    ("git-worktrees", 13, |world| world.write("../wt1/untracked", "x\n")),
    ("git-push", 4, |world| {
        world.commit_in("other", "x.txt");
        world.git("other", &["push", "-q", "origin", "main"]);
        world.commit_in("repo", "y.txt");
    }),
    ("git-push", 17, |world| {
        std::fs::rename(world.place.at("origin.git"), world.place.at("away.git")).expect("the place is ours");
    }),
    ("git-rebase", 0, |world| world.git("repo", &["checkout", "-q", "feature"])),
    ("git-rebase", 5, |world| world.write("empty.txt", "no longer\n")),
    ("git-rebase", 6, |world| {
        world.git("repo", &["checkout", "-q", "empty.txt"]);
        world.git("repo", &["checkout", "-q", "clash"]);
    }),
    ("git-rebase-diff3", 0, |world| {
        world.git("repo", &["config", "merge.conflictStyle", "diff3"]);
        world.git("repo", &["checkout", "-q", "clash"]);
    }),
    ("git-rw", 11, |world| world.write("empty.txt", "no longer\n")),
    ("git-rw", 12, |world| world.write("a.txt", "other\n")),
    ("git-rw", 13, |world| world.git("repo", &["checkout", "-q", "a.txt"])),
    ("git-rw", 15, |world| world.git("repo", &["add", "empty.txt"])),
    ("git-rw", 16, |world| {
        world.git("repo", &["reset", "-q", "--hard"]);
        world.write("feat.txt", "in the way\n");
    }),
    ("git-rw", 17, |world| world.write("a.txt", "other\n")),
    ("git-rw", 18, |world| {
        std::fs::remove_file(world.repo.join("feat.txt")).expect("the place is ours");
        std::fs::remove_file(world.repo.join("gone.txt")).expect("the place is ours");
        world.write("new.txt", "untracked\n");
        world.write("dir/b.txt", "other\n");
    }),
    ("git-rw", 33, |world| world.write("a.txt", "once more\n")),
    ("git-rw", 34, |world| world.git("repo", &["mv", "a.txt", "a2.txt"])),
    ("git-rw", 36, |world| world.write("a2.txt", "once more, changed\n")),
    ("git-rw", 46, |world| world.git("repo", &["reset", "-q", "--hard"])),
];

impl World {
    fn write(&self, path: &str, text: &str) {
        std::fs::write(self.repo.join(path), text).expect("the place is ours");
    }

    /// A commit of a new file, by whoever works in that directory.
    fn commit_in(&self, dir: &str, file: &str) {
        std::fs::write(self.place.path().join(dir).join(file), "x\n").expect("the place is ours");
        self.git(dir, &["add", file]);
        self.git(dir, &["-c", "user.name=O", "-c", "user.email=o@example.invalid", "commit", "-qm", file]);
    }

    fn writing(&self) -> Served {
        identity(&self.place);
        let run = self.place.directory("run");
        let start = Start::new(&self.place).arguments(&["--surface", "direct", "--allow-write", "--run-dir"]);
        let start = start.argument(run).arguments(&["--root"]).argument(self.place.path());
        Served(start.argument("--repo").argument(&self.repo).spawn())
    }
}

#[test]
fn recorded_writes_come_out_again() {
    let cases: Vec<Value> = serde_json::from_str(RECORDED).expect("recordings are JSON");
    let mut sessions: Vec<(String, Vec<&Value>)> = Vec::new();
    for case in &cases {
        let session = case["session"].as_str().expect("a session");
        match sessions.last_mut().filter(|(last, _)| last == session) {
            Some((_, of)) => of.push(case),
            None => sessions.push((session.to_owned(), vec![case])),
        }
    }
    let (mut faults, mut corrected, mut steps, mut failures) = (Vec::new(), 0, 0, 0);
    for (session, cases) in sessions {
        let world = World::new();
        let directory = world.place.path().to_str().expect("places have UTF-8 paths");
        let mut served = world.writing();
        for (at, case) in cases.into_iter().enumerate() {
            for (_, _, step) in STEPS.iter().filter(|step| step.0 == session && step.1 == at) {
                step(&world);
                steps += 1;
            }
            let tool = case["tool"].as_str().expect("a tool");
            let arguments = case["args"].to_string().replace("$FX", directory);
            let came = served.call(tool, serde_json::from_str(&arguments).expect("it was JSON"));
            let wanted = match corrections::write(&session, at) {
                Some(correction) => {
                    corrected += 1;
                    correction.wanted(directory)
                }
                None => expected(case, directory),
            };
            let class = corrections::class(&session, at);
            let both_fail = matches!((&came, &wanted), (Came::Failure(..), Came::Failure(..)));
            failures += usize::from(both_fail && class.is_some());
            if !is_as(&came, &wanted, class) {
                faults.push(format!(
                    "{session} {at} {tool} {arguments}\n  came   {came:?}\n  wanted {wanted:?} {class:?}"
                ));
            }
        }
        world.git("repo", &["fsck", "--no-dangling"]);
    }
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), cases.len(), faults.join("\n"));
    assert_eq!((corrected, steps), (corrections::WRITES.len(), STEPS.len()), "a row of a table is not needed any more");
    assert_eq!(failures, corrections::classes(), "a class is not needed any more");
}
