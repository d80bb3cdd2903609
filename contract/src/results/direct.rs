//! What the direct surface alone asks of a repository (contract `direct/results.md` §3); other answers it shares.
//! Trust: see the module above; the supervisor renders these in the spelling of that surface.

use super::Partial;
use crate::path::PathEncoding;
use bincode::{Decode, Encode};

/// A path with its mark.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct NamedPath {
    /// Repository-relative path.
    pub path: String,
    /// Set where `path` is escaped.
    pub path_encoding: Option<PathEncoding>,
}

/// Paths in Git's order: of `repo_list_files` and of `repo_conflicts`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct PathList {
    /// The first ones, as many as fit.
    pub paths: Vec<NamedPath>,
    /// How many there are.
    pub total: u64,
    /// Set where counting stopped early: `total` is a lower bound then.
    pub partial: Option<Partial>,
}

/// `repo_show_file`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ShownFile {
    /// The beginning of the text, cut at a character. Bytes that are not UTF-8 stand as U+FFFD.
    pub text: String,
    /// Bytes of the whole text in that form.
    pub total: u64,
}

/// `repo_annotate`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct Annotated {
    /// The first lines, as many as fit.
    pub lines: Vec<AnnotatedLine>,
    /// Lines of the file.
    pub total: u64,
    /// The file passes through a filter, which was not run: its committed contents stand for the file on disk.
    pub filtered: bool,
    /// Set where lines are laid to commits that may not be the ones that made them: an older one could not be read, or a file
    /// of attributes, which may say how the file on disk is converted.
    pub partial: Option<Partial>,
}

/// One line and who made it.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct AnnotatedLine {
    /// Full id of the commit; all zeros where it is not committed.
    pub id: String,
    /// Its number, from 1.
    pub line: u64,
    /// Its text without the line feed. Bytes that are not UTF-8 stand as U+FFFD.
    pub content: String,
    /// Name of the commit's author after `.mailmap`; `Not Committed Yet` where it is not committed.
    pub author: String,
    /// Author time in seconds since 1970; of what is not committed, now.
    pub date: i64,
    /// Seconds east of UTC in which the author wrote that time.
    pub offset: i32,
    /// Both in ISO 8601.
    pub written: String,
}

/// `repo_merge_base`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct MergeBase {
    /// Full id of the best common ancestor that Git names first; none where the histories share no commit.
    pub id: Option<String>,
}

/// `repo_remotes`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct Remotes {
    /// By name, at most [`crate::limits::DIRECT_REMOTES`].
    pub remotes: Vec<Remote>,
    /// How many there are.
    pub total: u64,
}

/// One remote.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Remote {
    /// Its name.
    pub name: String,
    /// The first address to fetch from as it is configured, but for secrets, each of which is `***`; none where no address
    /// is configured.
    pub url: Option<String>,
}

/// `repo_restore_points`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct Points {
    /// Newest first.
    pub points: Vec<Point>,
    /// How many there are of this working tree.
    pub total: u64,
}

/// Something to go back to.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Point {
    /// Its id.
    pub id: String,
    /// When it was made, in ISO 8601.
    pub made: String,
    /// The tool before which it was made.
    pub before: String,
    /// Branch that was checked out; `None` where HEAD was on none.
    pub branch: Option<String>,
    /// Full id of HEAD; `None` on an unborn branch.
    pub head: Option<String>,
    /// The operation that was open, in words; `None` where there was none.
    pub during: Option<String>,
}

/// `repo_conflict_regions`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct ConflictRegions {
    /// All of them, in order.
    pub regions: Vec<MarkedRegion>,
}

/// What stands between conflict markers in a file of the working tree. Lines keep their ends.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct MarkedRegion {
    /// What follows the first marker; empty where nothing does.
    pub ours_label: String,
    /// What follows the marker before the base; none where the base is not shown.
    pub base_label: Option<String>,
    /// What follows the last marker.
    pub theirs_label: String,
    /// Lines of our side.
    pub ours: Vec<String>,
    /// Lines of the base; none where it is not shown.
    pub base: Option<Vec<String>>,
    /// Lines of their side.
    pub theirs: Vec<String>,
    /// Characters of a marker.
    pub marker_len: u32,
}
