//! Where a page of `diff.semantic` starts: the supervisor gives it out, a read worker takes it up.
//! Trust: a cursor comes from a caller, who may have made it up; it is a position and is compared, never followed.

use crate::path::{PathEncoding, bytes_of, text_of};

/// Characters of a cursor at most: the longest path, escaped.
const MAX_CHARS: usize = 64 * 1024;

/// The place that the page before ended at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SemanticCursor {
    /// A changed file.
    pub path: Vec<u8>,
    /// Lines of it that were told; `None` where all were.
    pub lines: Option<u32>,
}

impl SemanticCursor {
    /// As it is given to callers.
    #[must_use]
    pub fn text(&self) -> String {
        let (path, encoding) = text_of(&self.path);
        let position = self.lines.map_or_else(|| "a".to_owned(), |lines| lines.to_string());
        format!("s{position}{}:{path}", if encoding.is_some() { 'e' } else { 'p' })
    }

    /// From a text that a caller gave; `None` for one that was never given out.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_CHARS {
            return None;
        }
        let (head, path) = text.strip_prefix('s')?.split_once(':')?;
        let (position, encoding) = match head.strip_suffix('p') {
            Some(position) => (position, None),
            None => (head.strip_suffix('e')?, Some(PathEncoding::Escaped)),
        };
        let path = bytes_of(path, encoding).filter(|path| !path.is_empty() && !path.contains(&0))?;
        let lines = if position == "a" { None } else { Some(position.parse().ok()?) };
        let cursor = Self { path, lines };
        // one way of writing it, so that nothing but what was given out comes back
        (cursor.text() == text).then_some(cursor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_whatever_the_path_is() {
        for path in [&b"a"[..], b"a:b", b"nl\nx", b"\xff\\x", "caf\u{e9}".as_bytes()] {
            for lines in [None, Some(0), Some(u32::MAX)] {
                let cursor = SemanticCursor { path: path.to_vec(), lines };
                assert_eq!(SemanticCursor::parse(&cursor.text()), Some(cursor));
            }
        }
    }

    #[test]
    fn what_was_never_given_out_is_refused() {
        for text in ["", "s", "sap", "sap:", "s01p:a", "s-1p:a", "s4294967296p:a", "se:a", "sap:\0", "fr:a", "\u{e9}"] {
            assert_eq!(SemanticCursor::parse(text), None, "{text}");
        }
    }
}
