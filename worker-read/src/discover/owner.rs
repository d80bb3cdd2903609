//! Whose repository this is, and whether that user is trusted.
//! Trust: owners come from the file system; who is trusted comes from the operator alone.

use super::refused;
use crate::{files, operator_config::OperatorConfig};
use bulkhead_contract::failure::{ReadFailure, Reason};
use bulkhead_ipc::edge::read::OwnerTrust;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Who is trusted, besides ourselves.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    any: bool,
    uids: Vec<u32>,
    safe: Vec<Safe>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Safe {
    Everything,
    Exactly(PathBuf),
    Beneath(PathBuf),
}

impl Trust {
    /// From the command line and from the operator's `safe.directory`.
    #[must_use]
    pub fn new(owners: &OwnerTrust, config: &OperatorConfig) -> Self {
        let mut safe = Vec::new();
        for value in &config.safe_directories {
            if value.is_empty() {
                // Git: an empty value clears the list so far
                safe.clear();
            } else if value == "*" {
                safe.push(Safe::Everything);
            } else if let Some(above) = value.strip_suffix(b"/*") {
                safe.extend(real(above).map(Safe::Beneath));
            } else {
                safe.extend(real(value).map(Safe::Exactly));
            }
        }
        Self { any: owners.any, uids: owners.uids.clone(), safe }
    }

    fn names(&self, repository: &Path) -> bool {
        self.safe.iter().any(|safe| match safe {
            Safe::Everything => true,
            Safe::Exactly(path) => repository == path,
            Safe::Beneath(path) => repository != path && repository.starts_with(path),
        })
    }
}

fn real(path: &[u8]) -> Option<PathBuf> {
    let path = files::bytes_path(path).filter(|path| path.is_absolute())?;
    Some(fs::canonicalize(&path).unwrap_or(path))
}

/// Refuses a repository of which a part belongs to somebody who is not trusted: the working tree, what `.git` is there,
/// the git directory, or the common directory.
///
/// # Errors
/// [`Reason::UntrustedOwner`]; its text names the flag that would allow it.
pub fn check(worktree: Option<&Path>, git_dir: &Path, common_dir: &Path, trust: &Trust) -> Result<(), ReadFailure> {
    if trust.any || trust.names(worktree.unwrap_or(git_dir)) {
        return Ok(());
    }
    let dot_git = worktree.map(|worktree| worktree.join(".git"));
    for part in worktree.into_iter().chain(dot_git.as_deref()).chain([git_dir, common_dir]) {
        if let Some(uid) = owner(part)
            && !trust.uids.contains(&uid)
            && !ours(uid)
        {
            return Err(refused(
                Reason::UntrustedOwner,
                &format!(
                    "The repository belongs to user {uid}, who is not the user of this server. If that is intended, start \
                     the server with --trust-owner {uid}, or list the repository in your safe.directory."
                ),
            ));
        }
    }
    Ok(())
}

#[cfg(unix)]
fn owner(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    fs::symlink_metadata(path).ok().map(|meta| meta.uid())
}

#[cfg(unix)]
fn ours(uid: u32) -> bool {
    nix::unistd::geteuid().as_raw() == uid
}

/// Systems without numeric owners: Git's own check there is not reproduced, so nothing is refused for it.
#[cfg(not(unix))]
fn owner(_path: &Path) -> Option<u32> {
    None
}

#[cfg(not(unix))]
fn ours(_uid: u32) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn trust(values: &[&str]) -> Trust {
        let config = OperatorConfig {
            safe_directories: values.iter().map(|&value| value.into()).collect(),
            ..OperatorConfig::default()
        };
        Trust::new(&OwnerTrust::default(), &config)
    }

    #[test]
    fn safe_directory_is_read_as_git_reads_it() {
        let repository = Path::new("/no/such/place/repository");
        assert!(trust(&["*"]).names(repository));
        assert!(trust(&["/no/such/place/repository"]).names(repository));
        assert!(trust(&["/no/such/place/*"]).names(repository));
        assert!(!trust(&["/no/such/place"]).names(repository), "a directory is not its subdirectories");
        assert!(!trust(&["/no/such/place/repository/*"]).names(repository));
        assert!(!trust(&["*", ""]).names(repository), "an empty value clears");
        assert!(!trust(&["relative"]).names(repository));
    }

    #[test]
    fn what_is_ours_is_trusted_without_being_named() {
        let temp = tempfile::tempdir().expect("a writable temporary directory");
        assert_eq!(check(None, temp.path(), temp.path(), &Trust::default()), Ok(()));
    }
}
