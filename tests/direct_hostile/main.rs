//! The direct surface on repositories made to hurt whoever works on them (contract `direct/hardening.md` §3): every tool that
//! reads and, with the gate open, every tool that writes. Trust: what is built here is as hostile as its builders could make
//! it; that a trap works at all is shown by the real git, which runs into it in a world of its own.
#![cfg(target_os = "linux")]

#[path = "../support/mod.rs"]
mod support;
mod sweep;
mod template;
mod world;

mod conflicts;
mod kills;
mod kinds;
mod large;
mod outside;
mod programs;
mod remotes;
mod settings;
mod sizes;
mod special;
mod trees;
mod user;
