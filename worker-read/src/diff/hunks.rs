//! Hunks of a unified diff: changes with the lines around them, under a head that names the function they are in.
//! Trust: lines are the repository's and are copied as they are; only the head's text is cut where it is not UTF-8.

use super::lines::Lines;
use crate::userdiff::{Driver, function_text};
use std::io::Write as _;

/// Appends all hunks to `out`, and where each of them starts to `starts`.
pub fn append(out: &mut Vec<u8>, starts: &mut Vec<usize>, lines: &Lines<'_>, context: u32, driver: &Driver) {
    let changes: Vec<_> = lines.diff.hunks().collect();
    let mut heading: &[u8] = &[];
    let mut searched: Option<u32> = None;
    let mut at = 0;
    while let Some(first) = changes.get(at) {
        let mut last = at;
        while let Some(next) = changes.get(last + 1)
            && next.before.start - changes[last].before.end <= 2 * context
        {
            last += 1;
        }
        let ends = &changes[last];
        let start = (first.before.start.saturating_sub(context), first.after.start.saturating_sub(context));
        let left = |all: usize, end: u32| u32::try_from(all).unwrap_or(u32::MAX).saturating_sub(end);
        let after = context.min(left(lines.before.len(), ends.before.end)).min(left(lines.after.len(), ends.after.end));
        let end = (ends.before.end + after, ends.after.end + after);
        // the search goes back to where the one before began, and keeps what that found
        let found =
            (searched.unwrap_or(0)..start.0).rev().find_map(|at| function_text(driver, lines.before[at as usize]));
        if let Some(found) = found {
            heading = found;
        }
        searched = Some(start.0);
        starts.push(out.len());
        head(out, (start.0, end.0 - start.0), (start.1, end.1 - start.1), heading);
        let mut shown = start.1;
        for change in &changes[at..=last] {
            lines.after[shown as usize..change.after.start as usize].iter().for_each(|line| one(out, b' ', line));
            let (before, after) = (change.before.clone(), change.after.clone());
            lines.before[before.start as usize..before.end as usize].iter().for_each(|line| one(out, b'-', line));
            lines.after[after.start as usize..after.end as usize].iter().for_each(|line| one(out, b'+', line));
            shown = change.after.end;
        }
        lines.after[shown as usize..end.1 as usize].iter().for_each(|line| one(out, b' ', line));
        at = last + 1;
    }
}

fn head(out: &mut Vec<u8>, old: (u32, u32), new: (u32, u32), heading: &[u8]) {
    let range = |(start, count): (u32, u32)| match count {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        _ => format!("{},{count}", start + 1),
    };
    let _ = write!(out, "@@ -{} +{} @@", range(old), range(new));
    let heading = valid_start(heading);
    if !heading.is_empty() {
        out.push(b' ');
        out.extend_from_slice(heading);
    }
    out.push(b'\n');
}

/// Git cuts a head at the first byte that is not part of a character; U+FFFE and U+FFFF are none for it.
fn valid_start(text: &[u8]) -> &[u8] {
    let valid = match std::str::from_utf8(text) {
        Ok(valid) => valid,
        Err(e) => std::str::from_utf8(&text[..e.valid_up_to()]).unwrap_or_default(),
    };
    let end = valid.find(['\u{fffe}', '\u{ffff}']).unwrap_or(valid.len());
    &text[..end]
}

fn one(out: &mut Vec<u8>, sign: u8, line: &[u8]) {
    out.push(sign);
    out.extend_from_slice(line);
    if line.last() != Some(&b'\n') {
        out.extend_from_slice(b"\n\\ No newline at end of file\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_ends_before_a_broken_character() {
        assert_eq!(valid_start(b"caf\xe9 x"), b"caf");
        assert_eq!(valid_start("caf\u{e9}".as_bytes()), "caf\u{e9}".as_bytes());
        assert_eq!(valid_start("a\u{ffff}b".as_bytes()), b"a");
    }
}
