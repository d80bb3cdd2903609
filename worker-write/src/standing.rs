//! What a repository is in the middle of, by the files that Git leaves for it.
//! Trust: only whether names are there is looked at, and of the list of a rebase which commands stand in it.

use bulkhead_contract::direct::OperationState;
use std::path::Path;

/// Bytes of a short text of the git directory that are looked at.
const MAX_TEXT: u64 = 1 << 20;

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
    let todo = bounded(&git_dir.join("sequencer/todo"))?;
    match todo.split_whitespace().next()? {
        "pick" | "p" => Some(OperationState::CherryPick),
        "revert" => Some(OperationState::Revert),
        _ => None,
    }
}

/// Steps of a stopped rebase that would run programs.
pub(crate) fn programs_to_run(git_dir: &Path) -> Vec<String> {
    let todo = bounded(&git_dir.join("rebase-merge/git-rebase-todo")).unwrap_or_default();
    let runs = |line: &&str| matches!(line.split_whitespace().next(), Some("exec" | "x"));
    todo.lines().map(str::trim).filter(runs).map(str::to_owned).collect()
}

/// A short text, if it is a regular file.
pub(crate) fn bounded(path: &Path) -> Option<String> {
    crate::reach::beginning(path, MAX_TEXT)
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
