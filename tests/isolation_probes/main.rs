//! The finished jails against everything that a taken-over process would try, with an exact table of what comes of it.
//! Trust: this program is the driver and, started again, each of the processes that the probes run in.
//!
//! Every probe runs in fresh processes: without any layer (`bare`), as worker-read started by the real launcher
//! (`read`, and `read+empty-root` with the optional layer), as worker-audit (`audit`), as worker-agents (`agents`) and its
//! second kind, which keeps a note (`note`), as worker-syntax (`syntax`), as worker-gateway with a stream in its hands (`gateway`),
//! as worker-write and its second kind, which has a network (`write`, `write-net`), and as the supervisor (`supervisor`). What the jailed ones answer must be what `tests/golden` says; what a bare one answers must be something
//! else, or the probe tests nothing.
//! Started as root, all of it runs a second time as an ordinary user. `BULKHEAD_BLESS=1` writes the table anew.

#[cfg(target_os = "linux")]
mod collect;
#[cfg(target_os = "linux")]
mod judge;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod subject;
#[cfg(target_os = "linux")]
mod user;
#[cfg(target_os = "linux")]
mod world;

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let role = std::env::args().nth(1).unwrap_or_default();
    match role.as_str() {
        "worker" if std::env::args().nth(2).is_some_and(|kind| kind == "audit") => subject::auditor(),
        "worker" if std::env::args().nth(2).is_some_and(|kind| kind == "agents") => subject::onlooker(),
        "worker" if std::env::args().nth(2).is_some_and(|kind| kind == "note") => subject::note_keeper(),
        "worker" if std::env::args().nth(2).is_some_and(|kind| kind == "gateway") => subject::talker(),
        "worker" if std::env::args().nth(2).is_some_and(|kind| kind == "syntax") => subject::parser(),
        "worker" if std::env::args().nth(2).is_some_and(|kind| kind == "write") => subject::writer(false),
        "worker" if std::env::args().nth(2).is_some_and(|kind| kind == "write-net") => subject::writer(true),
        "worker" => subject::reader(),
        "supervisor" => subject::supervisor(),
        "bare" => subject::bare(),
        "sibling" => subject::sibling(),
        // the second run: all is collected here and judged by the first
        "as-user" => user::collect(),
        _ => drive(),
    }
}

#[cfg(target_os = "linux")]
fn drive() -> std::process::ExitCode {
    use std::process::ExitCode;

    let own = collect::everything();
    if std::env::var_os("BULKHEAD_BLESS").is_some() {
        judge::bless(&own).expect("the source tree is there and may be written");
    }
    let mut verdict = judge::Verdict::default();
    if nix::unistd::geteuid().is_root() {
        verdict.judge("root", &own);
        match user::run() {
            Ok(collected) => verdict.judge("user", &collected),
            Err(why) => verdict.skip("the run as an ordinary user", &why, 1),
        }
    } else {
        verdict.judge("user", &own);
        verdict.skip("the run as root", "started as an ordinary user", 1);
    }
    if verdict.close() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
