//! The life of a worker: one `Init`, the jail, then calls one after the other until the requests end.
//! Trust: the supervisor may be taken over, so [`crate::hearing`] judges what it says; no call can end the worker.

use crate::{
    answers,
    crew::Crew,
    discover::{self, Bounds, Trust},
    hearing::Hearing,
    jail::{self, Home, Jailed, Plan},
    memory,
    open::Caches,
    operator_config::OperatorConfig,
    pace::{LeftBehind, Pace},
    place, records,
    repo::{Operator, Repo},
    run_dir,
};
use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    isolation::{Demand, Report},
};
use bulkhead_ipc::{
    channel::{Sender, WorkerEnds},
    chunk, codec,
    edge::read::{Answer, Ask, Call, FromRead, Ready, Reply, Repository, ToRead},
};
use std::{
    cell::RefCell,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    rc::Rc,
    sync::Arc,
    thread,
};

/// Stack of the thread that serves; directories and trees are walked by recursion.
const STACK: usize = 8 << 20;

/// Runs a worker to its end. `jailed` says that this is a process of its own, which may confine itself; otherwise it
/// is a thread of a single process and reports that nothing confines it.
pub fn run(ends: WorkerEnds<ToRead, FromRead>, jailed: bool) {
    let WorkerEnds { mut requests, mut answers } = ends;
    let Ok(Some(ToRead::Init(init))) = requests.receive() else { return };
    let parent = bulkhead_sandbox::identity::parent();
    let run_dir = run_dir::chosen(init.path.as_deref(), &init.run_dirs);
    // what it says is about repositories
    let config = if run_dir.is_some() { OperatorConfig::default() } else { OperatorConfig::read(&init) };
    let trust = Trust::new(&init.trust, &config);
    let ceilings = jail::ceilings(&init.ceilings);
    let plan = Plan {
        path: init.path.as_deref(),
        run_dir: run_dir.as_deref(),
        bounds: Bounds { ceilings: &ceilings, trust: &trust },
        empty_root: init.empty_root,
        memory: init.memory,
        demand_required: init.demand == Demand::Required,
    };
    let (found, report, directories) = match if jailed { jail::enter(plan) } else { jail::without(plan) } {
        Jailed::Short(report) => {
            let _ = answers.send(&FromRead::Short(report));
            return;
        }
        Jailed::In { found, report, directories } => (*found, report, directories),
    };
    let hearing = Arc::new(Hearing::new(requests));
    let threads = init.threads;
    // threads of a single process share its memory, and no limit is on it
    let spare = if jailed { memory::spare(init.memory) } else { 0 };
    let server = Server { threads, directories, spare, config, trust, ceilings, report, parent, hearing, answers };
    // a thread of its own for its stack; and only now: before it was closed, the jail covered one thread
    let serving = thread::Builder::new().name("serve".into()).stack_size(STACK).spawn(move || server.serve(found));
    if let Ok(serving) = serving {
        let _ = serving.join();
    }
}

/// What the serving thread takes with it.
struct Server {
    threads: u32,
    directories: usize,
    spare: usize,
    config: OperatorConfig,
    trust: Trust,
    ceilings: Vec<PathBuf>,
    report: Report,
    parent: i32,
    hearing: Arc<Hearing>,
    answers: Sender<FromRead>,
}

impl Server {
    fn serve(self, found: Result<Option<Home>, ReadFailure>) {
        let operator = Operator {
            config: Rc::new(self.config),
            trust: Rc::new(self.trust),
            ceilings: Rc::from(&self.ceilings[..]),
            verdicts: Default::default(),
            directories: self.directories,
            crew: Rc::new(Crew::of(self.threads as usize)),
        };
        let answers = Rc::new(RefCell::new(self.answers));
        let say = |message: &FromRead| answers.borrow_mut().send(message);
        let opened = found.and_then(|home| {
            let repo = match &home {
                Some(Home::Repository(found)) => {
                    let open = || Repo::open(found.clone(), operator.clone(), Caches::Main).map(Some);
                    catch_unwind(AssertUnwindSafe(open)).unwrap_or_else(|_| Err(internal()))?
                }
                Some(Home::RunDirectory(_)) | None => None,
            };
            Ok((home, repo))
        });
        let (home, repo) = match opened {
            Ok(opened) => opened,
            Err(failure) => {
                let _ = say(&FromRead::Refused { failure, report: self.report });
                return;
            }
        };
        let ready = Ready { report: self.report.clone(), repository: home.as_ref().map(repository) };
        if say(&FromRead::Ready(Box::new(ready))).is_err() {
            return;
        }
        let mut desk = Desk {
            repo,
            home,
            operator,
            report: self.report,
            parent: self.parent,
            hearing: Arc::clone(&self.hearing),
            answers: Rc::clone(&answers),
            left: LeftBehind::default(),
            spare: self.spare,
        };
        let trust = Rc::clone(&desk.operator.trust);
        let bounds = Bounds { ceilings: &self.ceilings, trust: &trust };
        while let Some(call) = self.hearing.call() {
            let moved = match &desk.home {
                Some(Home::Repository(found)) => !place::still_leads_to(found, call.place.as_ref(), bounds),
                Some(Home::RunDirectory(dir)) => !dir.still_there(call.place.as_ref()),
                None => false,
            };
            // what an earlier call left behind takes the machine's time until this process ends
            if moved || desk.left.any() {
                let _ = say(&FromRead::Moved { id: call.id });
                return;
            }
            let answer = desk.answer(&call);
            if desk.send(call.id, &answer).is_err() {
                return;
            }
        }
    }
}

/// Where calls are answered, one at a time.
struct Desk {
    /// Gone after a fault, and opened anew by the next call.
    repo: Option<Repo>,
    home: Option<Home>,
    operator: Operator,
    report: Report,
    parent: i32,
    hearing: Arc<Hearing>,
    answers: Rc<RefCell<Sender<FromRead>>>,
    /// What the last call left behind.
    left: LeftBehind,
    /// Bytes that every call keeps free.
    spare: usize,
}

impl Desk {
    fn answer(&mut self, call: &Call) -> Answer {
        if call.ask == Ask::SelfProbe {
            return Ok(Reply::SelfProbe(crate::probe::report(&self.report, self.parent)));
        }
        let (id, answers) = (call.id, Rc::clone(&self.answers));
        let pace = Pace::new(id, Arc::clone(&self.hearing), call.budget_ms, move |done| {
            // a supervisor that does not hear it is noticed at the answer
            let _ = answers.borrow_mut().send(&FromRead::Progress { id, done, total: None });
        });
        let pace = pace.with_spare(self.spare);
        self.left = pace.left_behind();
        let served = catch_unwind(AssertUnwindSafe(|| {
            if let Some(Home::RunDirectory(dir)) = &self.home {
                return records::answer(dir, &call.ask, &pace);
            }
            let repo = self.current()?;
            let answer = answers::answer(repo, &call.ask, &pace).unwrap_or_else(|| Err(internal()));
            if answer.as_ref().is_err_and(|e| matches!(e.reason, Reason::ObjectMissing | Reason::Corrupt)) {
                repo.doubt();
            }
            answer
        }));
        served.unwrap_or_else(|_| {
            // whatever the panic left half-done goes with the handles
            self.repo = None;
            Err(internal())
        })
    }

    /// The repository, opened anew where something changed that decides how it is read, or where a fault dropped it.
    fn current(&mut self) -> Result<&Repo, ReadFailure> {
        let Some(Home::Repository(home)) = &self.home else {
            return Err(ReadFailure::new(
                Reason::NotARepository,
                "call",
                "This worker was started without a repository.",
            ));
        };
        if self.repo.as_ref().is_none_or(|repo| !repo.is_current()) {
            self.repo = None;
            discover::special_files(&home.git_dir, &home.common_dir)?;
            self.repo = Some(Repo::open(home.clone(), self.operator.clone(), Caches::Main)?);
        }
        self.repo.as_ref().ok_or_else(internal)
    }

    fn send(&self, id: u64, answer: &Answer) -> Result<(), bulkhead_ipc::Error> {
        let bytes = codec::encode_answer(answer).or_else(|_| {
            let failure = ReadFailure::new(Reason::TooLarge, "answer", "The answer is too long; ask for fewer rows.");
            codec::encode_answer::<Answer>(&Err(failure))
        })?;
        for (last, bytes) in chunk::split(&bytes) {
            self.answers.borrow_mut().send(&FromRead::Part { id, last, bytes: bytes.to_vec() })?;
        }
        Ok(())
    }
}

fn repository(home: &Home) -> Repository {
    match home {
        Home::Repository(found) => Repository {
            canonical: crate::files::path_bytes(found.canonical()),
            asked: found.asked,
            git_dir: found.git_dir_id,
            worktree: found.worktree_id,
        },
        // no repository has its working tree for a git directory, so none is ever taken for this one
        Home::RunDirectory(dir) => Repository {
            canonical: crate::files::path_bytes(&dir.path),
            asked: dir.id,
            git_dir: dir.id,
            worktree: Some(dir.id),
        },
    }
}

fn internal() -> ReadFailure {
    ReadFailure::new(
        Reason::Internal,
        "call",
        "A fault of this server; it was caught, and the next call starts afresh.",
    )
}
