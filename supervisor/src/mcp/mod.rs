//! MCP on two streams: bytes → [`framing`] → [`json`] → [`jsonrpc`] → [`era`] → [`call`] → a worker → [`result`] → bytes.
//! Trust: everything that comes in is hostile, and nothing that comes in ends the process.

pub mod call;
pub mod era;
#[cfg(feature = "conformance-fixtures")]
mod fixtures;
pub mod framing;
pub mod handshake;
pub mod id_scan;
pub mod json;
pub mod jsonrpc;
pub mod list;
pub mod once;
pub mod open;
pub mod progress;
pub mod reply_to;
pub mod result;
pub mod session;
pub mod spelling;
pub mod stdio;
pub mod visible;

#[cfg(test)]
pub(crate) mod tests;

pub use list::{tools_json, tools_text};
pub use once::{CallOutput, call_once};
pub use session::{End, SessionIo, UNREAD, run};
