//! Rows of repo.conflictPreflight and conflict.read (contract `tools.json`, `results.md`, corrected by `corrections.md`).
//! Trust: constants.

use super::shared::*;
use crate::{
    limits::{CONFLICT_BYTES_PER_SIDE, CONFLICT_FILES, MAX_REF_CHARS},
    tool::{Annotations, Argument, Field, Kind, Shape, Tool, Toolset},
};

/// This family.
pub(super) const TOOLS: &[Tool] = &[PREFLIGHT, READ];

/// `repo.conflictPreflight`.
pub const PREFLIGHT: Tool = Tool {
    name: "repo.conflictPreflight",
    title: "Conflict preflight",
    description: "Call this before a merge or rebase to learn whether and where it would conflict, of a rebase also at \
        which commit. In memory, no fetch.",
    toolset: Toolset::Inspect,
    annotations: Annotations::LOCAL_READ,
    source: "local-git",
    arguments: &[
        REPO_PATH,
        Argument {
            name: "targetRef",
            kind: Kind::Text { min: 1, max: MAX_REF_CHARS },
            required: true,
            description: "",
        },
        Argument {
            name: "currentRef",
            kind: Kind::Text { min: 0, max: MAX_REF_CHARS },
            required: false,
            description: "Default HEAD.",
        },
        Argument {
            name: "operation",
            kind: Kind::OneOf { words: &["merge", "rebase"], default: Some("merge") },
            required: false,
            description: "",
        },
        REPO_ID,
    ],
    data: &[
        field("operation", Shape::OneOf(&["merge", "rebase"]), "What is predicted."),
        field("currentRef", Shape::Text, "As asked."),
        field("targetRef", Shape::Text, "As asked."),
        field("currentOid", Shape::Text, "Full id."),
        field("targetOid", Shape::Text, "Full id."),
        field("mergeBaseOid", Shape::Nullable("string"), "Best common ancestor; null when there is none."),
        field(
            "status",
            Shape::OneOf(&["unrelated-histories", "already-up-to-date", "fast-forward", "clean-merge", "conflicts"]),
            "How it would end.",
        ),
        field("conflictingPaths", Shape::List(&Shape::Text), "Paths that would be left unmerged, sorted."),
        field("conflicts", Shape::List(&Shape::Object(CONFLICT)), "The same paths with their kinds."),
        field("conflictCount", Shape::Count, "True number of these paths."),
        field("truncated", Shape::Boolean, "The lists are shorter than the number."),
        sometimes("rebase", Shape::Object(REBASE), "Of a rebase, what would be replayed."),
        field("readOnly", Shape::Boolean, "Always true."),
        field("networkFetchPerformed", Shape::Boolean, "Always false."),
        field("workingTreeMutated", Shape::Boolean, "Always false."),
        field("approvalRequiredForMerge", Shape::Boolean, "Always true."),
        field("guidance", Shape::Text, "What to do next."),
    ],
};

/// `conflict.read`.
pub const READ: Tool = Tool {
    name: "conflict.read",
    title: "Read conflicts",
    description: "Call this when a merge, rebase, cherry-pick or revert stopped: base, ours and theirs of each unmerged path, \
        marker regions, what waits.",
    toolset: Toolset::Inspect,
    annotations: Annotations::LOCAL_READ,
    source: "local-git",
    arguments: &[
        REPO_PATH,
        Argument {
            name: "maxFiles",
            kind: Kind::Integer { min: 1, max: CONFLICT_FILES.1 as i64, default: Some(CONFLICT_FILES.0 as i64) },
            required: false,
            description: "",
        },
        Argument {
            name: "maxBytesPerSide",
            kind: Kind::Integer {
                min: 1,
                max: CONFLICT_BYTES_PER_SIDE.1 as i64,
                default: Some(CONFLICT_BYTES_PER_SIDE.0 as i64),
            },
            required: false,
            description: "",
        },
        CURSOR,
        REPO_ID,
    ],
    data: &[
        field("inConflict", Shape::Boolean, "Some path is unmerged."),
        sometimes("hint", Shape::Text, "What to look at instead, when nothing is unmerged."),
        sometimes(
            "operation",
            Shape::OneOf(&["merge", "rebase", "cherry-pick", "revert", "am", "unknown"]),
            "The operation that stopped.",
        ),
        sometimes("progress", Shape::Object(PROGRESS), "How far a sequence of commits has come."),
        sometimes("ours", Shape::NullableObject(HEAD), "HEAD; in a rebase the target and what was replayed."),
        sometimes("theirs", Shape::NullableObject(HEAD), "The commit that is merged, picked, replayed or reverted."),
        sometimes("allTheirs", Shape::List(&Shape::Object(HEAD)), "Of an octopus merge all of them."),
        sometimes("conflictedFileCount", Shape::Count, "True number of unmerged paths."),
        sometimes("files", Shape::List(&Shape::Object(FILE)), "This page, by path."),
        sometimes("fileListTruncated", Shape::Boolean, "More unmerged paths follow."),
        sometimes("nextCursor", Shape::Text, "Pass it back as `cursor` to get the files after this page."),
        sometimes("maxBytesPerSide", Shape::Count, "As asked; files that share an answer may be cut earlier."),
        sometimes("guidance", Shape::Text, "What to do next."),
    ],
};

const INVOLVED: &[Field] = &[
    field("path", Shape::Text, "Repository-relative path."),
    sometimes("pathEncoding", ESCAPED, "Set where `path` is escaped."),
];

const CONFLICT: &[Field] = &[
    field("path", Shape::Text, "Repository-relative path."),
    sometimes("pathEncoding", ESCAPED, "Set where `path` is escaped."),
    field(
        "kind",
        Shape::OneOf(&[
            "content",
            "add/add",
            "modify/delete",
            "rename/rename",
            "rename/delete",
            "directory-rename",
            "binary",
            "submodule",
            "file/directory",
            "mode",
            "other",
        ]),
        "Git's word for it.",
    ),
    sometimes("involved", Shape::List(&Shape::Object(INVOLVED)), "Other paths of the same conflict."),
];

const REBASE: &[Field] = &[
    field("commits", Shape::Count, "Commits that would be replayed."),
    field("replayed", Shape::Count, "How many before the first conflict."),
    field("alreadyUpstream", Shape::Count, "Left out: the target has the same change."),
    field("mergesDropped", Shape::Count, "Merges left out, as by default."),
    field("becameEmpty", Shape::Count, "Left out: nothing of them remains."),
    sometimes("stoppedAt", Shape::Object(STOP), "Where it would stop first."),
];

const STOP: &[Field] = &[
    field("sha", Shape::Text, "Full id."),
    field("subject", Shape::Text, "Subject."),
    field("step", Shape::Count, "Its place among `commits`, from 1."),
];

const HEAD: &[Field] =
    &[field("sha", Shape::Text, "Full id."), field("subject", Shape::Text, "Subject; empty if unreadable.")];

const PROGRESS: &[Field] = &[
    sometimes("step", Shape::Count, "The step that stopped, from 1."),
    sometimes("steps", Shape::Count, "Steps in all."),
    sometimes("remaining", Shape::Count, "Commands not done, the one that stopped included."),
    sometimes("branch", Shape::Text, "The branch that is being rebased."),
    sometimes("branchEncoding", ESCAPED, "Set where `branch` is escaped."),
    sometimes("onto", Shape::Text, "Full id of the commit that it is rebased onto."),
    sometimes("origHead", Shape::Text, "Full id of where the branch was before."),
];

const FILE: &[Field] = &[
    field("path", Shape::Text, "Repository-relative path."),
    sometimes("pathEncoding", ESCAPED, "Set where `path` is escaped."),
    field(
        "kind",
        Shape::OneOf(&[
            "both-modified",
            "deleted-by-them",
            "deleted-by-us",
            "both-added",
            "added-by-us",
            "added-by-them",
            "both-deleted",
            "unknown",
        ]),
        "Which sides have it.",
    ),
    field("sides", Shape::Object(SIDES), "What each side has; null where it has nothing."),
    sometimes("renamedFrom", Shape::Object(INVOLVED), "Unmerged path that holds what this one was."),
    field("regions", Shape::List(&Shape::Object(REGION)), "Between conflict markers in the working tree."),
    sometimes("regionsTruncated", Shape::Boolean, "There may be more regions."),
    sometimes("worktreeFile", Shape::Text, "Why no regions were looked for: absent, not-a-file or unreadable."),
    sometimes("markerSize", Shape::Count, "Length of the markers, where it is not seven."),
];

const SIDES: &[Field] = &[
    field("base", Shape::NullableObject(SIDE), "Stage 1."),
    field("ours", Shape::NullableObject(SIDE), "Stage 2."),
    field("theirs", Shape::NullableObject(SIDE), "Stage 3."),
];

const SIDE: &[Field] = &[
    field("sha", Shape::Text, "Full id."),
    field("mode", Shape::Text, "100644, 100755, 120000 for a link, 160000 for a submodule."),
    sometimes("size", Shape::Count, "Bytes."),
    sometimes("truncated", Shape::Boolean, "`content` is not all of it."),
    sometimes("content", Shape::Text, "The text, cut at a character."),
    sometimes("lossy", Shape::Boolean, "Bytes that are not UTF-8 were replaced."),
    sometimes("binary", Shape::Boolean, "It is not text."),
    sometimes("submodule", Shape::Boolean, "`sha` is a commit of a submodule."),
    sometimes("error", Shape::Text, "Why there is no content."),
];

const REGION: &[Field] = &[
    field("startLine", Shape::Count, "The marker before ours."),
    sometimes("baseLine", Shape::Count, "The marker before the base, where the file shows it."),
    field("sepLine", Shape::Count, "The marker between the sides."),
    field("endLine", Shape::Count, "The marker after theirs."),
];

#[cfg(test)]
mod tests {
    use super::{super::agreement::both, *};
    use crate::{path::PathEncoding, results::*};

    fn involved(encoding: Option<PathEncoding>) -> InvolvedPath {
        InvolvedPath { path: "old".into(), path_encoding: encoding }
    }

    #[test]
    fn preflight_rows_match_the_type() {
        let conflict = PreflightConflict {
            path: "a".into(),
            path_encoding: Some(PathEncoding::Escaped),
            kind: "content".into(),
            involved: vec![involved(Some(PathEncoding::Escaped))],
        };
        let rebase = RebasePreflight {
            commits: 2,
            replayed: 0,
            already_upstream: 0,
            merges_dropped: 0,
            became_empty: 0,
            stopped_at: Some(RebaseStop { sha: "0".repeat(40), subject: "s".into(), step: 1 }),
        };
        let rich = Preflight {
            operation: PreflightOperation::Rebase,
            current_ref: "HEAD".into(),
            target_ref: "main".into(),
            current_oid: "0".repeat(40),
            target_oid: "1".repeat(40),
            merge_base_oid: Some("2".repeat(40)),
            status: PreflightStatus::Conflicts,
            conflicting_paths: vec!["a".into()],
            conflicts: vec![conflict.clone()],
            conflict_count: 1,
            truncated: false,
            rebase: Some(rebase),
            read_only: true,
            network_fetch_performed: false,
            working_tree_mutated: false,
            approval_required_for_merge: true,
            guidance: "look".into(),
        };
        let poor = Preflight {
            rebase: None,
            merge_base_oid: None,
            conflicts: vec![PreflightConflict { path_encoding: None, involved: vec![], ..conflict }],
            ..rich.clone()
        };
        both(&PREFLIGHT, &rich, &poor);
    }

    #[test]
    fn read_rows_match_the_type() {
        let side = ConflictSide {
            sha: "0".repeat(40),
            mode: "100644".into(),
            size: Some(1),
            truncated: Some(false),
            content: Some("x".into()),
            lossy: true,
            binary: true,
            submodule: true,
            error: Some("gone".into()),
        };
        let head = ConflictHead { sha: "0".repeat(40), subject: "s".into() };
        let file = ConflictFile {
            path: "a".into(),
            path_encoding: Some(PathEncoding::Escaped),
            kind: ConflictKind::BothModified,
            sides: ConflictSides { base: Some(side.clone()), ours: Some(side.clone()), theirs: Some(side) },
            renamed_from: Some(involved(Some(PathEncoding::Escaped))),
            regions: vec![ConflictRegion { start_line: 1, base_line: Some(2), sep_line: 3, end_line: 4 }],
            regions_truncated: true,
            worktree_file: Some("absent".into()),
            marker_size: Some(9),
        };
        let active = ActiveConflict {
            operation: ConflictOperation::CherryPick,
            progress: Some(OperationProgress {
                step: Some(1),
                steps: Some(2),
                remaining: Some(1),
                branch: Some("b".into()),
                branch_encoding: Some(PathEncoding::Escaped),
                onto: Some("0".repeat(40)),
                orig_head: Some("0".repeat(40)),
            }),
            ours: Some(head.clone()),
            theirs: Some(head.clone()),
            all_theirs: vec![head],
            conflicted_file_count: 1,
            files: vec![file],
            file_list_truncated: true,
            next_cursor: Some("c".into()),
            max_bytes_per_side: 1,
            guidance: "look".into(),
        };
        let rich = Conflict { in_conflict: true, hint: Some("none".into()), active: Some(active) };
        let poor = Conflict { in_conflict: false, hint: None, active: None };
        both(&READ, &rich, &poor);
    }
}
