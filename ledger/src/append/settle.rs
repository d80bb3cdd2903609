//! Taking up a ledger anew: at the start, after another writer rotated, after a fault left the view in doubt.
//! Trust: segments and checkpoints may have been changed by anybody; they are read as far as the chain needs them.

use super::{
    Active, ActiveFile as _, AppendError, Appender, Directory, Host, IoFault, Listing, Notice, ReadAt as _, Step, scan,
};
use crate::{
    chain::{Anchor, Link, Tail},
    checkpoint::Checkpoint,
    hash::Hash,
    names::SegmentName,
    record::Place,
    statement::form_alone,
    uuid::Uuid,
};

impl<D: Directory, H: Host> Appender<D, H> {
    /// Under the lock: finds the end of the ledger, and proves that it is one: see [`super::end`]. Where an entry is known
    /// that the ledger must hold, hashes are checked from there on; signatures of all are a verification's work.
    pub(super) fn settle(&mut self) -> Result<(), AppendError> {
        let listing = self.list()?;
        self.anchor = Anchor::start();
        self.tail = self.base(&listing)?;
        self.expect_held(&listing)?;
        let base = self.tail;
        let file = self.directory.open_active().map_err(|fault| IoFault::new(Step::Open, &fault))?;
        let identity = file.identity().map_err(|fault| IoFault::new(Step::Open, &fault))?;
        let mut active = Active { file, identity, length: 0, first: None, last_line: None, behind: None };
        let by_its_end = if self.must_hold.is_none() { self.take_up_by_its_end(&mut active)? } else { None };
        let torn = match by_its_end {
            Some(torn) => torn,
            None => self.take_up_whole(&mut active)?,
        };
        let rules = std::mem::take(&mut self.rules);
        let mended = self.mend(&mut active, &torn, &rules);
        self.rules = rules;
        mended?;
        self.expect_held_in(&active, base)?;
        if self.tail.ledger.is_none() && self.ledger_id {
            self.tail.ledger = self.ledger_of(&listing)?;
        }
        self.active = Some(active);
        self.must_hold = None;
        Ok(())
    }

    pub(super) fn list(&mut self) -> Result<Listing, AppendError> {
        let mut listing = self.directory.list().map_err(|fault| IoFault::new(Step::List, &fault))?;
        listing.segments.sort_unstable();
        Ok(listing)
    }

    fn open_segment(&mut self, name: &SegmentName) -> Result<D::Segment, AppendError> {
        Ok(self.directory.open_segment(name).map_err(|fault| IoFault::new(Step::Open, &fault))?)
    }

    /// What the active file continues: the newest segment's last entry, or nothing.
    fn base(&mut self, listing: &Listing) -> Result<Tail, AppendError> {
        let pairs = listing.segments.iter().zip(listing.segments.iter().skip(1));
        if pairs.into_iter().any(|(older, newer)| older.last.checked_add(1) != Some(newer.first)) {
            return Err(AppendError::Segments);
        }
        let Some(newest) = listing.segments.last() else { return Ok(Tail::start(&self.anchor)) };
        let last = scan::last_entry(&self.open_segment(newest)?, &self.rules)?;
        if (last.sequence, last.segment) != (newest.last, newest.id) {
            return Err(AppendError::Segments);
        }
        Ok(Tail { before: Some(newest.id), ledger: last.ledger, ..Tail::after(last.sequence, last.stated) })
    }

    /// The ledger's id in the segments. Other writers do not record it; ours must not change because all that stands in the
    /// active file is theirs.
    fn ledger_of(&mut self, listing: &Listing) -> Result<Option<Uuid>, AppendError> {
        let mut ledger = None;
        for segment in listing.segments.iter().rev() {
            let file = self.open_segment(segment)?;
            scan::lines(&file, 0, |at, line| {
                if let Place::Chained(chained) = scan::place(at, line, &form_alone())? {
                    ledger = chained.ledger.or(ledger);
                }
                Ok(())
            })?;
            if ledger.is_some() {
                break;
            }
        }
        Ok(ledger)
    }

    /// The entry that the ledger must contain, where it lies in a segment: found there, and everything after it verified.
    fn expect_held(&mut self, listing: &Listing) -> Result<(), AppendError> {
        let Some((sequence, hash, ledger)) = self.must_hold else { return Ok(()) };
        if ledger.is_some() && self.tail.ledger.is_some() && ledger != self.tail.ledger {
            return Err(AppendError::Replaced(sequence));
        }
        let Some(oldest) = listing.segments.first() else { return Ok(()) };
        if sequence > self.tail.sequence {
            return Ok(());
        }
        if sequence < oldest.first {
            self.notices.push(Notice::LostSight { known: sequence, retained: oldest.first });
            self.must_hold = None;
            return Ok(());
        }
        let mut tail: Option<Tail> = None;
        let form_alone = form_alone();
        for segment in listing.segments.iter().filter(|segment| segment.last >= sequence) {
            if let Some(tail) = &mut tail {
                tail.next_file();
            }
            let file = self.open_segment(segment)?;
            scan::lines(&file, 0, |at, line| {
                let Place::Chained(chained) = scan::place(at, line, &form_alone)? else { return Ok(()) };
                match &mut tail {
                    Some(tail) => tail.judge(&chained).map_err(|fault| AppendError::Chain { at, fault })?,
                    None if chained.sequence == sequence && chained.stated != hash => {
                        return Err(AppendError::Replaced(sequence));
                    }
                    None => {}
                }
                if chained.sequence >= sequence {
                    tail.get_or_insert_with(|| Tail::after(sequence, hash)).advance(&chained);
                }
                Ok(())
            })?;
        }
        let reached = tail.map(|tail| (tail.sequence, tail.link));
        if reached != Some((self.tail.sequence, self.tail.link)) {
            return Err(AppendError::Segments);
        }
        self.must_hold = None;
        Ok(())
    }

    /// The entry that the ledger must contain, where it is not in a segment: it must be in the active file.
    fn expect_held_in(&mut self, active: &Active<D::Active>, base: Tail) -> Result<(), AppendError> {
        let Some((sequence, hash, ledger)) = self.must_hold else { return Ok(()) };
        if ledger.is_some() && self.tail.ledger.is_some() && ledger != self.tail.ledger {
            return Err(AppendError::Replaced(sequence));
        }
        if sequence > self.tail.sequence {
            return Err(AppendError::Cut { expected: sequence, last: self.tail.sequence });
        }
        if sequence <= base.sequence {
            return Ok(());
        }
        let mut found: Option<Hash> = None;
        scan::lines(&active.file, 0, |at, line| {
            if let Place::Chained(chained) = scan::place(at, line, &form_alone())? {
                found = found.or((chained.sequence == sequence).then_some(chained.stated));
            }
            Ok(())
        })?;
        if found == Some(hash) { Ok(()) } else { Err(AppendError::Replaced(sequence)) }
    }

    /// The active file begins after a checkpoint, and no segment lies between: the checkpoint must be there.
    pub(super) fn expect_checkpoint(&mut self, next: u64, previous: Link) -> Result<(), AppendError> {
        for name in self.list()?.checkpoints {
            let bytes = self.directory.read_checkpoint(&name).map_err(|fault| IoFault::new(Step::Read, &fault))?;
            let read = Checkpoint::read(&bytes, &form_alone());
            if read.is_ok_and(|(read, _)| read.next == next && Link::Entry(read.previous) == previous) {
                return Ok(());
            }
        }
        Err(AppendError::Segments)
    }

    /// The last entry of a segment, which its name must fit.
    pub(super) fn last_of(&mut self, segment: &SegmentName) -> Result<Hash, AppendError> {
        let file = self.open_segment(segment)?;
        file.length().map_err(|fault| IoFault::new(Step::Read, &fault))?;
        let last = scan::last_entry(&file, &self.rules)?;
        if last.sequence == segment.last { Ok(last.stated) } else { Err(AppendError::Segments) }
    }
}
