//! What each question of the read edge carries, one file per family of tools.
//! Trust: written by the supervisor from checked arguments; a worker still takes every text in them for hostile.

mod checkouts;
mod conflict;
mod diff;
mod direct;
mod facts;
mod fleet;
mod history;
mod refs;
mod safety;
mod scope;

pub use checkouts::*;
pub use conflict::*;
pub use diff::*;
pub use direct::*;
pub use facts::*;
pub use fleet::*;
pub use history::*;
pub use refs::*;
pub use safety::*;
pub use scope::*;
