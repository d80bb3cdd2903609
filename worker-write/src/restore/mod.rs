//! Restore points: what HEAD, index, working tree and untracked files were before an operation, as refs of our own.
//! Trust: the refs may have been made by anybody; a point is taken only if it reads as one of ours does.
//!
//! `refs/bulkhead/restore/<id>/` holds up to five names. Contents are raw bytes: no filter and no conversion of line ends
//! takes part, neither here nor on the way back.
//!
//! * `head`: the commit that HEAD was at; missing on an unborn branch.
//! * `index`: a commit whose tree holds `index` (the file itself, which alone keeps all of it: stages, intents to add,
//!   flags), `tree` (all entries that are merged) and `unmerged` (objects of the others), so that nothing of it is
//!   collected as garbage.
//! * `worktree`: a commit of all tracked files as they lie in the working tree.
//! * `untracked`: a commit of files that are neither tracked nor ignored; missing where there are none, or where there are
//!   more than [`MAX_UNTRACKED`] or more bytes than [`MAX_UNTRACKED_BYTES`].
//! * `tip`: what a branch or tag named that the operation deletes or moves.
//!
//! The shared stash is never touched. Points belong to one working tree, whose path is in their message.

mod back;
mod list;
mod make;
mod when;

pub(crate) use back::back;
pub(crate) use list::{list, points};
pub(crate) use make::{all_kept, make, nothing_lost};

/// Where the points are.
pub const PREFIX: &str = "refs/bulkhead/restore/";
/// Points of one repository that are kept; making another one removes the oldest.
pub const MAX_POINTS: usize = 100;
/// Untracked files that a point holds at most.
pub const MAX_UNTRACKED: usize = 5_000;
/// Bytes of untracked files that a point holds at most.
pub const MAX_UNTRACKED_BYTES: u64 = 64 << 20;

/// What the message of a point's commits says; `Option`s are written as `-`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    /// Tool before which it was made.
    pub(crate) before: String,
    /// Seconds since 1970.
    pub(crate) made: i64,
    pub(crate) branch: Option<String>,
    pub(crate) head: Option<String>,
    /// The working tree that it was made of.
    pub(crate) root: String,
    /// Operation that was open, a word of [`crate::standing::word`].
    pub(crate) during: String,
    /// `all`, or why untracked files are missing.
    pub(crate) untracked: String,
    /// Name of the ref whose value `tip` keeps.
    pub(crate) tip: Option<String>,
}

/// Names of the lines of a message, in their order.
const LINES: [&str; 8] = ["Tool", "Made", "Branch", "Head", "Worktree", "During", "Untracked", "Tip"];

impl Message {
    /// Its text. Line feeds in a path would end a line early, so they are shown instead.
    pub(crate) fn text(&self) -> String {
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
    pub(crate) fn read(text: &str) -> Option<Self> {
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
