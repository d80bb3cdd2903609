//! A home with other agents' stores, a repository, and the server looking at both; as an ordinary user where that is needed.
//! Trust: test code.

use crate::support::{Outcome, Place, Server, Start};
use serde_json::{Value, json};
use std::{
    ffi::OsString,
    fs::{self, File},
    os::unix::{fs::chown, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Nobody that a system has by default.
pub const USER: u32 = 12_345;

/// The switch by which a server leaves no presence file.
const SILENT: &str = "FLUXGIT_MCP_PRESENCE_DISABLED";

/// A home and a repository.
pub struct World {
    pub place: Place,
    pub repo: PathBuf,
    /// Started as root, all of it belongs to an ordinary user, and so does the server.
    ordinary: bool,
    environment: Vec<(String, PathBuf)>,
    children: Vec<Child>,
    /// A shell under this name starts the server, in the repository.
    under: Option<PathBuf>,
}

impl World {
    pub fn new() -> Self {
        let place = Place::new();
        let repo = place.directory("repo");
        let made = place.command("git").args(["init", "-q"]).arg(&repo).status().expect("git is there");
        assert!(made.success());
        Self {
            place,
            repo,
            ordinary: false,
            environment: vec![(SILENT.to_owned(), PathBuf::new())],
            children: Vec::new(),
            under: None,
        }
    }

    /// The same with a server that an ordinary user runs: as root without capabilities, the system shows nobody's directory.
    ///
    /// # Errors
    /// Why that is not possible here.
    pub fn ordinary() -> Result<Self, String> {
        let mut world = Self::new();
        if nix::unistd::geteuid().is_root() {
            let product = env!("CARGO_BIN_EXE_bulkhead");
            let reached = Command::new(product).arg("--version").uid(USER).gid(USER).current_dir("/").output();
            if !reached.is_ok_and(|output| output.status.success()) {
                return Err("an ordinary user cannot start the product where it was built".to_owned());
            }
            if Command::new("setpriv").arg("--version").output().is_err() {
                return Err("setpriv is not there".to_owned());
            }
            world.ordinary = true;
        }
        Ok(world)
    }

    pub fn home(&self, relative: &str) -> PathBuf {
        self.place.home().join(relative)
    }

    /// The repository's path as text.
    pub fn root(&self) -> &str {
        self.repo.to_str().expect("places have UTF-8 paths")
    }

    /// Has servers leave a presence file, which would else show the ones before in later looks.
    pub fn tell(&mut self) {
        self.environment.retain(|(name, _)| name != SILENT);
    }

    /// A variable of the server's environment.
    pub fn variable(&mut self, name: &str, value: impl Into<PathBuf>) {
        self.environment.push((name.to_owned(), value.into()));
    }

    /// Writes a file and its directories, modified so long ago.
    pub fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>, age: Duration) -> PathBuf {
        let path = self.place.path().join(path);
        fs::create_dir_all(path.parent().expect("it lies in the place")).expect("the place is ours");
        fs::write(&path, text).expect("the place is ours");
        self.age(&path, age);
        path
    }

    pub fn age(&self, path: &Path, age: Duration) {
        File::open(path).and_then(|file| file.set_modified(SystemTime::now() - age)).expect("the file is ours");
    }

    /// A program of this name, with these words behind it, that works in the repository until the world ends.
    pub fn process(&mut self, name: &str, words: &[&str], dir: &Path) -> u32 {
        let program =
            self.place.at(format!("bin-{}", self.children.len())).join(name.rsplit('/').next().unwrap_or(name));
        let (copied, arguments): (PathBuf, Vec<&str>) = if words.is_empty() {
            fs::create_dir_all(program.parent().expect("it lies in the place")).expect("the place is ours");
            shell(&program);
            (program, Vec::new())
        } else {
            // the shell itself waits, and its command line holds the words
            ("/bin/sh".into(), ["-c", "read line"].into_iter().chain(words.iter().copied()).collect())
        };
        let mut command = Command::new(copied);
        command.arg0(name).args(arguments).current_dir(dir).stdin(Stdio::piped()).stdout(Stdio::null());
        if self.ordinary {
            self.give();
            command.uid(USER).gid(USER);
        }
        let child = command.spawn().expect("a process");
        let pid = child.id();
        self.children.push(child);
        pid
    }

    /// A program of this name that has started another one in the repository.
    pub fn busy(&mut self, name: &str) {
        let program = self.place.directory("busy").join(name);
        shell(&program);
        let mut command = Command::new(&program);
        // what follows the command keeps the shell there
        command.args(["-c", "cat; exit"]).current_dir(&self.repo).stdin(Stdio::piped()).stdout(Stdio::null());
        if self.ordinary {
            self.give();
            command.uid(USER).gid(USER);
        }
        let child = command.spawn().expect("a process");
        let children = format!("/proc/{0}/task/{0}/children", child.id());
        self.children.push(child);
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        while fs::read_to_string(&children).is_ok_and(|list| list.trim().is_empty()) {
            assert!(std::time::Instant::now() < deadline, "the shell starts nothing");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Has a program of this name, which works in the repository, start the server.
    pub fn under(&mut self, name: &str) {
        let program = self.place.directory("host").join(name);
        shell(&program);
        self.under = Some(program);
    }

    /// Has everything belong to the user of the server.
    fn give(&self) {
        fn all(path: &Path) {
            let _ = std::os::unix::fs::lchown(path, Some(USER), Some(USER));
            if path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                for entry in fs::read_dir(path).into_iter().flatten().flatten() {
                    all(&entry.path());
                }
            }
        }
        if self.ordinary {
            all(self.place.path());
            chown(self.place.path(), Some(USER), Some(USER)).expect("root may");
        }
    }

    pub fn server(&self) -> Server {
        self.give();
        let mut wrapper: Vec<OsString> = Vec::new();
        let mut start = Start::new(&self.place).root(self.place.path());
        for (name, value) in &self.environment {
            start = start.environment(name, value);
        }
        if self.ordinary {
            let user = USER.to_string();
            wrapper = ["setpriv", "--reuid", &user, "--regid", &user, "--clear-groups"].map(OsString::from).to_vec();
        }
        if let Some(under) = &self.under {
            // what follows the command keeps the shell there
            wrapper.extend([under.clone().into_os_string(), "-c".into(), "\"$@\"; exit $?".into(), "host".into()]);
            start = start.cwd(&self.repo);
        }
        if !wrapper.is_empty() {
            start = start.wrapper(&wrapper);
        }
        start.spawn()
    }

    /// What `agents.presence` says to a client of this name.
    pub fn look(&self, client: Option<&str>) -> Value {
        let mut server = self.server();
        let outcome = ask(&mut server, &self.repo, client);
        drop(server);
        assert!(outcome.is_ok(), "{}", outcome.message);
        outcome.payload()["data"].clone()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A shell under another name. A link, since a copy that was just written may still be open in another test's child.
fn shell(program: &Path) {
    std::os::unix::fs::symlink("/bin/sh", program).expect("the place is ours");
}

/// Calls `agents.presence`.
pub fn ask(server: &mut Server, repo: &Path, client: Option<&str>) -> Outcome {
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    if let Some(client) = client {
        meta["io.modelcontextprotocol/clientInfo"] = json!({"name": client, "version": "1"});
    }
    let id = server
        .request("tools/call", json!({"name": "agents.presence", "arguments": {"repoPath": repo}, "_meta": meta}));
    server.answer(&id)
}

/// Milliseconds since 1970, so long ago.
pub fn ago_ms(age: Duration) -> i64 {
    let since = (SystemTime::now() - age).duration_since(UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_millis()).expect("in range")
}

/// The same in RFC 3339.
pub fn ago(age: Duration) -> String {
    let ms = ago_ms(age);
    let (days, rest) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000));
    // civil date of a day number
    let z = days + 719_468;
    let (era, of_era) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let of_years = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * of_years + of_years / 4 - of_years / 100);
    let shifted = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * shifted + 2) / 5 + 1, if shifted < 10 { shifted + 3 } else { shifted - 9 });
    let year = of_years + era * 400 + i64::from(month <= 2);
    let (h, m, s) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1_000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}.{:03}Z", rest % 1_000)
}

/// The rows of an answer.
pub fn agents(data: &Value) -> &[Value] {
    data["agents"].as_array().map_or(&[], Vec::as_slice)
}

/// Whether an answer says that it could not look at this, for that reason.
pub fn misses(data: &Value, what: &str, reason: &str) -> bool {
    let reasons = data["partialReasons"].as_array().into_iter().flatten();
    data["partial"] == true && reasons.into_iter().any(|row| row["what"] == what && row["reason"] == reason)
}
