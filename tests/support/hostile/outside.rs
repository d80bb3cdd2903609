//! Repositories that try to have something outside of them read: redirects, links, includes, alternates.
//! Trust: hostile by construction.

use super::{CANARY, MARKER, Scene, copy, fifo};
use crate::support::{Repo, objects};
use std::{fs, os::unix::fs::symlink, path::Path};

/// Configuration includes that read other files or never end.
pub fn includes(scene: &mut Scene) {
    let repo = scene.honest("repo");
    let outside = scene.place.directory("outside").join("outside.config");
    fs::write(&outside, format!("[user]\n\tname = OUTSIDE-{CANARY}\n[core]\n\tfsmonitor = touch {MARKER}\n"))
        .expect("ours");
    let mut config = fs::read_to_string(repo.git_dir().join("config")).expect("it is there");
    for path in ["/etc/passwd", outside.to_str().expect("UTF-8"), "~/.ssh/config", "/proc/self/environ", "/dev/zero"] {
        config.push_str(&format!("[include]\n\tpath = {path}\n"));
    }
    config.push_str(&format!("[includeIf \"gitdir:/\"]\n\tpath = {}\n[include]\n\tpath = config\n", outside.display()));
    fs::write(repo.git_dir().join("config"), &config).expect("ours");
    let waiting = scene.inside().join("waiting");
    copy(repo.path(), &waiting, &scene.place);
    fifo(&scene.place.at("never"));
    config.push_str(&format!("[include]\n\tpath = {}\n", scene.place.at("never").display()));
    fs::write(waiting.join(".git/config"), config).expect("ours");
    scene.aim("repo");
    scene.aim("waiting");
}

/// `objects/info/alternates` leads to another repository, whose commit is the branch.
pub fn alternates_out(scene: &mut Scene) {
    let victim = scene.victim();
    let repo = scene.honest("repo");
    let stolen = Repo::open(&scene.place, victim.clone()).git(&["rev-parse", "HEAD"]);
    fs::create_dir_all(repo.git_dir().join("objects/info")).expect("ours");
    let objects_of = victim.join(".git/objects");
    let alternates = format!("{}\n../../../../outside/victim/.git/objects\n", objects_of.display());
    fs::write(repo.git_dir().join("objects/info/alternates"), alternates).expect("ours");
    objects::set_ref(&repo.git_dir(), "refs/heads/main", format!("{stolen}\n"));
    scene.aim("repo");
}

/// Alternates that name themselves and each other, and a chain of three hundred.
pub fn alternates_without_end(scene: &mut Scene) {
    let (repo, other, chain) = (scene.honest("repo"), scene.honest("other"), scene.honest("chain"));
    let objects = |repo: &Repo<'_>| repo.git_dir().join("objects");
    let name = |directory: &Path, text: String| {
        fs::create_dir_all(directory.join("info")).expect("ours");
        fs::write(directory.join("info/alternates"), text).expect("ours");
    };
    let (ours, theirs) = (objects(&repo), objects(&other));
    name(&ours, format!("{}\n.\n../objects\n{}\n", ours.display(), theirs.display()));
    name(&theirs, format!("{}\n", ours.display()));
    let mut last = objects(&chain);
    for number in 0..300 {
        let next = chain.at(format!("alternates/{number}"));
        name(&last, format!("{}\n", next.display()));
        last = next;
    }
    fs::create_dir_all(last).expect("ours");
    scene.allow_all();
    scene.aim("repo");
    scene.aim("chain");
}

/// `.git` files that lead out, are endless, or are no files.
pub fn git_files(scene: &mut Scene) {
    let victim = scene.victim();
    let at = |name: &str| scene.place.directory(Path::new("inside").join(name)).join(".git");
    fs::write(at("absolute"), format!("gitdir: {}\n", victim.join(".git").display())).expect("ours");
    fs::write(at("relative"), "gitdir: ../../outside/victim/.git\n").expect("ours");
    fs::write(at("long"), format!("gitdir: {}\n", "/x".repeat(40_000))).expect("ours");
    fifo(&at("fifo"));
    fs::create_dir_all(at("directory").join("HEAD")).expect("ours");
    ["absolute", "relative", "long", "fifo", "directory"].iter().for_each(|name| scene.aim(name));
}

/// A git directory of its own whose common directory is somebody else's.
pub fn common_directory(scene: &mut Scene) {
    let victim = scene.victim();
    let common = scene.place.directory("inside/common").join(".git");
    fs::create_dir(&common).expect("ours");
    fs::write(common.join("HEAD"), "ref: refs/heads/main\n").expect("ours");
    let line = format!("{}\n", victim.join(".git").display());
    fs::write(common.join("commondir"), &line).expect("ours");
    // and one that was a whole repository before
    let whole = scene.honest("whole");
    fs::write(whole.git_dir().join("commondir"), line).expect("ours");
    scene.aim("common");
    scene.aim("whole");
}

/// `core.worktree` leads to `/`, upwards, or to somebody else's files.
pub fn worktree_elsewhere(scene: &mut Scene) {
    let victim = scene.victim();
    for (name, worktree) in [("elsewhere", victim.to_str().expect("UTF-8")), ("everything", "/"), ("above", "../..")] {
        scene.honest(name).git(&["config", "core.worktree", worktree]);
        scene.aim(name);
    }
    scene.paths(&["etc/passwd"]);
    // a row of what lies in `/`
    scene.secrets.push("\"usr/".to_owned());
}

/// `.git` is a link to somebody else's.
pub fn git_directory_is_a_link(scene: &mut Scene) {
    let victim = scene.victim();
    let repo = scene.place.directory("inside/repo");
    symlink(victim.join(".git"), repo.join(".git")).expect("ours");
    scene.aim("repo");
}

/// The repository itself is a link to one outside.
pub fn repository_is_a_link(scene: &mut Scene) {
    let victim = scene.victim();
    symlink(victim, scene.inside().join("link")).expect("ours");
    scene.allow_all();
    scene.aim("link");
}

/// HEAD, refs, packed refs, objects, index, configuration and logs are links out.
pub fn parts_are_links(scene: &mut Scene) {
    let victim = scene.victim();
    let victim_git = victim.join(".git");
    let repo = scene.honest("repo");
    let git = repo.git_dir();
    let id = Repo::open(&scene.place, victim.clone()).git(&["rev-parse", "HEAD"]);
    fs::create_dir_all(git.join("refs/notes")).expect("ours");
    symlink("/etc/passwd", git.join("refs/heads/passwd")).expect("ours");
    symlink(victim_git.join("refs/heads"), git.join("refs/remotes")).expect("ours");
    symlink("/dev/zero", git.join("refs/notes/zero")).expect("ours");
    symlink(victim_git.join("refs/heads/main"), git.join("refs/heads/stolen")).expect("ours");
    let _ = fs::remove_dir_all(git.join("objects").join(&id[..2]));
    symlink(victim_git.join("objects").join(&id[..2]), git.join("objects").join(&id[..2])).expect("ours");
    scene.aim("repo");
    for part in ["packed-refs", "index", "config", "HEAD", "info", "logs", "refs/heads/main"] {
        let name = format!("part-{}", part.replace('/', "-"));
        let path = scene.honest(&name).git_dir().join(part);
        if path.is_dir() {
            fs::remove_dir_all(&path).expect("ours");
        } else {
            let _ = fs::remove_file(&path);
        }
        symlink(victim_git.join(part), &path).expect("ours");
        scene.aim(name);
    }
}

/// Files of the working tree that are links out, and settings that name files elsewhere.
pub fn files_are_links(scene: &mut Scene) {
    let victim = scene.victim();
    let repo = scene.honest("repo");
    let secret = victim.join("secret.txt");
    symlink(&secret, repo.at("out.txt")).expect("ours");
    symlink(&victim, repo.at("out")).expect("ours");
    symlink("/etc/passwd", repo.at("passwd")).expect("ours");
    repo.commit("links");
    for key in ["blame.ignoreRevsFile", "core.excludesFile", "core.attributesFile", "commit.template", "mailmap.file"] {
        repo.git(&["config", key, secret.to_str().expect("UTF-8")]);
    }
    fs::remove_file(repo.at("a.txt")).expect("it is there");
    symlink(&secret, repo.at("a.txt")).expect("ours");
    scene.aim("repo");
    scene.paths(&["out.txt", "out/secret.txt", "passwd"]);
    // where a link leads is the content of the link, which is the repository's own
    scene.names.clear();
}
