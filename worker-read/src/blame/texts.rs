//! Versions of one file as numbers for lines, which equal lines of all versions share.
//! Trust: texts are the repository's; what is kept of them is bounded by bytes, and the numbers come from a keyed table.

use crate::{diff::contents, repo::Repo};
use bulkhead_contract::results::Omission;
use gix::{ObjectId, diff::blob::Token};
use hashbrown::HashTable;
use std::{
    collections::VecDeque,
    hash::{BuildHasher as _, RandomState},
    rc::Rc,
};

/// Bytes of a version at most; an older one may have been longer than the one that is asked about.
const MAX_TEXT: u64 = 32 << 20;
/// Bytes of all versions that are kept.
const MAX_HELD: usize = 48 << 20;
/// How many they are at most: they are looked through one by one.
const MAX_VERSIONS: usize = 32;
/// Bytes of all different lines, from which on all is forgotten and begun anew.
const MAX_LINES: usize = 48 << 20;

/// One version.
#[derive(Debug, Default)]
pub(super) struct Text {
    /// As it is stored.
    pub(super) bytes: Vec<u8>,
    /// A number for each line.
    pub(super) tokens: Vec<Token>,
    /// Of the numbering.
    age: u32,
}

/// The versions that were met last.
pub(super) struct Texts<'a> {
    repo: &'a Repo,
    lines: Lines,
    held: VecDeque<(ObjectId, Rc<Text>)>,
    bytes: usize,
    age: u32,
}

impl<'a> Texts<'a> {
    pub(super) fn new(repo: &'a Repo) -> Self {
        Self { repo, lines: Lines::default(), held: VecDeque::new(), bytes: 0, age: 0 }
    }

    /// Versions that are compared next to each other: the blobs `ids`, which have most lines in common.
    pub(super) fn both(&mut self, ids: [ObjectId; 2]) -> Result<[Rc<Text>; 2], Omission> {
        if self.lines.bytes.len() > MAX_LINES {
            *self = Self { age: self.age + 1, ..Self::new(self.repo) };
        }
        let first = self.one(ids[0], None)?;
        let second = self.one(ids[1], Some(&first))?;
        Ok([first, second])
    }

    /// `text`, which is in no object, beside the blob `id`.
    pub(super) fn beside(&mut self, bytes: &[u8], id: ObjectId) -> Result<[Rc<Text>; 2], Omission> {
        let stored = self.one(id, None)?;
        Ok([Rc::new(self.text(bytes.to_vec(), Some(&stored))), stored])
    }

    fn one(&mut self, id: ObjectId, like: Option<&Text>) -> Result<Rc<Text>, Omission> {
        if let Some((_, text)) = self.held.iter().find(|(of, _)| *of == id) {
            return Ok(Rc::clone(text));
        }
        let bytes = contents::blob_in_passing(self.repo, &id, like.map_or(0, |like| like.bytes.len()), MAX_TEXT)?;
        let text = Rc::new(self.text(bytes, like));
        self.bytes += size(&text);
        self.held.push_front((id, Rc::clone(&text)));
        while (self.bytes > MAX_HELD || self.held.len() > MAX_VERSIONS)
            && self.held.len() > 2
            && let Some((_, old)) = self.held.pop_back()
        {
            self.bytes -= size(&old);
        }
        Ok(text)
    }

    /// Numbers lines. What begins and ends as `like` does has its numbers.
    fn text(&mut self, bytes: Vec<u8>, like: Option<&Text>) -> Text {
        let none = Text { age: self.age, ..Text::default() };
        let like = like.filter(|like| like.age == self.age).unwrap_or(&none);
        let (begin, end) = common(&bytes, &like.bytes);
        let before = lines(&bytes[..begin]);
        let after = lines(&bytes[bytes.len() - end..]);
        let mut tokens = Vec::with_capacity(like.tokens.len() + 16);
        tokens.extend_from_slice(&like.tokens[..before]);
        let middle = bytes[begin..bytes.len() - end].split_inclusive(|&byte| byte == b'\n');
        tokens.extend(middle.map(|line| self.lines.number(line)));
        tokens.extend_from_slice(&like.tokens[like.tokens.len() - after..]);
        Text { bytes, tokens, age: self.age }
    }

    /// The line that a number stands for.
    pub(super) fn line(&self, token: Token) -> &[u8] {
        self.lines.line(token.0)
    }

    /// All numbers are smaller than this.
    pub(super) fn numbers(&self) -> u32 {
        u32::try_from(self.lines.ends.len()).unwrap_or(u32::MAX)
    }
}

impl std::fmt::Debug for Texts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Texts").field("held", &self.held.len()).finish_non_exhaustive()
    }
}

fn size(text: &Text) -> usize {
    text.bytes.len() + size_of_val(&text.tokens[..])
}

/// How many lines there are.
pub(super) fn lines(text: &[u8]) -> usize {
    let ends = text.iter().filter(|&&byte| byte == b'\n').count();
    ends + usize::from(text.last().is_some_and(|&byte| byte != b'\n'))
}

/// Bytes of whole lines with which both texts begin, and with which what is left of both ends.
fn common(one: &[u8], two: &[u8]) -> (usize, usize) {
    let begin = common_begin(one, two);
    // where one text ends, its last line may go on in the other
    let begin = one[..begin].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let (rest, other) = (&one[begin..], &two[begin..]);
    let end = common_end(rest, other);
    let tail = &rest[rest.len() - end..];
    let starts = |text: &[u8]| text.len() == end || text[text.len() - end - 1] == b'\n';
    if starts(rest) && starts(other) {
        return (begin, end);
    }
    (begin, tail.iter().position(|&byte| byte == b'\n').map_or(0, |at| end - at - 1))
}

/// Bytes that are compared at once, the longest first: most of two versions is the same.
const BLOCKS: [usize; 3] = [4_096, 64, 1];

fn common_begin(one: &[u8], two: &[u8]) -> usize {
    BLOCKS.iter().fold(0, |done, &block| {
        let (one, two) = (one[done..].chunks_exact(block), two[done..].chunks_exact(block));
        done + one.zip(two).take_while(|(a, b)| a == b).count() * block
    })
}

fn common_end(one: &[u8], two: &[u8]) -> usize {
    BLOCKS.iter().fold(0, |done, &block| {
        let (one, two) = (one[..one.len() - done].rchunks_exact(block), two[..two.len() - done].rchunks_exact(block));
        done + one.zip(two).take_while(|(a, b)| a == b).count() * block
    })
}

/// Different lines, numbered as they are met.
#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    numbers: HashTable<u32>,
    /// Lines are the repository's, and could be made to fall into one place of a table that is not keyed.
    keys: RandomState,
}

impl Lines {
    fn number(&mut self, line: &[u8]) -> Token {
        let Self { bytes, ends, numbers, keys } = self;
        let of = |number: u32| {
            let number = number as usize;
            &bytes[number.checked_sub(1).map_or(0, |before| ends[before])..ends[number]]
        };
        let hash = keys.hash_one(line);
        if let Some(&number) = numbers.find(hash, |&number| of(number) == line) {
            return Token(number);
        }
        // texts of bounded size have fewer lines than that
        let number = u32::try_from(ends.len()).unwrap_or(u32::MAX);
        numbers.insert_unique(hash, number, |&number| keys.hash_one(of(number)));
        bytes.extend_from_slice(line);
        ends.push(bytes.len());
        Token(number)
    }

    fn line(&self, number: u32) -> &[u8] {
        let number = number as usize;
        &self.bytes[number.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[number]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_common_is_whole_lines_of_both() {
        for (one, two, right) in [
            ("a\nb\nc\n", "a\nx\nc\n", (2, 2)),
            ("a\nb", "a\nbc", (2, 0)),
            ("a\nb\n", "a\nb\nc\n", (4, 0)),
            ("b\nc\n", "a\nb\nc\n", (0, 4)),
            ("xb\nc\n", "b\nc\n", (0, 2)),
            ("a\na\n", "a\n", (2, 0)),
            ("a\na\nz", "a\nz", (2, 1)),
            ("z", "xz", (0, 0)),
            ("", "a\n", (0, 0)),
        ] {
            assert_eq!(common(one.as_bytes(), two.as_bytes()), right, "{one:?} {two:?}");
            assert_eq!(common(two.as_bytes(), one.as_bytes()), right, "{two:?} {one:?}");
        }
        let long = "line\n".repeat(100);
        assert_eq!(common(format!("{long}x\n{long}").as_bytes(), format!("{long}y\n{long}").as_bytes()), (500, 500));
    }

    #[test]
    fn equal_lines_have_equal_numbers() {
        let mut lines = Lines::default();
        let numbers: Vec<u32> =
            ["a\n", "b\n", "", "a", "b\n", "a\n"].map(|line| lines.number(line.as_bytes()).0).to_vec();
        assert_eq!(numbers, [0, 1, 2, 3, 1, 0]);
        assert_eq!((lines.line(1), lines.line(2), lines.line(3)), (&b"b\n"[..], &b""[..], &b"a"[..]));
    }
}
