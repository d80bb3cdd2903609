//! One page of a diff's text: where it starts, where it is cut, and how much there is in all.
//! Trust: a cursor comes from a caller, who may have made it up; it is a position and is compared, never followed.

use super::{patch::Patch, sides::Item};
use crate::answers::cursor::foreign;
use bulkhead_contract::{
    failure::ReadFailure,
    path::{PathEncoding, bytes_of, text_of},
};

/// Characters of a cursor at most.
const MAX_CHARS: usize = 64 * 1024;
/// What a page may cost as JSON, in characters; text full of control characters is six times as long there.
const MAX_COST: usize = 5 << 19;

/// A place in the order of items.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Combined texts come before everything else.
    rest: bool,
    path: Vec<u8>,
    /// An unmerged path is named before its pair is shown.
    pair: bool,
}

impl Place {
    /// Of `item`.
    #[must_use]
    pub fn of(item: &Item) -> Self {
        Self {
            rest: !matches!(item, Item::Combined(_)),
            path: item.path().to_vec(),
            pair: matches!(item, Item::Pair(_)),
        }
    }

    fn letter(&self) -> char {
        match (self.rest, self.pair) {
            (false, _) => 'c',
            (true, false) => 'n',
            (true, true) => 'f',
        }
    }
}

/// Where a page starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cursor {
    /// In the text of an item: at this hunk, counted from one, and after that many lines of it; hunk zero is the head.
    Text(Place, usize, usize),
    /// After the row of an item.
    Row(Place),
}

impl Cursor {
    /// As it is given to the caller.
    #[must_use]
    pub fn text(&self) -> String {
        let (place, position) = match self {
            Cursor::Text(place, hunk, line) => (place, format!("{hunk}.{line}")),
            Cursor::Row(place) => (place, "r".to_owned()),
        };
        let (path, encoding) = text_of(&place.path);
        let form = if encoding.is_some() { 'e' } else { 'p' };
        format!("{}{position}{form}:{path}", place.letter())
    }

    /// From the caller's text.
    ///
    /// # Errors
    /// [`bulkhead_contract::failure::Reason::BadArgument`] for one that was never given out.
    pub fn parse(text: &str) -> Result<Self, ReadFailure> {
        Self::read(text).ok_or_else(foreign)
    }

    fn read(text: &str) -> Option<Self> {
        if text.len() > MAX_CHARS {
            return None;
        }
        let (head, path) = text.split_once(':')?;
        let (position, encoding) = match head.strip_suffix('p') {
            Some(position) => (position, None),
            None => (head.strip_suffix('e')?, Some(PathEncoding::Escaped)),
        };
        let path = bytes_of(path, encoding).filter(|path| !path.is_empty() && !path.contains(&0))?;
        let mut letters = position.chars();
        let (rest, pair) = match letters.next()? {
            'c' => (false, false),
            'n' => (true, false),
            'f' => (true, true),
            _ => return None,
        };
        let place = Place { rest, path, pair };
        let position = letters.as_str();
        let cursor = if position == "r" {
            Cursor::Row(place)
        } else {
            let (hunk, line) = position.split_once('.')?;
            let number = |digits: &str| digits.parse::<u32>().ok().map(|number| number as usize);
            Cursor::Text(place, number(hunk)?, number(line)?)
        };
        (cursor.text() == text).then_some(cursor)
    }
}

/// Text up to a limit, and the size of all that was offered.
#[derive(Debug)]
pub struct Page {
    /// The text.
    pub text: Vec<u8>,
    /// Bytes of everything offered.
    pub bytes: u64,
    /// Lines of everything offered.
    pub lines: u64,
    /// Where the next page starts, once this one is full.
    pub next: Option<Cursor>,
    /// A single line did not fit and is left out.
    pub skipped: bool,
    left: (usize, usize),
    cost: usize,
    /// Bytes of the head that this page repeats.
    again: usize,
}

impl Page {
    /// Room for `bytes` in `lines`.
    #[must_use]
    pub fn new(bytes: usize, lines: usize) -> Self {
        Self {
            text: Vec::new(),
            bytes: 0,
            lines: 0,
            next: None,
            skipped: false,
            left: (bytes, lines),
            cost: MAX_COST,
            again: 0,
        }
    }

    /// Offers the text of the item at `place`, from `start` on where the page before ended in it.
    pub fn offer(&mut self, place: &Place, patch: &Patch, start: (usize, usize)) {
        let (hunk, line) = start;
        let head = &patch.text[..patch.hunks.first().copied().unwrap_or(patch.text.len())];
        let from = begin(patch, hunk);
        // a hunk that a page starts with has the head before it, where there is room for more than that
        self.again = 0;
        if hunk > 0 && line == 0 && from < patch.text.len() {
            let one = after_lines(&patch.text[from..], 1);
            if head.len() + one <= self.left.0 && count(head) < self.left.1 {
                self.again = head.len();
                self.piece(place, head, 0, patch, start);
            }
        }
        let from = from + after_lines(&patch.text[from..], line);
        self.piece(place, &patch.text[from..], from, patch, start);
    }

    /// Bytes `from..` of the patch, or its head again.
    fn piece(&mut self, place: &Place, piece: &[u8], from: usize, patch: &Patch, start: (usize, usize)) {
        self.bytes += piece.len() as u64;
        self.lines += count(piece) as u64;
        if self.next.is_some() {
            return;
        }
        let cost: usize = piece.iter().map(|&byte| cost_of(byte)).sum();
        if piece.len() <= self.left.0 && count(piece) <= self.left.1 && cost <= self.cost {
            self.take(piece, cost);
            return;
        }
        let mut done = 0;
        for line in piece.split_inclusive(|&byte| byte == b'\n') {
            let cost: usize = line.iter().map(|&byte| cost_of(byte)).sum();
            if line.len() > self.left.0 || self.left.1 == 0 || cost > self.cost {
                break;
            }
            self.take(line, cost);
            done += line.len();
        }
        self.next = Some(self.cut(place, from + done, patch, start));
    }

    fn take(&mut self, bytes: &[u8], cost: usize) {
        self.left = (self.left.0 - bytes.len(), self.left.1 - count(bytes));
        self.cost -= cost;
        self.text.extend_from_slice(bytes);
    }

    /// The cursor for a cut at byte `at` of the patch: the hunk that it fell into is given again as a whole, unless this
    /// page began with it.
    fn cut(&mut self, place: &Place, at: usize, patch: &Patch, start: (usize, usize)) -> Cursor {
        let hunk = patch.hunks.iter().filter(|&&hunk| hunk <= at).count();
        let from = begin(patch, start.0);
        let from = from + after_lines(&patch.text[from..], start.1);
        // nothing but this item is on the page, and it is still the hunk that the page started with
        let began_here = start.0 == hunk && at >= from && self.text.len() == at - from + self.again;
        self.skipped = self.text.is_empty();
        let lines = if began_here || self.skipped { count(&patch.text[begin(patch, hunk)..at]) } else { 0 };
        Cursor::Text(place.clone(), hunk, lines + usize::from(self.skipped))
    }
}

/// Where that hunk starts, counted from one; the head is hunk zero.
fn begin(patch: &Patch, hunk: usize) -> usize {
    match hunk {
        0 => 0,
        at => patch.hunks.get(at - 1).copied().unwrap_or(patch.text.len()),
    }
}

fn after_lines(text: &[u8], lines: usize) -> usize {
    text.split_inclusive(|&byte| byte == b'\n').take(lines).map(<[u8]>::len).sum()
}

fn count(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte == b'\n').count()
}

fn cost_of(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x80.. => 2,
        0..0x20 | 0x7f => 6,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_contract::failure::Reason;

    fn place(path: &[u8]) -> Place {
        Place { rest: true, path: path.to_vec(), pair: true }
    }

    fn patch() -> Patch {
        let text = b"head 1\nhead 2\n@@ one\n+a\n+b\n@@ two\n+c\n".to_vec();
        Patch { hunks: vec![14, 27], text, ..Patch::default() }
    }

    #[test]
    fn cursors_come_back_and_what_we_never_wrote_is_refused() {
        for path in [&b"a"[..], b"a:b", b"nl\nx", b"\xff\\x", "caf\u{e9}".as_bytes()] {
            for cursor in [Cursor::Text(place(path), 3, 0), Cursor::Row(place(path))] {
                assert_eq!(Cursor::parse(&cursor.text()), Ok(cursor));
            }
        }
        for text in ["", "f", "f1.0:a", "f1.0p:", "x1.0p:a", "f01.0p:a", "f1p:a", "f1.0e:\\", "fr", "f-1.0p:a"] {
            assert_eq!(Cursor::parse(text).expect_err(text).reason, Reason::BadArgument);
        }
    }

    /// All pages of the patch, each of at most `bytes` in `lines`.
    fn pages(bytes: usize, lines: usize) -> Vec<String> {
        let (patch, mut start, mut pages) = (patch(), (0, 0), Vec::new());
        loop {
            let mut page = Page::new(bytes, lines);
            page.offer(&place(b"a"), &patch, start);
            pages.push(String::from_utf8(page.text).expect("it is ASCII"));
            match page.next {
                Some(Cursor::Text(_, hunk, line)) => start = (hunk, line),
                _ => return pages,
            }
            assert!(pages.len() < 50, "pages go on for ever: {pages:?}");
        }
    }

    #[test]
    fn a_page_starts_at_the_hunk_that_was_cut_with_the_head_before_it() {
        assert_eq!(pages(100, 4), ["head 1\nhead 2\n@@ one\n+a\n", "head 1\nhead 2\n@@ one\n+a\n", "+b\n@@ two\n+c\n"]);
        assert_eq!(pages(100, 5), ["head 1\nhead 2\n@@ one\n+a\n+b\n", "head 1\nhead 2\n@@ two\n+c\n"]);
    }

    #[test]
    fn pages_of_any_size_end() {
        for bytes in 1..60 {
            for lines in 1..8 {
                let all = pages(bytes, lines);
                let whole = all.concat();
                for line in ["head 1\n", "@@ one\n", "+b\n", "+c\n"] {
                    assert!(
                        line.len() > bytes || whole.contains(line),
                        "{line:?} is lost at {bytes} and {lines}: {all:?}"
                    );
                }
            }
        }
    }
}
