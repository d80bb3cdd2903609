//! `packed-refs`: one name found by halves, or all of them in order.
//! Trust: every line is the repository's; one that does not parse hides no other, and order is checked before it counts.

use gix::{
    ObjectId,
    bstr::{BStr, ByteSlice as _},
};
use std::{
    cell::{Cell, OnceCell},
    cmp::Ordering,
};

/// Bytes of a reference's name at most: what a path may have.
pub(super) const MAX_NAME: usize = 4_096;

/// A line of `packed-refs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// `None` where the line does not begin with one.
    pub(super) id: Option<ObjectId>,
    pub(super) name: &'a [u8],
}

/// What `packed-refs` knows of the object behind an annotated tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Peeled {
    /// It says nothing about this reference.
    Unknown,
    /// The reference names no tag object.
    NoTag,
    /// The tag leads there.
    To(ObjectId),
}

/// The text of the file, and what was found out about it.
#[derive(Debug)]
pub(super) struct Packed {
    text: Vec<u8>,
    /// Where the lines of valid names begin, by name, each name once.
    order: OnceCell<Vec<u32>>,
    /// Names longer than [`MAX_NAME`] are there, and left out.
    overlong: Cell<bool>,
}

impl Packed {
    pub(super) fn new(text: Vec<u8>) -> Self {
        Self { text, order: OnceCell::new(), overlong: Cell::new(false) }
    }

    fn header(&self) -> &[u8] {
        self.text.lines().next().filter(|line| line.starts_with(b"# pack-refs with:")).unwrap_or_default()
    }

    /// The line of `name`: by halves where the file says that it is sorted, else line by line.
    pub(super) fn find(&self, name: &BStr) -> Option<Line<'_>> {
        let text = &self.text[..];
        let header = self.header();
        let by_lines = || text.lines().filter_map(line_of).find(|line| line.name == name.as_bytes());
        if !header.contains_str(" sorted") {
            return by_lines();
        }
        let (mut low, mut high) = (header.len() + 1, text.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let mut start = text[low..middle].rfind_byte(b'\n').map_or(low, |at| low + at + 1);
            if text.get(start) == Some(&b'^') && start > low {
                // a peeled tag's second line belongs to the line before it
                start = text[low..start - 1].rfind_byte(b'\n').map_or(low, |at| low + at + 1);
            }
            let end = text[start..].find_byte(b'\n').map_or(text.len(), |at| start + at);
            let Some(line) = line_of(&text[start..end]) else { return by_lines() };
            match line.name.cmp(name.as_bytes()) {
                Ordering::Equal => return Some(line),
                Ordering::Greater => high = start,
                Ordering::Less => {
                    low = end + 1;
                    if text.get(low) == Some(&b'^') {
                        low = text[low..].find_byte(b'\n').map_or(text.len(), |at| low + at + 1);
                    }
                }
            }
        }
        None
    }

    /// Number of references.
    pub(super) fn len(&self) -> usize {
        self.order().len()
    }

    /// The name at `at` in the order of names.
    pub(super) fn name(&self, at: usize) -> &[u8] {
        self.line(at).map_or(&[], |line| line.name)
    }

    /// The line at `at` in the order of names.
    pub(super) fn line(&self, at: usize) -> Option<Line<'_>> {
        line_of(self.text_from(*self.order().get(at)?).0)
    }

    /// What the file says of the object behind the tag at `at`.
    pub(super) fn peeled(&self, at: usize) -> Peeled {
        let Some((_, rest)) = self.order().get(at).map(|&start| self.text_from(start)) else { return Peeled::Unknown };
        if let Some(hex) = rest.strip_prefix(b"^") {
            let hex = &hex[..hex.find_byte(b'\n').unwrap_or(hex.len())];
            return ObjectId::from_hex(hex.trim_end()).map_or(Peeled::Unknown, Peeled::To);
        }
        let header = self.header();
        // without the first word only tags were looked at
        let known = header.contains_str(" fully-peeled ")
            || (header.contains_str(" peeled ") && self.name(at).starts_with(b"refs/tags/"));
        if known { Peeled::NoTag } else { Peeled::Unknown }
    }

    /// Where the first name stands that is not below `name`.
    pub(super) fn at_or_after(&self, name: &[u8]) -> usize {
        self.order().partition_point(|&start| line_of(self.text_from(start).0).is_some_and(|line| line.name < name))
    }

    /// Whether `name` is there.
    pub(super) fn holds(&self, name: &[u8]) -> bool {
        let at = self.at_or_after(name);
        at < self.len() && self.name(at) == name
    }

    /// The line that begins at `start`, and everything after its end.
    fn text_from(&self, start: u32) -> (&[u8], &[u8]) {
        let text = self.text.get(start as usize..).unwrap_or_default();
        match text.find_byte(b'\n') {
            Some(end) => (&text[..end], &text[end + 1..]),
            None => (text, &[]),
        }
    }

    /// Whether names are left out because they are longer than any file system takes.
    pub(super) fn is_cut(&self) -> bool {
        self.order();
        self.overlong.get()
    }

    fn order(&self) -> &[u32] {
        self.order.get_or_init(|| {
            let mut order = Vec::new();
            let mut at = 0;
            for line in self.text.lines_with_terminator() {
                let valid = line_of(line.trim_end_with(|c| c == '\n'))
                    .is_some_and(|line| gix::validate::reference::name(line.name.as_bstr()).is_ok());
                let valid = valid && !line.starts_with(b"#");
                // an answer with a name of megabytes is one that no message can hold
                let overlong = valid && line_of(line).is_some_and(|line| line.name.len() > MAX_NAME);
                self.overlong.set(self.overlong.get() || overlong);
                // the file is read only up to a limit far below
                if let (true, Ok(start)) = (valid && !overlong, u32::try_from(at)) {
                    order.push(start);
                }
                at += line.len();
            }
            let name = |&start: &u32| line_of(self.text_from(start).0).map_or(&b""[..], |line| line.name);
            if !order.is_sorted_by(|a, b| name(a) < name(b)) {
                order.sort_by(|a, b| name(a).cmp(name(b)));
                order.dedup_by(|later, first| name(later) == name(first));
            }
            order
        })
    }
}

fn line_of(line: &[u8]) -> Option<Line<'_>> {
    let space = line.find_byte(b' ')?;
    let id = ObjectId::from_hex(&line[..space]).ok().filter(|id| !id.is_null());
    Some(Line { id, name: line[space + 1..].trim_end() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: char) -> String {
        digit.to_string().repeat(40)
    }

    #[test]
    fn packed_references_are_found_by_halves_past_peeled_lines() {
        let mut text = String::from("# pack-refs with: peeled fully-peeled sorted \n");
        for n in 0..50 {
            text += &format!("{} refs/tags/t{n:02}\n^{}\n", id('a'), id('b'));
        }
        text += &format!("{} refs/zz\n", id('c'));
        let packed = Packed::new(text.into_bytes());
        let find = |name: &str| packed.find(name.into()).and_then(|line| line.id).map(|id| id.to_string());
        for n in 0..50 {
            assert_eq!(find(&format!("refs/tags/t{n:02}")), Some(id('a')), "{n}");
        }
        assert_eq!(find("refs/zz"), Some(id('c')));
        assert_eq!(find("refs/tags/t50"), None);
        assert_eq!(find("refs/a"), None);
        assert_eq!(packed.len(), 51);
        assert_eq!(packed.peeled(7), Peeled::To(ObjectId::from_hex(id('b').as_bytes()).expect("hex")));
        assert_eq!(packed.peeled(50), Peeled::NoTag);
        assert_eq!(packed.at_or_after(b"refs/tags/t03"), 3);
        assert_eq!(packed.at_or_after(b"refs/tags/t031"), 4);
        assert!(packed.holds(b"refs/zz") && !packed.holds(b"refs/z"));
    }

    #[test]
    fn a_bad_line_hides_no_other() {
        let text = format!(
            "# pack-refs with: peeled fully-peeled sorted \n{} refs/heads/a\nnothex refs/heads/b\nx\n{} refs/heads/b..b\n{} refs/heads/c\n",
            id('a'),
            id('a'),
            id('c')
        );
        let packed = Packed::new(text.into_bytes());
        let find = |name: &str| packed.find(name.into()).map(|line| line.id.map(|id| id.to_string()));
        assert_eq!(find("refs/heads/a"), Some(Some(id('a'))));
        assert_eq!(find("refs/heads/b"), Some(None), "broken, which is not the same as absent");
        assert_eq!(find("refs/heads/c"), Some(Some(id('c'))));
        assert_eq!(find("refs/heads/d"), None);
        let names: Vec<_> = (0..packed.len()).map(|at| packed.name(at).as_bstr()).collect();
        assert_eq!(names, ["refs/heads/a", "refs/heads/b", "refs/heads/c"]);
    }

    #[test]
    fn a_name_that_no_path_can_have_is_left_out_and_told() {
        let listed = |length: usize| {
            let name = format!("refs/heads/{}", "a/".repeat(length / 2) + "x");
            let packed = Packed::new(format!("{a} refs/a\n{a} {name}\n{a} refs/z\n", a = id('a')).into_bytes());
            (packed.len(), packed.is_cut())
        };
        assert_eq!(listed(4_000), (3, false));
        assert_eq!(listed(5_000), (2, true));
    }

    #[test]
    fn a_file_out_of_order_is_listed_in_order_and_each_name_once() {
        let text = format!("{a} refs/z\n{a} refs/b\n^{b}\n{b} refs/z\n{a} refs/a", a = id('a'), b = id('b'));
        let packed = Packed::new(text.into_bytes());
        let names: Vec<_> = (0..packed.len()).map(|at| packed.name(at).as_bstr()).collect();
        assert_eq!(names, ["refs/a", "refs/b", "refs/z"]);
        assert_eq!(packed.line(2).and_then(|line| line.id).map(|id| id.to_string()), Some(id('a')), "the first counts");
        assert!(matches!(packed.peeled(1), Peeled::To(_)));
        assert_eq!(packed.peeled(0), Peeled::Unknown);
    }
}
