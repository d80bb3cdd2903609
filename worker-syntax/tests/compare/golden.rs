//! Small pairs of every language against what was read and found right; `BULKHEAD_BLESS=1` writes the files anew.
//! Trust: files of this repository.

use crate::support::compare;
use bulkhead_contract::results::{LineKind, SemanticHunk};
use bulkhead_worker_syntax::engine::language::GRAMMARS;
use std::{fmt::Write as _, fs, path::Path};

/// Hunks as lines to read.
pub fn text(language: &str, hunks: &[SemanticHunk]) -> String {
    let mut out = format!("{language}\n");
    for hunk in hunks {
        let _ = write!(out, "\n@@ {}", hunk.header);
        if !hunk.within.is_empty() {
            let _ = write!(out, " | within {}", hunk.within.join(" > "));
        }
        if let Some(change) = hunk.change {
            let _ = write!(out, " | {change:?}");
        }
        if let Some(moved) = &hunk.moved {
            let _ = write!(out, " {} -> {}", moved.old_line, moved.new_line);
            if let Some(within) = &moved.old_within {
                let _ = write!(out, " from {within:?}");
            }
        }
        out.push('\n');
        for line in &hunk.lines {
            let number = |number: Option<u32>| number.map_or("-".to_owned(), |number| number.to_string());
            let sign = match line.kind {
                LineKind::Added => '+',
                LineKind::Deleted => '-',
                LineKind::Modified => '~',
                LineKind::Unchanged => panic!("this engine shows changes alone"),
            };
            let _ = writeln!(out, "{sign} {:>3} {:>3} {}", number(line.old_line), number(line.new_line), line.content);
            if let (Some(new), Some(old)) = (&line.changed_tokens, &line.old_changed_tokens) {
                let _ = writeln!(out, "          {old:?} => {new:?}");
            }
        }
    }
    out
}

#[test]
fn every_language_has_a_pair_that_is_told_as_it_was_read() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut faults = Vec::new();
    for grammar in GRAMMARS {
        let directory = golden.join(grammar.name);
        let files: Vec<_> = fs::read_dir(&directory).expect("every language has a pair").flatten().collect();
        let file = |stem: &str| {
            let found =
                files.iter().map(|entry| entry.path()).find(|path| path.file_stem().is_some_and(|it| it == stem));
            found.unwrap_or_else(|| panic!("{}: no {stem}", grammar.name))
        };
        let (old, new) = (file("old"), file("new"));
        let name = new.file_name().and_then(|name| name.to_str()).expect("names are text");
        let read = |path: &Path| fs::read(path).expect("readable");
        let found = compare(name, &read(&old), &read(&new)).expect("the pair is well-formed");
        let found = text(found.language, &found.hunks);
        let expected = directory.join("expected.txt");
        if std::env::var_os("BULKHEAD_BLESS").is_some() {
            fs::write(&expected, &found).expect("writable");
        }
        let expected = fs::read_to_string(&expected).unwrap_or_default();
        if expected != found {
            faults.push(format!("{}:\n{found}", grammar.name));
        }
    }
    assert!(faults.is_empty(), "told otherwise than it was read:\n{}", faults.join("\n"));
}
