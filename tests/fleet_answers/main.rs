//! Fleet answers are what git says of each repository, and no repository spoils the answer on the others.
//! Trust: the judge is the real git; hostile repositories stand among the honest ones.

mod digest;
mod radar;
#[path = "../support/mod.rs"]
mod support;
mod world;
