//! fleet.radar: what each repository needs, in the order of the arguments and in the order of urgency.
//! Trust: see the module above; sentences are our own, and names in them are bounded.

use super::{MAX_NAME, crew, cut, room::Room, shown_path, tamed, unanswered, words};
use crate::{control::Control, outcome::CallError, reads::Reads, settings::Settings};
use bulkhead_contract::{
    args::Checked,
    limits::{DEFAULT_FLEET, RADAR_CONFLICT_PATHS},
    results::{self, Attention, Operation, RadarEntry, RadarNetwork, RadarRow, RadarStatus},
};
use bulkhead_ipc::edge::{
    asks,
    read::{Ask, Reply},
};
use serde_json::Value;
use std::{cmp::Reverse, collections::HashMap};
use tokio::time::Instant;

/// Characters of all paths of one row that would conflict; a worker keeps to less.
const MAX_PATHS_CHARS: usize = 4_096;

const GUIDANCE: &str = "Start with attentionStack, most urgent first. Remote states are as of each repository's last \
    fetch; nothing was fetched. potentialConflict tells what a merge of the upstream would do, computed in memory. A \
    row with `error` was not read, or not in full: it is never clean.";

/// A call of `fleet.radar`.
#[derive(Debug, Clone)]
pub(super) struct Radar {
    named: Vec<Named>,
    most: usize,
}

/// A repository as the caller named it.
#[derive(Debug, Clone)]
struct Named {
    path: String,
    label: Option<String>,
    repo_id: Option<String>,
}

impl Radar {
    pub fn plan(checked: &Checked<'_>) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let plain = checked.list("repoPaths").iter().filter_map(text);
        let plain = plain.map(|path| Named { path, label: None, repo_id: None });
        let labelled = checked.list("repositories").iter().filter_map(|repository| {
            let member = |name: &str| repository.get(name).and_then(text);
            Some(Named { path: member("repoPath")?, label: member("label"), repo_id: member("repoId") })
        });
        let most = usize::try_from(checked.integer("maxRepos")?).ok()?;
        Some(Self { named: plain.chain(labelled).collect(), most })
    }

    pub async fn done<R: Reads>(
        self,
        reads: &R,
        settings: &Settings,
        control: Control,
    ) -> Result<results::Radar, CallError> {
        let begun = Instant::now();
        let looked_at = &self.named[..self.named.len().min(self.most)];
        // one that is named twice is read once
        let mut paths: Vec<&str> = Vec::new();
        let mut known: HashMap<&str, usize> = HashMap::new();
        let places: Vec<usize> = looked_at
            .iter()
            .map(|named| {
                *known.entry(&named.path).or_insert_with(|| {
                    paths.push(&named.path);
                    paths.len() - 1
                })
            })
            .collect();
        let ask = Ask::Radar(asks::Radar { paths: RADAR_CONFLICT_PATHS as u32 });
        let fingerprint = super::fingerprint("fleet.radar", &[]);
        let told = crew::ask_all(reads, settings, control, &paths, &ask, fingerprint).await?;
        let answered = looked_at.iter().zip(&places).filter_map(|(named, &at)| Some((named, told[at].as_ref()?)));
        let rows: Vec<RadarRow> = answered.map(|(named, told)| row(named, told)).collect();
        Ok(self.composed(rows, looked_at.len(), begun))
    }

    fn composed(&self, rows: Vec<RadarRow>, looked_at: usize, begun: Instant) -> results::Radar {
        let count = |is: fn(&RadarRow) -> bool| rows.iter().filter(|row| is(row)).count() as u64;
        let (scanned, unanswered_count) = (rows.len() as u64, (looked_at - rows.len()) as u64);
        let failed_count = count(|row| !row.error.is_empty());
        let dirty_count = count(|row| row.entry.dirty);
        let conflict_count = count(|row| row.entry.conflict_active);
        let mut by_urgency: Vec<(usize, &RadarRow)> = rows.iter().enumerate().collect();
        by_urgency.sort_by_key(|(_, row)| Reverse(row.attention.priority));

        let mut room = Room::for_answer(self.most > DEFAULT_FLEET as usize);
        // a row says the same and some three times more
        let mut stack = room.part(3);
        let urgent = || by_urgency.iter().filter(|(_, row)| row.attention.status != RadarStatus::Clean);
        let attention_stack: Vec<Attention> =
            urgent().map(|(_, row)| row.attention.clone()).filter(|attention| stack.take(attention)).collect();
        let attention_omitted = (urgent().count() - attention_stack.len()) as u64;
        room.give_back(stack);
        let mut fitting = vec![false; rows.len()];
        for (at, row) in &by_urgency {
            fitting[*at] = room.take(row);
        }
        let entries: Vec<RadarRow> =
            rows.into_iter().zip(fitting).filter_map(|(row, fits)| fits.then_some(row)).collect();
        results::Radar {
            requested_count: self.named.len() as u64,
            scanned_count: scanned,
            failed_count,
            dirty_count,
            conflict_count,
            truncated_count: (self.named.len() - entries.len()) as u64,
            unanswered_count,
            elapsed_ms: millis(begun.elapsed()),
            network: RadarNetwork::default(),
            guidance: GUIDANCE.to_owned(),
            partial: unanswered(unanswered_count),
            entries,
            attention_stack,
            attention_omitted,
        }
    }
}

fn row(named: &Named, told: &crew::Told) -> RadarRow {
    let (canonical, entry, error) = match &told.outcome {
        Ok(answered) => match &answered.reply {
            Reply::Radar(entry) => (Some(&answered.canonical[..]), bounded((**entry).clone()), None),
            _ => (None, RadarEntry::default(), Some("worker-died: it answered another question.".to_owned())),
        },
        Err(error) => (None, RadarEntry::default(), Some(words(error))),
    };
    let status = if error.is_some() { RadarStatus::Unknown } else { status(&entry) };
    let (repo_path, repo_path_encoding) = shown_path(&named.path, canonical);
    let (summary, actions) = said(status, &entry);
    let attention = Attention {
        repo_id: named.repo_id.clone(),
        label: named.label.clone().unwrap_or_else(|| last_name(&repo_path)),
        repo_path,
        repo_path_encoding,
        status,
        priority: status.priority(),
        summary,
        suggested_actions: actions.iter().map(|&action| action.to_owned()).collect(),
    };
    let error =
        error.or_else(|| entry.partial.as_ref().map(|partial| format!("{}: {}", partial.reason, partial.details)));
    RadarRow { attention, entry, elapsed_ms: millis(told.elapsed), error: error.unwrap_or_default() }
}

/// The first that applies, in the contract's order.
fn status(entry: &RadarEntry) -> RadarStatus {
    if entry.conflict_active {
        RadarStatus::Conflict
    } else if entry.potential_conflict_active {
        RadarStatus::PotentialConflict
    } else if entry.ahead > 0 && entry.behind > 0 {
        RadarStatus::Divergent
    } else if entry.dirty || entry.operation_in_progress.is_some() {
        RadarStatus::LocalChanges
    } else if entry.behind > 0 {
        RadarStatus::Behind
    } else if entry.ahead > 0 {
        RadarStatus::Ahead
    } else if !entry.has_upstream {
        RadarStatus::NoUpstream
    } else if entry.partial.is_some() {
        RadarStatus::Unknown
    } else {
        RadarStatus::Clean
    }
}

/// One sentence on `entry`, and what to do about it.
fn said(status: RadarStatus, entry: &RadarEntry) -> (String, &'static [&'static str]) {
    let upstream = entry.upstream.as_deref().unwrap_or("its upstream");
    let RadarEntry { ahead, behind, .. } = *entry;
    let changes = match (entry.changed_files, entry.operation_in_progress.map(Operation::spoken)) {
        (0, None) => String::new(),
        (0, Some(name)) => format!("A {name} is under way."),
        (changed, None) => format!("{} changed.", counted(changed, "path is", "paths are")),
        (changed, Some(name)) => {
            format!("{} changed while a {name} is under way.", counted(changed, "path is", "paths are"))
        }
    };
    let (first, actions): (String, &[&str]) = match status {
        RadarStatus::Conflict => (
            "Paths are unmerged.".to_owned(),
            &[
                "Read the conflicts with conflict.read.",
                "Resolve and stage each unmerged path.",
                "Finish or abort the operation.",
            ],
        ),
        RadarStatus::PotentialConflict => (
            format!(
                "{ahead} ahead of {upstream} and {behind} behind; a merge would conflict in {}.",
                counted(entry.potential_conflict_count, "path", "paths")
            ),
            &[
                "Look at the conflicts with repo.conflictPreflight.",
                "Commit or stash local changes first.",
                "Integrate the upstream while the conflicts are few.",
            ],
        ),
        RadarStatus::Divergent => (
            format!("{ahead} ahead of {upstream} and {behind} behind."),
            &["Integrate the upstream by merge or rebase.", "Commit or stash local changes first.", "Then push."],
        ),
        RadarStatus::LocalChanges => (
            String::new(),
            &[
                "See what changed with worktree.changes.",
                "Commit, stash or finish what is under way.",
                "Do not overwrite changes that are not yours.",
            ],
        ),
        RadarStatus::Behind => (
            format!("{behind} behind {upstream}."),
            &["Fast-forward to the upstream.", "Check that nothing local depends on the old state."],
        ),
        RadarStatus::Ahead => {
            (format!("{ahead} ahead of {upstream}."), &["Review the commits with repo.history.", "Push them."])
        }
        RadarStatus::NoUpstream => (
            match &entry.upstream {
                Some(gone) => format!("Its upstream {gone} is gone."),
                None if entry.detached => "HEAD is detached, so there is nothing to compare with.".to_owned(),
                None => "The branch has no upstream to compare with.".to_owned(),
            },
            &["Set an upstream if the branch is to be shared.", "Compare by hand with repo.refs and repo.history."],
        ),
        RadarStatus::Unknown => (
            "The state could not be found out.".to_owned(),
            &["Read `error`, and mend what it names.", "Ask again for this repository alone."],
        ),
        RadarStatus::Clean => ("Nothing to do.".to_owned(), &[]),
    };
    let summary = [first, changes].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    (summary, actions)
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn last_name(path: &str) -> String {
    let name = path.rsplit(std::path::is_separator).find(|name| !name.is_empty());
    cut(name.unwrap_or(path), MAX_NAME)
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// What a worker that was taken over could blow up, cut to size.
fn bounded(entry: RadarEntry) -> RadarEntry {
    let name = |text: Option<String>| text.map(|text| cut(&text, MAX_NAME));
    let mut room = MAX_PATHS_CHARS;
    let mut paths = entry.potential_conflict_paths;
    paths.truncate(RADAR_CONFLICT_PATHS);
    let fitting = paths.iter().take_while(|path| {
        let chars = path.chars().count();
        let fits = chars <= room;
        room = room.saturating_sub(chars);
        fits
    });
    let kept = fitting.count();
    paths.truncate(kept);
    let mut encodings = entry.potential_conflict_path_encodings;
    encodings.truncate(kept);
    RadarEntry {
        upstream: name(entry.upstream),
        branch: name(entry.branch),
        head: name(entry.head),
        short_head: name(entry.short_head),
        potential_conflict_target: name(entry.potential_conflict_target),
        potential_conflict_paths: paths,
        potential_conflict_path_encodings: encodings,
        partial: entry.partial.map(tamed),
        ..entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> RadarEntry {
        RadarEntry { has_upstream: true, upstream: Some("origin/main".into()), ..RadarEntry::default() }
    }

    #[test]
    fn the_first_that_applies_is_the_status() {
        let partial = super::super::unanswered(1);
        let mut entry = RadarEntry { partial: partial.clone(), ..entry() };
        let mut seen = vec![status(&entry)];
        entry.has_upstream = false;
        seen.push(status(&entry));
        entry.has_upstream = true;
        entry.ahead = 1;
        seen.push(status(&entry));
        (entry.ahead, entry.behind) = (0, 1);
        seen.push(status(&entry));
        entry.operation_in_progress = Some(Operation::Bisect);
        seen.push(status(&entry));
        entry.ahead = 1;
        seen.push(status(&entry));
        entry.potential_conflict_active = true;
        seen.push(status(&entry));
        entry.conflict_active = true;
        seen.push(status(&entry));
        use RadarStatus::*;
        assert_eq!(seen, [Unknown, NoUpstream, Ahead, Behind, LocalChanges, Divergent, PotentialConflict, Conflict]);
        assert!(seen.windows(2).all(|pair| pair[0].priority() < pair[1].priority()));
        assert_eq!(status(&self::entry()), Clean);
    }

    #[test]
    fn a_summary_hides_no_local_changes() {
        let mut entry = RadarEntry { dirty: true, changed_files: 2, ahead: 3, behind: 1, ..entry() };
        (entry.potential_conflict_active, entry.potential_conflict_count) = (true, 1);
        let (summary, actions) = said(RadarStatus::PotentialConflict, &entry);
        assert_eq!(
            summary,
            "3 ahead of origin/main and 1 behind; a merge would conflict in 1 path. 2 paths are changed."
        );
        assert_eq!(actions.len(), 3);
        let bisecting = RadarEntry { operation_in_progress: Some(Operation::Bisect), ..self::entry() };
        assert_eq!(said(RadarStatus::LocalChanges, &bisecting).0, "A bisect is under way.");
    }

    #[test]
    fn what_a_worker_blows_up_is_cut() {
        let huge = RadarEntry {
            branch: Some("b".repeat(1 << 20)),
            potential_conflict_paths: vec!["p".repeat(3_000); 10],
            partial: Some(results::Partial { reason: "r".repeat(9_000), details: "d".repeat(9_000) }),
            ..entry()
        };
        assert!(serde_json::to_string(&bounded(huge)).expect("JSON").len() < 10_000);
    }

    #[test]
    fn labels_are_last_names() {
        for (path, label) in [("/w/app", "app"), ("/w/app/", "app"), ("/", "/")] {
            assert_eq!(last_name(path), label);
        }
    }
}
