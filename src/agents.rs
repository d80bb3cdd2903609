//! Where other agents keep what they work on: settled once at start from the environment that they read too.
//! Trust: the operator's own environment; the file system is asked for canonical paths, nothing is read.

use crate::options::bytes;
use bulkhead_contract::isolation::Demand;
use bulkhead_ipc::edge::{
    agents::{Init, Store, StoreAt},
    note,
};
use bulkhead_supervisor::settings::RunDirectory;
use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

/// Private memory of either kind of process in bytes.
const MEMORY: u64 = 256 << 20;
/// Bytes of all paths together: the row must fit the launcher's table.
const MAX_BYTES: usize = 20 * 1024;
/// Where presence files lie in a run directory (contract `agents.md`).
const PRESENCE: &str = "presence/mcp";

/// Settles it for the supervisor that this process becomes.
pub fn settle(demand: Demand, home: Option<&OsStr>, run_dirs: &[RunDirectory]) -> (Init, note::Init) {
    let environment = |name: &str| std::env::var_os(name);
    let mut room = MAX_BYTES;
    let mut fits = |path: &[u8]| {
        let left = room.checked_sub(path.len() + 8);
        room = left.unwrap_or(room);
        left.is_some()
    };
    let presence = run_dirs.iter().map(|dir| bytes(Path::new(&dir.path).join(PRESENCE).into_os_string()));
    let presence: Vec<_> = presence.filter(|path| fits(path)).collect();
    let stores = stores(home.map(Path::new), &environment).into_iter();
    let stores = stores.map(|(store, path)| StoreAt { store, path: bytes(path.into_os_string()) });
    let stores = stores.filter(|at| fits(&at.path)).collect();
    let pid = std::process::id();
    let note = note::Init { demand, dir: None, pid, memory: MEMORY };
    (Init { demand, stores, presence, pid, memory: MEMORY }, note)
}

/// Every place that may hold a store, whether it is there or not.
fn stores(home: Option<&Path>, environment: &dyn Fn(&str) -> Option<OsString>) -> Vec<(Store, PathBuf)> {
    let set = |name: &str| environment(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // a relative one means another place to each program that reads it
    let named = |name: &str| set(name).filter(|path| path.is_absolute());
    let home = home.filter(|home| home.is_absolute()).map(Path::to_path_buf);
    let at_home = |below: &str| home.as_ref().map(|home| home.join(below));
    let data = named("XDG_DATA_HOME").or_else(|| at_home(".local/share"));
    let in_data = |below: &str| data.as_ref().map(|data| data.join(below));
    let config = match std::env::consts::OS {
        "windows" => named("APPDATA"),
        "macos" => at_home("Library/Application Support"),
        _ => named("XDG_CONFIG_HOME").or_else(|| at_home(".config")),
    };
    let in_config = |below: &str| config.as_ref().map(|config| config.join(below));
    let below = |base: Option<PathBuf>, below: &str| base.map(|base| base.join(below));
    let gemini = named("GEMINI_CLI_HOME").map(|home| home.join(".gemini")).or_else(|| at_home(".gemini"));
    let goose = below(named("GOOSE_PATH_ROOT"), "data/sessions");
    let goose = goose.or_else(|| match std::env::consts::OS {
        "windows" => below(named("APPDATA"), "Block/goose/data/sessions"),
        _ => in_data("goose/sessions"),
    });
    let cline = below(named("CLINE_DB_DATA_DIR"), "sessions.db")
        .or_else(|| below(named("CLINE_DATA_DIR"), "db/sessions.db"))
        .or_else(|| below(named("CLINE_DIR"), "data/db/sessions.db"))
        .or_else(|| at_home(".cline/data/db/sessions.db"));
    let zed = match std::env::consts::OS {
        "windows" => below(named("LOCALAPPDATA"), "Zed/threads/threads.db"),
        "macos" => in_config("Zed/threads/threads.db"),
        _ => in_data("zed/threads/threads.db"),
    };
    let editor = |name: &str| in_config(&format!("{name}/User/workspaceStorage"));
    let rows = [
        (Store::ClaudeProjects, below(named("CLAUDE_CONFIG_DIR").or_else(|| at_home(".claude")), "projects")),
        (Store::CodexSessions, below(named("CODEX_HOME").or_else(|| at_home(".codex")), "sessions")),
        (Store::OpencodeDatabases, in_data("opencode")),
        (Store::OpencodeDatabase, named("OPENCODE_DB")),
        (Store::OpencodeSessions, in_data("opencode/storage/session")),
        (Store::Gemini, gemini),
        (Store::Gemini, at_home(".cache/.gemini")),
        (Store::CursorChats, at_home(".cursor/chats")),
        (Store::KiloDatabases, in_data("kilo")),
        (Store::ContinueSessions, below(named("CONTINUE_GLOBAL_DIR").or_else(|| at_home(".continue")), "sessions")),
        (Store::ClineDatabase, cline),
        (Store::AmpThreads, in_data("amp/threads")),
        (Store::GooseDatabase, below(goose.clone(), "sessions.db")),
        (Store::GooseSessions, goose),
        (Store::CopilotSessions, below(named("COPILOT_HOME").or_else(|| at_home(".copilot")), "session-state")),
        (Store::QwenProjects, below(named("QWEN_HOME").or_else(|| at_home(".qwen")), "projects")),
        (Store::CursorWorkspaces, editor("Cursor")),
        (Store::WindsurfWorkspaces, editor("Windsurf")),
        (Store::VscodeWorkspaces, editor("Code")),
        (Store::VscodeWorkspaces, editor("Code - Insiders")),
        (Store::VscodeWorkspaces, editor("VSCodium")),
        (Store::ZedDatabase, zed),
        (Store::GooseHome, in_config("goose")),
        (Store::CrushHome, in_data("crush")),
        (Store::CrushHome, in_config("crush")),
    ];
    // the way to a home may lead through links; what lies beneath it may not
    let canonical = home.as_ref().and_then(|home| Some((home.clone(), home.canonicalize().ok()?)));
    let settled = |path: PathBuf| match &canonical {
        Some((written, canonical)) => match path.strip_prefix(written) {
            Ok(below) => canonical.join(below),
            Err(_) => path,
        },
        None => path,
    };
    rows.into_iter().filter_map(|(store, path)| Some((store, settled(path?)))).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn places(variables: &[(&str, &str)]) -> Vec<(Store, PathBuf)> {
        let environment =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value));
        stores(Some(Path::new("/nobody/home")), &environment)
    }

    fn of(store: Store, places: &[(Store, PathBuf)]) -> Vec<&str> {
        places.iter().filter(|(known, _)| *known == store).filter_map(|(_, path)| path.to_str()).collect()
    }

    #[test]
    fn stores_are_where_their_programs_look() {
        let plain = places(&[]);
        assert_eq!(of(Store::ClaudeProjects, &plain), ["/nobody/home/.claude/projects"]);
        assert_eq!(of(Store::OpencodeDatabases, &plain), ["/nobody/home/.local/share/opencode"]);
        assert_eq!(of(Store::OpencodeDatabase, &plain), [""; 0]);
        assert_eq!(of(Store::ClineDatabase, &plain), ["/nobody/home/.cline/data/db/sessions.db"]);
        assert_eq!(of(Store::VscodeWorkspaces, &plain).len(), 3);
        let moved = places(&[
            ("XDG_DATA_HOME", "/d"),
            ("CLAUDE_CONFIG_DIR", "/c"),
            ("GEMINI_CLI_HOME", "/g"),
            ("GOOSE_PATH_ROOT", "/o"),
            ("CLINE_DIR", "/cline"),
            ("CLINE_DATA_DIR", "/cline-data"),
            ("OPENCODE_DB", "relative.db"),
            ("CODEX_HOME", ""),
        ]);
        assert_eq!(of(Store::ClaudeProjects, &moved), ["/c/projects"]);
        assert_eq!(of(Store::Gemini, &moved), ["/g/.gemini", "/nobody/home/.cache/.gemini"]);
        assert_eq!(of(Store::GooseDatabase, &moved), ["/o/data/sessions/sessions.db"]);
        assert_eq!(of(Store::ClineDatabase, &moved), ["/cline-data/db/sessions.db"]);
        assert_eq!(of(Store::ZedDatabase, &moved), ["/d/zed/threads/threads.db"]);
        assert_eq!(of(Store::OpencodeDatabase, &moved), [""; 0]);
        assert_eq!(of(Store::CodexSessions, &moved), ["/nobody/home/.codex/sessions"]);
    }

    #[test]
    fn a_home_behind_a_link_is_settled_and_what_lies_beneath_is_not() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let base = temp.path().canonicalize().expect("it exists");
        std::fs::create_dir(base.join("real")).expect("ours");
        std::os::unix::fs::symlink("real", base.join("home")).expect("links are possible here");
        let found = stores(Some(&base.join("home")), &|_| None);
        assert_eq!(of(Store::AmpThreads, &found), [base.join("real/.local/share/amp/threads").to_str().expect("text")]);
    }

    #[test]
    fn the_row_fits_the_table_however_long_paths_are() {
        let long = "/".to_owned() + &"x".repeat(4_000);
        let run_dir = RunDirectory { path: long.clone(), written: long.clone(), exists: true };
        let (init, _) = settle(Demand::Required, Some(OsStr::new(&long)), &[run_dir]);
        let bytes: usize = init.stores.iter().map(|at| at.path.len()).chain(init.presence.iter().map(Vec::len)).sum();
        assert!(bytes > 4_000 && bytes <= MAX_BYTES, "{bytes}");
    }
}
