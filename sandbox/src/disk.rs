//! Having files on the disk: one by one, or all of a file system at once where there are many.
//! Trust: paths are the caller's own files; what a disk says of them is believed.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    thread,
};

/// Files that are synced side by side: a journal takes them in at once then.
const AT_ONCE: usize = 4;
/// More files than this are not worth a flush each: everything on their file systems is written in place of that, whoever
/// wrote it.
const SINGLY: usize = 64;

/// Has these files, or directories with the names in them, on the disk.
///
/// # Errors
/// The first that could not be opened or synced.
pub fn sync(paths: &[PathBuf]) -> io::Result<()> {
    if paths.len() > SINGLY {
        return whole(paths);
    }
    let some = |paths: &[PathBuf]| paths.iter().try_for_each(|path| one(path));
    let mut shares = paths.chunks(paths.len().div_ceil(AT_ONCE).max(1));
    let first = shares.next().unwrap_or_default();
    thread::scope(|scope| {
        let others: Vec<_> =
            shares.map(|share| (share, thread::Builder::new().spawn_scoped(scope, move || some(share)).ok())).collect();
        let first = some(first);
        others.into_iter().fold(first, |done, (share, thread)| {
            // without a thread it is done here
            let other = thread.map_or_else(|| some(share), |thread| thread.join().unwrap_or_else(|_| some(share)));
            done.and(other)
        })
    })
}

fn one(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(target_os = "linux")]
fn whole(paths: &[PathBuf]) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;

    let mut systems = std::collections::BTreeMap::new();
    for path in paths {
        let file = File::open(path)?;
        systems.entry(file.metadata()?.dev()).or_insert(file);
    }
    systems.into_values().try_for_each(|file| Ok(nix::unistd::syncfs(file)?))
}

#[cfg(not(target_os = "linux"))]
fn whole(paths: &[PathBuf]) -> io::Result<()> {
    paths.iter().try_for_each(|path| one(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_files_and_many_are_synced_and_one_that_is_missing_is_told() {
        let keep = tempfile::tempdir().expect("a directory");
        for count in [0, 1, 3, 9, SINGLY, SINGLY + 1] {
            let mut paths: Vec<_> = (0..count).map(|number| keep.path().join(number.to_string())).collect();
            for path in &paths {
                std::fs::write(path, "x").expect("ours");
            }
            assert!(sync(&paths).is_ok(), "{count}");
            paths.push(keep.path().join("missing"));
            assert_eq!(sync(&paths).map_err(|error| error.kind()), Err(io::ErrorKind::NotFound), "{count}");
        }
        assert!(sync(&[keep.path().to_owned()]).is_ok());
    }
}
