//! Runs every probe in every kind of process and writes down what came of it.
//! Trust: outcomes are what processes under attack said, and how the kernel ended them.

use crate::{
    process::{Heard, Launcher, started},
    subject::{JAILED, RUN_DIRECTORY, SHORT, WAIT},
    world::{Job, World},
};
use bulkhead_ipc::edge::launcher::End;
use bulkhead_sandbox::{
    enforced::NONE,
    probe::{self, Outcome, deaths},
};
use nix::sys::signal::Signal;
use std::{collections::BTreeMap, io, process::Command};

/// The kinds of process; the first has no layer.
pub const COLUMNS: [&str; 12] = [
    "bare",
    "read",
    "read+empty-root",
    "audit",
    "agents",
    "note",
    "syntax",
    "gateway",
    "write",
    "write+hooks",
    "write-net",
    "supervisor",
];

/// What a process that starts programs is kept from by Landlock alone, and only by newer kernels': the capability by which
/// its report says so, and the probes.
const KERNELS: [(&str, &[&str]); 2] = [
    ("signals", &["ps.kill-sib", "ps.kill-sup", "ps.tgkill-sup", "ps.pidfd-signal-sup", "ps.sigqueue-sup"]),
    ("network-tcp", &["net.tcp-other", "net.tcp-ext-other", "net.tcp6-other"]),
];

/// What came of everything.
#[derive(Default)]
pub struct Collected {
    /// Outcomes by probe and column; a column that could not be jailed here is not in it.
    pub outcomes: BTreeMap<(String, String), String>,
    /// Columns that this machine cannot jail, and why.
    pub skipped: Vec<(String, String)>,
    /// Checks besides the table that held.
    pub held: Vec<String>,
    /// Those that did not.
    pub broken: Vec<String>,
}

/// All of it; prints nothing.
pub fn everything() -> Collected {
    let mut collected = Collected::default();
    if let Err(e) = collect(&mut collected) {
        collected.broken.push(format!("the driver: {e}"));
    }
    collected
}

fn collect(collected: &mut Collected) -> io::Result<()> {
    let world = World::new()?;
    let repository = world.targets.repository.as_str();
    let parent = repository.rsplit_once('/').map_or("/", |(parent, _)| parent);
    let reading = Launcher::start(parent, repository, false)?;
    let hidden = Launcher::start(repository, repository, true)?;
    let recording = Launcher::start_for_audit(parent)?;
    let onlooking = Launcher::start_for_agents(parent, repository)?;
    let talking = Launcher::start_for_gateway(parent, world.targets.gateway_port)?;
    let noting = Launcher::start_for_note(parent, &world.note_directory()?)?;
    let parsing = Launcher::start_for_syntax(parent)?;
    let writing = Launcher::start_for_writes(parent, repository, world.targets.gateway_port, false)?;
    let hooking = Launcher::start_for_hooks(parent, repository)?;
    let pushing = Launcher::start_for_writes(parent, repository, world.targets.gateway_port, true)?;
    let run_dir = world.run_directory()?;
    let records = Launcher::start_for_records(parent, &run_dir)?;
    let run = |column: &str, job: &Job| match column {
        "bare" => started("bare", job),
        "read" => reading.run(job),
        "read+empty-root" => hidden.run(job),
        "audit" => recording.run(job),
        "agents" => onlooking.run(job),
        "note" => noting.run(job),
        "gateway" => {
            world.let_go()?;
            talking.run(job)
        }
        "syntax" => parsing.run(job),
        "write" => writing.run(job),
        "write+hooks" => hooking.run(job),
        "write-net" => {
            world.let_go()?;
            pushing.run(job)
        }
        _ => started("supervisor", job),
    };
    let job = |probe: &str| Job { probe: probe.to_owned(), targets: world.targets.clone(), holds_ledger: true };
    for column in COLUMNS {
        let mut open = Vec::new();
        if column != "bare" {
            // the bare column is done: a process without a jail could not make rules, so neither can one with it
            let unmade = |outcome: &String| outcome.starts_with("create:");
            let landlock = !collected.outcomes.get(&("k.landlock-widen".into(), "bare".into())).is_some_and(unmade);
            match jailed(&run(column, &job(WAIT))?, column, landlock) {
                Ok(capabilities) => open = capabilities,
                Err(Unjailed::Missing(why)) => {
                    collected.skipped.push((column.into(), why));
                    continue;
                }
                Err(Unjailed::Broken(why)) => {
                    collected.broken.push(format!("{column}: {why}"));
                    continue;
                }
            }
            for death in deaths() {
                let heard = run(column, &job(death.name))?;
                let end = match heard.end {
                    Some(End::Exit(code)) => code,
                    Some(End::Signal(signal)) => -signal,
                    None => 0,
                };
                collected.note(end == death.ends, format!("{column}: {} ends as {end}", death.name));
            }
        }
        for probe in probe::all() {
            let heard = run(column, &job(probe.name))?;
            let mut outcome = outcome(probe.name, &heard);
            let kernels = KERNELS.iter().find(|(capability, probes)| {
                open.iter().any(|open| open == capability) && probes.contains(&probe.name)
            });
            if let Some((capability, _)) = kernels.filter(|_| column.starts_with("write") && outcome == "DID") {
                outcome =
                    Outcome::Skipped(format!("this kernel's Landlock leaves {capability} open, as the report says"))
                        .to_string();
            }
            if matches!(outcome.as_str(), "DID" | "KILLED") || column == "bare" {
                world.restore()?;
            }
            collected.outcomes.insert((probe.name.into(), column.into()), outcome);
        }
    }
    // where the first column is skipped, the machine has no Landlock and nothing can be shown
    if !collected.skipped.iter().any(|(skipped, _)| skipped == "read") {
        let heard = records.run(&job(RUN_DIRECTORY))?;
        let said = heard.said.first().map_or("", String::as_str);
        collected
            .note(said == "found repos rebase", format!("a run directory's worker opens: {said} {}", heard.errors));
    }
    let launchers = [
        ("read", &reading),
        ("read+empty-root", &hidden),
        ("audit", &recording),
        ("agents", &onlooking),
        ("note", &noting),
        ("gateway", &talking),
        ("syntax", &parsing),
        ("write", &writing),
        ("write+hooks", &hooking),
        ("write-net", &pushing),
    ];
    for (column, launcher) in launchers {
        if collected.skipped.iter().any(|(skipped, _)| skipped == column) {
            continue;
        }
        let (status, heard) = launcher.look(&job(WAIT))?;
        collected.note(heard.end == Some(End::Exit(0)), format!("{column}: leaves when its pipe closes"));
        for line in
            ["NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "Threads:\t1"]
        {
            collected.note(status.contains(line), format!("{column}: /proc says {}", line.replace('\t', " ")));
        }
    }
    Ok(())
}

impl Collected {
    fn note(&mut self, holds: bool, what: String) {
        if holds { self.held.push(what) } else { self.broken.push(what) }
    }
}

/// Why a column has no jail.
enum Unjailed {
    /// The machine lacks the layer.
    Missing(String),
    /// It does not, or it cannot be told: a failure of ours.
    Broken(String),
}

/// Whether the column's process has the layers that its column is named after. Where it has not, the machine is asked
/// another way than by our own code, so that a layer which we fail to put on is a failure and not skipped.
/// Gives the capabilities that nothing takes away.
fn jailed(heard: &Heard, column: &str, landlock: bool) -> Result<Vec<String>, Unjailed> {
    let broken = || Unjailed::Broken(format!("ended as {:?} in its jail: {}", heard.end, heard.errors.trim()));
    let (word, report) = heard.said.first().and_then(|said| said.split_once('\n')).ok_or_else(broken)?;
    let row = |capability: &str| {
        report.lines().find_map(|line| line.strip_prefix(capability)?.strip_prefix('\t')?.split_once('\t'))
    };
    let open = report.lines().filter_map(|line| {
        let (capability, rest) = line.split_once('\t')?;
        (rest.split('\t').next() == Some(NONE)).then(|| capability.to_owned())
    });
    match word {
        SHORT if !landlock => Err(Unjailed::Missing(format!("no Landlock here; {report}"))),
        SHORT => Err(Unjailed::Broken(format!("falls short: {report}"))),
        JAILED if column == "read+empty-root" => match row("metadata-outside-roots") {
            Some((NONE, why)) if !namespaces() => Err(Unjailed::Missing(format!("no namespaces here; {why}"))),
            Some((NONE, why)) => Err(Unjailed::Broken(format!("no empty root, though there are namespaces: {why}"))),
            Some(_) => Ok(open.collect()),
            None => Err(Unjailed::Broken(format!("says nothing of metadata: {report}"))),
        },
        JAILED => Ok(open.collect()),
        _ => Err(broken()),
    }
}

/// Whether this user gets a mount namespace, by another program.
fn namespaces() -> bool {
    let own = ["--mount", "true"];
    let mapped = ["--user", "--map-root-user", "--mount", "true"];
    let got = |arguments: &[&str]| Command::new("unshare").args(arguments).output().is_ok_and(|o| o.status.success());
    got(&own) || got(&mapped)
}

fn outcome(probe: &str, heard: &Heard) -> String {
    let said = heard.said.get(1).map(|said| said.trim_end().to_owned());
    match (heard.end, said) {
        (None, _) => "HANG".into(),
        (Some(End::Exit(0)), Some(outcome)) => outcome,
        // it runs another program, which says nothing and leaves so
        (Some(End::Exit(0)), None) => Outcome::Did.to_string(),
        (Some(End::Signal(signal)), None) if signal == Signal::SIGSYS as i32 => Outcome::Killed.to_string(),
        // a kernel without the 32-bit gate answers with this signal instead of a refusal
        (Some(End::Signal(signal)), None) if probe == "k.int80-open" && signal == Signal::SIGSEGV as i32 => {
            Outcome::Skipped("no 32-bit calls in this kernel".into()).to_string()
        }
        (Some(end), said) => format!("ENDED {end:?} {}", said.unwrap_or_default()),
    }
}
