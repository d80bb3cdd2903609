//! Worker-gateway ⇄ launcher, over a SEQPACKET socket of its own: connected streams to the one address, and nothing else.
//! Trust: the worker may be taken over; it names no address, and how often it may ask is the launcher's to say.

use bincode::{Decode, Encode};

/// Bytes of the longest packet in either direction.
pub const MAX_PACKET: usize = 64;
/// Connections that are under way for one worker at once; more are answered [`NoStream::Busy`].
pub const MAX_DIALS: usize = 128;

/// What the worker asks.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum ToDialler {
    /// A stream to the address.
    Dial {
        /// Chosen by the asker; comes back in the answer.
        ticket: u64,
    },
}

/// What the launcher answers, once for each request, in the order in which connections come about.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum FromDialler {
    /// With one descriptor: a connected, non-blocking stream.
    Stream {
        /// Of the request.
        ticket: u64,
    },
    /// There is none.
    Failed {
        /// Of the request.
        ticket: u64,
        /// Why.
        why: NoStream,
    },
}

/// Why there is no stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum NoStream {
    /// Nobody listens, or the system refuses, with its reason.
    Refused {
        /// `errno`.
        errno: i32,
    },
    /// Nobody accepted in time.
    Late,
    /// Too many were asked for just before, or are under way; asking again later may help.
    Busy,
    /// No address is configured.
    Nowhere,
}
