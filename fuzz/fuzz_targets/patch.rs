//! Hunks of arbitrary texts; `worker-read/tests/mutations_break_no_rule.rs` is the same judgement on the stable toolchain.
//! Trust: the input is the fuzzer's.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../worker-read/tests/trials/patch.rs"]
mod trial;

fuzz_target!(|bytes: &[u8]| trial::trial(bytes));
