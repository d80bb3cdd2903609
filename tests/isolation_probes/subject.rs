//! The processes that the probes run in: each is jailed by the product's own code, tries one thing and says how it went.
//! Trust: from the probe on, this is the taken-over process.

use crate::world::Job;
use bulkhead_contract::isolation::Demand;
use bulkhead_ipc::{
    codec,
    edge::{
        Inits, agents, audit, dialler, gateway, note,
        read::{Init, OwnerTrust, ToRead},
        syntax,
        write::{self, Operation},
    },
    frame,
};
use bulkhead_launcher::Table;
use bulkhead_sandbox::{
    Enforced, early, handover, inherited,
    jail::{
        self,
        agents::AgentsJail,
        read::{ReadJail, ReadPlan},
        write::{Network, WriteJail},
    },
    probe::{self, deaths},
};
use bulkhead_worker_write::reach;
use std::{
    ffi::{CStr, OsString},
    fs::OpenOptions,
    io::{self, Read, Write},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::ffi::OsStringExt,
    },
    path::PathBuf,
    process::ExitCode,
};

/// The name of the job that stays in the jail until its pipe closes, to be looked at.
pub const WAIT: &str = "wait";
/// The name of the job of a worker that the product's own code jails to a run directory.
pub const RUN_DIRECTORY: &str = "run-directory";
/// First word of the frame that says: the jail is on. The rest is its report.
pub const JAILED: &str = "jailed";
/// First word of the frame that says: a layer is missing. The rest is the report.
pub const SHORT: &str = "short";
/// Private memory of every jailed process, far below what `die.oom` asks for.
const MEMORY: u64 = 256 << 20;

/// What a launched worker is told, its run directory too where it is to have one; the ceiling is the repository itself under an empty root, its parent otherwise.
pub fn init(ceiling: &str, run_dir: Option<&str>, empty_root: bool) -> Init {
    Init {
        demand: Demand::Required,
        empty_root,
        ceilings: vec![ceiling.as_bytes().to_vec()],
        run_dirs: run_dir.into_iter().map(|dir| dir.as_bytes().to_vec()).collect(),
        path: None,
        trust: OwnerTrust::default(),
        home: None,
        xdg_config_home: None,
        memory: MEMORY,
        threads: 1,
    }
}

/// What a launched worker-audit is told.
pub fn audit_init() -> audit::Init {
    audit::Init { demand: Demand::Required, ledger: None, sign_key: None, compat: false, memory: MEMORY }
}

/// What a launched worker-write is told: one repository, a root around it, no program, and one port for the kind that
/// has a network.
pub fn write_init(root: &str, repository: &str, port: u16) -> write::Init {
    let bytes = |text: &str| text.as_bytes().to_vec();
    let programs = write::Programs { network_ports: vec![port], ..write::Programs::default() };
    let allowed = write::Allowed {
        root: bytes(repository),
        git_dir: bytes(repository),
        common_dir: bytes(repository),
        roots: vec![bytes(root)],
        lenders: Vec::new(),
        locks: None,
        programs,
        pinned: Vec::new(),
        hooks_path: None,
        hooks: None,
        filters: false,
        allow_unsigned: false,
        ssh_command: None,
        trust_repo_ssh_command: false,
        log_commands: false,
    };
    write::Init { demand: Demand::Required, memory: MEMORY, allowed: Some(Box::new(allowed)) }
}

/// The same where hooks run, with what the product grants those on this machine.
pub fn hooks_init(root: &str, repository: &str) -> write::Init {
    use bulkhead_worker_write::programs::{Surroundings, find, for_hooks};
    let mut init = write_init(root, repository, 0);
    let around = Surroundings { path: std::env::var_os("PATH"), ..Surroundings::default() };
    let programs = find(&around).expect("git is there");
    let hooks = for_hooks(&programs, None, &around).expect("a system has a shell");
    if let Some(allowed) = &mut init.allowed {
        allowed.hooks = Some(hooks);
    }
    init
}

/// The whole table, with this row for worker-read.
pub fn inits(read: Init) -> Inits {
    let (stores, presence) = (Vec::new(), Vec::new());
    let agents = agents::Init { demand: Demand::Required, stores, presence, pid: 1, memory: MEMORY };
    let note = note::Init { demand: Demand::Required, dir: None, pid: 1, memory: MEMORY };
    let syntax = syntax::Init { demand: Demand::Required, memory: MEMORY };
    let gateway = gateway::Init { demand: Demand::Required, address: None, token: None, memory: MEMORY };
    let write = write::Init::closed(Demand::Required);
    Inits { read, audit: audit_init(), agents, note, gateway, syntax, write }
}

/// worker-read, started by the launcher.
pub fn reader() -> ExitCode {
    early_steps(c"bulkhead-read");
    let (mut requests, answers) = inherited::worker_pipes().expect("the launcher put the pipes there");
    let first = frame::read(&mut requests).expect("whole").expect("the launcher's frame");
    let ToRead::Init(init) = codec::decode(&first).expect("the launcher's own") else { panic!("Init comes first") };
    let job = job(&mut requests);
    let path = |bytes: &Vec<u8>| PathBuf::from(OsString::from_vec(bytes.clone()));
    let ceilings: Vec<PathBuf> = init.ceilings.iter().map(path).collect();
    if job.probe == RUN_DIRECTORY {
        return run_directory(answers, &job, &init, &ceilings);
    }
    let repository = init.path.as_ref().map(path).expect("the driver names a repository");
    subject(answers, job, Some(&mut requests), || {
        let plan = ReadPlan { ceilings: &ceilings, empty_root: init.empty_root, demand_required: true };
        let jail = ReadJail::begin(&plan).map_err(|short| short.enforced)?;
        let jail = jail.narrow(&[repository], &[]).map_err(|short| short.enforced)?;
        jail.close().map_err(|short| short.enforced)
    })
}

/// worker-audit, started by the launcher, with what it holds besides the ledger's descriptor.
pub fn auditor() -> ExitCode {
    early_steps(c"bulkhead-audit");
    let (mut requests, answers) = inherited::worker_pipes().expect("the launcher put the pipes there");
    let _holder = inherited::holder_socket().expect("the launcher put its socket there");
    let first = frame::read(&mut requests).expect("whole").expect("the launcher's frame");
    let told: audit::ToAudit = codec::decode(&first).expect("the launcher's own");
    assert!(matches!(told, audit::ToAudit::Init(_)), "Init comes first");
    let job = job(&mut requests);
    subject(answers, job, Some(&mut requests), || {
        let enforced = jail::audit::audit();
        if enforced.missing().next().is_none() { Ok(enforced) } else { Err(enforced) }
    })
}

/// worker-gateway, started by the launcher, with a connected stream to the application, as it has one at work.
pub fn talker() -> ExitCode {
    early_steps(c"bulkhead-gateway");
    let (mut requests, answers) = inherited::worker_pipes().expect("the launcher put the pipes there");
    let dialler = inherited::holder_socket().expect("the launcher put its socket there");
    let first = frame::read(&mut requests).expect("whole").expect("the launcher's frame");
    let told: gateway::ToGateway = codec::decode(&first).expect("the launcher's own");
    assert!(matches!(told, gateway::ToGateway::Init(_)), "Init comes first");
    let job = job(&mut requests);
    let mut stream = None;
    subject(answers, job, Some(&mut requests), || {
        let enforced = jail::gateway::gateway();
        if enforced.missing().next().is_some() {
            return Err(enforced);
        }
        // the jail lets it ask for one, and the launcher dials
        stream = Some(dialled(&dialler));
        Ok(enforced)
    })
}

fn dialled(dialler: &OwnedFd) -> OwnedFd {
    let ask = codec::encode(&dialler::ToDialler::Dial { ticket: 1 }).expect("small");
    handover::send(dialler.as_fd(), &ask, &[]).expect("the launcher listens");
    let mut packet = [0; dialler::MAX_PACKET];
    let (length, streams) = handover::receive(dialler.as_fd(), &mut packet, 1).expect("an answer");
    let answer = codec::decode(&packet[..length]).expect("the launcher's own");
    assert!(matches!(answer, dialler::FromDialler::Stream { ticket: 1 }), "{answer:?}");
    streams.into_iter().next().expect("a stream")
}

/// A handle on a directory that the driver made.
fn hold(path: &[u8]) -> OwnedFd {
    let path = PathBuf::from(OsString::from_vec(path.to_vec()));
    bulkhead_worker_agents::place::Dir::walk(&path).and_then(|dir| dir.handle()).expect("the driver made it")
}

/// worker-agents, started by the launcher, in the half of its jail that reads stores.
pub fn onlooker() -> ExitCode {
    early_steps(c"bulkhead-agents");
    let (mut requests, answers) = inherited::worker_pipes().expect("the launcher put the pipes there");
    let first = frame::read(&mut requests).expect("whole").expect("the launcher's frame");
    let told: agents::ToAgents = codec::decode(&first).expect("the launcher's own");
    let agents::ToAgents::Init(init) = told else { panic!("Init comes first") };
    let job = job(&mut requests);
    subject(answers, job, Some(&mut requests), || {
        let jail = AgentsJail::begin(true).map_err(|short| short.enforced)?;
        let stores = init.stores.iter().map(|store| hold(&store.path)).collect();
        jail.read(stores, Vec::new()).map_err(|short| short.enforced)
    })
}

/// The worker that keeps the presence file, started by the launcher.
pub fn note_keeper() -> ExitCode {
    early_steps(c"bulkhead-note");
    let (mut requests, answers) = inherited::worker_pipes().expect("the launcher put the pipes there");
    let first = frame::read(&mut requests).expect("whole").expect("the launcher's frame");
    let told: note::ToNote = codec::decode(&first).expect("the launcher's own");
    let note::ToNote::Init(init) = told else { panic!("Init comes first") };
    let job = job(&mut requests);
    subject(answers, job, Some(&mut requests), || {
        let enforced = jail::note::note(init.dir.as_deref().map(hold));
        if enforced.missing().next().is_none() { Ok(enforced) } else { Err(enforced) }
    })
}

/// worker-syntax, started by the launcher.
pub fn parser() -> ExitCode {
    early_steps(c"bulkhead-syntax");
    let (mut requests, answers) = inherited::worker_pipes().expect("the launcher put the pipes there");
    let first = frame::read(&mut requests).expect("whole").expect("the launcher's frame");
    let told: syntax::ToSyntax = codec::decode(&first).expect("the launcher's own");
    assert!(matches!(told, syntax::ToSyntax::Init(_)), "Init comes first");
    let job = job(&mut requests);
    subject(answers, job, Some(&mut requests), || {
        let enforced = jail::syntax::syntax();
        if enforced.missing().next().is_none() { Ok(enforced) } else { Err(enforced) }
    })
}

/// worker-write, started by the launcher, in its finished jail, before it starts anything: what Git may do there it may do
/// too. It is handed no descriptor of the ledger.
pub fn writer(network: bool) -> ExitCode {
    early_steps(c"bulkhead-write");
    let (mut requests, answers) = inherited::worker_pipes().expect("the launcher put the pipes there");
    let first = frame::read(&mut requests).expect("whole").expect("the launcher's frame");
    let told: write::ToWrite = codec::decode(&first).expect("the launcher's own");
    let write::ToWrite::Init(init) = told else { panic!("Init comes first") };
    let allowed = init.allowed.expect("the driver names a repository");
    let mut job = job(&mut requests);
    let of = |reach: &reach::Reach| {
        let reach::Reach { changed, read, executed, programs, .. } = reach.clone();
        jail::write::Reach { changed, read, executed, programs }
    };
    job.holds_ledger = false;
    subject(answers, job, Some(&mut requests), || {
        let ceiling = reach::ceiling(&allowed, network);
        let granted = if network { Network::Tcp } else { Network::None };
        let jail = WriteJail::begin(&of(&ceiling), granted, true, true).map_err(|short| short.enforced)?;
        let push = Operation::Push { branch: "main".to_owned() };
        let remotes = reach::Remotes::default();
        let needed = reach::of(&allowed, &push, network, &remotes);
        let ports = if network { needed.ports.as_slice() } else { &[] };
        jail.narrow(&of(&needed), ports).map_err(|short| short.enforced)
    })
}

/// worker-read for a run directory: says what it can open of what is there, one word each.
fn run_directory(mut answers: impl Write, job: &Job, init: &Init, ceilings: &[PathBuf]) -> ExitCode {
    use bulkhead_worker_read::{
        discover::{Bounds, Trust},
        jail::{Jailed, Plan, enter},
        run_dir,
    };
    let chosen = run_dir::chosen(init.path.as_deref(), &init.run_dirs).expect("the driver names a run directory");
    let jailed = enter(Plan {
        path: init.path.as_deref(),
        run_dir: Some(&chosen),
        bounds: Bounds { ceilings, trust: &Trust::default() },
        empty_root: init.empty_root,
        memory: init.memory,
        demand_required: true,
    });
    let word = match jailed {
        Jailed::Short(_) => SHORT.to_owned(),
        Jailed::In { found, .. } => {
            let opens = |path: PathBuf| std::fs::File::open(path).is_ok();
            let lists = |path: PathBuf| std::fs::read_dir(path).is_ok();
            let repository = PathBuf::from(&job.targets.repository);
            let said = [
                ("found", found.is_ok()),
                ("repos", opens(chosen.join("repos/a.path")) && lists(chosen.join("repos"))),
                ("rebase", opens(chosen.join("rebase/a.json")) && lists(chosen.join("rebase"))),
                ("audit", opens(chosen.join("audit/mcp.jsonl")) || lists(chosen.join("audit"))),
                ("itself", lists(chosen.clone())),
                ("repository", opens(repository.join("a.txt")) || lists(repository)),
                ("outside", opens(PathBuf::from(&job.targets.outside).join("secret.txt"))),
                ("system", opens("/etc/passwd".into()) || opens("/proc/self/status".into())),
            ];
            let opened = said.into_iter().filter(|(_, opened)| *opened).map(|(name, _)| name);
            opened.collect::<Vec<_>>().join(" ")
        }
    };
    frame::write(&mut answers, word.as_bytes()).expect("the driver reads every answer");
    ExitCode::SUCCESS
}

/// The supervisor: this process forks the real launcher first.
pub fn supervisor() -> ExitCode {
    let table = Table::new(inits(init("/nowhere", None, false))).expect("short");
    let launcher = bulkhead_launcher::start(table).expect("a second process");
    early_steps(c"bulkhead");
    let job = job(&mut io::stdin().lock());
    subject(io::stdout(), job, None, || {
        let enforced = jail::supervisor::supervisor(launcher.socket.as_fd());
        if enforced.missing().next().is_none() { Ok(enforced) } else { Err(enforced) }
    })
}

/// No layer at all.
pub fn bare() -> ExitCode {
    let job = job(&mut io::stdin().lock());
    subject(io::stdout(), job, None, || Ok(Enforced { rows: Vec::new() }))
}

/// Another process of the same user, unprotected, until its standard input closes.
pub fn sibling() -> ExitCode {
    io::stdout().write_all(b"!").expect("the driver reads");
    io::stdout().flush().expect("the driver reads");
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
    ExitCode::SUCCESS
}

fn early_steps(title: &CStr) {
    early::early(Some(MEMORY), early::FEW_DESCRIPTORS, title).expect("an ordinary process may give these up");
}

fn job(requests: &mut impl Read) -> Job {
    let text = frame::read(requests).expect("whole").expect("the driver's frame");
    Job::of_text(&String::from_utf8(text).expect("text")).expect("the driver's own")
}

/// Takes what another process would hold, puts the jail on, says so, tries, says how it went.
fn subject(
    mut answers: impl Write,
    mut job: Job,
    requests: Option<&mut dyn Read>,
    jail: impl FnOnce() -> Result<Enforced, Enforced>,
) -> ExitCode {
    let ledger = OpenOptions::new().append(true).open(&job.targets.ledger).expect("the driver made it");
    let ledger = job.holds_ledger.then_some(ledger);
    job.targets.ledger_fd = ledger.as_ref().map_or(-1, |ledger| ledger.as_raw_fd());
    let mut say = |word: &str, rest: &str| {
        frame::write(&mut answers, format!("{word}\n{rest}").as_bytes()).expect("the driver reads every answer");
    };
    match jail() {
        Ok(enforced) => say(JAILED, &report(&enforced)),
        Err(enforced) => {
            say(SHORT, &report(&enforced));
            return ExitCode::FAILURE;
        }
    }
    if job.probe == WAIT {
        if let Some(requests) = requests {
            let _ = requests.read(&mut [0]);
        }
        return ExitCode::SUCCESS;
    }
    if let Some(death) = deaths().find(|death| death.name == job.probe) {
        death.run();
    }
    let probe = probe::all().find(|probe| probe.name == job.probe).expect("the driver names one of them");
    say(&probe.run(&job.targets).to_string(), "");
    ExitCode::SUCCESS
}

/// `capability`, `enforcer`, `evidence` of every row.
fn report(enforced: &Enforced) -> String {
    let line = |row: &bulkhead_sandbox::Row| format!("{}\t{}\t{}", row.capability, row.enforcer, row.evidence);
    enforced.rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
