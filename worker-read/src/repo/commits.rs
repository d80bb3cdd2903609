//! Commits one at a time: their parents and times, from the commit-graph where it may be used, from objects where not.
//! Trust: graph and objects are the repository's own and may lie; what they say is checked where it decides something.

use super::{MAX_LISTINGS, MAX_MISSED, MAX_SMALL, Repo};
use crate::{commit::Commit, commit_graph::Filters, files, open};
use gix::{ObjectId, objs::FindExt as _};
use std::rc::Rc;

impl Repo {
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
}
