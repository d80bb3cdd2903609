//! Frames on a byte stream: a little-endian u32 length, then that many bytes of body.
//! Trust: the stream's other end may be taken over; a length over the limit is refused before anything is allocated.

use crate::{Error, codec::MAX_FRAME};
use std::io::{Read, Write};

const WORD: usize = 4;

/// Writes one frame in a single `write_all`, so that small frames reach a pipe atomically.
///
/// # Errors
/// [`Error::FrameTooLong`], [`Error::EmptyFrame`], or the stream's own error.
pub fn write(stream: &mut impl Write, body: &[u8]) -> Result<(), Error> {
    stream.write_all(&with_length(body)?)?;
    stream.flush()?;
    Ok(())
}

/// The frame of `body`, length word included.
///
/// # Errors
/// [`Error::FrameTooLong`] or [`Error::EmptyFrame`].
pub fn with_length(body: &[u8]) -> Result<Vec<u8>, Error> {
    let len = u32::try_from(body.len()).unwrap_or(u32::MAX);
    check(len)?;
    let mut framed = Vec::with_capacity(WORD + body.len());
    framed.extend_from_slice(&len.to_le_bytes());
    framed.extend_from_slice(body);
    Ok(framed)
}

/// Reads one frame's body; `None` when the stream ends between frames.
///
/// # Errors
/// [`Error::FrameTooLong`], [`Error::EmptyFrame`], [`Error::CutFrame`], or the stream's own error.
pub fn read(stream: &mut impl Read) -> Result<Option<Vec<u8>>, Error> {
    let mut word = [0u8; WORD];
    let mut got = 0;
    while got < WORD {
        match stream.read(&mut word[got..]) {
            Ok(0) if got == 0 => return Ok(None),
            Ok(0) => return Err(Error::CutFrame),
            Ok(n) => got += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e.into()),
        }
    }
    let mut body = vec![0u8; check(u32::from_le_bytes(word))?];
    stream.read_exact(&mut body).map_err(|e| match e.kind() {
        std::io::ErrorKind::UnexpectedEof => Error::CutFrame,
        _ => e.into(),
    })?;
    Ok(Some(body))
}

fn check(len: u32) -> Result<usize, Error> {
    match len as usize {
        0 => Err(Error::EmptyFrame),
        n if n > MAX_FRAME => Err(Error::FrameTooLong { len: u64::from(len), limit: MAX_FRAME }),
        n => Ok(n),
    }
}

/// Cuts a stream that arrives in arbitrary pieces into frames, without doing any I/O itself.
#[derive(Debug, Default)]
pub struct Assembler {
    held: Vec<u8>,
    taken: usize,
}

impl Assembler {
    /// Adds bytes as they came. Call [`Assembler::take`] until it gives `None` before adding more, so that at most
    /// one frame and one piece are held.
    pub fn push(&mut self, piece: &[u8]) {
        if self.taken > 0 {
            self.held.drain(..self.taken);
            self.taken = 0;
        }
        self.held.extend_from_slice(piece);
    }

    /// The next whole frame's body, if it is there.
    ///
    /// # Errors
    /// [`Error::FrameTooLong`] or [`Error::EmptyFrame`], as soon as the length word is there.
    pub fn take(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let rest = &self.held[self.taken..];
        let Some(word) = rest.first_chunk::<WORD>() else { return Ok(None) };
        let len = check(u32::from_le_bytes(*word))?;
        let Some(body) = rest.get(WORD..WORD + len) else { return Ok(None) };
        let body = body.to_vec();
        self.taken += WORD + len;
        Ok(Some(body))
    }

    /// True between frames: an end of stream here is clean.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held.len() == self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_over_the_limit_is_refused_from_the_word_alone() {
        let hostile = [0xff, 0xff, 0xff, 0x7f];
        assert!(matches!(read(&mut &hostile[..]), Err(Error::FrameTooLong { .. })));
        let mut assembler = Assembler::default();
        assembler.push(&hostile);
        assert!(matches!(assembler.take(), Err(Error::FrameTooLong { .. })));
    }

    #[test]
    fn frames_survive_any_cut() {
        let stream = [with_length(b"one").expect("small"), with_length(b"second").expect("small")].concat();
        for cut in 0..=stream.len() {
            let (mut assembler, mut got) = (Assembler::default(), Vec::new());
            for piece in [&stream[..cut], &stream[cut..]] {
                assembler.push(piece);
                while let Some(body) = assembler.take().expect("well-formed") {
                    got.push(body);
                }
            }
            assert_eq!(got, [b"one".to_vec(), b"second".to_vec()], "cut at {cut}");
            assert!(assembler.is_empty());
        }
    }

    #[test]
    fn an_end_inside_a_frame_is_told_from_an_end_between_frames() {
        let framed = with_length(b"body").expect("small");
        assert!(matches!(read(&mut &framed[..0]), Ok(None)));
        for cut in 1..framed.len() {
            assert!(matches!(read(&mut &framed[..cut]), Err(Error::CutFrame)), "cut at {cut}");
        }
        assert!(matches!(read(&mut &[0u8; 4][..]), Err(Error::EmptyFrame)));
    }
}
