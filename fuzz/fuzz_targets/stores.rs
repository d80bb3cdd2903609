//! Stores of other agents on arbitrary bytes; `worker-agents/tests/stores_trial.rs` is the same judgement on the stable toolchain.
//! Trust: the input is the fuzzer's.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../worker-agents/tests/trials/stores.rs"]
mod trial;

fuzz_target!(|bytes: &[u8]| trial::trial(bytes));
