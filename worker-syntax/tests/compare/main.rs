//! The engine over whole files: hand-written pairs, what edits make of them, and hostile ones.
//! Trust: test code.

mod golden;
mod hostile;
mod invariants;
mod support;
