//! Where white space does not count, lines that are equal are indented differently: a change that can slide stands where
//! Git puts it, by the indentation of the very lines it would end at. Trust: test code.

use super::{ask, compare, support::shell, worker};
use bulkhead_ipc::edge::asks;
use std::fmt::Write as _;

/// Blocks in blocks, whose ends are equal but for their indentation, here and there with an empty line after them.
fn nested() -> Vec<String> {
    let mut lines = Vec::new();
    for (number, depth) in [3, 1, 4, 2].into_iter().enumerate() {
        for level in 0..depth {
            lines.push(format!("{}if (a{number} == {level}) {{", "\t".repeat(level)));
        }
        lines.push(format!("{}return {number};", "\t".repeat(depth)));
        for level in (0..depth).rev() {
            lines.push(format!("{}}}", "\t".repeat(level)));
            if level % 2 == number % 2 {
                lines.push(String::new());
            }
        }
    }
    lines
}

fn text(lines: impl Iterator<Item = String>) -> String {
    lines.fold(String::new(), |mut text, line| {
        writeln!(text, "{line}").expect("a string takes everything");
        text
    })
}

#[test]
fn equal_lines_that_are_indented_differently_slide_as_git_slides_them() {
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let repo = temp.path().canonicalize().expect("it is there").join("repo");
    shell(temp.path(), "git init -q repo");
    let lines = nested();
    let write = |name: String, text: String| std::fs::write(repo.join(name), text).expect("writable");
    for at in 0..lines.len() {
        write(format!("removed{at}"), text(lines.iter().cloned()));
        write(format!("added{at}"), text(lines.iter().cloned()));
    }
    shell(&repo, "git add .\ngit commit -qm all");
    for at in 0..lines.len() {
        write(format!("removed{at}"), text(lines.iter().take(at).chain(&lines[at + 1..]).cloned()));
        write(format!("added{at}"), text(lines.iter().take(at).chain(&lines[at..=at]).chain(&lines[at..]).cloned()));
    }
    let mut worker = worker(&repo, &repo);
    for (ignore_whitespace, arguments) in [(false, vec![]), (true, vec!["-w"])] {
        let ask = asks::TextDiff { ignore_whitespace, ..ask(None, None) };
        compare(&mut worker, &repo, ask, &arguments).expect("as Git");
    }
}
