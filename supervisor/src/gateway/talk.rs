//! One live worker-gateway: its start, its jail held against the demand, and its messages, of which any may be out of turn.
//! Trust: the worker is treated as taken over: what is not legal now ends it.

use crate::{
    carrier::{Carrier, Ended, Ending, Link},
    worker::{Breach, Fall, look, shortfall},
};
use bulkhead_contract::isolation::{Demand, Report};
use bulkhead_ipc::{
    codec::{decode, encode},
    edge::{
        WorkerKind,
        gateway::{FromGateway, Phase, ToGateway},
    },
};
use std::{rc::Rc, time::Duration};
use tokio::time::timeout;

/// Time for a worker's start, its jail and its token.
const START: Duration = Duration::from_secs(10);

/// Why there is no worker that can be asked.
#[derive(Debug)]
pub(crate) enum Unready {
    /// As any worker.
    Fell(Fall),
    /// The token cannot be used, in the worker's words.
    Token(String),
}

/// A worker. Dropping it ends it.
pub(crate) struct Talk {
    pub link: Link,
    phase: Phase,
    /// What it said of its jail.
    pub report: Option<Report>,
    /// Whether its token is kept out of swap; `None` where it has none.
    pub token: Option<bool>,
}

impl Talk {
    /// Starts one, waits until it can be asked, and measures its jail.
    ///
    /// # Errors
    /// [`Unready`], with the worker where there is one.
    pub async fn start(carrier: &Rc<dyn Carrier>, demand: Demand) -> Result<Self, (Option<Self>, Unready)> {
        let late = || Unready::Fell(Fall::Late { stuck: true });
        let link = match timeout(START, carrier.start(WorkerKind::Gateway, None)).await {
            Ok(Ok(link)) => link,
            Ok(Err(e)) => return Err((None, Unready::Fell(Fall::NotStarted(e)))),
            Err(_) => return Err((None, late())),
        };
        let mut talk = Self { link, phase: Phase::Starting, report: None, token: None };
        match timeout(START, talk.greet(carrier, demand)).await {
            Ok(Ok(())) => Ok(talk),
            Ok(Err(unready)) => Err((Some(talk), unready)),
            Err(_) => Err((Some(talk), late())),
        }
    }

    async fn greet(&mut self, carrier: &Rc<dyn Carrier>, demand: Demand) -> Result<(), Unready> {
        let short = |(layer, cause)| Unready::Fell(Fall::Short { layer, cause });
        let unnamed = || ("unknown".to_owned(), "the worker named no row".to_owned());
        match self.hear(|| None).await {
            Ok(FromGateway::Ready { report, token, locked }) => {
                let missing = shortfall(&report).filter(|_| demand == Demand::Required);
                self.report = Some(report);
                self.token = token.then_some(locked);
                if let Some(missing) = missing {
                    return Err(short(missing));
                }
            }
            Ok(FromGateway::Short(report)) => {
                let missing = shortfall(&report).unwrap_or_else(unnamed);
                self.report = Some(report);
                return Err(short(missing));
            }
            Ok(FromGateway::Refused { why }) => return Err(Unready::Token(why)),
            Ok(_) => {
                return Err(Unready::Fell(
                    self.fall(Breach::Broke("it greeted with another message".to_owned())).await,
                ));
            }
            Err(breach) => return Err(Unready::Fell(self.fall(breach).await)),
        }
        if demand == Demand::Required {
            look(&self.link, carrier).await.map_err(short)?;
        }
        self.phase = Phase::Open;
        Ok(())
    }

    /// Has it try, from inside, what its jail should refuse. Nothing may be open.
    ///
    /// # Errors
    /// How it fell.
    pub async fn probe(&mut self) -> Result<Report, Fall> {
        const ID: u64 = u64::MAX;
        self.phase = Phase::Probing { id: ID };
        let mut message = encode(&ToGateway::SelfProbe { id: ID }).ok();
        let heard = match timeout(START, self.hear(|| message.take())).await {
            Ok(heard) => heard,
            Err(_) => return Err(Fall::Late { stuck: true }),
        };
        match heard {
            Ok(FromGateway::SelfProbe { report, .. }) => {
                self.phase = Phase::Open;
                Ok(report)
            }
            Ok(_) => Err(self.fall(Breach::Broke("it answered something else than the probe".to_owned())).await),
            Err(breach) => Err(self.fall(breach).await),
        }
    }

    /// The next message, if it is legal, while what `further` gives is posted as there is room. May be dropped and called
    /// again.
    pub async fn hear(&mut self, further: impl FnMut() -> Option<Vec<u8>>) -> Result<FromGateway, Breach> {
        let body = self.link.frame_while_posting(further).await?.ok_or(Breach::Closed)?;
        let message: FromGateway = decode(&body)?;
        message.legal(self.phase)?;
        Ok(message)
    }

    /// Ends it where it broke off, and says how it fell.
    pub async fn fall(&mut self, breach: Breach) -> Fall {
        breach.fall(&mut self.link).await
    }

    /// Ends it and waits until it is gone.
    pub async fn end(mut self, ending: Ending) -> Ended {
        self.link.end(ending);
        self.link.ended().await
    }
}
