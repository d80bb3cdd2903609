//! Patterns of `--author` and `--grep`: POSIX basic regular expressions with GNU's additions, matched in linear time.
//! Trust: the pattern is a caller's: its length and the size of what it compiles to are bounded.

use regex::bytes::{Regex, RegexBuilder};
use std::fmt;

/// Bytes of a pattern at most.
const MAX_PATTERN: usize = 2_048;
/// Bytes of a compiled pattern at most.
const MAX_COMPILED: usize = 1 << 20;

/// Classes of characters that POSIX knows.
const CLASSES: [&str; 12] =
    ["alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit"];

/// A compiled pattern.
#[derive(Clone)]
pub struct Pattern(Regex);

impl Pattern {
    /// Compiles a basic regular expression.
    ///
    /// # Errors
    /// What is wrong with it, as the end of a sentence.
    pub fn basic(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() || text.len() > MAX_PATTERN || text.contains(['\0', '\n']) {
            return Err("must be one line of 1 to 2048 characters");
        }
        let translated = translated(text)?;
        let compiled = RegexBuilder::new(&translated).size_limit(MAX_COMPILED).dfa_size_limit(2 * MAX_COMPILED).build();
        compiled.map(Self).map_err(|_| "is no basic regular expression, or one that is too large")
    }

    /// Whether it matches somewhere in `line`.
    #[must_use]
    pub fn is_match(&self, line: &[u8]) -> bool {
        self.0.is_match(line)
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/", self.0.as_str())
    }
}

/// The same expression in the syntax of the `regex` crate.
fn translated(text: &str) -> Result<String, &'static str> {
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text.chars().peekable();
    // at the start of an expression or alternative `*` is itself and `^` an anchor
    let mut at_start = true;
    while let Some(c) = rest.next() {
        let was_start = std::mem::replace(&mut at_start, false);
        match c {
            '\\' => match rest.next().ok_or("ends in a backslash")? {
                '(' => {
                    out.push('(');
                    at_start = true;
                }
                '|' => {
                    out.push('|');
                    at_start = true;
                }
                ')' => out.push(')'),
                '{' if was_start => out.push_str("\\{"),
                '{' => interval(&mut rest, &mut out)?,
                mark @ ('+' | '?') if was_start => out.extend(['\\', mark]),
                mark @ ('+' | '?') => out.push(mark),
                '<' => out.push_str("\\b{start}"),
                '>' => out.push_str("\\b{end}"),
                class @ ('w' | 'W' | 's' | 'S' | 'b' | 'B') => out.extend(['\\', class]),
                '1'..='9' => return Err("refers back to a group, which is not possible in linear time"),
                other => literal(other, &mut out),
            },
            '*' if was_start => out.push_str("\\*"),
            '*' => out.push('*'),
            '.' => out.push('.'),
            '^' if was_start => {
                out.push('^');
                at_start = true;
            }
            '$' if ends_here(&rest) => out.push('$'),
            '[' => bracket(&mut rest, &mut out)?,
            other => literal(other, &mut out),
        }
    }
    Ok(out)
}

type Rest<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Whether the expression, or this alternative or group of it, is over.
fn ends_here(rest: &Rest<'_>) -> bool {
    let mut rest = rest.clone();
    match rest.next() {
        None => true,
        Some('\\') => matches!(rest.next(), Some(')' | '|')),
        Some(_) => false,
    }
}

fn literal(c: char, out: &mut String) {
    // an escape that is not needed may mean something: `\>` is the end of a word
    if "\\.+*?()|[]{}^$&-~".contains(c) {
        out.push('\\');
    }
    out.push(c);
}

/// What follows `\{`, up to `\}`.
fn interval(rest: &mut Rest<'_>, out: &mut String) -> Result<(), &'static str> {
    let mut inner = String::new();
    loop {
        match rest.next().ok_or("has an interval without an end")? {
            '\\' if rest.next_if_eq(&'}').is_some() => break,
            c if c.is_ascii_digit() || c == ',' => inner.push(c),
            _ => return Err("has an interval that is none"),
        }
    }
    let inner = if inner.starts_with(',') { format!("0{inner}") } else { inner };
    out.extend(["{", &inner, "}"]);
    Ok(())
}

/// What follows `[`, up to the `]` that ends it.
fn bracket(rest: &mut Rest<'_>, out: &mut String) -> Result<(), &'static str> {
    out.push('[');
    if rest.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    let mut first = true;
    loop {
        match rest.next().ok_or("has a bracket without an end")? {
            ']' if !first => break,
            '[' if matches!(rest.peek(), Some(':')) => {
                let mut class = String::from("[");
                while !class.ends_with(":]") || class.len() < 4 {
                    class.push(rest.next().ok_or("has a class without an end")?);
                }
                if !CLASSES.contains(&&class[2..class.len() - 2]) {
                    return Err("has a class that is none");
                }
                out.push_str(&class);
            }
            '[' if matches!(rest.peek(), Some('.' | '=')) => return Err("has a collating element"),
            // a hyphen between two characters is a range in both syntaxes, elsewhere itself
            '-' if first || matches!(rest.peek(), Some(']')) => out.push_str("\\-"),
            '-' => out.push('-'),
            c => literal(c, out),
        }
        first = false;
    }
    out.push(']');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_expressions_mean_what_they_mean_to_git() {
        for (pattern, yes, no) in [
            ("a.c", "xabcx", "ac"),
            ("^fix", "fix it", "a fix"),
            ("it$", "fix it", "it is"),
            ("a+b", "a+b", "aab"),
            ("a\\+b", "aab", "b"),
            ("(x)", "(x)", "x"),
            ("\\(ab\\)*c", "ababc", "d"),
            ("a\\|b", "xb", "c"),
            ("x{2}", "x{2}", "xx"),
            ("x\\{2\\}", "xx", "x"),
            ("x\\{,2\\}y", "xxy", "x"),
            ("*a", "*a", "a"),
            ("^*a", "*a", "ba"),
            ("a^b$c", "a^b$c", "abc"),
            ("[]a]", "]", "b"),
            ("[^]a]", "b", "]a"),
            ("[a-c-]", "-", "d"),
            ("[\\n]", "\\", "x"),
            ("[&&~~-]", "&", "x"),
            ("<a@b>$", "<a@b>", "<a@b> "),
            ("[[:digit:]]x", "1x", "xx"),
            ("\\<in\\>", "a in b", "inn"),
            ("Z\u{fc}rich", "Bob Z\u{fc}rich", "Zurich"),
            ("a|b", "a|b", "a"),
            ("ada@example\\.org", "Ada <ada@example.org>", "ada@example_org"),
        ] {
            let compiled = Pattern::basic(pattern).expect(pattern);
            assert!(compiled.is_match(yes.as_bytes()), "{pattern} {yes} {compiled:?}");
            assert!(!compiled.is_match(no.as_bytes()), "{pattern} {no} {compiled:?}");
        }
    }

    #[test]
    fn what_cannot_be_matched_is_refused() {
        for pattern in
            ["", "\\", "[a", "\\(a", "\\(a\\)\\1", "x\\{1", "x\\{99999999\\}", "[[.a.]]", "[[:nope:]]", "a\nb"]
        {
            assert!(Pattern::basic(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn no_pattern_makes_it_panic() {
        let letters: Vec<char> = "a\\(){}[]^$*+?|.-:,1&~<>\u{fc}".chars().collect();
        let mut seed = 0x2545_f491_4f6c_dd1d_u64;
        for _ in 0..20_000 {
            let mut pattern = String::new();
            for _ in 0..12 {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                pattern.push(letters[(seed >> 32) as usize % letters.len()]);
            }
            if let Ok(pattern) = Pattern::basic(&pattern) {
                let _ = pattern.is_match(b"a(1)[]-\xff");
            }
        }
    }
}
