//! A status driven by arbitrary index files, in a repository made once by `git`;
//! `worker-read/tests/mutations_break_no_rule.rs` is the same judgement on the stable toolchain.
//! Trust: the input is the fuzzer's.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::{path::PathBuf, process::Command, sync::OnceLock};

#[path = "../../worker-read/tests/trials/status.rs"]
mod trial;

fn top() -> &'static PathBuf {
    static TOP: OnceLock<PathBuf> = OnceLock::new();
    TOP.get_or_init(|| {
        let top = std::env::temp_dir().join(format!("bulkhead-fuzz-status-{}", std::process::id()));
        std::fs::create_dir_all(top.join("b/d")).expect("a writable temporary directory");
        for name in ["a", "b/c", "b/d/e", "f.txt"] {
            std::fs::write(top.join(name), name).expect("writable");
        }
        let who = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        for words in [&["init", "-q"][..], &["add", "-A"], &["commit", "-q", "-m", "one"]] {
            let made = Command::new("git").arg("-C").arg(&top).args(who).args(words).status();
            assert!(made.expect("git is installed").success());
        }
        top.canonicalize().expect("it is there")
    })
}

fuzz_target!(|bytes: &[u8]| {
    let _ = trial::trial(top(), bytes);
});
