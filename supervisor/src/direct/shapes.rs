//! What replies look like on the direct surface: the members and words of the contract's own answers.
//! Trust: replies come from workers that may be taken over; they are typed and bounded, and nothing here is followed.

use super::{Failure, Forge, Settings, budget, patch};
use crate::outcome::CallError;
use bulkhead_contract::{
    direct::{Class, OperationState},
    failure::{ReadFailure, Reason},
    results::{
        AnnotatedLine, Brief, ConflictRegions, HistoryCommit, MarkedRegion, NamedPath, PathList, Preflight,
        PreflightStatus, Refs, Remotes, Status, StatusRow, TextDiff, Worktrees,
    },
};
use serde_json::{Value, json};

pub(super) fn snapshot(brief: &Brief) -> Value {
    let (head, tree) = (&brief.head, &brief.working_tree);
    // while commits are replayed HEAD is on none, whatever will be checked out in the end
    let branch = head.branch.as_ref().filter(|_| !head.detached);
    let counts = |count: u64| if head.upstream_gone { Value::Null } else { count.into() };
    let tracking = head
        .upstream
        .as_ref()
        .filter(|_| branch.is_some())
        .map(|upstream| json!({ "branch": upstream, "ahead": counts(head.ahead), "behind": counts(head.behind) }));
    json!({
        "head": head.id,
        "branch": branch,
        "tracking": tracking,
        "dirty": brief.working_tree.rows > 0,
        "change_count": tree.rows,
        "conflicted": tree.conflicted > 0,
        "operation": OperationState::from(brief.operation_in_progress),
        "tracked_changes": tree.rows.saturating_sub(tree.untracked),
        "untracked": tree.untracked,
        "conflict_count": tree.conflicted,
    })
}

pub(super) fn info(remotes: &Remotes, own: &Settings) -> Value {
    let origin = remotes.remotes.iter().find(|remote| remote.name == "origin");
    let forge = own.forge.or_else(|| Forge::of(origin?.url.as_deref()?));
    json!({ "backend": "git", "root": own.root, "cwd": own.cwd, "forge": forge.map(Forge::name) })
}

pub(super) fn rows(status: &Status, room: usize) -> Value {
    budget::list(status.entries.iter().map(change).collect(), Some(status.changed_files), room)
}

fn change(row: &StatusRow) -> Value {
    let mut value = json!({ "path": row.path, "old_path": row.orig_path, "kind": kind(&row.status) });
    if row.path_encoding.is_some() {
        value["path_encoding"] = "escaped".into();
    }
    value
}

/// What both columns of a porcelain row come to, as the reference has it: unmerged rows are read like the others.
fn kind(status: &str) -> &'static str {
    let mut columns = status.chars();
    let columns = [columns.next().unwrap_or(' '), columns.next().unwrap_or(' ')];
    let any = |of: &[char]| columns.iter().any(|column| of.contains(column));
    match () {
        () if any(&['R', 'C']) => "Renamed",
        () if any(&['D']) => "Deleted",
        () if any(&['A', '?']) => "Added",
        () => "Modified",
    }
}

pub(super) fn stat(diff: &TextDiff) -> Value {
    let files = diff.files.as_deref().unwrap_or_default();
    let sum = |of: fn(&bulkhead_contract::results::FileChange) -> Option<u64>| files.iter().filter_map(of).sum::<u64>();
    let mut value = json!({
        "files_changed": diff.total_files,
        "insertions": sum(|file| file.added),
        "deletions": sum(|file| file.removed),
    });
    if diff.truncated || diff.partial.is_some() {
        // what was not looked at any more is not in these numbers
        value["lower_bound"] = true.into();
    }
    value
}

pub(super) fn changed(diff: &TextDiff, room: usize) -> Value {
    let mut files = patch::files(&diff.diff);
    if diff.truncated {
        // its end may be missing
        files.pop();
    }
    let total = diff.partial.is_none().then_some(diff.total_files.max(files.len() as u64));
    budget::list(files, total, room)
}

pub(super) fn names(names: Vec<String>, total: u64, room: usize) -> Value {
    // no ref has a space in its name: what does is Git's word for a HEAD that is on no branch
    let names = names.into_iter().filter(|name| !name.contains(' '));
    budget::list(names.map(Value::from).collect(), Some(total), room)
}

pub(super) fn current(refs: &Refs) -> Value {
    if refs.detached { Value::Null } else { refs.head.clone().into() }
}

pub(super) fn worktrees(trees: &Worktrees, room: usize) -> Value {
    let row = |tree: &bulkhead_contract::results::WorktreeRow| json!({ "path": tree.path, "branch": tree.branch, "commit": tree.head, "is_bare": tree.bare });
    budget::list(trees.worktrees.iter().map(row).collect(), Some(trees.total), room)
}

pub(super) fn paths_of(paths: PathList, room: usize) -> Value {
    let total = paths.partial.is_none().then_some(paths.total);
    let path = |NamedPath { path, .. }: NamedPath| Value::from(path);
    budget::list(paths.paths.into_iter().map(path).collect(), total, room)
}

pub(super) fn regions(path: &str, found: ConflictRegions, room: usize) -> Result<Value, CallError> {
    let total = found.regions.len();
    let region = |(at, region): (usize, MarkedRegion)| {
        json!({
            "number": at + 1,
            "total": total,
            "region": {
                "ours_label": region.ours_label,
                "base_label": region.base_label,
                "theirs_label": region.theirs_label,
                "ours": region.ours,
                "base": region.base,
                "theirs": region.theirs,
                "marker_len": region.marker_len,
            },
        })
    };
    let regions: Vec<_> = found.regions.into_iter().enumerate().map(region).collect();
    let value = json!({ "backend": "git", "path": path, "conflict_count": total, "regions": regions });
    let size = budget::size(&value);
    if size > room {
        let details = format!("The {total} conflicts of `{path}` take {size} bytes, and an answer has {room}.");
        return Err(CallError::Read(ReadFailure::new(Reason::BadArgument, "path", details)));
    }
    Ok(value)
}

pub(super) fn merged(source: &str, tried: Preflight) -> Result<Value, CallError> {
    match tried.status {
        PreflightStatus::Conflicts => Ok(json!({ "outcome": "Conflicts", "files": tried.conflicting_paths })),
        PreflightStatus::UnrelatedHistories => Err(CallError::Direct(Box::new(Failure::new(
            Class::Refused,
            format!("HEAD and `{source}` share no commit, and Git refuses to merge unrelated histories."),
            "Name a branch that comes from the same history.",
        )))),
        _ => Ok(json!({ "outcome": "Clean" })),
    }
}

pub(super) fn commit(commit: &HistoryCommit) -> Value {
    let date = Some(&commit.author_date).filter(|date| !date.is_empty());
    json!({ "id": commit.hash, "description": commit.subject, "author": commit.author_name, "date": date })
}

pub(super) fn line(line: &AnnotatedLine) -> Value {
    json!({
        "id": line.id,
        "line": line.line,
        "content": line.content,
        "author": line.author,
        "date": line.written,
        "date_unix": line.date,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_columns_come_to_one_word() {
        for (status, word) in [
            ("??", "Added"),
            ("A ", "Added"),
            (" A", "Added"),
            ("AM", "Added"),
            ("M ", "Modified"),
            (" T", "Modified"),
            ("UU", "Modified"),
            ("AA", "Added"),
            ("AU", "Added"),
            ("UA", "Added"),
            ("UD", "Deleted"),
            ("AD", "Deleted"),
            ("MD", "Deleted"),
            ("RD", "Renamed"),
            ("DU", "Deleted"),
            ("DD", "Deleted"),
            ("D ", "Deleted"),
            (" D", "Deleted"),
            ("R ", "Renamed"),
            ("RM", "Renamed"),
            ("", "Modified"),
        ] {
            assert_eq!(kind(status), word, "{status}");
        }
    }
}
