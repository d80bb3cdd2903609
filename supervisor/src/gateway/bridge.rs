//! The way to the application behind the gateway's address: one exchange in, what became of it out.
//! Trust: exchanges are this process's own and are checked again; what comes back was said by whoever listens there.

use crate::{control::Control, outcome::CallError, settings::Settings};
use bulkhead_ipc::edge::gateway::{Exchange, Outcome};
use std::{net::SocketAddr, rc::Rc};

/// Carries exchanges. A clone is the same bridge.
#[derive(Debug, Clone)]
pub struct Bridge(Rc<Shared>);

#[derive(Debug)]
struct Shared {
    settings: Rc<Settings>,
}

/// An exchange that did not come to an outcome, for a reason on this side of the wire.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{why}")]
pub struct Interrupted {
    /// `IsolationMissing`, `Unavailable`, `WorkerDied`, `Deadline`, `Cancelled`.
    pub why: CallError,
    /// A byte of the request may have left.
    pub sent: bool,
}

impl Bridge {
    /// Nobody is started yet.
    #[must_use]
    pub fn new(settings: Rc<Settings>) -> Self {
        Self(Rc::new(Shared { settings }))
    }

    /// Where the application is said to listen; `None` where no gateway is configured.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.0.settings.gateway
    }

    /// Whether a gateway is configured; whether it answers shows only an exchange.
    #[must_use]
    pub fn configured(&self) -> bool {
        self.address().is_some()
    }

    /// Whether the application has to show that it knows the operator's token, so that facts may leave with a proposal. Where
    /// this holds, an exchange that asks for `authentic` is answered authentically or not at all.
    #[must_use]
    pub fn authenticates(&self) -> bool {
        self.configured() && self.0.settings.gateway_token
    }

    /// Carries one exchange to its end. Ends within its budget and the little that asking the worker takes; a call that
    /// is stopped ends at once.
    ///
    /// # Errors
    /// [`Interrupted`]. Never for what the other side did: that is an [`Outcome`].
    pub async fn exchange(&self, exchange: Exchange, control: Control) -> Result<Outcome, Interrupted> {
        drop((exchange, control));
        let why = "this build has no worker that talks to a gateway".to_owned();
        Err(Interrupted { why: CallError::Unavailable { why }, sent: false })
    }
}
