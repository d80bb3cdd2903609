//! One line of CODEOWNERS: a pattern, and words that must all be owners.
//! Trust: the line is the repository's; what is not exactly of this form is skipped, as GitHub does.

/// Bytes of a line at most; a longer one was not written by a person and is skipped.
const MAX_LINE: usize = 16 << 10;
/// Characters of an owner's name or of the parts of an address at most.
const MAX_NAME: usize = 255;

/// A line that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'f> {
    /// The pattern, as it is written.
    pub(super) pattern: &'f [u8],
    owners: &'f [u8],
}

impl<'f> Line<'f> {
    /// Who owns what the pattern matches.
    pub(super) fn owners(&self) -> impl Iterator<Item = &'f str> + use<'f> {
        words(self.owners).filter_map(|word| std::str::from_utf8(word).ok())
    }
}

/// The line, unless it is blank, a comment, or not of the right form.
pub(super) fn parse(line: &[u8]) -> Option<Line<'_>> {
    // a space at the end may belong to the pattern
    let line = line.strip_suffix(b"\r").unwrap_or(line).trim_ascii_start();
    if line.is_empty() || line.len() > MAX_LINE || matches!(line[0], b'#' | b'!') || line.starts_with(b"\\#") {
        return None;
    }
    let (pattern, rest) = line.split_at(end_of_pattern(line)?);
    if !is_pattern(pattern) {
        return None;
    }
    let owners = &rest[..start_of_comment(rest)];
    words(owners).all(is_owner).then_some(Line { pattern, owners })
}

/// Where the first space is that no backslash stands before; `None` where a backslash is the last thing.
fn end_of_pattern(line: &[u8]) -> Option<usize> {
    let mut at = 0;
    while at < line.len() {
        match line[at] {
            b'\\' if at + 1 == line.len() => return None,
            b'\\' => at += 2,
            byte if byte.is_ascii_whitespace() => return Some(at),
            _ => at += 1,
        }
    }
    Some(line.len())
}

/// Ranges and three asterisks in a row are no patterns for GitHub; NUL is in no path.
fn is_pattern(pattern: &[u8]) -> bool {
    !pattern.iter().any(|byte| matches!(byte, b'[' | b']' | 0)) && !pattern.windows(3).any(|three| three == b"***")
}

fn start_of_comment(rest: &[u8]) -> usize {
    let begins = |at: &usize| rest[*at] == b'#' && (*at == 0 || rest[at - 1].is_ascii_whitespace());
    (0..rest.len()).find(begins).unwrap_or(rest.len())
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// `@user`, `@org/team` or `name@domain`.
fn is_owner(word: &[u8]) -> bool {
    let only = |text: &[u8], extra: &[u8]| {
        (1..=MAX_NAME).contains(&text.len())
            && text.iter().all(|byte| byte.is_ascii_alphanumeric() || extra.contains(byte))
    };
    if let Some(name) = word.strip_prefix(b"@") {
        return match name.iter().position(|&byte| byte == b'/') {
            Some(at) => only(&name[..at], b"-_") && only(&name[at + 1..], b"-_."),
            // managed users have the short code of their enterprise after an underscore
            None => only(name, b"-_"),
        };
    }
    let Some(at) = word.iter().position(|&byte| byte == b'@') else { return false };
    let (local, domain) = (&word[..at], &word[at + 1..]);
    let last = domain.rsplit(|&byte| byte == b'.').next().unwrap_or_default();
    only(local, b".!#$%&'*+/=?^_`{|}~-")
        && only(domain, b".-")
        && domain.contains(&b'.')
        && last.len() >= 2
        && last.iter().all(u8::is_ascii_alphabetic)
        && !domain.starts_with(b".")
}
