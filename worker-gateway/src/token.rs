//! The token: read before the jail, kept out of swap, wiped at the end; what it proves is in `proof`.
//! Trust: the file is judged before a byte of it is believed; what does not hold is refused by name, never done without.

use bulkhead_ledger::key_file::{self, KeyFileError};
use bulkhead_sandbox::secret;
use std::{fmt, path::Path};
use zeroize::Zeroizing;

/// Bytes of a token at least. Whoever listens at the address sees proofs made with it, and could try out a shorter one.
pub const LEAST: usize = 32;
/// Bytes of a token at most.
pub const MOST: usize = 1_024;

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// Its file is not used.
    #[error("{why}; put the token into a regular file of your own with mode 600, and name that")]
    File {
        /// Why.
        why: KeyFileError,
    },
    /// It has another length.
    #[error(
        "the token has {0} bytes; {LEAST} to {MOST} are allowed: `head -c 32 /dev/urandom | base64` prints a good one, \
             which both sides must have"
    )]
    Length(usize),
}

/// What both sides know.
pub struct Token {
    bytes: Box<Zeroizing<Vec<u8>>>,
    /// Its memory is kept out of swap and dumps.
    pub locked: bool,
}

impl Token {
    /// Loads it; white space around it does not belong to it.
    ///
    /// # Errors
    /// [`TokenError`].
    pub fn load(path: &Path) -> Result<Self, TokenError> {
        let mut token = Self::from_file(path)?;
        // reading it and moving it to its place left copies there
        token.locked &= secret::wipe_and_keep_stack();
        Ok(token)
    }

    #[inline(never)]
    fn from_file(path: &Path) -> Result<Self, TokenError> {
        let text = key_file::read(path).map_err(|why| TokenError::File { why })?;
        Self::read(text.trim_ascii())
    }

    /// The token of these bytes.
    ///
    /// # Errors
    /// [`TokenError::Length`].
    pub fn read(bytes: &[u8]) -> Result<Self, TokenError> {
        if !(LEAST..=MOST).contains(&bytes.len()) {
            return Err(TokenError::Length(bytes.len()));
        }
        let bytes = Box::new(Zeroizing::new(bytes.to_vec()));
        let locked = secret::keep(&bytes);
        Ok(Self { bytes, locked })
    }

    /// Its bytes.
    pub fn secret(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_long_enough_and_shows_nothing() {
        assert!(matches!(Token::read(&[7; LEAST - 1]), Err(TokenError::Length(31))));
        assert!(matches!(Token::read(&[7; MOST + 1]), Err(TokenError::Length(1_025))));
        let token = Token::read(&[b'k'; LEAST]).expect("long enough");
        assert_eq!(format!("{token:?}"), "Token");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn of_a_loaded_token_there_is_one_copy_in_memory_also_after_proofs() {
        use crate::proof;
        use bulkhead_sandbox::secret::copies::places;
        use std::os::unix::fs::PermissionsExt as _;
        let keep = tempfile::tempdir().expect("a directory");
        let file = keep.path().canonicalize().expect("it is there").join("token");
        // bytes that stand nowhere else, made so that this test holds them in no other form
        let random = || std::fs::read("/proc/sys/kernel/random/uuid").expect("Linux");
        std::fs::write(&file, [random(), random()].concat()).expect("own");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("own");
        let token = Token::load(&file).expect("fine");
        let inverted: Vec<u8> = token.secret().iter().take(LEAST).map(|byte| !byte).collect();
        let with = |pad: u8| inverted.iter().map(|byte| byte ^ pad).collect::<Vec<u8>>();
        let own = token.secret().as_ptr().addr() as u64;
        // the test's own file buffers are not the product's
        let before = places(&inverted);
        assert!(before.contains(&own));
        let nonce = [7; 16];
        let proofs = [
            proof::of_hello(token.secret(), &nonce),
            proof::of_request(token.secret(), &nonce, "POST", proof::HELLO, b"{}"),
            proof::of_answer(token.secret(), &nonce, 200, proof::HELLO, b"{}"),
        ];
        assert!(proofs.iter().all(|mac| mac != &[0; 32]));
        // memory that was given back is used again
        let left: Vec<u64> = places(&inverted).into_iter().filter(|at| !before.contains(at)).collect();
        assert!(left.is_empty(), "a proof left the token at {left:x?}");
        assert!(places(&with(0x36)).is_empty(), "a proof left the inner key");
        assert!(places(&with(0x5c)).is_empty(), "a proof left the outer key");
        let copy = token.secret().to_vec();
        assert!(places(&inverted).contains(&(copy.as_ptr().addr() as u64)), "a copy would be seen");
        drop(Zeroizing::new(copy));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_a_link_and_a_directory_are_refused() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let keep = tempfile::tempdir().expect("a directory");
        let base = keep.path().canonicalize().expect("it is there");
        let (file, link) = (base.join("token"), base.join("link"));
        std::fs::write(&file, format!("  {}\n", "t".repeat(40))).expect("own");
        symlink(&file, &link).expect("own");
        let mode = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("own");
        let refusal = |path: &Path| Token::load(path).map(drop).map_err(|e| e.to_string()).expect_err("refused");
        mode(0o640);
        assert!(refusal(&file).contains("640"), "{}", refusal(&file));
        mode(0o600);
        assert_eq!(Token::load(&file).expect("fine").secret(), "t".repeat(40).as_bytes());
        assert!(refusal(&link).contains("link") && refusal(&base).contains("regular file"));
        assert!(refusal(&base.join("none")).contains("cannot be read"));
        std::fs::write(&file, "short\n").expect("own");
        assert!(refusal(&file).contains("5 bytes") && refusal(&file).contains("head -c 32"));
    }
}
