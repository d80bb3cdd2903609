//! The look before a write: is it still the same file, and what did others add to it?
//! Trust: anybody with the user's rights may have touched the file since; whatever does not fit is refused by name.

use super::{
    Active, ActiveFile as _, AppendError, Appender, Directory, Host, IoFault, Notice, ReadAt as _, Step, scan,
};
use crate::{
    chain::{Link, Tail},
    hash::Hash,
    record::{Place, Rules},
};

impl<D: Directory, H: Host> Appender<D, H> {
    /// Under the lock: brings this writer's view up to date.
    pub(super) fn look(&mut self) -> Result<(), AppendError> {
        let named = self.directory.active().map_err(|fault| IoFault::new(Step::Open, &fault))?;
        let known = self.active.as_ref().map(|active| active.identity);
        if known.is_none() || named != known {
            if known.is_some() {
                self.expect_own_segment()?;
            }
            let before = self.tail.sequence;
            // a look that failed before may have left an older tail; what is known must never become less
            let held = self.must_hold.map_or(0, |(sequence, ..)| sequence);
            if let Link::Entry(hash) = self.tail.link
                && before > held
            {
                self.must_hold = Some((before, hash, self.tail.ledger));
            }
            // until it is settled, nothing of the old view holds
            self.active = None;
            self.settle()?;
            let entries = self.tail.sequence.saturating_sub(before);
            if entries > 0 {
                self.notices.push(Notice::OthersAdded { entries });
            }
            return Ok(());
        }
        let Some(mut active) = self.active.take() else { return Err(AppendError::Swapped) };
        let before = self.tail.sequence;
        let rules = std::mem::take(&mut self.rules);
        let looked = self.catch_up(&mut active, &rules).and_then(|torn| self.mend(&mut active, &torn, &rules));
        self.rules = rules;
        self.active = Some(active);
        looked?;
        if self.tail.sequence > before {
            self.notices.push(Notice::OthersAdded { entries: self.tail.sequence - before });
        }
        Ok(())
    }

    /// Another file is active: then what was written here must be a segment now (or pruned since, by newer ones).
    fn expect_own_segment(&mut self) -> Result<(), AppendError> {
        if self.tail.sequence == 0 {
            return Ok(());
        }
        let listing = self.directory.list().map_err(|fault| IoFault::new(Step::List, &fault))?;
        let known = listing.segments.iter().any(|segment| segment.last >= self.tail.sequence);
        if known { Ok(()) } else { Err(AppendError::Swapped) }
    }

    /// Verifies what stands in the active file after what is known of it; returns what stands after its last newline.
    pub(super) fn catch_up(&mut self, active: &mut Active<D::Active>, rules: &Rules) -> Result<Vec<u8>, AppendError> {
        let found = active.file.length().map_err(|fault| IoFault::new(Step::Read, &fault))?;
        if found < active.length {
            return Err(AppendError::Truncated { expected: active.length, found });
        }
        self.expect_last_line(active)?;
        if found == active.length {
            return Ok(Vec::new());
        }
        let (mut tail, mut anchor, mut first) = (self.tail, self.anchor, active.first);
        let (mut length, mut last_line) = (active.length, active.last_line);
        let mut checkpoint_of = None;
        let torn = scan::lines(&active.file, length, |at, line| {
            match scan::place(at, line, rules)? {
                Place::Chained(chained) => {
                    if first.is_none() && tail.sequence == 0 {
                        tail = Tail::start(&anchor);
                        if chained.sequence > 1 && anchor.records() == 0 {
                            // it goes on from a checkpoint, which is looked for afterwards
                            checkpoint_of = Some((chained.sequence, chained.previous));
                            tail = Tail { sequence: chained.sequence - 1, link: chained.previous, ..tail };
                        }
                    }
                    tail.judge(&chained).map_err(|fault| AppendError::Chain { at, fault })?;
                    tail.advance(&chained);
                    first.get_or_insert(chained.sequence);
                }
                Place::Legacy(text) if tail.sequence == 0 => anchor.add(text.as_bytes()),
                Place::Legacy(_) | Place::Unknown => {
                    return Err(AppendError::Record { at, fault: crate::record::RecordFault::NotChained });
                }
            }
            length = at + line.len() as u64;
            last_line = Some((at, Hash::of(&[line])));
            Ok(())
        })?;
        if let Some((next, previous)) = checkpoint_of {
            self.expect_checkpoint(next, previous)?;
        }
        if tail.sequence == 0 {
            tail = Tail { link: anchor.link(), ..tail };
        }
        (self.tail, self.anchor) = (tail, anchor);
        (active.first, active.length, active.last_line) = (first, length, last_line);
        Ok(torn)
    }

    /// The last line that is known must stand where it stood.
    fn expect_last_line(&self, active: &Active<D::Active>) -> Result<(), AppendError> {
        let Some((at, hash)) = active.last_line else { return Ok(()) };
        let line = scan::bytes(&active.file, at, active.length)?;
        if Hash::of(&[&line]) == hash { Ok(()) } else { Err(AppendError::Rewritten) }
    }

    /// A last line without its end: a write that was torn, or an entry that lacks only its newline.
    pub(super) fn mend(
        &mut self,
        active: &mut Active<D::Active>,
        torn: &[u8],
        rules: &Rules,
    ) -> Result<(), AppendError> {
        if torn.is_empty() {
            return Ok(());
        }
        let from = active.length + torn.len() as u64;
        let whole = match scan::place(active.length, torn, rules) {
            Ok(Place::Chained(chained)) if self.tail.judge(&chained).is_ok() => Some(Some(chained)),
            Ok(Place::Legacy(text)) if self.tail.sequence == 0 => {
                self.anchor.add(text.as_bytes());
                self.tail.link = self.anchor.link();
                Some(None)
            }
            // a whole object that does not continue the chain was never a torn write of a writer
            Ok(_) => return Err(AppendError::NotALedger),
            Err(_) => None,
        };
        // what must be there may be what was torn off: then it was acknowledged, this was no torn write, and the file
        // is left as it is
        let reached = self.tail.sequence.saturating_add(u64::from(matches!(whole, Some(Some(_)))));
        if let Some((expected, ..)) = self.must_hold.filter(|(expected, ..)| *expected > reached) {
            return Err(AppendError::Cut { expected, last: self.tail.sequence });
        }
        if let Some(chained) = whole {
            let taken = active.file.append(b"\n").map_err(|fault| IoFault::new(Step::Write, &fault))?;
            if taken != 1 {
                return Err(IoFault::new(Step::Write, &std::io::ErrorKind::WriteZero.into()).into());
            }
            active.file.sync().map_err(|fault| self.break_at(Step::Sync, &fault))?;
            active.last_line = Some((active.length, Hash::of(&[torn, b"\n"])));
            active.length = from + 1;
            if let Some(chained) = chained {
                Self::took(&mut self.tail, active, &chained);
                self.notices.push(Notice::Completed { sequence: chained.sequence });
            }
            return Ok(());
        }
        // a file whose only content never was the beginning of an entry is somebody's mistake, not ours to cut
        let begins_as_entry = torn.starts_with(b"{\"") || torn == b"{" || torn.iter().all(|byte| *byte == 0);
        if active.length == 0 && !begins_as_entry {
            return Err(AppendError::NotALedger);
        }
        let cut = self.directory.cut_tail(active.identity, from, active.length);
        cut.map_err(|fault| IoFault::new(Step::Cut, &fault))?;
        self.notices.push(Notice::TornTailCut { bytes: torn.len() as u64 });
        Ok(())
    }

    /// A sync failed: what is on the disk is unknown from now on.
    pub(super) fn break_at(&mut self, step: Step, fault: &std::io::Error) -> IoFault {
        let fault = IoFault::new(step, fault);
        self.broken.get_or_insert(fault.clone());
        fault
    }
}
