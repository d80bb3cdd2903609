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
//! configuration and the borders of a shallow clone (by the versions of `DECIDING`), and maps of packs and of the
//! commit-graph, which are the file's own pages. Versions and stats from right after a change are trusted by nobody, see
//! [`files::Version`] and [`crate::worktree::disk::Stat::is_settled`].

mod commits;

use crate::{
    ahead_behind::{self, Drift},
    blame,
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
use gix::ObjectId;
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
        let exclude = self.info_exclude().is_none() && self.is_there(0);
        if exclude { Some(".git/info/exclude") } else { self.attributes_unread() }
    }

    /// The same of `info/attributes` alone.
    #[must_use]
    pub fn attributes_unread(&self) -> Option<&'static str> {
        (self.info_attributes().is_none() && self.is_there(1)).then_some(".git/info/attributes")
    }

    fn is_there(&self, slot: usize) -> bool {
        self.info.borrow()[slot].as_ref().is_some_and(|(version, _)| !version.is_absent())
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
