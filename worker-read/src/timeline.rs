//! What happened to a repository: restore points of its run directory and movements of HEAD, as events.
//! Trust: reflog lines are the repository's and records another program's; texts are cut, and undoing is only called
//! possible where the repository stands exactly where the record says.

use crate::{history::cut, pace::Pace, reflog, refs::Head, repo::Repo};
use bulkhead_contract::{
    failure::ReadFailure,
    limits::MAX_SUBJECT_CHARS,
    results::{Action, EventKind, EventSource, RestoreMetadata, RestorePoint, RestoreRecord, SafetyEvent, Severity},
};
use gix::{ObjectId, bstr::ByteSlice as _};
use std::ops::ControlFlow;

/// Characters of a name with its address at most.
const MAX_IDENTITY_CHARS: usize = 400;
/// Hexadecimal digits of the commit in an event's id.
const ID_DIGITS: usize = 16;
/// Words of a message that tell that history was rewritten or joined (contract `results.md`).
const WEIGHTY: [&str; 5] = ["reset", "rebase", "merge", "cherry-pick", "revert"];
const APPROVAL: &str = "Undoing or redoing this is a write; a person has to approve it.";

/// The repository as events see it.
#[derive(Debug)]
pub(crate) struct Here {
    label: String,
    branch: Option<String>,
    head: Option<String>,
}

impl Here {
    /// Where it is now.
    ///
    /// # Errors
    /// Where HEAD cannot be read.
    pub fn of(repo: &Repo) -> Result<Self, ReadFailure> {
        let Head { branch, id } = repo.refs.head()?;
        let name = repo.found.canonical().file_name();
        Ok(Self {
            label: name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            branch: branch.map(|branch| branch.to_str_lossy().into_owned()),
            head: id.map(|id| id.to_string()),
        })
    }

    /// The record held against where the repository is.
    pub fn restore_point(&self, record: &RestoreRecord) -> RestorePoint {
        let same = |recorded: &Option<String>, now: &Option<String>| {
            recorded.as_ref().zip(now.as_ref()).is_some_and(|(recorded, now)| recorded.eq_ignore_ascii_case(now))
        };
        // branch names differ by case, too
        let on_branch = record.branch_ref.is_some() && record.branch_ref == self.branch;
        RestorePoint {
            id: record.id(),
            repo_id: record.repo_id.clone(),
            before: record.before_commit.clone(),
            after: record.after_commit.clone(),
            operation: record.operation.clone(),
            can_undo: !record.undone && on_branch && same(&record.after_commit, &self.head),
            can_redo: record.undone && on_branch && same(&record.before_commit, &self.head),
            approval_required: true,
            approval_message: APPROVAL.to_owned(),
            metadata: RestoreMetadata {
                checkpoint_path: record.checkpoint_path.clone(),
                created_at: record.created_at,
                branch_ref: record.branch_ref.clone(),
                undone: record.undone,
                before_ref: record.before_ref.clone(),
                after_ref: record.after_ref.clone(),
                upstream_ref: record.upstream_ref.clone(),
                reset_mode: record.reset_mode.clone(),
                plan: record.plan.clone(),
                plan_characters: record.plan_characters,
                current_branch_ref: self.branch.clone(),
                current_head: self.head.clone(),
            },
        }
    }

    /// The event that a restore point was made.
    pub fn restore_event(&self, record: &RestoreRecord) -> SafetyEvent {
        let point = self.restore_point(record);
        let operation = record.operation.as_deref().unwrap_or("an operation");
        let branch = record.branch_ref.as_deref().map(|name| name.strip_prefix("refs/heads/").unwrap_or(name));
        let on = branch.map_or_else(String::new, |branch| format!(" on {branch}"));
        let state = match (point.can_undo, point.can_redo, record.undone) {
            (true, ..) => "it can be undone",
            (_, true, _) => "it was undone and can be redone",
            (.., true) => "it was undone, and the repository has moved on since",
            _ => "the repository has moved on since",
        };
        SafetyEvent {
            id: point.id.clone(),
            repo_label: self.label.clone(),
            source: EventSource::RestorePoint,
            kind: EventKind::RestoreCreated,
            severity: Severity::Warning,
            title: cut(&format!("Restore point of {operation}"), MAX_SUBJECT_CHARS),
            summary: cut(&format!("Made before {operation}{on}; {state}."), MAX_SUBJECT_CHARS),
            occurred_at_unix: record.time(),
            head_before: point.before.clone(),
            head_after: point.after.clone(),
            restore_point: Some(point),
            reflog_selector: None,
            can_compare: None,
            identity: None,
            actions: vec![Action::OpenRestorePoint, Action::CompareBeforeAfter, Action::CopyRedactedSummary],
            approval_required: true,
            network_fetch_performed: false,
        }
    }

    fn moved(&self, n: usize, line: &reflog::Line) -> SafetyEvent {
        let message = line.message.to_str_lossy();
        let there = |id: &ObjectId| (!id.is_null()).then(|| id.to_string());
        let identity = format!("{} <{}>", line.name.to_str_lossy(), line.email.to_str_lossy());
        let action = message.split(':').next().map(str::trim).filter(|action| !action.is_empty()).unwrap_or("moved");
        SafetyEvent {
            id: Wanted::id(n, line),
            repo_label: self.label.clone(),
            source: EventSource::Reflog,
            kind: EventKind::RefMove,
            severity: match WEIGHTY.iter().any(|word| message.contains(word)) {
                true => Severity::Warning,
                false => Severity::Info,
            },
            title: cut(&format!("HEAD: {action}"), MAX_SUBJECT_CHARS),
            summary: cut(&message, MAX_SUBJECT_CHARS),
            occurred_at_unix: line.time,
            head_before: there(&line.old),
            head_after: there(&line.new),
            restore_point: None,
            reflog_selector: Some(format!("HEAD@{{{n}}}")),
            can_compare: Some(line.old != line.new && !line.old.is_null() && !line.new.is_null()),
            identity: Some(cut(&identity, MAX_IDENTITY_CHARS)),
            actions: vec![
                Action::OpenReflogEntry,
                Action::CompareBeforeAfter,
                Action::CreateRescueBranch,
                Action::CopyRedactedSummary,
            ],
            approval_required: true,
            network_fetch_performed: false,
        }
    }
}

/// Movements of HEAD.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    /// The newest, newest first.
    pub events: Vec<SafetyEvent>,
    /// All that were counted; none where none were asked for.
    pub total: u64,
    /// The reflog is longer than what was counted.
    pub cut: bool,
}

/// The newest `limit` movements of HEAD, all of them counted as far as `bytes` of the reflog go.
///
/// # Errors
/// As [`reflog::backwards`].
pub(crate) fn moves(repo: &Repo, here: &Here, limit: u32, bytes: u64, pace: &Pace) -> Result<Moves, ReadFailure> {
    let mut moves = Moves::default();
    if limit == 0 {
        return Ok(moves);
    }
    let more = reflog::backwards(repo, "HEAD".into(), bytes, |n, line| {
        moves.total += 1;
        if moves.events.len() < limit as usize {
            moves.events.push(here.moved(n, &line));
        }
        if pace.step(1).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    moves.cut = more == Some(true);
    Ok(moves)
}

/// What an id of ours says about the reflog line that it stands for: where it was, and what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    n: usize,
    /// Time and first digits of the commit; absent where a caller names a selector alone.
    line: Option<(i64, String)>,
}

impl Wanted {
    /// The id of that line.
    fn id(n: usize, line: &reflog::Line) -> String {
        format!("reflog:HEAD@{{{n}}}:{}:{}", line.time, line.new.to_hex_with_len(ID_DIGITS))
    }

    /// What the id says; `None` for one that we never wrote.
    pub fn parse(id: &str) -> Option<Self> {
        let (n, rest) = id.strip_prefix("reflog:HEAD@{")?.split_once('}')?;
        let n = n.parse().ok().filter(|number: &usize| number.to_string() == n)?;
        if rest.is_empty() {
            return Some(Self { n, line: None });
        }
        let (time, digits) = rest.strip_prefix(':')?.split_once(':')?;
        let hex = digits.len() == ID_DIGITS && digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        let time = time.parse().ok().filter(|number: &i64| number.to_string() == time)?;
        hex.then(|| Self { n, line: Some((time, digits.to_owned())) })
    }

    fn is(&self, line: &reflog::Line) -> bool {
        self.line.as_ref().is_none_or(|(time, digits)| {
            line.time == *time && line.new.to_hex().to_string().get(..ID_DIGITS) == Some(&digits[..])
        })
    }
}

/// What came of a search.
#[derive(Debug, Default)]
pub(crate) struct Search {
    /// The event.
    pub event: Option<SafetyEvent>,
    /// The reflog is longer than what was searched.
    pub cut: bool,
}

/// Finds a movement of HEAD again. The log grows at its newest end, so a line's number only grows with it; after lines
/// expired it may have sunk instead.
///
/// # Errors
/// As [`reflog::backwards`].
pub(crate) fn find(repo: &Repo, here: &Here, wanted: &Wanted, bytes: u64, pace: &Pace) -> Result<Search, ReadFailure> {
    let mut found: Option<(usize, reflog::Line)> = None;
    let more = reflog::backwards(repo, "HEAD".into(), bytes, |n, line| {
        // a selector alone is the line of that number
        let late = n >= wanted.n;
        if wanted.is(&line) && (wanted.line.is_some() || n == wanted.n) {
            found = Some((n, line));
        }
        let done = late && (found.is_some() || wanted.line.is_none());
        if done || pace.step(1).is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(Search { event: found.map(|(n, line)| here.moved(n, &line)), cut: more == Some(true) })
}
