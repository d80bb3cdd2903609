//! Exchanges with an application that answers, babbles, falls silent or is not there: the real launcher, a jailed worker, a
//! scripted peer on a raw socket.
//! Trust: this program is the supervisor, the peer and, started again, the worker; every wait has a deadline.

#[cfg(target_os = "linux")]
mod faults;
#[cfg(target_os = "linux")]
mod house;
#[cfg(target_os = "linux")]
mod peer;
#[cfg(target_os = "linux")]
mod proofs;
#[cfg(target_os = "linux")]
mod together;
#[cfg(target_os = "linux")]
mod wire;

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use std::{panic::catch_unwind, process::ExitCode};

    if std::env::args().nth(1).is_some_and(|word| word == "worker") {
        return house::worker();
    }
    // a filter, as `cargo test NAME` passes it
    let filter = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let wanted = |name: &str| filter.as_ref().is_none_or(|filter| name.contains(filter.as_str()));
    // launchers are forked here, before there is a second thread
    let house = house::House::build();
    let (mut passed, mut failed) = (0, 0);
    for (name, case) in wire::ALL.iter().chain(faults::ALL).chain(together::ALL).chain(proofs::ALL) {
        if !wanted(name) {
            continue;
        }
        house.peer.reset();
        let good = catch_unwind(std::panic::AssertUnwindSafe(|| case(&house))).is_ok();
        *(if good { &mut passed } else { &mut failed }) += 1;
        eprintln!("{} {name}", if good { "ok    " } else { "FAILED" });
    }
    eprintln!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
