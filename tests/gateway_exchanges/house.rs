//! Launchers for every address that is tested, and a bridge over each, in the supervisor's own shape.
//! Trust: the test's own.

use crate::peer::Peer;
use bulkhead_contract::isolation::{Demand, Report, Row};
use bulkhead_ipc::edge::{
    Inits, agents, audit,
    gateway::{Exchange, Init, Method, Outcome},
    note, read, syntax, write,
};
use bulkhead_launcher::Table;
use bulkhead_sandbox::{inherited, spawn};
use bulkhead_supervisor::{
    carrier::{
        Carrier,
        launcher::Launcher,
        threads::{Threads, WorkerTable},
    },
    control::{Control, Stopper},
    gateway::{Bridge, Interrupted},
    settings::{LogLevel, OutputSchemas, Settings, ToolNames},
};
use bulkhead_worker_gateway::Ends;
use std::{
    cell::RefCell,
    fs,
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    os::fd::OwnedFd,
    path::PathBuf,
    process::ExitCode,
    rc::Rc,
    time::Duration,
};
use tokio::task::LocalSet;

/// A test of these: its name, and what it does.
pub type Case = (&'static str, fn(&House));

/// What both sides know, where they know something.
pub const TOKEN: &str = "a token that is long enough for nobody to try out";
const MEMORY: u64 = 512 << 20;

/// The worker: this program, started again by the launcher.
pub fn worker() -> ExitCode {
    let (requests, answers) = inherited::worker_pipes().expect("the launcher put the pipes there");
    let dialler = inherited::holder_socket().expect("the launcher put its socket there");
    bulkhead_worker_gateway::run(Ends::Process { requests, answers, dialler });
    ExitCode::SUCCESS
}

/// Where a bridge of these tests leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// The scripted peer.
    Peer,
    /// The same, without a launcher.
    PeerByThread,
    /// The same with a token.
    Known,
    /// The same with a token in a file that cannot be used.
    Unusable,
    /// Nobody listens.
    Nobody,
    /// Somebody listens and never accepts, and no more connections fit.
    Full,
}

/// Everything that lives as long as the tests.
pub struct House {
    pub peer: Peer,
    launchers: Vec<(To, SocketAddr, RefCell<Option<OwnedFd>>, i32)>,
    _keep: tempfile::TempDir,
    _full: (TcpListener, Vec<TcpStream>),
}

impl House {
    /// Forks, so it comes before the first thread.
    pub fn build() -> Self {
        let keep = tempfile::tempdir().expect("a directory");
        let base = keep.path().canonicalize().expect("it is there");
        let (token, unusable) = (base.join("token"), base.join("unusable"));
        for (path, mode) in [(&token, 0o600), (&unusable, 0o644)] {
            use std::os::unix::fs::PermissionsExt as _;
            fs::write(path, format!("{TOKEN}\n")).expect("ours");
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
        }
        let (peer, listener) = Peer::bind().expect("a port");
        let nobody = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|gone| gone.local_addr()).expect("a port");
        let full = full();
        let full_at = full.0.local_addr().expect("it listens");
        let rows = [
            (To::Peer, peer.address, None),
            (To::Known, peer.address, Some(&token)),
            (To::Unusable, peer.address, Some(&unusable)),
            (To::Nobody, nobody, None),
            (To::Full, full_at, None),
        ];
        let launchers = rows.map(|(to, address, token)| {
            let table = Table::new(inits(address, token)).expect("short");
            let forked = bulkhead_launcher::start(table).expect("a second process");
            spawn::set_nonblocking(&forked.socket).expect("a socket");
            (to, address, RefCell::new(Some(forked.socket)), forked.pid)
        });
        peer.serve(listener);
        Self { peer, launchers: launchers.into(), _keep: keep, _full: full }
    }

    /// Runs `test` over a bridge to there, on one thread as the supervisor does. The launcher serves every test that asks
    /// for the same place.
    pub fn over<T>(&self, to: To, test: impl AsyncFnOnce(&Lane) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let place = if to == To::PeerByThread { To::Peer } else { to };
        let (_, address, socket, pid) =
            self.launchers.iter().find(|(known, ..)| *known == place).expect("each has one");
        LocalSet::new().block_on(&runtime, async {
            let kept = socket.borrow().as_ref().map(|socket| socket.try_clone().expect("a descriptor"));
            let (carrier, demand): (Rc<dyn Carrier>, _) = if to == To::PeerByThread {
                let table = WorkerTable {
                    read: |_| (),
                    audit: |_| (),
                    agents: |_| (),
                    note: |_| (),
                    syntax: |_| (),
                    gateway: |ends| bulkhead_worker_gateway::run(Ends::Thread(ends)),
                    write: |_| (),
                };
                let mut inits = inits(*address, None);
                inits.gateway.demand = Demand::Off;
                (Rc::new(Threads::new(table, inits)), Demand::Off)
            } else {
                let socket = kept.expect("nothing takes it away");
                (Rc::new(Launcher::new(socket).expect("in a runtime")), Demand::Required)
            };
            let settings = Settings { gateway: Some(*address), gateway_token: to == To::Known, ..settings(demand) };
            let own = Report { process: "supervisor".to_owned(), rows: vec![fine()] };
            let bridge = Bridge::new(Rc::new(settings), Rc::clone(&carrier), &own);
            let lane = Lane { bridge, launcher: *pid };
            let result = test(&lane).await;
            lane.bridge.close();
            // the worker leaves when its pipe closes, and the next test needs its place
            lane.until_gone().await;
            // its end is heard here, where it was started: to the next bridge it would be a stranger's
            carrier.close().await;
            result
        })
    }
}

/// A bridge, and the launcher that serves it.
pub struct Lane {
    pub bridge: Bridge,
    launcher: i32,
}

/// An exchange of these tests; the time is far more than one takes.
pub fn get(path: &str) -> Exchange {
    Exchange { method: Method::Get, path: path.to_owned(), body: None, budget_ms: 20_000, authentic: false }
}

/// The same with a body.
pub fn post(path: &str, body: impl Into<Vec<u8>>) -> Exchange {
    Exchange { method: Method::Post, body: Some(body.into()), ..get(path) }
}

impl Lane {
    /// Carries one that nobody stops.
    pub async fn carry(&self, exchange: Exchange) -> Result<Outcome, Interrupted> {
        let (_stopper, control) = Control::pair(None);
        self.bridge.exchange(exchange, control).await
    }

    /// Begins one, which can be stopped.
    pub fn begin(&self, exchange: Exchange) -> (Stopper, tokio::task::JoinHandle<Result<Outcome, Interrupted>>) {
        let (stopper, control) = Control::pair(None);
        let bridge = self.bridge.clone();
        (stopper, tokio::task::spawn_local(async move { bridge.exchange(exchange, control).await }))
    }

    /// Its worker, while there is one.
    pub fn worker(&self) -> Option<i32> {
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.launcher)).ok()?;
        children.split_whitespace().next()?.parse().ok()
    }

    /// Open descriptors of its worker and of its launcher.
    pub fn descriptors(&self) -> (usize, usize) {
        let count = |pid: i32| fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
        (self.worker().map_or(0, count), count(self.launcher))
    }

    async fn until_gone(&self) {
        for _ in 0..3_000 {
            if self.worker().is_none() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the worker does not leave");
    }
}

/// A listener that accepts nobody, and as many connections as it takes to fill its queue.
fn full() -> (TcpListener, Vec<TcpStream>) {
    use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, bind, listen, socket};
    use std::os::fd::AsRawFd as _;
    let fd = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).expect("a socket");
    bind(fd.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, 0)).expect("a port");
    listen(&fd, Backlog::new(0).expect("a number")).expect("it listens");
    let listener = TcpListener::from(fd);
    let address = listener.local_addr().expect("its address");
    let mut held = Vec::new();
    while held.len() < 64
        && let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200))
    {
        held.push(stream);
    }
    (listener, held)
}

fn fine() -> Row {
    let text = "the test's own".to_owned();
    Row { capability: "writes".to_owned(), enforcer: text.clone(), sufficient: true, evidence: text }
}

fn inits(address: SocketAddr, token: Option<&PathBuf>) -> Inits {
    use std::os::unix::ffi::OsStrExt as _;
    let demand = Demand::Required;
    let token = token.map(|path| path.as_os_str().as_bytes().to_vec());
    Inits {
        read: read::Init {
            demand,
            empty_root: false,
            ceilings: Vec::new(),
            run_dirs: Vec::new(),
            path: None,
            trust: read::OwnerTrust::default(),
            home: None,
            xdg_config_home: None,
            memory: MEMORY,
            threads: 1,
        },
        audit: audit::Init { demand, ledger: None, sign_key: None, compat: false, memory: MEMORY },
        agents: agents::Init { demand, stores: Vec::new(), presence: Vec::new(), pid: 1, memory: MEMORY },
        note: note::Init { demand, dir: None, pid: 1, memory: MEMORY },
        syntax: syntax::Init { demand, memory: MEMORY },
        gateway: Init { demand, address: Some(address), token, memory: MEMORY },
        write: write::Init::closed(demand),
    }
}

fn settings(demand: Demand) -> Settings {
    Settings {
        demand,
        standing: Default::default(),
        empty_root: false,
        deadline: Duration::from_secs(30),
        surface: Default::default(),
        direct: Default::default(),
        tool_names: ToolNames::Auto,
        output_schemas: OutputSchemas::Brief,
        listed_tools: None,
        workers_per_repository: 1,
        max_workers: 1,
        idle_stop: Duration::from_secs(300),
        roots_text: vec![],
        roots_invalid: None,
        run_dirs: vec![],
        gateway: None,
        gateway_token: false,
        agents: Default::default(),
        audit: Default::default(),
        log: LogLevel::Warn,
        log_json: false,
    }
}
