//! Two texts in any language, compared; `worker-syntax/tests/sources_trial.rs` is the same judgement on the stable
//! toolchain.
//! Trust: the input is the fuzzer's.
#![no_main]

#[path = "../../worker-syntax/tests/trials/sources.rs"]
mod sources;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| sources::judge(&mut Default::default(), bytes));
