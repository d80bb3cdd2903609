//! The directories of a world, made once by the real git and then copied: a suite of a hundred worlds would else spend its time
//! in making each of them anew. Trust: test code; a copy has its own addresses of remotes, and an index that knows its files.

use crate::{
    support::{Place, direct_repository},
    world::{KEPT, SECRET},
};
use std::{
    cell::OnceCell,
    fs,
    path::Path,
    sync::{Arc, Mutex, PoisonError, Weak},
};

/// The one that others are copied from, while somebody holds it; gone with the last holder, so that nothing stays on the disk.
static SHARED: Mutex<Weak<Place>> = Mutex::new(Weak::new());

thread_local! {
    /// What this test holds, until its thread ends.
    static HELD: OnceCell<Arc<Place>> = const { OnceCell::new() };
}

/// Puts `src` with `repo`, `origin.git` and `other` into the place, and beside it `outside` with a secret.
pub fn copy(place: &Place) {
    let template = HELD.with(|held| Arc::clone(held.get_or_init(shared)));
    let moved = |text: &str| {
        let path = |place: &Place| place.path().to_str().expect("places have UTF-8 paths").to_owned();
        text.replace(&path(&template), &path(place))
    };
    for name in ["src", "outside"] {
        copied(&template.at(name), &place.at(name), &moved);
    }
    // the copies are other files than those that the index was made of
    for repo in ["src/repo", "src/other", "outside/victim"] {
        git(place, &place.at(repo), &["update-index", "-q", "--refresh"]);
    }
}

fn shared() -> Arc<Place> {
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    shared.upgrade().unwrap_or_else(|| {
        let made = Arc::new(made());
        *shared = Arc::downgrade(&made);
        made
    })
}

fn made() -> Place {
    let place = Place::new();
    let repo = direct_repository::build(&place.directory("src"));
    let outside = place.directory("outside");
    fs::write(outside.join("secret.txt"), format!("{SECRET}\n")).expect("ours");
    git(&place, &outside, &["init", "-q", "victim"]);
    let victim = outside.join("victim");
    fs::write(victim.join("secret.txt"), format!("{SECRET}\n")).expect("ours");
    git(&place, &victim, &["add", "-A"]);
    git(&place, &victim, &["commit", "-q", "-m", SECRET]);
    fs::write(repo.join("keep.txt"), KEPT).expect("ours");
    place
}

fn git(place: &Place, dir: &Path, arguments: &[&str]) {
    let output = place.command("git").current_dir(dir).args(arguments).output().expect("git is installed");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A directory with all that is in it; configuration goes through `moved`, since it holds the addresses of remotes.
fn copied(from: &Path, to: &Path, moved: &impl Fn(&str) -> String) {
    fs::create_dir_all(to).expect("the place is ours");
    for entry in fs::read_dir(from).expect("the template is there").flatten() {
        let (kind, path) = (entry.file_type().expect("it is there"), to.join(entry.file_name()));
        if kind.is_dir() {
            copied(&entry.path(), &path, moved);
        } else if kind.is_symlink() {
            let target = fs::read_link(entry.path()).expect("it is a link");
            std::os::unix::fs::symlink(target, path).expect("the place is ours");
        } else if entry.file_name() == "config" {
            let text = fs::read_to_string(entry.path()).expect("it is text");
            fs::write(path, moved(&text)).expect("the place is ours");
        } else {
            fs::copy(entry.path(), path).expect("the place is ours");
        }
    }
}
