//! UUIDs as the format writes them: lower case, hyphenated; made from random bytes that the caller brings.
//! Trust: texts may be anybody's; only the canonical form is read.

use crate::hash::hex;
use std::fmt;

/// A UUID.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid([u8; 16]);

/// Where the hyphens stand.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

impl Uuid {
    /// A version 4 UUID of 16 random bytes, of which six bits give way to version and variant.
    #[must_use]
    pub fn v4(mut random: [u8; 16]) -> Self {
        random[6] = random[6] & 0x0f | 0x40;
        random[8] = random[8] & 0x3f | 0x80;
        Self(random)
    }

    /// Reads the canonical text; `None` for upper case, braces, no hyphens or anything else.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        if text.len() != 36 || !text.is_ascii() || HYPHENS.iter().any(|at| text.as_bytes()[*at] != b'-') {
            return None;
        }
        crate::hash::from_hex(&text.replace('-', "")).map(Self)
    }

    /// Whether version and variant are those of a random UUID.
    #[must_use]
    pub fn is_v4(&self) -> bool {
        self.0[6] >> 4 == 4 && self.0[8] >> 6 == 2
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = hex(&self.0);
        write!(out, "{}-{}-{}-{}-{}", &digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..])
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_form_is_read() {
        let uuid = Uuid::v4([0xff; 16]);
        assert_eq!(uuid.to_string(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert!(uuid.is_v4());
        assert_eq!(Uuid::read(&uuid.to_string()), Some(uuid));
        assert!(!Uuid::read("11111111-2222-1333-8444-555555555555").expect("canonical").is_v4());
        assert!(!Uuid::read("11111111-2222-4333-c444-555555555555").expect("canonical").is_v4());
        for other in [
            "FFFFFFFF-ffff-4fff-bfff-ffffffffffff",
            "{ffffffff-ffff-4fff-bfff-ffffffffffff}",
            "ffffffffffff4fffbfffffffffffffff",
            "ffffffff-ffff-4fff-bfff-fffffffffff-",
            "fffffff--ffff-4fff-bfff-ffffffffffff",
            "",
        ] {
            assert_eq!(Uuid::read(other), None, "{other}");
        }
    }
}
