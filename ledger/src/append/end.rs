//! Taking up a file: a short one whole, a long one by its two ends, and the rest of it when there is time.
//! Trust: anybody with the user's rights may have changed the file while nobody wrote; what a new entry would continue must
//! be proven, and every oddity leads to the whole file being read.
//!
//! A new entry names the hash of the last one, and that names all before it: whatever is changed there, before or after the
//! start, is found by a verification, and no later entry can hide it. So a start proves the end alone: that the last
//! entries are whole and continue each other, as far back as one that is signed by this writer's own key.

use super::{Active, AppendError, Appender, Directory, Host, IoFault, ReadAt as _, Step, scan};
use crate::{
    chain::{Chained, Tail},
    hash::Hash,
    limits::MAX_FILE,
    record::{Place, RecordFault},
    statement::form_alone,
};

/// Bytes of a file that is always read whole.
const SHORT: u64 = 64 * 1024;

/// What lies between the first entry of a file and those with which it was taken up.
pub(super) struct Behind {
    /// Where the next entry begins that was not read.
    position: u64,
    /// What that one must continue.
    tail: Tail,
    /// Where the first entry begins that was read.
    until: u64,
    /// That entry.
    meets: Chained,
}

impl<D: Directory, H: Host> Appender<D, H> {
    /// Reads all of the active file; returns what stands after its last newline.
    pub(super) fn take_up_whole(&mut self, active: &mut Active<D::Active>) -> Result<Vec<u8>, AppendError> {
        let torn = self.catch_up(active, &form_alone())?;
        scan::end(&active.file, active.length)?.has_signature(&self.rules)?;
        Ok(torn)
    }

    /// Reads the first entry of the active file and its last ones; returns what stands after its last newline, or `None`
    /// where the file is short, or where they do not prove enough: then nothing was taken over from it.
    pub(super) fn take_up_by_its_end(
        &mut self,
        active: &mut Active<D::Active>,
    ) -> Result<Option<Vec<u8>>, AppendError> {
        let length = active.file.length().map_err(|fault| IoFault::new(Step::Read, &fault))?;
        if length <= SHORT || length > MAX_FILE {
            return Ok(None);
        }
        let form_alone = form_alone();
        // a file that begins with a torn line is one for the whole reading
        let Ok(beginning) = scan::piece(&active.file, 0, length) else { return Ok(None) };
        let first = beginning.each().next().map(|(at, line)| scan::place(at, line, &form_alone));
        let Some(Ok(Place::Chained(first))) = first else { return Ok(None) };
        let mut base = self.tail;
        let is_pruned = base.sequence == 0 && first.sequence > 1;
        if is_pruned {
            base = Tail { sequence: first.sequence - 1, link: first.previous, ..base };
        }
        let end = scan::end(&active.file, length)?;
        let Some((tail, meets, last_line)) = proven(&base, &first, &end) else { return Ok(None) };
        let lacks_ledger = tail.ledger.is_none() && self.ledger_id;
        if lacks_ledger || self.key.is_some() && !end.has_signature(&self.rules)? {
            return Ok(None);
        }
        if is_pruned {
            self.expect_checkpoint(first.sequence, first.previous)?;
        }
        self.tail = tail;
        active.first = Some(first.sequence);
        active.length = length - end.torn.len() as u64;
        active.last_line = Some(last_line);
        active.behind = Some(Behind { position: 0, tail: base, until: end.from, meets });
        Ok(Some(end.torn))
    }

    /// Verifies a piece of what was not read when the ledger was taken up, at a cost of a few tenths of a millisecond; false
    /// where nothing is left of it. For a writer that has nothing else to do: what was damaged or changed in the middle of
    /// the file is found soon, and not only by a verification.
    ///
    /// # Errors
    /// [`AppendError`]: nothing more should be appended, so that the ledger stays as it was found.
    pub fn read_behind(&mut self) -> Result<bool, AppendError> {
        let Some(active) = &mut self.active else { return Ok(false) };
        let Some(behind) = &mut active.behind else { return Ok(false) };
        let piece = scan::piece(&active.file, behind.position, behind.until)?;
        let mut tail = behind.tail;
        for (at, line) in piece.each() {
            let Place::Chained(chained) = scan::place(at, line, &form_alone())? else {
                return Err(AppendError::Record { at, fault: RecordFault::NotChained });
            };
            tail.judge(&chained).map_err(|fault| AppendError::Chain { at, fault })?;
            tail.advance(&chained);
        }
        behind.tail = tail;
        behind.position += piece.lines.len() as u64;
        if behind.position < behind.until {
            return Ok(true);
        }
        let at = behind.until;
        tail.judge(&behind.meets).map_err(|fault| AppendError::Chain { at, fault })?;
        active.behind = None;
        Ok(false)
    }
}

/// Whether the first entry continues what lies before the file, and the last ones each other, within one segment and one
/// ledger: where the file ends then, the first of the last entries, and the last line.
fn proven(base: &Tail, first: &Chained, end: &scan::End) -> Option<(Tail, Chained, (u64, Hash))> {
    base.judge(first).ok()?;
    let mut tail = *base;
    tail.advance(first);
    let (mut meets, mut last_line) = (None, None);
    for (at, line) in end.each() {
        let Ok(Place::Chained(chained)) = scan::place(at, line, &form_alone()) else { return None };
        if meets.is_none() {
            if at == 0 || chained.sequence <= first.sequence {
                return None;
            }
            tail = Tail { sequence: chained.sequence - 1, link: chained.previous, ..tail };
            meets = Some(chained);
        }
        tail.judge(&chained).ok()?;
        tail.advance(&chained);
        last_line = Some((at, Hash::of(&[line])));
    }
    Some((tail, meets?, last_line?))
}
