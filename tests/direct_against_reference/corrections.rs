//! Where our answers are meant to be others than the reference's, each with the row of the contract that says so
//! (`direct/corrections.md`, `direct/disagreements.md`). Trust: test data; a row changes both answers until only what it is about is gone.

use crate::peer::Answer;
use serde_json::{Value, json};
use std::collections::HashSet;

/// Both answers to one call.
#[derive(Debug)]
pub struct Answers {
    /// Of the direct surface.
    pub ours: Answer,
    /// Of the reference.
    pub theirs: Answer,
}

/// A correction.
struct Row {
    /// Where the contract says so.
    source: &'static str,
    /// The tool.
    tool: &'static str,
    /// The beginning of the state's name.
    state: &'static str,
    /// Whether it made a difference.
    apply: fn(&mut Answers) -> bool,
}

const ROWS: &[Row] = &[
    Row {
        source: "corrections A5: credentials are never given out",
        tool: "repo_remotes",
        state: "",
        apply: credentials,
    },
    Row {
        source: "corrections B7, disagreements 33: a name that is not UTF-8 fails no call",
        tool: "repo_status",
        state: "not UTF-8",
        apply: answered_nevertheless,
    },
    Row {
        source: "corrections B14: an unborn branch has no commit",
        tool: "repo_worktrees",
        state: "unborn",
        apply: zero_ids,
    },
    Row {
        source: "corrections B15: a carriage return is part of its line",
        tool: "repo_annotate",
        state: "",
        apply: |it| carriage_returns(it, &["content"]),
    },
    Row {
        source: "corrections B15: a carriage return is part of its line",
        tool: "repo_diff",
        state: "",
        apply: |it| carriage_returns(it, &["Added", "Removed", "Context"]),
    },
    Row {
        source: "corrections B15b, disagreements 22: a path starts at the root",
        tool: "repo_annotate",
        state: "subdirectory",
        apply: other_anchor,
    },
    Row {
        source: "corrections B16: what is no file is refused, a submodule too",
        tool: "repo_show_file",
        state: "superproject",
        apply: refused,
    },
    Row {
        source: "corrections B16: what is no file is refused, a submodule too",
        tool: "repo_annotate",
        state: "superproject",
        apply: refused,
    },
    Row {
        source: "disagreements 23: a date is a text, the number stands beside it",
        tool: "repo_annotate",
        state: "",
        apply: unix_dates,
    },
    Row {
        source: "disagreements 24: no colon in the path of a file that is opened",
        tool: "repo_conflict_regions",
        state: "names",
        apply: refused,
    },
    Row {
        source: "results 2: a path that leads out is an argument that is refused",
        tool: "repo_show_file",
        state: "",
        apply: refused_failure,
    },
    Row {
        source: "results 2: a path that leads out is an argument that is refused",
        tool: "repo_annotate",
        state: "",
        apply: refused_failure,
    },
    Row {
        source: "results 3, repo_annotate: a line that nobody committed has the time of the question",
        tool: "repo_annotate",
        state: "",
        apply: uncommitted,
    },
    Row {
        source: "results 3, repo_log: ISO 8601 with its offset, which some versions of git shorten to Z",
        tool: "repo_log",
        state: "",
        apply: zulu,
    },
    Row {
        source: "results 3, repo_log: a tree has no history, which is said and not answered with none",
        tool: "repo_log",
        state: "",
        apply: no_history,
    },
    Row {
        source: "results 3, repo_try_merge: worked out in memory, also where changes or an operation are in the way",
        tool: "repo_try_merge",
        state: "",
        apply: in_the_way,
    },
    Row {
        source: "results 3, repo_info: a working tree's root, where git names a submodule's git directory",
        tool: "repo_worktrees",
        state: "submodule",
        apply: submodule_root,
    },
];

/// The table, and which rows were needed.
#[derive(Debug, Default)]
pub struct Table {
    used: HashSet<usize>,
}

impl Table {
    /// Takes out of both answers what a row is about.
    pub fn apply(&mut self, state: &str, tool: &str, answers: &mut Answers) {
        for (at, row) in ROWS.iter().enumerate() {
            if row.tool == tool && state.starts_with(row.state) && (row.apply)(answers) {
                self.used.insert(at);
            }
        }
    }

    /// Rows that nothing needed so far.
    pub fn unused(&self) -> Vec<&'static str> {
        let unused = ROWS.iter().enumerate().filter(|(at, _)| !self.used.contains(at));
        unused.map(|(_, row)| row.source).collect()
    }
}

/// Every object in the answer, from the outside in.
fn objects(value: &mut Value, change: &mut dyn FnMut(&mut serde_json::Map<String, Value>) -> bool) -> bool {
    match value {
        Value::Object(members) => {
            let mut changed = change(members);
            for value in members.values_mut() {
                changed |= objects(value, change);
            }
            changed
        }
        Value::Array(items) => items.iter_mut().fold(false, |changed, item| objects(item, change) | changed),
        _ => false,
    }
}

fn in_value(answer: &mut Answer, change: &mut dyn FnMut(&mut serde_json::Map<String, Value>) -> bool) -> bool {
    match answer {
        Answer::Value(value) => objects(value, change),
        _ => false,
    }
}

/// Both come to nothing that differs.
fn agreed(answers: &mut Answers) -> bool {
    answers.theirs = answers.ours.clone();
    true
}

fn answered_nevertheless(answers: &mut Answers) -> bool {
    matches!((&answers.ours, &answers.theirs), (Answer::Value(_), Answer::Failure(_))) && agreed(answers)
}

/// Where they answer, we refuse the arguments.
fn refused(answers: &mut Answers) -> bool {
    answers.ours == Answer::Params && answers.theirs != Answer::Params && agreed(answers)
}

/// Where they fail, we refuse the arguments.
fn refused_failure(answers: &mut Answers) -> bool {
    answers.ours == Answer::Params && matches!(answers.theirs, Answer::Failure(_)) && agreed(answers)
}

/// What is there for one of them only, because it starts elsewhere.
fn other_anchor(answers: &mut Answers) -> bool {
    let one = matches!(
        (&answers.ours, &answers.theirs),
        (Answer::Value(_), Answer::Failure(_)) | (Answer::Failure(_), Answer::Value(_))
    );
    one && agreed(answers)
}

fn no_history(answers: &mut Answers) -> bool {
    answers.ours == Answer::Params && answers.theirs == Answer::Value(json!([])) && agreed(answers)
}

fn in_the_way(answers: &mut Answers) -> bool {
    const SAID: [&str; 3] = ["stash failed", "unresolved conflict", "Merge with strategy ort failed"];
    let Answer::Failure(why) = &answers.theirs else { return false };
    let known = SAID.iter().any(|said| why.contains(said));
    known && matches!(answers.ours, Answer::Value(_)) && agreed(answers)
}

fn submodule_root(answers: &mut Answers) -> bool {
    in_value(&mut answers.theirs, &mut |tree| {
        let Some(Value::String(path)) = tree.get_mut("path") else { return false };
        let above = path.replace("/.git/modules/", "/");
        let changed = above != *path;
        *path = above;
        changed
    })
}

fn zulu(answers: &mut Answers) -> bool {
    in_value(&mut answers.theirs, &mut |commit| {
        let Some(Value::String(date)) = commit.get_mut("date") else { return false };
        let Some(local) = date.strip_suffix('Z') else { return false };
        *date = format!("{local}+00:00");
        true
    })
}

fn unix_dates(answers: &mut Answers) -> bool {
    in_value(&mut answers.theirs, &mut |line| match line.remove("date") {
        Some(date) => line.insert("date_unix".to_owned(), date).is_none(),
        None => false,
    })
}

fn carriage_returns(answers: &mut Answers, members: &[&str]) -> bool {
    in_value(&mut answers.ours, &mut |line| {
        let mut changed = false;
        for member in members {
            if let Some(Value::String(text)) = line.get_mut(*member)
                && text.ends_with('\r')
            {
                text.pop();
                changed = true;
            }
        }
        changed
    })
}

fn zero_ids(answers: &mut Answers) -> bool {
    in_value(&mut answers.theirs, &mut |tree| match tree.get_mut("commit") {
        Some(commit) if *commit == json!("0".repeat(40)) => {
            *commit = Value::Null;
            true
        }
        _ => false,
    })
}

fn credentials(answers: &mut Answers) -> bool {
    in_value(&mut answers.theirs, &mut |remote| {
        let Some(Value::String(url)) = remote.get_mut("url") else { return false };
        let masked = url.replace("user:s3cret@", "user:***@");
        let changed = masked != *url;
        *url = masked;
        changed
    })
}

fn uncommitted(answers: &mut Answers) -> bool {
    let mut strip = |line: &mut serde_json::Map<String, Value>| {
        let zero = line.get("id").and_then(Value::as_str).is_some_and(|id| id.bytes().all(|byte| byte == b'0'));
        zero && line.remove("date_unix").is_some()
    };
    let ours = in_value(&mut answers.ours, &mut strip);
    in_value(&mut answers.theirs, &mut strip) | ours
}
