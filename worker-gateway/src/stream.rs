//! Streams to the application: handed over by the launcher, or dialled where one process is all there is.
//! Trust: the launcher is trusted more than this process; what listens behind a stream is trusted with nothing.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{Source, Stream};
#[cfg(target_os = "linux")]
pub(crate) use linux::watch;
#[cfg(target_os = "linux")]
pub use linux::{Source, Stream};

/// Why there is no stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoStream {
    /// Nobody listens there, or nothing is configured.
    Refused,
    /// Nobody accepted in time.
    Late,
    /// The launcher does not keep to the edge, or is gone.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there is no launcher"))]
    Broken,
}
