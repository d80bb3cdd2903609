//! Walks that ended a page and may be continued by the next one, which then costs what it adds.
//! Trust: found by the whole text of a cursor that we gave out; whatever is missing here is walked again.

use super::Walk;

/// Walks that are kept.
const MAX_WALKS: usize = 2;
/// Bytes of one that is kept at most.
const MAX_BYTES: usize = 8 << 20;

/// Walks by the cursor that continues them.
#[derive(Debug, Default)]
pub(crate) struct Warm {
    walks: Vec<(String, Walk)>,
}

impl Warm {
    /// The walk that `cursor` continues. It is taken out: once it goes on, it stands elsewhere.
    pub(crate) fn take(&mut self, cursor: &str) -> Option<Walk> {
        let at = self.walks.iter().position(|(of, _)| of == cursor)?;
        Some(self.walks.remove(at).1)
    }

    /// Keeps a walk, unless it is too large.
    pub(crate) fn keep(&mut self, cursor: String, walk: Walk) {
        self.walks.retain(|(of, _)| *of != cursor);
        if walk.bytes() > MAX_BYTES {
            return;
        }
        if self.walks.len() >= MAX_WALKS {
            self.walks.remove(0);
        }
        self.walks.push((cursor, walk));
    }
}
