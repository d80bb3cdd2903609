//! What a run directory holds: repositories that are registered in it, and one restore record for each.
//! Trust: names and contents are hostile; sizes are bounded, links and special files passed over, bad JSON is told.

mod restore;

use crate::{
    files::{self, NoContents},
    pace::Pace,
    run_dir::{OPERATION, RunDir},
    worktree::disk::Dir,
};
use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    results::{Records, RegistryEntry},
};
use bulkhead_ipc::edge::{
    asks::{self, RecordsOf},
    read::{Ask, Reply},
};
use std::{fs, path::PathBuf};

/// Registered repositories at most.
const MAX_ENTRIES: usize = 4_096;
/// Names in the registry's directory that are looked at, whatever they are.
const MAX_NAMES: usize = 65_536;
/// Bytes of one registry file at most.
const MAX_PATH_FILE: u64 = 32 * 1024;
/// Bytes of all registered paths that are handed out.
const MAX_PATHS: usize = 2 << 20;
/// Restore records of one repository at most.
const MAX_RECORDS: usize = 16;
/// Problems that are spelled out.
const MAX_PROBLEMS: usize = 8;
/// Bytes of an id; what is longer cannot be a file's name.
const MAX_ID: usize = 250;

/// Answers one question about `dir`.
///
/// # Errors
/// For every question that is not about records.
pub fn answer(dir: &RunDir, ask: &Ask, pace: &Pace) -> Result<Reply, ReadFailure> {
    let Ask::Records(ask) = ask else {
        return Err(ReadFailure::new(
            Reason::NotARepository,
            OPERATION,
            "The path is a run directory of this server, which holds records and is no repository.",
        ));
    };
    records(dir, ask, pace).map(|records| Reply::Records(Box::new(records)))
}

fn records(dir: &RunDir, ask: &asks::Records, pace: &Pace) -> Result<Records, ReadFailure> {
    let mut found = Records { named: ask.named.as_deref().is_some_and(|path| names(path, dir)), ..Records::default() };
    match &ask.of {
        RecordsOf::Registry => {
            let mut room = MAX_PATHS;
            let mut truncated = false;
            let whole = each_entry(dir, &mut found, pace, |entry| match room.checked_sub(entry.path.len()) {
                Some(left) => {
                    room = left;
                    Some(entry)
                }
                None => {
                    truncated = true;
                    None
                }
            })?;
            found.truncated = truncated || !whole;
            found.registry.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        }
        RecordsOf::Repository { canonical, id } => {
            let mut ids = ids_of(dir, canonical, id.as_deref(), &mut found, pace)?;
            ids.sort_unstable();
            found.truncated |= ids.len() > MAX_RECORDS;
            for id in ids.into_iter().take(MAX_RECORDS) {
                match restore::read(&dir.rebase(), &id) {
                    Ok(Some(record)) => found.restore.push(record),
                    Ok(None) => continue,
                    Err(why) => tell(&mut found, format!("rebase/{id}.json: {why}")),
                }
                found.any = true;
            }
        }
    }
    Ok(found)
}

/// Whether `path` leads to the run directory.
fn names(path: &[u8], dir: &RunDir) -> bool {
    let path = files::bytes_path(path).filter(|path: &PathBuf| path.is_absolute());
    path.is_some_and(|path| path == dir.path || fs::canonicalize(path).is_ok_and(|path| path == dir.path))
}

/// Ids under which restore records of the repository may be looked for.
fn ids_of(
    dir: &RunDir,
    canonical: &[u8],
    asked: Option<&str>,
    found: &mut Records,
    pace: &Pace,
) -> Result<Vec<String>, ReadFailure> {
    let asked = asked.filter(|id| !id.is_empty());
    if let Some(id) = asked {
        if !is_id(id) {
            return Ok(Vec::new());
        }
        match Dir::open(&dir.repos()).map_err(|e| NoContents::of(&e)).and_then(|repos| registered(&repos, id)) {
            Ok(path) if path == canonical => return Ok(vec![id.to_owned()]),
            Ok(_) => {
                tell(found, format!("repoId {id} is registered for another repository."));
                return Ok(Vec::new());
            }
            Err(NoContents::Absent) => {}
            Err(why) => {
                tell(found, format!("repos/{id}.path is {why}."));
                return Ok(Vec::new());
            }
        }
    }
    let mut ids = Vec::new();
    let whole = each_entry(dir, found, pace, |entry| {
        if entry.path == canonical {
            ids.push(entry.id);
        }
        None
    })?;
    found.truncated |= !whole;
    match asked {
        // nothing says whose record it is, and nothing contradicts the caller
        Some(id) if ids.is_empty() => Ok(vec![id.to_owned()]),
        Some(id) => {
            tell(found, format!("The repository is registered under another id than repoId {id}."));
            Ok(Vec::new())
        }
        None => Ok(ids),
    }
}

/// Gives every registered repository to `take`, and keeps what it gives back. True where there were no more than
/// [`MAX_ENTRIES`].
fn each_entry(
    dir: &RunDir,
    found: &mut Records,
    pace: &Pace,
    mut take: impl FnMut(RegistryEntry) -> Option<RegistryEntry>,
) -> Result<bool, ReadFailure> {
    let unreadable = |e: std::io::Error| NoContents::of(&e).failure(OPERATION, "repos");
    if !dir.directories().contains(&dir.repos()) {
        return Ok(true);
    }
    let repos = Dir::open(&dir.repos()).map_err(unreadable)?;
    let mut entries = 0;
    let mut bad = 0u32;
    for (at, name) in fs::read_dir(dir.repos()).map_err(unreadable)?.enumerate() {
        pace.step(16).map_err(|_| late())?;
        if at >= MAX_NAMES {
            return Ok(false);
        }
        let name = name.map_err(unreadable)?.file_name();
        let Some(id) = name.to_str().and_then(|name| name.strip_suffix(".path")).filter(|id| is_id(id)) else {
            continue;
        };
        if entries == MAX_ENTRIES {
            return Ok(false);
        }
        entries += 1;
        match registered(&repos, id) {
            Ok(path) => found.registry.extend(take(RegistryEntry { id: id.to_owned(), path })),
            Err(_) => bad += 1,
        }
    }
    match bad {
        0 => {}
        1 => tell(found, "One file of repos cannot be used: it is no small regular file with an absolute path.".into()),
        bad => tell(
            found,
            format!("{bad} files of repos cannot be used: they are no small regular files with an absolute path."),
        ),
    }
    Ok(true)
}

/// The path that is registered under `id`.
fn registered(repos: &Dir, id: &str) -> Result<Vec<u8>, NoContents> {
    let file = repos.file(format!("{id}.path").as_bytes()).map_err(|e| NoContents::of(&e))?;
    let text = files::read_open(file, MAX_PATH_FILE)?;
    let path = text.trim_ascii();
    let absolute = files::bytes_path(path).is_some_and(|path| path.is_absolute()) && !path.contains(&0);
    if absolute { Ok(path.to_vec()) } else { Err(NoContents::Failed) }
}

/// Whether `id` is a name that a file can be made of.
fn is_id(id: &str) -> bool {
    !matches!(id, "" | "." | "..") && id.len() <= MAX_ID && !id.contains(['/', '\\', '\0'])
}

fn tell(found: &mut Records, problem: String) {
    if found.problems.len() < MAX_PROBLEMS {
        found.problems.push(problem);
    }
}

fn late() -> ReadFailure {
    ReadFailure::new(Reason::TooLarge, OPERATION, "The run directory has too many files to be read in time.")
}
