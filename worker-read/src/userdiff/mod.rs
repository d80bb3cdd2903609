//! Which lines of a file name the part that a hunk is in: Git's drivers for languages, its default, and configured ones.
//! Trust: lines are hostile and matched in linear time; a configured pattern is the repository's and its size is limited.
//!
//! Git's rules (2.47, `userdiff.c` and `xdiff-interface.c`): the rules of a driver are tried in order, and the first that
//! matches decides. One that negates says that the line is none. Of any other the first group is the text, or all that
//! matched where that group took no part. Without a driver, a line that begins with a letter, `_` or `$` is one. The text is
//! cut at 80 bytes, and spaces at its end go; then it ends where it stops being UTF-8. Letters are those of ASCII, as for Git
//! in the C locale.

mod ere;
mod table;

use regex::bytes::{Regex, RegexBuilder};
use std::sync::{Arc, OnceLock};

/// Bytes of a heading at most.
const MAX_TEXT: usize = 80;
/// Bytes of one compiled pattern, and of what its matching keeps, at most.
const MAX_COMPILED: usize = 1 << 20;
/// Bytes of a configured pattern at most.
const MAX_PATTERN: usize = 4 << 10;
/// Rules of one configured pattern at most.
const MAX_RULES: usize = 32;

/// How the lines of a file are looked at.
#[derive(Debug, Clone)]
pub enum Driver {
    /// Where no driver is named, or none of that name is known.
    Default,
    /// One that Git brings along; its place in the table.
    Language(Language),
    /// One from the configuration.
    Custom(Arc<Rules>),
}

/// A driver that Git brings along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Language(usize);

/// Compiled rules in order.
#[derive(Debug)]
pub struct Rules(Vec<Rule>);

#[derive(Debug)]
struct Rule {
    negates: bool,
    pattern: Regex,
}

/// A POSIX extended regular expression in the words of the `regex` crate; `None` where it is not well-formed, or cannot be
/// matched in linear time.
pub(crate) fn extended(expression: &[u8]) -> Option<String> {
    ere::translate(expression)
}

impl Driver {
    /// The driver that Git brings along under that name, for example `rust`.
    #[must_use]
    pub fn named(name: &[u8]) -> Option<Self> {
        let at = table::LANGUAGES.iter().position(|language| language.name.as_bytes() == name)?;
        Some(Driver::Language(Language(at)))
    }

    /// The driver that `diff.<name>.xfuncname` describes: extended regular expressions, one a line, `!` before one that
    /// negates. `None` where Git would refuse it, or where it needs what cannot be matched in linear time. Of alternatives
    /// the first that fits is taken, where Git takes the longest.
    #[must_use]
    pub fn custom(pattern: &[u8]) -> Option<Self> {
        if pattern.len() > MAX_PATTERN || pattern.contains(&0) {
            return None;
        }
        let lines: Vec<&[u8]> = pattern.split(|&byte| byte == b'\n').collect();
        let (last, _) = lines.split_last()?;
        if lines.len() > MAX_RULES || last.starts_with(b"!") {
            return None;
        }
        let rule = |line: &&[u8]| {
            let negates = line.starts_with(b"!");
            let pattern = ere::translate(&line[usize::from(negates)..])?;
            Some(Rule { negates, pattern: compile(&pattern, false)? })
        };
        Some(Driver::Custom(Arc::new(Rules(lines.iter().map(rule).collect::<Option<_>>()?))))
    }

    /// The rules; `None` for the default.
    fn rules(&self) -> Option<&Rules> {
        match self {
            Driver::Default => None,
            Driver::Language(language) => Some(language.rules()),
            Driver::Custom(rules) => Some(rules),
        }
    }
}

impl Language {
    fn rules(self) -> &'static Rules {
        static COMPILED: [OnceLock<Rules>; table::LANGUAGES.len()] =
            [const { OnceLock::new() }; table::LANGUAGES.len()];
        COMPILED[self.0].get_or_init(|| {
            let language = &table::LANGUAGES[self.0];
            let rule = |(negates, text): &(bool, &str)| {
                let pattern = compile(&table::written_out(text), language.folds_case);
                Rule { negates: *negates, pattern: pattern.expect("a test compiles every pattern of the table") }
            };
            Rules(language.rules.iter().map(rule).collect())
        })
    }
}

fn compile(pattern: &str, folds_case: bool) -> Option<Regex> {
    let mut builder = RegexBuilder::new(pattern);
    builder.unicode(false).dot_matches_new_line(true).case_insensitive(folds_case);
    builder.size_limit(MAX_COMPILED).dfa_size_limit(MAX_COMPILED).nest_limit(64).build().ok()
}

/// What a hunk header shows for `line`, if the line names a part of the file. The line may end in a line feed.
#[must_use]
pub fn function_text<'l>(driver: &Driver, line: &'l [u8]) -> Option<&'l [u8]> {
    let Some(rules) = driver.rules() else {
        let first = *line.first()?;
        return (first.is_ascii_alphabetic() || matches!(first, b'_' | b'$')).then(|| cut(line));
    };
    let line = match line.strip_suffix(b"\n") {
        Some(rest) if rest.len() > 1 => rest.strip_suffix(b"\r").unwrap_or(rest),
        Some(rest) => rest,
        None => line,
    };
    for rule in &rules.0 {
        if rule.negates {
            if rule.pattern.is_match(line) {
                return None;
            }
        } else if let Some(groups) = rule.pattern.captures(line) {
            let text = groups.get(1).or_else(|| groups.get(0))?;
            return Some(cut(text.as_bytes()));
        }
    }
    None
}

/// At most 80 bytes, then without spaces at the end, then as far as it is UTF-8.
fn cut(text: &[u8]) -> &[u8] {
    let text = &text[..text.len().min(MAX_TEXT)];
    let end = text.iter().rposition(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).map_or(0, |at| at + 1);
    text[..end].utf8_chunks().next().map_or(&[], |chunk| chunk.valid().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(driver: &Driver, line: &str) -> Option<String> {
        function_text(driver, line.as_bytes()).map(|text| String::from_utf8_lossy(text).into_owned())
    }

    fn named(name: &str) -> Driver {
        Driver::named(name.as_bytes()).expect("Git has it")
    }

    #[test]
    fn every_pattern_of_the_table_compiles_and_the_names_are_sorted() {
        for (at, language) in table::LANGUAGES.iter().enumerate() {
            assert!(!Language(at).rules().0.is_empty(), "{}", language.name);
        }
        assert!(table::LANGUAGES.is_sorted_by_key(|language| language.name));
        assert!(Driver::named(b"default").is_none() && Driver::named(b"Rust").is_none());
    }

    #[test]
    fn without_a_driver_the_first_byte_decides() {
        for (line, expected) in [
            ("int main(void)  \r\n", Some("int main(void)")),
            ("_a", Some("_a")),
            ("$a", Some("$a")),
            (" a", None),
            ("", None),
            ("\n", None),
            ("éa", None),
            ("}", None),
        ] {
            assert_eq!(text(&Driver::Default, line).as_deref(), expected, "{line:?}");
        }
        let long = format!("{} {}", "a".repeat(78), "b".repeat(50));
        assert_eq!(text(&Driver::Default, &long).as_deref(), Some(&long[..80]));
        let spaced = format!("{}    {}", "a".repeat(78), "b".repeat(50));
        assert_eq!(text(&Driver::Default, &spaced).as_deref(), Some(&spaced[..78]), "cut first, then trimmed");
    }

    #[test]
    fn the_first_rule_that_matches_decides_and_the_first_group_is_the_text() {
        let cases = [
            ("rust", "    pub(crate) async fn a<T>(b: T) {\n", Some("pub(crate) async fn a<T>(b: T) {")),
            ("rust", "fn a();", None),
            ("cpp", "label:", None),
            ("cpp", "int f()", Some("int f()")),
            ("java", "    return f(", None),
            ("java", "    public void f(int a)\r\n", Some("public void f(int a)")),
            ("perl", "sub f ($$) {", Some("($$)")),
            ("perl", "sub f {", Some("sub f {")),
            ("perl", "END {", Some("END")),
            ("markdown", "## Title  ", Some("## Title")),
            ("ada", "   PROCEDURE Do_It IS", Some("PROCEDURE Do_It IS")),
            ("ada", "procedure X is new Y", None),
            ("matlab", "%% part", Some("%% part")),
            ("matlab", "  function y = f(x)", Some("function y = f(x)")),
            ("python", "  async def f():", Some("async def f():")),
        ];
        for (driver, line, expected) in cases {
            assert_eq!(text(&named(driver), line).as_deref(), expected, "{driver}: {line}");
        }
    }

    #[test]
    fn configured_patterns_are_read_as_git_reads_them() {
        let custom = |pattern: &str| Driver::custom(pattern.as_bytes());
        let driver = custom("!static\n^[ \t]*((public|final)[[:space:]].*)$").expect("as in Git");
        assert_eq!(text(&driver, "  public x ").as_deref(), Some("public x"));
        assert_eq!(text(&driver, "  public static x"), None);
        assert_eq!(text(&custom("[]a]b[^]c]").expect("brackets"), "x]bd").as_deref(), Some("]bd"));
        assert_eq!(
            text(&custom("a[\\]b").expect("a backslash in brackets is itself"), "a\\b").as_deref(),
            Some("a\\b")
        );
        assert_eq!(text(&custom("a{2}\\{").expect("repetition"), "aa{").as_deref(), Some("aa{"));
        for refused in ["a\n!b", "(a", "[a", "(a)\\1", "a\\", "[[:nope:]]", "[[.a.]]", "a{9999}{9999}"] {
            assert!(custom(refused).is_none(), "{refused}");
        }
        assert!(Driver::custom(&b"a".repeat(MAX_PATTERN + 1)).is_none());
        assert!(Driver::custom(&b"a\n".repeat(MAX_RULES).repeat(2)).is_none());
    }

    #[test]
    fn a_line_beyond_measure_takes_linear_time() {
        let line = "a ".repeat(200_000);
        for language in table::LANGUAGES {
            let _ = text(&named(language.name), &line);
            let _ = text(&named(language.name), &format!("{line}({line};"));
        }
        let driver = Driver::custom(b"(a*)*(a|a)*b$").expect("it is small");
        assert_eq!(text(&driver, &"a".repeat(300_000)), None);
    }
}
