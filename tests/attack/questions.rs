//! What a server is asked: its tools that read, by name where the names are known, else by what their schemas say.
//! Trust: names and schemas are the server's word; a tool whose arguments cannot be filled is left out.

use super::support::{calls, direct};
use serde_json::{Map, Value, json};
use std::path::Path;

/// A call: the tool, and its arguments.
pub type Question = (String, Value);

/// Revisions and paths that are asked for beside the usual ones, at most.
const MAX_FURTHER: usize = 40;
/// Parts of names of tools that only read, where nothing else says so.
const READING: &[&str] = &[
    "status",
    "log",
    "history",
    "diff",
    "show",
    "blame",
    "annotate",
    "list",
    "read",
    "get",
    "branches",
    "tags",
    "refs",
    "info",
    "files",
    "search",
    "grep",
    "describe",
    "stash_list",
    "remote",
    "brief",
    "snapshot",
    "view",
    "cat",
];
/// Parts of names of tools that do more.
const WRITING: &[&str] = &[
    "add", "commit", "push", "pull", "fetch", "create", "delete", "remove", "reset", "checkout", "switch", "merge",
    "rebase", "cherry", "revert", "apply", "clean", "init", "clone", "write", "set", "clear", "update", "stage",
    "restore", "drop", "rename", "config", "run", "exec", "command", "lock",
];

/// What an argument is about, by its name and type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// A repository.
    Repository,
    /// A commit, branch or tag.
    Revision,
    /// A path inside the repository.
    Path,
    /// A number.
    Number,
    /// Another text.
    Text,
    /// Anything else.
    Other,
}

/// What the argument of that name and schema is about.
pub fn about(name: &str, schema: &Value) -> About {
    let kind = schema["type"].as_str().or_else(|| {
        schema["type"].as_array().and_then(|kinds| kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"))
    });
    let name = name.to_lowercase().replace(['_', '-'], "");
    let described = schema["description"].as_str().unwrap_or_default().to_lowercase();
    let holds = |words: &[&str]| words.iter().any(|word| name.contains(word));
    match kind {
        Some("integer" | "number") => About::Number,
        Some("string") | None if schema.get("enum").is_some() => About::Other,
        Some("array") if holds(&["repo"]) => About::Repository,
        Some("array") if holds(&["path", "file"]) => About::Path,
        Some("string") | None => {
            if holds(&["repo", "cwd", "workdir", "directory"]) || (name == "path" && described.contains("repositor")) {
                About::Repository
            } else if holds(&["path", "file"]) {
                About::Path
            } else if holds(&["rev", "ref", "commit", "sha", "branch", "base", "head", "target", "source", "object"])
                || ["a", "b", "from", "to", "range", "tag"].contains(&name.as_str())
            {
                About::Revision
            } else {
                About::Text
            }
        }
        _ => About::Other,
    }
}

/// Whether the tool only reads, as it says itself or else as it is called.
pub fn reads(tool: &Value) -> bool {
    let name = tool["name"].as_str().unwrap_or_default().to_lowercase();
    match tool["annotations"]["readOnlyHint"].as_bool() {
        Some(hint) => hint && tool["annotations"]["openWorldHint"] != true,
        None => {
            let words: Vec<&str> = name.split(['_', '.', '-', '/']).collect();
            READING.iter().any(|part| name.contains(part)) && !WRITING.iter().any(|part| words.contains(part))
        }
    }
}

/// Arguments for each required one of the tool, and for that which names the repository.
fn filled(tool: &Value, repo: &str, revision: &str, path: &str) -> Option<Value> {
    let schema = &tool["inputSchema"];
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut arguments = Map::new();
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let about = about(name, schema);
        if !required.contains(&name.as_str()) && about != About::Repository {
            continue;
        }
        let one = match about {
            About::Repository => json!(repo),
            About::Revision => json!(revision),
            About::Path => json!(path),
            About::Number => json!(20),
            About::Text => json!("x"),
            About::Other => match (schema["enum"].get(0), schema["type"].as_str()) {
                (Some(first), _) => first.clone(),
                (None, Some("boolean")) => json!(false),
                (None, Some("object")) => json!({}),
                _ => return None,
            },
        };
        let many = schema["type"] == "array";
        arguments.insert(name.clone(), if many { json!([one]) } else { one });
    }
    required.iter().all(|name| arguments.contains_key(*name)).then_some(Value::Object(arguments))
}

/// Everything that is asked about one repository.
pub fn all(tools: &[Value], repo: &Path, revisions: &[String], paths: &[String]) -> Vec<Question> {
    let path_text = repo.to_string_lossy().into_owned();
    let has = |name: &str| tools.iter().any(|tool| tool["name"] == name);
    let further = |list: &[String]| list.iter().take(MAX_FURTHER).cloned().collect::<Vec<_>>();
    let (revisions, paths) = (further(revisions), further(paths));
    let mut known: Vec<(&str, Value)> = calls::on(repo);
    known.extend(direct::questions("a.txt"));
    for revision in &revisions {
        known.extend([
            ("commit.details", json!({"repoPath": path_text, "commit": revision})),
            ("repo.history", json!({"repoPath": path_text, "range": revision, "limit": 5})),
            ("diff.text", json!({"repoPath": path_text, "base": revision})),
            ("repo_log", json!({"revspec_or_revset": revision, "max": 5})),
            ("repo_diff", json!({"revspec": revision})),
            ("repo_show_file", json!({"rev": revision, "path": "a.txt"})),
        ]);
        known.extend(paths.iter().take(4).map(|path| ("repo_show_file", json!({"rev": revision, "path": path}))));
    }
    for path in &paths {
        known.extend([
            ("repo.scope", json!({"repoPath": path_text, "path": path})),
            ("repo.history", json!({"repoPath": path_text, "path": path, "limit": 5})),
            ("diff.text", json!({"repoPath": path_text, "path": path})),
            ("repo_show_file", json!({"rev": "HEAD", "path": path})),
            ("repo_annotate", json!({"path": path})),
            ("repo_conflict_regions", json!({"path": path})),
        ]);
    }
    let mut asked: Vec<Question> =
        known.into_iter().filter(|(name, _)| has(name)).map(|(name, arguments)| (name.to_owned(), arguments)).collect();
    for tool in tools.iter().filter(|tool| reads(tool)) {
        let name = tool["name"].as_str().unwrap_or_default();
        if asked.iter().any(|(asked, _)| asked == name) {
            continue;
        }
        let plain = filled(tool, &path_text, "HEAD", "a.txt");
        let revisions = revisions.iter().map(|revision| filled(tool, &path_text, revision, "a.txt"));
        let paths = paths.iter().map(|path| filled(tool, &path_text, "HEAD", path));
        let mut forms: Vec<Value> = [plain].into_iter().chain(revisions).chain(paths).flatten().collect();
        forms.dedup();
        asked.extend(forms.into_iter().map(|arguments| (name.to_owned(), arguments)));
    }
    asked
}

/// Questions that any repository could answer, the likeliest first.
pub fn candidates(tools: &[Value], repo: &Path) -> Vec<Question> {
    let rank = |name: &str| match name {
        "repo.status" | "repo_status" | "git_status" => 0,
        _ if name.ends_with("status") => 1,
        _ if name.contains("log") || name.contains("branches") => 2,
        _ => 3,
    };
    let name = |tool: &&Value| tool["name"].as_str().unwrap_or_default().to_owned();
    let mut reading: Vec<&Value> = tools.iter().filter(|tool| reads(tool)).collect();
    reading.sort_by_key(|tool| rank(&name(tool)));
    let path = repo.to_string_lossy();
    let filled = reading.iter().filter_map(|tool| Some((name(tool), filled(tool, &path, "HEAD", "a.txt")?)));
    filled.take(MAX_FURTHER).collect()
}

/// The question by that name about this repository, or the likeliest.
pub fn honest(tools: &[Value], repo: &Path, name: Option<&str>) -> Option<Question> {
    candidates(tools, repo).into_iter().find(|(tool, _)| name.is_none_or(|name| name == tool))
}

/// Every tool that reads, with one of its arguments at a time replaced by each of these values.
pub fn spoiled(tools: &[Value], repo: &Path, values: impl Fn(About) -> Vec<Value>) -> Vec<Question> {
    let mut asked = Vec::new();
    for tool in tools.iter().filter(|tool| reads(tool)) {
        let Some(plain) = filled(tool, &repo.to_string_lossy(), "HEAD", "a.txt") else { continue };
        let name = tool["name"].as_str().unwrap_or_default();
        for (key, schema) in tool["inputSchema"]["properties"].as_object().into_iter().flatten() {
            for value in values(about(key, schema)) {
                let mut arguments = plain.clone();
                // where several are asked for, one of several; and the bare value besides
                if schema["type"] == "array" && value.is_string() {
                    arguments[key] = json!([value]);
                } else {
                    arguments[key] = value;
                }
                asked.push((name.to_owned(), arguments));
            }
        }
    }
    asked
}
