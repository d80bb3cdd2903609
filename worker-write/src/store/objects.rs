//! Objects: whether they are there, what a commit is, and new ones, on the disk before they are relied on.
//! Trust: contents are bytes and go through as they are; packs are anybody's, and one that cannot be read has nothing.

use super::{Answer, Elsewhere, Store};
use gix::{
    hash::ObjectId,
    objs::{Exists, Find, Kind as Object, TagRefIter, Write},
    odb::Header,
};
use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Tags of tags that are followed.
const MAX_DEPTH: usize = 10;
/// Bytes of a tag at most.
const MAX_TAG: u64 = 1 << 20;
/// Bytes of a file that are held in memory; a longer one is read twice in place of that.
const MAX_HELD: u64 = 4 << 20;
/// Why a file was not kept.
pub(crate) enum NotKept {
    /// It cannot be read here, or changed meanwhile.
    Elsewhere,
    /// Nobody waits any more.
    Unwanted,
}

impl From<io::Error> for NotKept {
    fn from(_: io::Error) -> Self {
        Self::Elsewhere
    }
}

impl Store {
    pub(crate) fn has(&self, id: &ObjectId) -> bool {
        self.odb.exists(id)
    }

    /// The commit that an object is, or leads to as a tag.
    pub(crate) fn commit_of(&self, id: ObjectId) -> Answer<ObjectId> {
        let mut id = id;
        let mut bytes = Vec::new();
        for _ in 0..MAX_DEPTH {
            let header = Header::try_header(&self.odb, &id).ok().flatten().ok_or(Elsewhere)?;
            match header.kind() {
                Object::Commit => return Ok(id),
                Object::Tag if header.size() <= MAX_TAG => {
                    let found = self.odb.try_find(&id, &mut bytes).ok().flatten().ok_or(Elsewhere)?;
                    let tag = TagRefIter::from_bytes(found.data, self.kind);
                    id = tag.target_id().map_err(|_| Elsewhere)?;
                }
                _ => return Err(Elsewhere),
            }
        }
        Err(Elsewhere)
    }

    /// The id that these bytes have as an object.
    pub(crate) fn id_of(&self, kind: Object, bytes: &[u8]) -> Answer<ObjectId> {
        gix::objs::compute_hash(self.kind, kind, bytes).map_err(|_| Elsewhere)
    }

    /// Keeps an object, and gives its id.
    pub(crate) fn keep(&self, kind: Object, bytes: &[u8]) -> Answer<ObjectId> {
        let id = self.id_of(kind, bytes)?;
        if !self.is_fresh(&id) {
            self.loose.write_buf_with_known_id(kind, bytes, id).map_err(|_| Elsewhere)?;
            self.unsynced.borrow_mut().push(self.loose.object_path(&id));
        }
        Ok(id)
    }

    /// Keeps the bytes of a file or the target of a link as a blob, unless they are those of `known`; gives their id.
    /// `unwanted` is asked every now and then.
    pub(crate) fn keep_file(
        &self,
        path: &Path,
        found: &fs::Metadata,
        known: Option<&ObjectId>,
        unwanted: &dyn Fn() -> bool,
    ) -> Result<ObjectId, NotKept> {
        let held = if found.is_symlink() {
            fs::read_link(path)?.into_os_string().as_bytes().to_vec()
        } else if found.len() <= MAX_HELD {
            let mut bytes = Vec::new();
            File::open(path)?.take(MAX_HELD + 1).read_to_end(&mut bytes)?;
            bytes
        } else {
            return self.keep_long(path, found.len(), known, unwanted);
        };
        if held.len() as u64 > MAX_HELD {
            return Err(NotKept::Elsewhere);
        }
        let kept = match known {
            Some(known) if self.id_of(Object::Blob, &held).as_ref() == Ok(known) => Ok(*known),
            _ => self.keep(Object::Blob, &held),
        };
        kept.map_err(|Elsewhere| NotKept::Elsewhere)
    }

    fn keep_long(
        &self,
        path: &Path,
        length: u64,
        known: Option<&ObjectId>,
        unwanted: &dyn Fn() -> bool,
    ) -> Result<ObjectId, NotKept> {
        let open = || File::open(path).map(|from| Whole { from, left: length, reads: 0, unwanted });
        let why = || if unwanted() { NotKept::Unwanted } else { NotKept::Elsewhere };
        let no = std::sync::atomic::AtomicBool::new(false);
        let id = gix::objs::compute_stream_hash(
            self.kind,
            Object::Blob,
            &mut open()?,
            length,
            &mut gix::progress::Discard,
            &no,
        )
        .map_err(|_| why())?;
        if known != Some(&id) && !self.is_fresh(&id) {
            // the file may be another by now, and then this is the id of what was written
            let written = self.loose.write_stream(Object::Blob, length, &mut open()?).map_err(|_| why())?;
            self.unsynced.borrow_mut().push(self.loose.object_path(&written));
            return Ok(written);
        }
        Ok(id)
    }

    /// Whether an object is there; a loose one is made young, so that nobody who collects garbage takes it now.
    fn is_fresh(&self, id: &ObjectId) -> bool {
        if !self.has(id) {
            return false;
        }
        let path = self.loose.object_path(id);
        match path.symlink_metadata() {
            Ok(_) => File::open(&path).and_then(|file| file.set_modified(SystemTime::now())).is_ok(),
            // in a pack, or in another repository
            Err(_) => true,
        }
    }

    /// Has all that was kept here on the disk, and these files. What was not synced for sure is tried again the next time.
    pub(crate) fn sync(&self, files: &[PathBuf]) -> Answer<()> {
        let all: Vec<_> = self.unsynced.borrow().iter().chain(files).cloned().collect();
        bulkhead_sandbox::disk::sync(&all).map_err(|_| Elsewhere)?;
        self.unsynced.borrow_mut().clear();
        Ok(())
    }
}

/// Exactly so many bytes of a file: one that became shorter is a failure, and not an object that says it is longer.
struct Whole<'u> {
    from: File,
    left: u64,
    reads: u32,
    unwanted: &'u dyn Fn() -> bool,
}

impl Read for Whole<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.reads = self.reads.wrapping_add(1);
        if self.reads.is_multiple_of(256) && (self.unwanted)() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(into.len());
        if most == 0 {
            return Ok(0);
        }
        match self.from.read(&mut into[..most])? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            length => {
                self.left -= length as u64;
                Ok(length)
            }
        }
    }
}
