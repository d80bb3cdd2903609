//! Every answer about a repository agrees with the real Git.
//! Trust: test only; set `BULKHEAD_PARITY_DIR` to compare all repositories beneath one more directory.
#![cfg(unix)]

mod support;

use std::path::{Path, PathBuf};
use support::{Operator, git_line, git_rows, porcelain, start};

fn repositories(dir: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = std::fs::read_dir(dir)
        .expect("readable")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.join(".git").exists())
        .collect();
    all.sort();
    all
}

fn compare(repo: &Path, ceiling: &Path) {
    let name = repo.display();
    let operator = Operator { ceilings: vec![ceiling.to_path_buf()], ..Operator::default() };
    let mut worker = start(repo, &operator).unwrap_or_else(|failure| panic!("{name}: {failure:?}"));
    for round in ["cold", "warm"] {
        let status = worker.status().unwrap_or_else(|failure| panic!("{name}: {failure:?}"));
        assert_eq!(status.partial, None, "{name}, {round}");
        let ours = porcelain(&status.entries);
        let theirs = git_rows(repo);
        assert_eq!(ours, theirs, "{name}, {round}");
        assert_eq!(status.changed_files, theirs.len() as u64, "{name}");
        assert_eq!(status.branch, git_line(repo, &["symbolic-ref", "--short", "-q", "HEAD"]), "{name}");
        assert_eq!(status.head, git_line(repo, &["rev-parse", "--verify", "-q", "HEAD"]), "{name}");
        let upstream = git_line(repo, &["rev-parse", "--abbrev-ref", "-q", "@{u}"]).filter(|name| !name.is_empty());
        if !status.upstream_gone {
            assert_eq!(status.upstream, upstream, "{name}");
        }
        if let Some(counts) = git_line(repo, &["rev-list", "--left-right", "--count", "HEAD...@{u}"]) {
            assert_eq!(format!("{}\t{}", status.ahead, status.behind), counts, "{name}");
        }
        let brief = worker.brief().unwrap_or_else(|failure| panic!("{name}: {failure:?}"));
        assert_eq!(
            brief.head.sha,
            git_line(repo, &["rev-parse", "--short", "-q", "HEAD"]).filter(|_| status.head.is_some()),
            "{name}"
        );
        let log = git_line(repo, &["log", "--format=%h %s", "-n20"]).unwrap_or_default();
        let recent = brief.recent_commits.iter();
        let ours: Vec<String> = recent.map(|commit| format!("{} {}", commit.sha, commit.subject)).collect();
        assert_eq!(ours.join("\n"), log, "{name}");
        let stashes = git_line(repo, &["stash", "list"]).unwrap_or_default();
        assert_eq!(brief.stashes, stashes.lines().count() as u64, "{name}");
        let tree = brief.working_tree;
        let is_unmerged = |status: &str| status.contains('U') || status == "AA" || status == "DD";
        let count = |wanted: &dyn Fn(&str) -> bool| theirs.iter().filter(|row| wanted(&row.0)).count() as u64;
        assert_eq!(tree.untracked, count(&|s| s == "??"), "{name}");
        assert_eq!(tree.conflicted, count(&is_unmerged), "{name}");
        assert_eq!(tree.staged, count(&|s| s != "??" && !is_unmerged(s) && !s.starts_with(' ')), "{name}");
        assert_eq!(tree.unstaged, count(&|s| s != "??" && !is_unmerged(s) && !s.ends_with(' ')), "{name}");
        assert_eq!(tree.clean, theirs.is_empty(), "{name}");
        let changes = worker.changes().unwrap_or_else(|failure| panic!("{name}: {failure:?}"));
        assert_eq!(changes.totals.untracked, tree.untracked, "{name}");
        assert_eq!(changes.totals.conflicted, tree.conflicted, "{name}");
        assert_eq!(changes.staged.len() as u64, tree.staged + tree.conflicted, "{name}");
        if let Some(state) = git_line(repo, &["submodule", "status", "--recursive"]) {
            let of = |letter: char| state.lines().filter(|line| line.starts_with(letter)).count() as u64;
            assert_eq!(brief.submodules.clean, of(' '), "{name}: {state}");
            assert_eq!(brief.submodules.drifted, of('+'), "{name}: {state}");
            assert_eq!(brief.submodules.uninitialized, of('-'), "{name}: {state}");
        }
    }
}

#[test]
fn repositories_of_another_place_agree() {
    let Some(dir) = std::env::var_os("BULKHEAD_PARITY_DIR").map(PathBuf::from) else { return };
    let skip = std::env::var("BULKHEAD_PARITY_SKIP").unwrap_or_default();
    for repo in repositories(&dir) {
        let name = repo.file_name().expect("a name").to_string_lossy().into_owned();
        if !skip.split(',').any(|skipped| skipped == name) {
            compare(&repo, &dir);
        }
    }
}

#[test]
fn every_kind_of_repository_agrees() {
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let dir = std::fs::canonicalize(temp.path()).expect("it is there");
    support::build("kinds.sh", &dir);
    let all = repositories(&dir);
    assert_eq!(all.len(), 23, "the builder made all");
    for repo in all {
        compare(&repo, &dir);
    }
}

/// A generator of numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

#[test]
fn random_edits_agree_behind_the_back_of_a_warm_worker() {
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let repo = std::fs::canonicalize(temp.path()).expect("it is there");
    let mut dice = Dice(1);
    support::shell(&repo, "git init -q -b main .; printf '*.tmp\\n/out/\\n' > .gitignore");
    let path = |dice: &mut Dice| {
        let dir = ["", "a/", "a/b/", "a-b/", "a.b/", "out/", "z/y/x/"][dice.roll(7) as usize];
        let name = ["f", "g", "h.tmp", "a", "b", "0"][dice.roll(6) as usize];
        format!("{dir}{name}{}", dice.roll(4))
    };
    let operator = Operator { ceilings: vec![repo.clone()], ..Operator::default() };
    let mut worker = start(&repo, &operator).expect("readable");
    for round in 0..40 {
        for _ in 0..dice.roll(6) + 1 {
            let (one, two) = (path(&mut dice), path(&mut dice));
            let text = format!("{}\n", dice.roll(3)).repeat(dice.roll(9) as usize + 1);
            let full = repo.join(&one);
            match dice.roll(9) {
                0..=3 => {
                    std::fs::create_dir_all(full.parent().expect("beneath the repository")).expect("writable");
                    if !full.is_dir() {
                        std::fs::write(&full, text).expect("writable");
                    }
                }
                4 => drop(std::fs::remove_file(&full)),
                5 => drop(support::try_git(&repo, &["mv", &one, &two])),
                6 => drop(support::try_git(&repo, &["add", "-f", &one])),
                7 => drop(support::try_git(&repo, &["rm", "-q", "--cached", &one])),
                _ => drop(support::try_git(&repo, &["add", "-A"])),
            }
        }
        if round % 5 == 4 {
            support::try_git(&repo, &["commit", "-qm", "round"]);
        }
        let status = worker.status().expect("readable");
        assert_eq!(porcelain(&status.entries), git_rows(&repo), "round {round}");
    }
}

#[test]
fn pages_of_any_size_add_up_to_the_whole() {
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let repo = std::fs::canonicalize(temp.path()).expect("it is there");
    support::shell(
        &repo,
        "git init -q -b main .; for n in $(seq 1 30); do echo $n > \"f$n\"; done; git add .; git commit -qm one
         for n in $(seq 1 20); do echo x >> \"f$n\"; done; rm f21 f22; for n in $(seq 1 25); do echo u > \"u $n\"; done
         printf x > $'bad-\\377'",
    );
    let operator = Operator { ceilings: vec![repo.clone()], ..Operator::default() };
    let mut worker = start(&repo, &operator).expect("readable");
    let whole = worker.status().expect("readable");
    assert_eq!((whole.entries.len(), whole.truncated), (48, false));
    for (limit, chars) in [(1, 40_000), (7, 40_000), (47, 40_000), (48, 40_000), (100, 500), (100, 1)] {
        let (mut rows, mut cursor) = (Vec::new(), None);
        loop {
            let page = worker.status_page(limit, chars, cursor).expect("readable");
            assert_eq!(page.changed_files, 48, "the total is true on every page");
            assert!(!page.entries.is_empty() && page.entries.len() <= limit as usize);
            assert_eq!(page.truncated, page.next_cursor.is_some());
            rows.extend(page.entries);
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(rows, whole.entries, "{limit} rows, {chars} characters");
    }
    let failure = worker.status_page(5, 40_000, Some("made up".into())).expect_err("not ours");
    assert_eq!(failure.reason, bulkhead_contract::failure::Reason::BadArgument);
}

#[test]
fn a_path_that_leads_elsewhere_now_is_moved() {
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let dir = std::fs::canonicalize(temp.path()).expect("it is there");
    support::shell(&dir, "git init -q a; git init -q b; mkdir -p a/sub/deep; ln -s a link");
    let operator = Operator { ceilings: vec![dir.clone()], ..Operator::default() };
    let ask = || bulkhead_ipc::edge::read::Ask::Brief { recent_commits: 1 };
    let mut through_link = start(&dir.join("link"), &operator).expect("readable");
    assert!(through_link.try_ask(ask()).is_some());
    support::shell(&dir, "rm link; ln -s b link");
    assert!(through_link.try_ask(ask()).is_none(), "the link was turned");
    let mut below = start(&dir.join("a/sub/deep"), &operator).expect("readable");
    assert!(below.try_ask(ask()).is_some());
    support::shell(&dir, "git init -q a/sub");
    assert!(below.try_ask(ask()).is_none(), "a nearer repository came up");
    let mut replaced = start(&dir.join("b"), &operator).expect("readable");
    support::shell(&dir, "mv b/.git old; git init -q b");
    assert!(replaced.try_ask(ask()).is_none(), "the git directory is another one");
}

#[test]
fn a_warm_worker_sees_what_decides_how_it_reads() {
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let repo = std::fs::canonicalize(temp.path()).expect("it is there");
    support::shell(
        &repo,
        "git init -q -b main .; echo x > f; git add .; git commit -qm one; chmod +x f; echo u > u.tmp",
    );
    let operator = Operator { ceilings: vec![repo.clone()], ..Operator::default() };
    let mut worker = start(&repo, &operator).expect("readable");
    let steps = [
        "true",
        "git config core.fileMode false",
        "echo '*.tmp' > .git/info/exclude",
        "git config --unset core.fileMode",
        "git pack-refs --all",
        "git update-index --chmod=+x f",
        "git commit -qm two",
        "echo '!*.tmp' > .gitignore",
    ];
    for step in steps {
        support::shell(&repo, step);
        let status = worker.status().expect("readable");
        assert_eq!(porcelain(&status.entries), git_rows(&repo), "after {step}");
        assert_eq!(status.head, git_line(&repo, &["rev-parse", "HEAD"]), "after {step}");
    }
}

#[test]
fn without_time_an_answer_is_partial_and_says_so() {
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let repo = std::fs::canonicalize(temp.path()).expect("it is there");
    support::shell(&repo, "git init -q -b main .; mkdir d; for n in $(seq 1 500); do echo $n > d/$n; done; git add .");
    let operator = Operator { ceilings: vec![repo.clone()], ..Operator::default() };
    let mut worker = start(&repo, &operator).expect("readable");
    let ask = || bulkhead_ipc::edge::read::Ask::Brief { recent_commits: 1 };
    let Some(Ok(bulkhead_ipc::edge::read::Reply::Brief(brief))) = worker.ask_within(0, ask()) else {
        panic!("a deadline is no error");
    };
    let partial = brief.partial.expect("500 files take longer than nothing");
    assert_eq!(partial.reason, "deadline");
    assert!(partial.details.contains("--deadline"));
    assert!(!brief.working_tree.clean, "what was not looked at is not called clean");
    assert_eq!(worker.brief().expect("the next call has time").partial, None);
}
