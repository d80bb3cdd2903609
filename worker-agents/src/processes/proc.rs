//! `/proc` of Linux: owner, directory, program, command line and start of processes.
//! Trust: of the kernel's text only numbers after the last parenthesis are taken apart; the rest is carried as bytes.

use super::{MAX_ANCESTORS, Process, Processes};
use crate::{inside::Root, recognise::Program};
use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, RawDir, openat, readlinkat_raw, statat},
    io::Errno,
};
use std::{ffi::CStr, io::Write as _, mem::MaybeUninit, os::fd::OwnedFd};

/// Processes that are looked at.
const MAX_PROCESSES: usize = 65_536;
/// Own processes without a visible directory that are looked at.
const MAX_HIDDEN: usize = 1_024;
/// Bytes of a file of a process that are read, a command line among them: one page.
const MAX_TEXT: usize = 4_096;
/// Bytes of a path that is compared; a longer one is compared by its beginning, and no repository has one so long.
const MAX_PATH: usize = 4_096;
/// Bytes of a name in the list of processes: a number, a separator, a word, and the NUL behind it.
const MAX_NAME: usize = 32;
/// Bytes of the list that are asked for at once: a thousand processes.
const LISTED: usize = 32 * 1_024;
/// Ticks in which the kernel states times to programs, whatever it counts in itself.
const TICKS_A_SECOND: i64 = 100;
/// From here on users are people on common systems, and one that stands for nobody.
const FIRST_PERSON: u32 = 1_000;
const NOBODY: u32 = 65_534;

/// Looks at every process once.
pub fn look(root: &Root, supervisor: u32) -> Processes {
    let mut seen = Processes::default();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let proc = match openat(CWD, "/proc", flags, Mode::empty()) {
        Ok(proc) => proc,
        Err(_) => return Processes { none: true, ..seen },
    };
    let table = Table { proc, uid: rustix::process::geteuid().as_raw(), up_ms: 0 };
    let table = Table { up_ms: table.up_ms(), ..table };
    let mut buffer = [MaybeUninit::uninit(); LISTED];
    let mut listing = RawDir::new(&table.proc, &mut buffer);
    let mut looked_at = 0;
    while let Some(entry) = listing.next() {
        let Ok(entry) = entry else {
            seen.more = true;
            break;
        };
        let Some(pid) = entry.file_name().to_str().ok().and_then(|name| name.parse::<u32>().ok()) else { continue };
        looked_at += 1;
        if looked_at > MAX_PROCESSES {
            seen.more = true;
            break;
        }
        if pid == supervisor {
            continue;
        }
        // to an ordinary user the kernel shows the directories of their own processes alone, so that nobody has to ask
        // first whose each of them is; root is shown others' where it has the capability
        let foreign = |seen: &mut Processes| {
            let owner = table.owner(pid)?;
            let other = owner != table.uid;
            seen.others += u32::from(other && owner >= FIRST_PERSON && owner != NOBODY);
            Some(other)
        };
        if table.uid == 0 && foreign(&mut seen) != Some(false) {
            continue;
        }
        match table.link(pid, "cwd", |cwd| root.holds(cwd)) {
            Ok(true) => {
                seen.inside.push(pid);
                table.climb(pid, MAX_ANCESTORS, &mut seen);
            }
            Ok(false) => {}
            Err(Errno::ACCESS | Errno::PERM) => {
                let own = table.uid == 0 || foreign(&mut seen) == Some(false);
                if own && seen.hidden.len() < MAX_HIDDEN {
                    seen.hidden.push(Program { path: Vec::new(), line: table.text(pid, "cmdline") });
                }
            }
            // kernel threads have none, and a process may just have ended
            Err(_) => {}
        }
    }
    if seen.inside.is_empty() && seen.hidden.is_empty() {
        return seen;
    }
    let mut at = supervisor;
    for _ in 0..super::CALLERS {
        let Some(process) = table.owner(at).filter(|owner| *owner == table.uid).and_then(|_| table.process(at)) else {
            break;
        };
        at = process.parent;
        seen.callers.push(at);
    }
    seen
}

struct Table {
    proc: OwnedFd,
    uid: u32,
    /// Milliseconds that the system has run.
    up_ms: i64,
}

impl Table {
    fn owner(&self, pid: u32) -> Option<u32> {
        let mut name = [0; MAX_NAME];
        statat(&self.proc, name_of(&mut name, pid, ""), AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| stat.st_uid)
    }

    /// What a link says, which `read` makes something of. A machine has hundreds of processes, so nothing is allocated.
    fn link<T>(&self, pid: u32, link: &str, read: impl FnOnce(&[u8]) -> T) -> Result<T, Errno> {
        let (mut name, mut path) = ([0; MAX_NAME], [MaybeUninit::uninit(); MAX_PATH]);
        readlinkat_raw(&self.proc, name_of(&mut name, pid, link), &mut path).map(|(path, _)| read(path))
    }

    /// Beginning of a file of a process, in one go: each further read would have the kernel ask the process again.
    fn text(&self, pid: u32, file: &str) -> Vec<u8> {
        let mut name = [0; MAX_NAME];
        self.read(name_of(&mut name, pid, file))
    }

    fn read(&self, name: &CStr) -> Vec<u8> {
        let mut text = [MaybeUninit::uninit(); MAX_TEXT];
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(file) = openat(&self.proc, name, flags, Mode::empty()) else { return Vec::new() };
        rustix::io::read(file, &mut text).map(|(text, _)| text.to_vec()).unwrap_or_default()
    }

    fn up_ms(&self) -> i64 {
        let text = self.read(c"uptime");
        let text = std::str::from_utf8(&text).unwrap_or_default();
        let seconds = text.split('.').next().and_then(|seconds| seconds.parse::<i64>().ok());
        seconds.unwrap_or(0).saturating_mul(1_000)
    }

    fn process(&self, pid: u32) -> Option<Process> {
        let stat = self.text(pid, "stat");
        let (parent, start) = numbers(&stat)?;
        let age_ms = self.up_ms.saturating_sub(start.saturating_mul(1_000 / TICKS_A_SECOND)).max(0);
        let line = self.text(pid, "cmdline");
        let path = self.link(pid, "exe", <[u8]>::to_vec).unwrap_or_default();
        Some(Process { parent, age_ms, program: Program { path, line } })
    }

    /// Takes note of a process and those above it that belong to the same user.
    fn climb(&self, pid: u32, most: usize, seen: &mut Processes) {
        let mut at = pid;
        for _ in 0..=most {
            if at == 0 || seen.by_pid.contains_key(&at) || self.owner(at) != Some(self.uid) {
                return;
            }
            let Some(process) = self.process(at) else { return };
            let parent = process.parent;
            seen.by_pid.insert(at, process);
            at = parent;
        }
    }
}

/// The name of a file of a process, in a buffer that holds the longest number and the longest word that are asked for.
fn name_of<'b>(buffer: &'b mut [u8; MAX_NAME], pid: u32, file: &str) -> &'b CStr {
    let mut rest = &mut buffer[..MAX_NAME - 1];
    // what does not fit is cut, and then names nothing that is there
    let _ = write!(rest, "{pid}/{file}");
    CStr::from_bytes_until_nul(buffer).unwrap_or_default()
}

/// Parent and start in a process's `stat`: the second and the twentieth number after the name, which may hold anything.
fn numbers(stat: &[u8]) -> Option<(u32, i64)> {
    let after = stat.iter().rposition(|byte| *byte == b')')?;
    let text = std::str::from_utf8(&stat[after + 1..]).ok()?;
    let mut fields = text.split_ascii_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    Some((parent, fields.nth(17)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_name_with_anything_in_it_does_not_move_the_numbers() {
        let stat = b"42 (a) S 1 (b)) S 7 42 42 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 12345 9 9";
        assert_eq!(numbers(stat), Some((7, 12_345)));
        for odd in [&b""[..], b")", b"1 (x) S", b"1 (x) S y", b"1 (x) S 1 2 3"] {
            assert_eq!(numbers(odd), None);
        }
    }

    /// As root without capabilities the system shows no directory of others, so this looks at what can be seen.
    #[test]
    fn a_child_in_the_repository_is_seen_with_its_parents() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let base = temp.path().canonicalize().expect("it exists");
        let mut child = Command::new("cat").current_dir(&base).stdin(Stdio::piped()).spawn().expect("cat is there");
        let root = Root::new(base.as_os_str().as_encoded_bytes());
        let seen = look(&root, 0);
        let pid = child.id();
        assert_eq!(seen.inside, [pid]);
        let process = &seen.by_pid[&pid];
        assert_eq!(process.parent, std::process::id());
        assert!(process.program.path.ends_with(b"cat") || !process.program.path.is_empty(), "{process:?}");
        assert!(process.program.line.starts_with(b"cat\0"), "{process:?}");
        assert!((0..600_000).contains(&process.age_ms), "{}", process.age_ms);
        assert!(seen.by_pid.contains_key(&std::process::id()));
        assert!(look(&root, pid).inside.is_empty(), "the supervisor itself is no agent");
        child.kill().expect("it runs");
        child.wait().expect("it ended");
    }
}
