//! Presence files of servers like this one: who asks them about the repository.
//! Trust: any program of the same user can write such a file; one that others could have written is not read.

use crate::{
    look::{Look, Opened},
    note::SCHEMA,
    place::{Closed, Dir, Handle, Kind},
    stores,
};
use bulkhead_contract::{
    agents::{UNNAMED, client_name, of_client},
    results::{AgentSource, McpClient, UnseenReason},
};
use bulkhead_ipc::edge::{
    agents::{Finding, MAX_TEXT},
    note::MAX_NOTED,
};
use serde::Deserialize;

/// Files that are looked at.
const MAX_FILES: usize = 256;
/// Bytes of one.
const MAX_BYTES: u64 = 64 * 1024;
/// What an answer calls them.
const WHAT: &str = "presence";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    schema_version: u64,
    pid: u32,
    client: Client,
    repos: Vec<Repo>,
}

#[derive(Deserialize)]
struct Client {
    name: Option<String>,
    version: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Repo {
    repo_path: String,
    last_tool: Option<String>,
    last_call_ms: i64,
}

/// Directories of such files, and the list of processes, by which one sees whether a server still lives.
#[derive(Debug, Default)]
pub struct Presence {
    dirs: Vec<Dir>,
    processes: Option<Dir>,
}

impl Presence {
    /// Takes hold of them; handles for the jail besides.
    #[must_use]
    pub fn hold(paths: &[Vec<u8>], look: &mut Look<'_>) -> (Self, Vec<Handle>) {
        let (mut dirs, mut handles) = (Vec::new(), Vec::new());
        for path in paths.iter().filter_map(|path| stores::path(path)) {
            match Dir::walk(&path).and_then(|dir| Ok((dir.handle()?, dir))) {
                Ok((handle, dir)) => {
                    handles.push(handle);
                    dirs.push(dir);
                }
                Err(closed) => look.closed(WHAT, closed),
            }
        }
        let processes = if cfg!(target_os = "linux") { Dir::walk("/proc".as_ref()).ok() } else { None };
        (Self { dirs, processes }, handles)
    }

    /// Reads them. `own` is this server, which is not among the others.
    pub fn read(&self, look: &mut Look<'_>, own: u32) {
        for dir in &self.dirs {
            let (names, more) = match dir.names() {
                Ok(names) => names,
                Err(closed) => {
                    look.closed(WHAT, closed);
                    continue;
                }
            };
            let named = names.iter().filter(|name| name.ends_with(".json") && name.bytes.first() != Some(&b'.'));
            let named: Vec<_> = named.collect();
            if more || named.len() > MAX_FILES {
                look.miss(WHAT, UnseenReason::TooMany, 1);
            }
            for name in named.into_iter().take(MAX_FILES) {
                if let Err(reason) = self.one(dir, &name.bytes, look, own) {
                    look.miss(WHAT, reason, 1);
                }
            }
        }
    }

    fn one(&self, dir: &Dir, name: &[u8], look: &mut Look<'_>, own: u32) -> Result<(), UnseenReason> {
        let why = |closed: Closed| closed.unseen().unwrap_or(UnseenReason::Unreadable);
        let facts = match dir.facts(name) {
            Err(Closed::Absent) => return Ok(()),
            facts => facts.map_err(why)?,
        };
        match facts.kind {
            Kind::File if look.is_recent(facts.modified_ms()) => {}
            Kind::File => return Ok(()),
            Kind::Link => return Err(UnseenReason::Link),
            Kind::Directory | Kind::Other => return Err(UnseenReason::NotAFile),
        }
        let (file, facts) = dir.open(name).map_err(why)?;
        // one that somebody else could have written says nothing
        if !facts.is_own() || facts.mode & 0o022 != 0 {
            return Err(UnseenReason::Unreadable);
        }
        let bytes = Opened::of(file, facts).whole(MAX_BYTES)?;
        for finding in of_text(&bytes, name, look, own)? {
            let lives = finding.pid.is_none_or(|pid| self.lives(pid));
            // a server that was killed leaves its file, which then says what was, not what is
            look.add(Finding { idle: !lives, pid: None, ..finding });
        }
        Ok(())
    }

    /// Whether a process of this user has that number. Where the system does not say, it may.
    pub fn lives(&self, pid: u32) -> bool {
        let Some(processes) = &self.processes else { return true };
        processes.facts(pid.to_string().as_bytes()).is_ok_and(|facts| facts.is_own())
    }
}

/// What one file says; findings bear the server's process.
///
/// # Errors
/// It is damaged, or of another version.
pub fn of_text(bytes: &[u8], name: &[u8], look: &Look<'_>, own: u32) -> Result<Vec<Finding>, UnseenReason> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Version {
        schema_version: u64,
    }
    let version: Version = serde_json::from_slice(bytes).map_err(|_| UnseenReason::Damaged)?;
    if version.schema_version != SCHEMA {
        return Err(UnseenReason::UnknownSchema);
    }
    let file: File = serde_json::from_slice(bytes).map_err(|_| UnseenReason::Damaged)?;
    debug_assert_eq!(file.schema_version, SCHEMA);
    // a file that names another process than its own name does speaks for somebody else
    if name != format!("{}.json", file.pid).as_bytes() {
        return Err(UnseenReason::Damaged);
    }
    if file.pid == own {
        return Ok(Vec::new());
    }
    let client = file.client.name.as_deref().and_then(client_name);
    let version = file.client.version.filter(|text| !text.chars().any(char::is_control) && text.len() <= MAX_TEXT);
    let repos = file.repos.into_iter().take(MAX_NOTED);
    let here = repos.filter(|repo| look.root.holds_text(&repo.repo_path) && look.is_recent(repo.last_call_ms));
    let newest = here.max_by_key(|repo| repo.last_call_ms);
    Ok(newest
        .map(|repo| Finding {
            agent: of_client(client.as_deref()),
            source: AgentSource::Mcp,
            pid: Some(file.pid),
            last_activity_ms: Some(repo.last_call_ms),
            last_tool: repo.last_tool.as_deref().and_then(crate::inside::word),
            mcp_client: Some(McpClient { name: client.unwrap_or_else(|| UNNAMED.to_owned()), version }),
            ..Finding::default()
        })
        .into_iter()
        .collect())
}
