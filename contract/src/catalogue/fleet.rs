//! Rows of fleet.radar and fleet.digest (contract `tools.json`, `results.md`, corrected by `corrections.md`).
//! Trust: constants.

use super::shared::*;
use crate::{
    limits::{DEFAULT_FLEET, DIGEST_EVENTS, MAX_FLEET},
    tool::{Annotations, Argument, Field, Kind, Shape, Tool, Toolset},
};

/// This family.
pub(super) const TOOLS: &[Tool] = &[RADAR, DIGEST];

const REPO_PATHS: Argument = Argument {
    name: "repoPaths",
    kind: Kind::ListOf { item: &Kind::Path, min: 1, max: MAX_FLEET },
    required: false,
    description: "",
};

/// `fleet.radar`.
pub const RADAR: Tool = Tool {
    name: "fleet.radar",
    title: "Fleet radar",
    description: "Call this to see which of many repositories need attention, most urgent first: conflicts, divergence, changes. \
        Needs repoPaths or repositories.",
    toolset: Toolset::Fleet,
    annotations: Annotations::LOCAL_READ,
    source: "local-git",
    arguments: &[
        REPO_PATHS,
        Argument {
            name: "repositories",
            kind: Kind::ListOf { item: &Kind::Object(REPOSITORY), min: 1, max: MAX_FLEET },
            required: false,
            description: "",
        },
        Argument {
            name: "maxRepos",
            kind: Kind::Integer { min: 1, max: MAX_FLEET as i64, default: Some(DEFAULT_FLEET as i64) },
            required: false,
            description: "",
        },
    ],
    data: &[
        field("entries", Shape::List(&Shape::Object(ENTRY)), "In the order of the arguments, least urgent cut first."),
        field("attentionStack", Shape::List(&Shape::Object(ATTENTION)), "Those not clean, most urgent first."),
        sometimes("attentionOmitted", Shape::Count, "How many of those did not fit."),
        field("requestedCount", Shape::Count, "Repositories that were named."),
        field("scannedCount", Shape::Count, "How many were looked at, failed ones included."),
        field("failedCount", Shape::Count, "How many could not be read, or not in full."),
        field("dirtyCount", Shape::Count, "How many have changes."),
        field("conflictCount", Shape::Count, "How many have unmerged paths."),
        field("truncatedCount", Shape::Count, "How many have no row in `entries`; name fewer to see them."),
        sometimes("unansweredCount", Shape::Count, "How many had not answered when the time was up."),
        field("elapsedMs", Shape::Count, "Milliseconds in all."),
        field("network", Shape::Object(NETWORK), "Where remote states come from."),
        field("guidance", Shape::Text, "How to read this."),
        sometimes("partial", Shape::Object(PARTIAL), "Set when the time was up before all had answered."),
    ],
};

/// `fleet.digest`.
pub const DIGEST: Tool = Tool {
    name: "fleet.digest",
    title: "Fleet digest",
    description: "Call this to learn what commits, resets, rebases and checkouts many repositories saw since a time; `rewrote` \
        marks lost history. Default: the registry.",
    toolset: Toolset::Fleet,
    annotations: Annotations::LOCAL_READ,
    source: "local-git",
    arguments: &[
        Argument {
            name: "sinceMs",
            kind: Kind::Integer { min: 0, max: i64::MAX, default: None },
            required: true,
            description: "Since 1970.",
        },
        REPO_PATHS,
        Argument {
            name: "maxEvents",
            kind: Kind::Integer { min: 1, max: DIGEST_EVENTS.1 as i64, default: Some(DIGEST_EVENTS.0 as i64) },
            required: false,
            description: "",
        },
        Argument {
            name: "allRefs",
            kind: Kind::Boolean { default: Some(false) },
            required: false,
            description: "Also tags, remotes, stash.",
        },
    ],
    data: &[
        field("sinceMs", Shape::Integer, "As asked."),
        field("events", Shape::List(&Shape::Object(EVENT)), "Newest first."),
        field("eventCount", Shape::Count, "How many are listed."),
        field("repos", Shape::List(&Shape::Object(DIGESTED)), "In the order of the arguments, quiet ones cut first."),
        sometimes("reposOmitted", Shape::Count, "How many repositories have no row."),
        field("repoSource", Shape::OneOf(&["arguments", "fluxgit-registry"]), "Where they were named."),
        field("requestedRepoCount", Shape::Count, "How many were named, each counted once."),
        field("excludedOutsideAllowedRoots", Shape::Count, "How many of them lie outside the allowed roots."),
        field("truncated", Shape::Boolean, "Events are left out; ask for a later time or fewer repositories."),
        sometimes("unansweredCount", Shape::Count, "How many had not answered when the time was up."),
        field("elapsedMs", Shape::Count, "Milliseconds in all."),
        field("attribution", Shape::Text, "What the rows say about who did it, and what not."),
        field("guidance", Shape::Text, "How to read this."),
        sometimes("partial", Shape::Object(PARTIAL), "Set when the time was up before all had answered."),
    ],
};

const REPOSITORY: &[Argument] = &[
    Argument { name: "repoPath", kind: Kind::Path, required: true, description: "" },
    Argument { name: "label", kind: Kind::Text { min: 1, max: 512 }, required: false, description: "" },
    Argument { name: "repoId", kind: Kind::Text { min: 1, max: 256 }, required: false, description: "" },
];

const STATUS: Shape = Shape::OneOf(&[
    "conflict",
    "potential_conflict",
    "divergent",
    "local_changes",
    "behind",
    "ahead",
    "no_upstream",
    "unknown",
    "clean",
]);

const REPO_ID: Field = field("repoId", Shape::Nullable("string"), "As the caller gave it.");
const LABEL: Field = field("label", Shape::Text, "As the caller gave it, else the last name of the path.");
const REPO_PATH: Field = field("repoPath", Shape::Text, "Canonical path; of one that cannot be read, the caller's.");
const REPO_PATH_ENCODING: Field = sometimes("repoPathEncoding", ESCAPED, "Set where `repoPath` is escaped.");
const WHAT: Field = field("status", STATUS, "What most deserves attention: the first of this order that applies.");
const PRIORITY: Field = field("priority", Shape::Count, "How urgent that is, 0 to 100.");
const SUMMARY: Field = field("summary", Shape::Text, "One sentence.");
const ACTIONS: Field = field("suggestedActions", Shape::List(&Shape::Text), "What to do, most sensible first.");

const ATTENTION: &[Field] = &[REPO_ID, LABEL, REPO_PATH, REPO_PATH_ENCODING, WHAT, PRIORITY, SUMMARY, ACTIONS];

const ENTRY: &[Field] = &[
    REPO_ID,
    LABEL,
    REPO_PATH,
    REPO_PATH_ENCODING,
    WHAT,
    PRIORITY,
    SUMMARY,
    ACTIONS,
    field("dirty", Shape::Boolean, "Something differs from HEAD or is untracked."),
    field("changedFiles", Shape::Count, "True number of status rows."),
    field("ahead", Shape::Count, "Commits on HEAD that the upstream lacks."),
    field("behind", Shape::Count, "Commits on the upstream that HEAD lacks."),
    field("hasUpstream", Shape::Boolean, "An upstream is configured and its ref exists."),
    field("upstream", Shape::Nullable("string"), "Short name of the upstream, also when it is gone."),
    sometimes("upstreamGone", Shape::Boolean, "The upstream is configured and its ref does not exist."),
    field("branch", Shape::Nullable("string"), "Local branch; null when HEAD is detached."),
    sometimes("detached", Shape::Boolean, "HEAD points at a commit, not at a branch."),
    sometimes("bare", Shape::Boolean, "There is no working tree."),
    field("head", Shape::Nullable("string"), "Full id of HEAD; null on an unborn branch."),
    field("shortHead", Shape::Nullable("string"), "The same, abbreviated."),
    field("conflictActive", Shape::Boolean, "Paths are unmerged."),
    field("conflictOperation", Shape::Nullable("merge, rebase, cherry-pick or revert"), "What left them so."),
    sometimes(
        "operationInProgress",
        Shape::OneOf(&["merge", "rebase", "am", "cherry-pick", "revert", "bisect"]),
        "The operation that waits for its end, with unmerged paths or without.",
    ),
    field("potentialConflictActive", Shape::Boolean, "Merging the upstream would conflict."),
    field("potentialConflictCount", Shape::Count, "True number of paths that would conflict."),
    field("potentialConflictTarget", Shape::Nullable("string"), "What a merge was tried with; null where none was."),
    field("potentialConflictPaths", Shape::List(&Shape::Text), "The first of those paths, sorted."),
    sometimes(
        "potentialConflictPathEncodings",
        Shape::List(&Shape::Nullable("escaped")),
        "Marks of those paths in their order, where any is escaped.",
    ),
    field("lastCommitTimestamp", Shape::Nullable("integer"), "Committer time of HEAD in seconds since 1970."),
    field("elapsedMs", Shape::Count, "Milliseconds that it took."),
    field("error", Shape::Text, "Why it could not be read, or not in full; empty when all is well."),
    sometimes("partial", Shape::Object(PARTIAL), "Set when something could not be found out: counts are lower bounds."),
];

const NETWORK: &[Field] = &[
    field("fetchPerformed", Shape::Boolean, "Always false."),
    field("remoteStateSource", Shape::Text, "Always the same words."),
];

const EVENT: &[Field] = &[
    field("repoPath", Shape::Text, "Canonical path of its repository."),
    REPO_PATH_ENCODING,
    field("atMs", Shape::Integer, "Milliseconds since 1970."),
    field("refName", Shape::Text, "Full name of the reference, or `HEAD`."),
    sometimes("refNameEncoding", ESCAPED, "Set where `refName` is escaped."),
    field(
        "kind",
        Shape::OneOf(&[
            "commit",
            "amend",
            "merge",
            "checkout",
            "pull",
            "reset",
            "rebase",
            "cherryPick",
            "revert",
            "branch",
            "fetch",
            "other",
        ]),
        "What kind of movement.",
    ),
    field("oldOid", Shape::Nullable("string"), "Full id before; null where the reference was created."),
    field("newOid", Shape::Nullable("string"), "Full id after; null where it was deleted."),
    field("message", Shape::Text, "The row's own words, cut at 200 characters."),
    field("identity", Shape::Text, "`Name <address>`, cut at 256 characters."),
    field("rewrote", Shape::Boolean, "What the reference held before is no ancestor of what it holds now."),
    field("source", Shape::OneOf(&["git", "fluxgit"]), "Who wrote the row."),
];

const DIGESTED: &[Field] = &[
    REPO_PATH,
    REPO_PATH_ENCODING,
    field("error", Shape::Nullable("string"), "Why it could not be read, or not in full."),
    field("truncated", Shape::Boolean, "There are more events than were counted."),
    field("eventCount", Shape::Count, "Events since the time, at most 200."),
];

#[cfg(test)]
mod tests {
    use super::{
        super::agreement::{both, partial},
        *,
    };
    use crate::{
        path::PathEncoding,
        results::{
            Attention, Digest, DigestEvent, DigestKind, DigestRepository, DigestRow, DigestSource, Operation, Radar,
            RadarEntry, RadarNetwork, RadarRow, RadarStatus, RepoSource,
        },
    };

    fn attention(encoding: Option<PathEncoding>) -> Attention {
        Attention {
            repo_id: None,
            label: "app".into(),
            repo_path: "/w/app".into(),
            repo_path_encoding: encoding,
            status: RadarStatus::PotentialConflict,
            priority: RadarStatus::PotentialConflict.priority(),
            summary: "It would conflict.".into(),
            suggested_actions: vec!["Look.".into()],
        }
    }

    #[test]
    fn radar_rows_match_the_type() {
        let entry = RadarEntry {
            upstream_gone: true,
            detached: true,
            bare: true,
            operation_in_progress: Some(Operation::Bisect),
            potential_conflict_paths: vec!["a".into()],
            potential_conflict_path_encodings: vec![Some(PathEncoding::Escaped)],
            partial: partial(),
            ..RadarEntry::default()
        };
        let escaped = Some(PathEncoding::Escaped);
        let row = RadarRow { attention: attention(escaped), entry, elapsed_ms: 1, error: String::new() };
        let rich = Radar {
            entries: vec![row.clone()],
            attention_stack: vec![attention(escaped)],
            attention_omitted: 1,
            requested_count: 1,
            scanned_count: 1,
            failed_count: 0,
            dirty_count: 0,
            conflict_count: 0,
            truncated_count: 0,
            unanswered_count: 1,
            elapsed_ms: 1,
            network: RadarNetwork::default(),
            guidance: "Read it so.".into(),
            partial: partial(),
        };
        let plain = RadarEntry { potential_conflict_paths: vec!["a".into()], ..RadarEntry::default() };
        let poor = Radar {
            entries: vec![RadarRow { attention: attention(None), entry: plain, ..row }],
            attention_stack: vec![attention(None)],
            attention_omitted: 0,
            unanswered_count: 0,
            partial: None,
            ..rich.clone()
        };
        both(&RADAR, &rich, &poor);
    }

    #[test]
    fn digest_rows_match_the_type() {
        let event = DigestEvent {
            at_ms: 1,
            ref_name: "HEAD".into(),
            ref_name_encoding: Some(PathEncoding::Escaped),
            kind: DigestKind::CherryPick,
            old_oid: None,
            new_oid: None,
            message: String::new(),
            identity: "A <a@example.org>".into(),
            rewrote: false,
            source: DigestSource::Fluxgit,
        };
        let encoding = Some(PathEncoding::Escaped);
        let row = DigestRow { repo_path: "/w".into(), repo_path_encoding: encoding, event };
        let repository = DigestRepository {
            repo_path: "/w".into(),
            repo_path_encoding: encoding,
            error: None,
            truncated: false,
            event_count: 1,
        };
        let rich = Digest {
            since_ms: 0,
            events: vec![row.clone()],
            event_count: 1,
            repos: vec![repository.clone()],
            repos_omitted: 1,
            repo_source: RepoSource::FluxgitRegistry,
            requested_repo_count: 2,
            excluded_outside_allowed_roots: 0,
            truncated: false,
            unanswered_count: 1,
            elapsed_ms: 1,
            attribution: "Who.".into(),
            guidance: "How.".into(),
            partial: partial(),
        };
        let mut poor = Digest {
            repos_omitted: 0,
            unanswered_count: 0,
            partial: None,
            repo_source: RepoSource::Arguments,
            ..rich.clone()
        };
        poor.events = vec![DigestRow { repo_path_encoding: None, ..row }];
        poor.events[0].event.ref_name_encoding = None;
        poor.repos = vec![DigestRepository { repo_path_encoding: None, ..repository }];
        both(&DIGEST, &rich, &poor);
    }

    #[test]
    fn an_entry_stays_small_in_the_list() {
        use crate::schema::{Detail, Members, entry};
        for tool in TOOLS {
            let members = Members { annotations: true, title: true, output: Some(Detail::Brief) };
            let bytes = entry(tool, tool.name, members).to_string().len();
            assert!(bytes <= 1_900, "{}: {bytes} bytes", tool.name);
        }
    }
}
