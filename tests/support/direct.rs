//! The direct surface as a client sees it: a value, refused arguments, or a failure of some class.
//! Trust: test code; text and structure of every answer are held against each other.

use super::{Place, Server, Start};
use serde_json::{Value, json};
use std::path::Path;

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Came {
    /// A value.
    Value(Value),
    /// -32602, with this message.
    Params(String),
    /// A failure of this class, and all of it.
    Failure(String, Value),
}

/// A server of one repository.
#[derive(Debug)]
pub struct Served(pub Server);

impl Served {
    /// Reads alone.
    pub fn reading(place: &Place, repo: &Path) -> Self {
        Self::reading_with(place, repo, &[])
    }

    /// The same with further flags.
    pub fn reading_with(place: &Place, repo: &Path, more: &[&str]) -> Self {
        Self(Start::new(place).arguments(&["--surface", "direct", "--repo"]).argument(repo).arguments(more).spawn())
    }

    /// With the gate open; an own identity is configured, as an operator has one.
    pub fn writing(place: &Place, repo: &Path, more: &[&str]) -> Self {
        identity(place);
        let start = Start::new(place).arguments(&["--surface", "direct", "--allow-write", "--repo"]).argument(repo);
        Self(start.arguments(more).spawn())
    }

    /// Calls a tool.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Came {
        came(&self.0.call(tool, arguments).message)
    }

    /// The value that a call gives.
    ///
    /// # Panics
    /// Where it gives none.
    pub fn value(&mut self, tool: &str, arguments: Value) -> Value {
        match self.call(tool, arguments.clone()) {
            Came::Value(value) => value,
            other => panic!("{tool} {arguments}: {other:?}"),
        }
    }

    /// The failure of a call that must not be carried out, by its class.
    ///
    /// # Panics
    /// Where it is carried out, or fails in another way.
    pub fn fails(&mut self, tool: &str, arguments: Value, class: &str) -> Value {
        match self.call(tool, arguments.clone()) {
            Came::Failure(found, failure) if found == class => failure,
            other => panic!("{tool} {arguments} should fail as {class}: {other:?}"),
        }
    }

    /// The message by which arguments are refused.
    ///
    /// # Panics
    /// Where they are not.
    pub fn refuses(&mut self, tool: &str, arguments: Value) -> String {
        match self.call(tool, arguments.clone()) {
            Came::Params(message) => message,
            other => panic!("{tool} {arguments} should be refused: {other:?}"),
        }
    }
}

/// An operator's own configuration: a name and an address.
pub fn identity(place: &Place) {
    let config = "[user]\n\tname = Op Erator\n\temail = op@example.invalid\n";
    std::fs::write(place.home().join(".gitconfig"), config).expect("the place is ours");
}

/// What an answer says.
///
/// # Panics
/// Where it is none of the three, or says two different things.
pub fn came(answer: &Value) -> Came {
    if let Some(error) = answer.get("error") {
        assert_eq!(error["code"], -32602, "{error}");
        let message = error["message"].as_str().expect("an error has a message");
        assert!(!message.is_empty(), "{error}");
        return Came::Params(message.to_owned());
    }
    let result = &answer["result"];
    let value: Value =
        serde_json::from_str(result["content"][0]["text"].as_str().expect("one text")).expect("it is JSON");
    let structure = &result["structuredContent"];
    if result["isError"] == true {
        assert_eq!(structure, &json!({ "error": value }));
        for member in ["reason", "next"] {
            assert!(value[member].as_str().is_some_and(|text| !text.is_empty()), "{value}");
        }
        return Came::Failure(value["class"].as_str().expect("a class").to_owned(), value);
    }
    let wrapped = structure["result"] == value || structure["result"] == value["items"];
    assert!(structure == &value || wrapped, "{structure} beside {value}");
    Came::Value(value)
}

/// Every tool that reads, with arguments that mean something in [`super::direct_repository`], about this path among others.
pub fn questions(path: &str) -> Vec<(&'static str, Value)> {
    let mut questions: Vec<(&'static str, Value)> = [
        "repo_snapshot",
        "repo_info",
        "repo_status",
        "repo_diff_stat",
        "repo_diff",
        "repo_branches",
        "repo_current_branch",
        "repo_tags",
        "repo_worktrees",
        "repo_remotes",
        "repo_conflicts",
        "repo_restore_points",
        "repo_list_files",
    ]
    .map(|tool| (tool, json!({})))
    .to_vec();
    questions.extend([
        ("repo_log", json!({"revspec_or_revset": "HEAD", "max": 50})),
        ("repo_merge_base", json!({"a": "HEAD", "b": "clash"})),
        ("repo_show_file", json!({"rev": "HEAD", "path": path})),
        ("repo_show_file", json!({"rev": ":0", "path": path})),
        ("repo_annotate", json!({"path": path})),
        ("repo_annotate", json!({"path": path, "rev": "HEAD"})),
        ("repo_conflict_regions", json!({"path": path})),
        ("repo_try_merge", json!({"source": "clash"})),
        ("repo_list_files", json!({"rev": "HEAD"})),
    ]);
    questions
}
