//! Fingerprints of arguments and paths: keyed, so that whoever reads a ledger cannot try out what stood there.
//! Trust: digests come from the supervisor and may be of anything; the key never leaves this process.

use sha2::{Digest as _, Sha256};
use std::fmt::{self, Write as _};
use zeroize::Zeroizing;

/// Bytes of one block of SHA-256.
const BLOCK: usize = 64;

/// The key of one installation. Wiped when dropped.
pub struct FingerprintKey(Box<Zeroizing<[u8; 32]>>);

impl FingerprintKey {
    /// The key of exactly 32 bytes; `None` for another length.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut key = Box::new(Zeroizing::new([0; 32]));
        if bytes.len() != key.len() {
            return None;
        }
        key.copy_from_slice(bytes);
        Some(Self(key))
    }

    /// Its memory, to be kept to this process.
    #[must_use]
    pub fn secret(&self) -> &[u8; 32] {
        &self.0
    }

    /// The short name of this key: 16 hex digits of a hash of it.
    #[must_use]
    pub fn id(&self) -> String {
        let hash = Sha256::new().chain_update(b"bulkhead-fingerprint-key-v1\0").chain_update(&self.0[..]).finalize();
        hex(&hash[..8])
    }

    /// `hmac-sha256:` and 64 hex digits, over a digest.
    #[must_use]
    pub fn label(&self, digest: &[u8; 32]) -> String {
        format!("hmac-sha256:{}", hex(&hmac(&self.0[..], digest)))
    }
}

impl fmt::Debug for FingerprintKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "FingerprintKey({})", self.id())
    }
}

/// The contract's label, `sha256:` and 64 hex digits, of a digest as it is.
#[must_use]
pub fn unkeyed(digest: &[u8; 32]) -> String {
    format!("sha256:{}", hex(digest))
}

/// HMAC-SHA256 (RFC 2104); `key` is at most one block long.
fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    debug_assert!(key.len() <= BLOCK);
    let padded = |with: u8| {
        let mut block = Zeroizing::new([with; BLOCK]);
        block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        block
    };
    let inner = Sha256::new().chain_update(&padded(0x36)[..]).chain_update(message).finalize();
    Sha256::new().chain_update(&padded(0x5c)[..]).chain_update(inner).finalize().into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_is_the_rfcs() {
        // RFC 4231, test cases 1 and 2
        let one = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
        assert_eq!(hex(&hmac(&[0x0b; 20], b"Hi There")), one);
        let two = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(hex(&hmac(b"Jefe", b"what do ya want for nothing?")), two);
    }

    #[test]
    fn a_key_has_32_bytes_and_shows_only_its_name() {
        assert!(FingerprintKey::read(&[7; 31]).is_none() && FingerprintKey::read(&[7; 33]).is_none());
        let key = FingerprintKey::read(&[7; 32]).expect("32 bytes");
        let other = FingerprintKey::read(&[8; 32]).expect("32 bytes");
        assert_eq!(format!("{key:?}"), format!("FingerprintKey({})", key.id()));
        assert_eq!(key.id().len(), 16);
        assert_ne!(key.label(&[1; 32]), other.label(&[1; 32]));
        assert_ne!(key.label(&[1; 32]), unkeyed(&[1; 32]));
    }
}
