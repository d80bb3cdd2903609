//! A source text by its lines, and which of them changed.
//! Trust: texts and regions come from a peer; regions are checked against the texts before anything is looked up by them.

use bulkhead_contract::results::Region;
use std::ops::Range;

/// A text and where its lines start.
#[derive(Debug)]
pub struct Text<'s> {
    /// All of it.
    pub bytes: &'s [u8],
    /// Start of every line, and the end of the last one.
    starts: Vec<u32>,
}

impl<'s> Text<'s> {
    /// Of at most `u32::MAX` bytes, which [`super::limits::MAX_SOURCE`] sees to.
    #[must_use]
    pub fn new(bytes: &'s [u8]) -> Self {
        let feeds = bytes.iter().zip(1u32..).filter(|(byte, _)| **byte == b'\n').map(|(_, behind)| behind);
        let mut starts: Vec<u32> = std::iter::once(0).chain(feeds).collect();
        let end = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        if starts.last() != Some(&end) {
            starts.push(end);
        }
        Self { bytes, starts }
    }

    /// Number of lines; what follows the last line feed is one, too.
    #[must_use]
    pub fn rows(&self) -> u32 {
        u32::try_from(self.starts.len() - 1).unwrap_or(u32::MAX)
    }

    /// Where a line stands, its line feed included; empty for a row that there is not.
    #[must_use]
    pub fn span(&self, row: u32) -> Range<u32> {
        match self.starts.get(row as usize..row as usize + 2) {
            Some(ends) => ends[0]..ends[1],
            None => 0..0,
        }
    }

    /// A line, its line feed included.
    #[must_use]
    pub fn line(&self, row: u32) -> &'s [u8] {
        self.slice(self.span(row))
    }

    /// Those bytes.
    #[must_use]
    pub fn slice(&self, span: Range<u32>) -> &'s [u8] {
        self.bytes.get(span.start as usize..span.end as usize).unwrap_or_default()
    }
}

/// Rows that changed on one side.
#[derive(Debug)]
pub struct Changed {
    /// In order, none empty, none touching the next.
    ranges: Vec<Range<u32>>,
    /// Of each row of the text, its number among the changed ones.
    numbers: Vec<u32>,
    count: u32,
}

const NONE: u32 = u32::MAX;

impl Changed {
    /// From the `ranges` of a text of `rows` lines; they fit it.
    #[must_use]
    pub fn new(ranges: impl Iterator<Item = Range<u32>>, rows: u32) -> Self {
        let (mut numbers, mut count) = (vec![NONE; rows as usize], 0);
        let mut joined: Vec<Range<u32>> = Vec::new();
        for range in ranges.filter(|range| !range.is_empty()) {
            for row in range.clone() {
                numbers[row as usize] = count;
                count += 1;
            }
            match joined.last_mut() {
                Some(last) if last.end >= range.start => last.end = range.end,
                _ => joined.push(range),
            }
        }
        Self { ranges: joined, numbers, count }
    }

    /// How many rows changed.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// All of them, in order.
    pub fn rows(&self) -> impl Iterator<Item = u32> + '_ {
        self.ranges.iter().cloned().flatten()
    }

    /// Whether one of the rows from `first` to `last` changed.
    #[must_use]
    pub fn touches(&self, first: u32, last: u32) -> bool {
        let at = self.ranges.partition_point(|range| range.end <= first);
        self.ranges.get(at).is_some_and(|range| range.start <= last)
    }

    /// The changed ones among the rows from `first` to `last`.
    pub fn within(&self, first: u32, last: u32) -> impl Iterator<Item = u32> + '_ {
        let at = self.ranges.partition_point(|range| range.end <= first);
        let touched = self.ranges[at..].iter().take_while(move |range| range.start <= last);
        touched.flat_map(move |range| range.start.max(first)..range.end.min(last + 1))
    }

    /// The number of `row` among the changed ones.
    #[must_use]
    pub fn number(&self, row: u32) -> Option<usize> {
        self.numbers.get(row as usize).copied().filter(|number| *number != NONE).map(|number| number as usize)
    }
}

/// Whether `regions` are in order, apart from each other, and within texts of these many lines.
#[must_use]
pub fn fit(regions: &[Region], old_rows: u32, new_rows: u32) -> bool {
    let (mut old, mut new) = (0u32, 0u32);
    regions.iter().all(|region| {
        // the same number of lines stays between two regions on both sides
        let kept = region.old_start.checked_sub(old).filter(|kept| Some(*kept) == region.new_start.checked_sub(new));
        let ends = (region.old_start.checked_add(region.old_len), region.new_start.checked_add(region.new_len));
        let (Some(_), (Some(old_end), Some(new_end))) = (kept, ends) else { return false };
        (old, new) = (old_end, new_end);
        region.old_len + region.new_len > 0 && old_end <= old_rows && new_end <= new_rows
    }) && old_rows - old == new_rows - new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_at_line_feeds() {
        let lines = |bytes| {
            let text = Text::new(bytes);
            (0..text.rows()).map(|row| text.line(row).to_vec()).collect::<Vec<_>>()
        };
        assert_eq!(lines(b""), Vec::<Vec<u8>>::new());
        assert_eq!(lines(b"a"), [b"a".to_vec()]);
        assert_eq!(lines(b"a\n\nb"), [b"a\n".to_vec(), b"\n".to_vec(), b"b".to_vec()]);
        assert_eq!(Text::new(b"a\n").line(7), b"");
    }

    #[test]
    fn changed_rows_are_found() {
        let changed = Changed::new([1..3, 3..4, 7..8].into_iter(), 9);
        assert_eq!(changed.rows().collect::<Vec<_>>(), [1, 2, 3, 7]);
        assert!(changed.touches(0, 1) && !changed.touches(4, 6) && !changed.touches(8, 8) && changed.touches(4, 7));
        assert_eq!(changed.within(2, 7).collect::<Vec<_>>(), [2, 3, 7]);
        assert_eq!((changed.number(3), changed.number(4), changed.number(7)), (Some(2), None, Some(3)));
    }

    #[test]
    fn regions_of_other_texts_are_refused() {
        let region = |old_start, old_len, new_start, new_len| Region { old_start, old_len, new_start, new_len };
        assert!(fit(&[], 3, 3) && !fit(&[], 3, 4));
        assert!(fit(&[region(1, 1, 1, 2), region(3, 0, 4, 1)], 5, 7));
        assert!(!fit(&[region(1, 1, 1, 2)], 1, 2), "past the end");
        assert!(!fit(&[region(1, 1, 2, 1)], 5, 6), "what is kept before it differs in length");
        assert!(!fit(&[region(2, 1, 2, 1), region(1, 1, 1, 1)], 5, 5), "out of order");
        assert!(!fit(&[region(0, 0, 0, 0)], 5, 5), "nothing differs there");
        assert!(!fit(&[region(u32::MAX, 2, u32::MAX, 2)], 5, 5));
    }
}
