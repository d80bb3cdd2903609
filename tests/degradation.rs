//! Whatever layer a machine lacks, and whatever is demanded: doctor, the ledger's first record and both handshakes state the
//! same facts, every kind of process says which capability it keeps because of it, and one step is named that would help.
//! Trust: the machine is this one, seen through a seccomp filter that the product inherits.

#![cfg(target_os = "linux")]

mod support;

use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, path::PathBuf};
use support::{
    Place, Repo, Server, Start, direct,
    layers::{EINVAL, ENOSYS, EOPNOTSUPP, EPERM, LANDLOCK, PRCTL, SECCOMP, UNSHARE, under, without},
    server::meta,
};

/// Every kind of worker that a server with an open gate may start.
const WORKERS: [&str; 8] = [
    "worker-agents",
    "worker-audit",
    "worker-gateway",
    "worker-note",
    "worker-read",
    "worker-syntax",
    "worker-write",
    "worker-write-net",
];

/// A machine that lacks something.
struct Machine {
    /// The layers that are missing, as reports name them.
    lacks: &'static [&'static str],
    /// Calls that are taken away, and the errno by which.
    calls: &'static [(&'static [i64], u32)],
    /// A word of the cause.
    cause: &'static str,
    /// A word of the step that would help.
    step: &'static str,
}

const MACHINES: [Machine; 6] = [
    Machine { lacks: &[], calls: &[], cause: "", step: "" },
    Machine { lacks: &["landlock"], calls: &[(LANDLOCK, ENOSYS), (&[UNSHARE], EPERM)], cause: "ENOSYS", step: "5.13" },
    Machine {
        lacks: &["landlock"],
        calls: &[(LANDLOCK, EOPNOTSUPP), (&[UNSHARE], EPERM)],
        cause: "disabled at boot",
        step: "lsm=",
    },
    Machine { lacks: &["landlock"], calls: &[(LANDLOCK, EPERM)], cause: "outer filter", step: "three landlock calls" },
    Machine {
        lacks: &["seccomp"],
        calls: &[(&[SECCOMP, PRCTL], EINVAL)],
        cause: "EINVAL",
        step: "CONFIG_SECCOMP_FILTER",
    },
    Machine {
        lacks: &["landlock", "seccomp"],
        calls: &[(LANDLOCK, ENOSYS), (&[UNSHARE], EPERM), (&[SECCOMP, PRCTL], EINVAL)],
        cause: "ENOSYS",
        step: "",
    },
];

/// One server's place: a repository, and the ledger that it writes.
struct Site {
    place: Place,
    repo: PathBuf,
}

impl Site {
    fn new() -> Site {
        let place = Place::new();
        let repo = Repo::honest(&place, "repo").path().to_owned();
        direct::identity(&place);
        Site { place, repo }
    }

    fn start(&self, demand: &str) -> Start<'_> {
        let words =
            ["--surface", "both", "--toolsets", "inspect,repo,write", "--allow-write", "--isolation", demand, "--repo"];
        Start::new(&self.place).arguments(&words).argument(&self.repo).root(self.place.path()).cwd(&self.repo)
    }

    fn doctor(&self, machine: &Machine, demand: &str) -> (Option<i32>, Value) {
        let output = on(machine, || self.start(demand).arguments(&["doctor", "--json"]).output());
        let report = serde_json::from_slice(&output.stdout);
        (output.status.code(), report.unwrap_or_else(|e| panic!("{e}: {output:?}")))
    }

    /// The first record of the ledger, where there is one.
    fn first_record(&self) -> Option<Value> {
        let ledger = fs::read_to_string(self.place.home().join(".local/state/bulkhead/audit/mcp.jsonl")).ok()?;
        serde_json::from_str(ledger.lines().next()?).ok()
    }
}

/// Runs `start` on that machine.
fn on<T: Send>(machine: &Machine, start: impl FnOnce() -> T + Send) -> T {
    // the one that refuses filters goes on last, or the others could not be put on
    let filters: Vec<_> = machine.calls.iter().map(|(calls, errno)| without(calls, *errno)).collect();
    under(&filters, start)
}

/// What both handshakes say, which is the same; and the instructions.
fn stated(server: &mut Server) -> (Value, String) {
    const KEY: &str = "bulkhead/isolation";
    let id = server.request("server/discover", json!({"_meta": meta()}));
    let discovered = server.answer(&id).message["result"].clone();
    let client = json!({"name": "bulkhead-tests", "version": "1"});
    let id = server
        .request("initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}));
    let opened = server.answer(&id).message["result"].clone();
    assert_eq!(discovered["_meta"][KEY], opened["_meta"][KEY]);
    assert_eq!(discovered["cacheScope"], "private", "what this machine has is no other one's");
    assert_eq!(discovered["instructions"], opened["instructions"]);
    (discovered["_meta"][KEY].clone(), discovered["instructions"].as_str().unwrap_or_default().to_owned())
}

/// Names of the layers for which `on` is this.
fn layers(facts: &Value, on: bool) -> BTreeSet<&str> {
    let all = facts["layers"].as_array().expect("layers are a list");
    all.iter().filter(|layer| layer["on"] == on).filter_map(|layer| layer["layer"].as_str()).collect()
}

fn words(list: &[&'static str]) -> BTreeSet<&'static str> {
    list.iter().copied().collect()
}

#[test]
fn the_same_facts_stand_everywhere() {
    for machine in &MACHINES {
        for demand in ["required", "best-effort"] {
            let site = Site::new();
            let (_, report) = site.doctor(machine, demand);
            let mut server = on(machine, || site.start(demand).spawn());
            let (facts, instructions) = stated(&mut server);
            let outcome = server.read("repo.status", &site.repo);
            assert!(server.finish().status.success());

            let about = format!("{:?} {demand}", machine.lacks);
            assert_eq!(facts["demand"], *demand, "{about}");
            assert_eq!(layers(&facts, false), words(machine.lacks), "{about}: {facts}");
            assert_eq!(facts["layers"], report["layers"], "{about}: doctor measures the same");
            for lacking in machine.lacks {
                assert!(instructions.contains(lacking), "{about}: the agent is told: {instructions}");
            }
            let silent = demand == "required" && machine.lacks.is_empty();
            assert_eq!(instructions.contains("Isolation:"), !silent, "{about}: {instructions}");
            // without filters worker-audit may not go on where all is required, and every call is refused
            let recorded = demand == "best-effort" || !machine.lacks.contains(&"seccomp");
            let record = site.first_record();
            assert_eq!(record.is_some(), recorded, "{about}");
            assert!(recorded || outcome.code() == Some(10020), "{about}: {}", outcome.message);
            let Some(record) = record else { continue };
            assert_eq!(record["event_type"], "server_start");
            let summary = record["summary"].as_str().expect("a text");
            for layer in facts["layers"].as_array().expect("a list") {
                let told =
                    format!("{} ({}", layer["layer"].as_str().unwrap_or("?"), layer["detail"].as_str().unwrap_or("?"));
                assert!(summary.contains(&told), "{about}: {told} in {summary}");
            }
            assert!(summary.starts_with(&format!("isolation {demand}: ")), "{about}: {summary}");
            assert_eq!(summary.contains("missing: "), !machine.lacks.is_empty(), "{about}: {summary}");
        }
    }
}

#[test]
fn doctor_names_every_process_the_cause_and_one_step() {
    for machine in &MACHINES {
        for demand in ["required", "best-effort"] {
            let site = Site::new();
            let (status, report) = site.doctor(machine, demand);
            let about = format!("{:?} {} {demand}", machine.lacks, machine.cause);
            let processes = report["processes"].as_array().expect("a list");
            let named: BTreeSet<_> = processes.iter().filter_map(|of| of["process"].as_str()).collect();
            for worker in WORKERS {
                assert!(named.contains(worker), "{about}: {worker} is shown: {named:?}");
            }
            for process in processes.iter().filter(|of| of["process"] != "launcher") {
                let kind = process["process"].as_str().unwrap_or("?");
                let rows = process["report"]["rows"].as_array().unwrap_or_else(|| panic!("{about}: {kind} reports"));
                for row in rows {
                    let enforcer = row["enforcer"].as_str().unwrap_or_default();
                    for lacking in machine.lacks {
                        assert!(!enforcer.contains(lacking), "{about}: {kind} claims what is not there: {row}");
                    }
                }
                if machine.lacks.is_empty() {
                    assert!(
                        process["probe"].is_object() || kind == "supervisor",
                        "{about}: {kind} tried it from inside"
                    );
                }
            }
            let step = report["step"].as_str();
            if machine.lacks.is_empty() {
                assert!(step.is_none() && report["missing"] == json!([]), "{about}: {report}");
                assert_eq!(status, Some(0), "{about}: {}", report["reasons"]);
                continue;
            }
            assert!(step.is_some_and(|step| step.contains(machine.step)), "{about}: one step is named: {step:?}");
            let missing = report["missing"].as_array().expect("a list");
            for row in missing {
                assert!(row["step"].is_string(), "{about}: every missing row has its step: {row}");
            }
            let causes = format!("{}{}{}", report["missing"], report["layers"], report["reasons"]);
            assert!(causes.contains(machine.cause), "{about}: {causes}");
            // a write has nothing but Landlock around its files, and no process goes without its filter
            let short: BTreeSet<_> = missing.iter().filter_map(|row| row["process"].as_str()).collect();
            let expected: &[&str] =
                if machine.lacks.contains(&"seccomp") { &WORKERS } else { &["worker-write", "worker-write-net"] };
            for worker in expected {
                assert!(short.contains(worker), "{about}: {worker} falls short: {short:?}");
            }
            assert_eq!(status, Some(if demand == "required" { 2 } else { 1 }), "{about}: {}", report["reasons"]);
        }
    }
}

#[test]
fn off_is_stated_everywhere_and_the_step_is_to_stop_asking_for_it() {
    let site = Site::new();
    let start = || Start::new(&site.place).root(site.place.path()).cwd(&site.repo).arguments(&["--isolation", "off"]);
    let mut server = start().spawn();
    let (facts, instructions) = stated(&mut server);
    assert!(server.read("repo.status", &site.repo).is_ok());
    assert!(server.finish().status.success());
    assert_eq!((&facts["demand"], layers(&facts, true).len()), (&json!("off"), 0), "{facts}");
    assert!(instructions.contains("Isolation: OFF"), "{instructions}");
    let summary = site.first_record().expect("it is recorded")["summary"].to_string();
    assert!(summary.contains("isolation off: missing: process"), "{summary}");
    let output = start().arguments(&["doctor", "--json"]).output();
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["layers"], facts["layers"]);
    assert!(report["step"].as_str().is_some_and(|step| step.contains("without --isolation off")), "{report}");
    assert_eq!(output.status.code(), Some(1), "it works, with less");
    let output = start().arguments(&["doctor"]).output();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("\nnext step    start it without --isolation off\n"), "{text}");
    assert!(text.contains("\nlayers       missing: process ("), "{text}");
}

#[test]
fn an_empty_root_that_was_asked_for_and_is_not_there_has_its_step() {
    let site = Site::new();
    let machine = Machine { lacks: &[], calls: &[(&[UNSHARE], EPERM)], cause: "namespaces", step: "user namespaces" };
    let start = || Start::new(&site.place).root(site.place.path()).cwd(&site.repo);
    let output = on(&machine, || start().arguments(&["--empty-root", "doctor", "--json"]).output());
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(report["step"].as_str().is_some_and(|step| step.contains(machine.step)), "{report}");
    assert_eq!(output.status.code(), Some(1), "it works, with less");
    // who did not ask for it is not told to get it
    let output = on(&machine, || start().arguments(&["doctor", "--json"]).output());
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["step"], Value::Null, "{report}");
}

#[test]
fn a_run_directory_in_which_no_ledger_can_be_made_is_told_with_what_to_do() {
    // whatever its mode, and whether it stands for the ledger's directory or for the run directory itself
    for (name, mode, demand, status) in
        [("audit", 0o600, "best-effort", 1), ("audit", 0o700, "best-effort", 1), ("", 0o700, "required", 2)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let site = Site::new();
        let run = site.place.at("run");
        let file = if name.is_empty() { run.clone() } else { site.place.directory("run").join(name) };
        std::fs::write(&file, "no directory\n").expect("ours");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("ours");
        let start =
            Start::new(&site.place).root(site.place.path()).cwd(&site.repo).argument("--run-dir").argument(&run);
        let output = start.arguments(&["--audit", demand, "doctor", "--json"]).output();
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let reasons = report["reasons"].to_string();
        let shown = file.to_str().expect("places have UTF-8 paths");
        let wanted = format!("{shown} is no directory, and the ledger lies beneath it; move it away");
        assert!(reasons.contains(&wanted), "{name} {mode:o}: {reasons}");
        assert_eq!(output.status.code().map(|code| code == 2), Some(status == 2), "{name} {mode:o}: {reasons}");
        assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "no directory\n");
    }
}
