//! One live worker-audit: the conversation with it, and how that can end.
//! Trust: the worker is treated as taken over: what is not legal now ends it; its reports are held against the kernel's.

use crate::{
    carrier::{Carrier, Ended, Ending, Link},
    worker::{ProcStatus, shortfall},
};
use bulkhead_contract::isolation::{Demand, Report};
use bulkhead_ipc::{
    codec,
    edge::{
        WorkerKind,
        audit::{FromAudit, Known, Phase, Ready, Standing, ToAudit},
        launcher::StatusOf,
    },
};
use std::{rc::Rc, time::Duration};
use tokio::time::timeout;

/// Time for a worker's start, its jail and its keys.
const START: Duration = Duration::from_secs(10);
/// Time to take a ledger up: its active file is read, and another writer may hold the lock.
const OPEN: Duration = Duration::from_secs(30);
/// Time in which a worker that closed its channel is expected to end by itself.
const LAST_BREATH: Duration = Duration::from_millis(500);

/// Why there is no worker any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fall {
    /// In words.
    pub why: String,
    /// Another one would fare the same.
    pub for_good: bool,
}

impl Fall {
    fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), for_good: false }
    }
}

/// A worker. Dropping it ends it.
pub(crate) struct Clerk {
    link: Link,
    phase: Phase,
    /// What it said of its jail.
    pub report: Option<Report>,
}

impl Clerk {
    /// Starts one.
    pub async fn start(carrier: &Rc<dyn Carrier>) -> Result<Self, Fall> {
        let started = timeout(START, carrier.start(WorkerKind::Audit, None)).await;
        let link = started.map_err(|_| Fall::new("no worker that records could be started in time"))?;
        let link = link
            .map_err(|e| Fall { why: format!("no worker that records can be started: {e}"), for_good: e.for_good })?;
        Ok(Self { link, phase: Phase::Starting, report: None })
    }

    /// Waits until its jail is on and its keys are loaded, and measures the jail against the demand.
    pub async fn greet(&mut self, carrier: &Rc<dyn Carrier>, demand: Demand) -> Result<Ready, Fall> {
        let ready = match timeout(START, self.next()).await {
            Ok(Ok(FromAudit::Ready(ready))) => *ready,
            Ok(Ok(FromAudit::Refused { why })) => return Err(Fall::new(why)),
            Ok(Ok(FromAudit::Short(report))) => {
                let missing = shortfall(&report);
                self.report = Some(report);
                let (layer, cause) = missing.unwrap_or_else(|| ("unknown".to_owned(), "no row is named".to_owned()));
                return Err(short(&layer, &cause));
            }
            Ok(Ok(_)) => return Err(Fall::new("the worker that records greeted with another message")),
            Ok(Err(fall)) => return Err(fall),
            Err(_) => return Err(Fall::new("the worker that records did not greet in time")),
        };
        self.report = Some(ready.report.clone());
        self.phase = Phase::Ready;
        if demand == Demand::Required {
            let own = shortfall(&ready.report);
            let seen = match (own, self.link.pid()) {
                (None, Some(pid)) => match carrier.status(StatusOf::Worker { pid }).await {
                    Ok(text) => ProcStatus::parse(&text).shortfall(),
                    Err(why) => Some(("process-status".to_owned(), why)),
                },
                (None, None) => Some(("process".to_owned(), "it has no process of its own".to_owned())),
                (own, _) => own,
            };
            if let Some((layer, cause)) = seen {
                return Err(short(&layer, &cause));
            }
        }
        Ok(ready)
    }

    /// Has it take the ledger up.
    pub async fn open(&mut self, known: Option<Known>) -> Result<Standing, Fall> {
        self.post(&ToAudit::Open { known })?;
        self.phase = Phase::Opening;
        match timeout(OPEN, self.next()).await {
            Ok(Ok(FromAudit::Opened(standing))) => {
                self.phase = Phase::Open;
                Ok(standing)
            }
            Ok(Ok(FromAudit::Lost { why, tampered })) => Err(Fall { why, for_good: tampered }),
            Ok(Ok(_)) => Err(Fall::new("the worker that records answered another question")),
            Ok(Err(fall)) => Err(fall),
            Err(_) => Err(Fall::new("the ledger could not be taken up in time")),
        }
    }

    /// Queues a message; it leaves while [`Clerk::next`] is awaited.
    pub fn post(&mut self, message: &ToAudit) -> Result<(), Fall> {
        let posted = codec::encode(message).and_then(|body| self.link.post_frame(body));
        posted.map_err(|e| Fall::new(format!("the worker that records cannot be told: {e}")))
    }

    /// The next message, if it is legal. May be dropped and called again while the worker lives.
    pub async fn next(&mut self) -> Result<FromAudit, Fall> {
        let broke = |e: bulkhead_ipc::Error| Fall::new(format!("the worker that records broke its protocol: {e}"));
        match self.link.next_frame().await {
            Ok(Some(frame)) => {
                let message: FromAudit = codec::decode(&frame).map_err(broke)?;
                message.legal(self.phase).map_err(broke)?;
                Ok(message)
            }
            Ok(None) => Err(match timeout(LAST_BREATH, self.link.ended()).await {
                Ok(ended) => Fall::new(format!("the worker that records ended: {ended}")),
                Err(_) => Fall::new("the worker that records closed its channel"),
            }),
            Err(e) => Err(broke(e)),
        }
    }

    /// Ends it and waits until it is gone.
    pub async fn end(mut self) -> Ended {
        self.link.end(Ending::Kill);
        self.link.ended().await
    }

    /// Its process id, where it is a process.
    pub fn pid(&self) -> Option<i32> {
        self.link.pid()
    }

    /// What the log calls it.
    pub fn name(&self) -> &str {
        self.link.name()
    }
}

fn short(layer: &str, cause: &str) -> Fall {
    Fall::new(format!("isolation of the worker that records: {layer} is missing: {cause}"))
}
