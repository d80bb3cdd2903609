//! Regions between conflict markers in a text.
//! Trust: the text is whatever is on the disk; lines that look like markers are taken for markers.

use bulkhead_contract::results::ConflictRegion;

/// Regions of one file at most.
const MAX_REGIONS: usize = 500;

/// The regions between markers of `size` characters, and whether there are more.
#[must_use]
pub fn find(text: &[u8], size: usize) -> (Vec<ConflictRegion>, bool) {
    let mut regions = Vec::new();
    let mut open: Option<(u64, Option<u64>, Option<u64>)> = None;
    let mut number = 0;
    for line in text.split(|&byte| byte == b'\n') {
        number += 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let Some(sign) = marker(line, size) else { continue };
        open = match (sign, open) {
            (b'<', _) => Some((number, None, None)),
            (b'|', Some((start, None, None))) => Some((start, Some(number), None)),
            (b'=', Some((start, base, None))) => Some((start, base, Some(number))),
            (b'>', Some((start_line, base_line, Some(sep_line)))) => {
                if regions.len() == MAX_REGIONS {
                    return (regions, true);
                }
                regions.push(ConflictRegion { start_line, base_line, sep_line, end_line: number });
                None
            }
            (_, open) => open,
        };
    }
    (regions, false)
}

/// The character that the line is a marker of: `size` of them, then nothing or, but for the one between the sides, a
/// label after a space.
fn marker(line: &[u8], size: usize) -> Option<u8> {
    let &sign = line.first()?;
    if !matches!(sign, b'<' | b'|' | b'=' | b'>') || line.len() < size {
        return None;
    }
    let (signs, rest) = line.split_at(size);
    let fits = rest.is_empty() || (sign != b'=' && rest.starts_with(b" "));
    (fits && signs.iter().all(|&byte| byte == sign)).then_some(sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, size: usize) -> Vec<(u64, Option<u64>, u64, u64)> {
        let (regions, more) = find(text.as_bytes(), size);
        assert!(!more);
        regions.iter().map(|r| (r.start_line, r.base_line, r.sep_line, r.end_line)).collect()
    }

    #[test]
    fn every_style_is_found() {
        let merge = "a\n<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\nb\n";
        assert_eq!(lines(merge, 7), [(2, None, 4, 6)]);
        assert_eq!(lines(&merge.replace('\n', "\r\n"), 7), [(2, None, 4, 6)]);
        let diff3 = "<<<<<<< ours\nx\n||||||| base\nb\n=======\ny\n>>>>>>> theirs";
        assert_eq!(lines(diff3, 7), [(1, Some(3), 5, 7)]);
        assert_eq!(lines(diff3, 8), []);
        let wide = "<<<<<<<<<< ours\n=======\n==========\n>>>>>>>>>> theirs\n";
        assert_eq!(lines(wide, 10), [(1, None, 3, 4)]);
    }

    #[test]
    fn what_is_no_region_is_none() {
        for text in ["", "=======\n", ">>>>>>> x\n", "<<<<<<< x\n>>>>>>> y\n", "<<<<<<<x\n=======\n>>>>>>> y\n"] {
            assert_eq!(lines(text, 7), [], "{text}");
        }
        let many = "<<<<<<<\n=======\n>>>>>>>\n".repeat(MAX_REGIONS + 1);
        let (regions, more) = find(many.as_bytes(), 7);
        assert_eq!((regions.len(), more), (MAX_REGIONS, true));
    }
}
