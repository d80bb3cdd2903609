//! repo.refs, repo.reflog and repo.branchStack (contract `results.md`, corrected by `corrections.md`).
//! Trust: see the module above.

use super::Partial;
use crate::path::PathEncoding;
use bincode::{Decode, Encode};
use serde::Serialize;

/// `repo.refs`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Refs {
    /// Short name of the current branch, also while it is unborn; `HEAD` when detached.
    pub head: String,
    /// HEAD points at a commit, not at a branch.
    pub detached: bool,
    /// Full id of the commit at HEAD; null on an unborn branch.
    pub head_id: Option<String>,
    /// Short names of this page: where HEAD is when detached, local branches, remote ones.
    pub branches: Vec<String>,
    /// Short names of this page.
    pub tags: Vec<String>,
    /// Names of remotes; never their addresses.
    pub remotes: Vec<String>,
    /// One text per stash, newest first.
    pub stashes: Vec<String>,
    /// This page in full, in the order of full names; empty where names alone were asked for.
    pub refs: Vec<RefRow>,
    /// True sizes, of references after the pattern.
    pub totals: RefTotals,
    /// References follow after this page, or remotes or stashes were left out.
    pub truncated: bool,
    /// Where the next page starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Set when something was left out for lack of time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
}

/// What a full name says that a reference is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RefKind {
    /// A local branch.
    Local,
    /// A branch as it was at a remote.
    Remote,
    /// A tag.
    Tag,
    /// Any other.
    Other,
}

/// One reference.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RefRow {
    /// Full name.
    #[serde(rename = "ref")]
    pub name: String,
    /// Set where `ref` is escaped.
    #[serde(rename = "refEncoding", skip_serializing_if = "Option::is_none")]
    pub name_encoding: Option<PathEncoding>,
    /// What it is.
    pub kind: RefKind,
    /// Full id of the object; null where it is broken or leads nowhere.
    pub id: Option<String>,
    /// Of an annotated tag, the id of what it leads to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peeled: Option<String>,
    /// Of a symbolic reference, the full name that it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Of a local branch, the short name of what it follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// The upstream does not exist.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub upstream_gone: bool,
    /// Committer's time in UTC, ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// It holds neither an id nor the name of a reference, or cannot be read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub broken: bool,
}

/// True sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RefTotals {
    /// Local branches.
    pub local: u64,
    /// Remote branches.
    pub remote: u64,
    /// Tags.
    pub tags: u64,
    /// References of no other kind.
    pub other: u64,
    /// Configured remotes.
    pub remotes: u64,
    /// Stash entries.
    pub stashes: u64,
}

/// `repo.reflog`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reflog {
    /// As it was asked for.
    pub ref_name: String,
    /// Full name of the reference whose log this is.
    #[serde(rename = "ref")]
    pub full_name: String,
    /// This page, newest first.
    pub entries: Vec<ReflogEntry>,
    /// Entries of this page.
    pub entry_count: u64,
    /// Always true.
    pub read_only: bool,
    /// What to do with an entry.
    pub recovery_guidance: String,
    /// True number of entries of the log.
    pub total_entries: u64,
    /// Older entries follow after this page.
    pub truncated: bool,
    /// Where the next page starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Set when the log was not read to its end: the total is a lower bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
}

/// One move of a reference.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReflogEntry {
    /// Position in this page.
    pub index: u64,
    /// As it was asked for.
    pub ref_name: String,
    /// `ref@{n}`, which names this entry until the reference moves again.
    pub selector: String,
    /// Where the reference was; empty where it was nowhere.
    pub old_commit: String,
    /// Where it went; empty where it was deleted.
    pub new_commit: String,
    /// Abbreviated id of where it went.
    pub short_new_commit: String,
    /// What was done.
    pub message: String,
    /// Who did it.
    pub author_name: String,
    /// Their address.
    pub author_email: String,
    /// Seconds since 1970.
    pub timestamp: i64,
    /// Both commits are still here and differ.
    pub can_compare: bool,
}

/// `repo.branchStack`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchStack {
    /// Where HEAD is.
    pub current: StackCurrent,
    /// What the current branch follows; null when detached or none is configured.
    pub upstream: Option<StackUpstream>,
    /// What the current branch is compared with; null where no candidate exists.
    pub base: Option<StackBase>,
    /// Related local branches by name.
    pub related: Vec<StackRelated>,
    /// True number of related branches.
    pub related_total: u64,
    /// There are more than are listed.
    pub related_truncated: bool,
    /// How much care a rebase or a merge needs.
    pub risk: StackRisk,
    /// One sentence about the current branch.
    pub summary: String,
    /// What the numbers rest on.
    pub guidance: String,
    /// Fixed words.
    pub suggested_actions: Vec<String>,
    /// Fixed word.
    pub model: String,
    /// Always false.
    pub network_fetch_performed: bool,
    /// Always true.
    pub read_only: bool,
    /// Set when something was cut short: relations and counts are lower bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
}

/// The current branch.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StackCurrent {
    /// Full name; null when detached.
    #[serde(rename = "ref")]
    pub name: Option<String>,
    /// Short name; `HEAD` when detached.
    pub label: String,
    /// Full id; null on an unborn branch.
    pub commit: Option<String>,
    /// Commits that the upstream lacks.
    pub ahead: u64,
    /// Commits that only the upstream has.
    pub behind: u64,
}

/// Its upstream.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StackUpstream {
    /// Short name.
    #[serde(rename = "ref")]
    pub name: String,
    /// Short name.
    pub label: String,
    /// Full id; null where the upstream is gone.
    pub commit: Option<String>,
}

/// Its base.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StackBase {
    /// Full name.
    #[serde(rename = "ref")]
    pub name: String,
    /// Short name.
    pub label: String,
    /// Full id.
    pub commit: Option<String>,
    /// Null on an unborn branch.
    pub distance: Option<StackDistance>,
}

/// How far the current commit and the base have drifted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StackDistance {
    /// Commits that the base lacks.
    pub ahead_from_base: u64,
    /// Commits that only the base has.
    pub behind_base: u64,
}

/// A related branch.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StackRelated {
    /// Full name.
    #[serde(rename = "ref")]
    pub name: String,
    /// Set where `ref` and `label` are escaped.
    #[serde(rename = "refEncoding", skip_serializing_if = "Option::is_none")]
    pub name_encoding: Option<PathEncoding>,
    /// Short name.
    pub label: String,
    /// Full id.
    pub commit: String,
    /// How it is related.
    pub relation: StackRelation,
    /// Commits that the current branch lacks.
    pub ahead_of_current: u64,
    /// Commits that only the current branch has.
    pub behind_current: u64,
    /// Full name of its upstream; null where none is configured.
    pub upstream: Option<String>,
}

/// How a branch is related to the current one; the first that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StackRelation {
    /// Its upstream is the current branch.
    TracksCurrent,
    /// It has the current commit.
    DescendsFromCurrent,
    /// It has the base's commit.
    SharesBase,
}

/// How much care is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StackRisk {
    /// In step with the upstream, and no branch depends on it.
    Low,
    /// No upstream, or behind it, or other branches depend on this one.
    Medium,
    /// Branch and upstream have diverged.
    High,
}
