//! `bulkhead connect` on the real binary: each host's file, made, changed and taken back, in a home of its own.
//! Trust: test code. No test may reach a file outside its temporary directory.
#![cfg(target_os = "linux")]

#[path = "../support/mod.rs"]
mod support;

mod files;
mod hosts;
mod listing;
mod world;
