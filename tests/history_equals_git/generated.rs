//! Repositories made from a seed: branches and merges, renames with edits, equal and lying clocks.
//! Trust: test code.

use super::support::Repo;
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::Write as _,
    process::{Command, Stdio},
};

/// A generator of numbers that are the same in every run (xorshift).
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 8
    }

    /// One of them.
    pub fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.next() as usize % all.len()]
    }
}

/// What commit-graph a repository has.
#[derive(Debug, Clone, Copy)]
pub enum Graph {
    /// None.
    None,
    /// One without filters.
    Plain,
    /// One with filters of that version.
    Filters(u8),
    /// A chain, its upper layer with filters.
    Chain,
}

impl Graph {
    /// Gives the repository this commit-graph.
    pub fn write(self, repo: &Repo<'_>) {
        let info = repo.git_dir().join("objects/info");
        let _ = std::fs::remove_file(info.join("commit-graph"));
        let _ = std::fs::remove_dir_all(info.join("commit-graphs"));
        let version = |version: u8| format!("commitGraph.changedPathsVersion={version}");
        match self {
            Graph::None => {}
            Graph::Plain => drop(repo.git(&["commit-graph", "write", "--reachable", "--no-changed-paths"])),
            Graph::Filters(of) => {
                repo.git(&["-c", &version(of), "commit-graph", "write", "--reachable", "--changed-paths"]);
            }
            Graph::Chain => {
                let base = repo.git(&["rev-parse", "HEAD~20"]);
                let mut command = Command::new("git");
                command.arg("-C").arg(repo.path()).args([
                    "commit-graph",
                    "write",
                    "--split=no-merge",
                    "--stdin-commits",
                ]);
                let mut child = command.stdin(Stdio::piped()).spawn().expect("git is installed");
                writeln!(child.stdin.take().expect("it is piped"), "{base}").expect("git reads");
                assert!(child.wait().expect("it ends").success());
                repo.git(&["commit-graph", "write", "--split=no-merge", "--reachable", "--changed-paths"]);
            }
        }
    }
}

/// Fills the repository with `commits` commits; gives paths worth asking for, some of which no longer exist.
pub fn fill(repo: &Repo<'_>, seed: u64, commits: usize) -> Vec<String> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut stream = String::new();
    let mut trees: Vec<BTreeMap<String, String>> = Vec::new();
    let mut paths: BTreeMap<String, ()> = BTreeMap::new();
    let mut clock = 1_700_000_000_u64;
    for number in 1..=commits {
        clock += random.next() % 3 * 40;
        // some clocks are wrong, and many commits share a second
        let time = if random.next().is_multiple_of(40) { clock - random.next() % 5_000 } else { clock };
        let recent = |random: &mut Random| trees.len() - (random.next() as usize % trees.len().min(6));
        let parents: Vec<usize> = match (trees.len(), random.next() % 5) {
            (0, _) => vec![],
            (1, _) | (_, 1..) => vec![recent(&mut random)],
            (_, 0) => {
                let (one, two) = (recent(&mut random), recent(&mut random));
                if one == two { vec![one] } else { vec![one, two] }
            }
        };
        let mut tree = parents.first().map(|parent| trees[parent - 1].clone()).unwrap_or_default();
        if let [_, second] = parents[..] {
            // a merge takes some of the other side
            for (path, text) in &trees[second - 1] {
                if random.next().is_multiple_of(2) {
                    tree.insert(path.clone(), text.clone());
                }
            }
        } else {
            edit(&mut random, &mut tree, number);
        }
        let (name, mail) = *random.of(&[("Ada Example", "ada@example.org"), ("Bob Z\u{fc}rich", "bob@example.org")]);
        let kind = *random.of(&["fix", "feat", "docs"]);
        let message = format!("{kind}: number {number}\n\nbody of {}\n", number % 5);
        let _ = write!(stream, "commit refs/heads/main\nmark :{number}\nauthor {name} <{mail}> {time} +0000\n");
        let _ = write!(stream, "committer {name} <{mail}> {time} +0000\ndata {}\n{message}", message.len());
        for (at, parent) in parents.iter().enumerate() {
            let _ = writeln!(stream, "{} :{parent}", if at == 0 { "from" } else { "merge" });
        }
        stream.push_str("deleteall\n");
        for (path, text) in &tree {
            let _ = write!(stream, "M 100644 inline {path}\ndata {}\n{text}\n", text.len());
            paths.insert(path.clone(), ());
            if let Some((directory, _)) = path.rsplit_once('/') {
                paths.insert(directory.to_owned(), ());
            }
        }
        trees.push(tree);
    }
    // everything that is not reachable otherwise
    let mut child = Command::new("git");
    child.arg("-C").arg(repo.path()).args(["fast-import", "--quiet", "--force"]);
    let mut child = child.stdin(Stdio::piped()).spawn().expect("git is installed");
    child.stdin.take().expect("it is piped").write_all(stream.as_bytes()).expect("git reads");
    assert!(child.wait().expect("it ends").success());
    paths.insert("never/there".to_owned(), ());
    paths.insert(".".to_owned(), ());
    let all: Vec<String> = paths.into_keys().collect();
    let step = (all.len() / 40).max(1);
    all.into_iter().step_by(step).chain([".".to_owned()]).collect()
}

fn edit(random: &mut Random, tree: &mut BTreeMap<String, String>, number: usize) {
    let place = |random: &mut Random| {
        let directory = *random.of(&["", "src/", "src/core/", "docs/", "caf\u{e9}/"]);
        format!("{directory}f{}.txt", random.next() % 12)
    };
    for _ in 0..=random.next() % 2 {
        let names: Vec<String> = tree.keys().cloned().collect();
        match random.next() % 8 {
            0 | 1 if !names.is_empty() => {
                let from = random.of(&names);
                let text = tree.remove(from).unwrap_or_default();
                let to = place(random);
                let text =
                    if random.next().is_multiple_of(2) { text } else { text + &format!("renamed by {number}\n") };
                tree.insert(to, text);
            }
            2 if names.len() > 8 => drop(tree.remove(random.of(&names))),
            3 | 4 if !names.is_empty() => {
                let text = tree.entry(random.of(&names).clone()).or_default();
                text.push_str(&format!("line {number}\n"));
            }
            _ => {
                let lines = (0..12).map(|line| format!("{line} of {}\n", random.next() % 90)).collect::<String>();
                tree.insert(place(random), lines);
            }
        }
    }
}
