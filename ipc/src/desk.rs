//! The worker's side of an errand: hears its `Init`, then questions, and answers each in pieces.
//! Trust: the supervisor may be taken over; a message that does not belong ends the conversation.

use crate::{
    Error,
    channel::{Now, Receiver, Sender, WorkerEnds},
    chunk,
    codec::encode_answer,
    edge::errand::{ErrandAnswer, ErrandCall, FromErrand, ToErrand},
};
use bincode::{Decode, Encode};

/// Both ends of a worker whose kind has `I` as its first message and `A` as its questions.
#[derive(Debug)]
pub struct Desk<I, A> {
    requests: Receiver<ToErrand<I, A>>,
    answers: Sender<FromErrand>,
}

/// What is wanted next.
#[derive(Debug)]
pub enum Wanted<A> {
    /// An answer.
    Call(Box<ErrandCall<A>>),
    /// The jail, tried from inside.
    SelfProbe(u64),
}

impl<I: Decode<()>, A: Decode<()>> Desk<I, A> {
    /// Takes the ends and waits for the first message; `None` where the other side is gone or does not keep to the edge.
    pub fn open(ends: WorkerEnds<ToErrand<I, A>, FromErrand>) -> Option<(Self, I)> {
        let WorkerEnds { requests, answers } = ends;
        let mut desk = Self { requests, answers };
        match desk.requests.receive() {
            Ok(Some(ToErrand::Init(init))) => Some((desk, *init)),
            _ => None,
        }
    }

    /// Says something that is no part of an answer.
    ///
    /// # Errors
    /// Those of the channel.
    pub fn say(&mut self, message: &FromErrand) -> Result<(), Error> {
        self.answers.send(message)
    }

    /// Waits for what is wanted next; `None` at the end. A late cancellation is nothing to do anything about.
    ///
    /// # Errors
    /// Those of the channel.
    pub fn wanted(&mut self) -> Result<Option<Wanted<A>>, Error> {
        loop {
            match self.requests.receive()? {
                Some(ToErrand::Call(call)) => return Ok(Some(Wanted::Call(call))),
                Some(ToErrand::SelfProbe { id }) => return Ok(Some(Wanted::SelfProbe(id))),
                Some(ToErrand::Cancel { .. }) => {}
                Some(ToErrand::Init(_)) | None => return Ok(None),
            }
        }
    }

    /// Whether nobody waits for the open call any more; never blocks. Cheap enough to be asked every few milliseconds.
    pub fn is_left(&mut self, id: u64) -> bool {
        match self.requests.now() {
            Ok(Now::Nothing) => false,
            Ok(Now::Said(ToErrand::Cancel { id: named })) => named == id,
            // nothing else belongs here while a call is open
            Ok(Now::Said(_) | Now::End) | Err(_) => true,
        }
    }

    /// Answers the open call.
    ///
    /// # Errors
    /// Those of codec and channel.
    pub fn answer<R: Encode>(&mut self, id: u64, answer: &ErrandAnswer<R>) -> Result<(), Error> {
        let whole = encode_answer(answer)?;
        for (last, bytes) in chunk::split(&whole) {
            self.answers.send(&FromErrand::Part { id, last, bytes: bytes.to_vec() })?;
        }
        Ok(())
    }
}
