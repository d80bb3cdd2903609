//! FIFOs and devices where Git keeps files, and in the working tree: opening one would wait forever.
//! Trust: hostile by construction.

use super::{CANARY, Scene, fifo};
use crate::support::{Repo, objects};
use std::{fs, os::unix::fs::symlink};

/// Where Git keeps a file that a reader opens.
pub const PLACES: &[&str] = &[
    "HEAD",
    "packed-refs",
    "config",
    "index",
    "objects/info/alternates",
    "info/exclude",
    "info/attributes",
    "logs/HEAD",
    "refs/heads/p",
    "refs/heads/main",
    "shallow",
    "MERGE_HEAD",
    "commondir",
    "config.worktree",
    "info/sparse-checkout",
    "logs/refs/stash",
    "refs/stash",
    "objects/info/commit-graph",
    "objects/pack/multi-pack-index",
    "rebase-merge",
];

/// The name of the repository in which a FIFO stands in place of that file.
pub fn name(place: &str) -> String {
    format!("fifo-{}", place.replace('/', "-"))
}

/// A FIFO in place of every file of Git, each in a repository of its own.
pub fn in_place_of_files(scene: &mut Scene) {
    for place in PLACES {
        let repo = scene.honest(name(place));
        fifo(&repo.git_dir().join(place));
        if *place == "config.worktree" {
            let config = repo.git_dir().join("config");
            let text = fs::read_to_string(&config).expect("it is there") + "[extensions]\n\tworktreeConfig = true\n";
            fs::write(config, text.replace("repositoryformatversion = 0", "repositoryformatversion = 1"))
                .expect("ours");
        }
        scene.aim(name(place));
    }
}

/// Objects in whose place a FIFO stands, as revisions: in `object-0` to `object-3`.
pub const OBJECTS: [&str; 4] = ["HEAD", "HEAD^{tree}", "HEAD:a.txt", "HEAD~1"];

/// A FIFO in place of an object, and of one that is borrowed (`borrower`).
pub fn in_place_of_objects(scene: &mut Scene) {
    for (at, revision) in OBJECTS.iter().enumerate() {
        let repo = scene.honest(format!("object-{at}"));
        repo.append("a.txt", "more\n");
        repo.commit("more");
        repo.append("a.txt", "changed\n");
        let id = repo.git(&["rev-parse", revision]);
        fifo(&repo.git_dir().join("objects").join(&id[..2]).join(&id[2..]));
        scene.aim(format!("object-{at}"));
    }
    let lender = scene.honest("lender");
    let id = lender.git(&["rev-parse", "HEAD"]);
    let borrower = Repo::init(&scene.place, "inside/borrower");
    let objects = lender.git_dir().join("objects");
    fs::write(borrower.git_dir().join("objects/info/alternates"), format!("{}\n", objects.display())).expect("ours");
    objects::set_ref(&borrower.git_dir(), "refs/heads/main", format!("{id}\n"));
    fifo(&objects.join(&id[..2]).join(&id[2..]));
    scene.aim("borrower");
    scene.allow_all();
}

/// FIFOs and devices in place of files of the working tree, tracked and untracked, and of ignore files.
pub fn in_the_worktree(scene: &mut Scene) {
    let repo = scene.honest("repo");
    for name in [".gitignore", "dir/.gitignore", ".gitattributes", "b.txt"] {
        repo.write(name, "x\n");
    }
    repo.write("dir/tracked", "x\n");
    repo.commit("more files");
    for name in ["a.txt", ".gitignore", "dir/.gitignore", ".gitattributes", "pipe"] {
        fifo(&repo.at(name));
    }
    fs::remove_file(repo.at("b.txt")).expect("ours");
    symlink("/dev/zero", repo.at("b.txt")).expect("ours");
    for (name, target) in [
        ("random", "/dev/random"),
        ("tty", "/dev/tty"),
        ("environment", "/proc/self/environ"),
        ("input", "/proc/self/fd/0"),
    ] {
        symlink(target, repo.at(name)).expect("ours");
    }
    scene.aim("repo");
    scene.paths(&["pipe", "b.txt", "random", "environment"]);
}

/// Only an untracked FIFO, and only a tracked one: where more is wrong, one thing hides another.
pub fn one_in_the_worktree(scene: &mut Scene) {
    fifo(&scene.honest("untracked").at("pipe"));
    fifo(&scene.honest("tracked").at("a.txt"));
    let excluding = scene.honest("excluding");
    fifo(&excluding.at(".git/never"));
    let never = excluding.at(".git/never").display().to_string();
    excluding.git(&["config", "core.excludesFile", &never]);
    ["untracked", "tracked", "excluding"].iter().for_each(|name| scene.aim(name));
    scene.paths(&["pipe"]);
}

/// Links in place of ignore and attribute files.
pub fn links_for_patterns(scene: &mut Scene) {
    let repo = scene.honest("repo");
    fs::write(scene.place.directory("outside").join("patterns"), format!("a-{CANARY}-line\n")).expect("ours");
    symlink("/dev/zero", repo.at(".gitignore")).expect("ours");
    symlink(scene.place.at("outside/patterns"), repo.at(".gitattributes")).expect("ours");
    scene.aim("repo");
}
