//! The ledger as an operator has it: written by the jailed worker of a real server, verified and shown by the product.
//! Trust: test code; ledgers are looked at with the product's own verification, and entries as plain JSON.

#[path = "../support/mod.rs"]
mod support;

#[cfg(target_os = "linux")]
mod crashes;
#[cfg(target_os = "linux")]
mod faults;
#[cfg(target_os = "linux")]
mod proposals;
mod records;
mod rotation;
mod shared;
mod world;
