//! One open repository with everything that is kept warm between calls, and what invalidates each of it.
//! Trust: opened by [`crate::open`] alone; whatever is kept is checked against the disk at the start of every call.
//!
//! # What a worker keeps, and how much of it
//!
//! | Kept | Invalidated by | Bytes at most |
//! |---|---|---|
//! | unpacked delta bases | nothing: they go by object id | 20 MiB, and 6 MiB for each of two readers of a walk |
//! | unpacked objects | nothing: they go by object id | 12 MiB |
//! | both of up to eight submodules | the version of the submodule's `.git`, and as its superproject | 16 MiB |
//! | verdicts on contents | path, stat, object id, mode, attributes, settings: all are in the key | 10 MiB |
//! | names in directories of the working tree | the stat of each directory | 12 MiB, and 256 KiB for each submodule |
//! | `.gitignore`, `.gitattributes` | the stat of each file | 4 MiB, and 256 KiB for each submodule |
//! | `info/exclude`, `info/attributes` | the version of each file | 2 MiB |
//! | commits that were measured, committer times | nothing: they go by object id | 2 MiB |
//! | lengths of short ids | the version of the directory of loose objects, and which packs are known | 2 MiB |
//! | whose lines are in files of commits | nothing: they go by ids | 1 MiB |
//! | drift, recent commits, HEAD's tree | the ids that they were computed from | one answer each |
//!
//! Together these stay below [`CACHE_BYTES`]. Not caches, but one present version of something, are the index (invalidated
//! by its version and that of the shared index, bounded by what [`crate::index`] accepts), `packed-refs` (by its version), the
//! configuration and the borders of a shallow clone (by the versions of [`DECIDING`]), and maps of packs and of the
//! commit-graph, which are the file's own pages. Versions and stats from right after a change are trusted by nobody, see
//! [`files::Version`] and [`crate::worktree::disk::Stat::is_settled`].

use crate::{
    ahead_behind::{self, Drift},
    blame,
    commit::Commit,
    commit_graph::Filters,
    crew::Crew,
    diff::abbreviate::Abbreviation,
    discover::{self, Found, Trust},
    files::{self, Links, NoContents, Version},
    history::{self, Recent},
    index::Snapshot,
    merge, open,
    operator_config::OperatorConfig,
    pace::{Pace, Stopped},
    refs::Refs,
    settings::Settings,
    submodules::Nested,
    walk::Warm,
    worktree::{listings::Listings, rules::RuleFiles, verdicts::Verdicts},
};
use bulkhead_contract::failure::{ReadFailure, Reason};
use gix::{ObjectId, objs::FindExt as _};
use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::{BTreeMap, HashMap, HashSet},
    path::PathBuf,
    rc::Rc,
    sync::{Arc, Mutex},
};

/// Bytes of everything that is kept in a worker at most.
pub const CACHE_BYTES: usize = 96 << 20;
/// Bytes of all verdicts of a worker at most.
pub const VERDICT_BYTES: usize = 10 << 20;
/// Bytes of `shallow` at most.
pub(crate) const MAX_SHALLOW: u64 = 16 << 20;
/// Bytes of `info/exclude` or `info/attributes` at most.
const MAX_INFO: u64 = 1 << 20;
/// Commits that are remembered as measured, and times; some 40 and 60 bytes each.
const MAX_SMALL: usize = 8_192;
/// Missing commits for which the pack directory is listed again, as it may have changed since.
const MAX_LISTINGS: usize = 64;
/// Missing commits that are remembered.
const MAX_MISSED: usize = 200_000;
/// Files in the common directory whose change means that the repository is opened anew.
const DECIDING: &[&str] =
    &["config", "shallow", "refs/replace", "packed-refs", "objects/info/alternates", "info/grafts"];

/// What a file held in one of its versions; the inner `None` where it was not there or not readable.
type Kept<T> = Option<(Version, Option<Rc<T>>)>;

/// What all repositories of one worker share.
#[derive(Debug, Clone, Default)]
pub struct Operator {
    /// Their Git configuration.
    pub config: Rc<OperatorConfig>,
    /// Whose repositories are read.
    pub trust: Rc<Trust>,
    /// Canonical directories; what lies outside of them is not even looked for.
    pub ceilings: Rc<[PathBuf]>,
    /// Contents that were compared before. Invalidated as described there.
    pub verdicts: Arc<Mutex<Verdicts>>,
    /// Directories of its main repository that a worker may hold open between calls.
    pub directories: usize,
    /// Threads that help with a call.
    pub crew: Rc<Crew>,
}

/// One open repository.
pub struct Repo {
    /// Where it is.
    pub found: Found,
    /// Its objects and configuration.
    pub git: gix::Repository,
    /// Its references.
    pub refs: Refs,
    /// Resolved configuration.
    pub settings: Settings,
    /// What all repositories share.
    pub operator: Operator,
    /// Submodules by path.
    pub(crate) nested: RefCell<BTreeMap<Vec<u8>, Nested>>,
    /// What merges would do. What invalidates them is said there.
    pub(crate) merges: RefCell<merge::Verdicts>,
    /// Whose lines are in files of commits. They go by ids, and, through shallow and replace, on what opens anew.
    pub(crate) blamed: RefCell<blame::Kept>,
    /// `.gitignore` and `.gitattributes` of the working tree. Invalidated by their stat.
    pub(crate) rule_files: RuleFiles,
    /// What directories of the working tree hold. Invalidated by their stat.
    pub(crate) listings: Listings,
    shallow: HashSet<ObjectId>,
    replaces: bool,
    deciding: Vec<(PathBuf, Version)>,
    /// Invalidated by the version of the index file.
    index: RefCell<Option<Rc<Snapshot>>>,
    /// `info/exclude` and `info/attributes`. Invalidated by their versions.
    info: RefCell<[Kept<Vec<u8>>; 2]>,
    /// Invalidated by the versions of the graph's files.
    graph: RefCell<Kept<gix::commitgraph::Graph>>,
    /// Changed-path filters of `graph`. Read with it, and dropped with it.
    filters: RefCell<Option<Option<Rc<Filters>>>>,
    /// Walks that a next page may continue, by its cursor. What they rest on is named by ids alone.
    pub(crate) walks: RefCell<Warm>,
    /// The last answers that depend on ids alone, and, through shallow and replace, on what opens anew.
    drift: RefCell<Option<(ObjectId, ObjectId, Drift)>>,
    recent: RefCell<Option<(ObjectId, usize, Rc<Recent>)>>,
    head_tree: RefCell<Option<(ObjectId, ObjectId)>>,
    /// Commits that were measured and are not too large to be shown. They go by id, and so never become larger.
    small: RefCell<HashSet<ObjectId>>,
    /// Lengths of short ids. What invalidates them is said there.
    abbreviation: RefCell<Option<Rc<Abbreviation>>>,
    /// Committer times. They go by id.
    times: RefCell<HashMap<ObjectId, i64>>,
    doubted: Cell<bool>,
    graph_lies: Cell<bool>,
    /// Commits that were asked for and could not be read. Forgotten with every opening, which `doubted` brings about.
    missed: RefCell<HashSet<ObjectId>>,
    /// The same objects for a reader who has missed enough.
    settled: OnceCell<gix::Repository>,
    /// Readers for walks, one of them for a second thread.
    passing: OnceCell<gix::Repository>,
    beside: RefCell<Option<gix::Repository>>,
}

impl Repo {
    /// Opens what was found.
    ///
    /// # Errors
    /// As [`open::open`].
    pub fn open(found: Found, operator: Operator, caches: open::Caches) -> Result<Self, ReadFailure> {
        let deciding: Vec<(PathBuf, Version)> = DECIDING
            .iter()
            .map(|name| found.common_dir.join(name))
            .chain([found.git_dir.join("config.worktree")])
            .map(|path| (path.clone(), files::version(&path)))
            .collect();
        let git = open::open(&found, caches)?;
        let settings = Settings::resolve(git.config_snapshot().plumbing(), &operator.config);
        let shallow = shallow(&found)?;
        let replaces = git.objects.store_ref().replacements().next().is_some();
        let refs = Refs::new(found.git_dir.clone(), found.common_dir.clone());
        let listings = Listings::on(found.times_on, caches.listing_bytes(), caches.directories(operator.directories));
        Ok(Self {
            found,
            git,
            refs,
            settings,
            operator,
            nested: RefCell::default(),
            merges: RefCell::default(),
            blamed: RefCell::default(),
            rule_files: RuleFiles::new(caches.rule_bytes()),
            listings,
            shallow,
            replaces,
            deciding,
            index: RefCell::default(),
            info: RefCell::default(),
            graph: RefCell::default(),
            filters: RefCell::default(),
            walks: RefCell::default(),
            drift: RefCell::default(),
            recent: RefCell::default(),
            head_tree: RefCell::default(),
            small: RefCell::default(),
            abbreviation: RefCell::default(),
            times: RefCell::default(),
            doubted: Cell::new(false),
            graph_lies: Cell::new(false),
            missed: RefCell::default(),
            settled: OnceCell::new(),
            passing: OnceCell::new(),
            beside: RefCell::default(),
        })
    }

    /// True where nothing changed that decides how the repository is read, and every object that was asked for was
    /// readable.
    #[must_use]
    pub fn is_current(&self) -> bool {
        !self.doubted.get() && self.deciding.iter().all(|(path, version)| files::version(path) == *version)
    }

    /// True where there is no working tree to ask about.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        match self.found.link {
            discover::Link::None => true,
            // the shared configuration of a bare repository says so to its linked worktrees, too
            discover::Link::Worktree => false,
            discover::Link::Directory | discover::Link::File => self.settings.bare,
        }
    }

    /// How ids are abbreviated now.
    #[must_use]
    pub fn abbreviation(&self) -> Rc<Abbreviation> {
        let mut held = self.abbreviation.borrow_mut();
        if let Some(abbreviation) = &*held
            && abbreviation.is_current(&self.git)
        {
            return Rc::clone(abbreviation);
        }
        let abbreviation = Rc::new(Abbreviation::new(&self.git, &self.found.common_dir.join("objects")));
        *held = Some(Rc::clone(&abbreviation));
        abbreviation
    }

    /// The present index.
    ///
    /// # Errors
    /// As [`Snapshot::read`].
    pub fn index(&self) -> Result<Rc<Snapshot>, ReadFailure> {
        let mut held = self.index.borrow_mut();
        if let Some(index) = &*held
            && index.is_current(&self.found)
        {
            return Ok(Rc::clone(index));
        }
        let index = Rc::new(Snapshot::read(&self.found, self.git.object_hash())?);
        *held = Some(Rc::clone(&index));
        Ok(index)
    }

    /// Contents of `info/exclude`.
    #[must_use]
    pub fn info_exclude(&self) -> Option<Rc<Vec<u8>>> {
        self.info_file(0, "info/exclude")
    }

    /// Contents of `info/attributes`.
    #[must_use]
    pub fn info_attributes(&self) -> Option<Rc<Vec<u8>>> {
        self.info_file(1, "info/attributes")
    }

    fn info_file(&self, slot: usize, name: &str) -> Option<Rc<Vec<u8>>> {
        let path = self.found.common_dir.join(name);
        let version = files::version(&path);
        let mut held = self.info.borrow_mut();
        if let Some((of, contents)) = &held[slot]
            && *of == version
        {
            return contents.clone();
        }
        let contents = files::read(&path, MAX_INFO, Links::Follow).ok().map(Rc::new);
        held[slot] = Some((version, contents.clone()));
        contents
    }

    /// Which of both is there and could not be read, if any, by its path from the top: what it rules does not count then.
    #[must_use]
    pub fn info_unread(&self) -> Option<&'static str> {
        let exclude = self.info_exclude().is_none();
        let attributes = self.info_attributes().is_none();
        let held = self.info.borrow();
        let is_there = |slot: usize| held[slot].as_ref().is_some_and(|(version, _)| !version.is_absent());
        match (exclude && is_there(0), attributes && is_there(1)) {
            (true, _) => Some(".git/info/exclude"),
            (_, true) => Some(".git/info/attributes"),
            _ => None,
        }
    }

    /// The commit-graph, where it may be used: it knows neither shallow borders nor replaced commits.
    #[must_use]
    pub fn commit_graph(&self) -> Option<Rc<gix::commitgraph::Graph>> {
        if self.replaces || !self.shallow.is_empty() || self.graph_lies.get() {
            return None;
        }
        let info = self.found.common_dir.join("objects/info");
        let single = files::version(&info.join("commit-graph"));
        let version =
            if single.is_absent() { files::version(&info.join("commit-graphs/commit-graph-chain")) } else { single };
        let mut held = self.graph.borrow_mut();
        if let Some((of, graph)) = &*held
            && *of == version
        {
            return graph.clone();
        }
        let graph = match version.is_absent() {
            true => None,
            // one that cannot be read only makes walks slower
            false => self.git.commit_graph_if_enabled().ok().flatten().map(Rc::new),
        };
        *held = Some((version, graph.clone()));
        *self.filters.borrow_mut() = None;
        graph
    }

    /// The changed-path filters of `graph`, which is what [`Repo::commit_graph`] gave.
    pub(crate) fn filters(&self, graph: &gix::commitgraph::Graph) -> Option<Rc<Filters>> {
        let mut held = self.filters.borrow_mut();
        if let Some(filters) = &*held {
            return filters.clone();
        }
        let config = self.git.config_snapshot();
        // the boolean is the older spelling and gives way to the number
        let allowed = config.boolean("commitGraph.readChangedPaths").unwrap_or(true);
        let version = config.integer("commitGraph.changedPathsVersion").unwrap_or(if allowed { -1 } else { 0 });
        let objects = self.found.common_dir.join("objects");
        let filters = Filters::read(&objects, self.git.object_hash().len_in_bytes(), graph.num_commits(), version);
        let filters = filters.map(Rc::new);
        *held = Some(filters.clone());
        filters
    }

    /// Does without the commit-graph for as long as the repository stays open: it was found to lie.
    pub(crate) fn drop_commit_graph(&self) {
        self.graph_lies.set(true);
        *self.graph.borrow_mut() = None;
        *self.filters.borrow_mut() = None;
    }

    /// True where the history of this clone ends at `id`.
    #[must_use]
    pub fn is_shallow(&self, id: &ObjectId) -> bool {
        self.shallow.contains(id)
    }

    /// True where the history of this clone ends anywhere before its roots.
    #[must_use]
    pub fn has_borders(&self) -> bool {
        !self.shallow.is_empty()
    }

    /// Parents of the commit, as far as this clone has them.
    #[must_use]
    pub fn parents(&self, id: ObjectId) -> Vec<ObjectId> {
        self.known_parents(id).unwrap_or_default()
    }

    /// The same; `None` where the commit is missing or damaged, and its parents are not known.
    #[must_use]
    pub fn known_parents(&self, id: ObjectId) -> Option<Vec<ObjectId>> {
        if self.is_shallow(&id) {
            return Some(Vec::new());
        }
        self.commit(id, &mut Vec::new()).map(|commit| commit.parents)
    }

    /// Committer time of the commit in seconds, if it is there.
    #[must_use]
    pub fn commit_time(&self, id: ObjectId) -> Option<i64> {
        if let Some(time) = self.known_time(&id) {
            return Some(time);
        }
        let time = self.commit(id, &mut Vec::new()).map(|commit| commit.time())?;
        let mut times = self.times.borrow_mut();
        if times.len() >= MAX_SMALL {
            times.clear();
        }
        times.insert(id, time);
        Some(time)
    }

    /// The same where it was asked for before.
    pub(crate) fn known_time(&self, id: &ObjectId) -> Option<i64> {
        self.times.borrow().get(id).copied()
    }

    /// The commit, if it is there and can be read.
    pub(crate) fn commit<'b>(&self, id: ObjectId, buffer: &'b mut Vec<u8>) -> Option<Commit<'b>> {
        self.commit_by(&self.git, id, buffer)
    }

    /// The same for a walk that passes by more commits than are worth keeping.
    pub(crate) fn commit_in_passing<'b>(&self, id: ObjectId, buffer: &'b mut Vec<u8>) -> Option<Commit<'b>> {
        self.commit_by(self.passing(), id, buffer)
    }

    /// See [`open::for_passing`].
    pub(crate) fn passing(&self) -> &gix::Repository {
        self.passing.get_or_init(|| open::for_passing(&self.git))
    }

    /// Another such reader, for a thread beside this one. It is to be given back.
    pub(crate) fn take_beside(&self) -> gix::Repository {
        self.beside.take().unwrap_or_else(|| open::for_passing(&self.git))
    }

    /// Keeps it for the next time.
    pub(crate) fn give_beside(&self, git: gix::Repository) {
        self.beside.replace(Some(git));
    }

    fn commit_by<'b>(&self, git: &gix::Repository, id: ObjectId, buffer: &'b mut Vec<u8>) -> Option<Commit<'b>> {
        let found = self.may_be_there(id).then(|| git.objects.find(&id, buffer).ok()).flatten();
        let commit =
            found.filter(|data| data.kind == gix::objs::Kind::Commit).and_then(|data| Commit::parse(data.data));
        if commit.is_none() {
            let mut missed = self.missed.borrow_mut();
            if missed.len() < MAX_MISSED {
                missed.insert(id);
            }
            self.doubt();
        }
        commit
    }

    /// Whether the commit was measured before: to measure one again means to open its file again.
    pub(crate) fn is_small(&self, id: &ObjectId) -> bool {
        self.small.borrow().contains(id)
    }

    /// Notes that the commit was measured.
    pub(crate) fn note_small(&self, id: ObjectId) {
        let mut small = self.small.borrow_mut();
        if small.len() >= MAX_SMALL {
            small.clear();
        }
        small.insert(id);
    }

    /// Whether it is worth looking for `id`. The library lists the pack directory again for each object that is missing,
    /// and a commit may name a hundred thousand parents that never were.
    fn may_be_there(&self, id: ObjectId) -> bool {
        let missed = self.missed.borrow();
        if missed.len() < MAX_LISTINGS {
            return true;
        }
        let settled = || {
            let mut settled = self.git.clone();
            settled.objects.refresh_never();
            settled
        };
        !missed.contains(&id) && self.settled.get_or_init(settled).has_object(id)
    }

    /// Notes that an object could not be read. The object database keeps what it once found missing or broken, so the
    /// next call opens the repository anew.
    pub fn doubt(&self) {
        self.doubted.set(true);
    }

    /// The tree of the commit that HEAD is at.
    ///
    /// # Errors
    /// [`Reason::ObjectMissing`] where it is not there, [`Reason::Corrupt`] where it is something else than a commit.
    pub fn tree_of(&self, head: ObjectId) -> Result<ObjectId, ReadFailure> {
        if let Some((of, tree)) = *self.head_tree.borrow()
            && of == head
        {
            return Ok(tree);
        }
        let tree = self.git.find_commit(head).ok().and_then(|commit| commit.tree_id().ok()).map(gix::Id::detach);
        let tree = tree.ok_or_else(|| {
            self.doubt();
            if self.git.has_object(head) {
                ReadFailure::new(Reason::Corrupt, "head", "The object that HEAD names is no commit that can be read.")
            } else {
                ReadFailure::new(Reason::ObjectMissing, "head", "The commit that HEAD names is not in this clone.")
            }
        })?;
        *self.head_tree.borrow_mut() = Some((head, tree));
        Ok(tree)
    }

    /// How far two commits have drifted apart.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn drift(&self, left: ObjectId, right: ObjectId, pace: &Pace) -> Result<Drift, Stopped> {
        if let Some((l, r, drift)) = *self.drift.borrow()
            && (l, r) == (left, right)
        {
            return Ok(drift);
        }
        let drift = ahead_behind::count(self, left, right, pace)?;
        *self.drift.borrow_mut() = Some((left, right, drift));
        Ok(drift)
    }

    /// The newest commits, `shown` of them in full.
    #[must_use]
    pub fn recent(&self, head: ObjectId, shown: usize) -> Rc<Recent> {
        if let Some((of, have, recent)) = &*self.recent.borrow()
            && *of == head
            && *have >= shown
        {
            return Rc::clone(recent);
        }
        let recent = Rc::new(history::recent(self, head, shown));
        if !recent.incomplete {
            *self.recent.borrow_mut() = Some((head, shown, Rc::clone(&recent)));
        }
        recent
    }
}

impl std::fmt::Debug for Repo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Repo").field("found", &self.found).finish_non_exhaustive()
    }
}

fn shallow(found: &Found) -> Result<HashSet<ObjectId>, ReadFailure> {
    match files::read(&found.common_dir.join("shallow"), MAX_SHALLOW, Links::Refuse) {
        Ok(text) => Ok(text
            .split(|&byte| byte == b'\n')
            .filter_map(|line| ObjectId::from_hex(line.trim_ascii()).ok())
            .collect()),
        Err(NoContents::Absent) => Ok(HashSet::new()),
        Err(e) => Err(e.failure("open", ".git/shallow")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::submodules::MAX_OPEN;

    #[test]
    fn all_caches_together_have_room() {
        let of = |caches: open::Caches| {
            let (deltas, objects) = caches.bytes();
            usize::try_from(deltas).expect("small") + objects + caches.rule_bytes() + caches.listing_bytes()
        };
        let info = 2 * usize::try_from(MAX_INFO).expect("small");
        let all = of(open::Caches::Main)
            + 2 * open::PASSING_BYTES
            + MAX_OPEN * of(open::Caches::Nested)
            + VERDICT_BYTES
            + blame::KEPT_BYTES
            + info;
        let by_id = MAX_SMALL * 320;
        assert!(all + by_id <= CACHE_BYTES, "{all}");
    }
}
