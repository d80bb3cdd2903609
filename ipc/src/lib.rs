//! How two processes of the house talk: frames, codec, one-way typed channels, and the messages of every edge.
//! Trust: every byte may come from a taken-over peer; size is refused before allocation, shape before use.
#![forbid(unsafe_code)]

pub mod channel;
pub mod chunk;
pub mod codec;
pub mod desk;
pub mod edge;
pub mod frame;
#[cfg(unix)]
pub mod inbox;

/// What can be wrong with bytes from a peer, or with the pipe to it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The length word names more than a frame may hold.
    #[error("frame of {len} bytes; at most {limit} are accepted")]
    FrameTooLong {
        /// What the length word says.
        len: u64,
        /// The limit in force.
        limit: usize,
    },
    /// A length word of zero: no message encodes to nothing.
    #[error("empty frame")]
    EmptyFrame,
    /// The chunks of one answer add up to more than an answer may hold.
    #[error("answer of more than {limit} bytes")]
    AnswerTooLong {
        /// The limit in force.
        limit: usize,
    },
    /// The body is not a message of this edge.
    #[error("undecodable message: {0}")]
    Undecodable(String),
    /// Bytes follow after the message.
    #[error("{0} bytes after the message")]
    TrailingBytes(usize),
    /// The message cannot be encoded within the limits.
    #[error("unencodable message: {0}")]
    Unencodable(String),
    /// The peer closed its end in the middle of a frame.
    #[error("the peer closed the channel inside a frame")]
    CutFrame,
    /// A message that is not legal in the present phase of its edge.
    #[error("{message} is not legal while {phase}")]
    Illegal {
        /// Name of the message.
        message: &'static str,
        /// Name of the phase.
        phase: &'static str,
    },
    /// The pipe failed.
    #[error("channel: {0}")]
    Io(#[from] std::io::Error),
}
