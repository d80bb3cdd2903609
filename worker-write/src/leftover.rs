//! Lock files of Git: found before a write begins, so that none fails half-way on one that a dead Git left behind.
//! Trust: names and times in a git directory, which anybody with access may have put there; nothing is opened or removed.
//!
//! A lock file does not say whose it is. One that is held by a running Git, a commit whose editor is open for instance, looks
//! the same as one of a Git that was killed, so none is ever removed here: the failure names each with its age, and who
//! can see whether a Git runs, the operator or an agent with a shell, deletes it.

use crate::{
    clear,
    failure::{Step, failed, named},
};
use bulkhead_contract::direct::Class;
use bulkhead_ipc::edge::write::Failed;
use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant, SystemTime},
};

/// Files of a git directory that Git makes for a write and that keep others out as long as they are there; other programs keep
/// locks of their own beside these.
const NAMES: &[&str] = &[
    "index.lock",
    "HEAD.lock",
    "ORIG_HEAD.lock",
    "MERGE_HEAD.lock",
    "MERGE_MSG.lock",
    "CHERRY_PICK_HEAD.lock",
    "REVERT_HEAD.lock",
    "REBASE_HEAD.lock",
    "AUTO_MERGE.lock",
    "config.lock",
    "config.worktree.lock",
    "packed-refs.lock",
    // written beside the lock, and no less in the way of who deletes a packed ref
    "packed-refs.new",
    "shallow.lock",
];
/// Where the steps of an operation lie that is open. A lock among them keeps out who goes on, and goes with them for who gives
/// up.
const STEPS: &[&str] = &["rebase-merge", "rebase-apply", "sequencer"];
/// Entries of directories that are looked at, at most; refs beyond are Git's to trip over.
const MAX_ENTRIES: usize = 50_000;
/// A Git that holds a lock for a moment is given this long.
const MOMENT: Duration = Duration::from_millis(1_500);

/// How long a directory of ours may take to be deleted.
const CLEARING: Duration = Duration::from_secs(1);

/// A lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Where it is.
    pub path: PathBuf,
    /// Since when, as far as its time says.
    pub age: Duration,
}

/// All lock files beneath a git directory and the one that it shares: `index.lock`, `HEAD.lock`, `config.lock`,
/// `packed-refs.lock`, those of single refs, of the list of reftables.
#[must_use]
pub fn find(git_dir: &Path, common_dir: &Path) -> Vec<Leftover> {
    let mut found = Vec::new();
    let mut left = MAX_ENTRIES;
    let mut own = vec![git_dir, common_dir];
    own.dedup();
    for path in own.iter().flat_map(|directory| NAMES.iter().map(|name| directory.join(name))) {
        if let Ok(it) = path.symlink_metadata() {
            found.push(Leftover { path, age: it.modified().map(age).unwrap_or_default() });
        }
    }
    flat(&common_dir.join("reftable"), &mut found, &mut left);
    let mut open = vec![common_dir.join("refs")];
    if common_dir != git_dir {
        open.push(git_dir.join("refs"));
    }
    while let Some(directory) = open.pop() {
        open.extend(flat(&directory, &mut found, &mut left));
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Lock files of one directory; its directories.
fn flat(directory: &Path, found: &mut Vec<Leftover>, left: &mut usize) -> Vec<PathBuf> {
    let mut directories = Vec::new();
    let Ok(entries) = fs::read_dir(directory) else { return directories };
    for entry in entries.flatten() {
        if *left == 0 {
            break;
        }
        *left -= 1;
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            directories.push(entry.path());
        } else if entry.path().extension().is_some_and(|extension| extension == "lock") {
            let age = entry.metadata().and_then(|it| it.modified()).map(age).unwrap_or_default();
            found.push(Leftover { path: entry.path(), age });
        }
    }
    directories
}

fn age(since: SystemTime) -> Duration {
    SystemTime::now().duration_since(since).unwrap_or_default()
}

/// Those among the steps of an operation that is open.
fn among_steps(git_dir: &Path) -> Vec<Leftover> {
    let (mut found, mut left) = (Vec::new(), MAX_ENTRIES);
    for name in STEPS {
        flat(&git_dir.join(name), &mut found, &mut left);
    }
    found
}

/// Indexes of commits of single paths, `next-index-PID.lock`. Each belongs to one Git and is in nobody's way, and none is taken
/// away by `git gc`.
fn next_indexes(git_dir: &Path) -> Vec<Leftover> {
    let (mut found, mut left) = (Vec::new(), MAX_ENTRIES);
    flat(git_dir, &mut found, &mut left);
    let is_one = |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"next-index-"));
    found.retain(|it| is_one(&it.path));
    found
}

/// Waits a moment for lock files to go away; for who goes on with an open operation, those among its steps too.
///
/// # Errors
/// Class `locked`, naming those that stay, with their ages.
pub fn none(git_dir: &Path, common_dir: &Path, goes_on: bool) -> Result<(), Box<Failed>> {
    let until = Instant::now() + MOMENT;
    loop {
        let mut found = find(git_dir, common_dir);
        if goes_on {
            found.extend(among_steps(git_dir));
        }
        if found.is_empty() {
            return Ok(());
        }
        // an old one has no owner that is about to finish
        let fresh = found.iter().any(|it| it.age < MOMENT);
        if Instant::now() >= until || !fresh {
            // by the same Git, and to be deleted with the others
            found.extend(next_indexes(git_dir));
            return Err(locked(&found));
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn locked(found: &[Leftover]) -> Box<Failed> {
    let names: Vec<_> = found.iter().map(|it| format!("{} ({} old)", it.path.display(), readable(it.age))).collect();
    failed(
        Class::Locked,
        format!("Git has left lock files, or a running Git holds them: {}. Nothing was done.", named(&names)),
        "If no other Git runs in this repository or in another working tree of it (a commit whose editor is open is one), \
         delete exactly these files, or ask the operator to, and try again; this server never removes a lock.",
    )
}

/// A sentence that names the lock files that there are.
pub(crate) fn now(git_dir: &Path, common_dir: &Path) -> Option<String> {
    let found = find(git_dir, common_dir).into_iter().chain(among_steps(git_dir)).chain(next_indexes(git_dir));
    let names: Vec<_> = found.map(|it| it.path.display().to_string()).collect();
    (!names.is_empty()).then(|| format!("These lock files of Git are there now: {}.", named(&names)))
}

/// How names beneath `objects` begin as long as Git, or what reads it, writes what is in them.
const UNFINISHED: &[&str] = &["tmp_", ".tmp"];

/// How long is looked for loose objects that were not finished, each in the directory of its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// Two milliseconds at most: after what went well.
    Brief,
    /// Many times that: after what did not.
    Long,
}

impl Look {
    /// Entries that are looked at.
    fn entries(self) -> usize {
        match self {
            Self::Brief => 8_000,
            Self::Long => MAX_ENTRIES,
        }
    }
}

/// A sentence about objects and packs that a Git has begun and not finished: one that fetches and is ended leaves its own, of any
/// size, and only `git gc` takes it away, after two weeks. A file does not say whose it is, so none is removed here.
pub(crate) fn unfinished(common_dir: &Path, look: Look) -> Option<String> {
    let objects = common_dir.join("objects");
    let (mut names, mut bytes) = (Vec::new(), 0_u64);
    let (mut left, mut loose) = (MAX_ENTRIES, look.entries());
    let mut seen = |directory: &str, left: &mut usize| {
        let Ok(entries) = fs::read_dir(objects.join(directory)) else { return };
        for entry in entries.flatten() {
            if *left == 0 {
                break;
            }
            *left -= 1;
            let name = entry.file_name();
            if !UNFINISHED.iter().any(|beginning| name.as_encoded_bytes().starts_with(beginning.as_bytes())) {
                continue;
            }
            let Ok(found) = entry.metadata() else { continue };
            let size = if found.is_dir() { beneath(&entry.path(), left) } else { found.len() };
            bytes = bytes.saturating_add(size);
            let age = found.modified().map(age).unwrap_or_default();
            let at = Path::new(directory).join(name);
            names.push(format!("{} ({size} bytes, written {} ago)", at.display(), readable(age)));
        }
    };
    for directory in ["pack", ""] {
        seen(directory, &mut left);
    }
    for first in 0..=u8::MAX {
        seen(&format!("{first:02x}"), &mut loose);
    }
    let all = left > 0 && loose > 0;
    names.sort();
    if names.is_empty() {
        let said = format!(
            "There are so many entries in {} that not all were looked at for unfinished objects.",
            objects.display()
        );
        return (!all && look == Look::Long).then_some(said);
    }
    Some(format!(
        "There are unfinished objects or packs in {}, {}{bytes} bytes in all, which a Git that was ended has left, or a running \
         one writes: {}. If no other Git runs in this repository, they can be deleted; this server never does that.",
        objects.display(),
        if all { "" } else { "at least " },
        named(&names)
    ))
}

/// Bytes of the files beneath a directory: what is pushed to a repository arrives in one of its own.
fn beneath(directory: &Path, left: &mut usize) -> u64 {
    let (mut bytes, mut open) = (0_u64, vec![directory.to_owned()]);
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if *left == 0 {
                return bytes;
            }
            *left -= 1;
            match entry.metadata() {
                Ok(found) if found.is_dir() => open.push(entry.path()),
                Ok(found) => bytes = bytes.saturating_add(found.len()),
                Err(_) => {}
            }
        }
    }
    bytes
}

fn readable(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds @ 7_200..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// A directory of ours beneath a git directory for files that an operation needs while it runs; gone with the value.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// An empty one. One that an ended worker left is removed: the lock of the working copy says that it has ended.
    pub(crate) fn new(git_dir: &Path) -> Step<Self> {
        Self::named(git_dir, "bulkhead-scratch")
    }

    /// One for what hooks need, beside it.
    pub(crate) fn of_hooks(git_dir: &Path) -> Step<Self> {
        Self::named(git_dir, "bulkhead-hooks")
    }

    fn named(git_dir: &Path, name: &str) -> Step<Self> {
        let (path, left) = (git_dir.join(name), git_dir.join(format!("{name}-left")));
        // what a hook filled may take more than one write's time to go, and stands in nobody's way meanwhile
        let _ = clear::directory(&left, Instant::now() + CLEARING);
        let removed = match clear::directory(&path, Instant::now() + CLEARING) {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => fs::rename(&path, &left),
            other => other,
        };
        removed.and_then(|()| fs::create_dir(&path)).map_err(|error| {
            failed(
                Class::Failed,
                format!("The directory {} for passing files cannot be made: {error}.", path.display()),
                "Make room, give the server's user the right to write there, or delete that directory.",
            )
        })?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // what cannot be removed is removed by the next write
        let _ = clear::directory(&self.0, Instant::now() + CLEARING);
    }
}
