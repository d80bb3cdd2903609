//! Stores that are JSON documents: OpenCode before its database, Cursor's CLI, Continue, Amp; and Gemini's, by its folders.
//! Trust: hostile text; members that are not asked for are skipped, wherever they lead.

use super::Text;
use crate::{
    inside::local,
    look::{Look, RECENT_MS, session},
    place::{Closed, Dir, Kind},
    stores::Held,
    when,
};
use bulkhead_contract::results::UnseenReason;
use bulkhead_ipc::edge::agents::{Finding, Known, Stamp};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;

/// Bytes of the file in which Gemini names a folder's project, and of the list of all of them.
const MAX_PROJECT_ROOT: u64 = 4_096;
const MAX_PROJECTS: u64 = 1 << 20;
/// Folders of Gemini that are looked at.
const MAX_FOLDERS: usize = 600;

fn parse<'t, T: Deserialize<'t>>(text: &Text<'t>) -> Result<T, UnseenReason> {
    serde_json::from_slice(text.bytes).map_err(|e| match e.classify() {
        serde_json::error::Category::Data => UnseenReason::UnknownSchema,
        _ => UnseenReason::Damaged,
    })
}

/// OpenCode.
pub fn opencode(text: &Text<'_>, look: &Look<'_>) -> Result<Vec<Finding>, UnseenReason> {
    #[derive(Deserialize)]
    struct Session {
        directory: String,
        time: Option<Times>,
    }
    #[derive(Deserialize)]
    struct Times {
        updated: Option<serde_json::Number>,
    }
    let it: Session = parse(text)?;
    if !look.root.holds_text(&it.directory) {
        return Ok(Vec::new());
    }
    let updated = it.time.and_then(|time| time.updated?.as_i64()).and_then(when::number);
    Ok(vec![session("opencode", updated.unwrap_or(text.modified_ms))])
}

/// Cursor's CLI.
pub fn cursor(text: &Text<'_>, look: &Look<'_>) -> Result<Vec<Finding>, UnseenReason> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Meta {
        cwd: String,
        updated_at_ms: Option<serde_json::Number>,
    }
    let it: Meta = parse(text)?;
    if !look.root.holds_text(&it.cwd) {
        return Ok(Vec::new());
    }
    let updated = it.updated_at_ms.and_then(|number| number.as_i64()).and_then(when::number);
    Ok(vec![session("cursor-agent", updated.unwrap_or(text.modified_ms))])
}

/// Continue.
pub fn continued(text: &Text<'_>, look: &Look<'_>) -> Result<Vec<Finding>, UnseenReason> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Session {
        workspace_directory: String,
    }
    let it: Session = parse(text)?;
    let here = local(&it.workspace_directory).is_some_and(|path| look.root.holds(&path));
    Ok(here.then(|| session("continue", text.modified_ms)).into_iter().collect())
}

/// Amp.
pub fn amp(text: &Text<'_>, look: &Look<'_>) -> Result<Vec<Finding>, UnseenReason> {
    #[derive(Deserialize)]
    struct Thread {
        env: Env,
    }
    #[derive(Deserialize)]
    struct Env {
        initial: Initial,
    }
    #[derive(Deserialize)]
    struct Initial {
        #[serde(default)]
        trees: Vec<Tree>,
    }
    #[derive(Deserialize)]
    struct Tree {
        uri: Option<String>,
    }
    let it: Thread = parse(text)?;
    let mut paths = it.env.initial.trees.iter().filter_map(|tree| local(tree.uri.as_deref()?));
    let here = paths.any(|path| look.root.holds(&path));
    Ok(here.then(|| session("amp", text.modified_ms)).into_iter().collect())
}

/// Gemini's list of projects: folders by the path of their project.
#[derive(Debug, Default, Deserialize)]
struct Projects {
    #[serde(default)]
    projects: HashMap<String, String>,
}

/// The list alone, for tests and fuzzing.
pub fn judge_projects(bytes: &[u8], look: &Look<'_>) -> Vec<Finding> {
    let listed: Projects = serde_json::from_slice(bytes).unwrap_or_default();
    let here = listed.projects.keys().any(|path| look.root.holds_text(path));
    here.then(|| session("gemini-cli", look.now_ms)).into_iter().collect()
}

/// Gemini: a folder for each project; which one is whose stands in the folder, in a list beside all of them, or is the
/// folder's name, a digest of the project's path.
pub fn gemini(held: &Held, look: &mut Look<'_>) {
    const AGENT: &str = "gemini-cli";
    let tmp = match held.dir.readable_child(b"tmp") {
        Ok(tmp) => tmp,
        Err(closed) => return look.closed(AGENT, closed),
    };
    let listed = match held.dir.open(b"projects.json") {
        Ok((file, facts)) => {
            let opened = crate::look::Opened::of(file, facts);
            let read = opened
                .whole(MAX_PROJECTS)
                .and_then(|bytes| serde_json::from_slice::<Projects>(&bytes).map_err(|_| UnseenReason::Damaged));
            read.unwrap_or_else(|reason| {
                look.miss(AGENT, reason, 1);
                Projects::default()
            })
        }
        Err(closed) => {
            look.closed(AGENT, closed);
            Projects::default()
        }
    };
    let here: Vec<&str> = listed
        .projects
        .iter()
        .filter(|(path, _)| look.root.holds_text(path))
        .map(|(_, folder)| folder.as_str())
        .collect();
    let digest = hex(&Sha256::digest(look.root.bytes()));
    let (names, more) = match tmp.names() {
        Ok(names) => names,
        Err(closed) => return look.closed(AGENT, closed),
    };
    if more || names.len() > MAX_FOLDERS {
        look.miss(AGENT, UnseenReason::TooMany, 1);
    }
    for name in names.into_iter().filter(|name| matches!(name.kind, None | Some(Kind::Directory))).take(MAX_FOLDERS) {
        let Ok(folder) = tmp.readable_child(&name.bytes) else { continue };
        let is_named = name.bytes == digest.as_bytes() || here.iter().any(|here| here.as_bytes() == name.bytes);
        match project_root(&folder) {
            Ok(Some(root)) if !look.root.holds(&root) => continue,
            Ok(None) if !is_named => continue,
            Ok(_) => {}
            Err(closed) => {
                look.closed(AGENT, closed);
                continue;
            }
        }
        if let Some(at_ms) = newest(&folder, look) {
            let stamp = Stamp { file: (0, 0), size: 0, modified: i64::MAX, changed: i64::MAX, way: held.store as u32 };
            // found anew at each look: its time is that of a file that nothing is read of
            look.take(AGENT, Known { stamp, said: vec![session(AGENT, at_ms)], unseen: None });
        }
    }
}

fn project_root(folder: &Dir) -> Result<Option<Vec<u8>>, Closed> {
    match folder.open(b".project_root") {
        Ok((file, facts)) => {
            let bytes = crate::look::Opened::of(file, facts).whole(MAX_PROJECT_ROOT).map_err(|_| Closed::Refused)?;
            Ok(Some(bytes.trim_ascii().to_vec()))
        }
        Err(Closed::Absent) => Ok(None),
        Err(closed) => Err(closed),
    }
}

/// When the newest chat of a folder was written to, else its newest file at all.
fn newest(folder: &Dir, look: &mut Look<'_>) -> Option<i64> {
    const AGENT: &str = "gemini-cli";
    let newest = |files: Vec<crate::look::Recent>| files.iter().map(|file| file.facts.modified_ms()).max();
    let chats = folder.readable_child(b"chats").ok();
    let of_chats = chats.and_then(|chats| newest(look.recent(AGENT, &chats, 0, &|name| name.ends_with(b".jsonl"))));
    of_chats.or_else(|| newest(look.recent(AGENT, folder, 2, &|_| true))).filter(|at| *at > look.now_ms - RECENT_MS)
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}
