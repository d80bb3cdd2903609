//! SHA-256 values and their one text form, `sha256:` and 64 lower-case hex digits; short ids in hex.
//! Trust: texts may be anybody's; only the exact form is read.

use sha2::{Digest, Sha256};
use std::fmt;

/// A SHA-256 value.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hash(pub [u8; 32]);

/// What stands before the digits of an entry's hash.
const LABEL: &str = "sha256:";

impl Hash {
    /// The hash of the bytes of `parts`, one after the other.
    #[must_use]
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// Reads `sha256:<64 hex digits>`; `None` for any other text.
    #[must_use]
    pub fn from_label(text: &str) -> Option<Self> {
        Self::from_hex(text.strip_prefix(LABEL)?)
    }

    /// Reads 64 lower-case hex digits; `None` for any other text.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        from_hex(text).map(Self)
    }

    /// 64 lower-case hex digits.
    #[must_use]
    pub fn hex(&self) -> String {
        hex(&self.0)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{LABEL}{}", self.hex())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Lower-case hex digits of `bytes`.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Exactly `N` bytes from `2 * N` lower-case hex digits.
pub(crate) fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let text = text.as_bytes();
    if text.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
    }
    Some(bytes)
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_label_is_read() {
        let hash = Hash::of(&[b"a", b"bc"]);
        assert_eq!(hash.to_string(), "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(Hash::from_label(&hash.to_string()), Some(hash));
        for other in [hash.hex(), hash.to_string().to_uppercase(), format!("{hash}0"), format!("{hash} ")] {
            assert_eq!(Hash::from_label(&other), None, "{other}");
        }
        assert_eq!(Hash::from_label(&format!("sha256:{}", "A".repeat(64))), None);
    }
}
