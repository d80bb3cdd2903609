//! Workers of one kind, scripted: how many were started, how many live, and what the kernel says of them.
//! Trust: test code.

use super::JAILED;
use bulkhead_ipc::edge::{WorkerKind, launcher::StatusOf};
use bulkhead_supervisor::carrier::{Carrier, Ended, LastWords, Link, Local, StartError, queues};
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};
use tokio::{sync::mpsc, task::spawn_local};

/// What a worker of this kind does by its script, with what it hears and where it says: until it ends, or is ended.
pub type Act = fn(WorkerKind, &'static str, Rc<House>, mpsc::Receiver<Vec<u8>>, mpsc::Sender<Vec<u8>>) -> Local<Ended>;

/// How the workers that are started next behave; the last script counts for all after it.
pub struct House {
    pub scripts: Vec<&'static str>,
    act: Act,
    /// The launcher serves one of this kind at a time.
    alone: bool,
    pub started: Cell<usize>,
    pub alive: Cell<usize>,
    pub cancelled: Cell<usize>,
    /// Bytes of pieces that were not the last of their call.
    pub pieces: Cell<usize>,
    /// What the kernel says of each; `None`: there is no such process.
    pub status: RefCell<Option<&'static str>>,
}

/// The house as whoever starts workers sees it.
#[derive(Clone)]
pub struct Started(pub Rc<House>);

impl House {
    pub fn of(scripts: &[&'static str], act: Act, alone: bool) -> Started {
        Started(Rc::new(House {
            scripts: scripts.to_vec(),
            act,
            alone,
            started: Cell::default(),
            alive: Cell::default(),
            cancelled: Cell::default(),
            pieces: Cell::default(),
            status: RefCell::new(Some(JAILED)),
        }))
    }
}

impl Carrier for Started {
    fn start(&self, kind: WorkerKind, path: Option<Vec<u8>>) -> Local<Result<Link, StartError>> {
        assert_eq!(path, None, "{kind:?} is for no path");
        let house = Rc::clone(&self.0);
        assert!(!house.alone || house.alive.get() == 0, "a second one before the first is gone");
        let nth = house.started.get();
        house.started.set(nth + 1);
        let script = house.scripts.get(nth).or(house.scripts.last()).copied().expect("a script");
        if script == "unstartable" {
            return Box::pin(async {
                Err(StartError { why: "no processes left".to_owned(), too_fast: false, for_good: false })
            });
        }
        house.alive.set(house.alive.get() + 1);
        let (wire, heard, said) = queues::pair();
        let (ended, endings) = mpsc::channel(1);
        let (killer, mut killed) = mpsc::channel::<()>(1);
        let act = (house.act)(kind, script, Rc::clone(&house), heard, said);
        spawn_local(async move {
            let end = tokio::select! {
                end = act => end,
                _ = killed.recv() => Ended::Signal(9),
            };
            house.alive.set(house.alive.get() - 1);
            let _ = ended.try_send(end);
        });
        let end = move |_| _ = killer.try_send(());
        let link = Link::new(format!("{script} {nth}"), Some(42), wire, endings, end, Rc::new(LastWords::default()));
        Box::pin(async { Ok(link) })
    }

    fn status(&self, _of: StatusOf) -> Local<Result<String, String>> {
        let status = *self.0.status.borrow();
        Box::pin(async move { status.map(str::to_owned).ok_or_else(|| "no such process".to_owned()) })
    }

    fn close(&self) -> Local<()> {
        Box::pin(async {})
    }
}
