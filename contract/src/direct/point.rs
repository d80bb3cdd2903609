//! Restore points: the refs that one consists of, and what the message of its commits says. Written by the process that writes,
//! read by the one that reads. Trust: anybody can make refs and messages; what does not read as ours is none.

/// Where the points are; a point's id and the names of its parts follow.
pub const PREFIX: &str = "refs/bulkhead/restore/";
/// What [`Message::during`] says where no operation was open.
pub const NOTHING: &str = "nothing";
/// Name of the part that every point has.
pub const INDEX: &str = "index";

/// What the message of a point's commits says; `Option`s are written as `-`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Tool before which it was made.
    pub before: String,
    /// Seconds since 1970.
    pub made: i64,
    /// Branch that was checked out; `None` where HEAD was on none.
    pub branch: Option<String>,
    /// Full id of HEAD; `None` on an unborn branch.
    pub head: Option<String>,
    /// The working tree that it was made of.
    pub root: String,
    /// Operation that was open, in words; [`NOTHING`] where there was none.
    pub during: String,
    /// `all`, or why untracked files are missing.
    pub untracked: String,
    /// Name of the ref whose value the part `tip` keeps.
    pub tip: Option<String>,
}

/// Names of the lines of a message, in their order.
const LINES: [&str; 8] = ["Tool", "Made", "Branch", "Head", "Worktree", "During", "Untracked", "Tip"];

impl Message {
    /// Its text. Line feeds in a path would end a line early, so they are shown instead.
    #[must_use]
    pub fn text(&self) -> String {
        let none = || "-".to_owned();
        let values = [
            self.before.clone(),
            self.made.to_string(),
            self.branch.clone().unwrap_or_else(none),
            self.head.clone().unwrap_or_else(none),
            self.root.replace('\n', "\u{fffd}"),
            self.during.clone(),
            self.untracked.clone(),
            self.tip.clone().unwrap_or_else(none),
        ];
        let mut text = format!("Restore point before {}\n\n", self.before);
        for (name, value) in LINES.iter().zip(values) {
            text.push_str(&format!("Bulkhead-{name}: {value}\n"));
        }
        text
    }

    /// Of a commit's message; `None` where it is none of ours.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut values = LINES.iter().map(|name| {
            let beginning = format!("Bulkhead-{name}: ");
            text.lines().find_map(|line| line.strip_prefix(&beginning)).map(str::to_owned)
        });
        let mut next = || values.next().flatten();
        let some = |value: String| Some(value).filter(|value| value != "-");
        Some(Self {
            before: next()?,
            made: next()?.parse().ok()?,
            branch: some(next()?),
            head: some(next()?),
            root: next()?,
            during: next()?,
            untracked: next()?,
            tip: some(next()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written() {
        let message = Message {
            before: "repo_commit".to_owned(),
            made: 1_796_080_000,
            branch: None,
            head: Some("a".repeat(40)),
            root: "/srv/re po".to_owned(),
            during: "a rebase".to_owned(),
            untracked: "all".to_owned(),
            tip: Some("refs/heads/x".to_owned()),
        };
        assert_eq!(Message::read(&message.text()), Some(message));
        assert_eq!(Message::read("Restore point before x\n"), None);
    }
}
