//! The sequential part: judged records in order, the chain through all files, checkpoints, and what was expected.
//! Trust: records were judged by themselves; here they are only believed as far as the chain bears them.

use super::{
    Options,
    finding::{Finding, Kind},
    report::{Report, Since},
    snapshot::SnapshotFile,
};
use crate::{
    chain::{Anchor, Chained, Link, Tail},
    checkpoint::{Checkpoint, CheckpointFault},
    hash::Hash,
    names::SegmentName,
    record::{Judged, Place},
    signature::Signed,
};
use std::{collections::BTreeMap, io};

/// Where a verification is.
pub(super) struct Walk<'o> {
    options: &'o Options,
    report: Report,
    checkpoints: Vec<(Checkpoint, Signed)>,
    anchor: Anchor,
    tail: Option<Tail>,
    /// The next entry's predecessor could not be read, which was already told.
    lost: bool,
    index: usize,
    files: usize,
    name: Option<SegmentName>,
    records: u64,
    range: Option<(Chained, u64)>,
    timestamp: Option<u64>,
    /// Hashes of the sequences that checkpoints and the earlier head speak of.
    wanted: BTreeMap<u64, Option<Hash>>,
}

impl<'o> Walk<'o> {
    pub fn new(options: &'o Options, files: &[SnapshotFile], checkpoints: Vec<Vec<u8>>, faults: Vec<Finding>) -> Self {
        let mut report = Report { signatures_checked: !options.rules.keys.is_empty(), ..Report::default() };
        for fault in faults {
            report.add(fault);
        }
        let mut sound = Vec::new();
        for bytes in checkpoints {
            match Checkpoint::read(&bytes, &options.rules) {
                Ok(checkpoint) => sound.push(checkpoint),
                Err(fault) => report.add(Finding::whole(Kind::of_checkpoint(&fault), fault.to_string())),
            }
        }
        let wanted = sound.iter().map(|(checkpoint, _)| checkpoint.next - 1);
        let wanted = wanted.chain(options.since.map(|head| head.sequence)).map(|sequence| (sequence, None)).collect();
        Self {
            options,
            report,
            checkpoints: sound,
            anchor: Anchor::start(),
            tail: None,
            lost: false,
            index: 0,
            files: files.len(),
            name: None,
            records: 0,
            range: None,
            timestamp: None,
            wanted,
        }
    }

    pub fn begin(&mut self, index: usize, file: &SnapshotFile) {
        self.index = index;
        self.name = file.name;
        self.records = 0;
        self.range = None;
        if let Some(tail) = &mut self.tail {
            tail.next_file();
        }
    }

    fn add(&mut self, kind: Kind, line: u64, sequence: Option<u64>, text: String) {
        self.report.add(Finding { kind, segment: Some(self.index), line, sequence, text });
    }

    pub fn unreadable(&mut self, fault: &io::Error) {
        self.lost = true;
        self.add(Kind::Unreadable, 0, None, fault.to_string());
    }

    pub fn take(&mut self, line: u64, judged: Judged) {
        self.records += 1;
        self.report.entries += 1;
        match judged.signed {
            Signed::No => self.report.unsigned += 1,
            Signed::Yes | Signed::Unchecked => self.report.signed += 1,
        }
        let sequence = if let Place::Chained(chained) = &judged.place { Some(chained.sequence) } else { None };
        if let Some(fault) = &judged.fault {
            self.add(Kind::of_record(fault), line, sequence, fault.to_string());
        }
        if judged.timestamp.is_some() && judged.timestamp < self.timestamp {
            self.report.clock_steps_back += 1;
        }
        self.timestamp = judged.timestamp.or(self.timestamp);
        match judged.place {
            Place::Chained(chained) => {
                self.report.chained += 1;
                if judged.signed == Signed::No {
                    self.report.add_unsigned(chained.sequence);
                }
                self.chained(line, &chained, judged.signed);
            }
            Place::Legacy(text) => {
                self.report.legacy += 1;
                if self.tail.is_some() {
                    let text = "a record of before the chain stands after its beginning";
                    self.add(Kind::LegacyAfterChain, line, None, text.to_owned());
                } else {
                    self.anchor.add(text.as_bytes());
                }
            }
            Place::Unknown => self.lost = true,
        }
    }

    fn chained(&mut self, line: u64, chained: &Chained, signed: Signed) {
        let mut tail = match self.tail {
            Some(tail) => tail,
            None => self.start(line, chained, signed),
        };
        if self.lost {
            tail = Tail { sequence: chained.sequence.saturating_sub(1), link: chained.previous, ..tail };
            self.lost = false;
        }
        if let Err(fault) = tail.judge(chained) {
            self.add(Kind::of_chain(&fault), line, Some(chained.sequence), fault.to_string());
        }
        tail.advance(chained);
        self.tail = Some(tail);
        if self.report.first == 0 {
            self.report.first = chained.sequence;
        }
        if let Some(wanted) = self.wanted.get_mut(&chained.sequence) {
            wanted.get_or_insert(chained.stated);
        }
        self.range = Some((self.range.map_or(*chained, |(first, _)| first), chained.sequence));
    }

    /// What the first chained entry must continue: nothing, records of before the chain, or a checkpoint.
    fn start(&mut self, line: u64, first: &Chained, signed: Signed) -> Tail {
        if first.sequence == 1 || self.anchor.records() > 0 || self.lost {
            return Tail::start(&self.anchor);
        }
        let standing = self.checkpoints.iter().find(|(checkpoint, _)| checkpoint.next == first.sequence);
        let Some((checkpoint, of_checkpoint)) = standing.copied() else {
            let text =
                format!("the ledger begins at {}, and no checkpoint stands for what came before", first.sequence);
            self.add(Kind::Cut, line, Some(first.sequence), text);
            return Tail { link: first.previous, ..Tail::after(first.sequence - 1, Hash([0; 32])) };
        };
        self.report.retention_checkpoint_used = true;
        if signed != Signed::No && of_checkpoint == Signed::No {
            self.add(Kind::Unsigned, 0, None, format!("{}, and the entry after it is", CheckpointFault::Unsigned));
        }
        Tail::after(checkpoint.next - 1, checkpoint.previous)
    }

    pub fn end(&mut self) {
        self.report.segments += 1;
        if let Some(name) = self.name {
            let fits = self
                .range
                .is_some_and(|(first, last)| (name.first, name.last, name.id) == (first.sequence, last, first.segment));
            if !fits {
                self.add(Kind::Segment, 0, None, "the file's name does not fit its content".to_owned());
            }
        } else if self.records == 0 && self.files > 1 {
            let text =
                "the active file is empty: it was emptied, or a rotation was interrupted and no writer started since";
            self.add(Kind::Cut, 0, None, text.to_owned());
        }
    }

    pub fn finish(mut self) -> Report {
        if let Some(tail) = self.tail {
            self.report.last = tail.sequence;
            self.report.ledger = tail.ledger;
            if let Link::Entry(hash) = tail.link {
                self.report.head = Some(hash);
            }
        }
        if self.report.entries == 0 {
            self.report.add(Finding::whole(Kind::Empty, "the ledger holds no record".to_owned()));
        }
        self.agree_with_checkpoints();
        let last = self.report.last;
        if let Some(expected) = self.options.expect_sequence.filter(|expected| *expected > last) {
            let text = format!("the ledger ends at {last}; it was expected to reach {expected}");
            self.report.add(Finding::whole(Kind::Cut, text));
        }
        self.since();
        self.report
    }

    fn agree_with_checkpoints(&mut self) {
        for (checkpoint, _) in std::mem::take(&mut self.checkpoints) {
            let through = checkpoint.next - 1;
            let known = self.wanted.get(&through).copied().flatten();
            if through > self.report.last {
                let text =
                    format!("a checkpoint stands for entries up to {through}; the ledger ends at {}", self.report.last);
                self.report.add(Finding::whole(Kind::Cut, text));
            } else if known.is_some_and(|hash| hash != checkpoint.previous) {
                let text = format!("a checkpoint names another entry {through} than the ledger holds");
                self.report.add(Finding::whole(Kind::Checkpoint, text));
            } else if known.is_none() && self.report.retention_checkpoint_used {
                self.wanted.insert(through, Some(checkpoint.previous));
            }
        }
    }

    /// Compares with the earlier head.
    fn since(&mut self) {
        let Some(head) = self.options.since else { return };
        let here = self.wanted.get(&head.sequence).copied().flatten();
        let other_ledger = head.ledger.is_some() && self.report.ledger.is_some() && head.ledger != self.report.ledger;
        let same_ledger = head.ledger.is_some() && head.ledger == self.report.ledger;
        let wrong = if other_ledger {
            Some((Kind::Replaced, "it is another ledger than the one the head was taken of".to_owned()))
        } else if head.sequence > self.report.last {
            let text = format!("it ends at {}; the head was taken at {}", self.report.last, head.sequence);
            Some((Kind::Cut, text))
        } else if let Some(hash) = here.filter(|hash| *hash != head.hash) {
            let text = format!("entry {} is {hash}; the head says {}", head.sequence, head.hash);
            Some((if same_ledger { Kind::Forked } else { Kind::Replaced }, text))
        } else if here.is_none() && !(same_ledger && self.options.rules.strict) {
            let text = format!("entry {} was pruned, and nothing proves that this ledger continues it", head.sequence);
            Some((Kind::BeyondRetention, text))
        } else {
            None
        };
        self.report.since = Some(match (&wrong, here) {
            (None, Some(_)) => Since::Held,
            (None, None) => Since::BeyondRetention,
            (Some((Kind::BeyondRetention, _)), _) => Since::BeyondRetention,
            (Some(_), _) => Since::Broken,
        });
        if let Some((kind, text)) = wrong {
            self.report.add(Finding::whole(kind, text));
        }
    }
}
