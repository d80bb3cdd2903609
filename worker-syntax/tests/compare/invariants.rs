//! What holds for every pair of texts: each changed line is told once, with its number and its text, under the innermost
//! definition; what is left of a pair of lines without its changed tokens is the same.
//! Trust: test code; the judge of definitions is a plain recursion over the whole tree.

use crate::support::{compare, regions};
use bulkhead_contract::results::{HunkChange, LineKind, SemanticHunk};
use bulkhead_worker_syntax::engine::{
    compare::{Compared, Refused},
    language::{Definition, GRAMMARS, Grammar, Needs},
};
use std::{collections::BTreeMap, fs, path::Path};
use tree_sitter::{Node, Parser};

/// A definition as the judge sees it: rows, how many are around it, text.
struct Judged {
    rows: (usize, usize),
    level: usize,
    text: String,
}

fn is(node: &Node<'_>, definition: &Definition) -> bool {
    node.kind() == definition.kind
        && node.is_named()
        && match definition.needs {
            Needs::Nothing => true,
            Needs::Body => node.child_by_field_name("body").is_some(),
            Needs::Child(kinds) => {
                (0..node.child_count()).filter_map(|at| node.child(at)).any(|child| kinds.contains(&child.kind()))
            }
        }
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn judge(node: Node<'_>, grammar: &Grammar, text: &str, level: usize, wrapped: Option<usize>, all: &mut Vec<Judged>) {
    let (start, end) = (node.start_position(), node.end_position());
    let last = if end.column == 0 && end.row > start.row { end.row - 1 } else { end.row };
    let defines = grammar.definitions.iter().any(|definition| is(&node, definition));
    let first = wrapped.unwrap_or(start.row);
    if defines {
        all.push(Judged { rows: (first, last), level, text: squeezed(&text[node.byte_range()]) });
    }
    let mut open = grammar.wrappers.contains(&node.kind()).then_some(first);
    for at in 0..node.child_count() {
        let Some(child) = node.child(at) else { continue };
        let before = all.len();
        judge(child, grammar, text, level + usize::from(defines), open, all);
        let taken = grammar.definitions.iter().any(|definition| is(&child, definition)) && all.len() > before;
        if taken {
            open = None;
        }
    }
}

fn judged(language: &str, text: &[u8]) -> Vec<Judged> {
    let grammar = Grammar::named(language).expect("a language of the table");
    let mut parser = Parser::new();
    parser.set_language(&grammar.language()).expect("a grammar of this parser");
    let tree = parser.parse(text, None).expect("no time limit");
    let mut all = Vec::new();
    judge(tree.root_node(), grammar, std::str::from_utf8(text).expect("text"), 0, None, &mut all);
    all
}

fn named_rightly(hunk: &SemanticHunk, row: usize, all: &[Judged], what: &str) {
    let mut innermost: Option<&Judged> = None;
    for one in all.iter().filter(|one| one.rows.0 <= row && row <= one.rows.1) {
        if innermost.is_none_or(|other| other.level < one.level) {
            innermost = Some(one);
        }
    }
    let Some(innermost) = innermost else {
        assert_eq!(hunk.header, "", "{what}: row {row} is in no definition");
        return;
    };
    let header = hunk.header.trim_end_matches('\u{2026}');
    let header = header.strip_prefix("type ").unwrap_or(header);
    assert!(!header.is_empty(), "{what}: row {row} is in a definition: {}", innermost.text);
    assert!(innermost.text.contains(header), "{what}: row {row}: {header:?} is not of {:?}", innermost.text);
}

/// How often each character is there, blanks aside.
fn letters<'t>(texts: impl IntoIterator<Item = &'t str>) -> BTreeMap<char, i64> {
    let mut counts = BTreeMap::new();
    for letter in texts.into_iter().flat_map(str::chars).filter(|letter| !letter.is_whitespace()) {
        *counts.entry(letter).or_default() += 1;
    }
    counts
}

fn rest(content: &str, tokens: &[String]) -> BTreeMap<char, i64> {
    let mut counts = letters([content]);
    for (letter, count) in letters(tokens.iter().map(String::as_str)) {
        let left = counts.entry(letter).or_default();
        *left -= count;
        assert!(*left >= 0, "changed tokens are of their line: {tokens:?} of {content:?}");
    }
    counts.retain(|_, count| *count != 0);
    // each stands in the line as it is shown, behind the one before it
    let behind = |left: &'_ str, token: &String| left.split_once(token.as_str()).map(|(_, right)| right.to_owned());
    let last = tokens.iter().try_fold(content.to_owned(), |left, token| behind(&left, token));
    assert!(last.is_some(), "changed tokens are of their line: {tokens:?} of {content:?}");
    counts
}

/// A line end within a text or a directive is a token, and none of the line that is shown.
#[test]
fn no_token_reaches_beyond_its_line() {
    for (name, old, new) in [
        ("a.h", "#define A { .b = 1 }\nint x;\n", "#define A(c) { \\\n\t.b = 1, .c = c }\nint x;\n"),
        ("a.sh", "build 'one two' \\\n  three\n", "build 'one two\n  three'\n"),
        ("a.py", "a = 'one two'\nb = 1\n", "a = \"\"\"one two\n\"\"\"\nb = 1\n"),
    ] {
        let found = compare(name, old.as_bytes(), new.as_bytes()).expect("it is understood");
        let pairs = found.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.changed_tokens.is_some());
        assert!(pairs.count() > 0, "{name}: a pair of lines");
        hold(old.as_bytes(), new.as_bytes(), &found, name);
    }
}

/// Fails where an answer breaks a rule.
pub fn hold(old: &[u8], new: &[u8], found: &Compared, what: &str) {
    let (old_lines, new_lines): (Vec<_>, Vec<_>) =
        (old.split_inclusive(|byte| *byte == b'\n').collect(), new.split_inclusive(|byte| *byte == b'\n').collect());
    let (old_judged, new_judged) = (judged(found.language, old), judged(found.language, new));
    let (mut old_told, mut new_told, mut count) = (vec![0u32; old_lines.len()], vec![0u32; new_lines.len()], 0);
    let text = |lines: &[&[u8]], number: u32| {
        let line = String::from_utf8_lossy(lines[number as usize - 1]).into_owned();
        line.strip_suffix('\n').map(str::to_owned).unwrap_or(line)
    };
    for hunk in &found.hunks {
        assert!(!hunk.lines.is_empty(), "{what}: an empty hunk");
        assert_eq!(hunk.moved.is_some(), hunk.change == Some(HunkChange::Moved), "{what}");
        for line in &hunk.lines {
            count += 1;
            assert!(!line.cut, "{what}: nothing here is long");
            match line.kind {
                LineKind::Modified => assert!(line.old_line.is_some() && line.new_line.is_some(), "{what}"),
                LineKind::Added => assert!(line.old_line.is_none() && line.new_line.is_some(), "{what}"),
                LineKind::Deleted => assert!(line.old_line.is_some() && line.new_line.is_none(), "{what}"),
                LineKind::Unchanged => panic!("{what}: a line that did not change"),
            }
            if let Some(number) = line.new_line {
                new_told[number as usize - 1] += 1;
                assert_eq!(line.content, text(&new_lines, number), "{what}");
                named_rightly(hunk, number as usize - 1, &new_judged, what);
            }
            if let Some(number) = line.old_line {
                old_told[number as usize - 1] += 1;
                let content = line.old_content.as_ref().unwrap_or(&line.content);
                assert_eq!(*content, text(&old_lines, number), "{what}");
                if line.new_line.is_none() && hunk.lines.iter().all(|line| line.new_line.is_none()) {
                    named_rightly(hunk, number as usize - 1, &old_judged, what);
                }
            }
            if let (Some(tokens), Some(old_tokens)) = (&line.changed_tokens, &line.old_changed_tokens) {
                let old = line.old_content.as_deref().unwrap_or_default();
                assert_eq!(rest(&line.content, tokens), rest(old, old_tokens), "{what}: {line:?}");
            }
        }
    }
    let mut old_changed = vec![0u32; old_lines.len()];
    let mut new_changed = vec![0u32; new_lines.len()];
    for region in regions(old, new) {
        old_changed[region.old_start as usize..(region.old_start + region.old_len) as usize].fill(1);
        new_changed[region.new_start as usize..(region.new_start + region.new_len) as usize].fill(1);
    }
    assert_eq!(old_told, old_changed, "{what}: old lines that are told");
    assert_eq!(new_told, new_changed, "{what}: new lines that are told");
    assert_eq!(found.changed_lines, count, "{what}");
}

/// Numbers without end, the same for the same seed.
pub struct Dice(pub u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % end.max(1)
    }
}

/// `text` after a few edits by lines: left out, doubled, moved, exchanged, indented, words replaced.
fn edited(text: &str, dice: &mut Dice) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for _ in 0..1 + dice.below(6) {
        if lines.is_empty() {
            break;
        }
        let at = dice.below(lines.len());
        match dice.below(7) {
            0 => _ = lines.remove(at),
            1 => lines.insert(at, lines[at].clone()),
            2 => {
                let line = lines.remove(at);
                lines.insert(dice.below(lines.len() + 1), line);
            }
            3 => {
                let end = (at + 1 + dice.below(8)).min(lines.len());
                let block: Vec<String> = lines.drain(at..end).collect();
                let to = dice.below(lines.len() + 1);
                lines.splice(to..to, block);
            }
            4 => lines[at].insert_str(0, "  "),
            5 => lines[at] = lines[at].replace('e', "x"),
            _ => lines[at] = lines[at].replace(' ', "  "),
        }
    }
    lines.concat()
}

#[test]
fn rules_hold_for_the_pairs_of_all_languages_and_for_what_edits_make_of_them() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let seed = std::env::var("BULKHEAD_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(7);
    let rounds = if std::env::var_os("BULKHEAD_SLOW").is_some_and(|value| value == "1") { 2_000 } else { 60 };
    let mut dice = Dice(88_172_645_463_325_252 ^ seed);
    for grammar in GRAMMARS {
        let files = fs::read_dir(golden.join(grammar.name)).expect("every language has a pair").flatten();
        let (mut compared, mut erroneous) = (0, 0);
        for path in files.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|it| it != "txt")) {
            let text = fs::read_to_string(&path).expect("readable");
            let name = path.file_name().and_then(|name| name.to_str()).expect("text");
            for round in 0..rounds {
                let (old, new) = (edited(&text, &mut dice), edited(&text, &mut dice));
                let what = format!("{name} of {}, round {round}, seed {seed}", grammar.name);
                match compare(name, old.as_bytes(), new.as_bytes()) {
                    Ok(found) => {
                        compared += 1;
                        hold(old.as_bytes(), new.as_bytes(), &found, &what);
                    }
                    // edits by lines break most grammars now and then
                    Err(Refused::Fallback(_)) => erroneous += 1,
                    Err(Refused::Malformed) => panic!("{what}: the regions are right"),
                }
            }
        }
        assert!(compared * 4 > erroneous, "{}: {compared} compared, {erroneous} not", grammar.name);
    }
}
