//! The life of a worker: `Init`, token, jail, then exchanges, any number of them at once, until the requests end.
//! Trust: the supervisor may be taken over: what is out of place or out of bounds ends the worker.

use crate::{
    exchange::{self, Place},
    hearing::{Answers, Requests},
    jail,
    stream::Source,
    token::Token,
    wire::Gauge,
};
use bulkhead_contract::isolation::{Demand, Report};
use bulkhead_ipc::{
    Error,
    channel::WorkerEnds,
    chunk::{self, Joiner},
    codec,
    edge::gateway::{Exchange, Failure, FromGateway, MAX_OPEN, Outcome, ToGateway},
};
use std::{cell::RefCell, collections::HashMap, io, path::PathBuf, rc::Rc, time::Duration};
use tokio::{
    runtime::{Builder, Runtime},
    sync::oneshot,
    task::LocalSet,
    time::Instant,
};

/// How the worker hears, speaks and gets its streams.
#[derive(Debug)]
pub enum Ends {
    /// A process, which confines itself: its pipes, and the socket to the launcher, which dials.
    #[cfg(target_os = "linux")]
    Process {
        /// What it hears.
        requests: std::fs::File,
        /// What it says.
        answers: std::fs::File,
        /// The launcher.
        dialler: std::os::fd::OwnedFd,
    },
    /// A thread of a single process, which dials itself.
    Thread(WorkerEnds<ToGateway, FromGateway>),
}

/// Runs a worker to its end.
pub fn run(ends: Ends) {
    // ends when the supervisor is gone, when it broke the edge, and when the launcher did
    let _ = start(ends);
}

fn start(ends: Ends) -> Result<(), Error> {
    let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
    let within = runtime.enter();
    let (begun, jailed) = match ends {
        #[cfg(target_os = "linux")]
        Ends::Process { requests, answers, dialler } => {
            let Some((init, requests)) = Requests::piped(requests)? else { return Ok(()) };
            jail::early(init.memory);
            (Some((init, requests, Answers::piped(answers), Some(Source::held(dialler)?))), true)
        }
        Ends::Thread(ends) => {
            (Requests::queued(ends)?.map(|(init, requests, answers)| (init, requests, answers, None)), false)
        }
    };
    let Some((init, requests, mut answers, source)) = begun else { return Ok(()) };
    let token = match init.token.as_deref().map(load).transpose() {
        Ok(token) => token,
        Err(why) => return answers.say(FromGateway::Refused { why }),
    };
    let parent = bulkhead_sandbox::identity::parent();
    #[cfg(target_os = "linux")]
    let report = if jailed { jail::enter() } else { jail::unconfined() };
    #[cfg(not(target_os = "linux"))]
    let (report, _) = (jail::unconfined(), jailed);
    if init.demand == Demand::Required && report.missing().next().is_some() {
        return answers.say(FromGateway::Short(report));
    }
    let locked = token.as_ref().is_some_and(|token| token.locked);
    answers.say(FromGateway::Ready { report: report.clone(), token: token.is_some(), locked })?;
    let host = init.address.map(|address| address.to_string()).unwrap_or_default();
    let source = source.unwrap_or(Source::Own(init.address));
    let place = Rc::new(Place { source, host, token });
    drop(within);
    let desk = Desk { place, answers: Rc::new(RefCell::new(answers)), open: HashMap::new(), report, parent };
    serve(&runtime, requests, desk)
}

fn load(path: &[u8]) -> Result<Token, String> {
    let path = named(path).ok_or("the path of the token cannot be used here")?;
    Token::load(&path).map_err(|why| format!("{}: {why}", path.display()))
}

#[cfg(unix)]
fn named(bytes: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

#[cfg(not(unix))]
fn named(bytes: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(bytes).ok().map(PathBuf::from)
}

fn serve(runtime: &Runtime, mut requests: Requests, mut desk: Desk) -> Result<(), Error> {
    let local = LocalSet::new();
    let place = Rc::clone(&desk.place);
    local.block_on(runtime, async {
        let mut joiner = Joining::default();
        let mut launcher = std::pin::pin!(place.source.serve());
        loop {
            let message = tokio::select! {
                message = requests.next() => message?,
                fault = &mut launcher => return Err(fault.into()),
            };
            match message {
                Some(ToGateway::Part { id, last, bytes }) => {
                    if let Some(exchange) = joiner.join(id, last, bytes)? {
                        desk.begin(id, exchange)?;
                    }
                }
                Some(ToGateway::Cancel { id }) => desk.cancel(id),
                Some(ToGateway::SelfProbe { id }) => desk.probe(id)?,
                Some(ToGateway::Init(_)) => return Err(odd()),
                None => return Ok(()),
            }
        }
    })
}

fn odd() -> Error {
    Error::Io(io::Error::other("a message that does not belong here"))
}

/// An exchange that comes in pieces; those of one come without another's between them.
#[derive(Default)]
struct Joining {
    id: Option<u64>,
    pieces: Joiner,
}

impl Joining {
    fn join(&mut self, id: u64, last: bool, bytes: Vec<u8>) -> Result<Option<Exchange>, Error> {
        if *self.id.get_or_insert(id) != id || (bytes.is_empty() && !last) {
            return Err(odd());
        }
        let Some(whole) = self.pieces.push(last, bytes)? else { return Ok(None) };
        self.id = None;
        let exchange: Exchange = codec::decode_answer(&whole)?;
        exchange.check().map_err(|_| odd())?;
        Ok(Some(exchange))
    }
}

struct Desk {
    place: Rc<Place>,
    answers: Rc<RefCell<Answers>>,
    /// What is open, and how it is given up.
    open: HashMap<u64, oneshot::Sender<()>>,
    report: Report,
    parent: i32,
}

impl Desk {
    fn begin(&mut self, id: u64, exchange: Exchange) -> Result<(), Error> {
        self.open.retain(|_, running| !running.is_closed());
        if self.open.len() >= MAX_OPEN || self.open.contains_key(&id) {
            return Err(odd());
        }
        let (give_up, given_up) = oneshot::channel();
        self.open.insert(id, give_up);
        let (place, answers) = (Rc::clone(&self.place), Rc::clone(&self.answers));
        let deadline = Instant::now() + Duration::from_millis(u64::from(exchange.budget_ms));
        let gauge = Gauge::new({
            let answers = Rc::clone(&answers);
            // where nobody hears it, this process ends
            move || _ = answers.borrow_mut().say(FromGateway::Leaving { id })
        });
        drop(tokio::task::spawn_local(async move {
            let outcome = tokio::select! {
                outcome = exchange::run(&place, exchange, deadline, Rc::clone(&gauge)) => outcome,
                // the other end lives as long as this is open
                Ok(()) = given_up => Outcome::Failed { why: Failure::Timeout, sent: gauge.sent.get() },
            };
            // where nobody hears it, this process ends
            let _ = tell(&answers, id, &outcome);
        }));
        Ok(())
    }

    fn cancel(&mut self, id: u64) {
        if let Some(give_up) = self.open.remove(&id) {
            // where it is over already, its outcome is on its way
            let _ = give_up.send(());
        }
    }

    fn probe(&mut self, id: u64) -> Result<(), Error> {
        self.open.retain(|_, running| !running.is_closed());
        if !self.open.is_empty() {
            return Err(odd());
        }
        let report = jail::probe(&self.report, self.parent);
        self.answers.borrow_mut().say(FromGateway::SelfProbe { id, report })
    }
}

fn tell(answers: &RefCell<Answers>, id: u64, outcome: &Outcome) -> Result<(), Error> {
    let whole = codec::encode_answer(outcome)?;
    let mut answers = answers.borrow_mut();
    for (last, bytes) in chunk::split(&whole) {
        answers.say(FromGateway::Part { id, last, bytes: bytes.to_vec() })?;
    }
    Ok(())
}
