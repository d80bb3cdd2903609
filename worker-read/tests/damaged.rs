//! Damaged and lying repositories: what is broken is said to be, hides nothing else, and is forgotten once repaired.
//! Trust: test only.
#![cfg(unix)]

mod support;

use bulkhead_contract::failure::Reason;
use std::{fs, path::PathBuf};
use support::{Operator, Worker, git, git_line, shell, start};

struct Place {
    temp: tempfile::TempDir,
}

impl Place {
    /// A repository of some commits, whose branch has drifted from its upstream.
    fn new() -> Self {
        let temp = tempfile::tempdir().expect("a writable temporary directory");
        shell(
            temp.path(),
            "git init -q -b main; for n in 1 2 3; do echo $n > a.txt; git add .; git commit -qm c$n; done
             git checkout -qb up HEAD~2; for n in 4 5; do echo $n > b.txt; git add .; git commit -qm c$n; done
             git checkout -q main; git config branch.main.remote .; git config branch.main.merge refs/heads/up",
        );
        Self { temp }
    }

    fn at(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.temp.path()).expect("it is there").join(name)
    }

    fn open(&self) -> Worker {
        start(&self.at(""), &Operator::default()).expect("readable")
    }

    fn pack_file(&self, extension: &str) -> PathBuf {
        let files = fs::read_dir(self.at(".git/objects/pack")).expect("packed");
        let mut paths = files.map(|entry| entry.expect("listed").path());
        paths.find(|path| path.extension().is_some_and(|is| is == extension)).expect("packed")
    }
}

#[test]
fn a_broken_branch_is_not_an_unborn_one() {
    let place = Place::new();
    for (text, reason) in
        [("", Reason::Corrupt), ("rubbish\n", Reason::Corrupt), (&*"0".repeat(5000), Reason::TooLarge)]
    {
        fs::write(place.at(".git/refs/heads/main"), text).expect("writable");
        assert_eq!(place.open().status().expect_err("broken").reason, reason);
    }
}

#[test]
fn a_broken_reference_beside_head_s_is_named_and_hides_nothing() {
    for name in ["heads/up", "stash", "remotes/origin/HEAD"] {
        let place = Place::new();
        fs::write(place.at("untracked"), "").expect("writable");
        let path = place.at(".git/refs").join(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("writable");
        for spoil in [&b""[..], b"rubbish\n", &[b'0'; 5000], b"FIFO"] {
            fs::remove_file(&path).ok();
            match spoil {
                // Git itself would wait for a writer
                b"FIFO" => shell(&place.at(""), &format!("mkfifo .git/refs/{name}")),
                text => {
                    fs::write(&path, text).expect("writable");
                    git(&place.at(""), &["status"]);
                }
            }
            let mut worker = place.open();
            let brief = worker.brief().unwrap_or_else(|failure| panic!("{name}: {failure:?}"));
            let why = brief.partial.map(|partial| (partial.reason, partial.details));
            let says = |word: &str| matches!(&why, Some((reason, details)) if reason == "unreadable" && details.contains(word));
            match name {
                "heads/up" => {
                    let status = worker.status().expect("readable");
                    let partial = status.partial.expect("how far is not known");
                    assert_eq!((status.upstream_gone, &*partial.reason), (true, "unreadable"));
                    assert_eq!(status.entries.len(), 1);
                    assert!(brief.head.upstream_gone && says("upstream"), "{why:?}");
                }
                "stash" => assert!(brief.stashes == 0 && says("refs/stash"), "{why:?}"),
                _ => assert!(brief.conventions.default_branch.is_none() && why.is_none(), "{why:?}"),
            }
            assert_eq!(brief.working_tree.untracked, 1);
        }
    }
}

#[test]
fn rules_beyond_measure_do_not_count_in_silence() {
    for name in ["exclude", "attributes"] {
        let place = Place::new();
        let info = place.at(".git/info");
        fs::create_dir_all(&info).expect("writable");
        let rules = |padding: usize| "* -text\n".to_owned() + &"# a comment\n".repeat(padding);
        fs::write(info.join(name), rules(10)).expect("writable");
        assert_eq!(place.open().status().expect("readable").partial, None);
        fs::write(info.join(name), rules(200_000)).expect("writable");
        let mut worker = place.open();
        for _ in 0..2 {
            let partial = worker.status().expect("readable").partial.expect("something was left out");
            assert_eq!(partial.reason, "unreadable");
            assert!(partial.details.contains(&format!(".git/info/{name}")), "{}", partial.details);
        }
    }
}

#[test]
fn files_beyond_measure_are_refused_before_they_are_read() {
    for name in
        ["packed-refs", "shallow", "index", "HEAD", "objects/info/commit-graphs/commit-graph-chain", "refs/replace/x"]
    {
        let place = Place::new();
        let path = place.at(".git").join(name);
        fs::create_dir_all(path.parent().expect("beneath .git")).expect("writable");
        let file = fs::OpenOptions::new().create(true).append(true).open(&path).expect("writable");
        file.set_len(2 << 30).expect("sparse files are possible here");
        let failure = start(&place.at(""), &Operator::default()).err().expect("refused");
        assert_eq!(failure.reason, Reason::TooLarge, "{name}: {failure:?}");
    }
}

#[test]
fn an_object_found_missing_is_looked_for_again_once_the_pack_is_repaired() {
    let place = Place::new();
    git(&place.at(""), &["gc", "-q"]);
    for extension in ["idx", "pack"] {
        let path = place.pack_file(extension);
        let whole = fs::read(&path).expect("there");
        fs::remove_file(&path).expect("there");
        fs::write(&path, &whole[..8]).expect("writable");
        let mut worker = place.open();
        assert!(worker.status().is_err(), "{extension}");
        fs::write(&path, &whole).expect("writable");
        assert!(worker.status().expect("repaired").clean, "{extension}");
        assert_eq!(worker.brief().expect("repaired").recent_commits.len(), 3, "{extension}");
    }
}

#[test]
fn a_missing_ancestor_is_looked_for_again_too() {
    let place = Place::new();
    let id = git_line(&place.at(""), &["rev-parse", "HEAD~1"]).expect("there");
    let path = place.at(".git/objects").join(&id[..2]).join(&id[2..]);
    let aside = place.at("aside");
    fs::rename(&path, &aside).expect("loose");
    let mut worker = place.open();
    assert!(worker.brief().expect("partly readable").partial.is_some());
    fs::rename(&aside, &path).expect("writable");
    let brief = worker.brief().expect("repaired");
    assert_eq!((brief.recent_commits.len(), brief.head.ahead, brief.head.behind), (3, 2, 2));
}

#[test]
fn a_commit_graph_that_lies_is_not_believed() {
    for (at, lie) in [(20, 0x6fff_ffffu32), (24, 0x8000_0005), (28, 0xffff_ff00)] {
        let place = Place::new();
        git(&place.at(""), &["commit-graph", "write", "--reachable"]);
        let path = place.at(".git/objects/info/commit-graph");
        let mut bytes = fs::read(&path).expect("written");
        let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize;
        let chunk = (0..usize::from(bytes[6])).map(|n| 8 + 12 * n).find(|&at| &bytes[at..at + 4] == b"CDAT");
        let data = number(chunk.expect("commits") + 8);
        let rows: Vec<usize> = (0..5).map(|n| data + 36 * n).filter(|&row| number(row + 20) < 5).collect();
        assert_eq!(rows.len(), 4, "all but the first have a parent");
        for row in rows {
            bytes[row + at..row + at + 4].copy_from_slice(&lie.to_be_bytes());
        }
        fs::remove_file(&path).expect("there");
        fs::write(&path, bytes).expect("writable");
        let mut worker = place.open();
        for _ in 0..2 {
            let status = worker.status().expect("readable");
            assert_eq!((status.ahead, status.behind), (2, 2), "lie at {at}");
        }
    }
}

#[test]
fn a_bad_author_hides_neither_the_commit_nor_what_came_before() {
    for who in ["a <a@b> 1700000000 NaN", "a <a@b>", "nobody", "<> 0 -0000", "a <a@b> 99999999999999999999 +0000", ""] {
        let place = Place::new();
        shell(
            &place.at(""),
            &format!(
                "t=$(git rev-parse HEAD^{{tree}}); p=$(git rev-parse HEAD)
                 c=$(printf 'tree %s\\nparent %s\\nauthor {who}\\ncommitter {who}\\n\\nodd\\n' $t $p |
                   git hash-object -t commit -w --literally --stdin)
                 printf '%s\\n' $c > .git/refs/heads/main"
            ),
        );
        let brief = place.open().brief().expect("readable");
        let subjects: Vec<&str> = brief.recent_commits.iter().map(|commit| commit.subject.as_str()).collect();
        assert_eq!(subjects, ["odd", "c3", "c2", "c1"], "{who}");
        assert!(brief.partial.is_none());
        assert_eq!((brief.head.ahead, brief.head.behind), (3, 2), "{who}");
    }
}
