//! Run directories: which there are, settled once at start. One that does not exist then holds nothing.
//! Trust: the operator's own words and home; the file system is asked for existence and canonical paths, nothing is read.

use crate::env;
use bulkhead_supervisor::settings::RunDirectory;
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

/// The run directories in the order in which they count.
#[derive(Debug, Default)]
pub struct RunDirs {
    /// Ours, for `doctor` and everything that outlives a session; not created by asking.
    pub own: Option<PathBuf>,
    /// For the supervisor.
    pub settings: Vec<RunDirectory>,
    /// What the operator should know.
    pub complaints: Vec<String>,
}

/// Settles ours from `--run-dir`, else the environment, else the default; and, as a second source, the place where
/// programs that speak the same contract keep their records.
///
/// # Errors
/// One sentence for a run directory that is never accepted.
pub fn settle(flag: Option<&Path>, cwd: Option<&Path>, home: Option<&OsStr>) -> Result<RunDirs, String> {
    let home = home.map(Path::new).filter(|home| home.is_absolute());
    let absolute = |dir: PathBuf| cwd.map_or(dir.clone(), |cwd| cwd.join(&dir));
    let own = match flag {
        Some(dir) => Some(absolute(dir.to_path_buf())),
        None => match env::RUN_DIR.read() {
            Some((dir, name)) if dir.is_empty() => {
                return Err(format!("{name} is empty: name a directory, or unset it"));
            }
            Some((dir, _)) => Some(absolute(PathBuf::from(dir))),
            None => default(home),
        },
    };
    let mut dirs = RunDirs { own: own.clone(), ..RunDirs::default() };
    for dir in own.into_iter().chain(second(home).filter(|dir| dir.is_dir())) {
        let canonical = dir.canonicalize().ok().filter(|dir| dir.is_dir());
        let exists = canonical.is_some();
        let path = canonical.unwrap_or_else(|| dir.clone());
        if path.parent().is_none() {
            return Err("--run-dir: the file system's root is never accepted; name a directory".to_owned());
        }
        match (path.to_str(), dir.to_str()) {
            (Some(path), Some(written)) => {
                let settled = RunDirectory { path: path.to_owned(), written: written.to_owned(), exists };
                if dirs.settings.iter().all(|other| other.path != settled.path) {
                    dirs.settings.push(settled);
                }
            }
            _ => dirs.complaints.push(format!("the run directory {dir:?} is not used: its path is not UTF-8")),
        }
    }
    Ok(dirs)
}

fn default(home: Option<&Path>) -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
    state.or_else(|| home.map(|home| home.join(".local/state"))).map(|dir| dir.join("bulkhead"))
}

/// Where the contract's own application keeps its run directory (contract `env.md`).
fn second(home: Option<&Path>) -> Option<PathBuf> {
    if cfg!(windows) {
        let local = std::env::var_os("LOCALAPPDATA").map(PathBuf::from).filter(|dir| dir.is_absolute());
        return local.map(|dir| dir.join("FluxGit").join("run"));
    }
    let beneath = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/share" };
    home.map(|home| home.join(beneath).join("FluxGit/run"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_directory_that_is_not_there_is_known_and_empty() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let base = temp.path().canonicalize().expect("it exists");
        let dirs = settle(Some(Path::new("run")), Some(&base), Some(base.as_os_str())).expect("accepted");
        assert_eq!(dirs.own, Some(base.join("run")));
        assert_eq!(dirs.settings.len(), 1);
        assert!(!dirs.settings[0].exists);
        fs::create_dir(base.join("run")).expect("ours");
        let dirs = settle(Some(Path::new("run")), Some(&base), None).expect("accepted");
        assert!(dirs.settings[0].exists);
    }

    #[cfg(all(unix, not(target_os = "macos")))]
    #[test]
    fn the_second_place_counts_where_it_exists_and_once() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let base = temp.path().canonicalize().expect("it exists");
        let second = base.join(".local/share/FluxGit/run");
        fs::create_dir_all(&second).expect("ours");
        let paths = |flag: &Path| {
            let dirs = settle(Some(flag), Some(&base), Some(base.as_os_str())).expect("accepted");
            dirs.settings.iter().map(|dir| PathBuf::from(&dir.path)).collect::<Vec<_>>()
        };
        assert_eq!(paths(Path::new("own")), [base.join("own"), second.clone()]);
        std::os::unix::fs::symlink(&second, base.join("link")).expect("links are possible here");
        assert_eq!(paths(Path::new("link")), [second]);
    }

    #[test]
    fn the_root_is_never_accepted() {
        assert!(settle(Some(Path::new("/")), None, None).is_err());
    }
}
