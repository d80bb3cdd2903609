//! The two keys: one signs entries, one keys fingerprints. Loaded before the jail, kept out of swap, wiped at the end.
//! Trust: key files are judged before a byte of them is believed; what does not hold is refused by name, never done without.

use crate::fingerprint::FingerprintKey;
use bulkhead_ipc::edge::audit::Init;
use bulkhead_ledger::{
    append::{
        Directory as _,
        disk::{self, DiskDirectory, PlaceError},
    },
    key::{KeyError, PrivateKey, PublicKey},
    key_file::{self, KeyFileError},
};
use bulkhead_sandbox::secret;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};
use thiserror::Error;
use zeroize::Zeroizing;

/// How long another process may take to make the key of fingerprints.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why there are no keys.
#[derive(Debug, Error)]
pub enum KeysError {
    /// The ledger cannot lie where it should.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The signing key is not used.
    #[error("{path}: {why}", path = path.display())]
    File {
        /// Its file.
        path: PathBuf,
        /// Why.
        why: KeyFileError,
    },
    /// The key of fingerprints has another length.
    #[error("{} does not hold 32 bytes", .0.display())]
    Fingerprint(PathBuf),
    /// A key cannot be made.
    #[error("{path} cannot be made: {why}", path = path.display())]
    Made {
        /// Its file.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// A key cannot be written as text.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Another process holds the lock.
    #[error("another process holds the ledger's lock")]
    Locked,
}

/// What signs and what keys.
#[derive(Debug, Default)]
pub struct Keys {
    /// `None` writes an unsigned ledger.
    pub sign: Option<PrivateKey>,
    /// `None` writes the contract's fingerprints.
    pub fingerprint: Option<FingerprintKey>,
    /// Their memory, and the stack on which they are used, is kept out of swap and dumps.
    pub locked: bool,
}

/// The file of the signing key that `audit init` makes, beside the ledger.
#[must_use]
pub fn signing_key(ledger: &Path) -> PathBuf {
    beside(ledger, ".signing-key.pem")
}

/// The file of its public half.
#[must_use]
pub fn public_key(ledger: &Path) -> PathBuf {
    beside(ledger, ".public-key.pem")
}

fn fingerprint_key(ledger: &Path) -> PathBuf {
    beside(ledger, ".fingerprint-key")
}

fn beside(ledger: &Path, what: &str) -> PathBuf {
    let mut name = ledger.file_name().unwrap_or_default().to_owned();
    name.push(what);
    ledger.with_file_name(name)
}

impl Keys {
    /// Loads what `init` names for the ledger at `ledger`; the key of fingerprints is made where there is none.
    ///
    /// # Errors
    /// [`KeysError`]. A key that is there and cannot be used is an error, never a ledger without it.
    pub fn load(init: &Init, ledger: &Path, named: Option<&Path>) -> Result<Self, KeysError> {
        let mut keys = Self::read(init, ledger, named)?;
        let stack = secret::wipe_and_keep_stack();
        let secrets =
            [keys.sign.as_ref().map(PrivateKey::secret), keys.fingerprint.as_ref().map(FingerprintKey::secret)];
        // every one of them, also after one that could not be
        let kept: Vec<bool> = secrets.into_iter().flatten().map(|secret| secret::keep(secret)).collect();
        keys.locked = stack && kept.iter().all(|kept| *kept);
        Ok(keys)
    }

    #[inline(never)]
    fn read(init: &Init, ledger: &Path, named: Option<&Path>) -> Result<Self, KeysError> {
        let mut directory = disk::open_directory(ledger)?;
        let own = signing_key(ledger);
        let path = named.or_else(|| own.symlink_metadata().is_ok().then_some(own.as_path()));
        let load = |path: &Path| key_file::load(path).map_err(|why| KeysError::File { path: path.to_owned(), why });
        let sign = path.map(load).transpose()?;
        let fingerprint = if init.compat { None } else { Some(fingerprint(&mut directory, &fingerprint_key(ledger))?) };
        Ok(Self { sign, fingerprint, locked: false })
    }
}

/// The key of fingerprints; two servers that start at once agree on one by the ledger's lock.
fn fingerprint(directory: &mut DiskDirectory, path: &Path) -> Result<FingerprintKey, KeysError> {
    if path.symlink_metadata().is_err() {
        let until = Instant::now() + PATIENCE;
        let made = |why| KeysError::Made { path: path.to_owned(), why };
        while !directory.try_lock().map_err(made)? {
            if Instant::now() > until {
                return Err(KeysError::Locked);
            }
            thread::sleep(Duration::from_millis(1));
        }
        let answer =
            if path.symlink_metadata().is_err() { random().and_then(|key| write(path, &key[..])) } else { Ok(()) };
        directory.unlock().map_err(made)?;
        answer.map_err(made)?;
    }
    let bytes = key_file::read(path).map_err(|why| KeysError::File { path: path.to_owned(), why })?;
    FingerprintKey::read(&bytes).ok_or_else(|| KeysError::Fingerprint(path.to_owned()))
}

fn random() -> io::Result<Zeroizing<[u8; 32]>> {
    let mut key = Zeroizing::new([0; 32]);
    getrandom::fill(&mut key[..]).map_err(|_| io::Error::other("the system has no random numbers"))?;
    Ok(key)
}

/// Writes a file for the owner alone, which appears under its name when it is whole.
fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let unfinished = beside(path, ".unfinished");
    match fs::remove_file(&unfinished) {
        Err(fault) if fault.kind() != io::ErrorKind::NotFound => return Err(fault),
        _ => {}
    }
    let mut file = private(&unfinished)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&unfinished, path)?;
    sync_directory(path)
}

/// A key that was spoken of must be there after a crash, too.
#[cfg(unix)]
fn sync_directory(of: &Path) -> io::Result<()> {
    of.parent().map_or(Ok(()), |directory| File::open(directory)?.sync_all())
}

/// Directories cannot be synced here; the file system's own journal must do.
#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// What `audit init` did.
#[derive(Debug)]
pub struct Made {
    /// The file of the signing key.
    pub key: PathBuf,
    /// The file of its public half.
    pub public: PathBuf,
    /// The public half.
    pub id: String,
    /// False where the key was there already; nothing was changed then.
    pub is_new: bool,
}

/// Makes the signing key of the ledger at `ledger`, once; from then on entries are signed. The ledger may be there already.
///
/// # Errors
/// [`KeysError`].
pub fn init(ledger: &Path) -> Result<Made, KeysError> {
    let _directory = disk::open_directory(ledger)?;
    let (key, public) = (signing_key(ledger), public_key(ledger));
    let is_new = key.symlink_metadata().is_err();
    if is_new {
        let made = |why| KeysError::Made { path: key.clone(), why };
        let fresh = PrivateKey::from_seed(&random().map_err(made)?);
        write(&key, fresh.to_pem()?.as_bytes()).map_err(made)?;
        drop(fresh);
    }
    let half: PublicKey = key_file::load(&key).map_err(|why| KeysError::File { path: key.clone(), why })?.public();
    write(&public, half.to_pem()?.as_bytes()).map_err(|why| KeysError::Made { path: public.clone(), why })?;
    secret::wipe_stack();
    Ok(Made { key, public, id: half.id().to_string(), is_new })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_contract::isolation::Demand;

    fn init_of(compat: bool) -> Init {
        Init { demand: Demand::Off, ledger: None, sign_key: None, compat, memory: 0 }
    }

    #[test]
    fn keys_are_made_once_and_found_again() {
        let keep = tempfile::tempdir().expect("a directory");
        let ledger = keep.path().canonicalize().expect("it is there").join("audit/mcp.jsonl");
        let first = Keys::load(&init_of(false), &ledger, None).expect("keys");
        assert!(first.sign.is_none(), "nothing signs before `audit init`");
        let made = init(&ledger).expect("a key");
        let again = init(&ledger).expect("the same key");
        assert!(made.is_new && !again.is_new && made.id == again.id);
        let second = Keys::load(&init_of(false), &ledger, None).expect("keys");
        let id = |keys: &Keys| keys.fingerprint.as_ref().map(FingerprintKey::id);
        assert!(id(&first).is_some() && id(&first) == id(&second));
        assert_eq!(second.sign.map(|key| key.public().id().to_string()), Some(made.id));
        let compat = Keys::load(&init_of(true), &ledger, Some(&made.key)).expect("keys");
        assert!(compat.fingerprint.is_none() && compat.sign.is_some());
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_cannot_be_trusted_is_refused_and_not_done_without() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let keep = tempfile::tempdir().expect("a directory");
        let base = keep.path().canonicalize().expect("it is there");
        let ledger = base.join("audit/mcp.jsonl");
        let made = init(&ledger).expect("a key");
        let load =
            |named: Option<&Path>| Keys::load(&init_of(false), &ledger, named).map(drop).map_err(|e| e.to_string());
        let link = base.join("link.pem");
        symlink(&made.key, &link).expect("a link");
        fs::write(base.join("empty.pem"), "").expect("a file");
        fs::set_permissions(base.join("empty.pem"), fs::Permissions::from_mode(0o600)).expect("own");
        for (path, word) in [("link.pem", "link"), ("empty.pem", "bytes"), ("none.pem", "read")] {
            let refusal = load(Some(&base.join(path))).expect_err(path);
            assert!(refusal.contains(path) && refusal.contains(word), "{refusal}");
        }
        fs::set_permissions(&made.key, fs::Permissions::from_mode(0o644)).expect("own");
        assert!(load(None).expect_err("readable by all").contains("644"));
        fs::remove_file(&made.key).expect("own");
        load(None).expect("unsigned without it");
        fs::write(fingerprint_key(&ledger), "short").expect("own");
        assert!(load(None).expect_err("a short key").contains("32 bytes"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn of_a_loaded_key_there_is_one_copy_in_memory() {
        use bulkhead_sandbox::secret::copies;
        let keep = tempfile::tempdir().expect("a directory");
        let ledger = keep.path().canonicalize().expect("it is there").join("audit/mcp.jsonl");
        init(&ledger).expect("a key");
        let keys = Keys::load(&init_of(false), &ledger, None).expect("keys");
        let (sign, fingerprint) = (keys.sign.as_ref().expect("signs"), keys.fingerprint.as_ref().expect("keyed"));
        for secret in [sign.secret(), fingerprint.secret()] {
            let inverted: Vec<u8> = secret.iter().map(|byte| !byte).collect();
            assert_eq!(copies::places(&inverted), [secret.as_ptr().addr() as u64]);
        }
        // a second one would be seen
        let copy = sign.secret().to_vec();
        let inverted: Vec<u8> = copy.iter().map(|byte| !byte).collect();
        assert_eq!(copies::places(&inverted).len(), 2);
        drop(Zeroizing::new(copy));
        // what computing leaves is not these bytes
        let message = [sign.sign(b"message").to_vec(), fingerprint.label(&[1; 32]).into_bytes()].concat();
        assert!(!message.is_empty());
        assert_eq!(copies::places(&inverted), [sign.secret().as_ptr().addr() as u64]);
    }
}
