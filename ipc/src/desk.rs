//! The worker's side of an errand: hears its `Init`, then questions, and answers each in pieces.
//! Trust: the supervisor may be taken over; a message that does not belong ends the conversation.

use crate::{
    Error,
    channel::{Now, Receiver, Sender, WorkerEnds},
    chunk::{self, Joiner},
    codec::{decode_answer, encode_answer},
    edge::errand::{ErrandAnswer, ErrandCall, FromErrand, ToErrand},
};
use bincode::{Decode, Encode};

/// Both ends of a worker whose kind has `I` as its first message and `A` as its questions.
#[derive(Debug)]
pub struct Desk<I, A> {
    requests: Receiver<ToErrand<I, A>>,
    answers: Sender<FromErrand>,
    /// Pieces of a long question.
    pieces: Joiner,
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
        let mut desk = Self { requests, answers, pieces: Joiner::default() };
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
                Some(ToErrand::Part { id, last, bytes }) => {
                    if let Some(whole) = self.pieces.push(last, bytes)? {
                        let call: ErrandCall<A> = decode_answer(&whole)?;
                        return Ok((call.id == id).then(|| Wanted::Call(Box::new(call))));
                    }
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        channel::{FrameSink, FrameSource, Receiver, Sender},
        codec,
        edge::write::{Init, MAX_OPERATION, Operation, Resolved},
    };
    use bulkhead_contract::isolation::Demand;
    use std::collections::VecDeque;

    struct Frames(VecDeque<Vec<u8>>);

    impl FrameSource for Frames {
        fn next_frame(&mut self) -> Result<Option<Vec<u8>>, Error> {
            Ok(self.0.pop_front())
        }

        fn frame_now(&mut self) -> Result<Now<Vec<u8>>, Error> {
            Ok(self.0.pop_front().map_or(Now::End, Now::Said))
        }
    }

    struct Nowhere;

    impl FrameSink for Nowhere {
        fn put_frame(&mut self, _: &[u8]) -> Result<(), Error> {
            Ok(())
        }
    }

    type Said = ToErrand<Init, Operation>;

    fn desk(frames: VecDeque<Vec<u8>>) -> Desk<Init, Operation> {
        let mut all = VecDeque::from([codec::encode(&Said::Init(Box::new(Init::closed(Demand::Off)))).expect("short")]);
        all.extend(frames);
        let (requests, answers) = (Receiver::new(Frames(all)), Sender::new(Nowhere));
        Desk::open(WorkerEnds { requests, answers }).expect("Init comes first").0
    }

    fn question(length: usize) -> ErrandCall<Operation> {
        let becomes = Resolved::Content { bytes: vec![b'x'; length], mode_of: 2, conflicts: 1 };
        let ask = Operation::Resolve { path: "a".to_owned(), becomes, stages: [None, None, None] };
        ErrandCall { id: 7, budget_ms: 1, ask }
    }

    #[test]
    fn a_question_of_any_length_arrives_whole() {
        for (length, frames) in [(10, 1), (codec::MAX_FRAME, 2), (MAX_OPERATION, MAX_OPERATION.div_ceil(chunk::CHUNK))]
        {
            let asked = question(length);
            let said = Said::asking(asked.clone()).expect("within the limits");
            assert_eq!(said.len(), frames, "{length} bytes");
            let Ok(Some(Wanted::Call(heard))) = desk(said).wanted() else { panic!("{length} bytes") };
            assert_eq!(*heard, asked);
        }
        assert!(matches!(Said::asking(question(codec::MAX_ANSWER)), Err(Error::AnswerTooLong { .. })));
    }

    #[test]
    fn pieces_of_another_question_or_of_none_end_the_conversation() {
        let whole = codec::encode_answer(&question(10)).expect("short");
        let piece = |id, bytes: &[u8]| codec::encode(&Said::Part { id, last: true, bytes: bytes.to_vec() });
        let with = |id, bytes: &[u8]| desk(VecDeque::from([piece(id, bytes).expect("short")])).wanted();
        assert!(matches!(with(7, &whole), Ok(Some(_))));
        assert!(matches!(with(8, &whole), Ok(None)));
        assert!(with(7, &whole[1..]).is_err());
    }
}
