//! Rows of safety.* and flux.* (contract `tools.json`, `results.md`, corrected by `corrections.md`).
//! Trust: constants.

use super::shared::*;
use crate::{
    limits::{MAX_PATH_BYTES, MAX_REPO_ID_CHARS},
    tool::{Annotations, Argument, Field, Kind, Shape, Tool, Toolset},
};

/// This family.
pub(super) const TOOLS: &[Tool] =
    &[TIMELINE, EVENT_DETAILS, LATEST_RESTORE_POINT, RESTORE_POINTS, RESTORE_POINT_DETAILS];

const RUN_DIR: Argument = Argument {
    name: "runDir",
    kind: Kind::Text { min: 0, max: MAX_PATH_BYTES },
    required: false,
    description: "Default: all.",
};

const RECORD_ID: Argument = Argument { description: "Id in the run directory.", ..REPO_ID };

const LIMIT: Argument = integer("limit", 200, 50, "");

const fn integer(name: &'static str, max: i64, default: i64, description: &'static str) -> Argument {
    Argument { name, kind: Kind::Integer { min: 1, max, default: Some(default) }, required: false, description }
}

const fn boolean(name: &'static str, description: &'static str) -> Argument {
    Argument { name, kind: Kind::Boolean { default: Some(true) }, required: false, description }
}

const fn text(name: &'static str, description: &'static str) -> Argument {
    Argument { name, kind: Kind::Text { min: 0, max: MAX_REPO_ID_CHARS }, required: false, description }
}

const fn tool(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    arguments: &'static [Argument],
    data: &'static [Field],
) -> Tool {
    Tool {
        name,
        title,
        description,
        toolset: Toolset::Safety,
        annotations: Annotations::LOCAL_READ,
        source: "local-git",
        arguments,
        data,
    }
}

/// `safety.timeline`.
pub const TIMELINE: Tool = tool(
    "safety.timeline",
    "Safety timeline",
    "Call this when work seems lost or before anything risky: restore points and moves of HEAD, newest first.",
    &[
        REPO_PATH,
        LIMIT,
        integer("reflogLimit", 100, 12, ""),
        boolean("includeReflog", ""),
        boolean("includeRestorePoints", ""),
        RUN_DIR,
        RECORD_ID,
    ],
    &[
        field("events", Shape::List(&Shape::Object(EVENT)), "Newest first."),
        field("eventCount", Shape::Count, "Events listed."),
        field("totalEvents", Shape::Count, "All events there are."),
        field("truncated", Shape::Boolean, "Older events are left out."),
        READ_ONLY,
        APPROVAL_REQUIRED,
        APPROVAL_MESSAGE,
        NO_FETCH,
        PROBLEMS,
        sometimes("partial", Shape::Object(PARTIAL), "Set when counting stopped early: the total is a lower bound."),
    ],
);

/// `safety.eventDetails`.
pub const EVENT_DETAILS: Tool = tool(
    "safety.eventDetails",
    "Safety event",
    "Call this to find an event of safety.timeline again by its `id`, also when HEAD moved; without one, the newest.",
    &[REPO_PATH, text("eventId", ""), RUN_DIR, RECORD_ID],
    &[
        field("event", Shape::NullableObject(EVENT), "Null where there is none of that id."),
        field("eventFound", Shape::Boolean, "There is one."),
        READ_ONLY,
        APPROVAL_REQUIRED,
        APPROVAL_MESSAGE,
        PROBLEMS,
        sometimes("partial", Shape::Object(PARTIAL), "Set when the search stopped early."),
    ],
);

/// `flux.latestRestorePoint`.
pub const LATEST_RESTORE_POINT: Tool = tool(
    "flux.latestRestorePoint",
    "Latest restore point",
    "Call this to see whether the last guarded operation (rebase, reset) can be undone or redone now.",
    &[REPO_PATH, RUN_DIR, RECORD_ID],
    &[
        field("latestRestorePoint", Shape::NullableObject(RESTORE_POINT), "The newest."),
        RESTORE_LIST,
        RESTORE_COUNT,
        RESTORE_TRUNCATED,
        APPROVAL_REQUIRED,
        APPROVAL_MESSAGE,
        PROBLEMS,
    ],
);

/// `flux.restorePoints`.
pub const RESTORE_POINTS: Tool = tool(
    "flux.restorePoints",
    "Restore points",
    "Call this to list restore points, newest first, and whether each can be undone or redone.",
    &[REPO_PATH, LIMIT, RUN_DIR, RECORD_ID],
    &[RESTORE_LIST, RESTORE_COUNT, RESTORE_TRUNCATED, APPROVAL_REQUIRED, APPROVAL_MESSAGE, PROBLEMS],
);

/// `flux.restorePointDetails`.
pub const RESTORE_POINT_DETAILS: Tool = tool(
    "flux.restorePointDetails",
    "Restore point",
    "Call this to see one restore point by its `id`; without one, the newest.",
    &[REPO_PATH, text("restorePointId", ""), RUN_DIR, RECORD_ID],
    &[
        field("restorePoint", Shape::NullableObject(RESTORE_POINT), "Null where there is none of that id."),
        RESTORE_COUNT,
        APPROVAL_REQUIRED,
        APPROVAL_MESSAGE,
        PROBLEMS,
    ],
);

const READ_ONLY: Field = field("readOnly", Shape::Boolean, "True.");
const APPROVAL_REQUIRED: Field = field("approvalRequired", Shape::Boolean, "True: going back is a write.");
const APPROVAL_MESSAGE: Field = field("approvalMessage", Shape::Text, "What a write would need.");
const NO_FETCH: Field = field("networkFetchPerformed", Shape::Boolean, "False.");
const PROBLEMS: Field =
    sometimes("problems", Shape::List(&Shape::Text), "Files of the run directory that could not be used.");
const RESTORE_LIST: Field = field("restorePoints", Shape::List(&Shape::Object(RESTORE_POINT)), "Newest first.");
const RESTORE_COUNT: Field = field("restoreCount", Shape::Count, "All there are of this repository.");
const RESTORE_TRUNCATED: Field = field("truncated", Shape::Boolean, "Some are left out.");

const EVENT: &[Field] = &[
    field("id", Shape::Text, "Finds the event again."),
    field("repoLabel", Shape::Text, "Name of the repository's directory."),
    field("source", Shape::OneOf(&["restore_point", "reflog"]), "Where it was found."),
    field("kind", Shape::OneOf(&["restore_created", "ref_move"]), "What it is."),
    field("severity", Shape::OneOf(&["info", "warning"]), "warning: history may have been rewritten or joined."),
    field("title", Shape::Text, "A few words."),
    field("summary", Shape::Text, "A sentence, or the reflog's message."),
    field("occurredAtUnix", Shape::Integer, "Seconds since 1970."),
    field("headBefore", Shape::Nullable("string"), "Commit before it."),
    field("headAfter", Shape::Nullable("string"), "Commit after it."),
    sometimes("restorePoint", Shape::Object(RESTORE_POINT), "Of a restore point."),
    sometimes("reflogSelector", Shape::Text, "Of a reflog entry: HEAD@{n}, now."),
    sometimes("canCompare", Shape::Boolean, "Of a reflog entry: there are two different commits."),
    sometimes("identity", Shape::Text, "Of a reflog entry: who moved HEAD."),
    field("actions", Shape::List(&Shape::Text), "What a person could do with it."),
    APPROVAL_REQUIRED,
    NO_FETCH,
];

const RESTORE_POINT: &[Field] = &[
    field("id", Shape::Text, "Finds it again."),
    field("repoId", Shape::Text, "The run directory's name for the repository."),
    field("before", Shape::Nullable("string"), "Commit before the operation."),
    field("after", Shape::Nullable("string"), "Commit after it."),
    field("operation", Shape::Nullable("string"), "For example rebase."),
    field("canUndo", Shape::Boolean, "The repository stands where the operation left it."),
    field("canRedo", Shape::Boolean, "It was undone, and the repository stands where that left it."),
    APPROVAL_REQUIRED,
    APPROVAL_MESSAGE,
    field("metadata", Shape::Object(METADATA), "The rest of the record, and where HEAD is."),
];

const METADATA: &[Field] = &[
    field("checkpointPath", Shape::Text, "The record's file."),
    field("createdAt", Shape::Nullable("integer"), "Seconds since 1970."),
    field("branchRef", Shape::Nullable("string"), "Full name of the branch."),
    field("undone", Shape::Boolean, "The operation was undone."),
    field("beforeRef", Shape::Nullable("string"), "Keeps the commit before."),
    field("afterRef", Shape::Nullable("string"), "Keeps the commit after."),
    field("upstreamRef", Shape::Nullable("string"), "Upstream of the branch."),
    field("resetMode", Shape::Nullable("string"), "Of a reset: soft, mixed or hard."),
    field("plan", Shape::Any("whatever its writer planned, or null"), "As the writer left it."),
    sometimes("planCharacters", Shape::Count, "Length of a plan that is too long to be shown."),
    field("currentBranchRef", Shape::Nullable("string"), "Branch that HEAD is on."),
    field("currentHead", Shape::Nullable("string"), "Commit that HEAD is at."),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{catalogue::agreement::both, results::*};

    fn point(rich: bool) -> RestorePoint {
        RestorePoint {
            id: "restore:r:1".into(),
            repo_id: "r".into(),
            before: None,
            after: None,
            operation: None,
            can_undo: false,
            can_redo: false,
            approval_required: true,
            approval_message: "x".into(),
            metadata: RestoreMetadata {
                checkpoint_path: "/r/rebase/r.json".into(),
                created_at: None,
                branch_ref: None,
                undone: false,
                before_ref: None,
                after_ref: None,
                upstream_ref: None,
                reset_mode: None,
                plan: rich.then(|| r#"{"steps":[1]}"#.to_owned()),
                plan_characters: rich.then_some(1),
                current_branch_ref: None,
                current_head: None,
            },
        }
    }

    fn event(rich: bool) -> SafetyEvent {
        SafetyEvent {
            id: "x".into(),
            repo_label: "x".into(),
            source: EventSource::RestorePoint,
            kind: EventKind::RestoreCreated,
            severity: Severity::Warning,
            title: "x".into(),
            summary: "x".into(),
            occurred_at_unix: -1,
            head_before: None,
            head_after: None,
            restore_point: rich.then(|| point(true)),
            reflog_selector: rich.then(|| "HEAD@{0}".into()),
            can_compare: rich.then_some(true),
            identity: rich.then(|| "x".into()),
            actions: vec![Action::CopyRedactedSummary],
            approval_required: true,
            network_fetch_performed: false,
        }
    }

    fn problems(rich: bool) -> Vec<String> {
        if rich { vec!["x".into()] } else { Vec::new() }
    }

    fn partial(rich: bool) -> Option<Partial> {
        rich.then(|| Partial { reason: "x".into(), details: "x".into() })
    }

    #[test]
    fn rows_and_results_agree() {
        let timeline = |rich| Timeline {
            events: vec![event(rich)],
            event_count: 1,
            total_events: 1,
            truncated: false,
            read_only: true,
            approval_required: true,
            approval_message: "x".into(),
            network_fetch_performed: false,
            problems: problems(rich),
            partial: partial(rich),
        };
        both(&TIMELINE, &timeline(true), &timeline(false));
        let details = |rich| TimelineEvent {
            event: Some(event(rich)),
            event_found: true,
            read_only: true,
            approval_required: true,
            approval_message: "x".into(),
            problems: problems(rich),
            partial: partial(rich),
        };
        both(&EVENT_DETAILS, &details(true), &details(false));
        let list = |rich| RestorePointList {
            restore_points: vec![point(rich)],
            restore_count: 1,
            truncated: false,
            approval_required: true,
            approval_message: "x".into(),
            problems: problems(rich),
        };
        let all = |rich| RestorePoints::All(list(rich));
        both(&RESTORE_POINTS, &all(true), &all(false));
        let latest = |rich| {
            RestorePoints::Latest(LatestRestorePoint { latest_restore_point: Some(point(rich)), list: list(rich) })
        };
        both(&LATEST_RESTORE_POINT, &latest(true), &latest(false));
        let one = |rich| {
            RestorePoints::One(RestorePointDetails {
                restore_point: Some(point(rich)),
                restore_count: 1,
                approval_required: true,
                approval_message: "x".into(),
                problems: problems(rich),
            })
        };
        both(&RESTORE_POINT_DETAILS, &one(true), &one(false));
    }

    #[test]
    fn a_plan_is_a_value_and_text_that_is_none_is_null() {
        let json = |plan: &str| {
            let mut point = point(true);
            point.metadata.plan = Some(plan.to_owned());
            serde_json::to_value(point).expect("results serialise")["metadata"]["plan"].clone()
        };
        assert_eq!(json(r#"{"a":[1]}"#), serde_json::json!({"a": [1]}));
        assert!(json(r#"1,"forged":2"#).is_null());
    }
}
