//! A change as people read changes: a unified diff, with what may be a secret left out.
//! Trust: lines of a file that may be hostile go to a terminal; what hides or steers it is written out.

use bulkhead_supervisor::hiding::hides;
use gix_imara_diff::{Algorithm, Diff, InternedInput, Interner, Token, UnifiedDiffConfig, UnifiedDiffPrinter};
use std::{
    cell::Cell,
    fmt::{Result, Write},
};

/// Words in a line that make what it says after them a possible secret.
const SECRETS: [&str; 10] =
    ["token", "secret", "passw", "key", "auth", "bearer", "credential", "private", "_pat", "cookie"];

/// The diff of two texts of one file; empty where they are the same. `name` goes into its head.
#[must_use]
pub fn unified(name: &str, is_new: bool, before: &str, after: &str) -> String {
    let input = InternedInput::new(before, after);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let printer = Lines { lines: &input.interner, open: Cell::new(false) };
    let hunks = diff.unified_diff(&printer, UnifiedDiffConfig::default(), &input).to_string();
    if hunks.is_empty() {
        return hunks;
    }
    let mut head = String::new();
    let old = if is_new { "/dev/null" } else { name };
    for (sign, name) in [("---", old), ("+++", name)] {
        head.push_str(sign);
        head.push(' ');
        head.push_str(&seen(name));
        head.push('\n');
    }
    head + &hunks
}

struct Lines<'a> {
    lines: &'a Interner<&'a str>,
    /// Whether the last line sounded like a secret and was no member: its value may stand on the next.
    open: Cell<bool>,
}

impl Lines<'_> {
    fn line(&self, mut f: impl Write, sign: char, token: Token) -> Result {
        let line = self.lines[token];
        let body = line.strip_suffix('\n').unwrap_or(line);
        let mut body = seen(body.strip_suffix('\r').unwrap_or(body));
        // what we write ourselves is to be read as it is
        if sign != '+' {
            let (shown, open) = masked(&body, self.open.get());
            self.open.set(open);
            body = shown;
        }
        writeln!(f, "{sign}{body}")?;
        if line.ends_with('\n') { Ok(()) } else { writeln!(f, "\\ No newline at end of file") }
    }
}

impl UnifiedDiffPrinter for Lines<'_> {
    fn display_header(&self, mut f: impl Write, before: u32, after: u32, len_before: u32, len_after: u32) -> Result {
        // a side without lines is named by the line before it
        let start = |start: u32, len: u32| start + u32::from(len > 0);
        writeln!(f, "@@ -{},{len_before} +{},{len_after} @@", start(before, len_before), start(after, len_after))
    }

    fn display_context_token(&self, f: impl Write, token: Token) -> Result {
        self.line(f, ' ', token)
    }

    fn display_hunk(&self, mut f: impl Write, before: &[Token], after: &[Token]) -> Result {
        before.iter().try_for_each(|token| self.line(&mut f, '-', *token))?;
        after.iter().try_for_each(|token| self.line(&mut f, '+', *token))
    }
}

/// A text whose every character can be seen.
#[must_use]
pub fn seen(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '\t' && (c.is_control() || hides(c)) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// A line without what may be a secret in it: the value of a member whose name sounds like one, and all of a line that sounds
/// like one and is no member, or that comes behind such a line. Also whether that goes on.
fn masked(line: &str, open: bool) -> (String, bool) {
    let blank = &line[..line.len() - line.trim_start().len()];
    if open {
        return (format!("{blank}***"), false);
    }
    let lower = line.to_lowercase();
    let Some(at) = SECRETS.iter().filter_map(|word| lower.find(word)).min() else { return (line.to_owned(), false) };
    // lower case may be of another length than the line; then the whole line is a secret
    let sign = if lower.len() == line.len() { line[at..].find([':', '=']) } else { None };
    match sign {
        Some(sign) => (format!("{} ***", &line[..=at + sign]), false),
        None => (format!("{blank}***"), true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_three_lines_around_it() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n";
        let after = "1\n2\n3\n4\nnew\n5\n6\n7\n8\n";
        let text = unified("/f", false, before, after);
        assert_eq!(text, "--- /f\n+++ /f\n@@ -2,6 +2,7 @@\n 2\n 3\n 4\n+new\n 5\n 6\n 7\n");
        assert_eq!(unified("/f", false, before, before), "");
    }

    #[test]
    fn a_new_file_comes_from_nothing_and_a_missing_end_is_told() {
        assert_eq!(unified("/f", true, "", "{}\n"), "--- /dev/null\n+++ /f\n@@ -0,0 +1,1 @@\n+{}\n");
        let text = unified("/f", false, "a", "a\n");
        assert!(text.contains("-a\n\\ No newline at end of file\n+a\n"), "{text}");
    }

    #[test]
    fn secrets_of_others_are_not_shown() {
        let before = "{\n  \"GITHUB_TOKEN\": \"ghp_x\",\n  \"args\": [\n    \"--api-key\", \"s3\"\n  ]\n}\n";
        let text = unified("/f", false, before, &before.replace("]\n", "],\n  \"token\": \"ours\"\n"));
        assert!(!text.contains("ghp_x") && !text.contains("s3"), "{text}");
        assert!(text.contains("   \"GITHUB_TOKEN\": ***\n") && text.contains("+  \"token\": \"ours\"\n"), "{text}");
        assert_eq!(masked("İ Authorization: x", false), ("***".to_owned(), true));
        assert_eq!(masked("  \"Authorization: Bearer x\"", false), ("  \"Authorization: ***".to_owned(), false));
        let listed = unified("/f", false, "\"--api-key\",\n  \"s3\"\n\"x\"\n", "\"--api-key\",\n  \"s3\"\n\"y\"\n");
        assert!(!listed.contains("s3") && listed.contains("-\"x\"\n+\"y\"\n"), "{listed}");
    }

    #[test]
    fn what_steers_a_terminal_is_written_out() {
        let text = unified("/f", false, "a\n// \u{1b}[2K\u{202e}\n", "b\n// \u{1b}[2K\u{202e}\n");
        assert!(text.contains("\\u{1b}[2K\\u{202e}"), "{text}");
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    }
}
