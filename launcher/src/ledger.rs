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
