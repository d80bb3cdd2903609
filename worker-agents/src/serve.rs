//! The conversations of both kinds of process: one look, after which it ends; a note, kept for as long as it is wanted.
//! Trust: the supervisor may be taken over; a message that does not belong ends the process.

use crate::{
    jail::{self, Jail},
    look::Look,
    note::{NoteError, Notebook},
    presence::Presence,
    processes::Processes,
    sessions,
    stores::{self, Stores},
};
use bulkhead_contract::{isolation::Demand, results::AgentSource};
use bulkhead_ipc::{
    Error,
    channel::WorkerEnds,
    desk::{Desk, Wanted},
    edge::{
        agents::{self, Found, Scan, Sources, ToAgents},
        errand::FromErrand,
        note::{self, Noted, ToNote},
    },
};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Looks, once. `jailed` is false on a thread.
pub fn run(ends: WorkerEnds<ToAgents, FromErrand>, jailed: bool) {
    let Some((mut desk, init)) = Desk::open(ends) else { return };
    let demanded = init.demand == Demand::Required;
    let jail = if jailed { Jail::begin(init.memory, demanded) } else { Ok(Jail::unconfined()) };
    match jail {
        Ok(jail) => {
            // ends when the supervisor is gone, when it broke the edge, and when the look is done
            let _ = Looker { desk, init, jail }.serve();
        }
        Err(report) => _ = desk.say(&FromErrand::Short(report)),
    }
}

struct Looker {
    desk: Desk<agents::Init, Scan>,
    init: agents::Init,
    jail: Jail,
}

impl Looker {
    fn serve(mut self) -> Result<(), Error> {
        self.desk.say(&FromErrand::Ready(self.jail.report.clone()))?;
        while let Some(wanted) = self.desk.wanted()? {
            match wanted {
                Wanted::Call(call) => return self.scan(call.id, call.budget_ms, &call.ask),
                Wanted::SelfProbe(id) => {
                    if self.finish(id, Stores::default())?.is_some() {
                        let report = self.jail.probe();
                        self.desk.say(&FromErrand::SelfProbe { id, report })?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Finishes the jail; `None` where it falls short of the demand, which is said.
    fn finish(&mut self, id: u64, mut stores: Stores) -> Result<Option<Stores>, Error> {
        let (dirs, files) = (std::mem::take(&mut stores.dirs), std::mem::take(&mut stores.files));
        match self.jail.finish(dirs, files) {
            Ok(None) => Ok(Some(stores)),
            Ok(Some(report)) => self.desk.say(&FromErrand::Closed { id, report }).map(|()| Some(stores)),
            Err(report) => self.desk.say(&FromErrand::Short(report)).map(|()| None),
        }
    }

    fn scan(mut self, id: u64, budget_ms: u32, scan: &Scan) -> Result<(), Error> {
        let until = Instant::now() + Duration::from_millis(u64::from(budget_ms) * 4 / 5);
        let found = match &scan.at {
            Sources::Processes { traced } => self.processes(id, Look::new(&scan.root, &[], now_ms(), until), traced)?,
            Sources::Stores { known } => self.stores(id, Look::new(&scan.root, known, now_ms(), until))?,
        };
        let Some(found) = found else { return Ok(()) };
        self.desk.answer(id, &Ok(found))?;
        // whoever looks at this process may not be done with it: its end is the supervisor's to cause
        self.desk.wanted().map(drop)
    }

    /// At the system's processes; `None` where the jail falls short.
    fn processes(&mut self, id: u64, mut look: Look<'_>, traced: &[String]) -> Result<Option<Found>, Error> {
        // names alone, before the jail is finished; of the stores no more than that they are there, which confirms a name
        let processes = Processes::look(&look.root, self.init.pid);
        let stores = Stores::hold(&self.init.stores);
        if self.finish(id, Stores::default())?.is_none() {
            return Ok(None);
        }
        // from here on, what other programs wrote
        processes.read(&mut look, &|agent| stores.are_of(agent) || traced.iter().any(|traced| traced == agent));
        Ok(Some(found(look)))
    }

    /// At what other programs keep; `None` where the jail falls short or nobody waits any more.
    fn stores(&mut self, id: u64, mut look: Look<'_>) -> Result<Option<Found>, Error> {
        // names alone, before the jail is finished
        let mut stores = Stores::hold(&self.init.stores);
        let (presence, handles) = Presence::hold(&self.init.presence, &mut look);
        stores.dirs.extend(handles);
        for unseen in std::mem::take(&mut stores.unseen) {
            look.miss(&unseen.what, unseen.reason, unseen.count);
        }
        let Some(stores) = self.finish(id, stores)? else { return Ok(None) };
        // from here on, what other programs wrote
        presence.read(&mut look, self.init.pid);
        for held in &stores.held {
            // nobody waits: what was found so far is dropped with the process
            if self.desk.is_left(id) {
                return Ok(None);
            }
            sessions::read(held, &mut look);
        }
        let mut found = found(look);
        for finding in found.findings.iter_mut().filter(|finding| finding.source == AgentSource::Session) {
            // a store may name a process that is long gone
            finding.pid = finding.pid.filter(|pid| presence.lives(*pid));
        }
        Ok(Some(found))
    }
}

/// What came of a look.
fn found(look: Look<'_>) -> Found {
    let at_ms = look.now_ms;
    let (findings, unseen, known) = look.end();
    Found { findings, unseen, known, at_ms }
}

/// Keeps the presence file of this server. `jailed` is false on a thread.
pub fn run_note(ends: WorkerEnds<ToNote, FromErrand>, jailed: bool) {
    let Some((mut desk, init)) = Desk::open(ends) else { return };
    let parent = bulkhead_sandbox::identity::parent();
    let opened = init.dir.as_deref().and_then(stores::path).map(|path| Notebook::open(&path, init.pid));
    let handle = opened.as_ref().and_then(|opened| opened.as_ref().ok()?.handle().ok());
    let report = if jailed { jail::note(init.memory, handle) } else { jail::unconfined_note() };
    if init.demand == Demand::Required && report.missing().next().is_some() {
        let _ = desk.say(&FromErrand::Short(report));
        return;
    }
    let mut book = opened.unwrap_or(Err(NoteError::Nowhere));
    let mut serve = || -> Result<(), Error> {
        desk.say(&FromErrand::Ready(report.clone()))?;
        while let Some(wanted) = desk.wanted()? {
            match wanted {
                Wanted::Call(call) => {
                    let done = match (&mut book, &call.ask) {
                        (Ok(book), note::Ask::Note(note)) => book.write(note, now_ms()),
                        (Ok(book), note::Ask::Leave) => book.remove(),
                        (Err(why), _) => Err(why.clone()),
                    };
                    desk.answer(call.id, &Ok(Noted { failed: done.err().map(|why| why.to_string()) }))?;
                }
                Wanted::SelfProbe(id) => {
                    desk.say(&FromErrand::SelfProbe { id, report: jail::probe(&report, parent) })?;
                }
            }
        }
        Ok(())
    };
    // ends when the supervisor is gone, or broke the edge
    let _ = serve();
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
