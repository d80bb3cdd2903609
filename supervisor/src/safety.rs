//! Calls that need a run directory's records beside the repository: two workers, neither of which sees what the other does.
//! Trust: records come from a worker that may be taken over; they are typed, cut to their bounds, and only passed on.

use crate::{
    control::Control,
    outcome::{Answered, CallError},
    reads::{Question, Reads},
    settings::{RunDirectory, Settings},
    work::{self, Done},
};
use bulkhead_contract::{
    canonical,
    failure::{ReadFailure, Reason},
    results::{Records, RestoreRecord},
};
use bulkhead_ipc::edge::{
    asks::{self, Held, RecordsOf, RestoreView},
    read::{Ask, Reply},
};
use std::{collections::BTreeSet, time::Duration};

/// Records that are passed on, and problems.
const MAX_RECORDS: usize = 32;
const MAX_PROBLEMS: usize = 32;
/// Bytes of all records of one question, which travels in one frame, and of one plan among them.
const MAX_BYTES: usize = 512 * 1024;
const MAX_PLAN: usize = 64 * 1024;
/// Registered repositories of all run directories.
const MAX_REGISTERED: usize = 4_096;
/// The questions of a call watch the deadline themselves; this is for their sum.
const GRACE: Duration = Duration::from_millis(100);

/// A question to a repository that is answered with the run directory's records beside it.
#[derive(Debug, Clone)]
pub struct Safety {
    /// The repository's question; the records are added to it.
    pub question: Question,
    /// Argument `runDir`.
    pub run_dir: Option<String>,
    /// Argument `repoId`.
    pub repo_id: Option<String>,
}

impl Safety {
    /// Asks the repository, the run directories, and the repository again.
    ///
    /// # Errors
    /// [`CallError::GatewayNeeded`] where there is nothing to answer from, and what the questions end in.
    pub async fn done<R: Reads>(self, reads: &R, settings: &Settings, control: Control) -> Result<Done, CallError> {
        match tokio::time::timeout(settings.deadline + GRACE, self.answered(reads, settings, &control)).await {
            Ok(done) => done,
            Err(_) => Err(CallError::Deadline { seconds: settings.deadline.as_secs() }),
        }
    }

    async fn answered<R: Reads>(self, reads: &R, settings: &Settings, control: &Control) -> Result<Done, CallError> {
        let configured = settings.gateway.is_some();
        let named = self.run_dir.as_deref();
        let dirs = candidates(settings, named)?;
        if !configured && dirs.is_empty() {
            return Err(CallError::GatewayNeeded);
        }
        let Question { path, ask, fingerprint } = self.question;
        // where it really is, before anything is looked up for it
        let first = if dirs.is_empty() { ask.clone() } else { whereabouts() };
        let first = Question { path: path.clone(), ask: first, fingerprint };
        let first = reads.read(first, control.clone()).await?;
        let mut held = Held::default();
        let (mut any, mut accepted) = (false, named.is_none() || dirs.is_empty());
        let mut failed = None;
        for dir in &dirs {
            // a spelling of the operator's is known; any other is resolved where the directory is read
            let known = named.is_none_or(|named| is(dir, named));
            let ask = asks::Records {
                named: named.filter(|_| !known).map(|named| named.as_bytes().to_vec()),
                of: RecordsOf::Repository { canonical: first.canonical.clone(), id: self.repo_id.clone() },
            };
            match records(reads, dir, ask, control).await {
                Ok(records) if known || records.named => {
                    accepted = true;
                    any |= records.any;
                    if records.truncated {
                        held.problems.push("The run directory holds more than is looked at.".to_owned());
                    }
                    held.records.extend(records.restore);
                    held.problems.extend(records.problems.iter().map(|problem| cut(problem)));
                }
                Ok(_) => {}
                Err(CallError::Read(failure)) => {
                    accepted |= known;
                    held.problems.push(cut(&failure.details));
                    failed = Some(CallError::Read(failure));
                }
                Err(error) => return Err(error),
            }
        }
        if !accepted {
            return Err(refused());
        }
        if !any && !configured {
            return Err(failed.unwrap_or(CallError::GatewayNeeded));
        }
        if fit(&mut held.records) {
            held.problems.push("Some restore records are too large to be looked at together.".to_owned());
        }
        held.problems.truncate(MAX_PROBLEMS);
        let answered = if dirs.is_empty() {
            first
        } else {
            reads.read(Question { path, ask: with(ask, held), fingerprint }, control.clone()).await?
        };
        done(answered)
    }
}

fn done(answered: Answered) -> Result<Done, CallError> {
    Ok(Done::of(Some(answered.canonical), work::data(answered.reply)?))
}

/// A question that is answered from HEAD alone, for the repository's canonical path beside the answer.
fn whereabouts() -> Ask {
    Ask::RestorePoints(asks::RestorePoints { held: Held::default(), view: RestoreView::All { limit: 1 }, chars: 1_000 })
}

fn with(ask: Ask, held: Held) -> Ask {
    match ask {
        Ask::Timeline(ask) => Ask::Timeline(asks::Timeline { held, ..ask }),
        Ask::TimelineEvent(ask) => Ask::TimelineEvent(asks::TimelineEvent { held, ..ask }),
        Ask::RestorePoints(ask) => Ask::RestorePoints(asks::RestorePoints { held, ..ask }),
        other => other,
    }
}

/// The run directories that a call is about: those that exist, or the one named.
fn candidates<'a>(settings: &'a Settings, named: Option<&str>) -> Result<Vec<&'a RunDirectory>, CallError> {
    let all = &settings.run_dirs;
    if let Some(named) = named
        && let Some(dir) = all.iter().find(|dir| is(dir, named))
    {
        return Ok(if dir.exists { vec![dir] } else { Vec::new() });
    }
    let there: Vec<_> = all.iter().filter(|dir| dir.exists).collect();
    if named.is_some() && there.is_empty() { Err(refused()) } else { Ok(there) }
}

fn is(dir: &RunDirectory, named: &str) -> bool {
    named == dir.path || named == dir.written
}

fn refused() -> CallError {
    CallError::Read(ReadFailure::new(
        Reason::BadArgument,
        "runDir",
        "runDir names no run directory of this server. Leave it out, or have the operator name the directory with --run-dir \
         or BULKHEAD_RUN_DIR.",
    ))
}

async fn records<R: Reads>(
    reads: &R,
    dir: &RunDirectory,
    ask: asks::Records,
    control: &Control,
) -> Result<Records, CallError> {
    let about = match &ask.of {
        RecordsOf::Registry => String::new(),
        RecordsOf::Repository { canonical, .. } => String::from_utf8_lossy(canonical).into_owned(),
    };
    let fingerprint = canonical::digest([&"records".into(), &about.into()]);
    let question = Question { path: dir.path.clone(), ask: Ask::Records(ask), fingerprint };
    match reads.read(question, control.clone()).await?.reply {
        Reply::Records(records) => Ok(*records),
        _ => Err(CallError::WorkerDied { how: "it answered another question".to_owned() }),
    }
}

/// Makes the records fit one question: first they lose their plans, then the last are left out, which is told.
fn fit(records: &mut Vec<RestoreRecord>) -> bool {
    let mut room = MAX_BYTES;
    let before = records.len();
    records.truncate(MAX_RECORDS);
    let mut kept = Vec::new();
    for mut record in records.drain(..) {
        let plan = record.plan.as_deref().map_or(0, str::len);
        let rest = size(&record) - plan;
        if rest > room {
            continue;
        }
        room -= rest;
        match room.checked_sub(plan).filter(|_| plan <= MAX_PLAN) {
            Some(left) => room = left,
            None => record.plan_characters = record.plan.take().map(|plan| plan.chars().count() as u64),
        }
        kept.push(record);
    }
    *records = kept;
    records.len() < before
}

fn size(record: &RestoreRecord) -> usize {
    let texts = [
        &record.operation,
        &record.before_commit,
        &record.after_commit,
        &record.branch_ref,
        &record.before_ref,
        &record.after_ref,
        &record.upstream_ref,
        &record.reset_mode,
        &record.plan,
    ];
    let texts = texts.into_iter().flatten().chain([&record.repo_id, &record.checkpoint_path]);
    texts.map(String::len).sum::<usize>() + 64
}

fn cut(text: &str) -> String {
    text.chars().take(500).collect()
}

/// Repositories that the run directories know.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Registered {
    /// Their paths, sorted, each once.
    pub paths: Vec<String>,
    /// Paths that are no text, which nobody can ask about.
    pub unnameable: usize,
    /// There are more.
    pub truncated: bool,
    /// Files that could not be used.
    pub problems: Vec<String>,
}

/// The repositories that are registered in the operator's run directories; whether they may be read is not looked at.
///
/// # Errors
/// What the question to a run directory ends in; a directory that cannot be read is a problem and no error.
pub async fn registry<R: Reads>(reads: &R, settings: &Settings, control: &Control) -> Result<Registered, CallError> {
    let mut all = Registered::default();
    let mut paths = BTreeSet::new();
    for dir in settings.run_dirs.iter().filter(|dir| dir.exists) {
        let ask = asks::Records { named: None, of: RecordsOf::Registry };
        match records(reads, dir, ask, control).await {
            Ok(records) => {
                all.truncated |= records.truncated;
                all.problems.extend(records.problems.iter().map(|problem| cut(problem)));
                for entry in records.registry {
                    match String::from_utf8(entry.path) {
                        Ok(path) => _ = paths.insert(path),
                        Err(_) => all.unnameable += 1,
                    }
                }
            }
            Err(CallError::Read(failure)) => all.problems.push(cut(&failure.details)),
            Err(error) => return Err(error),
        }
    }
    all.problems.truncate(MAX_PROBLEMS);
    all.truncated |= paths.len() > MAX_REGISTERED;
    all.paths = paths.into_iter().take(MAX_REGISTERED).collect();
    Ok(all)
}

/// The name under which a run directory of the operator's knows the repository at `canonical`; of several the first. `None`
/// where none does.
///
/// # Errors
/// As [`registry`].
pub async fn id_of<R: Reads>(
    reads: &R,
    settings: &Settings,
    canonical: &[u8],
    control: &Control,
) -> Result<Option<String>, CallError> {
    for dir in settings.run_dirs.iter().filter(|dir| dir.exists) {
        let ask = asks::Records { named: None, of: RecordsOf::Registry };
        match records(reads, dir, ask, control).await {
            Ok(records) => {
                if let Some(entry) = records.registry.into_iter().find(|entry| entry.path == canonical) {
                    return Ok(Some(entry.id));
                }
            }
            // one that cannot be read knows nothing
            Err(CallError::Read(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}
