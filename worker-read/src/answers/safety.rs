//! safety.* and flux.*: events and restore points, as many as fit.
//! Trust: see the module above; records come from another worker and are texts like any other.

use super::budget::Budget;
use crate::{
    pace::{Pace, Stopped},
    repo::Repo,
    status,
    timeline::{self, Here, Wanted},
};
use bulkhead_contract::{
    failure::ReadFailure,
    results::{
        LatestRestorePoint, Partial, RestorePoint, RestorePointDetails, RestorePointList, RestorePoints, RestoreRecord,
        Timeline, TimelineEvent,
    },
};
use bulkhead_ipc::edge::asks::{self, RestoreView};

/// Bytes of the reflog that are counted.
const COUNTED: u64 = 1 << 20;
/// Bytes of the reflog that are searched for one event.
const SEARCHED: u64 = 64 << 20;
/// What a reader is told who might act on it.
const EVENTS_CHANGE_NOTHING: &str = "Looking at events changes nothing. Whatever goes back to one of them is a write: \
                                     propose it, and let a person approve it.";
const POINTS_CHANGE_NOTHING: &str = "Restore points are only looked at here. Undoing or redoing is a write: propose it, \
                                     and let a person approve it.";

/// `safety.timeline`.
pub(super) fn timeline(repo: &Repo, ask: &asks::Timeline, pace: &Pace) -> Result<Timeline, ReadFailure> {
    let here = Here::of(repo)?;
    let records = if ask.without_restore_points { &[][..] } else { &ask.held.records };
    let restore = newest_first(records);
    let moves = timeline::moves(repo, &here, ask.reflog_limit, COUNTED, pace)?;
    let mut out = Timeline {
        events: Vec::new(),
        event_count: 0,
        total_events: restore.len() as u64 + moves.total,
        truncated: false,
        read_only: true,
        approval_required: true,
        approval_message: EVENTS_CHANGE_NOTHING.to_owned(),
        network_fetch_performed: false,
        problems: ask.held.problems.clone(),
        partial: partial(pace.stopped(), moves.cut, COUNTED),
    };
    let mut budget = Budget::new(ask.limit, ask.chars);
    let mut restore = restore.into_iter().peekable();
    let mut moves = moves.events.into_iter().peekable();
    loop {
        // the reflog's own order holds, whatever its clocks say
        let first =
            restore.peek().zip(moves.peek()).is_none_or(|(point, moved)| point.time() >= moved.occurred_at_unix);
        let point = if first || moves.peek().is_none() { restore.next() } else { None };
        let event = match point {
            Some(record) => {
                let event = here.restore_event(record);
                let fits = |event: &_, budget: &mut Budget| budget.take(event);
                match fits(&event, &mut budget) {
                    true => Some(event),
                    false => Some(here.restore_event(&without_plan(record))).filter(|event| fits(event, &mut budget)),
                }
            }
            None => match moves.next() {
                Some(event) => Some(event).filter(|event| budget.take(event)),
                None => break,
            },
        };
        match event {
            Some(event) => out.events.push(event),
            None => break,
        }
    }
    out.event_count = out.events.len() as u64;
    out.truncated = out.event_count < out.total_events;
    Ok(out)
}

/// `safety.eventDetails`.
pub(super) fn event(repo: &Repo, ask: &asks::TimelineEvent, pace: &Pace) -> Result<TimelineEvent, ReadFailure> {
    let here = Here::of(repo)?;
    let records = newest_first(&ask.held.records);
    let mut cut = false;
    let event = match ask.id.as_deref() {
        None => {
            let moved = timeline::moves(repo, &here, 1, COUNTED, pace)?.events.into_iter().next();
            let point = records.first().map(|record| here.restore_event(record));
            match (point, moved) {
                (Some(point), Some(moved)) if point.occurred_at_unix < moved.occurred_at_unix => Some(moved),
                (point, moved) => point.or(moved),
            }
        }
        Some(id) => match records.iter().find(|record| record.id() == id) {
            Some(record) => Some(here.restore_event(record)),
            None => match Wanted::parse(id) {
                Some(wanted) => {
                    let found = timeline::find(repo, &here, &wanted, SEARCHED, pace)?;
                    cut = found.event.is_none() && found.cut;
                    found.event
                }
                None => None,
            },
        },
    };
    Ok(TimelineEvent {
        event_found: event.is_some(),
        partial: if event.is_none() { partial(pace.stopped(), cut, SEARCHED) } else { None },
        event,
        read_only: true,
        approval_required: true,
        approval_message: EVENTS_CHANGE_NOTHING.to_owned(),
        problems: ask.held.problems.clone(),
    })
}

/// `flux.latestRestorePoint`, `flux.restorePoints` and `flux.restorePointDetails`.
pub(super) fn restore_points(
    repo: &Repo,
    ask: &asks::RestorePoints,
    _pace: &Pace,
) -> Result<RestorePoints, ReadFailure> {
    let here = Here::of(repo)?;
    let records = newest_first(&ask.held.records);
    let problems = ask.held.problems.clone();
    let restore_count = records.len() as u64;
    let list = |limit: u32, chars: u32| {
        let mut budget = Budget::new(limit, chars);
        let mut points: Vec<RestorePoint> = Vec::new();
        for record in &records {
            let point = here.restore_point(record);
            if budget.take(&point) {
                points.push(point);
                continue;
            }
            let point = here.restore_point(&without_plan(record));
            if !budget.take(&point) {
                break;
            }
            points.push(point);
        }
        RestorePointList {
            truncated: (points.len() as u64) < restore_count,
            restore_points: points,
            restore_count,
            approval_required: true,
            approval_message: POINTS_CHANGE_NOTHING.to_owned(),
            problems: problems.clone(),
        }
    };
    Ok(match &ask.view {
        RestoreView::Latest => RestorePoints::Latest(LatestRestorePoint {
            latest_restore_point: records.first().map(|record| here.restore_point(record)),
            // the newest stands there twice
            list: list(u32::MAX, ask.chars / 2),
        }),
        RestoreView::All { limit } => RestorePoints::All(list(*limit, ask.chars)),
        RestoreView::One { id } => {
            let wanted =
                |record: &&&RestoreRecord| id.as_ref().is_none_or(|id| record.id() == *id || record.repo_id == *id);
            RestorePoints::One(RestorePointDetails {
                restore_point: records.iter().find(wanted).map(|record| here.restore_point(record)),
                restore_count,
                approval_required: true,
                approval_message: POINTS_CHANGE_NOTHING.to_owned(),
                problems,
            })
        }
    })
}

/// Records by time; of two run directories that hold the same one, the first counts.
fn newest_first(records: &[RestoreRecord]) -> Vec<&RestoreRecord> {
    let mut sorted: Vec<&RestoreRecord> = Vec::new();
    for record in records {
        if sorted.iter().all(|other| other.id() != record.id()) {
            sorted.push(record);
        }
    }
    sorted.sort_by_key(|record| std::cmp::Reverse(record.time()));
    sorted
}

fn without_plan(record: &RestoreRecord) -> RestoreRecord {
    let plan = record.plan.as_ref().map(|plan| plan.chars().count() as u64);
    RestoreRecord { plan: None, plan_characters: plan.or(record.plan_characters), ..record.clone() }
}

fn partial(stopped: Option<Stopped>, cut: bool, bytes: u64) -> Option<Partial> {
    let long = || Partial {
        reason: "too-large".to_owned(),
        details: format!("The reflog is longer than the {} MiB that were looked at.", bytes >> 20),
    };
    status::partial(stopped, None).or_else(|| cut.then(long))
}
