//! Repository-relative paths in results: the repository's own bytes, escaped and marked where they are not UTF-8.
//! Trust: the bytes come from hostile repositories; nothing here interprets them.

use bincode::{Decode, Encode};
use serde::Serialize;

/// Says that a sibling path field is not the path's own bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PathEncoding {
    /// Every byte that is not part of valid UTF-8 stands as `\xNN`, and a literal backslash as `\\`.
    Escaped,
}

/// Text form of a path together with its mark (contract `corrections.md`, *Settled values*).
#[must_use]
pub fn text_of(bytes: &[u8]) -> (String, Option<PathEncoding>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), None),
        Err(_) => (escape(bytes), Some(PathEncoding::Escaped)),
    }
}

/// The bytes that [`text_of`] was given, or `None` where `text` holds an escape that it never writes.
#[must_use]
pub fn bytes_of(text: &str, encoding: Option<PathEncoding>) -> Option<Vec<u8>> {
    if encoding.is_none() {
        return Some(text.as_bytes().to_vec());
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if first != b'\\' {
            out.push(first);
            rest = tail;
            continue;
        }
        match tail {
            [b'\\', tail @ ..] => {
                out.push(b'\\');
                rest = tail;
            }
            [b'x', high, low, tail @ ..] => {
                let digit = |d: u8| char::from(d).to_digit(16);
                out.push(u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()?);
                rest = tail;
            }
            _ => return None,
        }
    }
    Some(out)
}

fn escape(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            // a backslash of the path itself must stay distinguishable from one we add
            if c == '\\' {
                out.push('\\');
            }
            out.push(c);
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_text_is_itself_and_unmarked() {
        assert_eq!(text_of("café \\ x".as_bytes()), ("café \\ x".to_owned(), None));
    }

    #[test]
    fn bad_bytes_are_escaped_and_come_back() {
        let raw = b"a\\b\xff\xfe\xc3\xa9";
        let (text, mark) = text_of(raw);
        assert_eq!(text, "a\\\\b\\xFF\\xFEé");
        assert_eq!(mark, Some(PathEncoding::Escaped));
        assert_eq!(bytes_of(&text, mark).as_deref(), Some(&raw[..]));
    }

    #[test]
    fn foreign_escapes_are_refused() {
        for text in ["\\", "\\q", "\\x", "\\x4", "\\xzz"] {
            assert_eq!(bytes_of(text, Some(PathEncoding::Escaped)), None, "{text}");
        }
    }
}
