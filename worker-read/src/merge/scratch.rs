//! Objects for one merge: the repository's, read within bounds, and those that the merge makes, kept in memory alone.
//! Trust: objects are the repository's; each is measured before it is read, and the time is looked at before each read.

use crate::{
    diff::lines::MAX_LINES,
    pace::{Pace, Stopped},
    repo::Repo,
};
use bulkhead_contract::failure::{ReadFailure, Reason};
use gix::{
    ObjectId,
    error::message,
    objs::{Data, Find, FindHeader, Header, Kind, Write},
    oid,
};
use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    io,
};

const OPERATION: &str = "merge";
/// Bytes of one object that takes part in a merge at most; three of them, and their lines, are held at once.
pub(super) const MAX_OBJECT: u64 = 16 << 20;
/// Bytes of all objects that one merge makes at most.
const MAX_MADE: usize = 64 << 20;

/// Why a merge has no result.
#[derive(Debug, Clone)]
enum End {
    Stopped(Stopped),
    TooLarge(u64),
    TooMuch,
    TooManyLines,
    Missing(ObjectId),
}

/// The objects of one merge. Everything that was made goes with the value.
pub(crate) struct Scratch<'a> {
    pub(crate) repo: &'a Repo,
    pub(crate) pace: &'a Pace,
    /// The result rests on another repository as well.
    pub(crate) asked_elsewhere: Cell<bool>,
    made: RefCell<HashMap<ObjectId, (Kind, Vec<u8>)>>,
    held: Cell<usize>,
    end: RefCell<Option<End>>,
}

impl<'a> Scratch<'a> {
    /// Nothing made yet.
    pub(crate) fn new(repo: &'a Repo, pace: &'a Pace) -> Self {
        Self {
            repo,
            pace,
            asked_elsewhere: Cell::new(false),
            made: RefCell::default(),
            held: Cell::new(0),
            end: RefCell::new(None),
        }
    }

    /// Looks at the clock between two uninterruptible pieces of work.
    pub(crate) fn look(&self) -> Result<(), ReadFailure> {
        self.pace.look().map_err(|stopped| self.stopped(stopped))
    }

    /// What a merge that was stopped is to the caller.
    pub(crate) fn stopped(&self, stopped: Stopped) -> ReadFailure {
        *self.end.borrow_mut() = Some(End::Stopped(stopped));
        self.failure()
    }

    /// What a text of too many lines is to the caller.
    pub(crate) fn too_many_lines(&self) -> ReadFailure {
        *self.end.borrow_mut() = Some(End::TooManyLines);
        self.failure()
    }

    /// Looks at the clock now and then, between small pieces of work.
    pub(crate) fn step(&self) -> Result<(), ReadFailure> {
        self.pace.step(1).map_err(|stopped| self.stopped(stopped))
    }

    /// What a failed merge is to the caller.
    pub(crate) fn failure(&self) -> ReadFailure {
        let (reason, details) = match &*self.end.borrow() {
            Some(End::Stopped(Stopped::Deadline)) => (
                Reason::TooLarge,
                "The merge was not done in time. Start the server with a larger --deadline.".to_owned(),
            ),
            Some(End::Stopped(Stopped::Memory)) => (
                Reason::TooLarge,
                "The merge needs more memory than this worker may use. Start the server with a larger --worker-memory."
                    .to_owned(),
            ),
            Some(End::Stopped(Stopped::Cancelled)) => (Reason::TooLarge, "The call was cancelled.".to_owned()),
            Some(End::TooLarge(size)) => (
                Reason::TooLarge,
                format!(
                    "A file of {size} bytes would have to be merged; this server merges files of up to {MAX_OBJECT} \
                     bytes in memory."
                ),
            ),
            Some(End::TooMuch) => (
                Reason::TooLarge,
                format!("The merge makes more than {MAX_MADE} bytes of new contents, the most that is kept in memory."),
            ),
            Some(End::TooManyLines) => (
                Reason::TooLarge,
                format!(
                    "A file would have to be merged of which three versions have more than {} lines together.",
                    2 * MAX_LINES
                ),
            ),
            Some(End::Missing(id)) => {
                (Reason::ObjectMissing, format!("The merge needs the object {id}, which is not in this clone."))
            }
            None => (
                Reason::Corrupt,
                "A commit, tree or file that the merge needs cannot be read; `git fsck` can tell more.".to_owned(),
            ),
        };
        self.repo.doubt();
        ReadFailure::new(reason, OPERATION, details)
    }

    fn fail<T>(&self, end: End) -> gix::Result<T> {
        let mut held = self.end.borrow_mut();
        if held.is_none() {
            *held = Some(end);
        }
        Err(gix::Error::from_error(message("the merge has ended")))
    }
}

impl Find for Scratch<'_> {
    fn try_find<'b>(&self, id: &oid, buffer: &'b mut Vec<u8>) -> gix::Result<Option<Data<'b>>> {
        if let Some((kind, bytes)) = self.made.borrow().get(id) {
            buffer.clear();
            buffer.extend_from_slice(bytes);
            return Ok(Some(Data::new(buffer, *kind, id.kind())));
        }
        if *id == *ObjectId::empty_tree(id.kind()) {
            buffer.clear();
            return Ok(Some(Data::new(buffer, Kind::Tree, id.kind())));
        }
        if let Err(stopped) = self.pace.step(1) {
            return self.fail(End::Stopped(stopped));
        }
        match self.repo.git.objects.try_header(id)? {
            None => return self.fail(End::Missing(id.to_owned())),
            Some(header) if header.size > MAX_OBJECT => return self.fail(End::TooLarge(header.size)),
            Some(_) => {}
        }
        let kind = match self.repo.git.objects.try_find(id, buffer)? {
            None => return self.fail(End::Missing(id.to_owned())),
            Some(data) => data.kind,
        };
        if kind == Kind::Commit && self.repo.is_shallow(&id.to_owned()) {
            without_parents(buffer);
        }
        Ok(Some(Data::new(buffer, kind, id.kind())))
    }
}

/// Takes the parents out of a commit at which the history of a shallow clone ends.
fn without_parents(commit: &mut Vec<u8>) {
    while let Some(start) = commit.iter().position(|&byte| byte == b'\n').map(|at| at + 1)
        && commit[start..].starts_with(b"parent ")
    {
        let end = commit[start..].iter().position(|&byte| byte == b'\n').map_or(commit.len(), |at| start + at + 1);
        commit.drain(start..end);
    }
}

impl FindHeader for Scratch<'_> {
    fn try_header(&self, id: &oid) -> gix::Result<Option<Header>> {
        if let Some((kind, bytes)) = self.made.borrow().get(id) {
            return Ok(Some(Header { kind: *kind, size: bytes.len() as u64 }));
        }
        if *id == *ObjectId::empty_tree(id.kind()) {
            return Ok(Some(Header { kind: Kind::Tree, size: 0 }));
        }
        match self.repo.git.objects.try_header(id)? {
            None => self.fail(End::Missing(id.to_owned())),
            found => Ok(found),
        }
    }
}

impl Write for Scratch<'_> {
    fn write_buf_with_known_id(&self, kind: Kind, bytes: &[u8], id: ObjectId) -> gix::Result<ObjectId> {
        let held = self.held.get() + bytes.len();
        if held > MAX_MADE {
            return self.fail(End::TooMuch);
        }
        if self.made.borrow_mut().insert(id, (kind, bytes.to_vec())).is_none() {
            self.held.set(held);
        }
        Ok(id)
    }

    fn write_stream(&self, kind: Kind, size: u64, from: &mut dyn io::Read) -> gix::Result<ObjectId> {
        let bytes = self.drained(size, from)?;
        let id = gix::objs::compute_hash(self.repo.git.object_hash(), kind, &bytes)
            .map_err(|_| gix::Error::from_error(message("no hash")))?;
        self.write_buf_with_known_id(kind, &bytes, id)
    }

    fn write_stream_with_known_id(
        &self,
        kind: Kind,
        size: u64,
        from: &mut dyn io::Read,
        id: ObjectId,
    ) -> gix::Result<ObjectId> {
        let bytes = self.drained(size, from)?;
        self.write_buf_with_known_id(kind, &bytes, id)
    }
}

impl Scratch<'_> {
    fn drained(&self, size: u64, from: &mut dyn io::Read) -> gix::Result<Vec<u8>> {
        if size > MAX_MADE as u64 {
            return self.fail(End::TooMuch);
        }
        let mut bytes = Vec::new();
        match from.read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(_) => Err(gix::Error::from_error(message("memory cannot be read"))),
        }
    }
}

impl std::fmt::Debug for Scratch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scratch").field("held", &self.held.get()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::without_parents;

    #[test]
    fn parents_are_taken_out_and_nothing_else() {
        let mut commit = b"tree 1\nparent 2\nparent 3\nauthor a\n\nparent 4\n".to_vec();
        without_parents(&mut commit);
        assert_eq!(commit, b"tree 1\nauthor a\n\nparent 4\n");
        let mut odd = b"tree 1\nparent 2".to_vec();
        without_parents(&mut odd);
        assert_eq!(odd, b"tree 1\n");
    }
}
