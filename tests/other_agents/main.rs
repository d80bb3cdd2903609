//! Who else works in a repository, end to end: stores built as their programs build them, processes, traps, and bounds.
//! Trust: the stores are made here; the server must not be misled, held up or made to talk by any of them.
#![cfg(target_os = "linux")]

mod hostile;
mod keeping;
mod recorded;
mod stores;
#[path = "../support/mod.rs"]
mod support;
mod world;
