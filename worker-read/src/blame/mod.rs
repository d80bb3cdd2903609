//! Which commit each line of a file comes from, as `git blame` finds it: lines go to the first parent that has them.
//! Trust: commits, trees and texts are the repository's; all are bounded, and the call's time is looked at at each commit.
//!
//! Git's rules (2.47, `blame.c`): of the parents in their order, one that has the very same file takes all; else those that
//! have another version of it each take the lines that a comparison by Myers' algorithm finds unchanged. A parent without the
//! file is asked for the one that it was renamed from. What nobody takes is the commit's own. Which commit a line ends at
//! depends on nothing else, neither on the order of the walk nor on the other lines, and so is kept for the next question.

mod kept;
mod mailmap;
mod spans;
mod texts;

#[cfg(test)]
pub(crate) use kept::KEPT_BYTES;
pub(crate) use kept::{Blamed, Kept};
pub(crate) use mailmap::{MAX_MAILMAP, Mailmap};

use crate::{
    changes::Side,
    diff::{contents, paths::Paths, trees},
    pace::{Pace, Stopped},
    renames,
    repo::Repo,
    staged::Unfinished,
    walk::{
        Lookup, look_ahead,
        node::{Name, Node, Source},
    },
};
use gix::{ObjectId, index::entry::Mode};
use spans::Range;
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    rc::Rc,
};
use texts::Texts;

/// Paths whose trees are remembered at once; each rename on the way adds one.
const MAX_PATHS: usize = 64;

/// A file in a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) path: Vec<u8>,
    pub(crate) mode: Mode,
    pub(crate) id: ObjectId,
}

/// Lines of one version that wait for their commit to be come to.
struct Waiting {
    version: (Mode, ObjectId),
    ranges: Vec<Range>,
}

/// Where lines wait: a commit, and the place of a path among those that were met.
type Place = (Name, usize);

struct Blame<'a> {
    repo: &'a Repo,
    pace: &'a Pace,
    source: Source,
    lookups: Vec<Lookup>,
    texts: Texts<'a>,
    waiting: HashMap<Place, Waiting>,
    /// Youngest first; of equal dates the one that was met first.
    queue: BinaryHeap<(i64, Reverse<u64>, Name, usize)>,
    met: u64,
    ahead: usize,
    found: Blamed,
    commits: HashMap<ObjectId, u32>,
}

/// Blames all lines of `version`, a file in `commit`.
///
/// # Errors
/// [`Stopped`].
pub(crate) fn all(repo: &Repo, commit: ObjectId, version: &Version, pace: &Pace) -> Result<Rc<Blamed>, Stopped> {
    if let Some(blamed) = repo.blamed.borrow_mut().get(commit, version) {
        return Ok(blamed);
    }
    let Ok(text) = contents::blob(repo, &version.id, u64::MAX) else { return Ok(Rc::new(Blamed::unreadable())) };
    let count = u32::try_from(texts::lines(&text)).unwrap_or(u32::MAX);
    drop(text);
    if count == 0 {
        return Ok(Rc::default());
    }
    let mut blame = Blame {
        repo,
        pace,
        source: Source::new(repo, true),
        lookups: Vec::new(),
        texts: Texts::new(repo),
        waiting: HashMap::new(),
        queue: BinaryHeap::new(),
        met: 0,
        ahead: 0,
        found: Blamed::of(count),
        commits: HashMap::new(),
    };
    let name = blame.source.name(commit);
    let path = blame.path(&version.path);
    let ranges = vec![Range { shown: 0, at: 0, count }];
    if let Some(node) = blame.source.node(repo, name) {
        blame.wait((name, path), node.time, (version.mode, version.id), ranges);
        blame.source.keep(node);
    } else {
        blame.settle(commit, &ranges);
    }
    blame.run()?;
    blame.found.incomplete |= blame.source.incomplete || blame.lookups.iter().any(|lookup| lookup.entries.incomplete);
    let blamed = Rc::new(blame.found);
    if !blamed.incomplete {
        repo.blamed.borrow_mut().keep(commit, version, &blamed);
    }
    Ok(blamed)
}

/// A parent's version of a file.
struct Origin {
    parent: Node,
    path: usize,
    version: (Mode, ObjectId),
}

impl Blame<'_> {
    fn run(&mut self) -> Result<(), Stopped> {
        while let Some((_, _, name, path)) = self.queue.pop() {
            // a comparison may follow, so each is worth a look
            self.pace.step(1)?;
            self.pace.look()?;
            let Some(Waiting { version, mut ranges }) = self.waiting.remove(&(name, path)) else { continue };
            ranges.sort_by_key(|range| range.at);
            let id = self.source.id(name);
            match self.source.node(self.repo, name) {
                Some(node) => self.commit(&node, path, version, &mut ranges)?,
                // its parents are not known
                None => self.found.incomplete = true,
            }
            self.settle(id, &ranges);
        }
        Ok(())
    }

    /// Gives parents of `node` the lines that they have; `ranges` keeps the others.
    fn commit(
        &mut self,
        node: &Node,
        path: usize,
        version: (Mode, ObjectId),
        ranges: &mut Vec<Range>,
    ) -> Result<(), Stopped> {
        let first_same = self.source.may_change(node.name, self.lookups[path].keys.as_deref()) == Some(false);
        let mut origins: Vec<Origin> = Vec::new();
        let mut without: Vec<(usize, Node)> = Vec::new();
        for (at, &name) in node.parents.iter().enumerate() {
            let Some(parent) = self.source.node(self.repo, name) else {
                self.found.incomplete = true;
                continue;
            };
            let entry = if at == 0 && first_same {
                Some(version)
            } else {
                if at == 0 {
                    self.look_ahead(path, node, &parent)?;
                }
                let tree = self.source.tree(&parent);
                self.lookups[path].entries.at(self.repo, tree)
            };
            match entry {
                Some(theirs) if theirs.1 == version.1 && same_kind(theirs.0, version.0) => {
                    self.wait((name, path), parent.time, theirs, std::mem::take(ranges));
                    self.source.keep(parent);
                    return Ok(());
                }
                Some(theirs) if same_kind(theirs.0, version.0) => {
                    if !origins.iter().any(|origin| origin.version.1 == theirs.1) {
                        origins.push(Origin { parent, path, version: theirs });
                    }
                }
                // a link where the file is now is another file
                Some((mode, _)) if mode != Mode::DIR => {}
                _ => without.push((origins.len(), parent)),
            }
        }
        let mut added = 0;
        for (place, parent) in without {
            let name = parent.name;
            let Some(from) = self.renamed(node, &parent, path, version)? else { continue };
            let path = self.path(&from.path);
            if from.id == version.1 {
                self.wait((name, path), parent.time, (from.mode, from.id), std::mem::take(ranges));
                self.source.keep(parent);
                return Ok(());
            }
            let place = place + added;
            if !origins[..place].iter().any(|origin| origin.version.1 == from.id) {
                origins.insert(place, Origin { parent, path, version: (from.mode, from.id) });
                added += 1;
            }
        }
        for Origin { parent, path, version: theirs } in origins {
            if ranges.is_empty() {
                break;
            }
            // one that is gone or too long to be compared is as good as none
            let Ok([new, old]) = self.texts.both([version.1, theirs.1]) else {
                self.found.incomplete = true;
                continue;
            };
            let spans = spans::spans(&self.texts, &new, &old, ranges, self.pace)?;
            let given = spans::take(ranges, &spans);
            self.wait((parent.name, path), parent.time, theirs, given);
            self.source.keep(parent);
        }
        Ok(())
    }

    /// The file of `parent` that became the one at `path` of `node`.
    fn renamed(
        &mut self,
        node: &Node,
        parent: &Node,
        path: usize,
        (mode, id): (Mode, ObjectId),
    ) -> Result<Option<Version>, Stopped> {
        let trees = [parent, node].map(|node| Some(self.source.tree(node)));
        let found = match trees::changes(&self.repo.git, trees[0], trees[1], &Paths::default(), self.pace) {
            Ok(found) => found,
            Err(Unfinished::Stopped(stopped)) => return Err(stopped),
            Err(Unfinished::Failed(_)) => {
                self.found.incomplete = true;
                return Ok(None);
            }
        };
        let deleted = found.into_iter().filter(|pair| pair.new.is_none()).filter_map(|pair| pair.old).collect();
        let added = Side { path: self.lookups[path].path.clone(), mode, id };
        let contents = |side: &Side| renames::blob(&self.repo.git, side.id);
        source(deleted, added, &contents, self.pace)
    }

    fn look_ahead(&mut self, path: usize, node: &Node, parent: &Node) -> Result<(), Stopped> {
        let Self { source, lookups, ahead, repo, pace, .. } = self;
        look_ahead(source, &mut lookups[path].entries, ahead, None, repo, [node, parent], pace)
    }

    /// The place of a path.
    fn path(&mut self, path: &[u8]) -> usize {
        if let Some(at) = self.lookups.iter().position(|lookup| lookup.path == path) {
            return at;
        }
        if self.lookups.len() % MAX_PATHS == MAX_PATHS - 1 {
            // entries can be looked up again
            for lookup in &mut self.lookups {
                *lookup = Lookup::new(self.repo, &self.source, &lookup.path);
            }
        }
        self.lookups.push(Lookup::new(self.repo, &self.source, path));
        self.lookups.len() - 1
    }

    fn wait(&mut self, place: Place, time: i64, version: (Mode, ObjectId), ranges: Vec<Range>) {
        if ranges.is_empty() || self.known(place, version, &ranges) {
            return;
        }
        if let Some(waiting) = self.waiting.get_mut(&place) {
            waiting.ranges.extend(ranges);
            return;
        }
        self.waiting.insert(place, Waiting { version, ranges });
        self.queue.push((time, Reverse(self.met), place.0, place.1));
        self.met += 1;
    }

    /// Settles lines of a version that an earlier question was about.
    fn known(&mut self, (name, path): Place, (mode, id): (Mode, ObjectId), ranges: &[Range]) -> bool {
        let path = &self.lookups[path].path;
        let kept = self.repo.blamed.borrow().peek(self.source.id(name), (path, mode, id));
        let Some(kept) = kept else { return false };
        for range in ranges {
            for line in 0..range.count {
                let Some(commit) = kept.commit((range.at + line) as usize) else { continue };
                self.settle(commit, &[Range { shown: range.shown + line, at: range.at + line, count: 1 }]);
            }
        }
        true
    }

    /// The lines are those of the commit `id`.
    fn settle(&mut self, id: ObjectId, ranges: &[Range]) {
        if ranges.is_empty() {
            return;
        }
        let commits = &mut self.found.commits;
        let at = *self.commits.entry(id).or_insert_with(|| {
            commits.push(id);
            u32::try_from(commits.len() - 1).unwrap_or(u32::MAX)
        });
        for range in ranges {
            let shown = range.shown as usize..(range.shown + range.count) as usize;
            self.found.lines[shown].fill(at);
        }
    }
}

/// Git compares a file with a file, a link with a link.
pub(crate) fn same_kind(one: Mode, two: Mode) -> bool {
    one == two || (renames::is_file(one) && renames::is_file(two))
}

/// Which of `deleted` became `added`, as Git detects it for one file alone.
pub(crate) fn source(
    mut deleted: Vec<Side>,
    added: Side,
    contents: &dyn Fn(&Side) -> Option<Vec<u8>>,
    pace: &Pace,
) -> Result<Option<Version>, Stopped> {
    if deleted.is_empty() {
        return Ok(None);
    }
    deleted.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    let contents = |side: &Side| {
        let bytes = contents(side)?;
        let is_text = !contents::is_binary(&bytes);
        Some((bytes, is_text))
    };
    let found = renames::sources(&deleted, std::slice::from_ref(&added), &contents, renames::LIMIT, pace)?;
    let from = found.first().copied().flatten().map(|(at, _)| &deleted[at]);
    Ok(from.map(|side| Version { path: side.path.clone(), mode: side.mode, id: side.id }))
}

/// For each line of `text`, which is in no commit, the line of the file `id` that it is, if it is one. Lines whose commit is
/// `known` are not asked about.
///
/// # Errors
/// [`Stopped`].
pub(crate) fn unchanged(
    repo: &Repo,
    text: &[u8],
    id: ObjectId,
    known: &[Option<ObjectId>],
    pace: &Pace,
) -> Result<Vec<Option<u32>>, Stopped> {
    let mut lines = vec![None; known.len()];
    let mut texts = Texts::new(repo);
    let Ok([new, old]) = texts.beside(text, id) else { return Ok(lines) };
    let shown = |(at, _): (usize, &Option<_>)| {
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        Range { shown: at, at, count: 1 }
    };
    let mut ranges: Vec<Range> = known.iter().enumerate().filter(|(_, known)| known.is_none()).map(shown).collect();
    let spans = spans::spans(&texts, &new, &old, &ranges, pace)?;
    for range in spans::take(&mut ranges, &spans) {
        for line in 0..range.count {
            lines[(range.shown + line) as usize] = Some(range.at + line);
        }
    }
    Ok(lines)
}

/// How many lines there are in `text`.
pub(crate) fn line_count(text: &[u8]) -> usize {
    texts::lines(text)
}
