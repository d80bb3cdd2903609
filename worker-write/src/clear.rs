//! Deleting a directory that somebody else filled: at any depth, without rights to it, and within a time.
//! Trust: names and depths are hostile; links are deleted and never followed; nothing that made them runs any more.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Instant,
};

/// Directories within each other that are gone through at once; what is deeper is moved up first.
const DEPTH: usize = 64;

/// Deletes a directory, or whatever stands under this name.
///
/// # Errors
/// `TimedOut` where not all of it went by then; those of the file system.
pub(crate) fn directory(path: &Path, until: Instant) -> io::Result<()> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Ok(found) if !found.is_dir() => return fs::remove_file(path),
        _ => {}
    }
    let mut clearing = Clearing { top: path, moved: 0, until };
    loop {
        let moved = clearing.moved;
        clearing.level(path, 0)?;
        if clearing.moved == moved {
            return fs::remove_dir(path);
        }
    }
}

struct Clearing<'p> {
    top: &'p Path,
    moved: usize,
    until: Instant,
}

impl Clearing<'_> {
    /// Empties a directory, but for what it moves to the top.
    fn level(&mut self, directory: &Path, depth: usize) -> io::Result<()> {
        // what has no rights to itself is nobody's to empty but its owner's
        let _ = fs::set_permissions(directory, fs::Permissions::from_mode(0o700));
        for entry in fs::read_dir(directory)? {
            if Instant::now() >= self.until {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let entry = entry?;
            let path = entry.path();
            if !entry.file_type()?.is_dir() {
                fs::remove_file(&path)?;
            } else if depth < DEPTH {
                self.level(&path, depth + 1)?;
                fs::remove_dir(&path)?;
            } else {
                // its own rights decide whether it can be moved, where its place changes
                let _ = fs::set_permissions(&path, fs::Permissions::from_mode(0o700));
                fs::rename(&path, self.free())?;
            }
        }
        Ok(())
    }

    fn free(&mut self) -> PathBuf {
        loop {
            self.moved += 1;
            let path = self.top.join(format!("deep-{}", self.moved));
            if path.symlink_metadata().is_err() {
                return path;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_very_deep_one_without_rights_goes_and_one_that_takes_too_long_is_told() {
        let keep = tempfile::tempdir().expect("a directory");
        let top = keep.path().join("top");
        fs::create_dir(&top).expect("ours");
        // longer than any path may be: made from its end
        for number in 0..3_000 {
            let around = keep.path().join("around");
            fs::create_dir(&around).expect("ours");
            fs::write(around.join("file"), "x").expect("ours");
            fs::rename(&top, around.join("d")).expect("ours");
            fs::set_permissions(around.join("d"), fs::Permissions::from_mode(if number % 7 == 0 { 0 } else { 0o700 }))
                .expect("ours");
            fs::rename(&around, &top).expect("ours");
        }
        std::os::unix::fs::symlink("/", top.join("link")).expect("ours");
        let late = directory(&top, Instant::now());
        assert_eq!(late.map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
        directory(&top, Instant::now() + Duration::from_secs(60)).expect("all of it goes");
        assert!(top.symlink_metadata().is_err() && Path::new("/usr").exists());
        directory(&top, Instant::now()).expect("there is nothing left to do");
    }
}
