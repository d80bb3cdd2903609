//! Hunks of any two texts lead from one to the other; `worker-read/tests/diff_text` is the same on the stable toolchain.
//! Trust: the input is the fuzzer's.
#![no_main]

#[path = "../../worker-read/tests/diff_text/patches.rs"]
mod patches;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| patches::judge(bytes));
