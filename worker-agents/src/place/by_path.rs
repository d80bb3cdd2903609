//! The same by paths, for systems without handles on directories. Workers are threads there, and no wall stands either way.
//! Trust: as above; between a look at a name and its use another program may put a link there.

use super::{Closed, Facts, Kind, MAX_NAMES, Name};
use bulkhead_ipc::edge::agents::Stamp;
use std::{
    fs::{File, Metadata},
    io::ErrorKind,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

/// There is no jail to hand anything to.
#[derive(Debug)]
pub struct Handle;

/// A directory that was reached without following a link.
#[derive(Debug)]
pub struct Dir(PathBuf);

impl Dir {
    /// Walks an absolute path, one name after the other.
    ///
    /// # Errors
    /// Where it ends.
    pub fn walk(path: &Path) -> Result<Self, Closed> {
        if !path.is_absolute() {
            return Err(Closed::Refused);
        }
        for part in path.ancestors().filter(|part| part.file_name().is_some()) {
            match of_path(part)?.kind {
                Kind::Directory => {}
                Kind::Link => return Err(Closed::Link),
                Kind::File | Kind::Other => return Err(Closed::Kind),
            }
        }
        Ok(Self(path.to_path_buf()))
    }

    /// Walks an absolute path, and makes what is missing of it.
    ///
    /// # Errors
    /// Where it ends.
    pub fn make(path: &Path) -> Result<Self, Closed> {
        match Self::walk(path) {
            Err(Closed::Absent) => {}
            walked => return walked,
        }
        Self::make(path.parent().ok_or(Closed::Refused)?)?;
        match std::fs::create_dir(path) {
            Err(e) if e.kind() != ErrorKind::AlreadyExists => Err(Closed::Refused),
            _ => Self::walk(path),
        }
    }

    /// What this directory itself is.
    ///
    /// # Errors
    /// The system does not say.
    pub fn own_facts(&self) -> Result<Facts, Closed> {
        of_path(&self.0)
    }

    /// The directory of that name in this one.
    ///
    /// # Errors
    /// There is none.
    pub fn child(&self, name: &[u8]) -> Result<Self, Closed> {
        match self.facts(name)?.kind {
            Kind::Directory => Ok(Self(self.join(name)?)),
            Kind::Link => Err(Closed::Link),
            Kind::File | Kind::Other => Err(Closed::Kind),
        }
    }

    /// The same.
    ///
    /// # Errors
    /// There is none.
    pub fn readable_child(&self, name: &[u8]) -> Result<Self, Closed> {
        self.child(name)
    }

    /// What a name is.
    ///
    /// # Errors
    /// There is no such name, or it is refused.
    pub fn facts(&self, name: &[u8]) -> Result<Facts, Closed> {
        of_path(&self.join(name)?)
    }

    /// What a name in a directory in this one is.
    ///
    /// # Errors
    /// As [`Dir::facts`].
    pub fn facts_in(&self, dir: &[u8], name: &[u8]) -> Result<Facts, Closed> {
        self.child(dir)?.facts(name)
    }

    /// The names in it, at most [`MAX_NAMES`], and whether there are more.
    ///
    /// # Errors
    /// It cannot be listed.
    pub fn names(&self) -> Result<(Vec<Name>, bool), Closed> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.0).map_err(|_| Closed::Refused)? {
            let entry = entry.map_err(|_| Closed::Refused)?;
            if names.len() >= MAX_NAMES {
                return Ok((names, true));
            }
            let bytes = entry.file_name().to_string_lossy().into_owned().into_bytes();
            names.push(Name { bytes, kind: entry.metadata().ok().map(|meta| facts(&meta).kind) });
        }
        Ok((names, false))
    }

    /// A regular file of that name, open to be read, and what it is.
    ///
    /// # Errors
    /// There is none.
    pub fn open(&self, name: &[u8]) -> Result<(File, Facts), Closed> {
        match self.facts(name)?.kind {
            Kind::File => {}
            Kind::Link => return Err(Closed::Link),
            Kind::Directory | Kind::Other => return Err(Closed::Kind),
        }
        let file = File::open(self.join(name)?).map_err(|_| Closed::Refused)?;
        let facts = facts(&file.metadata().map_err(|_| Closed::Refused)?);
        if facts.kind == Kind::File { Ok((file, facts)) } else { Err(Closed::Kind) }
    }

    /// A new file of that name.
    ///
    /// # Errors
    /// There is something of that name, or the system refuses.
    pub fn create(&self, name: &[u8]) -> Result<File, Closed> {
        File::create_new(self.join(name)?).map_err(|_| Closed::Refused)
    }

    /// Gives a file in this directory another name in it, in place of what has that name.
    ///
    /// # Errors
    /// The system refuses.
    pub fn rename(&self, from: &[u8], to: &[u8]) -> Result<(), Closed> {
        std::fs::rename(self.join(from)?, self.join(to)?).map_err(|_| Closed::Refused)
    }

    /// Removes a file.
    ///
    /// # Errors
    /// There is none, or the system refuses.
    pub fn remove(&self, name: &[u8]) -> Result<(), Closed> {
        match std::fs::remove_file(self.join(name)?) {
            Ok(()) => Ok(()),
            Err(e) if e.kind() == ErrorKind::NotFound => Err(Closed::Absent),
            Err(_) => Err(Closed::Refused),
        }
    }

    /// There is no jail to hand anything to.
    ///
    /// # Errors
    /// There is no such file.
    pub fn hold(&self, name: &[u8]) -> Result<Handle, Closed> {
        self.open(name).map(|_| Handle)
    }

    /// There is no jail to hand anything to.
    ///
    /// # Errors
    /// None.
    pub fn handle(&self) -> Result<Handle, Closed> {
        Ok(Handle)
    }

    fn join(&self, name: &[u8]) -> Result<PathBuf, Closed> {
        let name = std::str::from_utf8(name).map_err(|_| Closed::Refused)?;
        if name.is_empty() || name == ".." || name.contains(['/', '\\', ':']) {
            Err(Closed::Refused)
        } else {
            Ok(self.0.join(name))
        }
    }
}

fn of_path(path: &Path) -> Result<Facts, Closed> {
    match path.symlink_metadata() {
        Ok(meta) => Ok(facts(&meta)),
        Err(e) if e.kind() == ErrorKind::NotFound => Err(Closed::Absent),
        Err(_) => Err(Closed::Refused),
    }
}

fn facts(meta: &Metadata) -> Facts {
    let kind = match meta.file_type() {
        it if it.is_symlink() => Kind::Link,
        it if it.is_dir() => Kind::Directory,
        it if it.is_file() => Kind::File,
        _ => Kind::Other,
    };
    let modified = meta.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let modified = modified.and_then(|at| i64::try_from(at.as_nanos()).ok()).unwrap_or(0);
    let created = meta.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let inode = created.and_then(|at| u64::try_from(at.as_nanos()).ok()).unwrap_or(0);
    let stamp = Stamp { file: (0, inode), size: meta.len(), modified, changed: modified, way: 0 };
    Facts { kind, stamp, uid: 0, mode: 0o600 }
}
