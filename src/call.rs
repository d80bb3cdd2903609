//! `bulkhead call`: one tool through the full stack, its payload on standard output.
//! Trust: arguments are the operator's, and are checked as an agent's are; the payload is data from a repository.

use crate::options::Options;
use bulkhead_supervisor::mcp::visible::visible;
use serde_json::{Map, Value};
use std::{io::IsTerminal as _, process::ExitCode};

/// Calls `tool` and prints what it answers.
pub fn run(options: Options, tool: &str, words: &[String]) -> ExitCode {
    let mut arguments = match parse(words) {
        Ok(arguments) => arguments,
        Err(why) => return crate::refuse(&why),
    };
    if let Some(row) = bulkhead_contract::catalogue::find(tool)
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
    let output = bulkhead_supervisor::start::call(options.settings, means, tool, Value::Object(arguments));
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

/// One JSON object, or `key=value` words. A value is JSON where it parses as JSON, and text otherwise.
fn parse(words: &[String]) -> Result<Map<String, Value>, String> {
    let mut object = if let [only] = words
        && only.trim_start().starts_with('{')
    {
        match bulkhead_supervisor::mcp::json::parse(only.as_bytes()) {
            Ok(Value::Object(object)) => object,
            Ok(_) => return Err("arguments: a JSON object was expected".to_owned()),
            Err(_) => return Err("arguments: not a JSON object, or one with a key twice".to_owned()),
        }
    } else {
        pairs(words)?
    };
    // a shell leaves `key=~/dir` alone, and a server must not guess at `~`; here it is the operator's own
    if let Some(Value::String(path)) = object.get_mut("repoPath")
        && let Some(absolute) = absolute(path)
    {
        *path = absolute;
    }
    Ok(object)
}

fn pairs(words: &[String]) -> Result<Map<String, Value>, String> {
    let mut object = Map::new();
    for word in words {
        let Some((key, value)) = word.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            return Err(format!("argument {word:?}: write it as key=value, or give one JSON object"));
        };
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
        if object.insert(key.to_owned(), value).is_some() {
            return Err(format!("argument {key:?} is given twice"));
        }
    }
    Ok(object)
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
        parse(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>()).map(Value::Object)
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
