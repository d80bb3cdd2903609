//! Editors' workspaces: a folder for each, with the place that it is about and the state that is written while it is open.
//! Trust: hostile text; of an editor's state only the times of files are looked at.

use crate::{
    inside::local,
    look::{Look, MAX_DIRS, Opened, session},
    place::{Dir, Kind},
    stores::{Held, row},
};
use bulkhead_contract::results::{AgentSource, UnseenReason};
use bulkhead_ipc::edge::agents::{Finding, Known, Stamp};
use serde::Deserialize;

/// Bytes of the file that names the place.
const MAX_WORKSPACE: u64 = 64 * 1024;

#[derive(Deserialize)]
struct Workspace {
    folder: Option<String>,
    workspace: Option<String>,
}

/// Whether a workspace is about this repository.
fn is_here(bytes: &[u8], look: &Look<'_>) -> Result<bool, UnseenReason> {
    let it: Workspace = serde_json::from_slice(bytes).map_err(|_| UnseenReason::Damaged)?;
    let mut places = it.folder.iter().chain(&it.workspace).filter_map(|place| local(place));
    Ok(places.any(|place| look.root.holds(&place)))
}

/// The text alone, for tests and fuzzing.
pub fn judge(bytes: &[u8], look: &Look<'_>) -> Vec<Finding> {
    let here = is_here(bytes, look).unwrap_or(false);
    here.then(|| session("vscode", look.now_ms)).into_iter().collect()
}

/// Reads one editor's workspaces.
pub fn read(held: &Held, look: &mut Look<'_>) {
    let (agent, _) = row(held.store);
    let (names, more) = match held.dir.names() {
        Ok(names) => names,
        Err(closed) => return look.closed(agent, closed),
    };
    if more || names.len() > MAX_DIRS {
        look.miss(agent, UnseenReason::TooMany, 1);
    }
    for name in names.into_iter().filter(|name| matches!(name.kind, None | Some(Kind::Directory))).take(MAX_DIRS) {
        if look.is_over() {
            return look.miss(agent, UnseenReason::OutOfTime, 1);
        }
        // opening a directory costs ten times as much as looking at two times, and most workspaces are old
        if !is_touched(&held.dir, &name.bytes, look) {
            continue;
        }
        let Ok(dir) = held.dir.readable_child(&name.bytes) else { continue };
        // what is written while the editor is open says whether the rest is worth reading
        let Some(at_ms) = newest(&dir, look) else { continue };
        match here(agent, &dir, held.store as u32, look) {
            Ok(false) => continue,
            Ok(true) => {}
            Err(reason) => {
                look.miss(agent, reason, 1);
                continue;
            }
        }
        let chats = dir.readable_child(b"chatSessions").ok();
        let chats = chats
            .map(|chats| look.recent(agent, &chats, 0, &|name| name.ends_with(b".json") || name.ends_with(b".jsonl")));
        let chat = chats.into_iter().flatten().map(|chat| chat.facts.modified_ms()).max();
        look.add(match chat {
            Some(at_ms) => session(agent, at_ms),
            None => Finding { source: AgentSource::Ide, idle: true, ..session(agent, at_ms) },
        });
    }
}

/// Whether something was written to a workspace lately: its state, or a name in its folder.
fn is_touched(dir: &Dir, folder: &[u8], look: &Look<'_>) -> bool {
    let Ok(facts) = dir.facts(folder) else { return false };
    let state = || dir.facts_in(folder, b"state.vscdb").map(|facts| facts.modified_ms());
    facts.kind == Kind::Directory
        && (look.is_recent(facts.modified_ms()) || state().is_ok_and(|at_ms| look.is_recent(at_ms)))
}

/// Whether a workspace is about this repository, as it was read before where its file is still the same.
fn here(agent: &str, dir: &Dir, way: u32, look: &mut Look<'_>) -> Result<bool, UnseenReason> {
    let Ok(facts) = dir.facts(b"workspace.json") else { return Ok(false) };
    let stamp = Stamp { way, ..facts.stamp };
    if let Some(known) = look.before(&stamp) {
        let here = !known.said.is_empty();
        look.keep(known);
        return Ok(here);
    }
    let (file, facts) = match dir.open(b"workspace.json") {
        Ok(opened) => opened,
        Err(closed) => return closed.unseen().map_or(Ok(false), Err),
    };
    let bytes = Opened::of(file, facts).whole(MAX_WORKSPACE)?;
    let here = is_here(&bytes, look)?;
    let said = if here { vec![session(agent, 0)] } else { Vec::new() };
    look.keep(Known { stamp: Stamp { way, ..facts.stamp }, said, unseen: None });
    Ok(here)
}

/// When the newest file of a workspace was written to, if lately.
fn newest(dir: &Dir, look: &mut Look<'_>) -> Option<i64> {
    let (names, _) = dir.names().ok()?;
    let times = names.iter().filter(|name| name.kind != Some(Kind::Link)).filter_map(|name| {
        let facts = dir.facts(&name.bytes).ok()?;
        matches!(facts.kind, Kind::File | Kind::Directory).then(|| facts.modified_ms())
    });
    times.max().filter(|at| look.is_recent(*at))
}
