//! Reads of the direct surface: each is one question that the review surface asks too, in a form of its own.
//! Trust: replies come from workers that may be taken over; they are typed, bounded, and only put into another form.

use super::{Failure, Settings, budget, guards::Guards, shapes};
use crate::{
    control::Control,
    outcome::CallError,
    reads::{Question, Reads},
    work::Done,
};
use bulkhead_contract::{
    args::Checked,
    direct::Class,
    failure::{ReadFailure, Reason},
    limits::MAX_DIFF_BYTES,
};
use bulkhead_ipc::edge::{
    asks,
    read::{Ask, Page, Reply},
};
use serde_json::{Map, Value, json};

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
        let members = besides(&answered.reply);
        let value = self.formed(answered.reply, own, room)?;
        Ok(Done { about: Some(answered.canonical), data: Some(value), members, ..Done::default() })
    }

    fn formed(&self, reply: Reply, own: &Settings, room: usize) -> Result<Value, CallError> {
        Ok(match (self, reply) {
            (Form::Snapshot, Reply::Brief(brief)) => shapes::snapshot(&brief),
            (Form::Info, Reply::Remotes(remotes)) => shapes::info(&remotes, own),
            (Form::Status, Reply::Status(status)) => shapes::rows(&status, room),
            (Form::DiffStat, Reply::TextDiff(diff)) => shapes::stat(&diff),
            (Form::Diff, Reply::TextDiff(diff)) => shapes::changed(&diff, room),
            (Form::Branches, Reply::Refs(refs)) => shapes::names(refs.branches, refs.totals.local, room),
            (Form::Tags, Reply::Refs(refs)) => shapes::names(refs.tags, refs.totals.tags, room),
            (Form::CurrentBranch, Reply::Refs(refs)) => shapes::current(&refs),
            (Form::Worktrees, Reply::Worktrees(trees)) => shapes::worktrees(&trees, room),
            (Form::Remotes, Reply::Remotes(remotes)) => {
                let row =
                    |remote: &bulkhead_contract::results::Remote| json!({ "name": remote.name, "url": remote.url });
                budget::list(remotes.remotes.iter().map(row).collect(), Some(remotes.total), room)
            }
            (Form::Conflicts, Reply::Unmerged(paths)) | (Form::ListFiles { .. }, Reply::ListFiles(paths)) => {
                shapes::paths_of(*paths, room)
            }
            (Form::Regions { path }, Reply::ConflictRegions(found)) => shapes::regions(path, *found, room)?,
            (Form::TryMerge { source }, Reply::Preflight(tried)) => shapes::merged(source, *tried)?,
            (Form::Log { max, .. }, Reply::History(history)) => {
                let more = history.next_cursor.is_some() && history.commits.len() < *max as usize;
                let commits = history.commits.iter().take(*max as usize).map(shapes::commit).collect::<Vec<_>>();
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
                budget::list(annotated.lines.iter().map(shapes::line).collect(), Some(annotated.total), room)
            }
            _ => return Err(CallError::WorkerDied { how: "it answered another question".to_owned() }),
        })
    }
}

/// What a list does not say of itself, and stands beside it in the structure: why it is not whole, or not what it seems.
fn besides(reply: &Reply) -> Map<String, Value> {
    let mut members = Map::new();
    let partial = match reply {
        Reply::Status(status) => &status.partial,
        Reply::TextDiff(diff) => &diff.partial,
        Reply::Refs(refs) => &refs.partial,
        Reply::Worktrees(trees) => &trees.partial,
        Reply::History(history) => &history.partial,
        Reply::Unmerged(paths) | Reply::ListFiles(paths) => &paths.partial,
        Reply::Annotate(annotated) => {
            if annotated.filtered {
                members.insert("filtered".into(), true.into());
            }
            &annotated.partial
        }
        _ => return members,
    };
    members.extend(partial.as_ref().map(|partial| ("partial".to_owned(), json!(partial))));
    members
}

/// The failure of an answer that the operator's ceiling forbids.
pub(super) fn too_large(what: &str, bytes: u64, ceiling: usize) -> CallError {
    CallError::Direct(Box::new(Failure::new(
        Class::TooLarge,
        format!("{what}: {bytes} bytes, and the operator's --max-output-bytes is {ceiling}."),
        "Ask for less, or have the operator raise --max-output-bytes.",
    )))
}
