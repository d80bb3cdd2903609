//! `/proc` of Linux: owner, directory, program, command line and start of processes.
//! Trust: of the kernel's text only numbers after the last parenthesis are taken apart; the rest is carried as bytes.

use super::{MAX_ANCESTORS, Process, Processes};
use crate::{inside::Root, recognise::Program};
use rustix::{
    fs::{AtFlags, CWD, Dir, Mode, OFlags, openat, readlinkat, statat},
    io::Errno,
};
use std::{fs::File, io::Read as _, os::fd::OwnedFd};

/// Processes that are looked at.
const MAX_PROCESSES: usize = 65_536;
/// Own processes without a visible directory that are looked at.
const MAX_HIDDEN: usize = 1_024;
/// Bytes of a command line.
const MAX_LINE: u64 = 4_096;
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
    let Ok(listing) = openat(&table.proc, ".", flags, Mode::empty()).and_then(Dir::new) else {
        return Processes { none: true, ..seen };
    };
    let mut looked_at = 0;
    for entry in listing.flatten() {
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
        match table.link(pid, "cwd") {
            Ok(cwd) if root.holds(&cwd) => {
                seen.inside.push(pid);
                table.climb(pid, MAX_ANCESTORS, &mut seen);
            }
            Ok(_) => {}
            Err(Errno::ACCESS | Errno::PERM) => {
                let own = table.uid == 0 || foreign(&mut seen) == Some(false);
                if own && seen.hidden.len() < MAX_HIDDEN {
                    seen.hidden.push(Program { path: Vec::new(), line: table.text(pid, "cmdline", MAX_LINE) });
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
        statat(&self.proc, pid.to_string(), AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| stat.st_uid)
    }

    fn link(&self, pid: u32, name: &str) -> Result<Vec<u8>, Errno> {
        readlinkat(&self.proc, format!("{pid}/{name}"), Vec::with_capacity(256)).map(|link| link.into_bytes())
    }

    fn text(&self, pid: u32, name: &str, most: u64) -> Vec<u8> {
        let mut text = Vec::new();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if let Ok(file) = openat(&self.proc, format!("{pid}/{name}"), flags, Mode::empty()) {
            let _ = File::from(file).take(most).read_to_end(&mut text);
        }
        text
    }

    fn up_ms(&self) -> i64 {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(file) = openat(&self.proc, "uptime", flags, Mode::empty()) else { return 0 };
        let mut text = String::new();
        let _ = File::from(file).take(64).read_to_string(&mut text);
        let seconds = text.split('.').next().and_then(|seconds| seconds.parse::<i64>().ok());
        seconds.unwrap_or(0).saturating_mul(1_000)
    }

    fn process(&self, pid: u32) -> Option<Process> {
        let stat = self.text(pid, "stat", 4_096);
        let (parent, start) = numbers(&stat)?;
        let age_ms = self.up_ms.saturating_sub(start.saturating_mul(1_000 / TICKS_A_SECOND)).max(0);
        let line = self.text(pid, "cmdline", MAX_LINE);
        Some(Process { parent, age_ms, program: Program { path: self.link(pid, "exe").unwrap_or_default(), line } })
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
