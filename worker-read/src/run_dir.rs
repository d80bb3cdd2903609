//! A run directory in place of a repository: which directories of it are read, and whether they still are the same.
//! Trust: the directory is the operator's; what stands in it was written by other programs and is hostile like a repository.

use crate::files::{self, NoContents};
use bulkhead_contract::failure::{ReadFailure, Reason};
use bulkhead_ipc::edge::{FileId, read::Place};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Name of this place in failures.
pub(crate) const OPERATION: &str = "run-directory";

/// A run directory as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDir {
    /// As the operator's settings have it: canonical.
    pub path: PathBuf,
    /// Its identity.
    pub id: FileId,
    /// Identity of [`RunDir::repos`] and [`RunDir::rebase`] where they are directories; a link is none.
    parts: [Option<FileId>; 2],
}

/// The run directory among `run_dirs` that `path` is, byte by byte; a caller's other spellings mean no run directory.
#[must_use]
pub fn chosen(path: Option<&[u8]>, run_dirs: &[Vec<u8>]) -> Option<PathBuf> {
    let path = path.filter(|path| run_dirs.iter().any(|dir| dir == path))?;
    files::bytes_path(path).filter(|path| path.is_absolute())
}

impl RunDir {
    /// The run directory at `path`, one of the operator's.
    ///
    /// # Errors
    /// Where it is none any more.
    pub fn find(path: PathBuf) -> Result<Self, ReadFailure> {
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_dir() => {
                let parts = [directory(&path.join("repos")), directory(&path.join("rebase"))];
                Ok(Self { id: files::file_id(&meta), path, parts })
            }
            Ok(_) => {
                Err(ReadFailure::new(Reason::NoSuchPath, OPERATION, "The run directory is no directory any more."))
            }
            Err(e) => Err(NoContents::of(&e).failure(OPERATION, "the run directory")),
        }
    }

    /// Where repositories are registered.
    #[must_use]
    pub fn repos(&self) -> PathBuf {
        self.path.join("repos")
    }

    /// Where restore records are.
    #[must_use]
    pub fn rebase(&self) -> PathBuf {
        self.path.join("rebase")
    }

    /// Everything that may be read from now on.
    #[must_use]
    pub fn directories(&self) -> Vec<PathBuf> {
        let there = [self.repos(), self.rebase()].into_iter().zip(self.parts);
        there.filter_map(|(path, id)| id.map(|_| path)).collect()
    }

    /// True where `place` still means what was found; a directory that came, went or was replaced needs a new worker.
    #[must_use]
    pub fn still_there(&self, place: Option<&Place>) -> bool {
        place.is_none_or(|place| place.asked == self.id && files::path_bytes(&self.path) == place.path)
            && RunDir::find(self.path.clone()).is_ok_and(|now| now == *self)
    }
}

fn directory(path: &Path) -> Option<FileId> {
    fs::symlink_metadata(path).ok().filter(fs::Metadata::is_dir).map(|meta| files::file_id(&meta))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_operators_own_spelling_means_a_run_directory() {
        let dirs = [b"/r/run".to_vec()];
        assert_eq!(chosen(Some(b"/r/run"), &dirs), Some(PathBuf::from("/r/run")));
        for other in [None, Some(&b"/r/run/"[..]), Some(b"/r/run/repos"), Some(b"/r/./run"), Some(b"/r")] {
            assert_eq!(chosen(other, &dirs), None);
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_no_part_and_changes_are_seen() {
        let temp = tempfile::tempdir().expect("a writable temporary directory");
        let path = temp.path().canonicalize().expect("it is there");
        fs::create_dir(path.join("repos")).expect("writable");
        std::os::unix::fs::symlink("/etc", path.join("rebase")).expect("links are possible here");
        let found = RunDir::find(path.clone()).expect("a directory");
        assert_eq!(found.directories(), [path.join("repos")]);
        let place = Place { path: files::path_bytes(&path), asked: found.id };
        assert!(found.still_there(Some(&place)) && found.still_there(None));
        assert!(!found.still_there(Some(&Place { path: b"/elsewhere".to_vec(), ..place.clone() })));
        fs::remove_file(path.join("rebase")).expect("ours");
        assert!(found.still_there(Some(&place)), "a link that goes was no part");
        fs::create_dir(path.join("rebase")).expect("writable");
        assert!(!found.still_there(Some(&place)), "a directory that comes is one");
    }
}
