//! What stands in the engine's place in a build without grammars: every file is left to the text diff, by that reason.
//! Trust: a question is not looked at.

use bulkhead_contract::results::FallbackReason;
use bulkhead_ipc::edge::syntax::{Ask, Reply};
use std::time::Instant;

/// No parser.
#[derive(Debug, Default)]
pub struct Engine;

/// [`FallbackReason::NoGrammars`], whatever is asked; never `None`, which says that no honest peer asks so.
#[must_use]
pub fn answer(_engine: &mut Engine, _ask: &Ask, _deadline: Instant) -> Option<Reply> {
    Some(Reply::Fallback(FallbackReason::NoGrammars))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_falls_back_by_that_reason() {
        let ask = Ask {
            path: b"x.rs".to_vec(),
            old: b"fn a() {}\n".to_vec(),
            new: Vec::new(),
            regions: Vec::new(),
            skip: 0,
            lines: 1,
            bytes: 1,
        };
        let reply = answer(&mut Engine, &ask, Instant::now());
        assert_eq!(reply, Some(Reply::Fallback(FallbackReason::NoGrammars)));
    }
}
