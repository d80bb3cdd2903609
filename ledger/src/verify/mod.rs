//! Verification of a whole ledger: every record's form, signature and hash, the chain through all files, and whether
//! it still holds what an earlier look saw.
//! Trust: none; every byte may be forged. Memory stays bounded, and nothing that is read is changed.

mod finding;
mod lines;
mod report;
mod snapshot;
mod walk;

pub use finding::{Finding, Kind};
pub use report::{Report, Since};
pub use snapshot::{Snapshot, SnapshotError, SnapshotFile, of_path};

use crate::{
    head::Head,
    limits::MAX_FILE,
    record::{Judged, RecordFault, Rules, judge},
};
use lines::Batch;
pub(crate) use lines::Lines;
use std::{
    collections::VecDeque,
    path::Path,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread,
};
use walk::Walk;

/// Threads that judge records, at most: each holds two batches, which bounds memory on any machine.
const MAX_THREADS: usize = 8;

/// Batches of one thread that may be under way.
const AHEAD: usize = 2;

/// What is asked of a ledger.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Keys, and whether everything must be signed.
    pub rules: Rules,
    /// An earlier head that the ledger must still contain. Its own signature was judged when it was read.
    pub since: Option<Head>,
    /// The ledger must reach at least this sequence.
    pub expect_sequence: Option<u64>,
    /// Threads that judge records; 0 takes one per core. Never more than 8.
    pub threads: usize,
}

/// Verifies the ledger whose active file is at `path`; through links, and whatever the permissions that let it read.
#[must_use]
pub fn verify_path(path: &Path, options: &Options, progress: &mut dyn FnMut(u64, u64)) -> Report {
    match snapshot::of_path(path) {
        Ok(snapshot) => verify(snapshot, options, progress),
        Err(fault) => {
            let mut report = Report::default();
            let kind = if fault.is_missing() { Kind::Missing } else { Kind::Unreadable };
            report.add(Finding::whole(kind, fault.to_string()));
            report
        }
    }
}

/// Verifies a ledger. `progress` hears how many bytes of how many were judged.
#[must_use]
pub fn verify(snapshot: Snapshot, options: &Options, progress: &mut dyn FnMut(u64, u64)) -> Report {
    let total: u64 = snapshot.files.iter().map(|file| file.length).sum();
    let Snapshot { files, checkpoints, faults } = snapshot;
    let mut walk = Walk::new(options, &files, checkpoints, faults);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = if options.threads == 0 { cores } else { options.threads }.clamp(1, MAX_THREADS);
    thread::scope(|scope| {
        let judges: Vec<Judge> = (0..threads)
            .map(|_| {
                let (send, work) = sync_channel::<Batch>(AHEAD);
                let (done, receive) = sync_channel(AHEAD);
                scope.spawn(move || serve(&work, &done, &options.rules));
                Judge { send, receive }
            })
            .collect();
        let mut open = VecDeque::new();
        let mut done = 0;
        for (index, file) in files.into_iter().enumerate() {
            walk.begin(index, &file);
            let mut lines = Lines::new(file.reader, file.length.min(MAX_FILE));
            loop {
                let batch = match lines.next_batch() {
                    Ok(Some(batch)) => batch,
                    Ok(None) => break,
                    Err(fault) => {
                        while collect(&mut open, &judges, &mut walk, &mut done) {}
                        walk.unreadable(&fault);
                        break;
                    }
                };
                let turn = batch.number % threads;
                open.push_back((turn, batch.first_line, batch.bytes.len() as u64));
                if judges[turn].send.send(batch).is_err() {
                    open.pop_back();
                    break;
                }
                if open.len() >= threads * AHEAD {
                    collect(&mut open, &judges, &mut walk, &mut done);
                    progress(done, total);
                }
            }
            // files are told apart by the walk, so that one ends before the next begins
            while collect(&mut open, &judges, &mut walk, &mut done) {}
            progress(done, total);
            walk.end();
        }
    });
    walk.finish()
}

/// The two ends of a judging thread.
struct Judge {
    send: SyncSender<Batch>,
    receive: Receiver<Vec<Judged>>,
}

/// Judges batches until there are no more.
fn serve(work: &Receiver<Batch>, done: &SyncSender<Vec<Judged>>, rules: &Rules) {
    while let Ok(batch) = work.recv() {
        let judged = batch
            .spans
            .iter()
            .map(|span| {
                let mut judged = judge(&batch.bytes[span.bytes.clone()], rules);
                if span.fault.is_some() {
                    judged.fault.clone_from(&span.fault);
                }
                judged
            })
            .collect();
        if done.send(judged).is_err() {
            return;
        }
    }
}

/// Takes in the oldest batch under way; false when there is none.
fn collect(open: &mut VecDeque<(usize, u64, u64)>, judges: &[Judge], walk: &mut Walk<'_>, done: &mut u64) -> bool {
    let Some((turn, first_line, bytes)) = open.pop_front() else { return false };
    match judges[turn].receive.recv() {
        Ok(judged) => {
            for (line, judged) in (first_line..).zip(judged) {
                walk.take(line, judged);
            }
        }
        // a judge does not end before its work does; should it, its batch was not verified
        Err(_) => walk.take(
            first_line,
            Judged {
                place: crate::record::Place::Unknown,
                signed: crate::signature::Signed::No,
                timestamp: None,
                fault: Some(RecordFault::Malformed("the batch was not judged".to_owned())),
            },
        ),
    }
    *done += bytes;
    true
}
