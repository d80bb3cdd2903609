//! Git in its jail: what an honest repository needs works, and what a hostile one would have run does not.
//! Trust: this program is the driver and, started again by the real launcher, the worker; repositories are made here.
//!
//! Started as root, all of it runs a second time as an ordinary user.

#[cfg(target_os = "linux")]
mod cases;
#[cfg(target_os = "linux")]
mod hostile;
#[cfg(target_os = "linux")]
mod house;
#[cfg(target_os = "linux")]
mod scripted;

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use std::{panic::catch_unwind, process::ExitCode};

    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("worker") => return scripted::worker(&arguments),
        Some("stand-in") => return scripted::stand_in(),
        _ => {}
    }
    // a filter, as `cargo test NAME` passes it
    let filter = arguments.iter().find(|word| !word.starts_with('-') && *word != house::AS_USER);
    let who = if nix::unistd::geteuid().is_root() { "root" } else { "user" };
    let (mut passed, mut failed) = (0, 0);
    for (name, case) in cases::ALL.iter().chain(hostile::ALL) {
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
