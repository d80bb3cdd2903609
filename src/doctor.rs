//! `bulkhead doctor`: capability × layer of every process that a call would meet, from live processes.
//! Trust: rows come from the processes themselves, the `/proc` lines beside them from the kernel; both are shown.

use crate::options::Options;
use bulkhead_contract::isolation::{Demand, Report};
use bulkhead_supervisor::doctor::{DoctorFacts, ProcessFacts};
use serde_json::{Value, json};
use std::{fmt::Write as _, io::Write as _, process::ExitCode};

/// How good it looks; also the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// What is demanded is met.
    Met = 0,
    /// It works, with less than it can have, or the current directory cannot be read.
    Degraded = 1,
    /// Every call is refused.
    Refusing = 2,
}

/// Examines and prints.
pub fn run(options: Options, json: bool) -> ExitCode {
    let means = match crate::serve::means(&options) {
        Ok(means) => means,
        Err(e) => {
            crate::complain(&format!("cannot start: {e}"));
            return ExitCode::from(Verdict::Refusing as u8);
        }
    };
    let here = std::env::current_dir().ok().and_then(|dir| dir.into_os_string().into_string().ok());
    let setting = Setting::of(&options);
    let facts = bulkhead_supervisor::start::doctor(options.settings, means, here);
    let verdict = setting.judge(&facts);
    let text = if json { setting.json(&facts, verdict).to_string() } else { setting.text(&facts, verdict) };
    match writeln!(std::io::stdout().lock(), "{}", text.trim_end()) {
        Ok(()) => ExitCode::from(verdict as u8),
        Err(_) => ExitCode::FAILURE,
    }
}

/// What was asked for, beside which the facts are held.
struct Setting {
    demand: Demand,
    scope: String,
    roots: Vec<String>,
    roots_invalid: Option<String>,
    run_dir: Option<String>,
}

impl Setting {
    fn of(options: &Options) -> Self {
        let scope = match options.ceiling.source.as_str() {
            "default" => "home (default)".to_owned(),
            source => format!("roots ({source})"),
        };
        Self {
            demand: options.settings.demand,
            scope,
            roots: options.settings.roots_text.clone(),
            roots_invalid: options.ceiling.invalid.clone(),
            run_dir: options.run_dir.as_ref().map(|dir| dir.display().to_string()),
        }
    }

    fn judge(&self, facts: &DoctorFacts) -> Verdict {
        let short = facts.missing().next().is_some();
        if self.roots_invalid.is_some() || (short && self.demand == Demand::Required) {
            Verdict::Refusing
        } else if short || self.demand != Demand::Required || !facts.failures.is_empty() {
            Verdict::Degraded
        } else {
            Verdict::Met
        }
    }

    fn json(&self, facts: &DoctorFacts, verdict: Verdict) -> Value {
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "system": std::env::consts::OS,
            "architecture": std::env::consts::ARCH,
            "isolation": self.demand.name(),
            "verdict": verdict.word(),
            "exitStatus": verdict as u8,
            "scope": self.scope,
            "roots": self.roots,
            "rootsInvalid": self.roots_invalid,
            "runDirectory": self.run_dir,
            "repository": facts.repository,
            "processes": facts.processes,
            "failures": facts.failures,
        })
    }

    fn text(&self, facts: &DoctorFacts, verdict: Verdict) -> String {
        let mut out = String::new();
        let mut line = |name: &str, value: &str| _ = writeln!(out, "{name:<12} {value}");
        line("bulkhead", env!("CARGO_PKG_VERSION"));
        line("system", &format!("{} {}", std::env::consts::OS, std::env::consts::ARCH));
        line("isolation", &format!("{} — {}", self.demand.name(), verdict.sentence()));
        line("scope", &self.scope);
        for root in &self.roots {
            line("", root);
        }
        if let Some(why) = &self.roots_invalid {
            line("", &format!("UNUSABLE: {why}; every call is refused until this is mended"));
        }
        line("run dir", self.run_dir.as_deref().unwrap_or("none: neither HOME nor XDG_STATE_HOME is set"));
        line("repository", facts.repository.as_deref().unwrap_or("none here"));
        for process in &facts.processes {
            of_process(&mut out, process);
        }
        if !facts.failures.is_empty() {
            out.push_str("\nfailures\n");
        }
        for failure in &facts.failures {
            let _ = writeln!(out, "  {failure}");
        }
        out
    }
}

fn of_process(out: &mut String, facts: &ProcessFacts) {
    let _ = writeln!(out, "\n{}", facts.process);
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
    of_report(out, "confined by", facts.report.as_ref());
    of_report(out, "tried inside", facts.probe.as_ref());
}

fn of_report(out: &mut String, title: &str, report: Option<&Report>) {
    let Some(report) = report else { return };
    let _ = writeln!(out, "  {title}");
    for row in &report.rows {
        let mark = if row.sufficient { " " } else { "!" };
        let _ = writeln!(out, "  {mark} {:<24} {:<28} {}", row.capability, row.enforcer, row.evidence);
    }
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::Degraded => "degraded",
            Verdict::Refusing => "refusing",
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::Degraded => "works, with less than it can have; see the rows marked ! and the failures",
            Verdict::Refusing => "not met: every call is refused; see the rows marked !",
        }
    }
}
