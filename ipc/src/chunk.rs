//! Long answers in chunks: each fits a frame, all together fit a stated total.
//! Trust: the joiner reads chunks of a taken-over peer; it stops at the total limit, before the memory is taken.

use crate::{
    Error,
    codec::{MAX_ANSWER, MAX_FRAME},
};

/// Bytes of an answer that one chunk carries; leaves room for the message around it.
pub const CHUNK: usize = MAX_FRAME - 64;

/// The chunks of `answer` in order, with `true` at the last one. An empty answer is one empty last chunk.
pub fn split(answer: &[u8]) -> impl Iterator<Item = (bool, &[u8])> {
    let count = answer.len().div_ceil(CHUNK).max(1);
    (0..count).map(move |n| (n + 1 == count, &answer[n * CHUNK..answer.len().min((n + 1) * CHUNK)]))
}

/// Joins the chunks of one answer.
#[derive(Debug, Default)]
pub struct Joiner {
    held: Vec<u8>,
}

impl Joiner {
    /// Adds a chunk; gives the whole answer after the last one and is empty again.
    ///
    /// # Errors
    /// [`Error::AnswerTooLong`] when the total passes [`MAX_ANSWER`].
    pub fn push(&mut self, last: bool, bytes: Vec<u8>) -> Result<Option<Vec<u8>>, Error> {
        if self.held.len() + bytes.len() > MAX_ANSWER {
            self.held = Vec::new();
            return Err(Error::AnswerTooLong { limit: MAX_ANSWER });
        }
        if self.held.is_empty() {
            self.held = bytes;
        } else {
            self.held.extend_from_slice(&bytes);
        }
        Ok(last.then(|| std::mem::take(&mut self.held)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_split_comes_back_whole() {
        for len in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, MAX_ANSWER] {
            let answer: Vec<u8> = (0..len).map(|n| (n % 251) as u8).collect();
            let mut joiner = Joiner::default();
            let mut got = None;
            for (last, bytes) in split(&answer) {
                assert!(got.is_none(), "nothing may follow the last chunk");
                got = joiner.push(last, bytes.to_vec()).expect("within the limit");
            }
            assert_eq!(got.as_deref(), Some(&answer[..]), "{len} bytes");
        }
    }

    #[test]
    fn the_total_is_limited() {
        let mut joiner = Joiner::default();
        for _ in 0..MAX_ANSWER / CHUNK {
            assert!(joiner.push(false, vec![0; CHUNK]).is_ok());
        }
        assert!(matches!(joiner.push(false, vec![0; CHUNK]), Err(Error::AnswerTooLong { .. })));
    }
}
