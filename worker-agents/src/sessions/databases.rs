//! Stores that are SQLite databases: one table of each is read, the rows that were touched lately.
//! Trust: hostile bytes; see the reader. A database that changes while it is read is read once more, and then left.

use crate::{
    inside::local,
    look::{Look, Opened, session},
    place::{Closed, Dir},
    sqlite::{Bytes, Database, Fault, Row, Value},
    stores::{Held, row},
    when,
};
use bulkhead_contract::results::UnseenReason;
use bulkhead_ipc::edge::agents::{Finding, Known, Stamp, Store};

/// Rows that were touched lately and are looked at.
const MAX_RECENT: usize = 256;
/// Bytes of a path, and of a list of them.
const MAX_PATH: usize = 32 * 1024;
/// Bytes of a time that is text.
const MAX_TIME: usize = 64;

/// What is read of one layout: the table, the columns, and what a row says.
struct Layout {
    table: &'static str,
    /// The first is the time.
    columns: &'static [&'static str],
    /// Whether the row is about the repository, and in which state the agent is there.
    row: fn(&mut Row<'_, '_>, &Look<'_>) -> Result<Option<State>, Fault>,
}

/// What a row says besides its time.
#[derive(Debug, Default)]
struct State {
    idle: bool,
    pid: Option<u32>,
}

fn layout(store: Store) -> Option<Layout> {
    Some(match store {
        Store::OpencodeDatabases | Store::OpencodeDatabase | Store::KiloDatabases => Layout {
            table: "session",
            columns: &["time_updated", "directory", "time_archived?"],
            row: |row, look| {
                let archived = row.value(2, 8)? != Value::Null;
                Ok((!archived && is_here(row.text(1, MAX_PATH)?, look)).then(State::default))
            },
        },
        Store::GooseDatabase => Layout {
            table: "sessions",
            columns: &["updated_at", "working_dir"],
            row: |row, look| Ok(is_here(row.text(1, MAX_PATH)?, look).then(State::default)),
        },
        Store::ClineDatabase => Layout {
            table: "sessions",
            columns: &["updated_at", "cwd", "workspace_root?", "ended_at?", "pid?"],
            row: |row, look| {
                if !is_here(row.text(1, MAX_PATH)?, look) && !is_here(row.text(2, MAX_PATH)?, look) {
                    return Ok(None);
                }
                let idle = row.value(3, MAX_TIME)? != Value::Null;
                let pid = row.integer(4)?.and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0 && !idle);
                Ok(Some(State { idle, pid }))
            },
        },
        Store::ZedDatabase => Layout {
            table: "threads",
            columns: &["updated_at", "folder_paths"],
            row: |row, look| {
                let paths = row.text(1, MAX_PATH)?.unwrap_or_default();
                Ok(paths.lines().any(|path| look.root.holds_text(path)).then(State::default))
            },
        },
        _ => return None,
    })
}

fn is_here(path: Option<String>, look: &Look<'_>) -> bool {
    path.and_then(|path| local(&path)).is_some_and(|path| look.root.holds(&path))
}

/// Reads the databases of one store.
pub fn read(held: &Held, look: &mut Look<'_>) {
    let (agent, _) = row(held.store);
    let Some(layout) = layout(held.store) else { return };
    for name in &held.files {
        if look.is_over() {
            return look.miss(agent, UnseenReason::OutOfTime, 1);
        }
        if let Err(closed) = one(held, agent, name, &layout, look) {
            look.closed(agent, closed);
        }
    }
}

/// The state of a database: its own, and that of its log.
fn stamp(dir: &Dir, name: &[u8], way: u32) -> Result<(Stamp, Option<Stamp>), Closed> {
    let file = Stamp { way, ..dir.facts(name)?.stamp };
    let log = match dir.facts(&[name, b"-wal"].concat()) {
        Ok(facts) => Some(facts.stamp).filter(|stamp| stamp.size > 0),
        Err(Closed::Absent) => None,
        Err(closed) => return Err(closed),
    };
    Ok((file, log))
}

fn one(held: &Held, agent: &str, name: &[u8], layout: &Layout, look: &mut Look<'_>) -> Result<(), Closed> {
    let dir = &held.dir;
    for _ in 0..2 {
        let (file, log) = stamp(dir, name, held.store as u32)?;
        let newest = file.modified.max(log.map_or(0, |log| log.modified));
        if !look.is_recent(newest.div_euclid(1_000_000)) {
            return Ok(());
        }
        let both = both(file, log);
        if let Some(known) = look.before(&both) {
            look.take(agent, known);
            return Ok(());
        }
        let journal = is_hot(dir, name);
        let opened = dir.open(name).map(|(file, facts)| Opened::of(file, facts))?;
        let log_file = match log {
            Some(_) => dir.open(&[name, b"-wal"].concat()).map(|(file, facts)| Some(Opened::of(file, facts)))?,
            None => None,
        };
        let said = if journal {
            Err(UnseenReason::Changing)
        } else {
            let (file, log) = (opened.at_positions(), log_file.as_ref().map(Opened::at_positions));
            of_bytes(agent, &file, log.as_ref().map(|log| log as &dyn Bytes), layout, look).map_err(reason)
        };
        if stamp(dir, name, held.store as u32)? == (file, log) {
            match said {
                Ok(said) => look.take(agent, Known { stamp: both, said, unseen: None }),
                Err(reason) => look.miss(agent, reason, 1),
            }
            return Ok(());
        }
    }
    look.miss(agent, UnseenReason::Changing, 1);
    Ok(())
}

/// Whether a transaction that keeps a journal is not over, or was cut off: the file is then not what it should be. A
/// journal that is kept for the next transaction has no head.
fn is_hot(dir: &Dir, name: &[u8]) -> bool {
    const HEAD: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    let journal = dir.open(&[name, b"-journal"].concat()).map(|(file, facts)| Opened::of(file, facts));
    journal.is_ok_and(|journal| journal.head(8).is_ok_and(|head| head == HEAD))
}

/// One stamp that changes when either of two does.
fn both(file: Stamp, log: Option<Stamp>) -> Stamp {
    let Some(log) = log else { return file };
    Stamp {
        size: file.size ^ log.size.rotate_left(32) ^ log.file.1.rotate_left(17),
        modified: file.modified.max(log.modified),
        changed: file.changed.max(log.changed),
        way: file.way | 1 << 31,
        ..file
    }
}

fn reason(fault: Fault) -> UnseenReason {
    match fault {
        Fault::Damaged | Fault::Short => UnseenReason::Damaged,
        Fault::Unknown => UnseenReason::UnknownSchema,
        Fault::TooLarge => UnseenReason::TooLarge,
    }
}

/// The newest row that is about the repository; of those with a process, each.
fn of_bytes(
    agent: &str,
    file: &dyn Bytes,
    log: Option<&dyn Bytes>,
    layout: &Layout,
    look: &Look<'_>,
) -> Result<Vec<Finding>, Fault> {
    // one that was made and holds nothing yet
    if file.is_empty() && log.is_none() {
        return Ok(Vec::new());
    }
    let database = Database::open(file, log)?;
    let mut found: Vec<Finding> = Vec::new();
    let mut recent = 0;
    database.rows(layout.table, layout.columns, &mut |row| {
        let at_ms = match row.value(0, MAX_TIME)? {
            Value::Integer(number) => when::number(number),
            Value::Real(number) if number.abs() < 9e15 => when::number(number as i64),
            Value::Text(text) => std::str::from_utf8(&text).ok().and_then(when::text),
            _ => None,
        };
        let Some(at_ms) = at_ms.filter(|at| look.is_recent(*at)) else { return Ok(true) };
        recent += 1;
        if let Some(State { idle, pid }) = (layout.row)(row, look)? {
            found.push(Finding { idle, pid, ..session(agent, at_ms) });
        }
        Ok(recent < MAX_RECENT)
    })?;
    found.sort_by_key(|finding| std::cmp::Reverse(finding.last_activity_ms));
    let mut first = true;
    found.retain(|finding| std::mem::replace(&mut first, false) || finding.pid.is_some());
    found.truncate(crate::look::MAX_FILES);
    Ok(found)
}

/// Every layout on the same bytes, as a hostile store could put them anywhere: for tests and fuzzing.
pub fn judge(file: &[u8], log: Option<&[u8]>, look: &Look<'_>) -> Vec<Finding> {
    let stores = [Store::OpencodeDatabase, Store::GooseDatabase, Store::ClineDatabase, Store::ZedDatabase];
    let (file, log) = (file.to_vec(), log.map(<[u8]>::to_vec));
    let log = log.as_ref().map(|log| log as &dyn Bytes);
    let found = stores.into_iter().filter_map(|store| of_bytes("opencode", &file, log, &layout(store)?, look).ok());
    found.flatten().collect()
}
