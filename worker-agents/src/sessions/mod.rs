//! The stores of sessions: one reader for each layout, over files that were modified lately.
//! Trust: hostile text; of it only a time, a branch's name, a tool's name and paths in the repository are ever passed on.

mod databases;
mod documents;
mod editors;
mod lines;

use crate::{
    look::{Look, ReadFile},
    place::Dir,
    stores::Held,
};
use bulkhead_contract::results::UnseenReason;
use bulkhead_ipc::edge::agents::{Finding, Stamp, Store};

pub use databases::judge as judge_database;

/// Bytes at the end of a list of lines that are read.
const TAIL: u64 = 256 * 1024;
/// Bytes of the first line of such a list.
const HEAD: u64 = 512 * 1024;
/// Bytes of one document.
const DOCUMENT: u64 = 4 << 20;

/// How the text of one file becomes findings.
type Reader = fn(&Text<'_>, &Look<'_>) -> Result<Vec<Finding>, UnseenReason>;

/// The text of one file, as far as it is read.
#[derive(Debug)]
pub struct Text<'a> {
    /// Its end.
    pub bytes: &'a [u8],
    /// Its beginning, where that is not all of it.
    pub head: &'a [u8],
    /// `bytes` is all of it.
    pub whole: bool,
    /// When it was modified last, in milliseconds since 1970.
    pub modified_ms: i64,
}

/// Reads one store.
pub fn read(held: &Held, look: &mut Look<'_>) {
    let ends = |end: &'static str| move |name: &[u8]| name.ends_with(end.as_bytes());
    match held.store {
        Store::ClaudeProjects => lists(held, look, 1, lines::claude),
        Store::QwenProjects => lists(held, look, 2, lines::qwen),
        Store::CodexSessions => lists(held, look, 3, lines::codex),
        Store::GooseSessions => lists(held, look, 0, lines::goose),
        Store::CopilotSessions => lines::copilot(held, look),
        Store::Gemini => documents::gemini(held, look),
        Store::OpencodeSessions => document(held, look, 2, &ends(".json"), documents::opencode),
        Store::CursorChats => document(held, look, 2, &|name| name == b"meta.json", documents::cursor),
        Store::ContinueSessions => {
            document(held, look, 0, &|name| name.ends_with(b".json") && name != b"sessions.json", documents::continued);
        }
        Store::AmpThreads => {
            document(held, look, 0, &|name| name.starts_with(b"T-") && name.ends_with(b".json"), documents::amp);
        }
        Store::OpencodeDatabases
        | Store::OpencodeDatabase
        | Store::KiloDatabases
        | Store::ClineDatabase
        | Store::GooseDatabase
        | Store::ZedDatabase => databases::read(held, look),
        Store::CursorWorkspaces | Store::WindsurfWorkspaces | Store::VscodeWorkspaces => editors::read(held, look),
        Store::GooseHome | Store::CrushHome => {}
    }
}

/// Every reader of text on the same bytes, as a hostile store could put them anywhere: for tests and fuzzing.
pub fn judge_text(bytes: &[u8], look: &Look<'_>) -> Vec<Finding> {
    let readers: [Reader; 8] = [
        lines::claude,
        lines::qwen,
        lines::codex,
        lines::goose,
        documents::opencode,
        documents::cursor,
        documents::continued,
        documents::amp,
    ];
    let mut found = Vec::new();
    // as all of a file, and as the end of one
    for whole in [true, false] {
        let text = Text { bytes, head: bytes, whole, modified_ms: look.now_ms };
        found.extend(readers.iter().filter_map(|read| read(&text, look).ok()).flatten());
    }
    found.extend(lines::judge_copilot(bytes, look));
    found.extend(editors::judge(bytes, look));
    found.extend(documents::judge_projects(bytes, look));
    found
}

fn lists(held: &Held, look: &mut Look<'_>, depth: usize, read: Reader) {
    each(held, look, depth, &|name| name.ends_with(b".jsonl"), &|opened, look| {
        let (bytes, whole) = opened.tail(TAIL)?;
        let head = if whole { Vec::new() } else { opened.first_line(HEAD)? };
        let modified_ms = opened.facts.modified_ms();
        read(&Text { bytes: &bytes, head: if whole { &bytes } else { &head }, whole, modified_ms }, look)
    });
}

fn document(held: &Held, look: &mut Look<'_>, depth: usize, wanted: &dyn Fn(&[u8]) -> bool, read: Reader) {
    each(held, look, depth, wanted, &|opened, look| {
        let bytes = opened.whole(DOCUMENT)?;
        read(&Text { bytes: &bytes, head: &bytes, whole: true, modified_ms: opened.facts.modified_ms() }, look)
    });
}

/// Reads the newest files of a store.
fn each(held: &Held, look: &mut Look<'_>, depth: usize, wanted: &dyn Fn(&[u8]) -> bool, read: &ReadFile<'_>) {
    let (agent, _) = crate::stores::row(held.store);
    let way = held.store as u32;
    for recent in look.recent(agent, &held.dir, depth, wanted) {
        if look.is_over() {
            return look.miss(agent, UnseenReason::OutOfTime, 1);
        }
        // what the listing just said it is, was read before: nothing needs to be opened
        if let Some(known) = look.before(&Stamp { way, ..recent.facts.stamp }) {
            look.take(agent, known);
            continue;
        }
        match beneath(&held.dir, &recent.way) {
            Ok(None) => look.file(agent, &held.dir, &recent.name, way, read),
            Ok(Some(dir)) => look.file(agent, &dir, &recent.name, way, read),
            Err(closed) => look.closed(agent, closed),
        }
    }
}

/// The directory that these names lead to; `None` where there are none.
fn beneath(dir: &Dir, way: &[Vec<u8>]) -> Result<Option<Dir>, crate::place::Closed> {
    let mut at: Option<Dir> = None;
    for name in way {
        at = Some(at.as_ref().unwrap_or(dir).readable_child(name)?);
    }
    Ok(at)
}
