//! The rule files of directories, `.gitignore` and `.gitattributes`: from the disk, or from the index where not checked out.
//! Trust: contents are the repository's, bounded each and together; a link or a FIFO of such a name is none, a directory empty.

use super::{
    disk::{Dir, Kind, Listing, Stat, now},
    ignore::{self, Parsed},
};
use crate::{files, index::Snapshot};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Bytes of one rule file at most.
const MAX_RULES: u64 = 1 << 20;
/// Bytes that a file costs besides its path and contents.
const FIXED: usize = 256;
/// A pattern costs about this many times its text once it is parsed.
const PARSED: usize = 5;

/// What a rule file says.
#[derive(Debug, Clone)]
pub enum Rules {
    /// `.gitignore`.
    Ignore(Parsed),
    /// `.gitattributes`; parsed when somebody asks.
    Attributes(Arc<[u8]>),
}

/// What became of looking for a rule file.
#[derive(Debug)]
pub enum Found {
    /// Not there.
    Absent,
    /// There.
    Is(Rules),
    /// There, and not readable within the limits.
    Unreadable,
}

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// `.gitignore`.
    Ignore,
    /// `.gitattributes`.
    Attributes,
}

impl Which {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static [u8] {
        match self {
            Which::Ignore => b".gitignore",
            Which::Attributes => b".gitattributes",
        }
    }

    fn rules(self, bytes: Vec<u8>, prefix: &[u8]) -> Rules {
        match self {
            Which::Ignore => Rules::Ignore(ignore::parse(&bytes, prefix)),
            Which::Attributes => Rules::Attributes(bytes.into()),
        }
    }
}

/// Rule files of the working tree. Each is invalidated by its stat; one that changed just now is not kept.
#[derive(Debug)]
pub struct RuleFiles {
    held: Mutex<Held>,
    limit: usize,
}

#[derive(Debug, Default)]
struct Held {
    files: HashMap<Box<[u8]>, (Stat, Rules)>,
    bytes: usize,
}

impl RuleFiles {
    /// Holds files of at most `limit` bytes together.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { held: Mutex::default(), limit }
    }

    /// The rule file of `dir`, which is at `prefix` and holds `listing`.
    #[must_use]
    pub fn find(
        &self,
        which: Which,
        (dir, listing, prefix): (&Dir, &Listing, &[u8]),
        index: &Snapshot,
        repo: &gix::Repository,
    ) -> Found {
        let name = which.name();
        match listing.find(name) {
            Some(Kind::File) => {}
            // Git opens it, reads nothing, and does not look into the index then
            Some(Kind::Dir) => return Found::Is(which.rules(Vec::new(), prefix)),
            _ => return indexed(which, prefix, index, repo),
        }
        let before = now();
        let Ok(stat) = dir.stat(name) else { return Found::Unreadable };
        let path = [prefix, name].concat();
        if let Some((of, rules)) = self.held().files.get(&path[..])
            && *of == stat
        {
            return Found::Is(rules.clone());
        }
        let contents = dir.file(name).map_err(|e| files::NoContents::of(&e));
        let Ok(bytes) = contents.and_then(|file| files::read_open(file, MAX_RULES)) else { return Found::Unreadable };
        let cost = FIXED + 2 * path.len() + bytes.len() * if which == Which::Ignore { PARSED } else { 1 };
        let rules = which.rules(bytes, prefix);
        if stat.is_settled(before) {
            let mut held = self.held();
            if held.bytes + cost > self.limit {
                *held = Held::default();
            }
            if cost <= self.limit {
                held.bytes += cost;
                held.files.insert(path.into(), (stat, rules.clone()));
            }
        }
        Found::Is(rules)
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The rule file that the index holds and that is not checked out.
fn indexed(which: Which, prefix: &[u8], index: &Snapshot, repo: &gix::Repository) -> Found {
    let (name, positions) = match which {
        Which::Ignore => (which.name(), &index.ignores),
        Which::Attributes => (which.name(), &index.attributes),
    };
    let Ok(at) = positions.binary_search_by(|&at| index.path(at).iter().cmp(prefix.iter().chain(name))) else {
        return Found::Absent;
    };
    let id = index.state.entry(positions[at]).id;
    match repo.find_header(id) {
        Ok(header) if header.size() <= MAX_RULES => match repo.find_object(id) {
            Ok(object) => Found::Is(which.rules(object.detach().data, prefix)),
            Err(_) => Found::Unreadable,
        },
        _ => Found::Unreadable,
    }
}
