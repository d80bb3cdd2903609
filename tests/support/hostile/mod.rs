//! Repositories made to hurt their reader, one builder for each kind: what is built, what to ask of it, what must not come out.
//! Trust: what is built here is as hostile as its builders could make it; sizes are small unless `BULKHEAD_SLOW=1`.

pub mod formats;
pub mod graph;
pub mod objects;
pub mod outside;
pub mod programs;
pub mod refs;
pub mod special_files;
pub mod texts;

use super::{Place, Repo};
use std::path::{Path, PathBuf};

/// Text of files outside that no answer, error or log line may hold.
pub const CANARY: &str = "CANARY";
/// Name of the file that appears when a program of a repository was run.
pub const MARKER: &str = "PWNED";
/// What stands in files of the system that repositories point at.
pub const SYSTEM_TEXTS: [&str; 2] = ["root:x:0:0", "root:*:0:0"];

/// A builder of one kind of hostile repositories.
pub type Build = fn(&mut Scene);

/// A hostile situation in a place of its own.
#[derive(Debug)]
pub struct Scene {
    /// Where everything lies; removed with the scene.
    pub place: Place,
    /// Directories beneath which may be read; without any, exactly the repositories aimed at.
    pub roots: Vec<PathBuf>,
    /// What the server is to be asked about.
    pub repositories: Vec<PathBuf>,
    /// Texts that must not come out, whatever is asked.
    pub secrets: Vec<String>,
    /// Texts that must not come out where no question names them.
    pub names: Vec<String>,
    /// Revisions to ask for, besides the usual ones.
    pub revisions: Vec<String>,
    /// Paths inside the repositories to ask for, besides the usual ones.
    pub paths: Vec<String>,
}

impl Scene {
    /// Runs a builder in a fresh place.
    pub fn of(build: Build) -> Self {
        let mut scene = Self::empty();
        build(&mut scene);
        scene
    }

    /// A fresh place, and nothing in it.
    pub fn empty() -> Self {
        let secrets = [CANARY].into_iter().chain(SYSTEM_TEXTS).map(str::to_owned).collect();
        let (roots, repositories, names, revisions, paths) = Default::default();
        Self { place: Place::new(), roots, repositories, secrets, names, revisions, paths }
    }

    /// The directory that holds what may be read; beside it lies what may not.
    pub fn inside(&self) -> PathBuf {
        self.place.directory("inside")
    }

    /// A small honest repository to spoil: a copy of one that is made once, since making one takes git a dozen times.
    pub fn honest(&self, name: impl AsRef<Path>) -> Repo<'_> {
        let model = self.place.at("model");
        let model = if model.exists() { Repo::open(&self.place, model) } else { Repo::honest(&self.place, "model") };
        model.copy(Path::new("inside").join(name))
    }

    /// Aims at a repository of that name.
    pub fn aim(&mut self, name: impl AsRef<Path>) {
        let path = self.inside().join(name);
        self.repositories.push(path);
    }

    /// Allows reading of everything inside.
    pub fn allow_all(&mut self) {
        let inside = self.inside();
        self.roots.push(inside);
    }

    /// Also asks for this revision.
    pub fn revision(&mut self, revision: impl Into<String>) {
        self.revisions.push(revision.into());
    }

    /// Also asks for these paths.
    pub fn paths(&mut self, paths: &[&str]) {
        self.paths.extend(paths.iter().map(|&path| path.to_owned()));
    }

    /// A repository outside the roots that holds a secret; the id of its commit must not leak either.
    pub fn victim(&mut self) -> PathBuf {
        let victim = Repo::honest(&self.place, "outside/victim");
        victim.write("secret.txt", format!("TOP-SECRET-{CANARY}\n"));
        victim.write(format!("{CANARY}-name.txt"), "its name alone says too much\n");
        let id = victim.commit(&format!("SECRET-{CANARY}-COMMIT"));
        victim.git(&["branch", &format!("secret-{CANARY}-branch")]);
        let path = victim.path().to_owned();
        self.names.extend(["secret.txt".to_owned(), id[..12].to_owned()]);
        self.paths(&["secret.txt"]);
        self.revision(id);
        path
    }

    /// A shell command that leaves the marker.
    pub fn leave_marker(&self) -> String {
        format!("touch '{}'", self.place.at(MARKER).display())
    }

    /// Whether something of a repository was run.
    pub fn fired(&self) -> bool {
        self.place.holds_file_named(MARKER)
    }
}

/// Makes a FIFO in place of whatever is there.
pub(super) fn fifo(path: &Path) {
    if path.is_dir() {
        std::fs::remove_dir_all(path).expect("the place is ours");
    } else {
        let _ = std::fs::remove_file(path);
    }
    std::fs::create_dir_all(path.parent().expect("it has one")).expect("the place is ours");
    nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).expect("the place is ours");
}

/// Copies a repository, special files as they are.
pub(super) fn copy(from: &Path, to: &Path, place: &Place) {
    let status = place.command("cp").arg("-a").arg(from).arg(to).status().expect("cp is installed");
    assert!(status.success());
}
