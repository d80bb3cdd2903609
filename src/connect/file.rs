//! A host's file on disk: looked at once, and replaced as a whole or not at all.
//! Trust: in a project, names and links are the project's word, and no link is followed; a user's own links are.

use super::text::LONGEST;
use std::{
    fs::{self, File, Metadata},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;

/// What the copy of the old file is called: the file's name and this.
pub const BACKUP: &str = ".bulkhead-backup";

/// How a file is called while it is written.
const TEMPORARY: &str = ".bulkhead-new-";

/// A file as it was found.
#[derive(Debug)]
pub struct Found {
    /// Where it is, behind all links.
    pub path: PathBuf,
    /// The link that led there.
    pub link: Option<PathBuf>,
    /// What it says; `None` where there is none.
    pub bytes: Option<Vec<u8>>,
    metadata: Option<Metadata>,
}

/// Looks at a file. `project` is set for one in a project: none of the names between the two may then be a link, which would
/// let a repository choose what is written.
///
/// # Errors
/// One sentence: it is not a file, too long, or cannot be read.
pub fn look(named: &Path, project: Option<&Path>) -> Result<Found, String> {
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    if let Some(project) = project {
        let between = named.ancestors().take_while(|path| *path != project);
        if let Some(link) = between.into_iter().find(|path| is_link(path)) {
            return Err(format!("{} is a link, and links of a project are not followed", link.display()));
        }
    }
    let (path, link) = if is_link(named) {
        let path = named.canonicalize().map_err(|e| format!("it is a link that leads nowhere: {}", e.kind()))?;
        (path, Some(named.to_owned()))
    } else {
        (named.to_owned(), None)
    };
    match path.symlink_metadata() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Found { path, link, bytes: None, metadata: None }),
        Err(e) => Err(format!("it cannot be looked at: {}", e.kind())),
        // opened only where it is a file: a FIFO would be waited for
        Ok(found) if !found.is_file() => Err("it is not a regular file".to_owned()),
        Ok(found) if found.len() > LONGEST => Err(format!("it is longer than {} MiB", LONGEST >> 20)),
        Ok(metadata) => {
            let bytes = read(&path).map_err(|e| format!("it cannot be read: {}", e.kind()))?;
            Ok(Found { path, link, bytes: Some(bytes), metadata: Some(metadata) })
        }
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LONGEST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Found {
    /// Puts `bytes` in the file's place: written beside it, on disk, and then renamed, with the rights that it had. What was
    /// there is kept beside it first; a copy of an earlier time makes room. The answer is where the copy is.
    ///
    /// # Errors
    /// One sentence; the file is then as it was.
    pub fn replace(&self, bytes: &[u8]) -> Result<Option<PathBuf>, String> {
        let directory = self.path.parent().ok_or("it has no directory")?;
        if let Some(metadata) = &self.metadata {
            if metadata.permissions().readonly() {
                return Err("it is read-only; whoever made it so should change it".to_owned());
            }
            if names(metadata) > 1 {
                return Err(
                    "it has further names (hard links), which would keep the old text; edit it by hand".to_owned()
                );
            }
        }
        let failed = |e: io::Error| format!("it cannot be written in {}: {}", directory.display(), e.kind());
        // a directory that is made must not be another's than the one around it, and not stay where nothing can be written
        if let Some(around) = directory.ancestors().find(|dir| dir.is_dir()).filter(|around| *around != directory) {
            let tried = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(around).map_err(failed)?;
            owned(tried.as_file(), None, around)?;
            drop(tried);
            fs::create_dir_all(directory).map_err(failed)?;
        }
        let new = self.beside(directory, bytes)?;
        // a host that runs writes its own file; what it wrote since must not be lost
        if self.bytes.as_ref().is_some_and(|old| read(&self.path).ok().as_ref() != Some(old)) {
            return Err("it was changed by somebody else at the same time; try again".to_owned());
        }
        let backup = match &self.bytes {
            None => None,
            Some(old) => {
                let mut name = self.path.file_name().unwrap_or_default().to_owned();
                name.push(BACKUP);
                let path = directory.join(name);
                self.beside(directory, old)?.persist(&path).map_err(|e| failed(e.error))?;
                Some(path)
            }
        };
        match backup {
            Some(_) => new.persist(&self.path),
            None => new.persist_noclobber(&self.path),
        }
        .map_err(|e| failed(e.error))?;
        // the name is on disk when its directory is; where a system cannot say so, it is on its own way there
        let _ = File::open(directory).and_then(|directory| directory.sync_all());
        Ok(backup)
    }

    /// A file beside ours with these bytes, our rights and our owner.
    fn beside(&self, directory: &Path, bytes: &[u8]) -> Result<NamedTempFile, String> {
        let failed = |e: io::Error| format!("it cannot be written in {}: {}", directory.display(), e.kind());
        let mut builder = tempfile::Builder::new();
        builder.prefix(TEMPORARY);
        #[cfg(unix)]
        let open = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o666);
        #[cfg(unix)]
        if self.metadata.is_none() {
            // less the user's own mask, as any file that the host would have made itself
            builder.permissions(open);
        }
        let mut file = builder.tempfile_in(directory).map_err(failed)?;
        file.write_all(bytes).map_err(failed)?;
        owned(file.as_file(), self.metadata.as_ref(), directory)?;
        if let Some(metadata) = &self.metadata {
            file.as_file().set_permissions(metadata.permissions()).map_err(failed)?;
        }
        file.as_file().sync_all().map_err(failed)?;
        Ok(file)
    }
}

/// How many names a file has.
fn names(metadata: &Metadata) -> u64 {
    #[cfg(unix)]
    {
        std::os::unix::fs::MetadataExt::nlink(metadata)
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        1
    }
}

/// That a new file belongs to whom the old one, or its directory, belongs to: with `sudo`, a host would be left with a file
/// that it cannot read.
#[cfg(unix)]
fn owned(file: &File, old: Option<&Metadata>, directory: &Path) -> Result<(), String> {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let failed = |e: io::Error| format!("it cannot be looked at: {}", e.kind());
    let own = file.metadata().map_err(failed)?;
    let theirs = match old {
        Some(old) => old.clone(),
        None => directory.metadata().map_err(failed)?,
    };
    if own.uid() != theirs.uid() {
        return Err(format!("it belongs to user {}; do this as that user", theirs.uid()));
    }
    if old.is_some() && own.gid() != theirs.gid() {
        // a group that we are not in cannot be given; the file is then the owner's group's, as one that an editor saved
        let _ = fchown(file, None, Some(theirs.gid()));
    }
    Ok(())
}

/// Other systems hand rights down from the directory.
#[cfg(not(unix))]
fn owned(_: &File, _: Option<&Metadata>, _: &Path) -> Result<(), String> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).expect("ours").flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_somebody_else_wrote_meanwhile_is_not_lost() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let path = temp.path().join("file");
        fs::write(&path, "old").expect("ours");
        let found = look(&path, None).expect("it is there");
        fs::write(&path, "theirs").expect("ours");
        assert!(found.replace(b"new").expect_err("it was changed").contains("somebody else"));
        assert_eq!(fs::read(&path).expect("it is there"), b"theirs");
        assert_eq!(names(temp.path()), ["file"], "neither a copy nor a new file is left");

        let new = temp.path().join("new");
        let found = look(&new, None).expect("it may be missing");
        fs::write(&new, "theirs").expect("ours");
        found.replace(b"ours").expect_err("it has come");
        assert_eq!(fs::read(&new).expect("it is there"), b"theirs");
        assert_eq!(names(temp.path()), ["file", "new"]);
    }

    #[test]
    fn the_copy_is_what_the_file_said_before_the_last_change() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let path = temp.path().join("a").join("b").join("file");
        let replace =
            |bytes: &[u8]| look(&path, None).expect("it can be looked at").replace(bytes).expect("it is ours");
        assert_eq!(replace(b"1"), None);
        let copy = temp.path().join("a").join("b").join("file.bulkhead-backup");
        for (old, new) in [(b"1", b"2"), (b"2", b"3")] {
            assert_eq!(replace(new), Some(copy.clone()));
            assert_eq!(
                (fs::read(&copy).expect("a copy"), fs::read(&path).expect("a file")),
                (old.to_vec(), new.to_vec())
            );
        }
        assert_eq!(names(copy.parent().expect("it has one")), ["file", "file.bulkhead-backup"]);
    }
}
