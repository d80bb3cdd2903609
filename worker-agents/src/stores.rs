//! The stores of other agents and editors: which there are, and a handle on each before anything of it is read.
//! Trust: places are the operator's; what lies there is other programs' and may be a trap.

use crate::place::{Closed, Dir, Handle, Kind, Ways};
use bulkhead_contract::results::{Unseen, UnseenReason};
use bulkhead_ipc::edge::agents::{Store, StoreAt};
use std::{
    path::{Path, PathBuf},
    rc::Rc,
};

/// Databases of one store that are read.
const MAX_DATABASES: usize = 8;

/// How a store lies in the file system, as far as granting it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Everything beneath the directory.
    Tree,
    /// Databases in the directory whose names begin so. What else lies there is none of our business.
    Databases(&'static str),
    /// One database.
    Database,
    /// The directory `tmp`, and the file `projects.json` beside it. What else lies there is none of our business.
    Gemini,
    /// Only that it is there.
    Home,
}

/// Whose store it is, and how it lies.
#[must_use]
pub fn row(store: Store) -> (&'static str, Layout) {
    match store {
        Store::ClaudeProjects => ("claude-code", Layout::Tree),
        Store::CodexSessions => ("codex", Layout::Tree),
        Store::OpencodeDatabases => ("opencode", Layout::Databases("opencode")),
        Store::OpencodeDatabase => ("opencode", Layout::Database),
        Store::OpencodeSessions => ("opencode", Layout::Tree),
        Store::Gemini => ("gemini-cli", Layout::Gemini),
        Store::CursorChats => ("cursor-agent", Layout::Tree),
        Store::KiloDatabases => ("kilo", Layout::Databases("kilo")),
        Store::ContinueSessions => ("continue", Layout::Tree),
        Store::ClineDatabase => ("cline", Layout::Database),
        Store::AmpThreads => ("amp", Layout::Tree),
        Store::GooseDatabase => ("goose", Layout::Database),
        Store::GooseSessions => ("goose", Layout::Tree),
        Store::CopilotSessions => ("copilot-cli", Layout::Tree),
        Store::QwenProjects => ("qwen-code", Layout::Tree),
        Store::CursorWorkspaces => ("cursor", Layout::Tree),
        Store::WindsurfWorkspaces => ("windsurf", Layout::Tree),
        Store::VscodeWorkspaces => ("vscode", Layout::Tree),
        Store::ZedDatabase => ("zed", Layout::Database),
        Store::GooseHome => ("goose", Layout::Home),
        Store::CrushHome => ("crush", Layout::Home),
    }
}

/// A store that is there.
#[derive(Debug)]
pub struct Held {
    /// Which.
    pub store: Store,
    /// The directory that it lies in.
    pub dir: Rc<Dir>,
    /// Files that are granted one by one; empty where the whole directory is.
    pub files: Vec<Vec<u8>>,
}

/// Stores that are there, and what the jail is to keep.
#[derive(Debug, Default)]
pub struct Stores {
    /// In the order of the places.
    pub held: Vec<Held>,
    /// Directories for the jail.
    pub dirs: Vec<Handle>,
    /// Files for the jail.
    pub files: Vec<Handle>,
    /// What cannot be looked at.
    pub unseen: Vec<Unseen>,
}

impl Stores {
    /// Takes hold of every store that is there. Names are looked at, contents are not.
    #[must_use]
    pub fn hold(places: &[StoreAt]) -> Self {
        let (mut stores, mut ways) = (Self::default(), Ways::default());
        for place in places {
            let (agent, layout) = row(place.store);
            let Some(path) = path(&place.path) else { continue };
            if let Err(closed) = stores.hold_one(place.store, layout, &path, &mut ways)
                && let Some(reason) = closed.unseen()
            {
                stores.miss(agent, reason, 1);
            }
        }
        stores
    }

    fn hold_one(&mut self, store: Store, layout: Layout, path: &Path, ways: &mut Ways) -> Result<(), Closed> {
        let (agent, _) = row(store);
        let mut files = Vec::new();
        let dir = match layout {
            Layout::Tree => {
                let dir = ways.walk(path)?;
                self.dirs.push(dir.handle()?);
                dir
            }
            Layout::Home => ways.walk(path)?,
            Layout::Gemini => {
                let dir = ways.walk(path)?;
                match dir.child(b"tmp") {
                    Ok(tmp) => self.dirs.push(tmp.handle()?),
                    Err(Closed::Absent) => {}
                    Err(closed) => return Err(closed),
                }
                self.hold_file(&dir, b"projects.json", &mut files)?;
                dir
            }
            Layout::Databases(prefix) => {
                let dir = ways.walk(path)?;
                let (names, _) = dir.names()?;
                let mut found: Vec<_> = names.into_iter().filter(|name| name.ends_with(".db")).collect();
                found.retain(|name| name.bytes.starts_with(prefix.as_bytes()));
                found.sort_by(|a, b| a.bytes.cmp(&b.bytes));
                if found.len() > MAX_DATABASES {
                    self.miss(agent, UnseenReason::TooMany, found.len() - MAX_DATABASES);
                    found.truncate(MAX_DATABASES);
                }
                for name in found {
                    match name.kind {
                        Some(Kind::Link) => self.miss(agent, UnseenReason::Link, 1),
                        _ => self.hold_database(&dir, agent, &name.bytes, &mut files),
                    }
                }
                dir
            }
            Layout::Database => {
                let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(Closed::Absent) };
                let dir = ways.walk(parent)?;
                self.hold_database(&dir, agent, name.as_encoded_bytes(), &mut files);
                dir
            }
        };
        self.held.push(Held { store, dir, files });
        Ok(())
    }

    /// A database, and the log or the journal beside it.
    fn hold_database(&mut self, dir: &Dir, agent: &str, name: &[u8], files: &mut Vec<Vec<u8>>) {
        let mut hold = || {
            if self.hold_file(dir, name, files)? {
                for beside in [&b"-wal"[..], b"-journal"] {
                    self.hold_file(dir, &[name, beside].concat(), &mut Vec::new())?;
                }
            }
            Ok(())
        };
        if let Err(closed) = hold()
            && let Some(reason) = Closed::unseen(closed)
        {
            files.retain(|held| held != name);
            self.miss(agent, reason, 1);
        }
    }

    /// A file, where it is there.
    fn hold_file(&mut self, dir: &Dir, name: &[u8], files: &mut Vec<Vec<u8>>) -> Result<bool, Closed> {
        match dir.hold(name) {
            Ok(handle) => {
                self.files.push(handle);
                files.push(name.to_vec());
                Ok(true)
            }
            Err(Closed::Absent) => Ok(false),
            Err(closed) => Err(closed),
        }
    }

    /// Whether something of this agent is there at all.
    #[must_use]
    pub fn are_of(&self, agent: &str) -> bool {
        self.held.iter().any(|held| row(held.store).0 == agent)
    }

    fn miss(&mut self, what: &str, reason: UnseenReason, count: usize) {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.unseen.push(Unseen { what: what.to_owned(), reason, count });
    }
}

#[cfg(unix)]
pub(crate) fn path(bytes: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

#[cfg(not(unix))]
pub(crate) fn path(bytes: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(bytes).ok().map(PathBuf::from)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    fn at(store: Store, path: &Path) -> StoreAt {
        StoreAt { store, path: path.as_os_str().as_encoded_bytes().to_vec() }
    }

    #[test]
    fn what_is_not_there_is_not_missed_and_what_is_a_link_is() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let base = temp.path().canonicalize().expect("it exists");
        fs::create_dir_all(base.join("real/threads")).expect("ours");
        symlink("real", base.join("link")).expect("links are possible here");
        fs::write(base.join("file"), "").expect("ours");
        let stores = Stores::hold(&[
            at(Store::AmpThreads, &base.join("real/threads")),
            at(Store::AmpThreads, &base.join("absent")),
            at(Store::CodexSessions, &base.join("link/threads")),
            at(Store::QwenProjects, &base.join("link")),
            at(Store::ContinueSessions, &base.join("file")),
        ]);
        assert_eq!((stores.held.len(), stores.dirs.len()), (1, 1));
        let unseen: Vec<_> = stores.unseen.iter().map(|unseen| (unseen.what.as_str(), unseen.reason)).collect();
        let expected =
            [("codex", UnseenReason::Link), ("qwen-code", UnseenReason::Link), ("continue", UnseenReason::NotAFile)];
        assert_eq!(unseen, expected);
    }

    #[test]
    fn databases_are_granted_one_by_one_with_their_logs_and_no_neighbour() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let base = temp.path().canonicalize().expect("it exists");
        for name in ["opencode.db", "opencode.db-wal", "opencode-next.db", "auth.json", "other.db"] {
            fs::write(base.join(name), "").expect("ours");
        }
        symlink("auth.json", base.join("opencode-link.db")).expect("links are possible here");
        let stores = Stores::hold(&[at(Store::OpencodeDatabases, &base)]);
        assert_eq!(stores.held[0].files, [&b"opencode-next.db"[..], b"opencode.db"]);
        assert_eq!((stores.dirs.len(), stores.files.len()), (0, 3));
        assert_eq!(stores.unseen[0].reason, UnseenReason::Link);
        for n in 0..20 {
            fs::write(base.join(format!("opencode-{n}.db")), "").expect("ours");
        }
        let stores = Stores::hold(&[at(Store::OpencodeDatabases, &base)]);
        assert!(stores.held[0].files.len() <= MAX_DATABASES);
        assert!(stores.unseen.iter().any(|unseen| unseen.reason == UnseenReason::TooMany && unseen.count == 15));
    }

    // rustix makes no pipes on other systems
    #[cfg(target_os = "linux")]
    #[test]
    fn a_pipe_in_the_place_of_a_database_is_not_waited_for() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let base = temp.path().canonicalize().expect("it exists");
        rustix::fs::mkfifoat(rustix::fs::CWD, base.join("sessions.db"), rustix::fs::Mode::RUSR).expect("a pipe");
        let stores = Stores::hold(&[at(Store::ClineDatabase, &base.join("sessions.db"))]);
        assert!(stores.files.is_empty() && stores.held[0].files.is_empty());
        assert_eq!(stores.unseen[0].reason, UnseenReason::NotAFile);
    }
}
