//! The repositories that a proposal is about: there, beneath the roots, and with what a person should know of them.
//! Trust: paths are the caller's; workers resolve them, each in its own jail. What they say is typed and passed on.

use super::{Canonical, Proposal, facts};
use crate::{
    control::Control,
    outcome::{Broken, CallError},
    reads::{Question, Reads},
    settings::Settings,
};
use bulkhead_contract::{
    args::Violation,
    canonical,
    failure::{ReadFailure, Reason},
    results::Facts,
};
use bulkhead_ipc::edge::{
    asks,
    read::{Ask, Reply},
};
use serde_json::{Value, json};
use std::{path::Path, time::Duration};
use tokio::time::timeout;

/// The argument that names a place for a working tree.
const TARGET: &str = "arguments.path";
/// Directories above a place for a working tree that are asked for, until one exists.
const MAX_CLIMB: usize = 16;
/// The questions of a call watch the deadline themselves; this is for their sum.
const GRACE: Duration = Duration::from_millis(100);

/// Where a proposal is at home.
#[derive(Debug)]
pub(super) struct Home {
    paths: Canonical,
    /// What a person should know; `None` where the other side may not have it.
    pub facts: Option<Value>,
}

impl Home {
    /// The canonical path of a repository of the proposal.
    pub fn canonical(&self, path: &str) -> String {
        self.paths.get(path).cloned().unwrap_or_else(|| path.to_owned())
    }
}

/// Asks for all repositories, and for facts where `with_facts`.
///
/// # Errors
/// Everything that is wrong with the proposal, what its rules say included.
pub(super) async fn found<R: Reads>(
    proposal: &Proposal,
    reads: &R,
    settings: &Settings,
    with_facts: bool,
    control: &Control,
) -> Result<Home, CallError> {
    match timeout(settings.deadline + GRACE, look(proposal, reads, with_facts, control)).await {
        Ok(home) => home,
        Err(_) => Err(CallError::Deadline { seconds: settings.deadline.as_secs() }),
    }
}

async fn look<R: Reads>(
    proposal: &Proposal,
    reads: &R,
    with_facts: bool,
    control: &Control,
) -> Result<Home, CallError> {
    let mut broken = proposal.rules_broken();
    let with_facts = with_facts && broken.is_empty();
    let (mut paths, mut told, mut first) = (Canonical::new(), Vec::new(), None);
    for (at, path) in named(proposal) {
        if paths.contains_key(path) {
            continue;
        }
        let ask = if with_facts { facts::of(proposal, path) } else { asks::Facts::default() };
        match asked(reads, path, ask, control).await {
            Ok((canonical, facts)) => match String::from_utf8(canonical) {
                Ok(canonical) => {
                    told.push(with_path(&canonical, &facts));
                    paths.insert(path.to_owned(), canonical);
                }
                Err(_) => {
                    let problem = "leads to a repository whose path is no text; the gateway's wire cannot name it";
                    broken.push(wrong(at, problem.to_owned(), Reason::BadArgument));
                }
            },
            Err(CallError::Read(failure)) => {
                broken.push(wrong(at, format!("{}: {}", failure.reason.name(), failure.details), failure.reason));
                first.get_or_insert(failure);
                // asked once is enough
                paths.insert(path.to_owned(), String::new());
            }
            Err(error) => return Err(error),
        }
    }
    if let Some(target) = proposal.text("path").filter(|_| proposal.operation == "worktree")
        && !target.trim().is_empty()
        && broken.iter().all(|broken| broken.violation.path != TARGET)
        && let Err(failure) = beneath_roots(reads, target, control).await?
    {
        let problem = format!("{}: {}", failure.reason.name(), failure.details);
        broken.push(wrong(TARGET.to_owned(), problem, failure.reason));
    }
    match (broken.len(), first) {
        (0, _) => Ok(Home { paths, facts: with_facts.then(|| json!({ "repositories": told })) }),
        // the repository alone is wrong: answered as every read of it would be
        (1, Some(failure)) if broken[0].violation.path == "arguments.repoPath" => Err(CallError::Read(failure)),
        _ => Err(CallError::Forbidden { violations: broken }),
    }
}

fn wrong(path: String, problem: String, reason: Reason) -> Broken {
    Broken { violation: Violation { path, problem }, reason }
}

/// Repositories of a proposal, each with the argument that names it.
fn named(proposal: &Proposal) -> Vec<(String, &str)> {
    let mut named = vec![("arguments.repoPath".to_owned(), proposal.asked())];
    if proposal.operation == "branchDelete" {
        let targets = proposal.given.get("targets").and_then(Value::as_array).into_iter().flatten();
        for (number, target) in targets.enumerate() {
            if let Some(path) = target.get("repoPath").and_then(Value::as_str) {
                named.push((format!("arguments.targets[{number}].repoPath"), path));
            }
        }
    }
    named
}

fn with_path(canonical: &str, facts: &Facts) -> Value {
    let mut value = serde_json::to_value(facts).unwrap_or_else(|_| json!({}));
    value["repoPath"] = canonical.into();
    value
}

async fn asked<R: Reads>(
    reads: &R,
    path: &str,
    ask: asks::Facts,
    control: &Control,
) -> Result<(Vec<u8>, Facts), CallError> {
    let fingerprint = canonical::digest([&Value::from("facts"), &Value::from(path)]);
    let question = Question { path: path.to_owned(), ask: Ask::Facts(Box::new(ask)), fingerprint };
    let answered = reads.read(question, control.clone()).await?;
    match answered.reply {
        Reply::Facts(facts) => Ok((answered.canonical, *facts)),
        _ => Err(CallError::WorkerDied { how: "it answered another question".to_owned() }),
    }
}

/// Whether a working tree at `target` would lie beneath the roots: a worker resolves the nearest directory that exists,
/// with its own walls around it.
async fn beneath_roots<R: Reads>(
    reads: &R,
    target: &str,
    control: &Control,
) -> Result<Result<(), ReadFailure>, CallError> {
    let above = Path::new(target).ancestors().filter_map(Path::to_str).filter(|path| !path.is_empty());
    for path in above.take(MAX_CLIMB) {
        match asked(reads, path, asks::Facts::default(), control).await {
            Ok(_) => return Ok(Ok(())),
            Err(CallError::Read(failure)) => match failure.reason {
                Reason::NoSuchPath => {}
                Reason::OutsideRoots | Reason::PermissionDenied | Reason::Redirected | Reason::Io => {
                    return Ok(Err(failure));
                }
                // it exists, beneath the roots; what it is does not matter
                _ => return Ok(Ok(())),
            },
            Err(error) => return Err(error),
        }
    }
    let details = format!("None of the {MAX_CLIMB} directories above it exists beneath the roots.");
    Ok(Err(ReadFailure::new(Reason::NoSuchPath, "path", details)))
}
