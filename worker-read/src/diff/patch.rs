//! The text of one changed file: heads as Git writes them, then its hunks, or a word on why there are none.
//! Trust: names and contents are the repository's; names are quoted, contents are copied, sizes are bounded.

use super::{
    abbreviate::Abbreviation,
    attributes::{DiffRule, Disk},
    contents::{self, MAX_READ},
    hunks,
    lines::{Lines, Rules, too_many},
    pairs::Pair,
    quote,
};
use crate::{changes::Side, pace::Pace, renames, repo::Repo, userdiff::Driver};
use bulkhead_contract::results::Omission;
use gix::{ObjectId, diff::blob::Algorithm, index::entry::Mode};
use std::{collections::HashMap, io::Write as _, rc::Rc};

/// The text of one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Patch {
    /// As Git prints it.
    pub text: Vec<u8>,
    /// Where each hunk starts.
    pub hunks: Vec<usize>,
    /// Added and removed lines, where they were counted.
    pub counts: Option<(u64, u64)>,
    /// Its contents are binary.
    pub binary: bool,
    /// Why there is no text.
    pub omitted: Option<Omission>,
}

/// How texts are printed.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// How lines are compared.
    pub rules: Rules,
    /// `core.quotePath`.
    pub quote: bool,
    /// Files larger than this are binary (`core.bigFileThreshold`).
    pub big: u64,
    /// Only counts are wanted.
    pub counts_only: bool,
}

/// Prints changed files of one repository.
pub struct Printer<'a> {
    pub(super) repo: &'a Repo,
    pub(super) disk: Disk<'a>,
    pub(super) style: Style,
    pub(super) pace: &'a Pace,
    abbreviation: Rc<Abbreviation>,
    /// Drivers met so far; `None` for a name that is none.
    drivers: HashMap<Vec<u8>, Option<Driver>>,
    /// Some driver demands an algorithm.
    demanding: bool,
}

/// A side with all that its head and its text need.
struct Shown<'s> {
    path: &'s [u8],
    mode: Mode,
    id: ObjectId,
    bytes: Option<Vec<u8>>,
    dirty: bool,
}

impl<'a> Printer<'a> {
    /// For `repo`, as long as `pace` lets it. What was printed last when the call is stopped is not to be shown.
    #[must_use]
    pub fn new(repo: &'a Repo, disk: Disk<'a>, style: Style, pace: &'a Pace) -> Self {
        let config = repo.git.config_snapshot();
        let mut sections = config.plumbing().sections_by_name("diff").into_iter().flatten();
        let demanding = sections
            .any(|section| section.header().subsection_name().is_some() && section.value("algorithm").is_some());
        Self { repo, disk, style, pace, abbreviation: repo.abbreviation(), drivers: HashMap::new(), demanding }
    }

    /// Whether what is printed depends on what was printed before: an algorithm that a driver demands holds for all files
    /// that follow, as it does for Git.
    #[must_use]
    pub fn is_demanding(&self) -> bool {
        self.demanding
    }

    /// A file of attributes that would count for what was printed, and was not read.
    #[must_use]
    pub fn unread(&self) -> Option<&[u8]> {
        self.disk.unread()
    }

    /// Compares by the algorithm that the driver of `path` demands, from here on.
    pub fn demand(&mut self, path: &[u8]) {
        if !self.demanding {
            return;
        }
        let DiffRule::Driver(name) = self.disk.rule(path).diff else { return };
        let config = self.repo.git.config_snapshot();
        let value = config.plumbing().string_by("diff", Some(name[..].into()), "algorithm");
        if let Some((algorithm, _)) = value.as_deref().and_then(|value| algorithm(value)) {
            self.style.rules.algorithm = algorithm;
        }
    }

    /// The beginning of `id` that is unique.
    pub(super) fn short(&self, id: &ObjectId) -> String {
        self.abbreviation.short(id)
    }

    /// The text of `pair`; `None` where nothing differs after all.
    pub fn patch(&mut self, pair: &Pair) -> Option<Patch> {
        let kind = |side: &Side| side.mode.bits() & 0o170_000;
        match (&pair.old, &pair.new) {
            // what became something else is shown as gone and as new
            (Some(old), Some(new)) if kind(old) != kind(new) && !self.style.counts_only => {
                let gone = self.one(&Pair::new(Some(old.clone()), None));
                let come = self.one(&Pair { old: None, ..pair.clone() });
                Some(joined(gone.unwrap_or_default(), come.unwrap_or_default()))
            }
            _ => self.one(pair),
        }
    }

    fn one(&mut self, pair: &Pair) -> Option<Patch> {
        let old = pair.old.as_ref().map(|side| Shown::of(side, false));
        let mut new = pair.new.as_ref().map(|side| Shown::of(side, pair.dirty));
        if let Some(new) = new.as_mut().filter(|_| pair.on_disk)
            && let Err(omitted) = self.read_disk(new)
        {
            self.demand(pair.from());
            return Some(Patch { omitted: Some(omitted), ..Patch::default() });
        }
        let mut patch = Patch::default();
        let same = match (&old, &new) {
            (Some(old), Some(new)) => old.id == new.id && old.dirty == new.dirty,
            _ => false,
        };
        let same_mode = matches!((&old, &new), (Some(old), Some(new)) if old.mode == new.mode);
        if same && same_mode && pair.likeness.is_none() {
            return None;
        }
        // by the old name, also where the file goes by another driver now
        self.demand(pair.from());
        let must_show = !same_mode || pair.likeness.is_some();
        self.head(&mut patch.text, pair, old.as_ref(), new.as_ref());
        if same {
            patch.counts = Some((0, 0));
            // a list of counts tells a binary file from text also where nothing in it changed
            if self.style.counts_only
                && let Some(new) = new
            {
                return Some(self.same(patch, pair, new));
            }
            return Some(patch);
        }
        self.body(patch, old, new, must_show)
    }

    /// Reads the file on disk and learns its id.
    fn read_disk(&mut self, side: &mut Shown<'_>) -> Result<(), Omission> {
        if side.mode == Mode::COMMIT {
            return if side.id.is_null() { Err(Omission::Unreadable) } else { Ok(()) };
        }
        let bytes = self.disk.contents(side.path, side.mode, MAX_READ)?;
        let id = gix::objs::compute_hash(self.repo.git.object_hash(), gix::objs::Kind::Blob, &bytes);
        side.id = id.map_err(|_| Omission::Unreadable)?;
        side.bytes = Some(bytes);
        Ok(())
    }

    /// Everything above the hunks that stands there whether or not there are any.
    fn head(&self, out: &mut Vec<u8>, pair: &Pair, old: Option<&Shown<'_>>, new: Option<&Shown<'_>>) {
        let quoted = |out: &mut Vec<u8>, prefix: &[u8], path: &[u8]| quote::append(out, prefix, path, self.style.quote);
        let from = old.or(new).map_or(&b""[..], |side| side.path);
        let to = new.or(old).map_or(&b""[..], |side| side.path);
        out.extend_from_slice(b"diff --git ");
        quoted(out, b"a/", from);
        out.push(b' ');
        quoted(out, b"b/", to);
        out.push(b'\n');
        let mode = |side: &Shown<'_>| side.mode.bits();
        let _ = match (old, new) {
            (None, Some(new)) => writeln!(out, "new file mode {:06o}", mode(new)),
            (Some(old), None) => writeln!(out, "deleted file mode {:06o}", mode(old)),
            (Some(old), Some(new)) if mode(old) != mode(new) => {
                writeln!(out, "old mode {:06o}\nnew mode {:06o}", mode(old), mode(new))
            }
            _ => Ok(()),
        };
        if let Some(likeness) = pair.likeness {
            let _ = write!(out, "similarity index {}%\nrename from ", percent(likeness));
            quoted(out, b"", from);
            out.extend_from_slice(b"\nrename to ");
            quoted(out, b"", to);
            out.push(b'\n');
        }
        let null = self.repo.git.object_hash().null();
        let id = |side: Option<&Shown<'_>>| side.map_or(null, |side| side.id);
        if id(old) != id(new) {
            let _ = write!(out, "index {}..{}", self.short(&id(old)), self.short(&id(new)));
            if let (Some(old), Some(new)) = (old, new)
                && mode(old) == mode(new)
            {
                let _ = write!(out, " {:06o}", mode(old));
            }
            out.push(b'\n');
        }
    }

    /// Of a file whose contents stayed, whether they are text, by the attributes of its old and its new name.
    fn same(&mut self, mut patch: Patch, pair: &Pair, mut side: Shown<'_>) -> Patch {
        let paths = [pair.old.as_ref().map_or(side.path, |old| &old.path[..]), side.path];
        let rules = paths
            .map(|path| if renames::is_file(side.mode) { self.disk.rule(path).diff } else { DiffRule::Unspecified });
        let decided = rules.each_ref().map(|rule| decided(self.repo, rule));
        patch.binary = decided.contains(&Some(true));
        if !patch.binary && decided.contains(&None) && self.load(&mut side).is_ok() {
            let bytes = side.bytes.as_deref().unwrap_or_default();
            patch.binary =
                (renames::is_file(side.mode) && bytes.len() as u64 > self.style.big) || contents::is_binary(bytes);
        }
        if patch.binary {
            patch.counts = None;
        }
        patch
    }

    fn body<'s>(
        &mut self,
        mut patch: Patch,
        mut old: Option<Shown<'s>>,
        mut new: Option<Shown<'s>>,
        must_show: bool,
    ) -> Option<Patch> {
        let rules = [&old, &new].map(|side| match side {
            Some(side) if renames::is_file(side.mode) => self.disk.rule(side.path).diff,
            _ => DiffRule::Unspecified,
        });
        // `Some` where attributes or configuration decide
        let decided = rules.each_ref().map(|rule| decided(self.repo, rule));
        let mut binary = decided.contains(&Some(true));
        let mut long = false;
        if !binary {
            for (side, decided) in [(&mut old, decided[0]), (&mut new, decided[1])] {
                let Some(side) = side else { continue };
                if let Err(omitted) = self.load(side) {
                    return Some(Patch { omitted: Some(omitted), ..Patch::default() });
                }
                let bytes = side.bytes.get_or_insert_default();
                let big = renames::is_file(side.mode) && bytes.len() as u64 > self.style.big;
                binary |= decided.is_none() && (big || contents::is_binary(bytes));
                long |= contents::shortened(bytes);
            }
        }
        let names =
            [(old.as_ref().map(|side| side.path), &b"a/"[..]), (new.as_ref().map(|side| side.path), &b"b/"[..])].map(
                |(path, prefix)| {
                    let mut label = Vec::new();
                    match path {
                        Some(path) => quote::append(&mut label, prefix, path, self.style.quote),
                        None => label.extend_from_slice(b"/dev/null"),
                    }
                    label
                },
            );
        if binary {
            patch.binary = true;
            let [from, to] = &names;
            patch.text.extend_from_slice(&[b"Binary files ", &from[..], b" and ", to, b" differ\n"].concat());
            return Some(patch);
        }
        let [before, after] = [old, new].map(|side| side.and_then(|side| side.bytes).unwrap_or_default());
        let omitted = || Some(Patch { omitted: Some(Omission::TooLarge), ..Patch::default() });
        if long || [&before, &after].iter().any(|text| too_many(text)) {
            return omitted();
        }
        let Ok(lines) = Lines::compare(&before, &after, self.style.rules, self.pace) else { return omitted() };
        let counts = lines.counts();
        patch.counts = Some(counts);
        if counts == (0, 0) {
            return must_show.then_some(patch);
        }
        if self.style.counts_only {
            return Some(patch);
        }
        for (sign, label) in [(&b"--- "[..], &names[0]), (b"+++ ", &names[1])] {
            patch.text.extend_from_slice(sign);
            patch.text.extend_from_slice(label);
            // so that programs which split at white space find the end of the name
            patch.text.extend_from_slice(if label.contains(&b' ') { b"\t\n" } else { b"\n" });
        }
        let driver = self.functions(&rules);
        hunks::append(&mut patch.text, &mut patch.hunks, &lines, self.style.rules.context, &driver);
        Some(patch)
    }

    /// How lines that name a part of the file are told: by the old side's driver, or else by the new side's.
    fn functions(&mut self, rules: &[DiffRule; 2]) -> Driver {
        for rule in rules {
            let DiffRule::Driver(name) = rule else { continue };
            let driver = self.drivers.entry(name.clone()).or_insert_with(|| {
                let config = self.repo.git.config_snapshot();
                let custom = config.plumbing().string_by("diff", Some(name[..].into()), "xfuncname");
                custom.and_then(|pattern| Driver::custom(&pattern)).or_else(|| Driver::named(name))
            });
            if let Some(driver) = driver {
                return driver.clone();
            }
        }
        Driver::Default
    }

    fn load(&self, side: &mut Shown<'_>) -> Result<(), Omission> {
        if side.bytes.is_none() {
            side.bytes = Some(match side.mode {
                Mode::COMMIT => contents::gitlink(&side.id, side.dirty),
                _ => contents::blob(self.repo, &side.id, MAX_READ)?,
            });
        }
        Ok(())
    }
}

impl std::fmt::Debug for Printer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Printer").field("style", &self.style).finish_non_exhaustive()
    }
}

impl<'s> Shown<'s> {
    fn of(side: &'s Side, dirty: bool) -> Self {
        Self { path: &side.path, mode: side.mode, id: side.id, bytes: None, dirty }
    }
}

/// Whether attributes or configuration say that contents are binary, or that they are not.
pub(super) fn decided(repo: &Repo, rule: &DiffRule) -> Option<bool> {
    match rule {
        DiffRule::Unspecified => None,
        DiffRule::Text => Some(false),
        DiffRule::Binary => Some(true),
        DiffRule::Driver(name) => {
            let config = repo.git.config_snapshot();
            config.plumbing().boolean_by("diff", Some(name[..].into()), "binary").ok().flatten()
        }
    }
}

/// The algorithm that Git calls `name`, and what to say where it is not the default; `None` for a name unknown to Git.
#[must_use]
pub fn algorithm(name: &[u8]) -> Option<(Algorithm, Option<&'static str>)> {
    match name.to_ascii_lowercase().as_slice() {
        b"myers" | b"default" => Some((Algorithm::Myers, None)),
        b"minimal" => Some((Algorithm::MyersMinimal, Some("minimal"))),
        b"histogram" => Some((Algorithm::Histogram, Some("histogram"))),
        b"patience" => Some((Algorithm::Histogram, Some("histogram, in place of patience"))),
        _ => None,
    }
}

/// Likeness as Git prints it.
#[must_use]
pub fn percent(likeness: u64) -> u64 {
    likeness * 100 / renames::WHOLE
}

fn joined(mut first: Patch, second: Patch) -> Patch {
    let length = first.text.len();
    first.text.extend_from_slice(&second.text);
    first.hunks.extend(second.hunks.iter().map(|at| at + length));
    first.counts = match (first.counts, second.counts) {
        (Some(a), Some(b)) => Some((a.0 + b.0, a.1 + b.1)),
        _ => None,
    };
    first.binary |= second.binary;
    first.omitted = first.omitted.or(second.omitted);
    first
}
