//! A disk in memory that fails on request: at one operation, by an error, a short write or a crash.
//! Trust: the test's own plan decides what fails.

use bulkhead_ledger::{
    Identity,
    append::{ActiveFile, Directory, Listing, ReadAt},
    names::{self, CheckpointName, Kind, SegmentName},
    verify::{Snapshot, SnapshotFile},
};
use std::{
    cell::{RefCell, RefMut},
    collections::BTreeMap,
    io,
    rc::Rc,
};

pub const NAME: &str = "audit.jsonl";

#[derive(Clone, Default)]
pub struct File {
    pub bytes: Vec<u8>,
    /// Bytes that a crash leaves for certain.
    pub synced: usize,
}

/// What happens at the chosen operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// The process ends before it.
    CrashBefore,
    /// The process ends after it, without having seen the result. A write gets half of its bytes through.
    CrashAfter,
    /// It fails once, without an effect; a write gets this many bytes through first.
    Error(io::ErrorKind, usize),
}

#[derive(Clone, Default)]
pub struct World {
    pub files: BTreeMap<u64, File>,
    pub names: BTreeMap<String, u64>,
    next_inode: u64,
    locked_by: Option<u64>,
    handles: u64,
    operations: u64,
    plan: Option<(u64, Fault)>,
    dead: bool,
    /// No segment can be deleted.
    pub keeps_segments: bool,
}

/// What a crash leaves of bytes that were not synced.
#[derive(Clone, Copy, Debug)]
pub enum Leaves {
    All,
    Half,
    Nothing,
}

#[derive(Clone, Default)]
pub struct Disk(Rc<RefCell<World>>);

impl Disk {
    pub fn world(&self) -> RefMut<'_, World> {
        self.0.borrow_mut()
    }

    /// A copy that later writes do not reach.
    pub fn copy(&self) -> Self {
        let world = World { locked_by: None, plan: None, dead: false, operations: 0, ..self.world().clone() };
        Self(Rc::new(RefCell::new(world)))
    }

    /// The disk after the machine came up again.
    pub fn after_crash(&self, leaves: Leaves) -> Self {
        let copy = self.copy();
        for file in copy.world().files.values_mut() {
            let kept = match leaves {
                Leaves::All => file.bytes.len(),
                Leaves::Half => file.synced + (file.bytes.len() - file.synced) / 2,
                Leaves::Nothing => file.synced,
            };
            file.bytes.truncate(kept);
        }
        copy
    }

    pub fn plan(&self, operation: u64, fault: Fault) {
        let mut world = self.world();
        world.operations = 0;
        world.plan = Some((operation, fault));
    }

    /// Operations since the plan was made.
    pub fn operations(&self) -> u64 {
        self.world().operations
    }

    pub fn directory(&self) -> SimulatedDirectory {
        let mut world = self.world();
        world.handles += 1;
        SimulatedDirectory { disk: self.clone(), handle: world.handles }
    }

    pub fn put(&self, name: &str, bytes: &[u8]) {
        let mut world = self.world();
        world.next_inode += 1;
        let inode = world.next_inode;
        world.files.insert(inode, File { bytes: bytes.to_vec(), synced: bytes.len() });
        world.names.insert(name.to_owned(), inode);
    }

    pub fn content(&self, name: &str) -> Vec<u8> {
        let world = self.world();
        world.names.get(name).map_or_else(Vec::new, |inode| world.files[inode].bytes.clone())
    }

    pub fn names(&self) -> Vec<String> {
        self.world().names.keys().cloned().collect()
    }

    /// Names of the segments, from the oldest on, and the active file.
    pub fn ledger_files(&self) -> Vec<String> {
        let is_segment = |name: &String| matches!(names::kind(NAME, name), Kind::Segment(_));
        let mut files: Vec<String> = self.names().into_iter().filter(is_segment).collect();
        files.extend(self.names().into_iter().filter(|name| name == NAME));
        files
    }

    pub fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for name in self.names() {
            if names::kind(NAME, &name) == Kind::Checkpoint {
                snapshot.checkpoints.push(self.content(&name));
            }
        }
        for file in self.ledger_files() {
            let name = if let Kind::Segment(name) = names::kind(NAME, &file) { Some(name) } else { None };
            let bytes = self.content(&file);
            let length = bytes.len() as u64;
            snapshot.files.push(SnapshotFile { name, length, reader: Box::new(io::Cursor::new(bytes)) });
        }
        snapshot
    }

    /// Whether the operation at hand takes effect, and what it answers instead of its own result.
    fn step(&self, partial: bool) -> (Option<usize>, Option<io::Error>) {
        let mut world = self.world();
        if world.dead {
            return (None, Some(io::Error::other("the process has ended")));
        }
        world.operations += 1;
        let planned = world.plan.filter(|(operation, _)| *operation == world.operations);
        match planned.map(|(_, fault)| fault) {
            None => (Some(usize::MAX), None),
            Some(Fault::CrashBefore) => {
                world.dead = true;
                (None, Some(io::Error::other("crash")))
            }
            Some(Fault::CrashAfter) => {
                world.dead = true;
                (Some(if partial { usize::MAX / 2 } else { usize::MAX }), Some(io::Error::other("crash")))
            }
            Some(Fault::Error(kind, taken)) => {
                (if partial && taken > 0 { Some(taken) } else { None }, Some(kind.into()))
            }
        }
    }

    /// An operation that happens whole or not at all.
    fn whole<T>(&self, act: impl FnOnce(&mut World) -> io::Result<T>) -> io::Result<T> {
        let (takes_effect, fault) = self.step(false);
        let result = if takes_effect.is_some() { Some(act(&mut self.world())) } else { None };
        match (fault, result) {
            (Some(fault), _) => Err(fault),
            (None, Some(result)) => result,
            (None, None) => Err(io::Error::other("neither done nor refused")),
        }
    }
}

pub struct SimulatedFile {
    disk: Disk,
    inode: u64,
    /// A short write was made; the next one fails.
    refuses: Option<io::ErrorKind>,
}

impl ReadAt for SimulatedFile {
    fn length(&self) -> io::Result<u64> {
        self.disk.whole(|world| Ok(world.files[&self.inode].bytes.len() as u64))
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.disk.whole(|world| {
            let rest = world.files[&self.inode].bytes.get(offset as usize..).unwrap_or_default();
            let length = rest.len().min(into.len());
            into[..length].copy_from_slice(&rest[..length]);
            Ok(length)
        })
    }
}

impl ActiveFile for SimulatedFile {
    fn identity(&self) -> io::Result<Identity> {
        Ok(Identity { device: 1, inode: self.inode })
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(kind) = self.refuses.take() {
            return Err(kind.into());
        }
        let (takes_effect, fault) = self.disk.step(true);
        let crashed = self.disk.world().dead;
        let taken = match takes_effect {
            None => 0,
            Some(_) if crashed => bytes.len() / 2,
            Some(most) => most.min(bytes.len()),
        };
        let inode = self.inode;
        if let Some(file) = self.disk.world().files.get_mut(&inode) {
            file.bytes.extend_from_slice(&bytes[..taken]);
        }
        match fault {
            Some(fault) if taken > 0 && !crashed => {
                self.refuses = Some(fault.kind());
                Ok(taken)
            }
            Some(fault) => Err(fault),
            None => Ok(taken),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        let inode = self.inode;
        self.disk.whole(|world| {
            if let Some(file) = world.files.get_mut(&inode) {
                file.synced = file.bytes.len();
            }
            Ok(())
        })
    }
}

pub struct SimulatedDirectory {
    disk: Disk,
    handle: u64,
}

impl Directory for SimulatedDirectory {
    type Active = SimulatedFile;
    type Segment = SimulatedFile;

    fn try_lock(&mut self) -> io::Result<bool> {
        let handle = self.handle;
        self.disk.whole(|world| Ok(*world.locked_by.get_or_insert(handle) == handle))
    }

    fn unlock(&mut self) -> io::Result<()> {
        self.disk.whole(|world| {
            world.locked_by = None;
            Ok(())
        })
    }

    fn active(&mut self) -> io::Result<Option<Identity>> {
        self.disk.whole(|world| Ok(world.names.get(NAME).map(|inode| Identity { device: 1, inode: *inode })))
    }

    fn open_active(&mut self) -> io::Result<SimulatedFile> {
        let inode = self.disk.whole(|world| {
            if let Some(inode) = world.names.get(NAME) {
                return Ok(*inode);
            }
            world.next_inode += 1;
            let inode = world.next_inode;
            world.files.insert(inode, File::default());
            world.names.insert(NAME.to_owned(), inode);
            Ok(inode)
        })?;
        Ok(SimulatedFile { disk: self.disk.clone(), inode, refuses: None })
    }

    fn list(&mut self) -> io::Result<Listing> {
        self.disk.whole(|world| {
            let mut listing = Listing::default();
            for name in world.names.keys() {
                match names::kind(NAME, name) {
                    Kind::Segment(segment) => listing.segments.push(segment),
                    Kind::Checkpoint => listing.checkpoints.push(name.clone()),
                    Kind::BadSegment => return Err(io::Error::other("a malformed segment name")),
                    Kind::Other => {}
                }
            }
            Ok(listing)
        })
    }

    fn open_segment(&mut self, name: &SegmentName) -> io::Result<SimulatedFile> {
        let inode = self.disk.whole(|world| {
            world.names.get(&name.file_name(NAME)).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
        })?;
        Ok(SimulatedFile { disk: self.disk.clone(), inode, refuses: None })
    }

    fn read_checkpoint(&mut self, name: &str) -> io::Result<Vec<u8>> {
        self.disk.whole(|world| Ok(world.files[&world.names[name]].bytes.clone()))
    }

    fn rename_active(&mut self, file: Identity, to: &SegmentName) -> io::Result<()> {
        self.disk.whole(|world| {
            let to = to.file_name(NAME);
            if world.names.contains_key(&to) || world.names.get(NAME) != Some(&file.inode) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            world.names.remove(NAME);
            world.names.insert(to, file.inode);
            Ok(())
        })
    }

    fn cut_tail(&mut self, file: Identity, from: u64, to: u64) -> io::Result<()> {
        self.disk.whole(|world| {
            let Some(file) = world.files.get_mut(&file.inode) else { return Err(io::ErrorKind::NotFound.into()) };
            let torn = &file.bytes[to as usize..];
            if file.bytes.len() as u64 != from || torn.contains(&b'\n') {
                return Err(io::Error::other("not a torn line"));
            }
            assert!(file.synced <= to as usize, "a byte that was synced is never cut");
            file.bytes.truncate(to as usize);
            Ok(())
        })
    }

    fn write_checkpoint(&mut self, name: &CheckpointName, content: &[u8]) -> io::Result<()> {
        self.disk.whole(|world| {
            world.next_inode += 1;
            let inode = world.next_inode;
            world.files.insert(inode, File { bytes: content.to_vec(), synced: content.len() });
            world.names.insert(name.file_name(NAME), inode);
            Ok(())
        })
    }

    fn remove_segment(&mut self, name: &SegmentName) -> io::Result<()> {
        self.disk.whole(|world| {
            if world.keeps_segments {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            let removed = world.names.remove(&name.file_name(NAME));
            removed.map(|_| ()).ok_or_else(|| io::ErrorKind::NotFound.into())
        })
    }

    fn remove_checkpoint(&mut self, name: &str) -> io::Result<()> {
        self.disk.whole(|world| {
            world.names.remove(name);
            Ok(())
        })
    }
}
