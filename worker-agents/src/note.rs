//! The own presence file: what this server does, for others like it to see. Written whole or not at all.
//! Trust: what is written comes from the supervisor, in bounds; the directory may be full of other programs' files.

use crate::place::{Closed, Dir, Facts, Handle, Kind};
use bulkhead_ipc::edge::note::{MAX_NOTED, Note};
use serde_json::json;
use std::{io::Write as _, path::Path};

/// Version of the layout (contract `agents.md`).
pub const SCHEMA: u64 = 1;
/// Names that are looked at to remove what servers left that were killed.
const MAX_SWEPT: usize = 512;
/// Age in milliseconds after which a file was left.
const LEFT_AFTER_MS: i64 = 24 * 3_600_000;
/// Characters of a client's name and version.
const MAX_CLIENT: usize = 128;

/// Why there is no note.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// The directory cannot be reached.
    #[error("the directory of presence files is {0}")]
    Directory(Closed),
    /// The operator has none.
    #[error("there is no directory for presence files")]
    Nowhere,
    /// Others may write to it.
    #[error("the directory of presence files belongs to another user, or others may write to it")]
    Shared,
    /// The system refused.
    #[error("the presence file cannot be written")]
    Refused,
}

/// The directory of the note, held before the jail is finished.
#[derive(Debug)]
pub struct Notebook {
    dir: Dir,
    pid: u32,
    written: u64,
    swept: bool,
}

impl Notebook {
    /// Makes the directory where it is missing, readable by its owner alone, and holds it.
    ///
    /// # Errors
    /// It cannot be made or is not the user's alone.
    pub fn open(path: &Path, pid: u32) -> Result<Self, NoteError> {
        let dir = Dir::make(path).map_err(NoteError::Directory)?;
        let facts = dir.own_facts().map_err(NoteError::Directory)?;
        if !is_private(&facts) {
            return Err(NoteError::Shared);
        }
        Ok(Self { dir, pid, written: 0, swept: false })
    }

    /// For the jail.
    ///
    /// # Errors
    /// There are no descriptors left.
    pub fn handle(&self) -> Result<Handle, NoteError> {
        self.dir.handle().map_err(NoteError::Directory)
    }

    /// Writes the note in place of the one before.
    ///
    /// # Errors
    /// The system refused; the one before stays.
    pub fn write(&mut self, note: &Note, now_ms: i64) -> Result<(), NoteError> {
        if !std::mem::replace(&mut self.swept, true) {
            self.sweep(now_ms);
        }
        self.written += 1;
        let part = format!(".{}.{}.tmp", self.pid, self.written);
        // left by an earlier server of the same process id, killed between the two steps
        let _ = self.dir.remove(part.as_bytes());
        let refused = |_| NoteError::Refused;
        let mut file = self.dir.create(part.as_bytes()).map_err(refused)?;
        let whole = file.write_all(text(note, self.pid).as_bytes()).map_err(|_| Closed::Refused);
        drop(file);
        whole.and_then(|()| self.dir.rename(part.as_bytes(), self.name().as_bytes())).map_err(|closed| {
            let _ = self.dir.remove(part.as_bytes());
            refused(closed)
        })
    }

    /// Removes the note.
    ///
    /// # Errors
    /// The system refused.
    pub fn remove(&self) -> Result<(), NoteError> {
        match self.dir.remove(self.name().as_bytes()) {
            Ok(()) | Err(Closed::Absent) => Ok(()),
            Err(_) => Err(NoteError::Refused),
        }
    }

    fn name(&self) -> String {
        format!("{}.json", self.pid)
    }

    /// Removes what was left; nothing fails for it.
    fn sweep(&self, now_ms: i64) {
        let Ok((names, _)) = self.dir.names() else { return };
        let old = names.iter().filter(|name| name.ends_with(".json") || name.ends_with(".tmp"));
        for name in old.take(MAX_SWEPT) {
            let left = self.dir.facts(&name.bytes).is_ok_and(|facts| {
                facts.kind == Kind::File && facts.modified_ms().saturating_add(LEFT_AFTER_MS) < now_ms
            });
            if left {
                let _ = self.dir.remove(&name.bytes);
            }
        }
    }
}

/// Whether nobody but the user can change what lies in a directory.
fn is_private(facts: &Facts) -> bool {
    facts.is_own() && facts.mode & 0o022 == 0
}

/// The file's text (contract `agents.md`).
fn text(note: &Note, pid: u32) -> String {
    let short = |text: &String| -> String { text.chars().filter(|c| !c.is_control()).take(MAX_CLIENT).collect() };
    let repos: Vec<_> = note
        .repos
        .iter()
        .take(MAX_NOTED)
        .map(|repo| json!({ "lastCallMs": repo.at_ms, "lastTool": repo.tool, "repoPath": repo.path }))
        .collect();
    json!({
        "client": { "name": note.client.as_ref().map(short), "version": note.version.as_ref().map(short) },
        "pid": pid,
        "repos": repos,
        "schemaVersion": SCHEMA,
    })
    .to_string()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use bulkhead_ipc::edge::note::NotedRepo;
    use std::{fs, os::unix::fs::PermissionsExt as _, os::unix::fs::symlink, time::Duration, time::SystemTime};

    fn note(tools: &[&str]) -> Note {
        let repo = |tool: &&str| NotedRepo { path: "/srv/r".to_owned(), tool: (*tool).to_owned(), at_ms: 5 };
        Note { client: Some("a\u{7}client".to_owned()), version: None, repos: tools.iter().map(repo).collect() }
    }

    fn now() -> i64 {
        crate::serve::now_ms()
    }

    #[test]
    fn a_note_is_private_whole_and_in_the_contracts_layout() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let path = temp.path().canonicalize().expect("it exists").join("presence/mcp");
        let mut book = Notebook::open(&path, 7).expect("made");
        book.write(&note(&["repo.brief"]), now()).expect("written");
        book.write(&note(&["diff.text"]), now()).expect("written again");
        let names: Vec<_> = fs::read_dir(&path).expect("made").flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(names, ["7.json"]);
        let text = fs::read_to_string(path.join("7.json")).expect("written");
        let wanted = r#"{"client":{"name":"aclient","version":null},"pid":7,"repos":[{"lastCallMs":5,"lastTool":"diff.text","repoPath":"/srv/r"}],"schemaVersion":1}"#;
        assert_eq!(text, wanted);
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&path.join("7.json"))), (0o700, 0o600));
        book.remove().expect("removed");
        book.remove().expect("nothing to remove");
        assert!(!path.join("7.json").exists());
    }

    #[test]
    fn links_and_directories_of_others_are_refused() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let base = temp.path().canonicalize().expect("it exists");
        fs::create_dir(base.join("elsewhere")).expect("ours");
        symlink("elsewhere", base.join("mcp")).expect("links are possible here");
        assert_eq!(Notebook::open(&base.join("mcp"), 7).expect_err("a link"), NoteError::Directory(Closed::Link));
        let open = base.join("open");
        fs::create_dir(&open).expect("ours");
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).expect("ours");
        assert_eq!(Notebook::open(&open, 7).expect_err("shared"), NoteError::Shared);
    }

    #[test]
    fn a_link_in_the_place_of_the_note_is_replaced_and_never_written_through() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let base = temp.path().canonicalize().expect("it exists");
        fs::write(base.join("victim"), "untouched").expect("ours");
        let mut book = Notebook::open(&base.join("mcp"), 7).expect("made");
        for name in ["7.json", ".7.1.tmp"] {
            symlink(base.join("victim"), base.join("mcp").join(name)).expect("links are possible here");
        }
        book.write(&note(&["repo.brief"]), now()).expect("written");
        assert_eq!(fs::read_to_string(base.join("victim")).expect("there"), "untouched");
        assert!(base.join("mcp/7.json").symlink_metadata().expect("written").is_file());
    }

    #[test]
    fn what_dead_servers_left_is_swept_once_and_the_rest_stays() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let path = temp.path().canonicalize().expect("it exists");
        let long_ago = SystemTime::now() - Duration::from_secs(25 * 3600);
        for (name, old) in [("1.json", true), (".1.2.tmp", true), ("2.json", false), ("3.txt", true)] {
            let file = fs::File::create(path.join(name)).expect("ours");
            if old {
                file.set_modified(long_ago).expect("ours");
            }
        }
        let mut book = Notebook::open(&path, 7).expect("there");
        book.write(&note(&["repo.brief"]), now()).expect("written");
        let mut names: Vec<_> = fs::read_dir(&path).expect("there").flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        assert_eq!(names, ["2.json", "3.txt", "7.json"]);
    }
}
