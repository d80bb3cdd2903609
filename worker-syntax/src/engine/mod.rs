//! The engine: two texts of a file, by way of the grammar of its language, to hunks by definition.
//! Trust: texts are hostile and the parsers are C; regions come from a peer, and such as are not those of the texts are no
//! question of an honest one.

pub mod compare;
mod definition;
mod hunks;
pub mod language;
pub mod limits;
mod moved;
mod pairs;
mod parse;
mod rows;
mod text;
mod tokens;

pub use compare::Engine;

use bulkhead_ipc::edge::syntax::{self, Ask, Reply};
use compare::{Compared, Pair, Refused, Window};
use std::time::Instant;

/// What became of a file; `None` where no honest peer asks so.
#[must_use]
pub fn answer(engine: &mut Engine, ask: &Ask, deadline: Instant) -> Option<Reply> {
    let pair = Pair { path: &ask.path, old: &ask.old, new: &ask.new, regions: &ask.regions };
    let window = Window { skip: ask.skip, lines: ask.lines, bytes: ask.bytes };
    match engine.compare(pair, window, deadline) {
        Ok(Compared { language, hunks, changed_lines }) => {
            let language = language.to_owned();
            Some(Reply::Compared(Box::new(syntax::Compared { language, hunks, changed_lines })))
        }
        Err(Refused::Fallback(reason)) => Some(Reply::Fallback(reason)),
        Err(Refused::Malformed) => None,
    }
}
