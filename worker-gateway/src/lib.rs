//! The process that talks to the application behind the gateway's address: it holds streams, connected ones, and a token.
//! Trust: exchanges come from a supervisor that may be taken over, answers from whoever listens; both are held to bounds.
//!
//! [`run`] is the whole of it: the token is loaded and kept to this process, the jail is put on, and then any number of
//! exchanges run at the same time on one thread, each over a stream of its own that the launcher has connected.
#![forbid(unsafe_code)]

mod exchange;
mod hearing;
mod jail;
pub mod proof;
mod serve;
mod stream;
mod token;
mod wire;

pub use serve::{Ends, run};
