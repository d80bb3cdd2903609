//! Single refs, read as files: loose ones first, then `packed-refs`.
//! Trust: anybody's texts; what is neither an id nor the name of a ref is Git's to judge.

use super::{Answer, Elsewhere, Store, whole};
use crate::repo::Head;
use gix::hash::ObjectId;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Bytes of a loose ref at most.
const MAX_REF: u64 = 4 << 10;
/// Bytes of `packed-refs` that are searched.
const MAX_PACKED: u64 = 64 << 20;
/// Names that are followed from one to the next, as Git does.
const MAX_DEPTH: usize = 5;

/// What stands under a name.
enum Stands {
    Id(ObjectId),
    Name(String),
}

impl Store {
    /// Where HEAD of this git directory is.
    pub(crate) fn head(&self, git_dir: &Path) -> Answer<Head> {
        let (branch, id) = match self.stands(&git_dir.join("HEAD"))?.ok_or(Elsewhere)? {
            Stands::Name(full) => {
                let branch = full.strip_prefix("refs/heads/").ok_or(Elsewhere)?.to_owned();
                (Some(branch), self.reference(&full)?)
            }
            Stands::Id(id) => (None, Some(id)),
        };
        let commit = id.map(|id| self.commit_of(id)).transpose()?;
        Ok(Head { branch, commit: commit.map(|id| id.to_string()) })
    }

    /// The commit that a full name holds, or leads to as a tag.
    pub(crate) fn commit(&self, full: &str) -> Answer<Option<ObjectId>> {
        self.reference(full)?.map(|id| self.commit_of(id)).transpose()
    }

    /// What a full name holds, other names followed, tags not.
    pub(crate) fn reference(&self, full: &str) -> Answer<Option<ObjectId>> {
        let mut name = full.to_owned();
        for _ in 0..MAX_DEPTH {
            // those of single working trees are elsewhere
            let shared = ["heads/", "tags/", "remotes/", "bulkhead/"];
            let is_shared = name.strip_prefix("refs/").is_some_and(|rest| shared.iter().any(|it| rest.starts_with(it)));
            if !is_shared || !is_name(&name) {
                return Err(Elsewhere);
            }
            match self.stands(&self.common_dir.join(&name))? {
                Some(Stands::Id(id)) => return Ok(Some(id)),
                Some(Stands::Name(next)) => name = next,
                None => return self.packed(|_, found| found == name.as_bytes()).map(|found| found.map(|(id, _)| id)),
            }
        }
        Err(Elsewhere)
    }

    fn stands(&self, path: &Path) -> Answer<Option<Stands>> {
        // a directory with other refs beneath is none
        if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return Ok(None);
        }
        let Some(text) = whole(path, MAX_REF)? else { return Ok(None) };
        let text = std::str::from_utf8(&text).map_err(|_| Elsewhere)?;
        if let Some(name) = text.strip_prefix("ref:") {
            return Ok(Some(Stands::Name(name.trim().to_owned())));
        }
        self.id(text.trim_end().as_bytes()).map(|id| Some(Stands::Id(id)))
    }

    /// The first row of `packed-refs` that is wanted.
    fn packed(&self, wanted: impl Fn(ObjectId, &[u8]) -> bool) -> Answer<Option<(ObjectId, Vec<u8>)>> {
        let text = whole(&self.common_dir.join("packed-refs"), MAX_PACKED)?.unwrap_or_default();
        // comments, and what the tag above peels to
        for line in text.split(|byte| *byte == b'\n').filter(|line| !matches!(line.first(), None | Some(b'#' | b'^'))) {
            let length = self.kind.len_in_hex();
            if line.len() < length + 2 || line[length] != b' ' {
                return Err(Elsewhere);
            }
            let (id, name) = (self.id(&line[..length])?, &line[length + 1..]);
            if wanted(id, name) {
                return Ok(Some((id, name.to_vec())));
            }
        }
        Ok(None)
    }

    /// Whether anything beneath a prefix is in `packed-refs`.
    pub(crate) fn is_packed(&self, prefix: &str) -> Answer<bool> {
        self.packed(|_, name| name.starts_with(prefix.as_bytes())).map(|found| found.is_some())
    }

    /// The directory of all refs beneath a prefix, which ends in a slash; made where it is not there yet.
    pub(crate) fn refs_directory(&self, prefix: &str) -> Answer<PathBuf> {
        let above = |name: &[u8]| prefix.as_bytes().strip_prefix(name).is_some_and(|rest| rest.first() == Some(&b'/'));
        let mut directory = self.common_dir.clone();
        for name in prefix.split('/').filter(|name| !name.is_empty()) {
            directory.push(name);
            match directory.symlink_metadata() {
                Ok(found) if found.is_dir() => {}
                // a ref of that name that is packed leaves no room for others beneath it
                Err(e) if e.kind() == io::ErrorKind::NotFound && self.packed(|_, it| above(it))?.is_none() => {
                    fs::create_dir(&directory).map_err(|_| Elsewhere)?;
                }
                _ => return Err(Elsewhere),
            }
        }
        Ok(directory)
    }

    fn id(&self, hex: &[u8]) -> Answer<ObjectId> {
        ObjectId::from_hex(hex).ok().filter(|id| id.kind() == self.kind && !id.is_null()).ok_or(Elsewhere)
    }
}

/// Whether Git takes it for the full name of a ref.
pub(crate) fn is_name(full: &str) -> bool {
    gix::validate::reference::name(full.into()).is_ok()
}
