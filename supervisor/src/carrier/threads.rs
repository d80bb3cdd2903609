//! Single-process mode: a worker is a thread, its pipes are queues in memory with the same frames.
//! Trust: none is gained: a thread can do all that this process can, so this carrier serves `--isolation off` alone.

use super::{Carrier, Ended, Ending, LastWords, Link, Local, StartError, Wire, queues};
use bulkhead_ipc::{
    Error,
    channel::{FrameSink, FrameSource, Now, WorkerEnds},
    edge::{
        Inits, WorkerKind,
        agents::ToAgents,
        audit::{FromAudit, ToAudit},
        errand::FromErrand,
        gateway::{FromGateway, ToGateway},
        launcher::StatusOf,
        note::ToNote,
        read::{FromRead, ToRead},
        syntax::ToSyntax,
        write::ToWrite,
    },
};
use std::{
    fmt, io,
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering},
    },
    thread,
};
use tokio::sync::mpsc;

/// Stack of a worker thread in bytes, as a process has it.
const STACK: usize = 8 << 20;
/// Threads that were told to go and did not; with so many, no further one is started.
pub const MAX_ABANDONED: usize = 8;

// state of a thread
const RUNNING: u8 = 0;
const ABANDONED: u8 = 1;
const OVER: u8 = 2;

/// The main functions of the workers, given by the front door.
#[derive(Clone, Copy)]
pub struct WorkerTable {
    /// Of worker-read.
    pub read: fn(WorkerEnds<ToRead, FromRead>),
    /// Of worker-audit.
    pub audit: fn(WorkerEnds<ToAudit, FromAudit>),
    /// Of worker-agents.
    pub agents: fn(WorkerEnds<ToAgents, FromErrand>),
    /// Of worker-syntax.
    pub syntax: fn(WorkerEnds<ToSyntax, FromErrand>),
    /// Of the worker that keeps the presence file.
    pub note: fn(WorkerEnds<ToNote, FromErrand>),
    /// Of worker-gateway.
    pub gateway: fn(WorkerEnds<ToGateway, FromGateway>),
    /// Of worker-write, both kinds.
    pub write: fn(WorkerEnds<ToWrite, FromErrand>),
}

impl fmt::Debug for WorkerTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WorkerTable")
    }
}

/// Runs workers on threads.
#[derive(Debug)]
pub struct Threads {
    table: WorkerTable,
    inits: Inits,
    started: AtomicU64,
    abandoned: Arc<AtomicUsize>,
}

impl Threads {
    /// Workers out of `table`; each hears its row of `inits` first, a worker-read with its own path in it.
    #[must_use]
    pub fn new(table: WorkerTable, inits: Inits) -> Self {
        Self { table, inits, started: AtomicU64::new(0), abandoned: Arc::default() }
    }

    fn spawn(&self, kind: WorkerKind, path: Option<Vec<u8>>) -> Result<Link, StartError> {
        if self.abandoned.load(Ordering::Relaxed) >= MAX_ABANDONED {
            return Err(StartError::new(format!(
                "{MAX_ABANDONED} worker threads hang and cannot be ended in single-process mode; restart the server"
            )));
        }
        let name = format!("worker-{} thread {}", kind.name(), self.started.fetch_add(1, Ordering::Relaxed) + 1);
        let (mut wire, heard, said) = queues::pair();
        // two places: the thread's own end, and its being abandoned; the first one counts
        let (ended, endings) = mpsc::channel(2);
        let state = Arc::new(AtomicU8::new(RUNNING));
        let init = self.inits.first(kind, path);
        let posted = init.and_then(|body| wire.post(body));
        posted.map_err(|e| StartError::new(format!("the first frame cannot be sent: {e}")))?;

        let (table, thread_state, count, thread_ended) =
            (self.table, Arc::clone(&state), Arc::clone(&self.abandoned), ended.clone());
        let main = move || {
            let (heard, said) = (Heard(heard), Said(said));
            match kind {
                WorkerKind::Read => (table.read)(WorkerEnds::new(heard, said)),
                WorkerKind::Audit => (table.audit)(WorkerEnds::new(heard, said)),
                WorkerKind::Agents => (table.agents)(WorkerEnds::new(heard, said)),
                WorkerKind::Syntax => (table.syntax)(WorkerEnds::new(heard, said)),
                WorkerKind::Note => (table.note)(WorkerEnds::new(heard, said)),
                WorkerKind::Gateway => (table.gateway)(WorkerEnds::new(heard, said)),
                WorkerKind::Write | WorkerKind::WriteNet => (table.write)(WorkerEnds::new(heard, said)),
            }
        };
        let body = move || {
            let how = match catch_unwind(AssertUnwindSafe(main)) {
                Ok(()) => "its thread returned",
                Err(_) => "its thread panicked",
            };
            if thread_state.swap(OVER, Ordering::SeqCst) == ABANDONED {
                count.fetch_sub(1, Ordering::SeqCst);
            }
            let _ = thread_ended.try_send(Ended::Other(how));
        };
        thread::Builder::new()
            .name(format!("worker-{}", kind.name()))
            .stack_size(STACK)
            .spawn(body)
            .map_err(|e| StartError::new(format!("no thread can be started: {e}")))?;

        let count = Arc::clone(&self.abandoned);
        let end = move |ending| {
            if ending == Ending::Kill {
                // counted first: the thread may end, and count itself out, at any time
                count.fetch_add(1, Ordering::SeqCst);
                if state.compare_exchange(RUNNING, ABANDONED, Ordering::SeqCst, Ordering::SeqCst).is_err() {
                    count.fetch_sub(1, Ordering::SeqCst);
                }
            }
            let _ = ended.try_send(Ended::Other("its thread was told to end"));
        };
        Ok(Link::new(name, None, wire, endings, end, Rc::new(LastWords::default())))
    }
}

impl Carrier for Threads {
    fn start(&self, kind: WorkerKind, path: Option<Vec<u8>>) -> Local<Result<Link, StartError>> {
        let link = self.spawn(kind, path);
        Box::pin(async { link })
    }

    fn status(&self, _of: StatusOf) -> Local<Result<String, String>> {
        Box::pin(async { Err("single-process mode: no launcher, no separate processes".to_owned()) })
    }

    fn close(&self) -> Local<()> {
        // threads go with the process
        Box::pin(async {})
    }
}

struct Heard(mpsc::Receiver<Vec<u8>>);
struct Said(mpsc::Sender<Vec<u8>>);

impl FrameSource for Heard {
    fn next_frame(&mut self) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.0.blocking_recv())
    }

    fn frame_now(&mut self) -> Result<Now<Vec<u8>>, Error> {
        Ok(match self.0.try_recv() {
            Ok(frame) => Now::Said(frame),
            Err(mpsc::error::TryRecvError::Empty) => Now::Nothing,
            Err(mpsc::error::TryRecvError::Disconnected) => Now::End,
        })
    }
}

impl FrameSink for Said {
    fn put_frame(&mut self, body: &[u8]) -> Result<(), Error> {
        self.0.blocking_send(body.to_vec()).map_err(|_| Error::Io(io::ErrorKind::BrokenPipe.into()))
    }
}
