//! Reads of the direct surface: each is one question that the review surface asks too, in a form of its own.
//! Trust: replies come from workers that may be taken over; they are typed, bounded, and only put into another form.

use super::{Failure, Forge, Settings, budget, guards::Guards, patch};
use crate::{
    control::Control,
    outcome::CallError,
    reads::{Question, Reads},
    work::Done,
};
use bulkhead_contract::{
    args::Checked,
    direct::{Class, OperationState},
    failure::{ReadFailure, Reason},
    limits::MAX_DIFF_BYTES,
    results::{
        AnnotatedLine, Brief, ConflictRegions, HistoryCommit, MarkedRegion, NamedPath, PathList, Preflight,
        PreflightStatus, Refs, Remotes, Status, StatusRow, TextDiff, Worktrees,
    },
};
use bulkhead_ipc::edge::{
    asks,
    read::{Ask, Page, Reply},
};
use serde_json::{Value, json};

/// Rows of one page where all of them are wanted: the budget cuts before.
const ALL: u32 = 1_000_000;

/// A read, and what its form needs to know of the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// `repo_snapshot`.
    Snapshot,
    /// `repo_info`.
    Info,
    /// `repo_status`.
    Status,
    /// `repo_diff_stat`.
    DiffStat,
    /// `repo_diff`.
    Diff,
    /// `repo_branches`.
    Branches,
    /// `repo_tags`.
    Tags,
    /// `repo_current_branch`.
    CurrentBranch,
    /// `repo_worktrees`.
    Worktrees,
    /// `repo_remotes`.
    Remotes,
    /// `repo_conflicts`.
    Conflicts,
    /// `repo_conflict_regions`.
    Regions {
        /// Relative to the root.
        path: String,
    },
    /// `repo_try_merge`.
    TryMerge {
        /// What would be merged.
        source: String,
    },
    /// `repo_log`.
    Log {
        /// A revision or a range.
        range: String,
        /// Commits at most.
        max: u32,
    },
    /// `repo_merge_base`.
    MergeBase {
        /// A revision.
        a: String,
        /// Another.
        b: String,
    },
    /// `repo_restore_points`.
    RestorePoints {
        /// At most.
        max: u32,
    },
    /// `repo_show_file`.
    ShowFile {
        /// A revision.
        rev: String,
        /// Relative to the root.
        path: String,
    },
    /// `repo_annotate`.
    Annotate {
        /// Relative to the root.
        path: String,
        /// A revision; the working tree where absent.
        rev: Option<String>,
    },
    /// `repo_list_files`.
    ListFiles {
        /// A revision; the index where absent.
        rev: Option<String>,
    },
}

impl Form {
    /// The read that a call of `tool` is; `None` for a tool that is none. What is wrong with arguments is left in `guards`.
    pub fn plan(tool: &str, checked: &Checked<'_>, guards: &mut Guards) -> Option<Form> {
        let text = |name: &str| checked.text(name).unwrap_or_default().to_owned();
        let given = |name: &str| checked.text(name).map(str::to_owned);
        let count = |name: &str| checked.integer(name).and_then(|count| u32::try_from(count).ok());
        let form = match tool {
            "repo_snapshot" => Form::Snapshot,
            "repo_info" => Form::Info,
            "repo_status" => Form::Status,
            "repo_diff_stat" => Form::DiffStat,
            "repo_diff" => Form::Diff,
            "repo_branches" => Form::Branches,
            "repo_tags" => Form::Tags,
            "repo_current_branch" => Form::CurrentBranch,
            "repo_worktrees" => Form::Worktrees,
            "repo_remotes" => Form::Remotes,
            "repo_conflicts" => Form::Conflicts,
            "repo_conflict_regions" => Form::Regions { path: text("path") },
            "repo_try_merge" => Form::TryMerge { source: text("source") },
            "repo_log" => Form::Log { range: text("revspec_or_revset"), max: count("max")? },
            "repo_merge_base" => Form::MergeBase { a: text("a"), b: text("b") },
            "repo_restore_points" => Form::RestorePoints { max: count("max")? },
            "repo_show_file" => Form::ShowFile { rev: text("rev"), path: text("path") },
            "repo_annotate" => Form::Annotate { path: text("path"), rev: given("rev") },
            "repo_list_files" => Form::ListFiles { rev: given("rev") },
            _ => return None,
        };
        match &form {
            Form::Regions { path } => guards.file("path", path),
            Form::TryMerge { source } => guards.revision("source", source),
            Form::Log { range, .. } => guards.revision("revspec_or_revset", range),
            Form::MergeBase { a, b } => {
                guards.revision("a", a);
                guards.revision("b", b);
            }
            Form::ShowFile { rev, path } => {
                guards.revision("rev", rev);
                guards.path("path", path);
            }
            Form::Annotate { path, rev } => {
                guards.path("path", path);
                if let Some(rev) = rev {
                    guards.revision("rev", rev);
                }
            }
            Form::ListFiles { rev: Some(rev) } => guards.revision("rev", rev),
            _ => {}
        }
        Some(form)
    }

    /// The question of it. `room` is the bytes of the answer.
    fn ask(&self, own: &Settings, room: usize) -> Ask {
        let bytes = u32::try_from(room).unwrap_or(u32::MAX);
        let all = || Page { limit: ALL, chars: bytes, cursor: None };
        let refs = |kind: &str, page| {
            Ask::Refs(asks::Refs { kind: Some(kind.to_owned()), pattern: None, details: false, page })
        };
        let diff = |stat| {
            Ask::TextDiff(asks::TextDiff {
                compared: asks::Compared { uncommitted: true, ..asks::Compared::default() },
                repo_path: own.root.clone(),
                paths: Vec::new(),
                staged: false,
                // the repository's own setting counts
                context: None,
                ignore_whitespace: false,
                stat,
                max_bytes: bytes.min(MAX_DIFF_BYTES * 2),
                max_lines: None,
                page: all(),
            })
        };
        match self {
            Form::Snapshot => Ask::Brief { recent_commits: 1 },
            // HEAD stands beside the names, of which none is wanted
            Form::CurrentBranch => refs("local", Page { limit: 1, ..all() }),
            Form::Info | Form::Remotes => Ask::Remotes,
            Form::Status => Ask::Status(all()),
            Form::DiffStat => diff(true),
            Form::Diff => diff(false),
            Form::Branches => refs("local", all()),
            Form::Tags => refs("tags", all()),
            Form::Worktrees => Ask::Worktrees(asks::Worktrees { page: all() }),
            Form::Conflicts => Ask::Unmerged { chars: bytes },
            Form::Regions { path } => Ask::ConflictRegions(asks::ConflictRegions { path: path.clone(), bytes }),
            Form::TryMerge { source } => Ask::Preflight(asks::Preflight {
                current: "HEAD".to_owned(),
                target: source.clone(),
                rebase: false,
                chars: bytes,
            }),
            Form::Log { range, max } => Ask::History(asks::History {
                page: Page { limit: (*max).max(1), chars: bytes, cursor: None },
                only: Box::new(asks::Commits {
                    range: Some(range.clone()),
                    path: None,
                    follow: false,
                    author: None,
                    grep: None,
                    since: None,
                    until: None,
                }),
            }),
            Form::MergeBase { a, b } => Ask::MergeBase(asks::MergeBase { a: a.clone(), b: b.clone() }),
            Form::RestorePoints { max } => Ask::Points { limit: *max },
            Form::ShowFile { rev, path } => {
                Ask::ShowFile(asks::ShowFile { revision: rev.clone(), path: path.clone(), bytes })
            }
            Form::Annotate { path, rev } => {
                Ask::Annotate(asks::Annotate { path: path.clone(), revision: rev.clone(), bytes })
            }
            Form::ListFiles { rev } => Ask::ListFiles(asks::ListFiles { revision: rev.clone(), chars: bytes }),
        }
    }

    /// Asks, and puts the answer into its form.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn answered<R: Reads>(
        self,
        reads: &R,
        own: &Settings,
        question: impl Fn(Ask) -> Question,
        control: Control,
    ) -> Result<Done, CallError> {
        let room = own.room();
        let answered = reads.read(question(self.ask(own, room)), control).await;
        let answered = match (&self, answered) {
            // the contract counts a file that is not there, or beyond the budget, among the paths that cannot be looked at
            (Form::Regions { .. }, Err(CallError::Read(failure)))
                if matches!(failure.reason, Reason::NoSuchPath | Reason::TooLarge) =>
            {
                return Err(CallError::Read(ReadFailure { reason: Reason::BadArgument, ..failure }));
            }
            (_, answered) => answered?,
        };
        let value = self.formed(answered.reply, own, room)?;
        Ok(Done { about: Some(answered.canonical), data: Some(value), ..Done::default() })
    }

    fn formed(&self, reply: Reply, own: &Settings, room: usize) -> Result<Value, CallError> {
        Ok(match (self, reply) {
            (Form::Snapshot, Reply::Brief(brief)) => snapshot(&brief),
            (Form::Info, Reply::Remotes(remotes)) => info(&remotes, own),
            (Form::Status, Reply::Status(status)) => rows(&status, room),
            (Form::DiffStat, Reply::TextDiff(diff)) => stat(&diff),
            (Form::Diff, Reply::TextDiff(diff)) => changed(&diff, room),
            (Form::Branches, Reply::Refs(refs)) => names(refs.branches, refs.totals.local, room),
            (Form::Tags, Reply::Refs(refs)) => names(refs.tags, refs.totals.tags, room),
            (Form::CurrentBranch, Reply::Refs(refs)) => current(&refs),
            (Form::Worktrees, Reply::Worktrees(trees)) => worktrees(&trees, room),
            (Form::Remotes, Reply::Remotes(remotes)) => {
                let row =
                    |remote: &bulkhead_contract::results::Remote| json!({ "name": remote.name, "url": remote.url });
                budget::list(remotes.remotes.iter().map(row).collect(), Some(remotes.total), room)
            }
            (Form::Conflicts, Reply::Unmerged(paths)) | (Form::ListFiles { .. }, Reply::ListFiles(paths)) => {
                paths_of(*paths, room)
            }
            (Form::Regions { path }, Reply::ConflictRegions(found)) => regions(path, *found, room)?,
            (Form::TryMerge { source }, Reply::Preflight(tried)) => merged(source, *tried)?,
            (Form::Log { max, .. }, Reply::History(history)) => {
                let more = history.next_cursor.is_some() && history.commits.len() < *max as usize;
                let commits = history.commits.iter().take(*max as usize).map(commit).collect::<Vec<_>>();
                let total = (!more).then_some(commits.len() as u64);
                budget::list(commits, total, room)
            }
            (Form::MergeBase { .. }, Reply::MergeBase(found)) => json!(found.id),
            (Form::RestorePoints { max }, Reply::Points(found)) => {
                let rows = found.points.iter().map(|point| {
                    json!({
                        "id": point.id,
                        "made": point.made,
                        "before": point.before,
                        "branch": point.branch,
                        "head": point.head,
                        "during": point.during,
                    })
                });
                // fewer were asked for than there are: that is no cut
                let total = found.total.min(u64::from(*max));
                budget::list(rows.collect(), Some(total), room)
            }
            (Form::ShowFile { path, .. }, Reply::ShowFile(shown)) => {
                if let Some(ceiling) = own.ceiling.filter(|ceiling| shown.total > *ceiling as u64) {
                    return Err(too_large(path, shown.total, ceiling));
                }
                budget::text(shown.text, shown.total, room).into()
            }
            (Form::Annotate { .. }, Reply::Annotate(annotated)) => {
                budget::list(annotated.lines.iter().map(line).collect(), Some(annotated.total), room)
            }
            _ => return Err(CallError::WorkerDied { how: "it answered another question".to_owned() }),
        })
    }
}

/// The failure of an answer that the operator's ceiling forbids.
pub(super) fn too_large(what: &str, bytes: u64, ceiling: usize) -> CallError {
    CallError::Direct(Box::new(Failure::new(
        Class::TooLarge,
        format!("{what}: {bytes} bytes, and the operator's --max-output-bytes is {ceiling}."),
        "Ask for less, or have the operator raise --max-output-bytes.",
    )))
}

fn snapshot(brief: &Brief) -> Value {
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

fn info(remotes: &Remotes, own: &Settings) -> Value {
    let origin = remotes.remotes.iter().find(|remote| remote.name == "origin");
    let forge = own.forge.or_else(|| Forge::of(origin?.url.as_deref()?));
    json!({ "backend": "git", "root": own.root, "cwd": own.cwd, "forge": forge.map(Forge::name) })
}

fn rows(status: &Status, room: usize) -> Value {
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

fn stat(diff: &TextDiff) -> Value {
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

fn changed(diff: &TextDiff, room: usize) -> Value {
    let mut files = patch::files(&diff.diff);
    if diff.truncated {
        // its end may be missing
        files.pop();
    }
    let total = diff.partial.is_none().then_some(diff.total_files.max(files.len() as u64));
    budget::list(files, total, room)
}

fn names(names: Vec<String>, total: u64, room: usize) -> Value {
    // no ref has a space in its name: what does is Git's word for a HEAD that is on no branch
    let names = names.into_iter().filter(|name| !name.contains(' '));
    budget::list(names.map(Value::from).collect(), Some(total), room)
}

fn current(refs: &Refs) -> Value {
    if refs.detached { Value::Null } else { refs.head.clone().into() }
}

fn worktrees(trees: &Worktrees, room: usize) -> Value {
    let row = |tree: &bulkhead_contract::results::WorktreeRow| json!({ "path": tree.path, "branch": tree.branch, "commit": tree.head, "is_bare": tree.bare });
    budget::list(trees.worktrees.iter().map(row).collect(), Some(trees.total), room)
}

fn paths_of(paths: PathList, room: usize) -> Value {
    let total = paths.partial.is_none().then_some(paths.total);
    let path = |NamedPath { path, .. }: NamedPath| Value::from(path);
    budget::list(paths.paths.into_iter().map(path).collect(), total, room)
}

fn regions(path: &str, found: ConflictRegions, room: usize) -> Result<Value, CallError> {
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

fn merged(source: &str, tried: Preflight) -> Result<Value, CallError> {
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

fn commit(commit: &HistoryCommit) -> Value {
    let date = Some(&commit.author_date).filter(|date| !date.is_empty());
    json!({ "id": commit.hash, "description": commit.subject, "author": commit.author_name, "date": date })
}

fn line(line: &AnnotatedLine) -> Value {
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
