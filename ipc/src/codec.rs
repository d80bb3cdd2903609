//! The only place that encodes or decodes a wire type; bincode is not named anywhere else but in derives.
//! Trust: decodes bytes of a taken-over peer under a byte limit; nothing is allocated beyond it.
//!
//! Wire types must not be recursive (the decoder would recurse with them) and must not hold elements of size zero
//! (the byte limit does not count them); `tests/wire_types.rs` walks the message types for both.

use crate::Error;
use bincode::{Decode, Encode, config};

/// Bytes of one message body at most, and of one chunk of a long answer.
pub const MAX_FRAME: usize = 1 << 20;
/// Bytes of one whole answer at most, all its chunks together: what becomes of the longest file that a conflict may be in,
/// and the message around it.
pub const MAX_ANSWER: usize = 11 << 20;

/// Encodes a message that must fit one frame.
///
/// # Errors
/// [`Error::Unencodable`] when the type refuses, [`Error::FrameTooLong`] when it needs more than [`MAX_FRAME`].
pub fn encode<T: Encode>(message: &T) -> Result<Vec<u8>, Error> {
    let body = to_vec(message)?;
    if body.len() > MAX_FRAME {
        return Err(Error::FrameTooLong { len: body.len() as u64, limit: MAX_FRAME });
    }
    Ok(body)
}

/// Decodes the body of one frame, all of it.
///
/// # Errors
/// [`Error::Undecodable`] for a body that is no `T` or claims more than [`MAX_FRAME`], [`Error::TrailingBytes`].
pub fn decode<T: Decode<()>>(body: &[u8]) -> Result<T, Error> {
    let (message, used) = bincode::decode_from_slice(body, config::standard().with_limit::<MAX_FRAME>())
        .map_err(|e| Error::Undecodable(e.to_string()))?;
    whole(message, used, body.len())
}

/// Encodes an answer that may travel in chunks.
///
/// # Errors
/// As [`encode`], with [`MAX_ANSWER`] as the limit.
pub fn encode_answer<T: Encode>(answer: &T) -> Result<Vec<u8>, Error> {
    let body = to_vec(answer)?;
    if body.len() > MAX_ANSWER {
        return Err(Error::AnswerTooLong { limit: MAX_ANSWER });
    }
    Ok(body)
}

/// Decodes a rejoined answer, all of it.
///
/// # Errors
/// As [`decode`], with [`MAX_ANSWER`] as the limit.
pub fn decode_answer<T: Decode<()>>(body: &[u8]) -> Result<T, Error> {
    let (answer, used) = bincode::decode_from_slice(body, config::standard().with_limit::<MAX_ANSWER>())
        .map_err(|e| Error::Undecodable(e.to_string()))?;
    whole(answer, used, body.len())
}

fn to_vec<T: Encode>(message: &T) -> Result<Vec<u8>, Error> {
    bincode::encode_to_vec(message, config::standard()).map_err(|e| Error::Unencodable(e.to_string()))
}

fn whole<T>(message: T, used: usize, len: usize) -> Result<T, Error> {
    if used == len { Ok(message) } else { Err(Error::TrailingBytes(len - used)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::read::FromRead;

    #[test]
    fn a_message_comes_back() {
        let message = FromRead::Progress { id: 7, done: 3, total: Some(9) };
        assert_eq!(decode::<FromRead>(&encode(&message).expect("small")).expect("ours"), message);
    }

    #[test]
    fn trailing_bytes_and_unknown_variants_are_refused() {
        let mut body = encode(&FromRead::Moved { id: 1 }).expect("small");
        body.push(0);
        assert!(matches!(decode::<FromRead>(&body), Err(Error::TrailingBytes(1))));
        assert!(matches!(decode::<FromRead>(&[250, 0, 0]), Err(Error::Undecodable(_))));
    }

    #[test]
    fn an_inner_length_beyond_the_limit_allocates_nothing() {
        // Part { id: 0, last: false, bytes: <2^60 elements> }
        let body = [&[4u8, 0, 0, 253][..], &(1u64 << 60).to_le_bytes()[..]].concat();
        assert!(matches!(decode::<FromRead>(&body), Err(Error::Undecodable(_))));
    }
}
