//! Where a walk stands, as a line of text that a caller gives back.
//! Trust: the text is the caller's, who may have made it up; ids in it are looked up before anything is done with them.

use gix::ObjectId;
use std::fmt::Write as _;

/// Ids in a list of a position at most.
const MAX_IDS: usize = 64;

/// Where a walk stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Position {
    /// The commit that was given last.
    pub last: Option<ObjectId>,
    /// The oldest date that the walk has come to; as text only beside a frontier.
    pub oldest: i64,
    /// The commits that come next; `None` where the walk has to be walked again, up to `last`.
    pub frontier: Option<Vec<ObjectId>>,
    /// The path that is followed from here on; as text only beside a frontier.
    pub path: Option<Vec<u8>>,
}

impl Position {
    /// As text without blanks: four fields with a dot between, or `last` alone where there is no frontier. Whoever pages pays
    /// for every character of it.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        if let Some(last) = self.last {
            let _ = write!(text, "{last}");
        }
        let Some(frontier) = &self.frontier else { return text };
        let _ = write!(text, ".{}.{}.", self.oldest, list(frontier));
        for byte in self.path.iter().flatten() {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    /// From the text; `None` where we never wrote it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let last = |text: &str| if text.is_empty() { Some(None) } else { id(text).map(Some) };
        let fields: Vec<&str> = text.splitn(5, '.').collect();
        let position = match fields[..] {
            [alone] => Self { last: last(alone)?, ..Self::default() },
            [before, oldest, frontier, path] => {
                let path = if path.is_empty() { None } else { Some(bytes(path)?) };
                Self { last: last(before)?, oldest: oldest.parse().ok()?, frontier: Some(ids(frontier)?), path }
            }
            _ => return None,
        };
        // one text for one position
        (position.text() == text).then_some(position)
    }
}

/// Ids with a comma between.
pub(crate) fn list(ids: &[ObjectId]) -> String {
    ids.iter().map(ObjectId::to_string).collect::<Vec<_>>().join(",")
}

/// The ids of a [`list`].
pub(crate) fn ids(text: &str) -> Option<Vec<ObjectId>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    if text.split(',').count() > MAX_IDS {
        return None;
    }
    text.split(',').map(id).collect()
}

fn id(text: &str) -> Option<ObjectId> {
    ObjectId::from_hex(text.as_bytes()).ok()
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = hex.as_bytes().chunks(2);
    pairs.map(|pair| if let [high, low] = pair { Some(digit(*high)? * 16 + digit(*low)?) } else { None }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_comes_back() {
        let one = ObjectId::from([1; 20]);
        let all = [
            Position::default(),
            Position { last: Some(one), ..Position::default() },
            Position { last: Some(one), oldest: -3, frontier: Some(vec![one, one]), path: Some(b"a.b\xff".to_vec()) },
            Position { last: None, oldest: i64::MAX, frontier: Some(vec![]), path: None },
        ];
        for position in all {
            assert_eq!(Position::parse(&position.text()), Some(position));
        }
    }

    #[test]
    fn what_we_never_wrote_is_refused() {
        for text in
            ["x", ".", "...", ".1.", ".1..0", ".1..00.", ".01..", "x.1..", ".1.x.", ".1.,.", ".+1..", ".1..FF", ".1.*."]
        {
            assert_eq!(Position::parse(text), None, "{text}");
        }
    }
}
