//! What must hold of hunks for any two texts: the fuzz target `patch` and a test share it.
//! Trust: the input is the fuzzer's.

use bulkhead_worker_read::{
    diff::{
        hunks,
        lines::{Lines, Rules},
        patch, quote,
    },
    pace::Pace,
    userdiff::Driver,
};

const DRIVERS: [&str; 4] = ["", "cpp", "rust", "bash"];

/// The first two bytes are how, the rest up to 0x1e the old text, and what follows the new one.
pub fn trial(bytes: &[u8]) {
    let Some((&[how, around], texts)) = bytes.split_first_chunk() else { return };
    let at = texts.iter().position(|&byte| byte == 0x1e).unwrap_or(texts.len());
    let (before, after) = (&texts[..at], texts.get(at + 1..).unwrap_or_default());
    let algorithm = [&b"myers"[..], b"minimal", b"histogram"][usize::from(how % 3)];
    let (algorithm, _) = patch::algorithm(algorithm).expect("Git knows it");
    let context = [3, 0, 1, 2, 4, 5, 6, 7, 20][usize::from(around % 9)];
    let ignore_whitespace = how & 0x10 != 0;
    let rules = Rules { algorithm, ignore_whitespace, context };
    let driver = Driver::named(DRIVERS[usize::from(how >> 5 & 3)].as_bytes()).unwrap_or(Driver::Default);
    let pace = Pace::alone(u32::MAX);
    let lines = Lines::compare(before, after, rules, &pace).expect("there is time");
    let (mut out, mut starts) = (Vec::new(), Vec::new());
    hunks::append(&mut out, &mut starts, &lines, context, &driver);
    let applied = apply(before, &out, &starts, lines.counts(), ignore_whitespace);
    if !ignore_whitespace {
        assert!(applied == after, "the hunks make {applied:?} of {before:?}, not {after:?}");
        assert_eq!(starts.is_empty(), before == after);
    }
    quoted(before);
}

/// Applies hunks as `git apply` reads them; where white space is ignored, the unchanged lines are those of the new text.
fn apply(before: &[u8], hunks: &[u8], starts: &[usize], counts: (u64, u64), ignore_whitespace: bool) -> Vec<u8> {
    let old: Vec<&[u8]> = before.split_inclusive(|&byte| byte == b'\n').collect();
    let (mut made, mut at, mut counted) = (Vec::new(), 0, (0, 0));
    let mut ends = starts[starts.len().min(1)..].to_vec();
    ends.push(hunks.len());
    assert_eq!(starts.first().copied().unwrap_or(0), 0);
    for (&start, &end) in starts.iter().zip(&ends) {
        let mut rows = hunks[start..end].split_inclusive(|&byte| byte == b'\n').peekable();
        let head = rows.next().expect("a hunk has a head");
        assert!(head.starts_with(b"@@ -"));
        let [from, removed, _, added] = ranges(head);
        // a range of no lines names the line before it
        let first = if removed == 0 { from } else { from - 1 };
        assert!(first >= at, "hunks overlap");
        old[at..first].iter().for_each(|line| made.extend_from_slice(line));
        at = first;
        let (mut gone, mut came) = (0, 0);
        while let Some(row) = rows.next() {
            let mut line = &row[1..];
            if rows.peek().is_some_and(|next| next.starts_with(b"\\")) {
                rows.next();
                line = &line[..line.len() - 1];
            }
            if row[0] != b'+' {
                (at, gone) = (at + 1, gone + 1);
            }
            if row[0] != b'-' {
                made.extend_from_slice(line);
                came += 1;
            }
            counted.0 += u64::from(row[0] == b'+');
            counted.1 += u64::from(row[0] == b'-');
            let stands = row[0] == b'-' || (row[0] == b' ' && !ignore_whitespace);
            assert!(!stands || old[at - 1] == line, "a line stands in the hunk that is not in the old text");
        }
        assert_eq!((gone, came), (removed, added), "{:?}", String::from_utf8_lossy(head));
    }
    assert_eq!(counted, counts);
    old[at..].iter().for_each(|line| made.extend_from_slice(line));
    made
}

/// Both ranges of a head.
fn ranges(head: &[u8]) -> [usize; 4] {
    let text = std::str::from_utf8(head).expect("a head is UTF-8");
    let mut words = text.split([' ', '\n']);
    assert_eq!(words.next(), Some("@@"), "{text:?}");
    let mut range = |sign: char| {
        let word = words.next().and_then(|word| word.strip_prefix(sign)).expect("a range");
        let (start, count) = word.split_once(',').unwrap_or((word, "1"));
        [start, count].map(|number| number.parse().expect("a number"))
    };
    let ([a, b], [c, d]) = (range('-'), range('+'));
    assert_eq!(words.next(), Some("@@"), "{text:?}");
    [a, b, c, d]
}

/// A quoted name is one line and can be told apart from any other.
fn quoted(name: &[u8]) {
    for fully in [true, false] {
        let mut out = Vec::new();
        quote::append(&mut out, b"a/", name, fully);
        let Some(inside) = out.strip_prefix(b"\"") else {
            assert_eq!(out, [b"a/", name].concat());
            continue;
        };
        let inside = inside.strip_suffix(b"\"").expect("a quote ends");
        assert!(inside.iter().all(|&byte| byte >= b' ' && (!fully || byte < 0x7f)));
        let mut bytes = inside[2..].iter().copied();
        let mut read = Vec::new();
        while let Some(byte) = bytes.next() {
            read.push(match (byte, byte == b'\\') {
                (byte, false) => byte,
                _ => match bytes.next().expect("an escape goes on") {
                    digit @ b'0'..=b'3' => {
                        let mut next = || bytes.next().expect("three digits") - b'0';
                        (digit - b'0') << 6 | next() << 3 | next()
                    }
                    letter => match b"abtnvfr".iter().position(|&known| known == letter) {
                        Some(at) => [7, 8, 9, 10, 11, 12, 13][at],
                        None => letter,
                    },
                },
            });
        }
        assert_eq!(read, name);
    }
}
