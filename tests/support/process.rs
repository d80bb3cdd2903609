//! The product's processes as `/proc` shows them.
//! Trust: test code; a process may vanish between two looks, and then it is simply not there.

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

/// One process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process(pub i32);

impl Process {
    /// The processes whose parent this is.
    pub fn children(self) -> Vec<Process> {
        let entries = fs::read_dir("/proc").expect("/proc is mounted");
        let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).map(Process);
        pids.filter(|process| process.parent() == Some(self)).collect()
    }

    /// Its parent, while it is there and not a zombie.
    pub fn parent(self) -> Option<Process> {
        let stat = fs::read_to_string(self.proc("stat")).ok()?;
        // the name in parentheses may hold anything, so what counts begins after the last one
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        if fields.next()? == "Z" {
            return None;
        }
        Some(Process(fields.next()?.parse().ok()?))
    }

    /// Whether it runs: a process whose first thread has ended holds all that it held until its last one has.
    pub fn is_alive(self) -> bool {
        let others = fs::read_dir(self.proc("task")).map_or(0, |tasks| tasks.count().saturating_sub(1));
        self.parent().is_some() || others > 0
    }

    /// Stops it, and waits until every thread of it stands still: a signal takes its time, and one that is still awake could
    /// answer the next question.
    ///
    /// # Panics
    /// When it does not stop.
    pub fn stop(self) {
        self.signal(Signal::SIGSTOP);
        let state = |task: fs::DirEntry| {
            let stat = fs::read_to_string(task.path().join("stat")).ok()?;
            Some(stat.rsplit_once(") ")?.1.starts_with('T'))
        };
        let stopped = || {
            let tasks = fs::read_dir(self.proc("task"));
            tasks.is_ok_and(|mut tasks| tasks.all(|task| task.ok().and_then(state) == Some(true)))
        };
        assert!(until(Duration::from_secs(20), stopped), "process {} does not stop", self.0);
    }

    /// A field of its `status`, for example `CapEff`.
    pub fn status(self, field: &str) -> Option<String> {
        let text = fs::read_to_string(self.proc("status")).ok()?;
        text.lines().find_map(|line| Some(line.strip_prefix(field)?.strip_prefix(':')?.trim().to_owned()))
    }

    /// The most memory that it ever held, in KiB.
    pub fn peak_kib(self) -> Option<u64> {
        self.status("VmHWM")?.split(' ').next()?.parse().ok()
    }

    /// Its command line.
    pub fn arguments(self) -> Vec<String> {
        let bytes = fs::read(self.proc("cmdline")).unwrap_or_default();
        bytes.split(|b| *b == 0).filter(|w| !w.is_empty()).map(|w| String::from_utf8_lossy(w).into_owned()).collect()
    }

    /// A file of its `/proc` directory.
    pub fn proc(self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.0))
    }

    /// Sends it a signal.
    pub fn signal(self, signal: Signal) {
        kill(Pid::from_raw(self.0), signal).expect("it is a process of ours");
    }
}

/// The launcher of a server whose supervisor has this process id.
pub fn launcher(supervisor: i32) -> Process {
    let children = Process(supervisor).children();
    assert_eq!(children.len(), 1, "the supervisor has one child, the launcher");
    children[0]
}

/// The live workers of that server that read repositories.
pub fn workers(supervisor: i32) -> Vec<Process> {
    of_kind(supervisor, "read")
}

/// The live workers of that server that are of this kind.
pub fn of_kind(supervisor: i32, kind: &str) -> Vec<Process> {
    let is = |worker: &Process| {
        let words = worker.arguments();
        words.get(1).is_some_and(|word| word == "worker") && words.get(2).is_some_and(|word| word == kind)
    };
    launcher(supervisor).children().into_iter().filter(is).collect()
}

/// Waits until `condition` holds; false when it does not within `patience`.
pub fn until(patience: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let since = Instant::now();
    loop {
        if condition() {
            return true;
        }
        if since.elapsed() > patience {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
