//! Supervisor ⇄ a worker of any kind that belongs to no repository: it is asked, answers, and may be asked again.
//! Trust: both sides treat the other as taken over; a message that is not legal in its phase ends the worker.
//!
//! The kinds differ in what `Init`, question and reply are; each names its own in a file beside this one.

use crate::{Error, chunk, codec};
use bincode::{Decode, Encode};
use bulkhead_contract::{failure::ReadFailure, isolation::Report};
use std::collections::VecDeque;

/// What such a worker hears. `I` is what the operator allows it, `A` its questions.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum ToErrand<I, A> {
    /// First frame, once, written by the launcher.
    Init(Box<I>),
    /// One question. At most one is open at a time.
    Call(Box<ErrandCall<A>>),
    /// A piece of an encoded [`ErrandCall`] that is longer than a frame; with the last it counts as [`ToErrand::Call`].
    Part {
        /// Id of the call.
        id: u64,
        /// The call is whole with this piece.
        last: bool,
        /// At most [`crate::chunk::CHUNK`] bytes.
        bytes: Vec<u8>,
    },
    /// Stop working on that question; nothing happens if it is not the open one.
    Cancel {
        /// Id of the call.
        id: u64,
    },
    /// Finish the jail where that is not done, and try from inside what it should refuse. Comes in place of a question.
    SelfProbe {
        /// Chosen by the supervisor, as a call's.
        id: u64,
    },
}

impl<I: Encode, A: Encode> ToErrand<I, A> {
    /// The encoded messages that ask, in order: one, or as many pieces as a long question takes.
    ///
    /// # Errors
    /// Those of the codec; [`Error::AnswerTooLong`] for a question beyond all limits.
    pub fn asking(call: ErrandCall<A>) -> Result<VecDeque<Vec<u8>>, Error> {
        let id = call.id;
        let message = Self::Call(Box::new(call));
        match codec::encode(&message) {
            Ok(body) => Ok(VecDeque::from([body])),
            Err(Error::FrameTooLong { .. }) => {
                let Self::Call(call) = message else { return Ok(VecDeque::new()) };
                let whole = codec::encode_answer(&*call)?;
                let piece = |(last, bytes): (bool, &[u8])| Self::Part { id, last, bytes: bytes.to_vec() };
                chunk::split(&whole).map(|part| codec::encode(&piece(part))).collect()
            }
            Err(other) => Err(other),
        }
    }
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ErrandCall<A> {
    /// Chosen by the supervisor, never reused for one worker.
    pub id: u64,
    /// Milliseconds until the supervisor's watchdog acts; at 80 % the worker should answer with what it has.
    pub budget_ms: u32,
    /// What is asked.
    pub ask: A,
}

/// What such a worker says.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum FromErrand {
    /// The jail falls short of `Demand::Required`; the worker ends. At the start, or where a call would finish the jail.
    Short(Report),
    /// The worker can be asked. For a kind whose jail is finished only by the first question this is the jail so far.
    Ready(Report),
    /// The jail is finished now, by the open call; said once, before anything that the call's answer is made of was parsed.
    Closed {
        /// Id of the call.
        id: u64,
        /// What this process really has.
        report: Report,
    },
    /// A piece of the encoded answer to the open call.
    Part {
        /// Id of the call.
        id: u64,
        /// The answer is whole with this piece, and the call is no longer open.
        last: bool,
        /// At most [`crate::chunk::CHUNK`] bytes.
        bytes: Vec<u8>,
    },
    /// Answer to `SelfProbe`.
    SelfProbe {
        /// Of the request.
        id: u64,
        /// What came of each attempt.
        report: Report,
    },
}

/// The whole answer to a call, `R` being the kind's replies; travels encoded, in pieces.
pub type ErrandAnswer<R> = Result<R, ReadFailure>;

/// Where the conversation stands, as the supervisor sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The worker was started and has not said that it can be asked.
    Starting,
    /// Ready, nothing open.
    Idle,
    /// That call is open.
    Serving {
        /// Its id.
        id: u64,
        /// The jail may still be said to be finished: it is the first thing that was asked, and nothing was answered yet.
        closing: bool,
    },
    /// That probe is open.
    Probing {
        /// Its id.
        id: u64,
        /// As above.
        closing: bool,
    },
}

impl FromErrand {
    /// Says whether a worker may say this now. Anything else is a protocol violation, for which it is killed.
    ///
    /// # Errors
    /// [`Error::Illegal`] with the names of message and phase.
    pub fn legal(&self, phase: Phase) -> Result<(), Error> {
        let closing = |asked: u64| match phase {
            Phase::Serving { id, closing } | Phase::Probing { id, closing } => closing && id == asked,
            Phase::Starting | Phase::Idle => false,
        };
        let may_close = matches!(phase, Phase::Serving { closing: true, .. } | Phase::Probing { closing: true, .. });
        let (message, fine) = match self {
            FromErrand::Short(_) => ("Short", phase == Phase::Starting || may_close),
            FromErrand::Ready(_) => ("Ready", phase == Phase::Starting),
            FromErrand::Closed { id, .. } => ("Closed", closing(*id)),
            FromErrand::Part { id, .. } => ("Part", matches!(phase, Phase::Serving { id: open, .. } if open == *id)),
            FromErrand::SelfProbe { id, .. } => {
                ("SelfProbe", matches!(phase, Phase::Probing { id: open, .. } if open == *id))
            }
        };
        let phase = match phase {
            Phase::Starting => "starting",
            Phase::Idle => "idle",
            Phase::Serving { .. } => "serving",
            Phase::Probing { .. } => "probing",
        };
        if fine { Ok(()) } else { Err(Error::Illegal { message, phase }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jail_is_finished_once_and_by_the_open_call() {
        let closed = |id| FromErrand::Closed { id, report: Report::default() };
        assert!(closed(1).legal(Phase::Serving { id: 1, closing: true }).is_ok());
        assert!(closed(1).legal(Phase::Probing { id: 1, closing: true }).is_ok());
        for (id, phase) in [
            (1, Phase::Serving { id: 1, closing: false }),
            (2, Phase::Serving { id: 1, closing: true }),
            (1, Phase::Idle),
            (1, Phase::Starting),
        ] {
            assert!(closed(id).legal(phase).is_err(), "{id} {phase:?}");
        }
    }

    #[test]
    fn what_nobody_asked_for_is_illegal() {
        let part = FromErrand::Part { id: 3, last: true, bytes: vec![1] };
        assert!(part.legal(Phase::Serving { id: 3, closing: false }).is_ok());
        assert!(part.legal(Phase::Serving { id: 4, closing: false }).is_err());
        assert!(part.legal(Phase::Probing { id: 3, closing: false }).is_err());
        assert!(part.legal(Phase::Idle).is_err());
        let probe = FromErrand::SelfProbe { id: 3, report: Report::default() };
        assert!(probe.legal(Phase::Probing { id: 3, closing: true }).is_ok());
        assert!(probe.legal(Phase::Serving { id: 3, closing: true }).is_err());
        assert!(FromErrand::Ready(Report::default()).legal(Phase::Idle).is_err());
        assert!(FromErrand::Short(Report::default()).legal(Phase::Idle).is_err());
    }
}
