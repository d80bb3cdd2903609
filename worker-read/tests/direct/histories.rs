//! Histories made up by dice: repeated lines, renames, merges, clocks that go wrong. Every line is laid to git's commit.
//! Trust: test only; the judge is the real git. `BULKHEAD_SEED=N` repeats a run, `BULKHEAD_SLOW=1` makes it longer.

use crate::{
    annotate::agree,
    dice::Dice,
    support::{Operator, command, git, start},
};
use std::{
    collections::BTreeMap,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

/// Few, so that they come again and changes can slide; some are indented, some are empty.
const LINES: &[&str] = &["a", "b", "b", "  c", "    d", "", "}", "}", "{", "e e", "\tf"];

/// All files of a commit.
type Files = BTreeMap<String, Vec<String>>;

fn line(dice: &mut Dice) -> String {
    match dice.below(4) {
        0 => format!("only {}\n", dice.below(1_000_000)),
        _ => format!("{}\n", LINES[dice.below(LINES.len())]),
    }
}

fn edit(dice: &mut Dice, lines: &mut Vec<String>) {
    for _ in 0..=dice.below(2) {
        let at = dice.below(lines.len() + 1);
        let many = dice.below(4).min(lines.len() - at);
        match dice.below(5) {
            0 => drop(lines.drain(at..at + many)),
            1 => {
                // a part again, as where a function is copied
                let copied = lines[at..at + many].to_vec();
                lines.splice(at..at, copied);
            }
            2 if at < lines.len() => lines[at] = line(dice),
            _ => {
                let fresh: Vec<String> = (0..=dice.below(3)).map(|_| line(dice)).collect();
                lines.splice(at..at, fresh);
            }
        }
    }
}

fn change(dice: &mut Dice, files: &mut Files, number: usize) {
    let names: Vec<String> = files.keys().cloned().collect();
    let name = names[dice.below(names.len())].clone();
    let fresh = format!("{}file{number}", if dice.below(2) == 0 { "d/" } else { "" });
    match dice.below(8) {
        0 => {
            let mut lines = files.remove(&name).expect("it is one of them");
            if dice.below(2) == 0 {
                edit(dice, &mut lines);
            }
            files.insert(fresh, lines);
        }
        1 => {
            let copied = files[&name].clone();
            files.insert(fresh, copied);
        }
        2 if files.len() > 2 => drop(files.remove(&name)),
        _ => edit(dice, files.get_mut(&name).expect("it is one of them")),
    }
}

/// Each file from either side, or a mix of both.
fn merged(dice: &mut Dice, [ours, theirs]: [&Files; 2]) -> Files {
    let mut files = ours.clone();
    for (name, lines) in theirs {
        match (dice.below(3), files.get_mut(name)) {
            (0, _) => drop(files.insert(name.clone(), lines.clone())),
            (1, Some(mine)) => {
                let at = dice.below(mine.len().min(lines.len()) + 1);
                mine.truncate(at);
                mine.extend_from_slice(&lines[at..]);
            }
            _ => {}
        }
    }
    files
}

/// Writes a history of `commits` commits to `dir`; the files of its tip.
fn build(dice: &mut Dice, dir: &Path, commits: usize) -> Vec<String> {
    let mut stream = Vec::new();
    let mut made: Vec<Files> = Vec::new();
    for number in 0..commits {
        let (mut files, mut parents) = match number {
            0 => {
                let text = |dice: &mut Dice| (0..20 + dice.below(20)).map(|_| line(dice)).collect();
                let files = (0..3).map(|at| (format!("file{at}"), text(dice))).collect();
                (files, Vec::new())
            }
            _ => {
                // mostly the last one, and the very last merges what is near
                let back = if dice.below(3) == 0 { dice.below(number.min(6)) } else { 0 };
                (made[number - 1 - back].clone(), vec![number - 1 - back])
            }
        };
        if number > 2 && (dice.below(5) == 0 || number + 1 == commits) {
            let other = number - 1 - dice.below(number.min(6));
            if other != parents[0] {
                files = merged(dice, [&files, &made[other]]);
                parents.push(other);
            }
        }
        if number > 0 && (parents.len() == 1 || dice.below(2) == 0) {
            change(dice, &mut files, number + 3);
        }
        let time = 1_700_000_000 + number * 60 - if dice.below(10) == 0 { dice.below(600) } else { 0 };
        let mut say = |text: String| stream.extend_from_slice(text.as_bytes());
        say(format!("commit refs/heads/main\nmark :{}\ncommitter Dice <dice@x> {time} +0100\ndata 1\nm\n", number + 1));
        for (at, parent) in parents.iter().enumerate() {
            say(format!("{} :{}\n", if at == 0 { "from" } else { "merge" }, parent + 1));
        }
        say("deleteall\n".to_owned());
        for (name, lines) in &files {
            let text = lines.concat();
            say(format!("M 100644 inline {name}\ndata {}\n{text}\n", text.len()));
        }
        made.push(files);
    }
    git(dir, &["init", "-q", "-b", "main", "."]);
    import(command("git").current_dir(dir).args(["fast-import", "--quiet", "--force"]), &stream);
    git(dir, &["reset", "-q", "--hard"]);
    made.last().into_iter().flat_map(|files| files.keys().cloned()).collect()
}

fn import(command: &mut Command, stream: &[u8]) {
    let mut importer = command.stdin(Stdio::piped()).spawn().expect("git is installed where the tests run");
    importer.stdin.take().expect("piped").write_all(stream).expect("git reads all of it");
    assert!(importer.wait().is_ok_and(|status| status.success()));
}

#[test]
fn every_line_of_made_up_histories_is_laid_to_git_s_commit() {
    let mut dice = Dice::of_run();
    let slow = std::env::var_os("BULKHEAD_SLOW").is_some_and(|value| value == "1");
    for _ in 0..if slow { 200 } else { 6 } {
        let temp = tempfile::tempdir().expect("a writable temporary directory");
        let dir = temp.path().canonicalize().expect("it is there");
        let files = build(&mut dice, &dir, 60);
        if dice.below(2) == 0 {
            git(&dir, &["commit-graph", "write", "--reachable", "--changed-paths"]);
        }
        let mut worker = start(&dir, &Operator::default()).expect("a repository");
        for path in files.iter().take(5) {
            agree(&mut worker, &dir, path, Some("HEAD"));
            agree(&mut worker, &dir, path, None);
        }
    }
}
