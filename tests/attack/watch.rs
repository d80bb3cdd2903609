//! The processes of a server, looked at from outside while it runs: how much memory each held, and which are left.
//! Trust: `/proc` alone; a process that lives for less than a look is not seen.

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    collections::BTreeMap,
    fs,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// Time between two looks.
const PACE: Duration = Duration::from_millis(100);
/// Processes that are remembered of one server.
const MAX_SEEN: usize = 4096;

/// A process, told from a later one of the same number by when it began.
type Key = (u32, u64);

#[derive(Debug, Default)]
struct Seen {
    /// What each was called, and the most anonymous memory that it was seen to hold, in KiB.
    processes: BTreeMap<Key, (String, u64)>,
}

/// Looks at a server's processes until it is dropped.
#[derive(Debug)]
pub struct Watch {
    root: u32,
    seen: Arc<Mutex<Seen>>,
    done: Arc<AtomicBool>,
}

impl Watch {
    /// Begins to look at this process and all that it starts.
    pub fn on(root: u32) -> Self {
        let watch = Self { root, seen: Arc::default(), done: Arc::default() };
        let (seen, done) = (Arc::clone(&watch.seen), Arc::clone(&watch.done));
        std::thread::spawn(move || {
            while !done.load(Ordering::Relaxed) {
                look(root, &seen);
                std::thread::sleep(PACE);
            }
        });
        watch
    }

    /// Looks now, so that what is there is known.
    pub fn look(&self) {
        look(self.root, &self.seen);
    }

    /// What the processes are called, and the most memory of its own that each was seen to hold, in KiB.
    pub fn peaks(&self) -> Vec<(String, u64)> {
        self.seen.lock().expect("no holder panics").processes.values().cloned().collect()
    }

    /// What is left of all that were seen, after `patience` at most; it is ended then.
    pub fn left(&self, patience: Duration) -> Vec<String> {
        let until = Instant::now() + patience;
        loop {
            let seen = self.seen.lock().expect("no holder panics");
            let left: Vec<(u32, String)> = seen
                .processes
                .iter()
                .filter(|(key, _)| key.0 != self.root && began(key.0) == Some(key.1))
                .map(|(key, (name, _))| (key.0, format!("{name} ({})", key.0)))
                .collect();
            drop(seen);
            if left.is_empty() || Instant::now() > until {
                for (pid, _) in &left {
                    // a trap holds some of them for ever, and nobody else ends them
                    let _ = i32::try_from(*pid).map(|pid| kill(Pid::from_raw(pid), Signal::SIGKILL));
                }
                return left.into_iter().map(|(_, name)| name).collect();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
    }
}

fn look(root: u32, seen: &Mutex<Seen>) {
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        let Some(began) = began(pid) else { continue };
        let name = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let name: String = String::from_utf8_lossy(&name).replace('\0', " ").trim().chars().take(60).collect();
        let kib = anonymous(pid).unwrap_or(0);
        let mut seen = seen.lock().expect("no holder panics");
        if seen.processes.len() < MAX_SEEN || seen.processes.contains_key(&(pid, began)) {
            let entry = seen.processes.entry((pid, began)).or_default();
            entry.1 = entry.1.max(kib);
            // a child that has not become another program yet is called as its parent is, and one that ends has no name
            if !name.is_empty() {
                entry.0 = name;
            }
        }
        drop(seen);
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            open.extend(children.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
    }
}

/// When it began, in ticks, while it is there and no zombie.
fn began(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields = stat.rsplit_once(") ")?.1;
    if fields.starts_with(['Z', 'X']) {
        return None;
    }
    fields.split(' ').nth(19)?.parse().ok()
}

/// Memory of its own that is in use, in KiB.
fn anonymous(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().split(' ').next()?.parse().ok()
}
