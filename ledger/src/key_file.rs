//! The signing key's file: what must hold of it before a byte of it is believed.
//! Trust: the file may be a trap (a link, a FIFO, another user's); facts are judged on the opened descriptor.

use crate::{
    key::{KeyError, PrivateKey},
    limits::MAX_KEY_FILE,
};
use std::{
    io::{self, Read as _},
    path::Path,
};
use thiserror::Error;
use zeroize::Zeroizing;

/// What is known of a key file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyFileFacts {
    /// The path's last part is a symbolic link.
    pub is_link: bool,
    /// A directory above it is a symbolic link.
    pub below_link: bool,
    /// A regular file.
    pub is_regular: bool,
    /// Names of the file; a second one may lie where others can read it.
    pub links: u64,
    /// Permission bits.
    pub mode: u32,
    /// Owned by the user that the process runs as.
    pub is_own: bool,
    /// Bytes.
    pub length: u64,
}

/// Why a key file is not used.
#[derive(Debug, Error)]
pub enum KeyFileError {
    /// The path is a symbolic link.
    #[error("the key file is a symbolic link")]
    Link,
    /// A directory above is a symbolic link.
    #[error("a directory above the key file is a symbolic link")]
    BelowLink,
    /// A directory, a FIFO, a device.
    #[error("the key file is not a regular file")]
    NotRegular,
    /// The file has a second name.
    #[error("the key file has {0} names; it must have one")]
    Links(u64),
    /// Somebody else's file.
    #[error("the key file belongs to another user")]
    NotOwn,
    /// Group or others may use it.
    #[error("the key file's mode is {0:o}; group and others must have no right to it")]
    Mode(u32),
    /// Empty, or beyond [`MAX_KEY_FILE`].
    #[error("the key file has {0} bytes; 1 to {MAX_KEY_FILE} are allowed")]
    Length(u64),
    /// The text is not UTF-8.
    #[error("the key file is not UTF-8")]
    Encoding,
    /// The text is not a usable key.
    #[error("the key file holds no usable key: {0}")]
    Key(#[from] KeyError),
    /// It could not be opened or read.
    #[error("the key file cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// Judges the facts; the contract's rules, and the owner.
///
/// # Errors
/// The first rule that is broken.
pub fn check(facts: &KeyFileFacts) -> Result<(), KeyFileError> {
    if facts.is_link {
        Err(KeyFileError::Link)
    } else if facts.below_link {
        Err(KeyFileError::BelowLink)
    } else if !facts.is_regular {
        Err(KeyFileError::NotRegular)
    } else if facts.links != 1 {
        Err(KeyFileError::Links(facts.links))
    } else if !facts.is_own {
        Err(KeyFileError::NotOwn)
    } else if facts.mode & 0o077 != 0 {
        Err(KeyFileError::Mode(facts.mode & 0o7777))
    } else if !(1..=MAX_KEY_FILE).contains(&facts.length) {
        Err(KeyFileError::Length(facts.length))
    } else {
        Ok(())
    }
}

/// The key in the text of a key file.
///
/// # Errors
/// [`KeyFileError::Length`], [`KeyFileError::Encoding`] or [`KeyFileError::Key`].
pub fn parse(bytes: &[u8]) -> Result<PrivateKey, KeyFileError> {
    if bytes.is_empty() || bytes.len() as u64 > MAX_KEY_FILE {
        return Err(KeyFileError::Length(bytes.len() as u64));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| KeyFileError::Encoding)?;
    Ok(PrivateKey::from_pem(text)?)
}

/// Opens, judges and reads a key file and takes the key from it, and wipes its text; for a process that may still open
/// paths.
///
/// # Errors
/// [`KeyFileError`].
pub fn load(path: &Path) -> Result<PrivateKey, KeyFileError> {
    parse(&read(path)?)
}

/// The bytes of a file that holds a secret, judged as [`check`] says, wiped when dropped.
///
/// # Errors
/// [`KeyFileError`], except those about the content.
#[cfg(unix)]
pub fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, KeyFileError> {
    use std::os::unix::fs::MetadataExt as _;

    let named = std::fs::symlink_metadata(path)?;
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut facts = KeyFileFacts {
        is_link: named.is_symlink(),
        below_link: std::path::absolute(above)?.ancestors().any(Path::is_symlink),
        is_regular: named.is_file(),
        links: named.nlink(),
        mode: named.mode(),
        is_own: named.uid() == nix::unistd::geteuid().as_raw(),
        length: named.len(),
    };
    check(&facts)?;
    let file = crate::platform::open_reading(path, true)?;
    let opened = file.metadata()?;
    // judged again on what was opened: the name may have been exchanged in between
    facts.is_regular = opened.is_file();
    facts.links = opened.nlink();
    facts.mode = opened.mode();
    facts.is_own = opened.uid() == nix::unistd::geteuid().as_raw();
    facts.length = opened.len();
    check(&facts)?;
    whole(file)
}

/// The bytes of a file that holds a secret, wiped when dropped. Of its rights this system says nothing that could be judged.
///
/// # Errors
/// [`KeyFileError`], except those about the content.
#[cfg(not(unix))]
pub fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, KeyFileError> {
    let named = std::fs::symlink_metadata(path)?;
    let facts = KeyFileFacts {
        is_link: named.is_symlink(),
        below_link: false,
        is_regular: named.is_file(),
        links: 1,
        mode: 0o600,
        is_own: true,
        length: named.len(),
    };
    check(&facts)?;
    whole(crate::platform::open_reading(path, true)?)
}

fn whole(file: std::fs::File) -> Result<Zeroizing<Vec<u8>>, KeyFileError> {
    // as large as it can get, so that growing never leaves a copy behind
    let mut text = Zeroizing::new(Vec::with_capacity(MAX_KEY_FILE as usize + 1));
    file.take(MAX_KEY_FILE + 1).read_to_end(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: KeyFileFacts = KeyFileFacts {
        is_link: false,
        below_link: false,
        is_regular: true,
        links: 1,
        mode: 0o100_600,
        is_own: true,
        length: 119,
    };

    #[test]
    fn each_rule_refuses_alone() {
        assert!(check(&GOOD).is_ok());
        assert!(check(&KeyFileFacts { mode: 0o100_400, ..GOOD }).is_ok());
        let refused = |facts: KeyFileFacts| check(&facts).expect_err("refused");
        assert!(matches!(refused(KeyFileFacts { is_link: true, ..GOOD }), KeyFileError::Link));
        assert!(matches!(refused(KeyFileFacts { below_link: true, ..GOOD }), KeyFileError::BelowLink));
        assert!(matches!(refused(KeyFileFacts { is_regular: false, ..GOOD }), KeyFileError::NotRegular));
        assert!(matches!(refused(KeyFileFacts { links: 2, ..GOOD }), KeyFileError::Links(2)));
        assert!(matches!(refused(KeyFileFacts { is_own: false, ..GOOD }), KeyFileError::NotOwn));
        for mode in [0o640, 0o604, 0o610, 0o601] {
            assert!(matches!(refused(KeyFileFacts { mode, ..GOOD }), KeyFileError::Mode(_)), "{mode:o}");
        }
        assert!(matches!(refused(KeyFileFacts { length: 0, ..GOOD }), KeyFileError::Length(0)));
        assert!(matches!(refused(KeyFileFacts { length: 65_537, ..GOOD }), KeyFileError::Length(65_537)));
        assert!(matches!(parse(b"\xff").expect_err("refused"), KeyFileError::Encoding));
        assert!(matches!(parse(b"").expect_err("refused"), KeyFileError::Length(0)));
    }

    #[cfg(unix)]
    #[test]
    fn a_key_is_loaded_from_a_private_file_and_from_nothing_else() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let base = tempfile::tempdir().expect("a directory");
        let at = base.path().canonicalize().expect("it exists");
        let file = at.join("key.pem");
        std::fs::write(&file, include_str!("../tests/vectors/test-signing-key.pem")).expect("written");
        let mode = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("changed");
        mode(0o600);
        assert_eq!(load(&file).expect("the key").public().id().to_string(), "ff1b5ee3e75ed7a1");
        symlink(&file, at.join("link.pem")).expect("linked");
        assert!(matches!(load(&at.join("link.pem")).expect_err("refused"), KeyFileError::Link));
        symlink(&at, at.join("link")).expect("linked");
        assert!(matches!(load(&at.join("link/key.pem")).expect_err("refused"), KeyFileError::BelowLink));
        assert!(matches!(load(&at).expect_err("refused"), KeyFileError::NotRegular));
        assert!(matches!(load(&at.join("none")).expect_err("refused"), KeyFileError::Io(_)));
        mode(0o644);
        assert!(matches!(load(&file).expect_err("refused"), KeyFileError::Mode(0o644)));
        mode(0o600);
        std::fs::hard_link(&file, at.join("second")).expect("linked");
        assert!(matches!(load(&file).expect_err("refused"), KeyFileError::Links(2)));
    }
}
