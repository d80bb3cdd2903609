//! The product's own writes in their own jail: what the operations' tests do without walls works behind them too.
//! Trust: this program is the driver and, started again by the real launcher, the worker; repositories are made here.
//!
//! Started as root, all of it runs a second time as an ordinary user.

#[cfg(target_os = "linux")]
mod cases;
#[cfg(target_os = "linux")]
#[path = "../write_jail/house.rs"]
#[allow(dead_code, reason = "scripts and their words belong to the other tests of this house")]
mod house;

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use bulkhead_ipc::{
        channel::{Stream, WorkerEnds},
        inbox::Inbox,
    };
    use std::{panic::catch_unwind, process::ExitCode};

    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|word| word == "worker") {
        let (requests, answers) =
            bulkhead_sandbox::inherited::worker_pipes().expect("the launcher put the pipes there");
        let ends = WorkerEnds::new(Inbox::new(requests), Stream(answers));
        let network = arguments.get(1).is_some_and(|kind| kind == "write-net");
        bulkhead_worker_write::run(ends, network, true, bulkhead_worker_write::operations::perform);
        return ExitCode::SUCCESS;
    }
    // a filter, as `cargo test NAME` passes it
    let filter = arguments.iter().find(|word| !word.starts_with('-') && *word != house::AS_USER);
    let who = if nix::unistd::geteuid().is_root() { "root" } else { "user" };
    let (mut passed, mut failed) = (0, 0);
    for (name, case) in cases::ALL {
        if filter.is_some_and(|filter| !name.contains(filter.as_str())) {
            continue;
        }
        let good = catch_unwind(case).is_ok();
        *(if good { &mut passed } else { &mut failed }) += 1;
        eprintln!("{} {name} as {who}", if good { "ok    " } else { "FAILED" });
    }
    eprintln!("{passed} passed, {failed} failed");
    let again = who == "user" || house::run_as_user(&arguments);
    if failed == 0 && again { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
