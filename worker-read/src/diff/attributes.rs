//! Attributes of changed paths and their files on disk, directory by directory as the paths come in order.
//! Trust: every directory is opened by name from the one above it, so no link is followed; only regular files are read.

use crate::{
    changes::normalised,
    files::{self, NoContents},
    index::Snapshot,
    repo::Repo,
    settings::Settings,
    worktree::{
        attributes::{Attributes, conversions},
        disk::{Dir, Kind, Stat},
    },
};
use bulkhead_contract::results::Omission;
use gix::{
    attrs::{StateRef, search::Outcome},
    bstr::ByteSlice as _,
    filter::plumbing::{Pipeline, pipeline::convert::ToGitOutcome},
    index::entry::Mode,
    objs::FindExt as _,
};
use std::{io, rc::Rc};

/// Bytes of one `.gitattributes` at most.
const MAX_RULES: u64 = 1 << 20;

/// What the attributes say about a path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rule {
    /// The `diff` attribute.
    pub diff: DiffRule,
    /// A filter applies to the file on disk.
    pub filtered: bool,
}

/// The `diff` attribute of a path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum DiffRule {
    /// Nothing is said.
    #[default]
    Unspecified,
    /// `diff`: text, whatever it holds.
    Text,
    /// `-diff`: never shown.
    Binary,
    /// `diff=NAME`.
    Driver(Vec<u8>),
}

/// A position in the working tree, and all attributes that apply there.
pub struct Disk<'a> {
    repo: &'a Repo,
    settings: Settings,
    index: Option<Rc<Snapshot>>,
    attributes: Attributes,
    pipeline: Pipeline,
    outcome: Outcome,
    prefix: Vec<u8>,
    levels: Vec<Level>,
    /// The first file of rules that is there and does not count, since it was too large or could not be read.
    unread: Option<Vec<u8>>,
}

struct Level {
    /// Length of the prefix there.
    end: usize,
    dir: Option<Dir>,
    /// A file of rules was found there.
    rules: bool,
}

impl<'a> Disk<'a> {
    /// At the top of `repo`, whose `index` holds rules that are not checked out. A bare repository has neither.
    #[must_use]
    pub fn new(repo: &'a Repo, index: Option<Rc<Snapshot>>) -> Self {
        let info = repo.info_attributes();
        let operator = repo.operator.config.attributes.as_deref();
        let attributes = Attributes::new(operator, info.as_ref().map(|bytes| &bytes[..]), repo.settings.case());
        let mut disk = Self {
            repo,
            settings: repo.settings,
            index,
            attributes,
            pipeline: conversions(repo.git.object_hash(), repo.settings.eol),
            outcome: Outcome::default(),
            prefix: Vec::new(),
            levels: Vec::new(),
            unread: repo.attributes_unread().map(|path| path.as_bytes().to_vec()),
        };
        let top = repo.found.worktree.as_deref().filter(|_| !repo.is_bare());
        disk.push(top.and_then(|top| Dir::open(top).ok()));
        disk
    }

    fn push(&mut self, dir: Option<Dir>) {
        let rules = self.rules(dir.as_ref());
        if let Some(bytes) = &rules {
            self.attributes.push(bytes, &self.prefix);
        }
        self.levels.push(Level { end: self.prefix.len(), dir, rules: rules.is_some() });
    }

    /// The rules of the directory at the prefix: on disk, or in the index where they are not checked out.
    fn rules(&mut self, dir: Option<&Dir>) -> Option<Vec<u8>> {
        const NAME: &[u8] = b".gitattributes";
        if let Some(file) = dir.and_then(|dir| dir.file(NAME).ok()) {
            match files::read_open(file, MAX_RULES) {
                Ok(bytes) => return Some(bytes),
                Err(NoContents::NotRegular) => {}
                // those in the index are others
                Err(_) => return self.passed_over(NAME),
            }
        }
        match dir.and_then(|dir| dir.stat(NAME).ok()).map(|stat| stat.kind) {
            // a directory of that name has no rules, and those in the index do not count
            Some(Kind::Dir) => return Some(Vec::new()),
            // it is there, and our rights do not reach it
            Some(Kind::File) => return self.passed_over(NAME),
            _ => {}
        }
        let index = self.index.as_ref()?;
        let is_at = |&at: &usize| index.path(at).iter().cmp(self.prefix.iter().chain(NAME));
        let at = index.attributes[index.attributes.binary_search_by(is_at).ok()?];
        let id = index.state.entry(at).id;
        let fits = self.repo.git.find_header(id).is_ok_and(|header| header.size() <= MAX_RULES);
        match self.repo.git.find_object(id) {
            Ok(object) if fits => Some(object.detach().data),
            _ => self.passed_over(NAME),
        }
    }

    fn passed_over(&mut self, name: &[u8]) -> Option<Vec<u8>> {
        self.unread.get_or_insert_with(|| [&self.prefix, name].concat());
        None
    }

    /// Path of a file of rules that would count and was not read, as far as paths were asked about; the first of them.
    #[must_use]
    pub fn unread(&self) -> Option<&[u8]> {
        self.unread.as_deref()
    }

    /// Goes to the directory of `path`.
    fn enter(&mut self, path: &[u8]) {
        let directory = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        while !path[..directory].starts_with(&self.prefix) {
            if let Some(level) = self.levels.pop()
                && level.rules
            {
                self.attributes.pop();
            }
            self.prefix.truncate(self.levels.last().map_or(0, |level| level.end));
        }
        while self.prefix.len() < directory {
            let start = self.prefix.len();
            let length = path[start..directory].iter().position(|&byte| byte == b'/').unwrap_or(directory - start - 1);
            let name = &path[start..start + length];
            let dir = self.levels.last().and_then(|level| level.dir.as_ref()).and_then(|dir| dir.child(name).ok());
            self.prefix.extend_from_slice(&path[start..=start + length]);
            self.push(dir);
        }
    }

    /// What the attributes say about `path`.
    pub fn rule(&mut self, path: &[u8]) -> Rule {
        self.enter(path);
        let mut rule = Rule::default();
        if self.attributes.is_empty() {
            return rule;
        }
        let mut outcome = std::mem::take(&mut self.outcome);
        self.attributes.find(path.as_bstr(), &mut outcome);
        for found in outcome.iter() {
            match (found.assignment.name.as_str(), found.assignment.state) {
                ("diff", StateRef::Set) => rule.diff = DiffRule::Text,
                ("diff", StateRef::Unset) => rule.diff = DiffRule::Binary,
                ("diff", StateRef::Value(name)) => rule.diff = DiffRule::Driver(name.as_bstr().to_vec()),
                ("filter", StateRef::Value(_)) => rule.filtered = true,
                _ => {}
            }
        }
        self.outcome = outcome;
        rule
    }

    fn stat(&mut self, path: &[u8]) -> io::Result<Stat> {
        self.enter(path);
        match self.levels.last().and_then(|level| level.dir.as_ref()) {
            Some(dir) => dir.stat(&path[self.prefix.len()..]),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// The mode of the file at `path`, of which the index says `indexed`; `None` where nothing is there.
    pub fn mode(&mut self, path: &[u8], indexed: Option<Mode>) -> Option<Mode> {
        let stat = self.stat(path).ok()?;
        Some(match stat.kind {
            Kind::Link => Mode::SYMLINK,
            Kind::Dir => Mode::COMMIT,
            Kind::File | Kind::Special => match indexed {
                Some(Mode::SYMLINK) if !self.settings.symlinks => Mode::SYMLINK,
                Some(mode @ (Mode::FILE | Mode::FILE_EXECUTABLE)) if !self.settings.file_mode => mode,
                _ if !self.settings.file_mode => Mode::FILE,
                _ => normalised(if stat.executable { 0o100_755 } else { 0o100_644 }),
            },
        })
    }

    /// What Git would store of the file at `path`, at most `max` bytes; line ends are converted, no filter is run.
    ///
    /// # Errors
    /// Why it is left out.
    pub fn contents(&mut self, path: &[u8], mode: Mode, max: u64) -> Result<Vec<u8>, Omission> {
        let filtered = self.rule(path).filtered;
        let name = &path[self.prefix.len()..];
        let dir = self.levels.last().and_then(|level| level.dir.as_ref()).ok_or(Omission::Unreadable)?;
        if mode == Mode::SYMLINK && self.settings.symlinks {
            return dir.link(name).map_err(|_| Omission::Unreadable);
        }
        if filtered && mode != Mode::SYMLINK {
            return Err(Omission::Filtered);
        }
        let raw = dir.file(name).map_err(|e| NoContents::of(&e)).and_then(|file| files::read_open(file, max));
        let raw = raw.map_err(|why| match why {
            NoContents::TooLarge(_) | NoContents::NoRoom => Omission::TooLarge,
            _ => Omission::Unreadable,
        })?;
        if mode == Mode::SYMLINK {
            return Ok(raw);
        }
        self.converted(path, raw, max)
    }

    fn converted(&mut self, path: &[u8], raw: Vec<u8>, max: u64) -> Result<Vec<u8>, Omission> {
        let Some(relative) = files::bytes_path(path) else { return Ok(raw) };
        let (git, index, attributes) = (&self.repo.git, self.index.as_deref(), &mut self.attributes);
        let mut in_index = |buffer: &mut Vec<u8>| {
            let entry = index.and_then(|index| index.state.entry_by_path(path.as_bstr()));
            let id = entry.map(|entry| entry.id).filter(|id| git.find_header(*id).is_ok_and(|it| it.size() <= max));
            Ok(id.filter(|id| git.objects.find_blob(id, buffer).is_ok()).map(|_| ()))
        };
        let mut find = |path: &gix::bstr::BStr, out: &mut Outcome| attributes.find(path, out);
        let converted = self.pipeline.convert_to_git(io::Cursor::new(&raw), &relative, &mut find, &mut in_index);
        match converted {
            Ok(ToGitOutcome::Buffer(bytes)) => return Ok(bytes.to_vec()),
            Ok(ToGitOutcome::Unchanged(_)) => {}
            // no driver is known, so there is no process; an encoding may fail
            Ok(ToGitOutcome::Process(_)) | Err(_) => return Err(Omission::Unreadable),
        }
        Ok(raw)
    }
}

impl std::fmt::Debug for Disk<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Disk").field("levels", &self.levels.len()).finish_non_exhaustive()
    }
}
