//! Putting back what stood: whatever stands there instead is moved aside, which works on anything and loses nothing.
//! Trust: what is moved was made by whoever wants it to stay; each step that fails is told, and none keeps others from being taken.

use super::look::{Identity, Stood, identity};
use crate::clear;
use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// How long an older one may take to be deleted, where there are as many as are kept.
const PATIENCE: Duration = Duration::from_secs(1);
/// How many such directories are kept.
const NAMES: usize = 20;
/// Entries of a directory in which something that was moved away is looked for.
const MAX_LOOKED: usize = 10_000;

/// A directory for what stands where it must not.
pub(super) struct Aside {
    directory: PathBuf,
    made: bool,
    moved: usize,
    /// What could not be done, a sentence each.
    pub(super) faults: Vec<String>,
}

impl Aside {
    /// Beneath this directory, made when it is needed.
    pub(super) fn beneath(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), made: false, moved: 0, faults: Vec::new() }
    }

    /// Puts back what stood under a name, or nothing.
    pub(super) fn put_back(&mut self, path: &Path, stood: Option<&Stood>) {
        let done = self.replace(path, stood);
        self.note(path, done);
    }

    /// Moves away what stands under a name, or notes why not.
    pub(super) fn clear_away(&mut self, path: &Path) {
        let taken = self.take(path);
        self.note(path, taken);
    }

    fn note(&mut self, path: &Path, done: io::Result<()>) {
        if let Err(error) = done {
            self.faults.push(format!("{}: {error}", path.display()));
        }
    }

    fn replace(&mut self, path: &Path, stood: Option<&Stood>) -> io::Result<()> {
        let now = path.symlink_metadata().ok();
        if let (Some(now), Some(Stood::Directory { mode })) = (&now, stood)
            && now.is_dir()
        {
            return fs::set_permissions(path, fs::Permissions::from_mode(*mode));
        }
        if now.is_some() {
            self.take(path)?;
        }
        if let (Some(parent), Some(_)) = (path.parent(), stood) {
            fs::create_dir_all(parent)?;
        }
        match stood {
            None => Ok(()),
            Some(Stood::File { bytes, mode }) => write(path, bytes, *mode),
            Some(Stood::Link(target)) => symlink(target, path),
            Some(Stood::Directory { mode }) => {
                fs::create_dir(path)?;
                fs::set_permissions(path, fs::Permissions::from_mode(*mode))
            }
            Some(Stood::Unread(..)) => Err(io::Error::other("what stood there could not be read, so it was not kept")),
        }
    }

    /// Moves away what stands under a name.
    fn take(&mut self, path: &Path) -> io::Result<()> {
        if !self.made {
            self.directory = free(&self.directory)?;
            self.made = true;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let to = self.directory.join(format!("{}-{name}", self.moved));
        self.moved += 1;
        fs::rename(path, to)
    }

    /// Moves back what once was this and stands elsewhere now, if it is in one of these directories.
    pub(super) fn find(&mut self, path: &Path, which: Identity, among: &[&Path]) {
        let is_it = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| identity(&found) == which);
        let entries = among.iter().flat_map(|directory| {
            fs::read_dir(directory).into_iter().flatten().flatten().take(MAX_LOOKED).map(|entry| entry.path())
        });
        let Some(found) = entries.into_iter().find(is_it) else {
            self.faults.push(format!("{}: it was moved away, and is not where it was looked for", path.display()));
            return;
        };
        let out_of_the_way = if path.symlink_metadata().is_ok() { self.take(path) } else { Ok(()) };
        self.note(path, out_of_the_way.and_then(|()| fs::rename(&found, path)));
    }

    /// What became of it, in sentences. What was moved aside is kept: it may be a person's, who changed it at the same time.
    pub(super) fn told(self) -> String {
        let mut said = match self.faults.is_empty() {
            true => "All of it was put back.".to_owned(),
            false => format!("It could not all be put back: {}.", self.faults.join("; ")),
        };
        if self.made {
            said.push_str(&format!(" What stood there instead is in {}.", self.directory.display()));
        }
        said
    }
}

/// Makes a directory for what is moved aside; where there are as many as are kept, the oldest makes room.
fn free(base: &Path) -> io::Result<PathBuf> {
    let names: Vec<_> = (0..NAMES).map(|number| base.join(format!("bulkhead-aside-{number}"))).collect();
    let make = |directory: &PathBuf| fs::DirBuilder::new().mode(0o700).create(directory);
    for directory in &names {
        match make(directory) {
            Ok(()) => return Ok(directory.clone()),
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Err(_) => {}
        }
    }
    let age = |path: &&PathBuf| path.symlink_metadata().and_then(|found| found.modified()).ok();
    let oldest = names.iter().min_by_key(age).ok_or(io::ErrorKind::AlreadyExists)?;
    clear::directory(oldest, Instant::now() + PATIENCE)?;
    make(oldest).map(|()| oldest.clone())
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    io::Write::write_all(&mut file, bytes)?;
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    file.sync_all()
}
