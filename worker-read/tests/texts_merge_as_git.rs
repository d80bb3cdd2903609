//! Texts merge byte for byte as `git merge-tree` merges them, conflict markers and all.
//! Trust: test only; the judge is the real git. `BULKHEAD_SEED=N` repeats a run, `BULKHEAD_SLOW=1` makes it longer.
#![cfg(unix)]

mod support;

#[path = "../../tests/support/dice.rs"]
mod dice;

use bulkhead_worker_read::merge::text::{Merged, OnConflict, Take, decide, merge};
use dice::Dice;
use std::{fs, path::Path};
use support::{git, git_line, try_git};

/// Few lines, so that they are met again and changes can slide; some are indented, some hold no letter.
const LINES: &[&str] = &["call(a)", "    x", "    x", "    y", "}", "", "{", "\t\tz", "end", "    }", "b", "c"];

/// The three versions of a text.
type Versions = [Vec<u8>; 3];

fn text(lines: &[Vec<u8>]) -> Vec<u8> {
    lines.concat()
}

/// A base, and two sides with a few edits each.
fn versions(dice: &mut Dice) -> Versions {
    let end: &[u8] = if dice.below(6) == 0 { b"\r\n" } else { b"\n" };
    let line = |dice: &mut Dice| [LINES[dice.below(LINES.len())].as_bytes(), end].concat();
    let base: Vec<Vec<u8>> = (0..dice.below(40)).map(|_| line(dice)).collect();
    let side = |dice: &mut Dice| {
        let mut lines = base.clone();
        for _ in 0..dice.below(4) {
            let at = dice.below(lines.len() + 1);
            let many = dice.below(5).min(lines.len() - at);
            match dice.below(5) {
                0 => drop(lines.drain(at..at + many)),
                1 => lines.insert(at, line(dice)),
                2 => {
                    // a part again, as where a function is copied
                    let copied = lines[at..at + many].to_vec();
                    lines.splice(at..at, copied);
                }
                3 if at < lines.len() => lines[at] = line(dice),
                _ => {
                    let fresh: Vec<Vec<u8>> = (0..dice.below(6)).map(|_| line(dice)).collect();
                    lines.splice(at..at + many, fresh);
                }
            }
        }
        if dice.below(8) == 0
            && let Some(last) = lines.last_mut()
        {
            last.retain(|byte| !b"\r\n".contains(byte));
        }
        text(&lines)
    };
    [text(&base), side(dice), side(dice)]
}

/// What the base makes of every conflict in a text that shows it, and how many there are.
fn with_bases(text: &[u8]) -> (Vec<u8>, usize) {
    let (mut out, mut conflicts, mut shown) = (Vec::new(), 0, true);
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        match line {
            [b'<', b'<', b'<', ..] => shown = false,
            [b'|', b'|', b'|', ..] => shown = true,
            [b'=', b'=', b'=', ..] => shown = false,
            [b'>', b'>', b'>', ..] => (shown, conflicts) = (true, conflicts + 1),
            _ if shown => out.extend_from_slice(line),
            _ => {}
        }
    }
    (out, conflicts)
}

/// Commits one version of every text; the commit.
fn commit(dir: &Path, texts: &[Versions], version: usize, parent: Option<&str>) -> String {
    for (number, versions) in texts.iter().enumerate() {
        let name = format!("{number}.{}", if number.is_multiple_of(5) { "union" } else { "text" });
        fs::write(dir.join(name), &versions[version]).expect("writable");
    }
    git(dir, &["add", "-A"]);
    let tree = git_line(dir, &["write-tree"]).expect("a tree");
    let mut arguments = vec!["commit-tree", &tree, "-m", "a version"];
    arguments.extend(parent.iter().flat_map(|parent| ["-p", *parent]));
    git_line(dir, &arguments).expect("a commit")
}

#[test]
fn texts_merge_as_git_merges_them() {
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let dir = temp.path();
    git(dir, &["init", "-q", "."]);
    git(dir, &["config", "core.autocrlf", "false"]);
    fs::write(dir.join(".gitattributes"), "*.union merge=union\n").expect("writable");
    let mut dice = Dice::of_run();
    let slow = std::env::var_os("BULKHEAD_SLOW").is_some_and(|value| value == "1");
    let texts: Vec<Versions> = (0..if slow { 20_000 } else { 1_000 }).map(|_| versions(&mut dice)).collect();
    let base = commit(dir, &texts, 0, None);
    let [ours, theirs] = [1, 2].map(|side| commit(dir, &texts, side, Some(&base)));
    for (name, id) in [("ours", &ours), ("theirs", &theirs)] {
        git(dir, &["branch", name, id]);
    }
    let (output, _) = try_git(dir, &["merge-tree", "--write-tree", "--name-only", "-z", "ours", "theirs"]);
    let output = String::from_utf8_lossy(&output).into_owned();
    let tree = output.split('\0').next().expect("a tree comes first");
    git(dir, &["read-tree", "-u", "--reset", tree]);
    let conflicts: Vec<&str> = output.split('\0').skip(1).take_while(|name| !name.is_empty()).collect();
    let (mut faults, mut conflicting) = (Vec::new(), 0);
    for (number, [base, ours, theirs]) in texts.iter().enumerate() {
        let union = number.is_multiple_of(5);
        let name = format!("{number}.{}", if union { "union" } else { "text" });
        let on_conflict = match union {
            true => OnConflict::Union,
            false => OnConflict::Mark { length: 7, names: [b"ours", b"theirs"] },
        };
        let mine = merge(base, ours, theirs, on_conflict);
        let clean = !conflicts.contains(&name.as_str());
        conflicting += usize::from(!clean);
        let git = Merged { text: fs::read(dir.join(&name)).expect("it is in the merged tree"), clean };
        if mine != git {
            let show = |bytes: &[u8]| bytes.escape_ascii().to_string().replace("\\n", "\n  ");
            faults.push(format!(
                "{name}\nbase\n  {}\nours\n  {}\ntheirs\n  {}\ngit, clean {clean}\n  {}\nmine, clean {}\n  {}",
                show(base),
                show(ours),
                show(theirs),
                show(&git.text),
                mine.clean,
                show(&mine.text)
            ));
        }
    }
    eprintln!("{} texts, {conflicting} conflicting, {} differ", texts.len(), faults.len());
    assert!(conflicting > texts.len() / 8, "only {conflicting} conflict");
    assert!(
        faults.is_empty(),
        "{} differ:\n{}",
        faults.len(),
        faults.iter().take(5).cloned().collect::<Vec<_>>().join("\n")
    );
}

#[test]
fn one_side_decides_as_git_lets_it() {
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let dir = temp.path();
    git(dir, &["init", "-q", "."]);
    git(dir, &["config", "core.autocrlf", "false"]);
    git(dir, &["config", "merge.conflictStyle", "diff3"]);
    let mut dice = Dice::of_run();
    let texts: Vec<Versions> = (0..400).map(|_| versions(&mut dice)).collect();
    let base = commit(dir, &texts, 0, None);
    let [ours, theirs] = [1, 2].map(|side| commit(dir, &texts, side, Some(&base)));
    let without_end = |text: &[u8]| text.trim_ascii_end().to_vec();
    let mut decided = 0;
    for (take, option) in [(Take::Ours, Some("ours")), (Take::Theirs, Some("theirs")), (Take::Base, None)] {
        let strategy = option.iter().flat_map(|option| ["-X", *option]);
        let arguments: Vec<&str> = ["merge-tree", "--write-tree", "--name-only", "-z"]
            .into_iter()
            .chain(strategy)
            .chain([&ours[..], &theirs])
            .collect();
        let (output, _) = try_git(dir, &arguments);
        let Some(tree) = output.split(|&byte| byte == 0).next().filter(|tree| tree.len() == 40) else {
            eprintln!("SKIPPED {take:?}: this git merges no trees with a strategy's option (it came with 2.44)");
            continue;
        };
        git(dir, &["read-tree", "-u", "--reset", std::str::from_utf8(tree).expect("an id")]);
        let bases_are_shown = || git_line(dir, &["grep", "-l", "^|||||||"]).is_some_and(|names| !names.is_empty());
        if take == Take::Base && !bases_are_shown() {
            eprintln!("SKIPPED {take:?}: this git's merge-tree knows no style of conflicts");
            continue;
        }
        for (number, [base, ours, theirs]) in texts.iter().enumerate() {
            let name = format!("{number}.{}", if number.is_multiple_of(5) { "union" } else { "text" });
            let git_says = fs::read(dir.join(&name)).expect("it is in the merged tree");
            let mine = decide(base, ours, theirs, take);
            decided += mine.conflicts;
            match take {
                Take::Base => {
                    let (text, conflicts) = with_bases(&git_says);
                    assert_eq!(
                        without_end(&mine.text).escape_ascii().to_string(),
                        without_end(&text).escape_ascii().to_string(),
                        "{name}"
                    );
                    assert_eq!(mine.conflicts, conflicts, "{name}");
                }
                _ => assert_eq!(
                    mine.text.escape_ascii().to_string(),
                    git_says.escape_ascii().to_string(),
                    "{name} {take:?}"
                ),
            }
        }
    }
    assert!(decided > 100, "only {decided} conflicts were decided");
}
