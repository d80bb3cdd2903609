//! Rows of repo.refs, repo.reflog and repo.branchStack (contract `tools.json`, `results.md`, corrected by `corrections.md`).
//! Trust: constants.

use super::shared::*;
use crate::{
    limits::{DEFAULT_REFS, MAX_REF_CHARS, MAX_REFS, REFLOG_ENTRIES, STACK_BASES, STACK_RELATED},
    tool::{Annotations, Argument, Field, Kind, Shape, Tool, Toolset},
};

/// This family.
pub(super) const TOOLS: &[Tool] = &[REFS, REFLOG, BRANCH_STACK];

/// `repo.refs`.
pub const REFS: Tool = Tool {
    name: "repo.refs",
    title: "References",
    description: "Call this to find branches, tags, remotes or stashes, with ids, upstreams and dates. Narrow with `kind` and \
        `glob`; `totals` are true sizes.",
    toolset: Toolset::Inspect,
    annotations: Annotations::LOCAL_READ,
    source: "local-git",
    arguments: &[
        REPO_PATH,
        Argument {
            name: "kind",
            kind: Kind::OneOf { words: &["local", "remote", "tags", "other"], default: None },
            required: false,
            description: "Default branches and tags.",
        },
        Argument {
            name: "glob",
            kind: Kind::Text { min: 1, max: 512 },
            required: false,
            description: "On short names.",
        },
        Argument {
            name: "details",
            kind: Kind::Boolean { default: Some(true) },
            required: false,
            description: "False: names alone.",
        },
        limit(DEFAULT_REFS, MAX_REFS),
        CURSOR,
        REPO_ID,
    ],
    data: &[
        field("head", Shape::Text, "Short name of the current branch; `HEAD` when detached."),
        field("detached", Shape::Boolean, "HEAD points at a commit, not at a branch."),
        field("headId", Shape::Nullable("string"), "Full id of HEAD; null on an unborn branch."),
        field("branches", TEXTS, "Where HEAD is when detached, then local, then remote branches of this page."),
        field("tags", TEXTS, "Tags of this page."),
        field("remotes", TEXTS, "Names of remotes; first page only, at most 100."),
        field("stashes", TEXTS, "Stashes, newest first; first page only, at most 50."),
        field("refs", Shape::List(&Shape::Object(REF_ROW)), "This page by full name, with details."),
        field("totals", Shape::Object(REF_TOTALS), "True sizes; of references after `glob`."),
        field("truncated", Shape::Boolean, "Something follows after this page."),
        sometimes("nextCursor", Shape::Text, "Pass it back as `cursor` to get what follows."),
        sometimes("partial", Shape::Object(PARTIAL), "Set when time ran out: totals are lower bounds."),
    ],
};

/// `repo.reflog`.
pub const REFLOG: Tool = Tool {
    name: "repo.reflog",
    title: "Reflog",
    description: "Call this to find a commit that a reset, rebase, amend or deletion left behind: each move of a reference, \
        newest first.",
    toolset: Toolset::Inspect,
    annotations: Annotations::LOCAL_READ,
    source: "local-git",
    arguments: &[
        REPO_PATH,
        Argument {
            name: "refName",
            kind: Kind::Text { min: 0, max: MAX_REF_CHARS },
            required: false,
            description: "HEAD (default), branch, `stash`, `name@{n}`.",
        },
        limit(REFLOG_ENTRIES.0, REFLOG_ENTRIES.1),
        CURSOR,
        REPO_ID,
    ],
    data: &[
        field("refName", Shape::Text, "As it was asked for."),
        field("ref", Shape::Text, "Full name of the reference."),
        field("entries", Shape::List(&Shape::Object(REFLOG_ENTRY)), "This page, newest first."),
        field("entryCount", Shape::Count, "Entries of this page."),
        field("readOnly", Shape::Boolean, "Always true."),
        field("recoveryGuidance", Shape::Text, "What to do with an entry."),
        field("totalEntries", Shape::Count, "True number of entries of the log."),
        field("truncated", Shape::Boolean, "Older entries follow after this page."),
        sometimes("nextCursor", Shape::Text, "Pass it back as `cursor` to get older entries."),
        sometimes("partial", Shape::Object(PARTIAL), "Set when the log was not read to its end."),
    ],
};

/// `repo.branchStack`.
pub const BRANCH_STACK: Tool = Tool {
    name: "repo.branchStack",
    title: "Branch stack",
    description: "Call this before rebasing, merging or deleting the current branch: upstream, base, branches that stand \
        on it, and the risk of a rewrite.",
    toolset: Toolset::Inspect,
    annotations: Annotations::LOCAL_READ,
    source: "local-git",
    arguments: &[
        REPO_PATH,
        Argument {
            name: "baseCandidates",
            kind: Kind::ListOf { item: &Kind::Text { min: 1, max: MAX_REF_CHARS }, min: 0, max: STACK_BASES },
            required: false,
            description: "Best first; default main, master, develop, dev, trunk.",
        },
        Argument {
            name: "maxRelated",
            kind: Kind::Integer { min: 1, max: STACK_RELATED.1 as i64, default: Some(STACK_RELATED.0 as i64) },
            required: false,
            description: "",
        },
        REPO_ID,
    ],
    data: &[
        field("current", Shape::Object(STACK_CURRENT), "Where HEAD is."),
        field("upstream", Shape::NullableObject(STACK_UPSTREAM), "What it follows; commit null where that is gone."),
        field("base", Shape::NullableObject(STACK_BASE), "First candidate that exists, locally or at `origin`."),
        field("related", Shape::List(&Shape::Object(STACK_RELATED_ROW)), "Related local branches by name."),
        field("relatedTotal", Shape::Count, "True number of related branches."),
        field("relatedTruncated", Shape::Boolean, "There are more than are listed."),
        field(
            "risk",
            Shape::OneOf(&["low", "medium", "high"]),
            "High when diverged; medium without upstream, behind, or with related branches.",
        ),
        field("summary", Shape::Text, "One sentence about the current branch."),
        field("guidance", Shape::Text, "What the numbers rest on."),
        field("suggestedActions", TEXTS, "Fixed words."),
        field("model", Shape::Text, "Fixed word."),
        field("networkFetchPerformed", Shape::Boolean, "Always false."),
        field("readOnly", Shape::Boolean, "Always true."),
        sometimes("partial", Shape::Object(PARTIAL), "Set when cut short: relations and counts are lower bounds."),
    ],
};

const TEXTS: Shape = Shape::List(&Shape::Text);

const REF_ROW: &[Field] = &[
    field("ref", Shape::Text, "Full name."),
    sometimes("refEncoding", ESCAPED, "Set where `ref` is escaped."),
    field("kind", Shape::OneOf(&["local", "remote", "tag", "other"]), "What it is."),
    field("id", Shape::Nullable("string"), "Full id; null where it is broken or leads nowhere."),
    sometimes("peeled", Shape::Text, "Of an annotated tag, what it leads to."),
    sometimes("target", Shape::Text, "Of a symbolic reference, the name that it holds."),
    sometimes("upstream", Shape::Text, "Short name of what a local branch follows."),
    sometimes("upstreamGone", Shape::Boolean, "The upstream does not exist."),
    sometimes("date", Shape::Text, "Committer's time in UTC."),
    sometimes("broken", Shape::Boolean, "Cannot be read as a reference."),
];

const REF_TOTALS: &[Field] = &[
    field("local", Shape::Count, "Local branches."),
    field("remote", Shape::Count, "Remote branches."),
    field("tags", Shape::Count, "Tags."),
    field("other", Shape::Count, "References of no other kind."),
    field("remotes", Shape::Count, "Configured remotes."),
    field("stashes", Shape::Count, "Stash entries."),
];

const REFLOG_ENTRY: &[Field] = &[
    field("index", Shape::Count, "Position in this page."),
    field("refName", Shape::Text, "As it was asked for."),
    field("selector", Shape::Text, "`ref@{n}`."),
    field("oldCommit", Shape::Text, "Where it was; empty where it was nowhere."),
    field("newCommit", Shape::Text, "Where it went; empty where it was deleted."),
    field("shortNewCommit", Shape::Text, "Abbreviated."),
    field("message", Shape::Text, "What was done."),
    field("authorName", Shape::Text, "Who did it."),
    field("authorEmail", Shape::Text, "Their address."),
    field("timestamp", Shape::Integer, "Seconds since 1970."),
    field("canCompare", Shape::Boolean, "Both commits are still here and differ."),
];

const STACK_CURRENT: &[Field] = &[
    field("ref", Shape::Nullable("string"), "Full name; null when detached."),
    field("label", Shape::Text, "Short name; `HEAD` when detached."),
    field("commit", Shape::Nullable("string"), "Full id; null on an unborn branch."),
    field("ahead", Shape::Count, "Commits that the upstream lacks."),
    field("behind", Shape::Count, "Commits that only the upstream has."),
];

const STACK_UPSTREAM: &[Field] = &[
    field("ref", Shape::Text, "Short name."),
    field("label", Shape::Text, "Short name."),
    field("commit", Shape::Nullable("string"), "Full id."),
];

const STACK_BASE: &[Field] = &[
    field("ref", Shape::Text, "Full name."),
    field("label", Shape::Text, "Short name."),
    field("commit", Shape::Nullable("string"), "Full id."),
    field("distance", Shape::NullableObject(STACK_DISTANCE), "Null on an unborn branch."),
];

const STACK_DISTANCE: &[Field] = &[
    field("aheadFromBase", Shape::Count, "Commits that the base lacks."),
    field("behindBase", Shape::Count, "Commits that only the base has."),
];

const STACK_RELATED_ROW: &[Field] = &[
    field("ref", Shape::Text, "Full name."),
    sometimes("refEncoding", ESCAPED, "Set where `ref` and `label` are escaped."),
    field("label", Shape::Text, "Short name."),
    field("commit", Shape::Text, "Full id."),
    field(
        "relation",
        Shape::OneOf(&["tracks-current", "descends-from-current", "shares-base"]),
        "The first that holds: its upstream is the current branch, it has its commit, it has the base's.",
    ),
    field("aheadOfCurrent", Shape::Count, "Commits that the current branch lacks."),
    field("behindCurrent", Shape::Count, "Commits that only the current branch has."),
    field("upstream", Shape::Nullable("string"), "Full name of its upstream."),
];

#[cfg(test)]
mod tests {
    use super::{
        super::agreement::{both, partial},
        *,
    };
    use crate::{path::PathEncoding, results::*};

    #[test]
    fn refs_rows_match_the_type() {
        let row = RefRow {
            name: "refs/tags/v1".into(),
            name_encoding: Some(PathEncoding::Escaped),
            kind: RefKind::Tag,
            id: Some("0".repeat(40)),
            peeled: Some("0".repeat(40)),
            target: Some("refs/heads/x".into()),
            upstream: Some("origin/x".into()),
            upstream_gone: true,
            date: Some("2026-01-01T00:00:00+00:00".into()),
            broken: true,
        };
        let texts = || vec!["x".to_owned()];
        let rich = Refs {
            head: "main".into(),
            detached: false,
            head_id: None,
            branches: texts(),
            tags: texts(),
            remotes: texts(),
            stashes: texts(),
            refs: vec![row.clone()],
            totals: RefTotals::default(),
            truncated: true,
            next_cursor: Some("c".into()),
            partial: partial(),
        };
        let row = RefRow {
            name_encoding: None,
            peeled: None,
            target: None,
            upstream: None,
            upstream_gone: false,
            date: None,
            broken: false,
            ..row
        };
        let poor = Refs { refs: vec![row], next_cursor: None, partial: None, ..rich.clone() };
        both(&REFS, &rich, &poor);
    }

    #[test]
    fn reflog_rows_match_the_type() {
        let entry = ReflogEntry {
            index: 0,
            ref_name: "HEAD".into(),
            selector: "HEAD@{0}".into(),
            old_commit: String::new(),
            new_commit: "0".repeat(40),
            short_new_commit: "0000000".into(),
            message: "commit: m".into(),
            author_name: "A".into(),
            author_email: "a@b".into(),
            timestamp: 1,
            can_compare: false,
        };
        let rich = Reflog {
            ref_name: "HEAD".into(),
            full_name: "HEAD".into(),
            entries: vec![entry],
            entry_count: 1,
            read_only: true,
            recovery_guidance: "look".into(),
            total_entries: 2,
            truncated: true,
            next_cursor: Some("c".into()),
            partial: partial(),
        };
        let poor = Reflog { next_cursor: None, partial: None, ..rich.clone() };
        both(&REFLOG, &rich, &poor);
    }

    #[test]
    fn branch_stack_rows_match_the_type() {
        let related = StackRelated {
            name: "refs/heads/x".into(),
            name_encoding: Some(PathEncoding::Escaped),
            label: "x".into(),
            commit: "0".repeat(40),
            relation: StackRelation::SharesBase,
            ahead_of_current: 1,
            behind_current: 2,
            upstream: None,
        };
        let rich = BranchStack {
            current: StackCurrent { name: None, label: "HEAD".into(), commit: None, ahead: 0, behind: 0 },
            upstream: Some(StackUpstream { name: "o/m".into(), label: "o/m".into(), commit: None }),
            base: Some(StackBase {
                name: "refs/heads/m".into(),
                label: "m".into(),
                commit: None,
                distance: Some(StackDistance { ahead_from_base: 0, behind_base: 0 }),
            }),
            related: vec![related.clone()],
            related_total: 1,
            related_truncated: false,
            risk: StackRisk::Low,
            summary: "s".into(),
            guidance: "g".into(),
            suggested_actions: vec!["compareWithBase".into()],
            model: "m".into(),
            network_fetch_performed: false,
            read_only: true,
            partial: partial(),
        };
        let poor = BranchStack {
            upstream: None,
            base: None,
            related: vec![StackRelated { name_encoding: None, ..related }],
            partial: None,
            ..rich.clone()
        };
        both(&BRANCH_STACK, &rich, &poor);
    }
}
