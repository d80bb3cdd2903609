//! A directory of repositories in every state that a fleet call tells apart, and some that nobody can read.
//! Trust: test code.

use crate::support::{Place, Repo, is_root};
use std::{fs, path::PathBuf};

/// Brings a clone into a state.
type Make = fn(&Repo<'_>);

/// What is made of a clone whose upstream has three commits, the last of which changed `a.txt`.
const STATES: &[(&str, Make)] = &[
    ("clean", |_| {}),
    ("ahead", |repo| drop(repo.commit("mine"))),
    ("behind", |repo| drop(repo.git(&["reset", "-q", "--hard", "HEAD~1"]))),
    ("diverged", |repo| {
        repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
        repo.write("other.txt", "mine\n");
        repo.commit("mine");
    }),
    ("clashing", |repo| {
        repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
        repo.write("a.txt", "mine\n");
        repo.commit("mine");
    }),
    ("dirty", |repo| {
        repo.append("a.txt", "more\n");
        repo.write("new/one.txt", "new\n");
        repo.write("new/two.txt", "new\n");
    }),
    ("clashing-dirty", |repo| {
        repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
        repo.write("a.txt", "mine\n");
        repo.commit("mine");
        repo.write("new.txt", "new\n");
    }),
    ("detached", |repo| drop(repo.git(&["checkout", "-q", "--detach"]))),
    ("gone", |repo| drop(repo.git(&["update-ref", "-d", "refs/remotes/origin/main"]))),
    ("unset", |repo| drop(repo.git(&["branch", "-q", "--unset-upstream"]))),
    ("merging", |repo| {
        clash(repo);
        repo.try_git(&["merge", "-q", "side"]);
    }),
    ("merge-resolved", |repo| {
        clash(repo);
        repo.try_git(&["merge", "-q", "side"]);
        repo.git(&["checkout", "-q", "--ours", "a.txt"]);
        repo.git(&["add", "a.txt"]);
    }),
    ("rebasing", |repo| {
        clash(repo);
        repo.try_git(&["rebase", "-q", "side"]);
    }),
    ("picking", |repo| {
        clash(repo);
        repo.try_git(&["cherry-pick", "side"]);
    }),
    ("bisecting", |repo| drop(repo.git(&["bisect", "start"]))),
    ("unborn", |repo| {
        repo.git(&["checkout", "-q", "--orphan", "fresh"]);
        repo.git(&["rm", "-q", "-r", "--cached", "."]);
    }),
    ("amended", |repo| {
        repo.commit("mine");
        repo.git(&["commit", "-q", "--amend", "--allow-empty", "-m", "mine, reworded"]);
        repo.git(&["checkout", "-q", "-b", "topic"]);
        repo.git(&["reset", "-q", "--hard", "HEAD~2"]);
        repo.git(&["branch", "-m", "topic", "renamed"]);
    }),
];

fn clash(repo: &Repo<'_>) {
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.write("a.txt", "theirs\n");
    repo.commit("theirs");
    repo.git(&["checkout", "-q", "main"]);
    repo.write("a.txt", "ours\n");
    repo.commit("ours");
}

/// The repositories.
pub struct World<'place> {
    /// Readable, by name.
    pub readable: Vec<(String, Repo<'place>)>,
    /// Paths that cannot be read, each with the word that its row must begin with.
    pub unreadable: Vec<(PathBuf, &'static str)>,
    /// Above all of them but one.
    pub root: PathBuf,
}

/// Builds `rounds` repositories of each state.
pub fn build(place: &Place, rounds: usize) -> World<'_> {
    let root = place.directory("fleet");
    let source = Repo::honest(place, "source");
    source.git(&["clone", "-q", "--bare", ".", "../fleet/remote.git"]);
    let mut readable = Vec::new();
    for round in 0..rounds {
        for (state, make) in STATES {
            let name = format!("{state}-{round}");
            let path = root.join(&name);
            let target = path.to_str().expect("places have UTF-8 paths");
            source.git(&["clone", "-q", "../fleet/remote.git", target]);
            let repo = Repo::open(place, path);
            make(&repo);
            readable.push((name, repo));
        }
    }
    let bare = Repo::open(place, root.join("remote.git"));
    readable.push(("remote.git".to_owned(), bare));
    World { readable, unreadable: unreadable(place), root }
}

fn unreadable(place: &Place) -> Vec<(PathBuf, &'static str)> {
    let spoiled = |name: &str, spoil: &dyn Fn(&Repo<'_>)| {
        let repo = Repo::honest(place, format!("fleet/{name}"));
        spoil(&repo);
        repo.path().to_owned()
    };
    let mut all = vec![
        (place.at("fleet/missing"), "no-such-path"),
        (place.directory("fleet/plain"), "not-a-repository"),
        (place.directory("elsewhere"), "outside-roots"),
        (
            spoiled("broken", &|repo| {
                fs::write(repo.git_dir().join("refs/heads/main"), "rubbish\n").expect("the place is ours");
            }),
            "corrupt",
        ),
        (
            spoiled("fifo", &|repo| {
                let head = repo.git_dir().join("HEAD");
                fs::remove_file(&head).expect("the place is ours");
                nix::unistd::mkfifo(&head, nix::sys::stat::Mode::S_IRWXU).expect("the place is ours");
            }),
            "special-file",
        ),
        (
            spoiled("future", &|repo| {
                repo.git(&["config", "core.repositoryFormatVersion", "1"]);
                repo.git(&["config", "extensions.refStorage", "reftable"]);
            }),
            "unsupported-format",
        ),
    ];
    if is_root() {
        let path = spoiled("foreign", &|repo| {
            for path in [repo.path().to_owned(), repo.git_dir()] {
                nix::unistd::chown(&path, Some(1.into()), Some(1.into())).expect("root may");
            }
        });
        all.push((path, "untrusted-owner"));
    }
    all
}
