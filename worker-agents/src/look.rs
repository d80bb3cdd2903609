//! One look: the repository it is about, what the look before made of files, and what came of it so far.
//! Trust: files may change, grow, lie or be traps while they are read; each costs what its bounds allow and no more.

use crate::{
    inside::Root,
    place::{Closed, Dir, Facts, Kind},
};
use bulkhead_contract::results::{AgentSource, Unseen, UnseenReason};
use bulkhead_ipc::edge::agents::{Finding, Known, MAX_FINDINGS, MAX_KNOWN, Stamp};
use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    io::Read,
    time::Instant,
};

/// What was done within this time counts at all, in milliseconds (contract `agents.md`).
pub const RECENT_MS: i64 = 15 * 60_000;
/// Times may lie so far in the future, since clocks differ.
pub const SLACK_MS: i64 = 60_000;
/// Files of one agent that are read.
pub const MAX_FILES: usize = 8;
/// Directories of one store that are listed.
pub const MAX_DIRS: usize = 600;
/// Bytes that are read at once for a first line.
const FIRST: u64 = 16 * 1_024;
/// A file that changed so lately may change again without looking different: what it said is not kept.
const SETTLED_MS: i64 = 1_000;

/// One look.
#[derive(Debug)]
pub struct Look<'a> {
    /// The repository.
    pub root: Root,
    /// Milliseconds since 1970.
    pub now_ms: i64,
    /// Store files may be read until then.
    pub until: Instant,
    known: HashMap<Stamp, &'a Known>,
    /// What was found.
    pub findings: Vec<Finding>,
    kept: Vec<Known>,
    unseen: BTreeMap<(String, UnseenReason), u32>,
}

/// How what was opened becomes findings.
pub type ReadFile<'r> = dyn Fn(&Opened, &Look<'_>) -> Result<Vec<Finding>, UnseenReason> + 'r;

/// A walk over one store.
struct Walk<'a> {
    agent: &'a str,
    wanted: &'a dyn Fn(&[u8]) -> bool,
    /// Names of the directories on the way to where it is.
    way: Vec<Vec<u8>>,
    listed: usize,
    found: Vec<Recent>,
}

/// A file that was modified lately.
#[derive(Debug)]
pub struct Recent {
    /// Names of the directories on the way to it.
    pub way: Vec<Vec<u8>>,
    /// Its name.
    pub name: Vec<u8>,
    /// What it is.
    pub facts: Facts,
}

impl<'a> Look<'a> {
    /// Nothing found yet.
    #[must_use]
    pub fn new(root: &[u8], known: &'a [Known], now_ms: i64, until: Instant) -> Self {
        let known = known.iter().map(|known| (known.stamp, known)).collect();
        let (findings, kept, unseen) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self { root: Root::new(root), now_ms, until, known, findings, kept, unseen }
    }

    /// Whether something done then counts.
    #[must_use]
    pub fn is_recent(&self, at_ms: i64) -> bool {
        at_ms >= self.now_ms - RECENT_MS && at_ms <= self.now_ms + SLACK_MS
    }

    /// No time is left.
    #[must_use]
    pub fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Takes note of something that could not be looked at.
    pub fn miss(&mut self, what: &str, reason: UnseenReason, count: u32) {
        let missed = self.unseen.entry((what.to_owned(), reason)).or_insert(0);
        *missed = missed.saturating_add(count);
    }

    /// The same for a name that leads to nothing; one that is not there is not missed.
    pub fn closed(&mut self, what: &str, closed: Closed) {
        if let Some(reason) = closed.unseen() {
            self.miss(what, reason, 1);
        }
    }

    /// Adds what was found.
    pub fn add(&mut self, finding: Finding) {
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(finding);
        } else {
            self.miss(&finding.agent, UnseenReason::TooMany, 1);
        }
    }

    /// Files beneath `dir` that were modified lately, newest first, at most [`MAX_FILES`]; `depth` directories deep.
    pub fn recent(&mut self, agent: &str, dir: &Dir, depth: usize, wanted: &dyn Fn(&[u8]) -> bool) -> Vec<Recent> {
        let mut walk = Walk { agent, wanted, way: Vec::new(), listed: 0, found: Vec::new() };
        self.list(dir, depth, &mut walk);
        let mut found = walk.found;
        found.sort_by_key(|recent| std::cmp::Reverse(recent.facts.stamp.modified));
        if found.len() > MAX_FILES {
            self.miss(agent, UnseenReason::TooMany, u32::try_from(found.len() - MAX_FILES).unwrap_or(u32::MAX));
            found.truncate(MAX_FILES);
        }
        found
    }

    fn list(&mut self, dir: &Dir, depth: usize, walk: &mut Walk<'_>) {
        let agent = walk.agent;
        walk.listed += 1;
        if walk.listed > MAX_DIRS || self.is_over() {
            let reason = if self.is_over() { UnseenReason::OutOfTime } else { UnseenReason::TooMany };
            return self.miss(agent, reason, 1);
        }
        let (names, more) = match dir.names() {
            Ok(names) => names,
            Err(closed) => return self.closed(agent, closed),
        };
        if more {
            self.miss(agent, UnseenReason::TooMany, 1);
        }
        for name in names {
            if (walk.wanted)(&name.bytes) && name.kind != Some(Kind::Directory) {
                match dir.facts(&name.bytes) {
                    Ok(facts) if facts.kind == Kind::File => {
                        if self.is_recent(facts.modified_ms()) {
                            walk.found.push(Recent { way: walk.way.clone(), name: name.bytes, facts });
                        }
                    }
                    Ok(facts) if facts.kind == Kind::Link => self.miss(agent, UnseenReason::Link, 1),
                    Ok(facts) if facts.kind == Kind::Other => self.miss(agent, UnseenReason::NotAFile, 1),
                    Ok(_) | Err(Closed::Absent) => {}
                    Err(closed) => self.closed(agent, closed),
                }
            } else if depth > 0
                && matches!(name.kind, None | Some(Kind::Directory))
                && let Ok(child) = dir.readable_child(&name.bytes)
            {
                walk.way.push(name.bytes);
                self.list(&child, depth - 1, walk);
                walk.way.pop();
            }
        }
    }

    /// What a file says of the repository: as it was read before, where it is still the same, else as `read` finds it now.
    /// `way` tells apart the ways in which one file is read.
    pub fn file(&mut self, agent: &str, dir: &Dir, name: &[u8], way: u32, read: &ReadFile<'_>) {
        let stamp = match dir.facts(name) {
            Ok(facts) => Stamp { way, ..facts.stamp },
            Err(closed) => return self.closed(agent, closed),
        };
        if let Some(known) = self.known.get(&stamp) {
            let known: Known = (*known).clone();
            return self.take(agent, known);
        }
        let opened = match dir.open(name) {
            Ok((file, facts)) => Opened { file, facts },
            Err(closed) => return self.closed(agent, closed),
        };
        let said = read(&opened, self);
        let known = match said {
            Ok(said) => Known { stamp: Stamp { way, ..opened.facts.stamp }, said, unseen: None },
            Err(reason) => {
                let unseen = Some(Unseen { what: agent.to_owned(), reason, count: 1 });
                Known { stamp: Stamp { way, ..opened.facts.stamp }, said: Vec::new(), unseen }
            }
        };
        self.take(agent, known);
    }

    /// Takes over what a file said, and keeps it.
    pub fn take(&mut self, agent: &str, known: Known) {
        if let Some(unseen) = &known.unseen {
            self.miss(agent, unseen.reason, unseen.count);
        }
        for finding in &known.said {
            if finding.last_activity_ms.is_none_or(|at| self.is_recent(at)) || finding.pid.is_some() {
                self.add(finding.clone());
            }
        }
        self.keep(known);
    }

    /// Keeps what a file said for the next look, unless the file may change without looking different.
    pub fn keep(&mut self, known: Known) {
        let changed_ms = known.stamp.changed.max(known.stamp.modified).div_euclid(1_000_000);
        if self.kept.len() < MAX_KNOWN && changed_ms < self.now_ms - SETTLED_MS {
            self.kept.push(known);
        }
    }

    /// What the look before made of this file, if it is still the same.
    #[must_use]
    pub fn before(&self, stamp: &Stamp) -> Option<Known> {
        self.known.get(stamp).map(|known| (*known).clone())
    }

    /// What came of it: what was found, what could not be looked at, what to tell the next look.
    #[must_use]
    pub fn end(self) -> (Vec<Finding>, Vec<Unseen>, Vec<Known>) {
        let unseen = self.unseen.into_iter().map(|((what, reason), count)| Unseen { what, reason, count });
        (self.findings, unseen.take(MAX_FINDINGS).collect(), self.kept)
    }
}

/// A regular file that was opened.
#[derive(Debug)]
pub struct Opened {
    file: File,
    /// What it was when it was opened.
    pub facts: Facts,
}

impl Opened {
    /// Of a file and what it was when it was opened.
    #[must_use]
    pub fn of(file: File, facts: Facts) -> Self {
        Self { file, facts }
    }

    /// Its first bytes, at most so many.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn head(&self, most: u64) -> Result<Vec<u8>, UnseenReason> {
        self.part(0, most)
    }

    /// Its beginning as far as its first line and something behind it, at most so many bytes: that line is often short
    /// and rarely longer than what is asked for first.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn first_line(&self, most: u64) -> Result<Vec<u8>, UnseenReason> {
        let mut bytes = Vec::new();
        loop {
            let asked = FIRST.min(most - bytes.len() as u64);
            let part = self.part(bytes.len() as u64, asked)?;
            let over = (part.len() as u64) < FIRST;
            bytes.extend(part);
            let line = bytes.iter().position(|byte| *byte == b'\n');
            if over || line.is_some_and(|end| end + 1 < bytes.len()) {
                return Ok(bytes);
            }
        }
    }

    /// All of it.
    ///
    /// # Errors
    /// It is longer than `most`, or cannot be read.
    pub fn whole(&self, most: u64) -> Result<Vec<u8>, UnseenReason> {
        if self.facts.stamp.size > most {
            return Err(UnseenReason::TooLarge);
        }
        // it may have grown since
        let bytes = self.part(0, most + 1)?;
        if bytes.len() as u64 > most { Err(UnseenReason::TooLarge) } else { Ok(bytes) }
    }

    /// Its last bytes, at most so many, and whether that is all of it.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn tail(&self, most: u64) -> Result<(Vec<u8>, bool), UnseenReason> {
        let from = self.facts.stamp.size.saturating_sub(most);
        Ok((self.part(from, most)?, from == 0))
    }

    fn part(&self, from: u64, most: u64) -> Result<Vec<u8>, UnseenReason> {
        // what was measured, so that it need not grow; a file that grew since is read up to the limit as well
        let left = self.facts.stamp.size.saturating_sub(from).min(most);
        let mut bytes = Vec::with_capacity(usize::try_from(left).unwrap_or(0));
        At { file: &self.file, at: from }.take(most).read_to_end(&mut bytes).map_err(|_| UnseenReason::Unreadable)?;
        Ok(bytes)
    }

    /// The file, for reading at positions.
    #[must_use]
    pub fn at_positions(&self) -> Positions<'_> {
        Positions { file: &self.file, length: self.facts.stamp.size }
    }
}

/// A file as a database's bytes.
#[derive(Debug)]
pub struct Positions<'a> {
    file: &'a File,
    length: u64,
}

impl crate::sqlite::Bytes for Positions<'_> {
    fn len(&self) -> u64 {
        self.length
    }

    fn read(&self, at: u64, into: &mut [u8]) -> bool {
        At { file: self.file, at }.read_exact(into).is_ok()
    }
}

/// A file from a position on, which is its own.
struct At<'a> {
    file: &'a File,
    at: u64,
}

impl Read for At<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        #[cfg(unix)]
        let got = std::os::unix::fs::FileExt::read_at(self.file, into, self.at)?;
        #[cfg(windows)]
        let got = std::os::windows::fs::FileExt::seek_read(self.file, into, self.at)?;
        self.at += got as u64;
        Ok(got)
    }
}

/// A finding of a session's store.
#[must_use]
pub fn session(agent: &str, at_ms: i64) -> Finding {
    Finding {
        agent: agent.to_owned(),
        source: AgentSource::Session,
        last_activity_ms: Some(at_ms),
        ..Finding::default()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::{fs, time::Duration};

    #[test]
    fn a_first_line_is_read_as_far_as_it_goes_and_no_further_than_allowed() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let dir = Dir::walk(&temp.path().canonicalize().expect("it exists")).expect("it is there");
        let first = usize::try_from(FIRST).expect("it is small");
        // (bytes of the first line with its end, bytes in all, most, bytes read)
        for (line, all, most, read) in [
            (10, 100_000, 65_536, first),
            (first, 100_000, 65_536, 2 * first),
            (first + 1, 100_000, 65_536, 2 * first),
            (50_000, 50_000, 65_536, 50_000),
            (50_000, 50_001, 65_536, 50_001),
            (90_000, 100_000, 65_536, 65_536),
            (90_000, 100_000, 20_000, 20_000),
            (1, 1, 65_536, 1),
        ] {
            let mut text = vec![b'x'; all];
            text[line - 1] = b'\n';
            fs::write(temp.path().join("list"), &text).expect("ours");
            let (file, facts) = dir.open(b"list").expect("it is there");
            let got = Opened::of(file, facts).first_line(most).expect("it can be read");
            assert!(got == text[..read], "{line} of {all}, at most {most}: {} bytes", got.len());
        }
    }

    #[test]
    fn files_are_found_in_every_branch_as_deep_as_is_wanted() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let base = temp.path().canonicalize().expect("it exists");
        for path in ["a/1/x.jsonl", "a/2/y.jsonl", "b/1/z.jsonl", "b/w.jsonl", "v.jsonl", "a/1/deep/u.jsonl", "a/other"]
        {
            fs::create_dir_all(base.join(path).parent().expect("it has one")).expect("ours");
            fs::write(base.join(path), "").expect("ours");
        }
        let mut look = Look::new(b"/srv", &[], crate::serve::now_ms(), Instant::now() + Duration::from_secs(60));
        let dir = Dir::walk(&base).expect("it is there");
        let wanted = |name: &[u8]| name.ends_with(b".jsonl");
        let mut found: Vec<String> = look
            .recent("codex", &dir, 2, &wanted)
            .into_iter()
            .map(|recent| [recent.way, vec![recent.name]].concat().join(&b'/'))
            .map(|path| String::from_utf8(path).expect("plain names"))
            .collect();
        found.sort();
        assert_eq!(found, ["a/1/x.jsonl", "a/2/y.jsonl", "b/1/z.jsonl", "b/w.jsonl", "v.jsonl"]);
    }
}
