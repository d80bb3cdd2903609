//! What stands between conflict markers in a text, told from lines of a side that only look like markers.
//! Trust: the text is whatever is on the disk; stages of the index are the repository's, and only ever help to choose.

use crate::pace::{Pace, Stopped};
use std::collections::HashSet;

/// Length of markers from which on any is taken for one, whatever the attributes say.
const LEAST: usize = 7;
/// Markers of one kind that are tried as the end, or as the middle, of one section.
const MAX_TRIED: usize = 16;
/// Markers behind its start that are looked at for one section.
const MAX_LOOKED_AT: usize = 4_096;

/// One conflict. Lines keep their ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section<'t> {
    /// Characters of a marker.
    pub size: usize,
    /// What follows the markers of ours, of the base, and of theirs.
    pub labels: [&'t str; 3],
    /// Lines of our side.
    pub ours: &'t [&'t str],
    /// Lines of the base, where it is shown.
    pub base: Option<&'t [&'t str]>,
    /// Lines of their side.
    pub theirs: &'t [&'t str],
}

impl Section<'_> {
    /// Lines of all sides.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.ours.len() + self.base.map_or(0, <[_]>::len) + self.theirs.len()
    }
}

/// The sections of a text, of which `lines` are all lines. Markers have `configured` characters, or as many as are seen.
/// `stages` are the versions that were merged, where they are known: a line that a side has itself is none of the markers
/// around it.
///
/// # Errors
/// [`Stopped`].
pub fn find<'t>(
    lines: &'t [&'t str],
    configured: usize,
    stages: [Option<&[u8]>; 3],
    pace: &Pace,
) -> Result<Vec<Section<'t>>, Stopped> {
    let all = marks(lines, configured);
    let starts = |size: usize| all.iter().any(|mark| mark.sign == '<' && mark.size == size);
    let only = (configured != super::MARKER_SIZE && starts(configured)).then_some(configured);
    let sides = stages.map(|text| text.map(Side::of));
    let deceptive = sides.iter().flatten().any(|side| !side.markers.is_empty());
    let (mut found, mut next) = (Vec::new(), 0);
    while let Some(start) = all.get(next) {
        pace.step(1)?;
        next += 1;
        if start.sign != '<' || only.is_some_and(|only| start.size != only) {
            continue;
        }
        let behind = &all[next..all.len().min(next + MAX_LOOKED_AT)];
        let told = if deceptive { told_apart(lines, start, behind, &sides, pace)? } else { None };
        if let Some(cut) = told.or_else(|| simple(start, &all[next..])) {
            found.push(cut.section(lines));
            next = all.partition_point(|mark| mark.at <= cut.end);
        }
    }
    Ok(found)
}

/// A line that is a marker, by its looks.
#[derive(Debug, Clone, Copy)]
struct Mark {
    at: usize,
    sign: char,
    size: usize,
}

fn marks(lines: &[&str], configured: usize) -> Vec<Mark> {
    let of = |(at, line): (usize, &&str)| {
        let sign = line.chars().next().filter(|sign| "<|=>".contains(*sign))?;
        let (size, _) = marker(line, sign)?;
        (size >= LEAST || size == configured).then_some(Mark { at, sign, size })
    };
    lines.iter().enumerate().filter_map(of).collect()
}

/// Positions of the markers of one section.
#[derive(Debug, Clone, Copy)]
struct Cut {
    size: usize,
    start: usize,
    base: Option<usize>,
    middle: usize,
    end: usize,
}

impl Cut {
    fn section<'t>(&self, lines: &'t [&'t str]) -> Section<'t> {
        let label = |at: usize, sign| marker(lines[at], sign).map_or("", |(_, label)| label);
        Section {
            size: self.size,
            labels: [label(self.start, '<'), self.base.map_or("", |at| label(at, '|')), label(self.end, '>')],
            ours: &lines[self.start + 1..self.base.unwrap_or(self.middle)],
            base: self.base.map(|base| &lines[base + 1..self.middle]),
            theirs: &lines[self.middle + 1..self.end],
        }
    }
}

/// The section that begins at `start`, each marker the first of its kind; none where another begins before its end.
fn simple(start: &Mark, behind: &[Mark]) -> Option<Cut> {
    let (mut base, mut middle) = (None, None);
    for mark in behind.iter().filter(|mark| mark.size == start.size) {
        match (mark.sign, middle) {
            ('<', _) => return None,
            ('|', None) if base.is_none() => base = Some(mark.at),
            ('=', None) => middle = Some(mark.at),
            ('>', Some(middle)) => return Some(Cut { size: start.size, start: start.at, base, middle, end: mark.at }),
            _ => {}
        }
    }
    None
}

/// The longest section from `start` on of which every side is part of the version that it comes from.
fn told_apart(
    lines: &[&str],
    start: &Mark,
    behind: &[Mark],
    sides: &[Option<Side<'_>>; 3],
    pace: &Pace,
) -> Result<Option<Cut>, Stopped> {
    let all = |sign, to: usize| {
        let fits = move |mark: &&Mark| mark.sign == sign && mark.size == start.size && mark.at < to;
        behind.iter().filter(fits).map(|mark| mark.at).take(MAX_TRIED).collect::<Vec<_>>()
    };
    let holds = |side: &Option<Side<'_>>, part: &[&str]| side.as_ref().is_none_or(|side| side.holds(part));
    for &end in all('>', lines.len()).iter().rev() {
        for middle in all('=', end) {
            for base in all('|', middle).into_iter().map(Some).chain([None]) {
                let cut = Cut { size: start.size, start: start.at, base, middle, end };
                let section = cut.section(lines);
                pace.step(section.lines() as u64)?;
                let fits = holds(&sides[2], section.theirs)
                    && holds(&sides[1], section.ours)
                    && section.base.is_none_or(|base| holds(&sides[0], base));
                if fits {
                    return Ok(Some(cut));
                }
            }
        }
    }
    Ok(None)
}

/// Length and label of the marker of `sign` that the line is.
fn marker(line: &str, sign: char) -> Option<(usize, &str)> {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let line = line.strip_suffix('\r').unwrap_or(line);
    let rest = line.trim_start_matches(sign);
    let size = line.len() - rest.len();
    match rest.strip_prefix(' ') {
        _ if size == 0 => None,
        None if rest.is_empty() => Some((size, "")),
        Some(label) if sign != '=' => Some((size, label)),
        _ => None,
    }
}

/// One version, line by line and without line ends, which a checkout may change.
struct Side<'a> {
    lines: Vec<&'a [u8]>,
    /// Its lines that look like markers.
    markers: HashSet<&'a [u8]>,
}

impl<'a> Side<'a> {
    fn of(text: &'a [u8]) -> Self {
        let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').map(bare).collect();
        let markers = lines.iter().copied().filter(|line| looks_like_one(line)).collect();
        Self { lines, markers }
    }

    /// Whether `part` stands in it in one piece (Knuth, Morris and Pratt's search: a text of equal lines must not take
    /// longer than another).
    fn holds(&self, part: &[&str]) -> bool {
        let part: Vec<&[u8]> = part.iter().map(|line| bare(line.as_bytes())).collect();
        if part.iter().any(|line| looks_like_one(line) && !self.markers.contains(line)) {
            return false;
        }
        if part.is_empty() {
            return true;
        }
        let mut borders = vec![0; part.len()];
        let mut matched = 0;
        for at in 1..part.len() {
            while matched > 0 && part[at] != part[matched] {
                matched = borders[matched - 1];
            }
            matched += usize::from(part[at] == part[matched]);
            borders[at] = matched;
        }
        let mut matched = 0;
        for line in &self.lines {
            while matched > 0 && *line != part[matched] {
                matched = borders[matched - 1];
            }
            matched += usize::from(*line == part[matched]);
            if matched == part.len() {
                return true;
            }
        }
        false
    }
}

fn bare(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn looks_like_one(line: &[u8]) -> bool {
    let Some(&sign) = line.first().filter(|sign| b"<|=>".contains(sign)) else { return false };
    let size = line.iter().take_while(|&&byte| byte == sign).count();
    size >= LEAST && line.get(size).is_none_or(|&byte| byte == b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, size: usize, stages: [&str; 3]) -> Vec<(usize, [String; 4])> {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let stages = stages.map(|text| Some(text.as_bytes()).filter(|text| !text.is_empty()));
        let sections = find(&lines, size, stages, &Pace::alone(60_000)).expect("there is time");
        let shown = |section: &Section<'_>| {
            let base = section.base.map_or("-".to_owned(), <[&str]>::concat);
            (section.size, [section.labels.join(","), section.ours.concat(), base, section.theirs.concat()])
        };
        sections.iter().map(shown).collect()
    }

    fn row(size: usize, texts: [&str; 4]) -> (usize, [String; 4]) {
        (size, texts.map(str::to_owned))
    }

    #[test]
    fn every_style_and_length_is_found() {
        let two = "a\n<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> side one\nb\n";
        assert_eq!(found(two, 7, [""; 3]), [row(7, ["HEAD,,side one", "x\n", "-", "y\n"])]);
        let three = "<<<<<<< o\r\nx\r\n||||||| 1a2b\r\n=======\r\n>>>>>>> t";
        assert_eq!(found(three, 7, [""; 3]), [row(7, ["o,1a2b,t", "x\r\n", "", ""])]);
        let wide = "<<<<<<<<<< o\n=======\n==========\n>>>>>>>>>> t\n";
        assert_eq!(found(wide, 7, [""; 3]), [row(10, ["o,,t", "=======\n", "-", ""])]);
        let narrow = "<<<< o\nx\n====\n>>>> t\n";
        assert_eq!(found(narrow, 4, [""; 3]), [row(4, ["o,,t", "x\n", "-", ""])]);
        assert_eq!(found(narrow, 7, [""; 3]), []);
        let both = format!("{two}{wide}");
        assert_eq!(found(&both, 10, [""; 3]).len(), 1, "what attributes say is what Git wrote");
        assert_eq!(found(&both, 7, [""; 3]).len(), 2);
    }

    #[test]
    fn what_is_no_section_is_none() {
        for text in ["", "=======\n", "<<<<<<< x\n>>>>>>> y\n", "<<<<<<<x\n=======\n>>>>>>> y\n", "<<<<<<<\n=======\n"]
        {
            assert_eq!(found(text, 7, [""; 3]), [], "{text}");
        }
        let again = "<<<<<<< x\nlost\n<<<<<<< y\n=======\nz\n>>>>>>>\n";
        assert_eq!(found(again, 7, [""; 3]), [row(7, ["y,,", "", "-", "z\n"])]);
    }

    #[test]
    fn a_line_that_a_side_has_itself_is_no_marker() {
        let ours = "title\n=======\nx\n";
        let theirs = "other\n=======\ny\n>>>>>>> quoted\nz\n";
        let text = format!("<<<<<<< o\n{ours}=======\n{theirs}>>>>>>> t\nsame\n<<<<<<< o\np\n=======\nq\n>>>>>>> t\n");
        let stages = ["", &format!("{ours}same\np\n"), &format!("{theirs}same\nq\n")];
        let right = [row(7, ["o,,t", ours, "-", theirs]), row(7, ["o,,t", "p\n", "-", "q\n"])];
        assert_eq!(found(&text, 7, stages), right);
        let base = "old\n|||||||\n";
        let diff3 = format!("<<<<<<< o\n{ours}||||||| b\n{base}=======\nnew\n>>>>>>> t\n");
        let stages = [base, ours, "new\n"];
        assert_eq!(found(&diff3, 7, stages), [row(7, ["o,b,t", ours, base, "new\n"])]);
        // an edited file is part of neither version, and the first marker of a kind is as good as another
        assert_eq!(found(&text, 7, ["", "\n=======\n", "\n"]).len(), 2);
    }
}
