//! The worker's conversation: each question is one file, each answer what became of it.
//! Trust: the supervisor may be taken over; a message that does not belong, or regions of other texts, end the process.

use crate::{
    engine::{self, Engine},
    jail,
};
use bulkhead_contract::isolation::Demand;
use bulkhead_ipc::{
    Error,
    channel::WorkerEnds,
    desk::{Desk, Wanted},
    edge::{
        errand::FromErrand,
        syntax::{Ask, Init, ToSyntax},
    },
};
use std::time::{Duration, Instant};

/// The part of a question's time that parsing may take, in tenths: what is left is for the answer.
const PARSING: u32 = 8;

/// Serves until the supervisor closes its end. `jailed` is false on a thread.
pub fn run(ends: WorkerEnds<ToSyntax, FromErrand>, jailed: bool) {
    let parent = bulkhead_sandbox::identity::parent();
    let Some((mut desk, init)) = Desk::open(ends) else { return };
    let report = if jailed { jail::enter(init.memory) } else { jail::unconfined() };
    if init.demand == Demand::Required && report.missing().next().is_some() {
        let _ = desk.say(&FromErrand::Short(report));
        return;
    }
    // ends when the supervisor is gone, and when it broke the edge
    let _ = desk.say(&FromErrand::Ready(report.clone())).and_then(|()| {
        serve(&mut desk, |desk, id| {
            let report = if jailed { jail::probe(parent) } else { report.clone() };
            desk.say(&FromErrand::SelfProbe { id, report })
        })
    });
}

type Ends = Desk<Init, Ask>;

fn serve(desk: &mut Ends, probe: impl Fn(&mut Ends, u64) -> Result<(), Error>) -> Result<(), Error> {
    let mut engine = Engine::default();
    while let Some(wanted) = desk.wanted()? {
        match wanted {
            Wanted::Call(call) => {
                let deadline = Instant::now() + Duration::from_millis(u64::from(call.budget_ms)) * PARSING / 10;
                let Some(reply) = engine::answer(&mut engine, &call.ask, deadline) else { return Ok(()) };
                desk.answer(call.id, &Ok(reply))?;
            }
            Wanted::SelfProbe(id) => probe(desk, id)?,
        }
    }
    Ok(())
}
