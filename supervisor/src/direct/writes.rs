//! Writes of the direct surface: recorded first, then carried out by a worker that runs Git, then told in the contract's words.
//! Trust: arguments are an agent's; what the worker says is typed, bounded, and only put into another form.

use super::{Failure, guards::Guards, wanted::choice};
use crate::{
    control::Control,
    outcome::CallError,
    proposals::Asker,
    reads::{Question, Reads},
    settings::Settings,
    work::Done,
};
use bulkhead_contract::{args::Checked, direct::Class};
use bulkhead_ipc::edge::{
    asks::{self, ConflictChoice, Resolution},
    read::{Ask, Reply},
    write::{Done as Written, Failed, Operation, Outcome},
};
use serde_json::{Map, Value, json};

/// One write.
#[derive(Debug, Clone)]
pub struct Write {
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    /// An operation that the arguments say all about.
    Operation(Operation),
    /// A resolution, which a read worker puts together first.
    Resolve { path: String, side: ConflictChoice, word: String },
}

impl Write {
    /// The write that a call of `tool` is; `None` for a tool that is none, and where an argument is wrong: `guards` say so then.
    pub fn plan(tool: &str, checked: &Checked<'_>, guards: &mut Guards) -> Option<Write> {
        let text = |name: &str| checked.text(name).unwrap_or_default().to_owned();
        let given = |name: &str| checked.text(name).map(str::to_owned);
        let flag = |name: &str| checked.boolean(name).unwrap_or_default();
        let operation = match tool {
            "repo_commit" => {
                let paths: Vec<_> = checked.list("paths").iter().filter_map(Value::as_str).map(str::to_owned).collect();
                if paths.is_empty() {
                    guards.say("paths", "must name at least one path");
                }
                for (at, path) in paths.iter().enumerate() {
                    guards.committed(&format!("paths[{at}]"), path);
                }
                let message = text("message");
                guards.message("message", &message);
                let (allow_empty, include_untracked) = (flag("allow_empty"), flag("include_untracked"));
                Operation::Commit { paths, message, allow_empty, include_untracked }
            }
            "repo_checkout" | "repo_new_child" => {
                let reference = text("reference");
                guards.revision("reference", &reference);
                Operation::Checkout { reference }
            }
            "repo_fetch" => Operation::Fetch,
            "repo_push" => {
                let branch = text("branch");
                guards.branch("branch", &branch);
                // a refspec of that form would force
                if branch.starts_with('+') {
                    guards.say("branch", "must be the name of a branch alone: nothing is forced");
                }
                Operation::Push { branch }
            }
            "repo_create_worktree" => {
                let (path, branch, base) = (text("path"), text("branch"), text("base"));
                guards.place("path", &path);
                guards.branch("branch", &branch);
                guards.revision("base", &base);
                Operation::CreateWorktree { path, branch, base }
            }
            "repo_remove_worktree" => {
                let path = text("path");
                guards.place("path", &path);
                Operation::RemoveWorktree { path, force: flag("force") }
            }
            "repo_rebase" => {
                let onto = text("onto");
                guards.revision("onto", &onto);
                Operation::Rebase { onto }
            }
            "repo_abort_in_progress" => Operation::Abort,
            "repo_continue_in_progress" => Operation::Continue,
            "repo_create_branch" => {
                let name = text("name");
                guards.branch("name", &name);
                Operation::CreateBranch { name }
            }
            "repo_delete_branch" => {
                let name = text("name");
                guards.branch("name", &name);
                Operation::DeleteBranch { name, force: flag("force") }
            }
            "repo_rename_branch" => {
                let (old, new) = (text("old_name"), text("new_name"));
                guards.branch("old_name", &old);
                guards.branch("new_name", &new);
                Operation::RenameBranch { old, new }
            }
            "repo_tag_create" => {
                let (name, message, revision) = (text("name"), given("message"), given("rev"));
                guards.branch("name", &name);
                if let Some(message) = &message {
                    guards.message("message", message);
                }
                if let Some(revision) = &revision {
                    guards.revision("rev", revision);
                }
                Operation::CreateTag { name, message, revision }
            }
            "repo_tag_delete" => {
                let name = text("name");
                guards.branch("name", &name);
                Operation::DeleteTag { name }
            }
            "repo_restore" => {
                let id = text("id");
                if id.is_empty()
                    || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
                {
                    guards.say("id", "must be an id of repo_restore_points");
                }
                Operation::Restore { id }
            }
            "repo_resolve_conflict" => {
                let path = text("path");
                guards.file("path", &path);
                let (side, word) = (choice(checked, guards)?, text("side"));
                return Some(Write { what: What::Resolve { path, side, word } });
            }
            _ => return None,
        };
        Some(Write { what: What::Operation(operation) })
    }

    /// Records the intent, does it, and tells what came of it.
    ///
    /// # Errors
    /// Why it was not done, or why that is not known.
    pub async fn done<R: Reads>(
        self,
        tool: &str,
        question: impl Fn(Ask) -> Question,
        (reads, settings): (&R, &Settings),
        asker: Asker<'_>,
        control: Control,
    ) -> Result<Done, CallError> {
        let (operation, word) = match self.what {
            What::Operation(operation) => (operation, None),
            What::Resolve { path, side, word } => {
                let ask = Ask::Resolve(asks::Resolve { path: path.clone(), side });
                let Reply::Resolve(resolution) = reads.read(question(ask), control.clone()).await?.reply else {
                    return Err(CallError::WorkerDied { how: "it answered another question".to_owned() });
                };
                let Resolution { becomes, stages } = *resolution;
                (Operation::Resolve { path, becomes, stages }, Some(word))
            }
        };
        asker.entry.intend(None).await?;
        let mut told = Told::of(tool, &operation);
        if let (Told::Members(members), Some(word)) = (&mut told, word) {
            members.insert("side".to_owned(), word.into());
        }
        let outcome = reads.write(operation, control).await.map_err(without_a_word)?;
        if let Some(log) = &settings.direct.log_commands {
            let program = settings.direct.program;
            match &outcome {
                Outcome::Done(done) => log.take(program, &done.ran),
                Outcome::Failed(failed) => log.take(program, &failed.ran),
            }
        }
        let about = Some(settings.direct.root.clone().into_bytes());
        match outcome {
            Outcome::Done(done) => {
                let (data, members) = told.done(&done);
                Ok(Done { about, data: Some(data), members, ..Done::default() })
            }
            Outcome::Failed(failed) => Err(CallError::Direct(Box::new(failure(*failed)))),
        }
    }
}

/// How the contract's answer begins.
enum Told {
    /// With what it repeats of the arguments.
    Members(Map<String, Value>),
    /// It is the kind of working tree alone, as the references answer it: what there is to say besides stands beside it.
    Kind,
}

impl Told {
    fn of(tool: &str, operation: &Operation) -> Told {
        let members = match operation {
            Operation::Commit { paths, .. } => json!({ "committed_paths": paths.len() }),
            Operation::Checkout { reference } if tool == "repo_new_child" => {
                json!({ "new_child_of": reference, "newChild": reference })
            }
            Operation::Checkout { reference } => json!({ "checked_out": reference }),
            Operation::Fetch => json!({ "fetched": true }),
            Operation::Push { branch } => json!({ "pushed": branch }),
            Operation::CreateWorktree { .. } => return Told::Kind,
            Operation::RemoveWorktree { path, .. } => json!({ "removed": path }),
            Operation::Rebase { onto } => json!({ "rebased_onto": onto }),
            Operation::CreateBranch { name } => json!({ "created_branch": name }),
            Operation::DeleteBranch { name, force } => {
                json!({ "deleted_branch": name, "deleted": name, "force": force })
            }
            Operation::RenameBranch { old, new } => {
                json!({ "renamed": { "old": old, "new": new }, "renamedFrom": old, "renamedTo": new })
            }
            Operation::CreateTag { name, message, .. } => json!({ "created": name, "annotated": message.is_some() }),
            Operation::DeleteTag { name } => json!({ "deleted": name }),
            Operation::Resolve { path, becomes: _, .. } => {
                json!({ "resolved": path, "path": path, "backend": "git", "index": null })
            }
            Operation::Restore { id } => json!({ "restored": id }),
            Operation::Abort | Operation::Continue => json!({}),
        };
        match members {
            Value::Object(members) => Told::Members(members),
            _ => Told::Members(Map::new()),
        }
    }

    /// The value, and members that stand beside one that has none.
    fn done(self, done: &Written) -> (Value, Map<String, Value>) {
        let Told::Members(mut members) = self else { return ("Plain".into(), besides(done)) };
        if let Some(state) = done.state {
            members.insert("operation_state".into(), json!(state));
            members.insert("operation".into(), json!(state));
        }
        if members.contains_key("resolved") {
            members.insert("conflicts_resolved".into(), done.conflicts_resolved.into());
        }
        if members.contains_key("annotated") {
            members.insert("revision".into(), done.id.clone().into());
        } else if let Some(id) = &done.id {
            members.insert("id".into(), id.clone().into());
        }
        if let Some(signed) = done.signed {
            members.insert("signed".into(), signed.into());
        }
        if let Some(point) = &done.restore_point {
            members.insert("restore_point".into(), point.clone().into());
        }
        members.extend(besides(done));
        (Value::Object(members), Map::new())
    }
}

/// What is said of whatever was done.
fn besides(done: &Written) -> Map<String, Value> {
    let mut members = Map::new();
    if !done.hooks_skipped.is_empty() {
        members.insert("hooks_skipped".into(), json!(done.hooks_skipped));
    }
    if let Some(ran) = &done.hooks_run {
        members.insert("hooks_run".into(), json!(ran));
    }
    if !done.notes.is_empty() {
        members.insert("notes".into(), json!(done.notes));
    }
    members
}

fn failure(failed: Failed) -> Failure {
    let mut failure = Failure::new(failed.class, failed.reason, failed.next);
    failure.state = failed.state;
    if let Some(point) = failed.restore_point {
        failure.more.insert("restore_point".into(), point.into());
    }
    if !failed.unmerged.is_empty() {
        failure.more.insert("unmerged".into(), json!(failed.unmerged));
    }
    failure
}

/// What a write's end without a word means: nobody knows what was done.
fn without_a_word(error: CallError) -> CallError {
    let how = match &error {
        CallError::WorkerDied { how } => how.clone(),
        CallError::Deadline { seconds } => format!("it took longer than {seconds} s"),
        CallError::Stopping => "the server was stopping".to_owned(),
        _ => return error,
    };
    let class = if matches!(error, CallError::Deadline { .. }) { Class::Timeout } else { Class::Failed };
    CallError::Direct(Box::new(Failure::new(
        class,
        format!("The process that wrote ended before it said what came of it: {}.", how.trim_end_matches('.')),
        "Call repo_snapshot to see how the repository stands, and repo_restore_points for what can be gone back to, before \
         anything else.",
    )))
}
