//! The ledger's directory as a jailed writer has it: descriptors that it is handed, and a peer that it asks for the rest.
//! Trust: the peer is the launcher, which is trusted more than this process; the files may be anybody's and are verified.

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
        Directory, Listing,
        disk::{Descriptors, ReadOnly},
    },
    names::{CheckpointName, SegmentName},
    uuid::Uuid,
};
use bulkhead_sandbox::handover;
use std::{
    fs::{File, TryLockError},
    io,
    os::fd::{AsFd as _, OwnedFd},
};

/// The peer, and the lock that it handed over.
#[derive(Debug)]
pub struct Held {
    socket: OwnedFd,
    lock: Option<File>,
    packet: Vec<u8>,
}

impl Held {
    /// Asks over `socket`, which must be blocking.
    #[must_use]
    pub fn new(socket: OwnedFd) -> Self {
        Self { socket, lock: None, packet: vec![0; MAX_PACKET] }
    }

    fn ask(&mut self, request: &ToHolder) -> io::Result<(FromHolder, Vec<OwnedFd>)> {
        let packet = codec::encode(request).map_err(io::Error::other)?;
        handover::send(self.socket.as_fd(), &packet, &[])?;
        let (length, descriptors) = loop {
            match handover::receive(self.socket.as_fd(), &mut self.packet, MAX_DESCRIPTORS) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                heard => break heard?,
            }
        };
        if length == 0 {
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, "the launcher is gone"));
        }
        match codec::decode(&self.packet[..length]).map_err(io::Error::other)? {
            FromHolder::Failed { errno: Some(errno), .. } => Err(io::Error::from_raw_os_error(errno)),
            FromHolder::Failed { errno: None, why } => Err(io::Error::other(why)),
            answer => Ok((answer, descriptors)),
        }
    }

    /// For requests that are answered `Done` with so many descriptors.
    fn done<const N: usize>(&mut self, request: &ToHolder) -> io::Result<[OwnedFd; N]> {
        match self.ask(request)? {
            (FromHolder::Done, descriptors) => descriptors.try_into().map_err(|_| odd()),
            _ => Err(odd()),
        }
    }

    fn lock(&mut self) -> io::Result<&File> {
        if self.lock.is_none() {
            let [lock] = self.done(&ToHolder::Lock)?;
            self.lock = Some(File::from(lock));
        }
        self.lock.as_ref().ok_or_else(odd)
    }
}

fn odd() -> io::Error {
    io::Error::other("the launcher answered another question")
}

fn identity(id: FileId) -> Identity {
    Identity { device: id.dev, inode: id.ino }
}

fn file_id(identity: Identity) -> FileId {
    FileId { dev: identity.device, ino: identity.inode }
}

fn named(name: &SegmentName) -> Segment {
    Segment { first: name.first, last: name.last, id: name.id.to_string() }
}

impl Directory for Held {
    type Active = Descriptors;
    type Segment = ReadOnly;

    fn try_lock(&mut self) -> io::Result<bool> {
        match self.lock()?.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(fault)) => Err(fault),
        }
    }

    fn unlock(&mut self) -> io::Result<()> {
        self.lock()?.unlock()
    }

    fn active(&mut self) -> io::Result<Option<Identity>> {
        match self.ask(&ToHolder::Active)? {
            (FromHolder::Active(id), _) => Ok(id.map(identity)),
            _ => Err(odd()),
        }
    }

    fn open_active(&mut self) -> io::Result<Descriptors> {
        match self.ask(&ToHolder::OpenActive)? {
            (FromHolder::Opened(id), descriptors) => {
                let [append, read] = <[OwnedFd; 2]>::try_from(descriptors).map_err(|_| odd())?.map(File::from);
                Ok(Descriptors::of(append, read, identity(id)))
            }
            _ => Err(odd()),
        }
    }

    fn list(&mut self) -> io::Result<Listing> {
        let (FromHolder::Listing { segments, checkpoints }, _) = self.ask(&ToHolder::List)? else { return Err(odd()) };
        let name = |segment: Segment| {
            let id = Uuid::read(&segment.id)?;
            Some(SegmentName { first: segment.first, last: segment.last, id })
        };
        let segments = segments.into_iter().map(name).collect::<Option<_>>().ok_or_else(odd)?;
        Ok(Listing { segments, checkpoints })
    }

    fn open_segment(&mut self, name: &SegmentName) -> io::Result<ReadOnly> {
        let [segment] = self.done(&ToHolder::OpenSegment(named(name)))?;
        Ok(ReadOnly(File::from(segment)))
    }

    fn read_checkpoint(&mut self, name: &str) -> io::Result<Vec<u8>> {
        match self.ask(&ToHolder::ReadCheckpoint(name.to_owned()))? {
            (FromHolder::Checkpoint(content), _) => Ok(content),
            _ => Err(odd()),
        }
    }

    fn rename_active(&mut self, file: Identity, to: &SegmentName) -> io::Result<()> {
        self.done::<0>(&ToHolder::Rename { file: file_id(file), to: named(to) }).map(drop)
    }

    fn cut_tail(&mut self, file: Identity, from: u64, to: u64) -> io::Result<()> {
        self.done::<0>(&ToHolder::Cut { file: file_id(file), from, to }).map(drop)
    }

    fn write_checkpoint(&mut self, name: &CheckpointName, content: &[u8]) -> io::Result<()> {
        let (next, id, content) = (name.next, name.id.to_string(), content.to_vec());
        self.done::<0>(&ToHolder::WriteCheckpoint { next, id, content }).map(drop)
    }

    fn remove_segment(&mut self, name: &SegmentName) -> io::Result<()> {
        self.done::<0>(&ToHolder::RemoveSegment(named(name))).map(drop)
    }

    fn remove_checkpoint(&mut self, name: &str) -> io::Result<()> {
        self.done::<0>(&ToHolder::RemoveCheckpoint(name.to_owned())).map(drop)
    }
}
