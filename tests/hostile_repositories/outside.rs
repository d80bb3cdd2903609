//! Repositories that try to have something outside of them read: redirects, links, includes, alternates.
//! Trust: hostile by construction.

use super::{Attack, CANARY, MARKER, support::*};
use serde_json::json;
use std::{fs, os::unix::fs::symlink, path::Path};

/// Reasons for which something that leads out is refused.
const OUT: &[&str] = &["redirected", "outside-roots"];

fn fifo(path: &Path) {
    nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).expect("the place is ours");
}

fn copy(from: &Repo<'_>, place: &Place, name: &str) -> std::path::PathBuf {
    let to = place.at(name);
    let status = place.command("cp").arg("-a").arg(from.path()).arg(&to).status().expect("cp is installed");
    assert!(status.success());
    to
}

#[test]
fn includes_that_lead_out_or_never_end() {
    let mut attack = Attack::new();
    let repo = Repo::honest(&attack.place, "repo");
    let outside = attack.place.at("outside.config");
    fs::write(&outside, format!("[user]\n\tname = OUTSIDE-{CANARY}\n[core]\n\tfsmonitor = touch {MARKER}\n"))
        .expect("ours");
    let mut config = fs::read_to_string(repo.git_dir().join("config")).expect("it is there");
    for path in ["/etc/passwd", outside.to_str().expect("UTF-8"), "~/.ssh/config", "/proc/self/environ", "/dev/zero"] {
        config.push_str(&format!("[include]\n\tpath = {path}\n"));
    }
    config.push_str(&format!("[includeIf \"gitdir:/\"]\n\tpath = {}\n[include]\n\tpath = config\n", outside.display()));
    fs::write(repo.git_dir().join("config"), &config).expect("ours");
    let waiting = copy(&repo, &attack.place, "waiting");
    fifo(&attack.place.at("never"));
    config.push_str(&format!("[include]\n\tpath = {}\n", attack.place.at("never").display()));
    fs::write(waiting.join(".git/config"), config).expect("ours");
    attack.aim(repo.path().to_owned());
    attack.aim(waiting);
    let report = attack.run();
    report.all_answered("repo");
    report.all_answered("waiting");
}

#[test]
fn alternates_that_lead_out() {
    let mut attack = Attack::new();
    let victim = attack.victim();
    let repo = Repo::honest(&attack.place, "repo");
    let stolen = Repo::open(&attack.place, victim.clone()).git(&["rev-parse", "HEAD"]);
    fs::create_dir_all(repo.git_dir().join("objects/info")).expect("ours");
    let alternates = format!("{}\n../../../victim/.git/objects\n", victim.join(".git/objects").display());
    fs::write(repo.git_dir().join("objects/info/alternates"), alternates).expect("ours");
    objects::set_ref(&repo.git_dir(), "refs/heads/main", format!("{stolen}\n"));
    attack.aim(repo.path().to_owned());
    attack.run().answered_or("repo", &["redirected", "outside-roots", "object-missing", "corrupt"]);
}

#[test]
fn alternates_in_a_circle_and_in_a_long_chain() {
    let mut attack = Attack::new();
    let repo = Repo::honest(&attack.place, "repo");
    let other = Repo::honest(&attack.place, "other");
    let chain = Repo::honest(&attack.place, "chain");
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
    let (root, paths) = (attack.place.path().to_owned(), [repo.path().to_owned(), chain.path().to_owned()]);
    attack.allow(root);
    paths.into_iter().for_each(|path| attack.aim(path));
    let report = attack.run();
    report.answered_or("repo", &["redirected", "corrupt", "too-large"]);
    report.answered_or("chain", &["redirected", "corrupt", "too-large"]);
}

#[test]
fn git_files_that_lead_out() {
    let mut attack = Attack::new();
    let victim = attack.victim();
    let names = ["absolute", "relative", "long", "fifo", "directory", "common"];
    for (name, content) in [
        ("absolute", format!("gitdir: {}\n", victim.join(".git").display())),
        ("relative", "gitdir: ../victim/.git\n".to_owned()),
        ("long", format!("gitdir: {}\n", "/x".repeat(40_000))),
    ] {
        fs::write(attack.place.directory(name).join(".git"), content).expect("ours");
    }
    fifo(&attack.place.directory("fifo").join(".git"));
    fs::create_dir_all(attack.place.directory("directory").join(".git/HEAD")).expect("ours");
    // a git directory of its own whose common directory is the victim's
    let common = attack.place.directory("common").join(".git");
    fs::create_dir(&common).expect("ours");
    fs::write(common.join("HEAD"), "ref: refs/heads/main\n").expect("ours");
    fs::write(common.join("commondir"), format!("{}\n", victim.join(".git").display())).expect("ours");
    for name in names {
        attack.aim(attack.place.at(name));
    }
    let report = attack.run();
    report.all_refused("absolute", OUT);
    report.all_refused("relative", OUT);
    report.all_refused("long", &["redirected", "outside-roots", "too-large", "corrupt", "not-a-repository"]);
    report.all_refused("fifo", &["special-file"]);
    report.all_refused("directory", &["not-a-repository", "corrupt", "special-file"]);
    report.all_refused("common", OUT);
}

#[test]
fn a_worktree_that_lies_elsewhere() {
    let mut attack = Attack::new();
    let victim = attack.victim();
    for (name, worktree) in [("elsewhere", victim.to_str().expect("UTF-8")), ("everything", "/"), ("above", "../..")] {
        let repo = Repo::honest(&attack.place, name);
        repo.git(&["config", "core.worktree", worktree]);
        attack.aim(repo.path().to_owned());
    }
    let report = attack.run();
    for name in ["elsewhere", "everything", "above"] {
        report.all_refused(name, OUT);
    }
}

#[test]
fn a_git_directory_that_is_a_link() {
    let mut attack = Attack::new();
    let victim = attack.victim();
    let repo = attack.place.directory("repo");
    symlink(victim.join(".git"), repo.join(".git")).expect("ours");
    attack.aim(repo);
    attack.run().all_refused("repo", OUT);
}

#[test]
fn a_path_to_a_repository_that_is_a_link_out() {
    let mut attack = Attack::new();
    let victim = attack.victim();
    let root = attack.place.directory("allowed");
    symlink(victim, root.join("link")).expect("ours");
    attack.aim(root.join("link"));
    attack.allow(root);
    attack.run().all_refused("link", &["outside-roots"]);
}

#[test]
fn parts_of_a_git_directory_that_are_links_out() {
    let mut attack = Attack::new();
    let victim = attack.victim();
    let victim_git = victim.join(".git");
    let repo = Repo::honest(&attack.place, "repo");
    let git = repo.git_dir();
    let id = Repo::open(&attack.place, victim.clone()).git(&["rev-parse", "HEAD"]);
    fs::create_dir_all(git.join("refs/notes")).expect("ours");
    symlink("/etc/passwd", git.join("refs/heads/passwd")).expect("ours");
    symlink(victim_git.join("refs/heads"), git.join("refs/remotes")).expect("ours");
    symlink("/dev/zero", git.join("refs/notes/zero")).expect("ours");
    symlink(victim_git.join("refs/heads/main"), git.join("refs/heads/stolen")).expect("ours");
    let _ = fs::remove_dir_all(git.join("objects").join(&id[..2]));
    symlink(victim_git.join("objects").join(&id[..2]), git.join("objects").join(&id[..2])).expect("ours");
    attack.aim(repo.path().to_owned());
    for part in ["packed-refs", "index", "config", "HEAD", "info", "logs", "refs/heads/main"] {
        let one = Repo::honest(&attack.place, format!("part-{}", part.replace('/', "-")));
        let path = one.git_dir().join(part);
        if path.is_dir() {
            fs::remove_dir_all(&path).expect("ours");
        } else {
            let _ = fs::remove_file(&path);
        }
        symlink(victim_git.join(part), &path).expect("ours");
        attack.aim(one.path().to_owned());
    }
    let report = attack.run();
    let reasons = &["redirected", "outside-roots", "special-file", "permission-denied", "object-missing", "corrupt"];
    for name in ["repo", "part-packed-refs", "part-index", "part-config", "part-HEAD", "part-info", "part-logs"] {
        report.answered_or(name, reasons);
    }
    // HEAD and its branch say what is shown; foreign ones must not, and a branch that is there is not unborn
    report.all_refused("part-HEAD", reasons);
    report.all_refused("part-refs-heads-main", reasons);
}

#[test]
fn a_bare_repository_hidden_in_a_worktree() {
    let mut attack = Attack::new();
    let repo = Repo::honest(&attack.place, "repo");
    let bare = Repo::init_with(&attack.place, "repo/sub/x/hidden", &["--bare"]);
    let run = format!("touch {}", attack.place.at(MARKER).display());
    bare.git(&["config", "core.fsmonitor", &run]);
    bare.git(&["config", "alias.status", &format!("!{run}")]);
    let (root, paths) = (repo.path().to_owned(), [repo.path().to_owned(), bare.path().to_owned()]);
    attack.allow(root);
    paths.into_iter().for_each(|path| attack.aim(path));
    attack.run().all_answered("repo");
}

#[test]
fn very_many_repositories_that_are_refused_keep_no_worker_from_others() {
    let place = Place::new();
    let honest = Repo::honest(&place, "all/honest");
    let victim = Repo::honest(&place, "victim");
    let mut server = Start::new(&place).root(place.at("all")).spawn();
    // each refusal takes a worker of its own, and the launcher starts only so many a second
    let asked: Vec<_> = (0..240)
        .map(|n| {
            let path = place.at(format!("all/r{n}"));
            fs::create_dir_all(&path).expect("ours");
            fs::write(path.join(".git"), format!("gitdir: {}\n", victim.git_dir().display())).expect("ours");
            server.ask("repo.status", json!({"repoPath": path.to_str().expect("places have UTF-8 paths")}))
        })
        .collect();
    let last = server.read("repo.status", honest.path());
    assert!(last.is_ok(), "{}", last.message);
    for id in asked {
        server.answer(&id).expect_refused("a repository elsewhere", &["redirected", "outside-roots"]);
    }
}
