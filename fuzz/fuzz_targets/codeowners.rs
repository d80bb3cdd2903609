//! CODEOWNERS on arbitrary bytes; `worker-read/tests/codeowners_trial.rs` is the same judgement on the stable toolchain.
//! Trust: the input is the fuzzer's.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../worker-read/tests/trials/codeowners.rs"]
mod trial;

fuzz_target!(|bytes: &[u8]| trial::trial(bytes));
