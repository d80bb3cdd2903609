//! Files that an operation leaves in the git directory, and conflict markers, from arbitrary bytes; a test beside the
//! readers makes the same judgement on the stable toolchain.
//! Trust: the input is the fuzzer's.
#![no_main]

use bulkhead_worker_read::unmerged::operation;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| operation::judge(bytes));
