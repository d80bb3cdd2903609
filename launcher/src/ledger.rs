//! The ledger's directory, held for a jailed worker-audit that may open nothing: one request, one answer, checked by files.
//! Trust: the worker may be taken over. No request changes a byte that stands in the ledger, and none deletes what retention
//! would keep: segments are renamed full, removed oldest first, and only once a checkpoint stands for them.

use bulkhead_ipc::{
    codec,
    edge::{
        FileId,
        ledger::{FromHolder, MAX_DESCRIPTORS, MAX_PACKET, Segment, ToHolder},
    },
};
use bulkhead_ledger::{
    Identity,
    append::{
        Directory as _,
        disk::{self, DiskDirectory},
    },
    limits::{KEEP_SEGMENTS, MAX_CHECKPOINT, MAX_LINE, ROTATE_AT},
    names::{self, CheckpointName, SegmentName},
    uuid::Uuid,
};
use bulkhead_sandbox::{handover, spawn};
use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::PathBuf,
};

/// The launcher's end.
#[derive(Debug)]
pub struct Holder {
    socket: OwnedFd,
    path: Option<PathBuf>,
    /// Opened, and made, with the first request.
    directory: Option<DiskDirectory>,
    packet: Vec<u8>,
}

/// Why nothing more is held.
#[derive(Debug, PartialEq, Eq)]
pub enum Over {
    /// The worker closed its end: it is leaving.
    Closed,
    /// It does not keep to the edge: it is to be ended.
    Broken,
}

impl Holder {
    /// For the ledger at `path`; `socket` is our end.
    ///
    /// # Errors
    /// When the socket cannot be made non-blocking.
    pub fn new(socket: OwnedFd, path: Option<PathBuf>) -> io::Result<Self> {
        spawn::set_nonblocking(&socket)?;
        Ok(Self { socket, path, directory: None, packet: vec![0; MAX_PACKET] })
    }

    /// Our end, to be waited for.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Hears one request and answers it.
    ///
    /// # Errors
    /// [`Over`].
    pub fn serve(&mut self) -> Result<(), Over> {
        let request = match handover::receive(self.socket.as_fd(), &mut self.packet, 0) {
            Ok((0, _)) => return Err(Over::Closed),
            Ok((length, _)) => codec::decode::<ToHolder>(&self.packet[..length]).map_err(|_| Over::Broken)?,
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => return Ok(()),
            Err(e) if matches!(e.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => {
                return Err(Over::Closed);
            }
            Err(_) => return Err(Over::Broken),
        };
        let (answer, descriptors) = self.answer(request).unwrap_or_else(|fault| (failed(&fault), Vec::new()));
        debug_assert!(descriptors.len() <= MAX_DESCRIPTORS);
        let packet = codec::encode(&answer).map_err(|_| Over::Broken)?;
        let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        // it asks one thing at a time, so there is room, and what is handed over is kept by nobody here
        handover::send(self.socket.as_fd(), &packet, &borrowed).map_err(|e| match e.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Over::Closed,
            _ => Over::Broken,
        })
    }

    fn directory(&mut self) -> io::Result<&mut DiskDirectory> {
        if self.directory.is_none() {
            let path = self.path.as_deref().ok_or_else(|| io::Error::other("no ledger is configured"))?;
            self.directory = Some(disk::open_directory(path).map_err(io::Error::other)?);
        }
        self.directory.as_mut().ok_or_else(|| io::Error::other("no directory"))
    }

    fn answer(&mut self, request: ToHolder) -> io::Result<(FromHolder, Vec<OwnedFd>)> {
        let directory = self.directory()?;
        let done = |()| (FromHolder::Done, Vec::new());
        Ok(match request {
            ToHolder::Lock => (FromHolder::Done, vec![directory.open_lock()?.into()]),
            ToHolder::Active => (FromHolder::Active(directory.active()?.map(file_id)), Vec::new()),
            ToHolder::OpenActive => {
                let (append, read, identity) = directory.open_active()?.into_parts();
                (FromHolder::Opened(file_id(identity)), vec![append.into(), read.into()])
            }
            ToHolder::List => {
                let listing = directory.list()?;
                let segments = listing.segments.iter().map(segment).collect();
                (FromHolder::Listing { segments, checkpoints: listing.checkpoints }, Vec::new())
            }
            ToHolder::OpenSegment(name) => {
                (FromHolder::Done, vec![directory.open_segment(&segment_name(&name)?)?.0.into()])
            }
            ToHolder::ReadCheckpoint(name) => (FromHolder::Checkpoint(directory.read_checkpoint(&name)?), Vec::new()),
            ToHolder::Rename { file, to } => done(rename(directory, identity(file), &segment_name(&to)?)?),
            ToHolder::Cut { file, from, to } => done(directory.cut_tail(identity(file), from, to)?),
            ToHolder::WriteCheckpoint { next, id, content } => {
                let name = CheckpointName { next, id: uuid(&id)? };
                done(write_checkpoint(directory, &name, &content)?)
            }
            ToHolder::RemoveSegment(name) => done(remove_segment(directory, &segment_name(&name)?)?),
            ToHolder::RemoveCheckpoint(name) => done(remove_checkpoint(directory, &name)?),
        })
    }
}

/// Only a file that is full becomes a segment: else one could push all history out of retention with tiny ones.
fn rename(directory: &mut DiskDirectory, file: Identity, to: &SegmentName) -> io::Result<()> {
    let full = directory.active_length()?.is_some_and(|length| length + MAX_LINE as u64 > ROTATE_AT);
    let newest = directory.list()?.segments.last().map(|newest| newest.last);
    if !full || newest.is_some_and(|last| last.checked_add(1) != Some(to.first)) || to.last < to.first {
        return refuse("the active file is not full, or the name does not follow the newest segment's");
    }
    directory.rename_active(file, to)
}

/// Segments that retention gives up, oldest first.
fn expendable(directory: &mut DiskDirectory) -> io::Result<Option<SegmentName>> {
    let segments = directory.list()?.segments;
    Ok(segments.first().filter(|_| segments.len() > KEEP_SEGMENTS).copied())
}

fn write_checkpoint(directory: &mut DiskDirectory, name: &CheckpointName, content: &[u8]) -> io::Result<()> {
    let oldest = expendable(directory)?;
    if content.len() > MAX_CHECKPOINT || oldest.and_then(|oldest| oldest.last.checked_add(1)) != Some(name.next) {
        return refuse("no segment is to be deleted for which this checkpoint could stand");
    }
    directory.write_checkpoint(name, content)
}

fn remove_segment(directory: &mut DiskDirectory, name: &SegmentName) -> io::Result<()> {
    let ledger = directory.name().to_owned();
    let stands = |checkpoint: &String| names::checkpoint_next(&ledger, checkpoint) == name.last.checked_add(1);
    let covered = directory.list()?.checkpoints.iter().any(stands);
    if expendable(directory)? != Some(*name) || !covered {
        return refuse("the segment is kept, or no checkpoint stands for it");
    }
    directory.remove_segment(name)
}

fn remove_checkpoint(directory: &mut DiskDirectory, name: &str) -> io::Result<()> {
    let ledger = directory.name().to_owned();
    let next = |name: &str| names::checkpoint_next(&ledger, name);
    let newest = directory.list()?.checkpoints.iter().filter_map(|name| next(name)).max();
    if next(name) >= newest {
        return refuse("no newer checkpoint replaces this one");
    }
    directory.remove_checkpoint(name)
}

fn refuse<T>(why: &str) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why.to_owned()))
}

fn failed(fault: &io::Error) -> FromHolder {
    FromHolder::Failed { errno: fault.raw_os_error(), why: fault.to_string() }
}

fn file_id(identity: Identity) -> FileId {
    FileId { dev: identity.device, ino: identity.inode }
}

fn identity(id: FileId) -> Identity {
    Identity { device: id.dev, inode: id.ino }
}

fn segment(name: &SegmentName) -> Segment {
    Segment { first: name.first, last: name.last, id: name.id.to_string() }
}

fn segment_name(name: &Segment) -> io::Result<SegmentName> {
    Ok(SegmentName { first: name.first, last: name.last, id: uuid(&name.id)? })
}

fn uuid(text: &str) -> io::Result<Uuid> {
    Uuid::read(text).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_ledger::names::SegmentName;
    use std::fs;

    /// The worker's end, taken over, and the directory that is held from it.
    struct Attack {
        _keep: tempfile::TempDir,
        path: PathBuf,
        theirs: OwnedFd,
        holder: Holder,
    }

    impl Attack {
        fn new() -> Self {
            let keep = tempfile::tempdir().expect("a directory");
            let path = keep.path().canonicalize().expect("it is there").join("audit/mcp.jsonl");
            let (ours, theirs) = handover::pair().expect("a pair");
            let holder = Holder::new(ours, Some(path.clone())).expect("a socket");
            Self { _keep: keep, path, theirs, holder }
        }

        fn ask(&mut self, request: &ToHolder) -> (FromHolder, Vec<OwnedFd>) {
            let packet = codec::encode(request).expect("small");
            handover::send(self.theirs.as_fd(), &packet, &[]).expect("there is room");
            self.holder.serve().expect("it keeps to the edge");
            let mut packet = vec![0; MAX_PACKET];
            let (length, fds) =
                handover::receive(self.theirs.as_fd(), &mut packet, MAX_DESCRIPTORS).expect("an answer");
            (codec::decode(&packet[..length]).expect("honest"), fds)
        }

        fn is_refused(&mut self, request: &ToHolder) -> bool {
            matches!(self.ask(request), (FromHolder::Failed { .. }, fds) if fds.is_empty())
        }

        fn segment(&self, first: u64, last: u64) -> Segment {
            let name = SegmentName { first, last, id: Uuid::v4([first as u8; 16]) };
            fs::write(self.path.with_file_name(name.file_name("mcp.jsonl")), "{}\n").expect("ours");
            segment(&name)
        }
    }

    #[test]
    fn descriptors_are_handed_over_and_not_kept() {
        let mut attack = Attack::new();
        let (opened, fds) = attack.ask(&ToHolder::OpenActive);
        assert!(matches!(opened, FromHolder::Opened(_)) && fds.len() == 2);
        let (done, fds) = attack.ask(&ToHolder::Lock);
        assert!(done == FromHolder::Done && fds.len() == 1);
        let lock = fs::File::from(fds.into_iter().next().expect("one"));
        lock.lock().expect("free");
        let (_, again) = attack.ask(&ToHolder::Lock);
        let other = fs::File::from(again.into_iter().next().expect("one"));
        assert!(other.try_lock().is_err(), "each has a lock of its own");
        drop(lock);
        assert!(other.try_lock().is_ok(), "and nobody here kept the first");
    }

    #[test]
    fn history_cannot_be_pushed_out_or_deleted() {
        let mut attack = Attack::new();
        let (FromHolder::Opened(file), fds) = attack.ask(&ToHolder::OpenActive) else { panic!("not opened") };
        let mut active = fs::File::from(fds.into_iter().next().expect("two"));
        io::Write::write_all(&mut active, b"{\"a\":1}\n").expect("room");
        let id = Uuid::v4([9; 16]).to_string();
        let to = Segment { first: 1, last: 1, id: id.clone() };
        assert!(attack.is_refused(&ToHolder::Rename { file, to }), "a file that is not full");
        let kept: Vec<Segment> = (1..=KEEP_SEGMENTS as u64).map(|n| attack.segment(n, n)).collect();
        assert!(attack.is_refused(&ToHolder::RemoveSegment(kept[0].clone())), "a segment that is kept");
        let checkpoint =
            |next, id: &str| ToHolder::WriteCheckpoint { next, id: id.to_owned(), content: b"{}".to_vec() };
        assert!(attack.is_refused(&checkpoint(2, &id)), "a checkpoint for nothing");
        attack.segment(5, 5);
        assert!(attack.is_refused(&ToHolder::RemoveSegment(kept[0].clone())), "no checkpoint stands for it");
        assert!(attack.is_refused(&checkpoint(9, &id)), "a checkpoint for more than the oldest");
        assert_eq!(attack.ask(&checkpoint(2, &id)).0, FromHolder::Done);
        assert!(attack.is_refused(&ToHolder::RemoveSegment(kept[1].clone())), "not the oldest");
        let name = CheckpointName { next: 2, id: Uuid::v4([9; 16]) }.file_name("mcp.jsonl");
        assert!(attack.is_refused(&ToHolder::RemoveCheckpoint(name)), "the newest checkpoint");
        for odd in ["mcp.jsonl", "../mcp.jsonl", "mcp.jsonl.checkpoint-/../../x"] {
            assert!(attack.is_refused(&ToHolder::RemoveCheckpoint(odd.to_owned())), "{odd}");
            assert!(attack.is_refused(&ToHolder::ReadCheckpoint(odd.to_owned())), "{odd}");
        }
        assert_eq!(attack.ask(&ToHolder::RemoveSegment(kept[0].clone())).0, FromHolder::Done);
        let length = fs::metadata(&attack.path).expect("there").len();
        assert!(attack.is_refused(&ToHolder::Cut { file, from: length, to: 0 }), "a line that has its end");
        assert_eq!(fs::read(&attack.path).expect("there"), b"{\"a\":1}\n");
    }

    #[test]
    fn what_is_no_request_ends_it() {
        let mut attack = Attack::new();
        handover::send(attack.theirs.as_fd(), &[250, 1, 2], &[]).expect("there is room");
        assert_eq!(attack.holder.serve(), Err(Over::Broken));
        let Attack { mut holder, theirs, .. } = Attack::new();
        drop(theirs);
        assert_eq!(holder.serve(), Err(Over::Closed));
    }
}
