//! What hooks may run and read, where the operator would have them run: the system's own programs, wherever those lie.
//! Trust: fixed names, and the operator's own configuration; nothing that lies beneath a root is the system's.

use super::{SHELL, Surroundings, Unfit, bytes, there};
use bulkhead_ipc::edge::write::{Hooks, Programs};
use std::path::{Path, PathBuf};

/// Directories of a system's programs, libraries and what belongs to them.
const DIRECTORIES: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];
/// Where programs are looked for by name, after the directory of Git.
const PATH: &[&str] =
    &["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin", "/run/current-system/sw/bin"];
/// What programs of all kinds read when they begin.
const SHARED: &[&str] = &["/etc/os-release", "/etc/ssl/openssl.cnf", "/etc/locale.alias"];

/// For `--hooks run`. `named` is the operator's own directory of hooks, where there is one for this repository.
///
/// # Errors
/// [`Unfit::Unusable`] where no shell is left, since all of the system lies beneath a root.
pub fn for_hooks(programs: &Programs, named: Option<&Path>, around: &Surroundings) -> Result<Hooks, Unfit> {
    let mut directories: Vec<PathBuf> = DIRECTORIES
        .iter()
        .filter_map(|name| Path::new(name).canonicalize().ok())
        .filter(|dir| dir.is_dir() && !around.roots.iter().any(|root| dir.starts_with(root)))
        .collect();
    directories.sort();
    // one that lies beneath another needs no word of its own
    directories.dedup_by(|dir, above| dir.starts_with(above));
    let shell = Path::new(SHELL).canonicalize().map_err(|e| Unfit::Unusable(format!("{SHELL}: {e}")))?;
    if !directories.iter().any(|dir| shell.starts_with(dir)) {
        return Err(Unfit::Unusable(format!("{SHELL} lies beneath a root, where an agent may have put it")));
    }
    let git = super::from_bytes(&programs.git);
    let path = git.parent().into_iter().chain(PATH.iter().map(Path::new).filter(|dir| dir.is_dir()));
    let path = std::env::join_paths(path).map_err(|e| Unfit::Unusable(format!("the directory of git: {e}")))?;
    directories.extend(named.and_then(|dir| dir.canonicalize().ok()).filter(|dir| dir.is_dir()));
    Ok(Hooks {
        programs: directories.iter().map(bytes).collect(),
        shared: there(SHARED),
        path: bytes(Path::new(&path)),
    })
}
