//! Histories made of random edits, written with `git fast-import`.
//! Trust: test only; the same seed gives the same repository.

#[path = "../../../tests/support/dice.rs"]
mod dice;

pub use dice::Dice;
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

/// A tree: mode and lines by path.
pub type Files = BTreeMap<String, (&'static str, Vec<String>)>;

pub fn fresh(dice: &mut Dice) -> Vec<String> {
    let lines = 8 + dice.below(25);
    (0..lines).map(|n| format!("line {n} of {} words {}", dice.below(1_000_000), dice.below(1000))).collect()
}

fn name(dice: &mut Dice) -> String {
    let depth = dice.below(3);
    let mut path = String::new();
    for _ in 0..depth {
        let _ = write!(path, "d{}/", dice.below(4));
    }
    let _ = write!(path, "f{}.txt", dice.below(40));
    path
}

/// Whether `path` fits beside what is there: no file where another has a directory.
fn fits(files: &Files, path: &str) -> bool {
    let below = format!("{path}/");
    !files.contains_key(path)
        && !files.keys().any(|other| other.starts_with(&below) || path.starts_with(&format!("{other}/")))
}

/// One random edit.
pub fn edit(files: &mut Files, dice: &mut Dice) {
    let names: Vec<String> = files.keys().cloned().collect();
    if names.is_empty() {
        return;
    }
    let path = names[dice.below(names.len())].clone();
    match dice.below(20) {
        0..=8 => {
            if let Some((_, lines)) = files.get_mut(&path) {
                for _ in 0..=dice.below(3) {
                    let at = dice.below(lines.len().max(1));
                    let text = format!("edited {}", dice.below(6));
                    match dice.below(4) {
                        0 if lines.len() > 2 => drop(lines.remove(at)),
                        1 => lines.insert(at, text),
                        _ if at < lines.len() => lines[at] = text,
                        _ => lines.push(text),
                    }
                }
            }
        }
        9 | 10 => drop(files.remove(&path)),
        11 | 12 => {
            let new = name(dice);
            if fits(files, &new) {
                let lines = fresh(dice);
                files.insert(new, ("100644", lines));
            }
        }
        13..=15 => {
            let new = name(dice);
            if fits(files, &new)
                && let Some(file) = files.remove(&path)
            {
                files.insert(new, file);
            }
        }
        16 => {
            if let Some((mode, _)) = files.get_mut(&path)
                && *mode != "120000"
            {
                *mode = if *mode == "100644" { "100755" } else { "100644" };
            }
        }
        17 => {
            if let Some((mode, lines)) = files.get_mut(&path) {
                (*mode, *lines) = ("120000", vec![format!("target{}", dice.below(3))]);
            }
        }
        18 => {
            // a whole directory moves
            if let Some((dir, _)) = path.split_once('/') {
                let new = format!("m{}", dice.below(4));
                let inside: Vec<String> =
                    files.keys().filter(|name| name.starts_with(&format!("{dir}/"))).cloned().collect();
                for old in inside {
                    let to = format!("{new}/{}", &old[dir.len() + 1..]);
                    if fits(files, &to)
                        && let Some(file) = files.remove(&old)
                    {
                        files.insert(to, file);
                    }
                }
            }
        }
        _ => {
            // a file where a directory was, or the other way round
            if let Some((dir, _)) = path.clone().split_once('/') {
                files.retain(|name, _| !name.starts_with(&format!("{dir}/")));
                let lines = fresh(dice);
                files.insert(dir.to_owned(), ("100644", lines));
            } else if let Some(file) = files.remove(&path) {
                files.insert(format!("{path}/inner.txt"), file);
            }
        }
    }
}

/// Writes commits for `git fast-import`.
#[derive(Default)]
pub struct Stream {
    text: Vec<u8>,
    marks: usize,
}

impl Stream {
    /// Appends a commit; its mark.
    pub fn commit(&mut self, parents: &[usize], files: &Files) -> usize {
        self.marks += 1;
        let mark = self.marks;
        let time = 1_700_000_000 + mark * 60;
        let who = format!("a <a@example.org> {time} +0000");
        let mut head = format!(
            "commit refs/heads/c{mark}\nmark :{mark}\nauthor {who}\ncommitter {who}\ndata <<E\ncommit {mark}\nE\n"
        );
        for (at, parent) in parents.iter().enumerate() {
            let _ = writeln!(head, "{} :{parent}", if at == 0 { "from" } else { "merge" });
        }
        head.push_str("deleteall\n");
        self.text.extend_from_slice(head.as_bytes());
        for (path, (mode, lines)) in files {
            let data = if *mode == "120000" { lines.concat() } else { lines.join("\n") + "\n" };
            let _ = write!(self.text, "M {mode} inline {path}\ndata {}\n{data}\n", data.len());
        }
        mark
    }

    /// Makes the repository; the ids of all commits by mark, the first being nothing.
    pub fn import(&self, path: &Path) -> Vec<String> {
        let run = |arguments: &[&str], input: &[u8]| {
            let mut child = Command::new("git")
                .arg("-C")
                .arg(path)
                .args(arguments)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .expect("git is installed");
            child.stdin.take().expect("piped").write_all(input).expect("git reads");
            let output = child.wait_with_output().expect("git ends");
            assert!(output.status.success(), "git {arguments:?}");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        run(&["init", "-q", "-b", "c1"], b"");
        run(&["fast-import", "--quiet", "--export-marks=.git/marks"], &self.text);
        let marks = std::fs::read_to_string(path.join(".git/marks")).expect("git wrote it");
        let mut ids = vec![String::new(); self.marks + 1];
        for line in marks.lines() {
            if let Some((mark, id)) = line.trim_start_matches(':').split_once(' ') {
                ids[mark.parse::<usize>().expect("a number")] = id.to_owned();
            }
        }
        ids
    }
}

/// A repository with pairs of commits to merge.
pub fn generate(path: &Path, count: usize, seed: u64) -> Vec<(String, String)> {
    let mut dice = Dice(seed);
    let mut stream = Stream::default();
    let mut pairs = Vec::new();
    for _ in 0..count {
        let mut base = Files::new();
        for _ in 0..6 + dice.below(14) {
            let new = name(&mut dice);
            if fits(&base, &new) {
                let lines = fresh(&mut dice);
                base.insert(new, ("100644", lines));
            }
        }
        let root = stream.commit(&[], &base);
        let mut sides = Vec::new();
        for _ in 0..2 {
            let mut files = base.clone();
            for _ in 0..1 + dice.below(5) {
                edit(&mut files, &mut dice);
            }
            sides.push((stream.commit(&[root], &files), files));
        }
        // every fifth pair has two best common ancestors
        if dice.below(5) == 0 {
            let (left, right) = (sides[0].0, sides[1].0);
            let mut crossed = Vec::new();
            for (first, second, files) in [(left, right, &sides[0].1), (right, left, &sides[1].1)] {
                let mut files = files.clone();
                edit(&mut files, &mut dice);
                crossed.push(stream.commit(&[first, second], &files));
            }
            pairs.push((crossed[0], crossed[1]));
        } else {
            pairs.push((sides[0].0, sides[1].0));
        }
    }
    let ids = stream.import(path);
    pairs.into_iter().map(|(left, right)| (ids[left].clone(), ids[right].clone())).collect()
}

/// A repository with pairs of commits, the second to be rebased onto the first; some changes are on both sides.
pub fn generate_rebases(path: &Path, count: usize, seed: u64) -> Vec<(String, String)> {
    let mut dice = Dice(seed);
    let mut stream = Stream::default();
    let mut pairs = Vec::new();
    for _ in 0..count {
        let mut base = Files::new();
        for _ in 0..8 + dice.below(10) {
            let new = name(&mut dice);
            if fits(&base, &new) {
                let lines = fresh(&mut dice);
                base.insert(new, ("100644", lines));
            }
        }
        let root = stream.commit(&[], &base);
        // a change that both sides make, each as a commit of its own
        let shared = base.keys().next().cloned().expect("there are files");
        let both = |files: &mut Files| {
            if let Some((_, lines)) = files.get_mut(&shared) {
                lines.insert(0, "on both sides".to_owned());
            }
        };
        let is_shared = dice.below(2) == 0;
        let mut side = |steps: usize, dice: &mut Dice, merges: bool| {
            let (mut tip, mut files) = (root, base.clone());
            for step in 0..steps {
                let mut next = files.clone();
                if is_shared && step == 0 {
                    both(&mut next);
                } else {
                    edit(&mut next, dice);
                }
                if merges && step == 1 && dice.below(3) == 0 {
                    // a side line that is merged back
                    let mut other = files.clone();
                    other.insert(format!("merged{}.txt", dice.below(99)), ("100644", fresh(dice)));
                    let line = stream.commit(&[tip], &other);
                    let main = stream.commit(&[tip], &next);
                    for (path, file) in other {
                        if path.starts_with("merged") {
                            next.insert(path, file);
                        }
                    }
                    tip = stream.commit(&[main, line], &next);
                } else {
                    tip = stream.commit(&[tip], &next);
                }
                files = next;
            }
            tip
        };
        let steps = 1 + dice.below(3);
        let upstream = side(steps, &mut dice, false);
        let steps = 1 + dice.below(5);
        let topic = side(steps, &mut dice, true);
        pairs.push((upstream, topic));
    }
    let ids = stream.import(path);
    pairs.into_iter().map(|(upstream, topic)| (ids[upstream].clone(), ids[topic].clone())).collect()
}
