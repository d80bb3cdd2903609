//! repo_restore_points: what the process that writes left to go back to.
//! Trust: see the module above; refs of that name may be anybody's, and what does not read as a point is not listed.

use crate::{commit::Commit, files::path_bytes, history::iso, pace::Pace, repo::Repo};
use bulkhead_contract::{
    direct::point::{INDEX, Message, NOTHING, PREFIX},
    failure::ReadFailure,
    results::{Point, Points},
};
use gix::bstr::ByteSlice as _;

/// Refs that are looked at: the process that writes keeps fewer.
const MAX_LOOKED_AT: usize = 1_000;
/// Characters of a text in a row.
const MAX_TEXT: usize = 500;

/// `repo_restore_points`.
pub(in crate::answers) fn points(repo: &Repo, limit: u32, pace: &Pace) -> Result<Points, ReadFailure> {
    let listed = repo.refs.list(pace)?;
    let mut ids: Vec<String> = listed
        .beneath(PREFIX.as_bytes())
        .filter_map(|entry| {
            entry.name.to_str().ok()?.strip_prefix(PREFIX)?.strip_suffix(INDEX)?.strip_suffix('/').map(str::to_owned)
        })
        .collect();
    // ids begin with the time at which they were made
    ids.sort_unstable_by(|a, b| b.cmp(a));
    ids.truncate(MAX_LOOKED_AT);
    let root = path_bytes(repo.found.canonical());
    let root = String::from_utf8_lossy(&root).replace('\n', "\u{fffd}");
    let mut answer = Points { points: Vec::new(), total: 0 };
    for id in ids {
        let Some(message) = message(repo, &id) else { continue };
        // points of other working trees of the repository are not this one's to go back to
        if message.root != root {
            continue;
        }
        answer.total += 1;
        if answer.points.len() < limit as usize {
            let short = |text: String| text.chars().take(MAX_TEXT).collect::<String>();
            answer.points.push(Point {
                id: short(id),
                made: iso(gix::date::Time::new(message.made, 0)),
                before: short(message.before),
                branch: message.branch.map(short),
                head: message.head.map(short),
                during: Some(message.during).filter(|during| during != NOTHING).map(short),
            });
        }
    }
    Ok(answer)
}

fn message(repo: &Repo, id: &str) -> Option<Message> {
    let name = format!("{PREFIX}{id}/{INDEX}");
    let id = repo.refs.resolve(name.as_str().into()).ok()??;
    let object = repo.git.find_object(id).ok()?;
    let commit = Commit::parse(&object.data)?;
    Message::read(&commit.message.to_str_lossy())
}
