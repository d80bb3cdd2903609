//! From the path in a call to the worker that may answer it: what was asked before, and where it led.
//! Trust: paths are the caller's text and opaque; identities come from workers and are only ever compared.

use crate::recent::Recent;
use bulkhead_ipc::edge::{
    FileId,
    read::{Place, Repository},
};
use std::rc::Rc;

/// Paths that are remembered.
pub const MAX_PATHS: usize = 1024;

/// Where a call belongs: workers, back-off and poison memory are kept by this.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Home {
    /// A repository that a worker found: git directory and working tree. Several paths may lead to it.
    Repository(FileId, Option<FileId>),
    /// A path that has not led anywhere yet.
    Path(Rc<str>),
}

impl Home {
    /// The home of a repository.
    #[must_use]
    pub fn of(repository: &Repository) -> Self {
        Home::Repository(repository.git_dir, repository.worktree)
    }
}

/// Where a path led when a worker resolved it.
#[derive(Debug, Clone)]
pub struct Route {
    /// Which workers may answer.
    pub home: Home,
    /// The directory that the path named; sent with every call, so that a worker notices a path that moved.
    pub asked: FileId,
    /// Canonical path of the repository, for the answer's envelope.
    pub canonical: Rc<[u8]>,
}

/// The paths asked for last.
#[derive(Debug)]
pub struct Routes(Recent<Rc<str>, Route>);

impl Default for Routes {
    fn default() -> Self {
        Self(Recent::new(MAX_PATHS))
    }
}

impl Routes {
    /// Where `path` led, if that is remembered.
    pub fn known(&mut self, path: &str) -> Option<Route> {
        self.0.get(path).map(|route| route.clone())
    }

    /// The home of `path`: its repository, else the path itself.
    pub fn home(&mut self, path: &Rc<str>) -> Home {
        self.known(path).map_or_else(|| Home::Path(Rc::clone(path)), |route| route.home)
    }

    /// Remembers where a worker says that `path` leads.
    pub fn learn(&mut self, path: &Rc<str>, repository: &Repository) -> Route {
        let route = Route {
            home: Home::of(repository),
            asked: repository.asked,
            canonical: Rc::from(repository.canonical.as_slice()),
        };
        self.0.put(Rc::clone(path), route.clone());
        route
    }

    /// Forgets `path`: it leads elsewhere now, or nowhere.
    pub fn forget(&mut self, path: &str) {
        self.0.remove(path);
    }
}

impl Route {
    /// What a worker is told about the path of a call.
    #[must_use]
    pub fn place(&self, path: &str) -> Place {
        Place { path: path.as_bytes().to_vec(), asked: self.asked }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(git_dir: u64) -> Repository {
        Repository {
            canonical: b"/r".to_vec(),
            asked: FileId { dev: 1, ino: 100 + git_dir },
            git_dir: FileId { dev: 1, ino: git_dir },
            worktree: None,
        }
    }

    #[test]
    fn paths_of_one_repository_share_a_home_until_one_moves() {
        let mut routes = Routes::default();
        let (a, b): (Rc<str>, Rc<str>) = ("/a".into(), "/b".into());
        assert_eq!(routes.home(&a), Home::Path(Rc::clone(&a)));
        routes.learn(&a, &repository(5));
        routes.learn(&b, &repository(5));
        assert_eq!(routes.home(&a), routes.home(&b));
        assert_eq!(routes.known("/b").expect("learned").place("/b").asked.ino, 105);
        routes.forget("/a");
        assert_eq!(routes.home(&a), Home::Path(Rc::clone(&a)));
        assert_ne!(routes.home(&a), routes.home(&b));
    }
}
