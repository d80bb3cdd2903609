//! Arguments against the rows of their tool: every violation is named with its path, not just the first.
//! Trust: nothing; the value is whatever an agent sent, already bounded in bytes and depth by the framing.

use crate::{
    limits::{MAX_PATH_BYTES, MAX_VIOLATIONS},
    nearest::nearest,
    tool::{Argument, Kind, Tool},
};
use serde_json::{Map, Value};
use std::fmt;

/// One thing that is wrong with the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Where, for example `arguments.targets[3].branches`.
    pub path: String,
    /// What must stand there, in words that follow the path.
    pub problem: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.path, self.problem)
    }
}

/// Arguments that fit their tool's rows. Getters give the row's default where the caller named no value.
#[derive(Debug, Clone, Copy)]
pub struct Checked<'a> {
    tool: &'static Tool,
    given: &'a Map<String, Value>,
}

impl<'a> Checked<'a> {
    /// The text, path or word of that name.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&'a str> {
        match (self.given.get(name), self.tool.argument(name)?.kind) {
            (Some(value), _) => value.as_str(),
            (None, Kind::OneOf { default, .. }) => default,
            (None, _) => None,
        }
    }

    /// The integer of that name.
    #[must_use]
    pub fn integer(&self, name: &str) -> Option<i64> {
        match (self.given.get(name), self.tool.argument(name)?.kind) {
            (Some(value), _) => value.as_i64(),
            (None, Kind::Integer { default, .. }) => default,
            (None, _) => None,
        }
    }

    /// The truth value of that name.
    #[must_use]
    pub fn boolean(&self, name: &str) -> Option<bool> {
        match (self.given.get(name), self.tool.argument(name)?.kind) {
            (Some(value), _) => value.as_bool(),
            (None, Kind::Boolean { default }) => default,
            (None, _) => None,
        }
    }

    /// The items of the list of that name; none where it is absent.
    #[must_use]
    pub fn list(&self, name: &str) -> &'a [Value] {
        self.given.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }
}

/// Holds `arguments` against the rows of `tool`.
///
/// # Errors
/// All violations in the order of the rows, then unknown members; at most [`MAX_VIOLATIONS`], the last of which then
/// says how many were left out.
pub fn check<'a>(tool: &'static Tool, arguments: &'a Value) -> Result<Checked<'a>, Vec<Violation>> {
    let mut found = Violations::default();
    let Some(given) = arguments.as_object() else {
        found.add("arguments", format!("must be an object, not {}", kind_of(arguments)));
        return Err(found.close());
    };
    check_members(tool.name, tool.arguments, given, "arguments", &mut found);
    let alternatives = tool.alternatives();
    if !alternatives.is_empty() && !alternatives.iter().any(|name| given.contains_key(*name)) {
        found.add("arguments", format!("must hold `{}`", alternatives.join("` or `")));
    }
    if found.count == 0 { Ok(Checked { tool, given }) } else { Err(found.close()) }
}

/// Holds the members of the object at `path` against `rows`; `whole` is what they are arguments of.
fn check_members(whole: &str, rows: &[Argument], given: &Map<String, Value>, path: &str, found: &mut Violations) {
    for argument in rows {
        let path = format!("{path}.{}", argument.name);
        match given.get(argument.name) {
            Some(value) => check_value(&argument.kind, value, &path, found),
            None if argument.required => found.add(&path, format!("is required: {}", expectation(&argument.kind))),
            None => {}
        }
    }
    for name in given.keys().filter(|name| rows.iter().all(|argument| argument.name != **name)) {
        let hint = match nearest(name, rows.iter().map(|argument| argument.name)) {
            Some(meant) => format!("is not an argument of {whole}; did you mean `{meant}`?"),
            None => format!("is not an argument of {whole}; it takes {}", names(rows)),
        };
        if name.is_empty() {
            found.add(path, format!("hold an argument without a name; {whole} takes {}", names(rows)));
        } else {
            found.add(&format!("{path}.{}", shown(name)), hint);
        }
    }
}

fn check_value(kind: &Kind, value: &Value, path: &str, found: &mut Violations) {
    let wrong = |found: &mut Violations| found.add(path, format!("{}, not {}", expectation(kind), kind_of(value)));
    match (kind, value) {
        (Kind::Path, Value::String(text)) => check_path(text, path, found),
        (Kind::Text { min, max }, Value::String(text)) => {
            let length = text.chars().count();
            if !(*min..=*max).contains(&length) {
                found.add(path, format!("{}, not of {length}", expectation(kind)));
            }
        }
        (Kind::Word { max }, Value::String(text)) => {
            let fits = (1..=*max).contains(&text.len());
            if !fits || !text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')) {
                found.add(path, format!("{}, not `{}`", expectation(kind), shown(text)));
            }
        }
        (Kind::Integer { min, max, .. }, Value::Number(number)) => match number.as_i64() {
            Some(integer) if (*min..=*max).contains(&integer) => {}
            _ => found.add(path, format!("{}, not {number}", expectation(kind))),
        },
        (Kind::Boolean { .. }, Value::Bool(_)) => {}
        (Kind::OneOf { words, .. }, Value::String(text)) => {
            if !words.contains(&text.as_str()) {
                let meant = nearest(text, words.iter().copied());
                let hint = meant.map_or_else(String::new, |word| format!("; did you mean `{word}`?"));
                found.add(path, format!("{}{hint}", expectation(kind)));
            }
        }
        (Kind::ListOf { item, min, max }, Value::Array(items)) => {
            if !(*min..=*max).contains(&items.len()) {
                found.add(path, format!("{}, not of {}", expectation(kind), items.len()));
            }
            for (at, one) in items.iter().take(*max).enumerate() {
                check_value(item, one, &format!("{path}[{at}]"), found);
            }
        }
        (Kind::Object(rows), Value::Object(members)) => check_members("this object", rows, members, path, found),
        _ => wrong(found),
    }
}

fn check_path(text: &str, path: &str, found: &mut Violations) {
    let length = text.chars().count();
    let problem = if text.trim().is_empty() {
        "must not be blank: give the absolute path of the repository".to_owned()
    } else if text.contains('\0') {
        "must not contain a NUL character".to_owned()
    } else if length > MAX_PATH_BYTES {
        format!("must have at most {MAX_PATH_BYTES} characters, not {length}")
    } else if !std::path::Path::new(text).is_absolute() {
        format!("must be an absolute path (relative paths and `~` are not resolved), not `{}`", shown(text))
    } else {
        return;
    };
    found.add(path, problem);
}

/// What must stand there, as the tail of a sentence.
fn expectation(kind: &Kind) -> String {
    match kind {
        Kind::Path => "must be an absolute path as a string".to_owned(),
        Kind::Text { min: 0, max } => format!("must be a string of at most {max} characters"),
        Kind::Text { min, max } => format!("must be a string of {min} to {max} characters"),
        Kind::Word { max } => format!("must be 1 to {max} letters, digits, `_` or `-`"),
        Kind::Integer { min, max, .. } => format!("must be an integer from {min} to {max}"),
        Kind::Boolean { .. } => "must be true or false".to_owned(),
        Kind::OneOf { words, .. } => format!("must be one of `{}`", words.join("`, `")),
        Kind::ListOf { min, max, .. } => format!("must be a list of {min} to {max} items"),
        Kind::Object(rows) => format!("must be an object with {}", names(rows)),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn names(rows: &[Argument]) -> String {
    let names: Vec<_> = rows.iter().map(|argument| format!("`{}`", argument.name)).collect();
    names.join(", ")
}

/// A caller's word, short enough and plain enough to stand in a message.
#[must_use]
pub fn shown(word: &str) -> String {
    const LONGEST: usize = 80;
    let mut out: String = word.chars().take(LONGEST).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if word.chars().nth(LONGEST).is_some() {
        out.push('…');
    }
    out
}

#[derive(Default)]
struct Violations {
    list: Vec<Violation>,
    count: usize,
}

impl Violations {
    fn add(&mut self, path: &str, problem: String) {
        self.count += 1;
        if self.list.len() < MAX_VIOLATIONS {
            self.list.push(Violation { path: path.to_owned(), problem });
        }
    }

    fn close(mut self) -> Vec<Violation> {
        if self.count > MAX_VIOLATIONS {
            self.list.truncate(MAX_VIOLATIONS - 1);
            let left = self.count - self.list.len();
            self.list.push(Violation {
                path: "arguments".to_owned(),
                problem: format!("break the rules in {left} more places"),
            });
        }
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::{Annotations, Toolset};
    use serde_json::json;

    static SAMPLE: Tool = Tool {
        name: "sample.all",
        title: "Sample",
        description: "Call never.",
        toolset: Toolset::Inspect,
        annotations: Annotations::LOCAL_READ,
        source: "local-git",
        arguments: &[
            row("repoPath", Kind::Path, true),
            row("note", Kind::Text { min: 1, max: 4 }, false),
            row("word", Kind::Word { max: 4 }, false),
            row("count", Kind::Integer { min: 1, max: 20, default: Some(10) }, false),
            row("all", Kind::Boolean { default: Some(true) }, false),
            row("side", Kind::OneOf { words: &["ours", "theirs"], default: Some("ours") }, false),
            row("branches", Kind::ListOf { item: &Kind::Text { min: 1, max: 9 }, min: 1, max: 3 }, false),
            row("targets", Kind::ListOf { item: &Kind::Object(TARGET), min: 1, max: 2 }, false),
        ],
        data: &[],
    };

    const TARGET: &[Argument] =
        &[row("repoPath", Kind::Path, true), row("label", Kind::Text { min: 1, max: 3 }, false)];

    const fn row(name: &'static str, kind: Kind, required: bool) -> Argument {
        Argument { name, kind, required, description: "" }
    }

    #[test]
    fn a_word_has_letters_digits_and_two_signs() {
        for good in ["a", "A-_9"] {
            assert!(paths(&json!({"repoPath": "/w", "word": good})).is_empty(), "{good}");
        }
        for bad in [json!(""), json!("abcde"), json!("a/b"), json!("é"), json!("a\n"), json!(1)] {
            assert_eq!(paths(&json!({"repoPath": "/w", "word": bad})), ["arguments.word"], "{bad}");
        }
    }

    fn paths(arguments: &Value) -> Vec<String> {
        match check(&SAMPLE, arguments) {
            Ok(_) => Vec::new(),
            Err(violations) => violations.into_iter().map(|violation| violation.path).collect(),
        }
    }

    #[test]
    fn an_argument_without_a_name_is_called_that() {
        let given = json!({"repoPath": "/w", "": 1});
        let Err(violations) = check(&SAMPLE, &given) else { panic!("it is refused") };
        assert_eq!(violations[0].path, "arguments");
        assert!(violations[0].problem.contains("an argument without a name"), "{}", violations[0].problem);
    }

    #[test]
    fn defaults_stand_in_for_absent_values() {
        let given = json!({"repoPath": "/w"});
        let checked = check(&SAMPLE, &given).expect("the least call fits");
        assert_eq!(checked.text("repoPath"), Some("/w"));
        assert_eq!(checked.integer("count"), Some(10));
        assert_eq!(checked.boolean("all"), Some(true));
        assert_eq!(checked.text("side"), Some("ours"));
        assert_eq!(checked.text("note"), None);
        assert!(checked.list("branches").is_empty());
        assert_eq!(checked.text("unheard"), None);
    }

    #[test]
    fn given_values_are_read() {
        let given =
            json!({"repoPath": "/w", "count": 20, "all": false, "side": "theirs", "note": "éééé", "branches": ["a"]});
        let checked = check(&SAMPLE, &given).expect("all values are in bounds");
        assert_eq!((checked.integer("count"), checked.boolean("all")), (Some(20), Some(false)));
        assert_eq!((checked.text("side"), checked.text("note")), (Some("theirs"), Some("éééé")));
        assert_eq!(checked.list("branches"), [json!("a")]);
    }

    #[test]
    fn every_violation_is_named_at_once() {
        let bad = json!({
            "note": "", "count": 21, "all": 1, "side": "our", "branches": ["a", 5, "", "d"], "extra": 1, "repo_path": "/w",
        });
        assert_eq!(
            paths(&bad),
            [
                "arguments.repoPath",
                "arguments.note",
                "arguments.count",
                "arguments.all",
                "arguments.side",
                "arguments.branches",
                "arguments.branches[1]",
                "arguments.branches[2]",
                "arguments.extra",
                "arguments.repo_path",
            ]
        );
    }

    #[test]
    fn objects_in_lists_are_checked_member_by_member() {
        let given = json!({"repoPath": "/w", "targets": [{"repoPath": "/a"}, {"repoPath": "/b", "label": "b"}]});
        assert_eq!(check(&SAMPLE, &given).expect("both fit").list("targets").len(), 2);
        let bad = json!({"repoPath": "/w", "targets": [{"label": "long", "lable": 1}, "/a"]});
        assert_eq!(
            paths(&bad),
            [
                "arguments.targets[0].repoPath",
                "arguments.targets[0].label",
                "arguments.targets[0].lable",
                "arguments.targets[1]",
            ]
        );
        assert_eq!(
            paths(&json!({"repoPath": "/w", "targets": [{"repoPath": "a"}]})),
            ["arguments.targets[0].repoPath"]
        );
    }

    #[test]
    fn one_of_several_arguments_can_be_needed() {
        let radar = crate::catalogue::find("fleet.radar").expect("it has a row");
        let refused = |given: Value| check(radar, &given).expect_err("it is refused").remove(0).to_string();
        assert_eq!(refused(json!({})), "arguments must hold `repoPaths` or `repositories`");
        assert!(refused(json!({"repoPaths": []})).starts_with("arguments.repoPaths must be a list of 1 to"));
        for one in [json!({"repoPaths": ["/a"]}), json!({"repositories": [{"repoPath": "/a"}]})] {
            assert!(check(radar, &one).is_ok(), "{one}");
        }
    }

    #[test]
    fn integers_are_written_as_integers() {
        for bad in [json!(3.0), json!(0), json!(21), json!("3"), json!(null), json!(u64::MAX), json!(-1), json!([3])] {
            assert_eq!(paths(&json!({"repoPath": "/w", "count": bad})), ["arguments.count"], "{bad}");
        }
    }

    #[test]
    fn paths_are_absolute_and_plain() {
        for bad in
            [json!(""), json!(" \t"), json!("."), json!("~/x"), json!("a/b"), json!("/a\0b"), json!(5), json!(null)]
        {
            assert_eq!(paths(&json!({"repoPath": bad})), ["arguments.repoPath"], "{bad}");
        }
        let longest = format!("/{}", "é".repeat(MAX_PATH_BYTES - 1));
        assert!(paths(&json!({ "repoPath": longest })).is_empty());
        assert_eq!(paths(&json!({ "repoPath": longest + "é" })), ["arguments.repoPath"]);
    }

    #[test]
    fn lengths_count_scalar_values() {
        assert!(paths(&json!({"repoPath": "/w", "note": "🦀🦀🦀🦀"})).is_empty());
        assert_eq!(paths(&json!({"repoPath": "/w", "note": "🦀🦀🦀🦀🦀"})), ["arguments.note"]);
    }

    #[test]
    fn a_typo_is_answered_with_the_name() {
        let given = json!({"repoPath": "/w", "cuont": 3});
        let violations = check(&SAMPLE, &given).expect_err("`cuont` is unknown");
        assert_eq!(violations[0].path, "arguments.cuont");
        assert!(violations[0].problem.contains("`count`"), "{}", violations[0]);
    }

    #[test]
    fn a_flood_of_violations_is_bounded_and_counted() {
        let mut given = Map::new();
        for n in 0..5_000 {
            given.insert(format!("x{n}"), json!(1));
        }
        let violations = check(&SAMPLE, &Value::Object(given)).expect_err("nothing of it is known");
        assert_eq!(violations.len(), MAX_VIOLATIONS);
        assert!(violations[MAX_VIOLATIONS - 1].problem.contains("4902"), "{}", violations[MAX_VIOLATIONS - 1]);
    }

    #[test]
    fn only_objects_are_arguments() {
        for bad in [json!(null), json!([]), json!("x"), json!(1), json!(true)] {
            assert_eq!(paths(&bad), ["arguments"], "{bad}");
        }
    }

    #[test]
    fn words_of_the_caller_are_cut_and_cleaned() {
        assert_eq!(shown("a\u{1b}[2Jb"), "a\u{fffd}[2Jb");
        assert_eq!(shown(&"x".repeat(81)).chars().count(), 81);
        assert!(shown(&"x".repeat(81)).ends_with('…'));
    }
}
