//! Sources that crash, hang or explode a parser: each falls back by name, or is compared, within its time.
//! Trust: test code.

use crate::support::{ALL, compare};
use bulkhead_contract::results::{FallbackReason, Region};
use bulkhead_worker_syntax::engine::{
    compare::{Compared, Engine, Pair, Refused, Window},
    language::GRAMMARS,
    limits::{MAX_LINES, MAX_SOURCE, SHOWN_LINE},
};
use std::time::{Duration, Instant};

fn reason(found: Result<Compared, Refused>) -> FallbackReason {
    match found {
        Err(Refused::Fallback(reason)) => reason,
        other => panic!("{other:?} is no fallback"),
    }
}

/// A file of one line that became another one.
fn one_line(path: &str, old: &[u8], new: &[u8], deadline: Duration) -> Result<Compared, Refused> {
    let regions = [Region { old_start: 0, old_len: 1, new_start: 0, new_len: 1 }];
    Engine::default().compare(
        Pair { path: path.as_bytes(), old, new, regions: &regions },
        ALL,
        Instant::now() + deadline,
    )
}

const LONG: Duration = Duration::from_secs(600);

#[test]
fn what_is_no_source_falls_back_by_name() {
    assert_eq!(reason(compare("x.unknown", b"a\n", b"b\n")), FallbackReason::UnsupportedLanguage);
    assert_eq!(reason(compare("x.rs", b"a\0\n", b"b\n")), FallbackReason::Binary);
    assert_eq!(reason(compare("x.rs", b"\x7fELF\x02\x01\x01\0\0", b"")), FallbackReason::Binary);
    assert_eq!(reason(compare("x.py", b"a = '\xe9'\n", b"b\n")), FallbackReason::NotUtf8);
    assert_eq!(reason(compare("x.py", b"\xff\xfea\0=\0", b"b\n")), FallbackReason::Binary, "UTF-16");
    assert_eq!(reason(compare("x.py", "a = '\u{e9}'\n".as_bytes(), b"a = '\xe9'\n")), FallbackReason::NotUtf8);
    let large = vec![b'a'; MAX_SOURCE + 1];
    assert_eq!(reason(one_line("x.c", b"a", &large, LONG)), FallbackReason::TooLarge);
    let many = "\n".repeat(MAX_LINES as usize + 1);
    let regions = [Region { old_start: 0, old_len: 0, new_start: 0, new_len: MAX_LINES + 1 }];
    let pair = Pair { path: b"x.c", old: b"", new: many.as_bytes(), regions: &regions };
    assert_eq!(reason(Engine::default().compare(pair, ALL, Instant::now() + LONG)), FallbackReason::TooLarge);
}

#[test]
fn what_a_grammar_does_not_understand_falls_back() {
    let noise = "%% ]] @@ ;; }} )( \\\\ ~~ ## !!\n".repeat(200);
    assert_eq!(reason(compare("x.rs", b"fn a() {}\n", noise.as_bytes())), FallbackReason::TooManyErrors);
    let header =
        "namespace a {\nclass B : public C {\npublic:\n  template <typename T> void f(T&& t) const override;\n};\n}\n";
    let found = compare("x.h", header.as_bytes(), header.replace("void f", "int f").as_bytes()).expect("it is C++");
    assert_eq!(found.language, "cpp", "a header of another language than its name says");
}

#[test]
fn deep_nesting_falls_back_in_every_language() {
    for grammar in GRAMMARS {
        let name = format!("x.{}", grammar.endings[0]);
        for (open, close) in
            [("(", ")"), ("[", "]"), ("{", "}"), ("{\"a\":[", "]}"), ("- ", ""), ("> ", ""), ("if x then ", " fi")]
        {
            for times in [2_000, 20_000] {
                let text = format!("x = {}1{}", open.repeat(times), close.repeat(times));
                // it ends; what it says is one of these
                match one_line(&name, b"x", text.as_bytes(), Duration::from_millis(150)) {
                    Ok(found) => assert!((1..=2).contains(&found.changed_lines)),
                    Err(Refused::Fallback(
                        FallbackReason::TooDeep | FallbackReason::TooManyErrors | FallbackReason::Time,
                    )) => {}
                    Err(other) => panic!("{name}: {open:?} {times} times: {other:?}"),
                }
            }
        }
    }
    let nested = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
    assert_eq!(reason(one_line("x.json", b"1", nested.as_bytes(), LONG)), FallbackReason::TooDeep);
}

#[test]
fn one_token_of_a_megabyte_is_cut_and_told() {
    for grammar in GRAMMARS {
        let name = format!("x.{}", grammar.endings[0]);
        for byte in ["a", "\"", " ", "/*", "#"] {
            let text = byte.repeat(MAX_SOURCE / byte.len());
            match one_line(&name, b"x", text.as_bytes(), Duration::from_millis(150)) {
                Ok(found) => {
                    for line in found.hunks.iter().flat_map(|hunk| &hunk.lines) {
                        assert!(line.content.len() <= SHOWN_LINE && (line.cut || line.content.len() <= 1), "{name}");
                    }
                }
                Err(Refused::Fallback(
                    FallbackReason::TooManyErrors | FallbackReason::TooDeep | FallbackReason::Time,
                )) => {}
                Err(other) => panic!("{name}: {byte:?}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_parse_ends_with_its_time() {
    let text = "fn f() { let x = [1, 2, 3]; }\n".repeat(20_000);
    let text = &text[..MAX_SOURCE / 2 / 30 * 30];
    let lines = u32::try_from(text.lines().count()).expect("some");
    let regions = [Region { old_start: 0, old_len: 0, new_start: 0, new_len: lines }];
    let pair = Pair { path: b"x.rs", old: b"", new: text.as_bytes(), regions: &regions };
    let mut engine = Engine::default();
    assert_eq!(reason(engine.compare(pair, ALL, Instant::now())), FallbackReason::Time);
    let found = engine.compare(pair, ALL, Instant::now() + LONG).expect("what was given up is not gone on with");
    assert_eq!(found.changed_lines, lines);
}

#[test]
fn regions_that_lie_are_refused() {
    let regions = [Region { old_start: 0, old_len: 9, new_start: 0, new_len: 9 }];
    let pair = Pair { path: b"x.rs", old: b"a\n", new: b"b\n", regions: &regions };
    assert_eq!(Engine::default().compare(pair, ALL, Instant::now() + LONG), Err(Refused::Malformed));
}

#[test]
fn a_window_shows_a_part_and_all_of_them_show_all() {
    let old: String = (0..40).map(|n| format!("fn f{n}() {{\n    one({n});\n}}\n")).collect();
    let new = old.replace("one(", "two(");
    let regions = crate::support::regions(old.as_bytes(), new.as_bytes());
    let pair = Pair { path: b"x.rs", old: old.as_bytes(), new: new.as_bytes(), regions: &regions };
    let part = |window| Engine::default().compare(pair, window, Instant::now() + LONG).expect("well-formed");
    let whole = part(ALL);
    assert_eq!(whole.changed_lines, 40);
    let mut joined = Vec::new();
    for skip in (0..40).step_by(7) {
        joined.extend(part(Window { skip, lines: 7, bytes: u32::MAX }).hunks);
    }
    assert_eq!(joined, whole.hunks);
    let one = part(Window { skip: 39, lines: 7, bytes: 0 });
    assert_eq!(one.hunks, whole.hunks[39..], "one line is always told");
    assert_eq!(part(Window { skip: 40, lines: 7, bytes: 9 }).hunks, []);
}
