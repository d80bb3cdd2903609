//! The launcher as a whole: forked, asked over its socket, with this executable started again as the workers.
//! Trust: the tests play the supervisor, honest and taken over.

#[cfg(target_os = "linux")]
mod cases;
#[cfg(target_os = "linux")]
mod side;
#[cfg(target_os = "linux")]
mod worker;

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use std::{panic::catch_unwind, process::ExitCode};

    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("worker") => return worker::main(),
        Some("started-from-a-file-to-be-replaced") => {
            cases::after_replacing_the_own_file();
            return ExitCode::SUCCESS;
        }
        Some("started-by-a-host-that-ignores-its-children") => {
            cases::under_a_careless_host();
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    // a filter, as `cargo test NAME` passes it
    let filter = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let (mut passed, mut failed) = (0, 0);
    for (name, case) in cases::ALL {
        if filter.as_ref().is_some_and(|filter| !name.contains(filter.as_str())) {
            continue;
        }
        let good = catch_unwind(case).is_ok();
        *(if good { &mut passed } else { &mut failed }) += 1;
        eprintln!("{} {name}", if good { "ok    " } else { "FAILED" });
    }
    eprintln!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
