//! Files of a git directory that are read whole or not at all: who acts on a part of one acts on what nobody wrote.
//! Trust: anybody's files; links are not followed, and what is no regular file is not opened, since it would be waited for.

use std::{
    fs::{File, Metadata},
    io::{ErrorKind, Read as _},
    path::Path,
};

/// Why a file that is there was not read, as the end of a sentence that begins with its name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unread {
    /// It has more bytes than this.
    #[error("longer than {0} bytes")]
    Long(u64),
    /// A link, a directory, a pipe, a device.
    #[error("no regular file")]
    Irregular,
    /// The operating system refused, and why.
    #[error("unreadable ({0})")]
    Failed(String),
}

/// All bytes of a regular file that has at most so many; `None` where nothing is there.
pub(crate) fn bytes(path: &Path, most: u64) -> Result<Option<Vec<u8>>, Unread> {
    let Some(found) = there(path)? else { return Ok(None) };
    if !found.is_file() {
        return Err(Unread::Irregular);
    }
    if found.len() > most {
        return Err(Unread::Long(most));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(found.len() + 1).unwrap_or_default());
    // it may have grown, or be gone, since it was looked at
    match File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes)) {
        Ok(_) if bytes.len() as u64 > most => Err(Unread::Long(most)),
        Ok(_) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Unread::Failed(error.to_string())),
    }
}

/// The same as text; bytes that are no UTF-8 are replaced.
pub(crate) fn whole(path: &Path, most: u64) -> Result<Option<String>, Unread> {
    bytes(path, most).map(|bytes| bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// What stands under a name; a link is what it is itself.
pub(crate) fn there(path: &Path) -> Result<Option<Metadata>, Unread> {
    match path.symlink_metadata() {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(Unread::Failed(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_whole_or_not_at_all() {
        let keep = tempfile::tempdir().expect("a directory");
        let file = keep.path().join("file");
        assert_eq!(whole(&file, 4), Ok(None));
        assert_eq!(whole(&file.join("beneath"), 4), Ok(None));
        std::fs::write(&file, "1234").expect("ours");
        assert_eq!(whole(&file, 4), Ok(Some("1234".to_owned())));
        assert_eq!(whole(&file.join("beneath"), 4), Ok(None), "beneath a file there is nothing");
        assert_eq!(whole(&file, 3), Err(Unread::Long(3)));
        assert_eq!(whole(keep.path(), 4), Err(Unread::Irregular));
        #[cfg(unix)]
        {
            let link = keep.path().join("link");
            std::os::unix::fs::symlink(&file, &link).expect("links are possible here");
            assert_eq!(whole(&link, 4), Err(Unread::Irregular));
        }
    }
}
