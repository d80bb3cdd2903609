//! What of a repository this process reads and writes itself: refs, objects and the index, where a run of Git for each
//! question would be most of what a write costs.
//! Trust: the files are anybody's; each is read up to a limit, and whatever reads otherwise than expected is left to Git.
//!
//! Git, in C, parses the same bytes in the same jail a moment later, and this process may change this repository alone, so
//! that a reader without `unsafe` adds nothing to what a hostile repository can reach. No answer is made up: where a file is
//! of a kind that is not read here (reftables, a split or sparse index, links in place of files), or is damaged, the answer
//! is [`Elsewhere`], and the caller asks Git, whose word counts and whose failure is told.

pub(crate) mod index;
pub(crate) mod objects;
mod refs;
pub(crate) mod tree;

pub(crate) use refs::is_name;

use crate::{
    settings::{Settings, is_on},
    text,
};
use gix::hash::{Kind, ObjectId};
use std::path::{Path, PathBuf};

/// This is not read here; ask Git.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Elsewhere;

/// An answer, or that Git has to give it.
pub(crate) type Answer<T> = Result<T, Elsewhere>;

/// Extensions of the format that change nothing for what is read here.
const KNOWN: &[&str] = &[
    "extensions.objectformat",
    "extensions.refstorage",
    "extensions.worktreeconfig",
    "extensions.relativeworktrees",
    "extensions.partialclone",
    "extensions.preciousobjects",
    "extensions.noop",
    "extensions.noop-v1",
];

/// The objects and refs that all working trees of a repository share.
pub(crate) struct Store {
    common_dir: PathBuf,
    kind: Kind,
    odb: gix::odb::Handle,
    loose: gix::odb::loose::Store,
    /// The index and the disk differ by the right to execute, where they differ in that alone.
    pub(crate) file_mode: bool,
    /// What was written here and is not known to be on the disk yet.
    unsynced: std::cell::RefCell<Vec<PathBuf>>,
}

impl Store {
    /// Of a repository with these settings; `None` where it is of a kind that is not read here.
    pub(crate) fn open(settings: &Settings, common_dir: &Path) -> Option<Self> {
        let kind = match settings.get("extensions.objectformat") {
            None => Kind::Sha1,
            Some(name) if name.eq_ignore_ascii_case("sha1") => Kind::Sha1,
            Some(name) if name.eq_ignore_ascii_case("sha256") => Kind::Sha256,
            Some(_) => return None,
        };
        let files = settings.get("extensions.refstorage").is_none_or(|name| name.eq_ignore_ascii_case("files"));
        let known = settings.section("extensions").all(|(key, _)| KNOWN.contains(&key));
        // what Git would make readable for others
        let shared =
            |value: &str| !matches!(value.to_ascii_lowercase().as_str(), "umask" | "false" | "no" | "off" | "0" | "");
        let off = |key: &str| settings.get(key).is_some_and(|value| !is_on(value));
        let unusual = settings.get("core.sharedrepository").is_some_and(shared) || off("core.symlinks");
        if !files || !known || unusual || common_dir.join("reftable").exists() {
            return None;
        }
        let objects = common_dir.join("objects");
        let odb = gix::odb::at(&objects, kind).ok()?;
        Some(Self {
            common_dir: common_dir.to_owned(),
            kind,
            odb,
            loose: gix::odb::loose::Store::at(objects, kind),
            file_mode: !off("core.filemode"),
            unsynced: std::cell::RefCell::default(),
        })
    }

    /// The hash that names objects here.
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Id of the tree without entries; Git knows it without an object.
    pub(crate) fn empty_tree(&self) -> ObjectId {
        ObjectId::empty_tree(self.kind)
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("common_dir", &self.common_dir).field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// All of a regular file that is no longer than this; `None` where there is none.
fn whole(path: &Path, most: u64) -> Answer<Option<Vec<u8>>> {
    text::bytes(path, most).map_err(|_| Elsewhere)
}
