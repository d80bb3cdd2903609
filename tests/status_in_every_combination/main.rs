//! A status equals git's in every combination of edits (staged, unstaged, renamed, conflicted, ignored, a dirty submodule)
//! on every combination of checkouts (split index, sparse in three ways, linked worktree).
//! Trust: the judge is the real git. `BULKHEAD_SLOW=1` tries all combinations, and with `BULKHEAD_STATUS_REPO=DIR` does so
//! in a clone of that repository; `BULKHEAD_SEED=N` gives other files their parts.

mod edits;
#[path = "../support/mod.rs"]
mod support;

use edits::{EDITS, Parts};
use std::{path::Path, time::Instant};
use support::{
    Place, Repo, Start,
    dice::Dice,
    rows::Row,
    status::{answered, differences, expected},
};

/// How a sparse checkout is asked for, after `sparse-checkout set`; nothing for a full one.
const SPARSE: [(&str, &[&str]); 4] = [
    ("full", &[]),
    ("sparse", &["--cone", "--no-sparse-index"]),
    ("sparse-index", &["--cone", "--sparse-index"]),
    ("sparse-patterns", &["--no-cone"]),
];

/// One way to check out: the index split or not, all of it or a part, in the main working tree or in a linked one.
#[derive(Debug, Clone, Copy)]
struct Checkout {
    split: bool,
    sparse: usize,
    linked: bool,
}

impl Checkout {
    fn all() -> impl Iterator<Item = Checkout> {
        // split ones last: of an index that was split, git 2.47 makes a sparse one with entries twice
        let all = (0..4 * SPARSE.len()).map(|number| Checkout {
            split: number >= 2 * SPARSE.len(),
            sparse: number / 2 % SPARSE.len(),
            linked: number % 2 == 1,
        });
        // git makes no split index that is sparse
        all.filter(|checkout| !(checkout.split && SPARSE[checkout.sparse].0 == "sparse-index"))
    }

    fn name(self) -> String {
        let split = if self.split { "split-" } else { "" };
        let linked = if self.linked { "-linked" } else { "" };
        format!("{split}{}{linked}", SPARSE[self.sparse].0)
    }

    /// Turns a repository that is checked out in full into this.
    fn make<'place>(self, place: &'place Place, plain: &Repo<'place>) -> Repo<'place> {
        let repo = if self.linked {
            let path = place.at("linked").join(self.name());
            plain.git(&["worktree", "add", "-q", "--detach", path.to_str().expect("plain")]);
            let repo = Repo::open(place, path);
            repo.git(&["submodule", "--quiet", "update", "--init", "sub", "dir/sub"]);
            repo
        } else {
            Repo::open(place, plain.path().to_owned())
        };
        let (_, how) = SPARSE[self.sparse];
        if how.is_empty() {
            repo.try_git(&["sparse-checkout", "disable"]);
        } else {
            let mut arguments = vec!["sparse-checkout", "set"];
            arguments.extend(how);
            let names = edits::kept_directories(&repo);
            let patterns: Vec<String> = match how.contains(&"--no-cone") {
                true => names.iter().map(|name| format!("/{name}/")).chain(["/*".into(), "!/*/*/*/".into()]).collect(),
                false => names,
            };
            arguments.extend(patterns.iter().map(String::as_str));
            repo.git(&arguments);
        }
        if self.split {
            repo.git(&["update-index", "--split-index"]);
        }
        repo
    }
}

/// Tries `wanted` of all combinations of edits on every checkout; how many were compared, and how many rows they had.
fn run(place: &Place, plain: &Repo<'_>, wanted: impl Fn(usize, usize) -> bool) -> (usize, usize) {
    let mut server = Start::new(place).root(place.path()).spawn();
    let base = edits::prepare(plain);
    let (mut compared, mut rows) = (0, 0);
    for (at, checkout) in Checkout::all().enumerate() {
        let repo = checkout.make(place, plain);
        let (parts, start) = (Parts::new(&repo, &base), Instant::now());
        for set in (0..1 << EDITS.len()).filter(|set| wanted(at, *set)) {
            parts.reset(Dice::of_run().0 + set as u64);
            let mut what = checkout.name();
            for (_, edit) in EDITS.iter().enumerate().filter(|(n, _)| set >> n & 1 == 1) {
                parts.apply(*edit);
                what = format!("{what} {edit:?}");
            }
            let git = expected(&repo);
            holds_what_was_asked_for(&what, set, &git);
            rows += git.len();
            let faults = differences(&what, git, answered(&mut server, repo.path()));
            assert!(faults.is_empty(), "{}", faults.join("\n"));
            compared += 1;
        }
        eprintln!("{}: {:?}", checkout.name(), start.elapsed());
        parts.reset(0);
    }
    assert!(server.finish().status.success());
    (compared, rows)
}

/// A combination that does not show what it is called would prove nothing.
fn holds_what_was_asked_for(what: &str, set: usize, rows: &[Row]) {
    let column = |at: usize, letters: &str| {
        rows.iter().any(|row| !row.status.contains('U') && letters.contains(char::from(row.status.as_bytes()[at])))
    };
    let shown = [
        rows.iter().any(|row| row.status.contains('U')),
        column(0, "AMD"),
        rows.iter().any(|row| row.orig.is_some()),
        column(1, "MD"),
        rows.iter().any(|row| row.path.0.ends_with(edits::BESIDE_IGNORED.as_bytes())),
        rows.iter().any(|row| row.path.0.ends_with(b"sub")),
    ];
    for (n, edit) in EDITS.iter().enumerate() {
        assert!(set >> n & 1 == 0 || shown[n], "{what}: nothing of it is {edit:?}: {rows:?}");
    }
    assert!(set != 0 || rows.is_empty(), "{what}: {rows:?}");
}

fn submodules(place: &Place, repo: &Repo<'_>) {
    let library = Repo::honest(place, "library");
    let url = library.path().to_str().expect("plain").to_owned();
    for name in ["sub", "dir/sub"] {
        repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, name]);
    }
    repo.commit("submodules");
}

#[test]
fn of_a_generated_repository() {
    let place = Place::new();
    let repo = Repo::init(&place, "repo");
    for number in 0..180 {
        let text: String = (0..8 + number % 30).map(|line| format!("line {line} of {number}\n")).collect();
        repo.write(format!("d{}/e{}/f{number}", number % 6, number % 4), text);
    }
    for number in 0..20 {
        repo.write(format!("top{number}"), format!("at the top {number}\n").repeat(5));
    }
    repo.commit("first");
    submodules(&place, &repo);
    // every combination is tried on one checkout, every checkout sees several
    let checkouts = Checkout::all().count();
    let (compared, rows) = run(&place, &repo, |at, set| support::slow() || (set * 5 + at).is_multiple_of(checkouts));
    eprintln!("{compared} combinations agree, {rows} rows");
}

#[test]
fn of_a_clone_of_a_real_repository() {
    let Some(of) = std::env::var_os("BULKHEAD_STATUS_REPO").filter(|_| support::slow()) else { return };
    let place = Place::new();
    let path = place.at("clone");
    let status = place.command("git").args(["clone", "-q"]).arg(&of).arg(&path).status();
    assert!(status.expect("git is installed").success());
    let repo = Repo::open(&place, path);
    submodules(&place, &repo);
    // every combination on several checkouts; all of them on all are those of the generated repository
    let (compared, rows) = run(&place, &repo, |at, set| (set * 5 + at).is_multiple_of(4));
    eprintln!("{compared} combinations agree in a clone of {}, {rows} rows", Path::new(&of).display());
}
