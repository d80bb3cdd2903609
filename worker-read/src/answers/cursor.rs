//! Where a page of status rows starts: after which row of which half.
//! Trust: a cursor comes from a caller, who may have made it up; anything that we never wrote is refused.

use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    path::{PathEncoding, bytes_of, text_of},
};
use std::fmt::Write as _;

/// Characters of a cursor at most: the longest path, escaped.
const MAX_CHARS: usize = 64 * 1024;

/// The tool that a cursor belongs to. Their pages hold other rows, so that one is of no use to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// `repo.status`.
    Status,
    /// `worktree.changes`.
    Changes,
    /// `conflict.read`.
    Conflict,
}

impl Of {
    fn letter(self) -> char {
        match self {
            Of::Status => 's',
            Of::Changes => 'c',
            Of::Conflict => 'u',
        }
    }
}

/// The refusal of a cursor that the tool asked never gave out.
pub(crate) fn foreign() -> ReadFailure {
    ReadFailure::new(Reason::BadArgument, "cursor", "The cursor is not one that this tool gave out.")
}

/// The row that the page before ended with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cursor {
    /// A row of a tracked path.
    Tracked(Vec<u8>),
    /// A row of an untracked path.
    Untracked(Vec<u8>),
}

impl Cursor {
    /// As it is given to the caller of the tool `of`.
    #[must_use]
    pub fn text(&self, of: Of) -> String {
        let (half, path) = match self {
            Cursor::Tracked(path) => ('t', path),
            Cursor::Untracked(path) => ('u', path),
        };
        let mut text = String::with_capacity(path.len() + 4);
        let (path, encoding) = text_of(path);
        let _ = write!(text, "{}{half}{}:{path}", of.letter(), if encoding.is_some() { 'e' } else { 'p' });
        text
    }

    /// From the text that the caller of the tool `of` gave.
    ///
    /// # Errors
    /// [`Reason::BadArgument`].
    pub fn parse(text: &str, of: Of) -> Result<Self, ReadFailure> {
        if text.len() > MAX_CHARS {
            return Err(foreign());
        }
        let (kind, path) = text.strip_prefix(of.letter()).and_then(|text| text.split_once(':')).ok_or_else(foreign)?;
        let (half, encoding) = match kind {
            "tp" => ('t', None),
            "te" => ('t', Some(PathEncoding::Escaped)),
            "up" => ('u', None),
            "ue" => ('u', Some(PathEncoding::Escaped)),
            _ => return Err(foreign()),
        };
        let path =
            bytes_of(path, encoding).filter(|path| !path.is_empty() && !path.contains(&0)).ok_or_else(foreign)?;
        Ok(if half == 't' { Cursor::Tracked(path) } else { Cursor::Untracked(path) })
    }

    /// The path after which untracked rows follow; `None` where all do.
    #[must_use]
    pub fn untracked_after(cursor: Option<&Cursor>) -> Option<Vec<u8>> {
        match cursor {
            Some(Cursor::Untracked(path)) => Some(path.clone()),
            _ => None,
        }
    }

    /// True where the tracked row `path` belongs to a page that this one starts.
    #[must_use]
    pub fn is_before_tracked(cursor: Option<&Cursor>, path: &[u8]) -> bool {
        match cursor {
            None => true,
            Some(Cursor::Tracked(after)) => path > &after[..],
            Some(Cursor::Untracked(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_whatever_the_path_is() {
        for path in [&b"a"[..], b"a:b", b"nl\nx", b"\xff\\x", "caf\u{e9}".as_bytes()] {
            for cursor in [Cursor::Tracked(path.to_vec()), Cursor::Untracked(path.to_vec())] {
                assert_eq!(Cursor::parse(&cursor.text(Of::Status), Of::Status), Ok(cursor.clone()));
                assert!(Cursor::parse(&cursor.text(Of::Status), Of::Changes).is_err(), "another tool");
                assert!(Cursor::parse(&cursor.text(Of::Changes), Of::Status).is_err(), "another tool");
            }
        }
    }

    #[test]
    fn what_we_never_wrote_is_refused() {
        for text in ["", "s", "st", "stp", "sxp:a", "stp:", "ste:\\", "stp:\0", "sp:a", "tp:a", "\u{e9}"] {
            assert_eq!(Cursor::parse(text, Of::Status).expect_err(text).reason, Reason::BadArgument);
        }
    }
}
