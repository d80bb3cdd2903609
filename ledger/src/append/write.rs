//! Writing a group: sealed one after the other, written at once, synced once, and only then acknowledged.
//! Trust: the disk may be full, slow or failing at any step; what was not synced is not acknowledged.

use super::{Ack, ActiveFile as _, AppendError, Appender, Directory, Host, IoFault, Step, Unrecorded};
use crate::{
    chain::{Chained, Tail},
    entry::{self, Position},
    event::{Event, EventFault},
    hash::Hash,
    limits::MAX_FILE,
    uuid::Uuid,
};

/// Entries that are sealed and not yet on the disk.
struct Group {
    bytes: Vec<u8>,
    entries: Vec<Pending>,
    tail: Tail,
}

struct Pending {
    /// Where its line begins and ends in the group's bytes.
    start: usize,
    end: usize,
    chained: Chained,
    /// Its event.
    index: usize,
}

impl<D: Directory, H: Host> Appender<D, H> {
    /// Under the lock, after a look: writes the events.
    pub(super) fn write(&mut self, events: &[Event]) -> Vec<Result<Ack, Unrecorded>> {
        let mut results: Vec<Result<Ack, Unrecorded>> = Vec::with_capacity(events.len());
        let mut group = self.group();
        for (index, event) in events.iter().enumerate() {
            match self.add(event, index, &mut group, &mut results) {
                Ok(ack) => results.push(Ok(ack)),
                Err(Unrecorded::Event(fault)) => results.push(Err(fault.into())),
                Err(Unrecorded::Storage(fault)) => {
                    // the entries after this one would have continued it
                    let rest = events.len() - index;
                    results.extend((0..rest).map(|_| Err(Unrecorded::Storage(fault.clone()))));
                    break;
                }
            }
        }
        if let Err(fault) = self.flush(group, &mut results) {
            debug_assert!(results.iter().any(|result| result.is_err()), "{fault}");
        }
        results
    }

    fn group(&self) -> Group {
        Group { bytes: Vec::new(), entries: Vec::new(), tail: self.tail }
    }

    fn seal(&mut self, event: &Event, tail: &Tail) -> Result<(entry::Sealed, Chained), EventFault> {
        let ledger = match (tail.ledger, self.ledger_id) {
            (known, true) => Some(known.unwrap_or_else(|| Uuid::v4(self.host.random()))),
            (_, false) => None,
        };
        let at = Position {
            sequence: tail.sequence.checked_add(1).ok_or(EventFault::SequenceEnd)?,
            previous: tail.link,
            segment: tail.segment.unwrap_or_else(|| Uuid::v4(self.host.random())),
            ledger,
        };
        let sealed = entry::seal(event, &at, Uuid::v4(self.host.random()), self.key.as_ref())?;
        let Position { sequence, previous, segment, ledger } = at;
        let chained = Chained { sequence, previous, stated: sealed.hash, computed: sealed.hash, segment, ledger };
        Ok((sealed, chained))
    }

    /// Seals an event into the group; rotates first where it no longer fits.
    fn add(
        &mut self,
        event: &Event,
        index: usize,
        group: &mut Group,
        results: &mut [Result<Ack, Unrecorded>],
    ) -> Result<Ack, Unrecorded> {
        let (mut sealed, mut chained) = self.seal(event, &group.tail)?;
        let (length, first) = self.active.as_ref().map_or((0, None), |active| (active.length, active.first));
        let after = length + (group.bytes.len() + sealed.line.len()) as u64;
        if after > self.rotate_at && (first.is_some() || !group.entries.is_empty()) {
            let full = std::mem::replace(group, self.group());
            self.flush(full, results)?;
            self.rotate()?;
            *group = self.group();
            (sealed, chained) = self.seal(event, &group.tail)?;
        } else if after > MAX_FILE {
            return Err(AppendError::FileFull.into());
        }
        let start = group.bytes.len();
        group.bytes.extend_from_slice(&sealed.line);
        group.tail.advance(&chained);
        group.entries.push(Pending { start, end: group.bytes.len(), chained, index });
        Ok(Ack { sequence: chained.sequence, hash: sealed.hash })
    }

    /// Writes and syncs a group. Entries that did not get to the disk lose their acknowledgement in `results`.
    fn flush(&mut self, group: Group, results: &mut [Result<Ack, Unrecorded>]) -> Result<(), AppendError> {
        if group.entries.is_empty() {
            return Ok(());
        }
        let refuse = |results: &mut [Result<Ack, Unrecorded>], entries: &[Pending], fault: &AppendError| {
            for entry in entries {
                results[entry.index] = Err(Unrecorded::Storage(fault.clone()));
            }
        };
        let Some(mut active) = self.active.take() else {
            refuse(results, &group.entries, &AppendError::Swapped);
            return Err(AppendError::Swapped);
        };
        let (written, fault) = write_all(&mut active.file, &group.bytes);
        let whole = group.entries.partition_point(|entry| entry.end <= written);
        let (whole, rest) = group.entries.split_at(whole);
        let end = whole.last().map_or(0, |entry| entry.end);
        let fault = fault.map(AppendError::Io);
        if let Some(fault) = &fault {
            refuse(results, rest, fault);
        }
        let mut certain = true;
        if written > end {
            // the torn line was never acknowledged; if it cannot be cut now, the next look does it
            let from = active.length + written as u64;
            certain = self.directory.cut_tail(active.identity, from, active.length + end as u64).is_ok();
        }
        if let Some(last) = whole.last() {
            if let Err(unsynced) = active.file.sync() {
                let unsynced = AppendError::Io(self.break_at(Step::Sync, &unsynced));
                refuse(results, whole, &unsynced);
                return Err(unsynced);
            }
            for entry in whole {
                Self::took(&mut self.tail, &mut active, &entry.chained);
            }
            let line = &group.bytes[last.start..last.end];
            active.last_line = Some((active.length + last.start as u64, Hash::of(&[line])));
            active.length += end as u64;
        }
        if certain {
            self.active = Some(active);
        }
        fault.map_or(Ok(()), Err)
    }
}

/// Writes as much as the file takes; how much that was, and why not all.
fn write_all<F: super::ActiveFile>(file: &mut F, bytes: &[u8]) -> (usize, Option<IoFault>) {
    let mut written = 0;
    while written < bytes.len() {
        match file.append(&bytes[written..]) {
            Ok(0) => return (written, Some(IoFault::new(Step::Write, &std::io::ErrorKind::WriteZero.into()))),
            Ok(more) => written += more.min(bytes.len() - written),
            Err(fault) if fault.kind() == std::io::ErrorKind::Interrupted => {}
            Err(fault) => return (written, Some(IoFault::new(Step::Write, &fault))),
        }
    }
    (written, None)
}
