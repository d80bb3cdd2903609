//! `bulkhead doctor`: capability × layer of every process that a call would meet, from live processes.
//! Trust: rows come from the processes themselves, the `/proc` lines beside them from the kernel; both are shown.

use crate::options::Options;
use bulkhead_contract::{
    catalogue::Surface,
    isolation::{Demand, Report, Row, step},
};
use bulkhead_supervisor::{
    audit::Mode,
    doctor::{AuditFacts, DoctorFacts, GatewayFacts, ProcessFacts},
};
use serde_json::{Value, json};
use std::{fmt::Write as _, process::ExitCode};

/// How good it looks, also the exit status, and why it is not better.
struct Verdict {
    /// 0: what is demanded is met. 1: it works, with less than it can have, or not here. 2: every call is refused.
    status: u8,
    reasons: Vec<String>,
}

/// Examines and prints.
pub fn run(mut options: Options, json: bool) -> ExitCode {
    let mut obstacle = None;
    if !options.settings.audit.exists {
        obstacle = crate::audit::obstacle(&options.audit).filter(|_| options.settings.audit.mode != Mode::Off);
        // looking makes no ledger: the worker then shows its jail alone
        options.inits.audit.ledger = None;
    }
    // nor a directory for a note: its worker shows the jail around none
    options.inits.note.dir = None;
    // asked before the house is built, which leaves the current directory
    let here = match options.settings.surface {
        Surface::Review => std::env::current_dir().ok().and_then(|dir| dir.into_os_string().into_string().ok()),
        Surface::Direct | Surface::Both => Some(options.settings.direct.root.clone()),
    };
    let setting = Setting { here: here.is_some(), ..Setting::of(&options) };
    let means = match crate::serve::means(&options) {
        Ok(means) => means,
        Err(e) => {
            crate::complain(&format!("cannot start: {e}"));
            return ExitCode::from(2);
        }
    };
    // without roots there is nothing that a repository could be found beneath, and a refusal would say nothing new
    let here = here.filter(|_| setting.roots_invalid.is_none());
    let mut facts = bulkhead_supervisor::start::doctor(options.settings, means, here);
    if let Some(audit) = &mut facts.audit {
        audit.problem = audit.problem.take().or(obstacle);
    }
    let verdict = setting.judge(&facts);
    let text = if json { setting.json(&facts, &verdict).to_string() } else { setting.text(&facts, &verdict) };
    match bulkhead_supervisor::mcp::stdio::say(text.trim_end()) {
        Ok(()) => ExitCode::from(verdict.status),
        Err(_) => ExitCode::FAILURE,
    }
}

/// What was asked for, beside which the facts are held.
struct Setting {
    demand: Demand,
    empty_root: bool,
    here: bool,
    scope: String,
    roots: Vec<String>,
    roots_invalid: Option<String>,
    run_dir: Option<String>,
    audit: Mode,
    ledger_exists: bool,
}

impl Setting {
    fn of(options: &Options) -> Self {
        let scope = match options.ceiling.source.as_str() {
            _ if options.settings.surface == Surface::Direct => "one repository (--repo)".to_owned(),
            "default" => "home (default)".to_owned(),
            source => format!("roots ({source})"),
        };
        Self {
            demand: options.settings.demand,
            empty_root: options.inits.read.empty_root,
            here: true,
            scope,
            roots: options.settings.roots_text.clone(),
            roots_invalid: options.ceiling.invalid.clone(),
            audit: options.settings.audit.mode,
            ledger_exists: options.settings.audit.exists,
            run_dir: options.run_dir.as_ref().map(|dir| dir.display().to_string()),
        }
    }

    fn judge(&self, facts: &DoctorFacts) -> Verdict {
        let mut reasons = Vec::new();
        let short: Vec<String> =
            facts.missing().map(|(process, row)| format!("{process}: {}", row.capability)).collect();
        if self.demand == Demand::Off {
            reasons.push("isolation is off: one process, nothing is confined".to_owned());
        } else if !short.is_empty() {
            reasons.push(format!("nothing takes away {} (rows marked !)", deduplicated(short.clone()).join(", ")));
        }
        if let Some(why) = &self.roots_invalid {
            reasons.push(format!("the roots cannot be used, so every call is refused: {why}"));
        }
        if self.empty_root && !facts.processes.iter().filter_map(|of| of.report.as_ref()).any(has_empty_root) {
            reasons
                .push("the empty root that --empty-root asks for is not there (row metadata-outside-roots)".to_owned());
        }
        if !self.here {
            reasons.push("the current directory cannot be named".to_owned());
        }
        reasons.extend(deduplicated(facts.failures.clone()));
        let unrecorded = facts.audit.as_ref().and_then(|audit| audit.problem.as_deref());
        if let Some(why) = unrecorded {
            let refused = if self.audit == Mode::Required { ", so every call is refused" } else { "" };
            reasons.push(format!("calls are not recorded{refused}: {why}"));
        }
        let refusing = self.roots_invalid.is_some()
            || (unrecorded.is_some() && self.audit == Mode::Required)
            || (!short.is_empty() && self.demand == Demand::Required);
        Verdict { status: if refusing { 2 } else { u8::from(!reasons.is_empty()) }, reasons }
    }

    fn json(&self, facts: &DoctorFacts, verdict: &Verdict) -> Value {
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "system": std::env::consts::OS,
            "architecture": std::env::consts::ARCH,
            "isolation": self.demand.name(),
            "verdict": verdict.word(),
            "exitStatus": verdict.status,
            "reasons": verdict.reasons,
            "step": self.step(facts),
            "layers": facts.standing.layers,
            "hooks": facts.standing.hooks,
            "missing": missing(facts),
            "scope": self.scope,
            "roots": self.roots,
            "rootsInvalid": self.roots_invalid,
            "runDirectory": self.run_dir,
            "audit": { "mode": self.audit.name(), "facts": facts.audit },
            "gateway": facts.gateway,
            "repository": facts.repository,
            "processes": facts.processes,
        })
    }

    /// The one thing to do that would improve the isolation; `None` where nothing is missing, or nothing is known to help.
    fn step(&self, facts: &DoctorFacts) -> Option<&'static str> {
        // what no layer stands for first, then a layer whose place another one took, then what was asked for besides
        let rows = facts.missing().find_map(|(_, row)| step(&row.evidence));
        let refused = || facts.failures.iter().find_map(|failure| step(failure));
        let layers = || facts.standing.missing().find_map(|layer| layer.step);
        let root = || {
            let lacks = |row: &&Row| row.capability == METADATA && !row.enforcer.contains(EMPTY_ROOT);
            let mut reports = facts.processes.iter().filter(|of| of.process == "worker-read").flat_map(|of| &of.report);
            reports.find_map(|report| step(&report.rows.iter().find(lacks)?.evidence))
        };
        rows.or_else(refused).or_else(layers).or_else(|| root().filter(|_| self.empty_root))
    }

    /// How calls are recorded, in one line.
    fn audited(&self, facts: Option<&AuditFacts>) -> String {
        let Some(facts) = facts else { return self.audit.name().to_owned() };
        let ledger = facts.ledger.as_deref().unwrap_or("no ledger");
        let signed = match &facts.key {
            Some(key) if facts.key_locked => format!("signed by key {key}, which is kept out of swap"),
            Some(key) => format!("signed by key {key}, which may be swapped out"),
            None if facts.problem.is_some() => "nothing is recorded, see above".to_owned(),
            None if !self.ledger_exists => "made with the first call".to_owned(),
            None => "not signed; `bulkhead audit init` makes a key".to_owned(),
        };
        format!("{} — {ledger} ({signed})", self.audit.name())
    }

    fn text(&self, facts: &DoctorFacts, verdict: &Verdict) -> String {
        let mut out = String::new();
        let mut line = |name: &str, value: &str| _ = writeln!(out, "{name:<12} {value}");
        line("bulkhead", env!("CARGO_PKG_VERSION"));
        line("system", &format!("{} {}", std::env::consts::OS, std::env::consts::ARCH));
        line("isolation", &format!("{} — {}", self.demand.name(), verdict.word()));
        for reason in &verdict.reasons {
            line("", &format!("! {reason}"));
        }
        line("layers", &facts.standing.text());
        if let Some(step) = self.step(facts) {
            line("next step", step);
        }
        line("scope", &self.scope);
        for root in &self.roots {
            line("", root);
        }
        line("run dir", self.run_dir.as_deref().unwrap_or("none: neither HOME nor XDG_STATE_HOME is set"));
        line("audit", &self.audited(facts.audit.as_ref()));
        if let Some(head) = facts.audit.as_ref().and_then(|audit| audit.head.as_deref()) {
            line("checkpoint", head);
        }
        line("gateway", &gateway(&facts.gateway));
        line("repository", facts.repository.as_deref().unwrap_or("none here"));
        let mut workers = 0;
        for process in &facts.processes {
            workers += usize::from(process.process == "worker-read");
            let title = match workers {
                _ if process.process != "worker-read" => process.process.clone(),
                0 => process.process.clone(),
                1 => format!("{}, without a repository", process.process),
                _ => format!("{}, of the repository here", process.process),
            };
            let _ = writeln!(out, "\n{title}");
            of_process(&mut out, process);
        }
        out
    }
}

/// Where proposals would go, in one line.
fn gateway(facts: &GatewayFacts) -> String {
    let Some(address) = &facts.address else { return "none: nothing is proposed".to_owned() };
    let known = match (facts.token, facts.token_locked) {
        (false, _) => "whoever listens there is believed; --gateway-token-file asks for proof",
        (true, Some(true)) => "it must know the token, which is kept out of swap here",
        (true, Some(false)) => "it must know the token, which may be swapped out here",
        (true, None) => "it must know the token, which cannot be used here, so that nothing is proposed",
    };
    format!("{address} — {known}")
}

fn of_process(out: &mut String, facts: &ProcessFacts) {
    match (&facts.status, &facts.status_missing) {
        (Some(status), _) => {
            let number = |value: Option<u64>| value.map_or_else(|| "?".to_owned(), |value| format!("{value:x}"));
            let _ = writeln!(
                out,
                "  kernel says   NoNewPrivs {}, Seccomp {} ({} filters), CapEff {}, CapBnd {}",
                number(status.no_new_privs),
                number(status.seccomp),
                number(status.seccomp_filters),
                number(status.cap_eff),
                number(status.cap_bnd),
            );
        }
        (None, Some(why)) => _ = writeln!(out, "  kernel says   nothing: {why}"),
        (None, None) => {}
    }
    if facts.process == "launcher" {
        let _ = writeln!(
            out,
            "  no walls        it starts workers, so it keeps the files and programs of its user; it hears spawn,\n  \
                              kill and status of the supervisor, worker-audit's requests for the ledger's files, and\n  \
                              worker-gateway's for streams to the one address"
        );
    }
    of_report(out, "confined by", facts.report.as_ref());
    of_report(out, "tried inside", facts.probe.as_ref());
}

fn of_report(out: &mut String, title: &str, report: Option<&Report>) {
    let Some(report) = report else { return };
    let _ = writeln!(out, "  {title}");
    let mut before = "";
    for row in &report.rows {
        // one sentence stands behind many rows; once is enough to read
        let evidence = if row.evidence == before { "″" } else { row.evidence.as_str() };
        before = &row.evidence;
        let mark = if row.sufficient { " " } else { "!" };
        let _ = writeln!(out, "  {mark} {:<24} {:<36} {}", row.capability, row.enforcer, evidence);
    }
}

/// What nothing takes away, process by process: the cause, what came of trying it from inside, and the step against it.
fn missing(facts: &DoctorFacts) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    for of in &facts.processes {
        let rows = |report: &Option<Report>| report.iter().flat_map(|report| report.rows.clone()).collect::<Vec<_>>();
        let (reported, tried) = (rows(&of.report), rows(&of.probe));
        for row in reported.iter().filter(|row| !row.sufficient) {
            let probe = tried.iter().find(|probe| probe.capability == row.capability);
            let entry = json!({
                "process": of.process,
                "capability": row.capability,
                "cause": row.evidence,
                "tried": probe.map(|probe| &probe.evidence),
                "step": step(&row.evidence),
            });
            if !found.contains(&entry) {
                found.push(entry);
            }
        }
        // what the report takes for refused, and was not
        let refused = |probe: &&Row| reported.iter().any(|row| row.capability == probe.capability && row.sufficient);
        found.extend(tried.iter().filter(|probe| !probe.sufficient).filter(refused).map(|probe| {
            json!({
                "process": of.process,
                "capability": probe.capability,
                "cause": "reported as refused, and not refused when it was tried",
                "tried": probe.evidence,
                "step": Value::Null,
            })
        }));
    }
    found
}

const METADATA: &str = "metadata-outside-roots";
const EMPTY_ROOT: &str = "empty-root";

fn has_empty_root(report: &Report) -> bool {
    report.rows.iter().any(|row| row.capability == METADATA && row.enforcer.contains(EMPTY_ROOT))
}

fn deduplicated(mut words: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    words.retain(|word| seen.insert(word.clone()));
    words
}

impl Verdict {
    fn word(&self) -> &'static str {
        match self.status {
            0 => "met",
            1 => "degraded",
            _ => "refusing every call",
        }
    }
}
