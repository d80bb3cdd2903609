//! One answer as it comes in: progress, pieces, and at last a reply that must fit the question.
//! Trust: every message is legal in its phase by now, and still a taken-over worker's: amounts and order are checked.

use super::{Breach, Vigil};
use crate::control::Tick;
use bulkhead_ipc::{
    chunk::Joiner,
    codec::decode_answer,
    edge::read::{Answer, Ask, FromRead, Reply},
};
use std::time::Duration;
use tokio::time::Instant;

/// A call that made progress within this time before its deadline was slow, not stuck.
const STUCK: Duration = Duration::from_secs(2);
/// Progress messages of one call at most; honest ones are some a second.
const MAX_PROGRESS: u32 = 1 << 16;

/// What has come of one answer.
pub(super) struct Reading {
    ask: Ask,
    joiner: Joiner,
    done: u64,
    progress: u32,
    moved: Option<Instant>,
}

/// What a message means for the call.
pub(super) enum Said {
    More,
    All(Answer),
    Moved,
}

impl Reading {
    pub fn new(ask: Ask) -> Self {
        Self { ask, joiner: Joiner::default(), done: 0, progress: 0, moved: None }
    }

    /// Takes a message that is legal while this call is served.
    pub fn take(&mut self, message: FromRead, vigil: &Vigil<'_>) -> Result<Said, Breach> {
        match message {
            FromRead::Progress { done, total, .. } => {
                self.progress += 1;
                if done < self.done || self.progress > MAX_PROGRESS {
                    return Err(Breach::Broke("its progress goes backwards or never ends".to_owned()));
                }
                if done > self.done {
                    self.done = done;
                    self.moved = Some(Instant::now());
                }
                vigil.tick(Tick { done, total });
                Ok(Said::More)
            }
            FromRead::Part { last, bytes, .. } => {
                if bytes.is_empty() && !last {
                    return Err(Breach::Broke("an empty piece of an answer".to_owned()));
                }
                self.moved = Some(Instant::now());
                let Some(whole) = self.joiner.push(last, bytes)? else { return Ok(Said::More) };
                let answer: Answer = decode_answer(&whole)?;
                match &answer {
                    Ok(reply) if !fits(&self.ask, reply) => {
                        Err(Breach::Broke("its answer is to another question".to_owned()))
                    }
                    _ => Ok(Said::All(answer)),
                }
            }
            FromRead::Moved { .. } => Ok(Said::Moved),
            _ => Err(Breach::Broke("it started over".to_owned())),
        }
    }

    /// Nothing moved for a while, or ever.
    pub fn is_stuck(&self) -> bool {
        self.moved.is_none_or(|at| at.elapsed() >= STUCK)
    }
}

/// Whether a reply is one to this question.
fn fits(ask: &Ask, reply: &Reply) -> bool {
    matches!(
        (ask, reply),
        (Ask::SelfProbe, Reply::SelfProbe(_))
            | (Ask::Brief { .. }, Reply::Brief(_))
            | (Ask::Status(_), Reply::Status(_))
            | (Ask::Changes(_), Reply::Changes(_))
            | (Ask::Refs(_), Reply::Refs(_))
            | (Ask::Reflog(_), Reply::Reflog(_))
            | (Ask::BranchStack(_), Reply::BranchStack(_))
            | (Ask::History(_), Reply::History(_))
            | (Ask::Scope(_), Reply::Scope(_))
            | (Ask::TextDiff(_), Reply::TextDiff(_))
            | (Ask::CommitDetails(_), Reply::CommitDetails(_))
            | (Ask::Sources(_), Reply::Sources(_))
            | (Ask::Submodules(_), Reply::Submodules(_))
            | (Ask::Worktrees(_), Reply::Worktrees(_))
            | (Ask::Preflight(_), Reply::Preflight(_))
            | (Ask::Conflict(_), Reply::Conflict(_))
            | (Ask::Radar(_), Reply::Radar(_))
            | (Ask::Digest(_), Reply::Digest(_))
            | (Ask::Timeline(_), Reply::Timeline(_))
            | (Ask::TimelineEvent(_), Reply::TimelineEvent(_))
            | (Ask::RestorePoints(_), Reply::RestorePoints(_))
            | (Ask::Traces, Reply::Traces(_))
            | (Ask::Records(_), Reply::Records(_))
            | (Ask::Facts(_), Reply::Facts(_))
            | (Ask::Annotate(_), Reply::Annotate(_))
            | (Ask::ShowFile(_), Reply::ShowFile(_))
            | (Ask::ListFiles(_), Reply::ListFiles(_))
            | (Ask::MergeBase(_), Reply::MergeBase(_))
            | (Ask::Remotes, Reply::Remotes(_))
            | (Ask::Points { .. }, Reply::Points(_))
            | (Ask::Unmerged { .. }, Reply::Unmerged(_))
            | (Ask::ConflictRegions(_), Reply::ConflictRegions(_))
            | (Ask::Resolve(_), Reply::Resolve(_))
    )
}
