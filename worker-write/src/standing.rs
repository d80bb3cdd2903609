//! What a repository is in the middle of, by the files that Git leaves for it.
//! Trust: only whether names are there is looked at, and of the list of a rebase which commands stand in it.

use crate::text::{self, Unread};
use bulkhead_contract::direct::OperationState;
use std::{fs::File, io::Read as _, path::Path};

/// Bytes of a short text of the git directory at most.
const MAX_TEXT: u64 = 1 << 20;
/// Bytes of a list of steps at most: some hundred thousand of them.
const MAX_STEPS: u64 = 16 << 20;
/// Bytes of such a list in which its first word stands.
const FIRST: u64 = 4 << 10;

/// The operation that is open in a git directory, looked for in the order in which `git status` does.
pub(crate) fn state(git_dir: &Path) -> OperationState {
    let is = |name: &str| git_dir.join(name).symlink_metadata().is_ok();
    if is("MERGE_HEAD") {
        OperationState::Merge
    } else if is("rebase-apply/applying") {
        OperationState::ApplyMailbox
    } else if is("rebase-merge") || is("rebase-apply") {
        OperationState::Rebase
    } else if is("CHERRY_PICK_HEAD") {
        OperationState::CherryPick
    } else if is("REVERT_HEAD") {
        OperationState::Revert
    } else if let Some(state) = sequence(git_dir) {
        state
    } else if is("BISECT_LOG") {
        OperationState::Bisect
    } else {
        OperationState::Clear
    }
}

/// A series of cherry-picks or reverts between two of its steps.
fn sequence(git_dir: &Path) -> Option<OperationState> {
    match first_word(&git_dir.join("sequencer/todo"))?.as_str() {
        "pick" | "p" => Some(OperationState::CherryPick),
        "revert" => Some(OperationState::Revert),
        _ => None,
    }
}

/// The word that a text begins with, however long it is.
fn first_word(path: &Path) -> Option<String> {
    if !text::there(path).ok()??.is_file() {
        return None;
    }
    let mut beginning = Vec::new();
    File::open(path).ok()?.take(FIRST).read_to_end(&mut beginning).ok()?;
    String::from_utf8_lossy(&beginning).split_whitespace().next().map(str::to_owned)
}

/// Name of the list of steps of a stopped rebase.
pub(crate) const STEPS: &str = "rebase-merge/git-rebase-todo";

/// Steps of a stopped rebase that would run programs.
///
/// # Errors
/// Why it is not known which these are.
pub(crate) fn programs_to_run(git_dir: &Path) -> Result<Vec<String>, Unread> {
    let todo = text::whole(&git_dir.join(STEPS), MAX_STEPS)?.unwrap_or_default();
    let runs = |line: &&str| matches!(line.split_whitespace().next(), Some("exec" | "x"));
    Ok(todo.lines().map(str::trim).filter(runs).map(str::to_owned).collect())
}

/// Ways of merging that Git has within itself (git-merge(1)); it runs `git-merge-NAME` for another one.
const STRATEGIES: &[&str] = &["ort", "recursive", "resolve", "octopus", "ours", "subtree"];

/// Ways of merging that whoever began the operation chose, and that are programs.
///
/// # Errors
/// Why it is not known which these are.
pub(crate) fn strange_strategies(git_dir: &Path) -> Result<Vec<String>, Unread> {
    let rebase = bounded(&git_dir.join("rebase-merge/strategy"))?.unwrap_or_default();
    let options = bounded(&git_dir.join("sequencer/opts"))?.unwrap_or_default();
    // a file of settings, of which the name is `strategy` whatever stands around it
    let value = |line: &str| {
        let (key, value) = line.split_once('=')?;
        let name = key.rsplit(']').next().unwrap_or_default().trim();
        name.eq_ignore_ascii_case("strategy").then(|| value.trim().trim_matches('"').to_owned())
    };
    let all = std::iter::once(rebase.trim().to_owned()).chain(options.lines().filter_map(value));
    Ok(all.filter(|name| !name.is_empty() && !STRATEGIES.contains(&name.as_str())).collect())
}

/// A short text; `None` where there is none.
///
/// # Errors
/// It is no regular file of at most 1 MiB that can be read.
pub(crate) fn bounded(path: &Path) -> Result<Option<String>, Unread> {
    text::whole(path, MAX_TEXT)
}

/// The state as a word in a sentence.
pub(crate) fn word(state: OperationState) -> &'static str {
    match state {
        OperationState::Clear => bulkhead_contract::direct::point::NOTHING,
        OperationState::Merge => "a merge",
        OperationState::Rebase => "a rebase",
        OperationState::ApplyMailbox => "applying patches",
        OperationState::CherryPick => "a cherry-pick",
        OperationState::Revert => "a revert",
        OperationState::Bisect => "a bisection",
        OperationState::Conflict => "an operation with unmerged paths",
    }
}
