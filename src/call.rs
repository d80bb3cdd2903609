//! `bulkhead call`: one tool through the full stack, its payload on standard output.
//! Trust: arguments are the operator's, and are checked as an agent's are; the payload is data from a repository.

use crate::options::Options;
use bulkhead_contract::tool::{Kind, Tool};
use bulkhead_supervisor::mcp::visible::visible;
use serde_json::{Map, Value};
use std::{io::IsTerminal as _, process::ExitCode};

/// Calls `tool` and prints what it answers.
pub fn run(options: Options, tool: &str, words: &[String]) -> ExitCode {
    let row = options.settings.surface.find(tool);
    let mut arguments = match parse(row, words) {
        Ok(arguments) => arguments,
        Err(why) => return crate::refuse(&why),
    };
    if let Some(row) = row
        && row.argument("repoPath").is_some()
        && !arguments.contains_key("repoPath")
    {
        match std::env::current_dir().map(|dir| dir.into_os_string().into_string()) {
            Ok(Ok(cwd)) => _ = arguments.insert("repoPath".to_owned(), Value::String(cwd)),
            Ok(Err(_)) => return crate::refuse("the current directory's name is not UTF-8; give repoPath"),
            Err(e) => {
                return crate::refuse(&format!("the current directory cannot be read ({}); give repoPath", e.kind()));
            }
        }
    }
    // asked before the supervisor locks this process down, after which it cannot be asked
    let terminal = std::io::stdout().is_terminal();
    let means = match crate::serve::means(&options) {
        Ok(means) => means,
        Err(e) => {
            crate::complain(&format!("cannot start: {e}"));
            return ExitCode::FAILURE;
        }
    };
    let settings = match crate::serve::settings(options) {
        Ok(settings) => settings,
        Err(e) => {
            crate::complain(&format!("cannot start: {e}"));
            return ExitCode::FAILURE;
        }
    };
    let output = bulkhead_supervisor::start::call(settings, means, tool, Value::Object(arguments));
    let text = if terminal { indented(&output.payload_json) } else { output.payload_json };
    if bulkhead_supervisor::mcp::stdio::say(&text).is_err() {
        return ExitCode::FAILURE;
    }
    ExitCode::from(u8::from(output.is_error))
}

fn indented(compact: &str) -> String {
    serde_json::from_str::<Value>(compact)
        .and_then(|value| serde_json::to_string_pretty(&value))
        .map_or_else(|_| compact.to_owned(), visible)
}

/// One JSON object, or `key=value` words, whose values are read as `tool` wants them.
fn parse(tool: Option<&Tool>, words: &[String]) -> Result<Map<String, Value>, String> {
    let mut object = if let [only] = words
        && only.trim_start().starts_with('{')
    {
        match bulkhead_supervisor::mcp::json::parse(only.as_bytes()) {
            Ok(Value::Object(object)) => object,
            Ok(_) => return Err("arguments: a JSON object was expected".to_owned()),
            Err(_) => return Err("arguments: not a JSON object, or one with a key twice".to_owned()),
        }
    } else {
        pairs(tool, words)?
    };
    // a shell leaves `key=~/dir` alone, and a server must not guess at `~`; here it is the operator's own
    if let Some(Value::String(path)) = object.get_mut("repoPath")
        && let Some(absolute) = absolute(path)
    {
        *path = absolute;
    }
    Ok(object)
}

fn pairs(tool: Option<&Tool>, words: &[String]) -> Result<Map<String, Value>, String> {
    let mut object = Map::new();
    for word in words {
        let Some((key, value)) = word.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            return Err(format!("argument {word:?}: write it as key=value, or give one JSON object"));
        };
        let kind = tool.and_then(|tool| tool.argument(key)).map(|argument| argument.kind);
        let value = value_of(kind, value);
        if object.insert(key.to_owned(), value).is_some() {
            return Err(format!("argument {key:?} is given twice"));
        }
    }
    Ok(object)
}

/// Text where text is wanted, so that `commit=1234567` is a name and no number; a list of one where a list is wanted; else
/// JSON where it parses as JSON, which the check of arguments then judges.
fn value_of(kind: Option<Kind>, text: &str) -> Value {
    let json = || serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    match kind {
        Some(Kind::Path | Kind::Text { .. } | Kind::Word { .. } | Kind::OneOf { .. }) => Value::String(text.to_owned()),
        Some(Kind::ListOf { item, .. }) => match json() {
            list @ Value::Array(_) => list,
            _ => Value::Array(vec![value_of(Some(*item), text)]),
        },
        Some(Kind::Integer { .. } | Kind::Boolean { .. } | Kind::Object(_)) | None => json(),
    }
}

fn absolute(path: &str) -> Option<String> {
    let expanded = match path {
        "" => return None,
        "~" => std::path::PathBuf::from(std::env::var_os("HOME")?),
        _ => match path.strip_prefix("~/") {
            Some(rest) => std::path::PathBuf::from(std::env::var_os("HOME")?).join(rest),
            None => std::env::current_dir().ok()?.join(path),
        },
    };
    expanded.into_os_string().into_string().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parsed(words: &[&str]) -> Result<Value, String> {
        parsed_for("no.such.tool", words)
    }

    fn parsed_for(tool: &str, words: &[&str]) -> Result<Value, String> {
        let words: Vec<_> = words.iter().map(|w| (*w).to_owned()).collect();
        parse(bulkhead_contract::catalogue::find(tool), &words).map(Value::Object)
    }

    #[test]
    fn values_are_what_the_tool_wants() {
        // of digits and absolute, as each system spells that
        let path = std::env::current_dir().expect("there is one").join("7");
        let word = format!("repoPath={}", path.display());
        let values = json!({"commit": "1234567", "repoPath": path, "limit": 9, "new": true});
        assert_eq!(parsed_for("commit.details", &["commit=1234567", &word, "limit=9", "new=true"]), Ok(values));
        assert_eq!(parsed_for("fleet.radar", &["repoPaths=/7"]), Ok(json!({"repoPaths": ["/7"]})));
        assert_eq!(parsed_for("fleet.radar", &["repoPaths=[\"/7\"]"]), Ok(json!({"repoPaths": ["/7"]})));
        assert_eq!(parsed_for("repo.status", &["limit=many"]), Ok(json!({"limit": "many"})));
    }

    #[test]
    fn words_become_json_where_they_are_json() {
        assert_eq!(parsed(&["limit=20", "cursor=a=b", "x=true"]), Ok(json!({"limit": 20, "cursor": "a=b", "x": true})));
        assert_eq!(parsed(&["{\"limit\": 3}"]), Ok(json!({"limit": 3})));
        assert_eq!(parsed(&[]), Ok(json!({})));
    }

    #[test]
    fn a_terminal_is_given_nothing_that_hides() {
        let text = indented("{\"a\":\"\\u202e\\u009b\"}");
        assert_eq!(text, "{\n  \"a\": \"\\u202e\\u009b\"\n}");
    }

    #[test]
    fn words_that_are_neither_are_refused() {
        for words in [&["limit"][..], &["{\"limit\": 3"], &["a=1", "a=2"], &["=1"], &["{\"a\":1,\"a\":2}"]] {
            assert!(parsed(words).is_err(), "{words:?}");
        }
    }
}
