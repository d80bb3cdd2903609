//! Tests that a machine cannot run say so, by name of what is missing, and are counted.
//! Trust: test code.

use std::sync::atomic::{AtomicU32, Ordering};

static UNMET: AtomicU32 = AtomicU32::new(0);

/// Notes that the running test, or a part of it, cannot be run here because `missing` is missing. Always false, so that
/// it can close a condition: `have(x) || unmet("x")`.
pub fn unmet(missing: &str) -> bool {
    let count = UNMET.fetch_add(1, Ordering::Relaxed) + 1;
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    eprintln!("SKIPPED ({count}): {name}: this machine lacks {missing}");
    false
}

/// Whether a program is on the path; notes it where it is not.
pub fn has_program(name: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|directory| directory.join(name).is_file())
        || unmet(&format!("the program {name}"))
}

/// Whether the tests run as root; notes it where they do not.
pub fn has_root() -> bool {
    super::is_root() || unmet("root's rights (changing owners)")
}
