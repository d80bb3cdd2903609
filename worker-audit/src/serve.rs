//! The life of a worker: `Init`, keys, jail, the ledger, then groups of events until the requests end.
//! Trust: the supervisor may be taken over: what is out of place or out of bounds ends the worker, and cuts nothing.

use crate::{event, fingerprint::FingerprintKey, jail, keys::Keys};
use bulkhead_contract::isolation::{Demand, Report};
use bulkhead_ipc::{
    Error,
    channel::{Now, Receiver, Sender, WorkerEnds},
    edge::audit::{self, Fault, FromAudit, Init, Known, Ready, Standing, ToAudit},
};
use bulkhead_ledger::{
    append::{AppendError, Appended, Appender, Directory, Notice, Settings, SystemHost, Unrecorded, disk},
    hash::Hash,
    head::Head,
    limits::MAX_GROUP,
    uuid::Uuid,
};
use std::path::{Path, PathBuf};

/// How the worker has its files.
#[derive(Debug)]
pub enum Files {
    /// It opens them itself: a thread of a single process.
    Own,
    /// It is handed them over this socket: a process, which confines itself.
    #[cfg(target_os = "linux")]
    Held(std::os::fd::OwnedFd),
}

/// Runs a worker to its end.
pub fn run(ends: WorkerEnds<ToAudit, FromAudit>, files: Files) {
    let WorkerEnds { mut requests, answers } = ends;
    let Ok(Some(ToAudit::Init(init))) = requests.receive() else { return };
    // refused, it ends the process, and another one is started
    #[cfg(target_os = "linux")]
    let _ = bulkhead_sandbox::signals::oversized_writes_fail();
    let jailed = !matches!(files, Files::Own);
    if jailed {
        jail::early(init.memory);
    }
    let parent = bulkhead_sandbox::identity::parent();
    let mut desk = Desk { requests, answers, report: Report::default(), parent };
    let ledger = init.ledger.as_deref().and_then(path);
    let keys = match ledger.as_deref().map(|ledger| load(&init, ledger)).transpose() {
        Ok(keys) => keys.unwrap_or_default(),
        Err(why) => {
            let _ = desk.answers.send(&FromAudit::Refused { why });
            return;
        }
    };
    desk.report = if jailed { jail::enter() } else { jail::unconfined() };
    if init.demand == Demand::Required && desk.report.missing().next().is_some() {
        let _ = desk.answers.send(&FromAudit::Short(desk.report));
        return;
    }
    // ends when the supervisor is gone, when it broke the edge, and when the ledger is lost
    let _ = desk.greet(&keys).and_then(|known| match (known, ledger, files) {
        (Some(known), Some(ledger), Files::Own) => match disk::open_directory(&ledger) {
            Ok(directory) => desk.record(directory, keys, known, init.compat),
            Err(fault) => desk.lose(&fault.to_string(), false),
        },
        #[cfg(target_os = "linux")]
        (Some(known), Some(_), Files::Held(socket)) => {
            desk.record(crate::directory::Held::new(socket), keys, known, init.compat)
        }
        (Some(_), None, _) => desk.lose("no ledger is configured", false),
        (None, ..) => Ok(()),
    });
}

fn load(init: &Init, ledger: &Path) -> Result<Keys, String> {
    let named = match &init.sign_key {
        Some(bytes) => Some(path(bytes).ok_or("the signing key's path cannot be used here")?),
        None => None,
    };
    Keys::load(init, ledger, named.as_deref()).map_err(|why| why.to_string())
}

#[cfg(unix)]
fn path(bytes: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

#[cfg(not(unix))]
fn path(bytes: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(bytes).ok().map(PathBuf::from)
}

/// The ledger as the last acknowledgement left it; nothing known at first.
type KnownBefore = Option<Known>;

/// Where the supervisor is heard and answered.
struct Desk {
    requests: Receiver<ToAudit>,
    answers: Sender<FromAudit>,
    report: Report,
    parent: i32,
}

impl Desk {
    /// Says that the jail is on and waits to be told to take the ledger up; `None` where that never comes.
    fn greet(&mut self, keys: &Keys) -> Result<Option<KnownBefore>, Error> {
        let key = keys.sign.as_ref().map(|key| key.public().id().to_string());
        let ready = Ready { report: self.report.clone(), key, locked: keys.locked };
        self.answers.send(&FromAudit::Ready(Box::new(ready)))?;
        loop {
            match self.requests.receive()? {
                Some(ToAudit::Open { known }) => return Ok(Some(known)),
                Some(ToAudit::SelfProbe { id }) => self.probe(id)?,
                _ => return Ok(None),
            }
        }
    }

    fn probe(&mut self, id: u64) -> Result<(), Error> {
        let report = jail::probe(&self.report, self.parent);
        self.answers.send(&FromAudit::SelfProbe { id, report })
    }

    fn lose(&mut self, why: &str, tampered: bool) -> Result<(), Error> {
        self.answers.send(&FromAudit::Lost { why: why.to_owned(), tampered })
    }

    /// Takes the ledger up and records what comes.
    fn record<D: Directory>(
        &mut self,
        directory: D,
        keys: Keys,
        known: KnownBefore,
        compat: bool,
    ) -> Result<(), Error> {
        let Keys { sign, fingerprint, .. } = keys;
        let at_least = known.map(|known| Head {
            ledger: known.ledger.as_deref().and_then(Uuid::read),
            sequence: known.sequence,
            hash: Hash(known.hash),
            created_at: 0,
        });
        let settings = Settings { key: sign, at_least, ledger_id: !compat, ..Settings::default() };
        match Appender::open(directory, SystemHost, settings) {
            Ok((appender, notices)) => {
                let mut book = Book { appender, fingerprint, last: at_least.map(known_of), is_behind: true };
                self.answers.send(&FromAudit::Opened(book.standing(&notices)))?;
                self.serve(&mut book)
            }
            Err(fault) => self.lose(&fault.to_string(), is_tampering(&fault)),
        }
    }

    fn serve<D: Directory>(&mut self, book: &mut Book<D>) -> Result<(), Error> {
        let mut next = self.next(book)?;
        while let Some(message) = next.take() {
            match message {
                ToAudit::Append { group, events } => {
                    let mut groups = vec![(group, events)];
                    // what waits by now shares one sync; nothing is waited for
                    while groups.iter().map(|(_, events)| events.len()).sum::<usize>() <= MAX_GROUP - audit::MAX_EVENTS
                    {
                        match self.requests.now()? {
                            Now::Said(ToAudit::Append { group, events }) => groups.push((group, events)),
                            Now::Said(other) => {
                                next = Some(other);
                                break;
                            }
                            Now::Nothing | Now::End => break,
                        }
                    }
                    if groups.iter().any(|(_, events)| !event::is_bounded(events)) {
                        return Ok(());
                    }
                    let (answers, lost) = book.append(&groups);
                    for answer in answers {
                        self.answers.send(&answer)?;
                    }
                    if let Some(fault) = lost {
                        return self.lose(&fault.to_string(), is_tampering(&fault));
                    }
                }
                ToAudit::Head { id } => {
                    // nothing is stated of a ledger that was not read
                    while book.is_behind {
                        if let Err(fault) = book.read_behind() {
                            return self.lose(&fault.to_string(), is_tampering(&fault));
                        }
                    }
                    let text = book.appender.head();
                    self.answers.send(&FromAudit::Head { id, text })?;
                }
                ToAudit::SelfProbe { id } => self.probe(id)?,
                ToAudit::Init(_) | ToAudit::Open { .. } => return Ok(()),
            }
            if next.is_none() {
                next = self.next(book)?;
            }
        }
        Ok(())
    }

    /// The next request. While none waits, what was left out of a long file when it was taken up is read, a piece between
    /// two looks; where that is damaged, nothing more is recorded.
    fn next<D: Directory>(&mut self, book: &mut Book<D>) -> Result<Option<ToAudit>, Error> {
        while book.is_behind {
            match self.requests.now()? {
                Now::Said(message) => return Ok(Some(message)),
                Now::End => return Ok(None),
                Now::Nothing => {}
            }
            if let Err(fault) = book.read_behind() {
                self.lose(&fault.to_string(), is_tampering(&fault))?;
                return Ok(None);
            }
        }
        self.requests.receive()
    }
}

/// The ledger, taken up.
struct Book<D: Directory> {
    appender: Appender<D, SystemHost>,
    fingerprint: Option<FingerprintKey>,
    last: Option<Known>,
    /// Something was left to be read when the ledger was taken up.
    is_behind: bool,
}

impl<D: Directory> Book<D> {
    fn standing(&self, notices: &[Notice]) -> Standing {
        Standing { last: self.last.clone(), notices: notices.iter().map(told).collect() }
    }

    /// Reads a piece of what was left to be read.
    fn read_behind(&mut self) -> Result<(), AppendError> {
        self.is_behind = self.appender.read_behind()?;
        Ok(())
    }

    /// Appends several groups at once; the answer to each, and the fault after which nothing more can be recorded.
    fn append(&mut self, groups: &[(u64, Vec<audit::Event>)]) -> (Vec<FromAudit>, Option<AppendError>) {
        let all = groups.iter().flat_map(|(_, events)| events);
        let events: Vec<_> = all.map(|told| event::told(told, self.fingerprint.as_ref())).collect();
        let (results, notices, lost) = match self.appender.append(&events) {
            Ok(Appended { results, notices }) => (results, notices, None),
            Err(fault) => {
                let results = events.iter().map(|_| Err(Unrecorded::Storage(fault.clone()))).collect();
                let lost = (is_tampering(&fault) || matches!(fault, AppendError::Broken(_))).then_some(fault);
                (results, Vec::new(), lost)
            }
        };
        if let Some(ack) = results.iter().rev().find_map(|result| result.as_ref().ok()) {
            let ledger = self.appender.ledger().map(|id| id.to_string());
            self.last = Some(Known { sequence: ack.sequence, hash: ack.hash.0, ledger });
        }
        let mut standing = self.standing(&notices);
        let mut results = results.into_iter();
        let answers = groups.iter().map(|(group, events)| {
            let faults = results.by_ref().take(events.len()).zip(0..).filter_map(|(result, index)| {
                let unrecorded = result.err()?;
                let again = matches!(unrecorded, Unrecorded::Storage(_));
                Some(Fault { index, why: unrecorded.to_string(), again })
            });
            let (group, faults) = (*group, faults.collect());
            let answer = FromAudit::Recorded { group, faults, standing: standing.clone() };
            standing.notices.clear();
            answer
        });
        (answers.collect(), lost)
    }
}

fn known_of(head: Head) -> Known {
    Known { sequence: head.sequence, hash: head.hash.0, ledger: head.ledger.map(|id| id.to_string()) }
}

/// The ledger is not what it was, or never was one: trying again changes nothing.
fn is_tampering(fault: &AppendError) -> bool {
    use AppendError as E;
    match fault {
        E::Swapped
        | E::Truncated { .. }
        | E::Rewritten
        | E::Cut { .. }
        | E::Replaced(_)
        | E::Chain { .. }
        | E::Record { .. }
        | E::NotALedger
        | E::Segments => true,
        E::Io(_) | E::LockTimeout(_) | E::Group(_) | E::Broken(_) | E::Retention(_) | E::FileFull => false,
    }
}

/// A notice, for the log.
fn told(notice: &Notice) -> String {
    match notice {
        Notice::Completed { sequence } => {
            format!("the last line lacked its end; it was whole (entry {sequence}) and is kept")
        }
        Notice::TornTailCut { bytes } => format!("a torn last line of {bytes} bytes, never acknowledged, was cut off"),
        Notice::OthersAdded { entries } => format!("other writers added {entries} entries"),
        Notice::Rotated { last } => format!("the file became a segment; its last entry is {last}"),
        Notice::Pruned { through } => format!("entries up to {through} gave way to a checkpoint"),
        Notice::PruneFailed(fault) => format!("the oldest segment could not be deleted: {fault}"),
        Notice::LostSight { known, retained } => {
            format!("what lies between entry {known} and {retained} was deleted by other writers")
        }
    }
}
