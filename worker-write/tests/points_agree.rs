//! A restore point that the process makes itself holds what one that Git makes holds, whatever the working tree is like.
//! Trust: test code.
#![cfg(unix)]

mod support;

use bulkhead_contract::direct::Class;
use bulkhead_ipc::edge::write::{Operation, Outcome};
use bulkhead_worker_write::{git::Git, operations::perform, restore::PREFIX};
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    time::{Duration, Instant, SystemTime},
};
use support::Bench;

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        let most = u64::try_from(of.len()).expect("a short list");
        &of[usize::try_from(self.below(most)).expect("a short list")]
    }
}

/// Deletes the tag `passing`, which changes nothing else: the outcome, and whether Git made the point before it.
fn pass(bench: &mut Bench) -> (Outcome, bool) {
    bench.allowed.log_commands = true;
    let git = Git::new(&bench.allowed, Instant::now() + Duration::from_secs(120));
    let outcome = perform(&Operation::DeleteTag { name: "passing".into() }, &bench.allowed, &git);
    let ran = git.ran();
    (outcome, ran.iter().any(|line| line.contains("hash-object") || line.contains("update-index")))
}

/// A point of what is there now; `by_git` says who has to make it.
fn point(bench: &mut Bench, by_git: bool) -> String {
    // the only thing that this changes is permissions, which this process leaves to Git
    bench.git(&["config", "core.sharedRepository", if by_git { "0644" } else { "umask" }]);
    bench.git(&["update-ref", "refs/tags/passing", &bench.git(&["hash-object", "-w", "-t", "blob", "/dev/null"])]);
    match pass(bench) {
        (Outcome::Done(done), git_made_it) => {
            assert_eq!(git_made_it, by_git);
            done.restore_point.expect("it was made")
        }
        (Outcome::Failed(failed), _) => panic!("{failed:#?}"),
    }
}

/// All that a point holds, as Git shows it.
fn shown(bench: &Bench, point: &str) -> String {
    let object = |name: &str| {
        let name = format!("{PREFIX}{point}/{name}");
        let output = bench.try_git(&["rev-parse", "--verify", "-q", &name]);
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let mut text = String::new();
    for name in ["worktree^{tree}", "untracked^{tree}", "index:tree", "index:unmerged", "head", "tip"] {
        text.push_str(&format!("{name} {}\n", object(name)));
    }
    let tree = object("worktree^{tree}");
    text.push_str(&bench.git(&["ls-tree", "-r", "-z", &tree]).replace('\0', "\n"));
    let index = object("index:index");
    if !index.is_empty() {
        // as a file of now, so that no time proves anything any more
        let bytes = bench.git_command().args(["cat-file", "blob", &index]).output().expect("git runs").stdout;
        let file = bench.beside("index-of-a-point");
        fs::write(&file, bytes).expect("ours");
        for words in [&["ls-files", "--stage", "-z"][..], &["ls-files", "-v", "-z"], &["diff", "--raw", "-z"]] {
            let output = bench.git_command().env("GIT_INDEX_FILE", &file).args(words).output().expect("git runs");
            assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
            text.push_str(&format!("\n{words:?}\n{}", String::from_utf8_lossy(&output.stdout).replace('\0', "\n")));
        }
    }
    text
}

fn agree(bench: &mut Bench) -> String {
    let own = point(bench, false);
    let gits = point(bench, true);
    let (own_shown, gits_shown) = (shown(bench, &own), shown(bench, &gits));
    assert_eq!(own_shown, gits_shown, "{own} and {gits}");
    let fsck = bench.git(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!(fsck, "");
    own_shown
}

fn at_time(bench: &Bench, name: &str, time: SystemTime) {
    fs::OpenOptions::new().write(true).open(bench.at(name)).and_then(|file| file.set_modified(time)).expect("ours");
}

const NAMES: [&str; 9] =
    ["a.txt", "b.txt", "dir/c.txt", "dir/deep/d", "dir.x", "dir-y", "z \"q\"\n", "\u{e9}", "crlf.t"];

/// Something that people and tools do to a working tree.
fn step(bench: &Bench, dice: &mut Dice) {
    let name = *dice.one(&NAMES);
    let is_file = bench.at(name).symlink_metadata().is_ok_and(|found| found.is_file());
    let may_be_made = || {
        let above = bench.at(name).parent().is_some_and(|dir| dir.ancestors().all(|dir| !dir.exists() || dir.is_dir()));
        above && !bench.at(name).is_dir()
    };
    let tracked = !bench.git(&["ls-files", "--", name]).is_empty();
    match dice.below(13) {
        0..3 if may_be_made() => {
            bench.write(name, format!("{}\r\n", dice.below(5)));
        }
        3 if may_be_made() => {
            bench.write(name, "to be staged\n");
            bench.git(&["add", "--", name]);
        }
        4 if is_file => {
            // the same size and time, within one moment with the index
            bench.write(name, "racy 1\n");
            bench.git(&["add", "--", name]);
            let time = bench.at(name).metadata().and_then(|found| found.modified()).expect("it is there");
            bench.write(name, "racy 2\n");
            at_time(bench, name, time);
        }
        5 if is_file => fs::remove_file(bench.at(name)).expect("ours"),
        6 if is_file => {
            let mode = *dice.one(&[0o644, 0o755, 0o600]);
            fs::set_permissions(bench.at(name), fs::Permissions::from_mode(mode)).expect("ours");
        }
        7 if is_file => {
            fs::remove_file(bench.at(name)).expect("ours");
            symlink(dice.one(&["nowhere", "b.txt", "dir"]), bench.at(name)).expect("ours");
        }
        8 if is_file => {
            fs::remove_file(bench.at(name)).expect("ours");
            bench.write(format!("{name}/inside"), "beneath what was a file\n");
        }
        9 if may_be_made() && !tracked => {
            bench.write(name, "intended\n");
            bench.git(&["add", "-N", "--", name]);
        }
        10 if tracked && bench.git(&["ls-files", "-u", "--", name]).is_empty() => {
            let flag = *dice.one(&["--assume-unchanged", "--skip-worktree"]);
            bench.git(&["update-index", flag, "--", name]);
        }
        11 if is_file => at_time(bench, name, SystemTime::now() - Duration::from_secs(dice.below(100_000))),
        12 if bench.at("dir").symlink_metadata().is_ok_and(|found| found.is_dir()) => {
            // what is beneath it is gone, though a path leads there
            fs::rename(bench.at("dir"), bench.at("moved")).expect("ours");
            symlink("moved", bench.at("dir")).expect("ours");
        }
        _ => {}
    }
}

fn made_up(seed: u64) -> Bench {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let bench = match dice.below(3) {
        0 => Bench::with(&["--object-format=sha256"]),
        _ => Bench::empty(),
    };
    if dice.below(2) == 0 {
        bench.git(&["config", "index.version", "4"]);
    }
    if dice.below(4) == 0 {
        bench.git(&["config", "core.fileMode", "false"]);
    }
    if dice.below(4) == 0 {
        bench.git(&["config", "index.skipHash", "true"]);
    }
    for name in NAMES {
        bench.write(name, format!("{name} begins\n"));
    }
    bench.write(".gitignore", "*.ignored\n");
    bench.write("x.ignored", "nobody's\n");
    if dice.below(3) == 0 {
        bench.write(".gitattributes", "*.t text eol=crlf\n");
    }
    if dice.below(8) != 0 {
        bench.commit("all");
        if dice.below(3) == 0 {
            // both change the same file, and one adds where the other adds too
            bench.git(&["checkout", "-q", "-b", "other"]);
            bench.write("b.txt", "theirs\n");
            bench.write("both", "theirs\n");
            bench.git(&["rm", "-q", "dir-y"]);
            bench.commit("theirs");
            bench.git(&["checkout", "-q", "main"]);
            bench.write("b.txt", "ours\n");
            bench.write("both", "ours\n");
            bench.write("dir-y", "changed here, deleted there\n");
            bench.commit("ours");
            assert!(!bench.try_git(&["merge", "-q", "other"]).status.success());
        }
        if dice.below(3) == 0 {
            let head = bench.id("HEAD");
            bench.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},sub")]);
        }
    }
    for _ in 0..dice.below(10) {
        step(&bench, &mut dice);
    }
    if dice.below(3) == 0 {
        bench.git(&["init", "-q", "nested"]);
        bench.write("nested/x", "another repository's\n");
    }
    bench
}

#[test]
fn points_of_made_up_working_trees_agree() {
    let slow = std::env::var_os("BULKHEAD_SLOW").is_some();
    let seeds = if slow { 0..400 } else { 0..16 };
    let mut kinds = [0; 4];
    for seed in seeds {
        eprintln!("seed {seed}");
        let mut bench = made_up(seed);
        let text = agree(&mut bench);
        for (kind, word) in kinds.iter_mut().zip(["100755 ", "120000 ", "160000 ", " 2\t"]) {
            *kind += usize::from(text.contains(word));
        }
    }
    // modes, links, submodules and stages were among them, or the dice are bad
    assert!(kinds.iter().all(|kind| *kind > 0), "{kinds:?}");
}

#[test]
fn an_index_that_is_not_there_and_one_without_entries_agree() {
    let mut bench = Bench::empty();
    bench.write("untracked", "1\n");
    agree(&mut bench);
    bench.write("passing", "1\n");
    bench.git(&["add", "passing"]);
    bench.git(&["rm", "-q", "-f", "passing"]);
    agree(&mut bench);
}

#[test]
fn a_file_that_was_emptied_and_one_longer_than_is_held_agree() {
    let mut bench = Bench::honest();
    let time = bench.at("a.txt").metadata().and_then(|found| found.modified()).expect("it is there");
    bench.write("a.txt", "");
    at_time(&bench, "a.txt", time);
    bench.write("long", vec![b'x'; 5 << 20]);
    bench.git(&["add", "long"]);
    bench.write("long", vec![b'y'; 5 << 20]);
    bench.write("long-and-new", vec![b'z'; 6 << 20]);
    agree(&mut bench);
}

#[test]
fn what_is_not_read_here_is_left_to_git() {
    let split = |bench: &Bench| drop(bench.git(&["update-index", "--split-index"]));
    let sparse = |bench: &Bench| drop(bench.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "dir"]));
    for kind in [&split as &dyn Fn(&Bench), &sparse] {
        let mut bench = Bench::honest();
        bench.write("other/file", "x\n");
        bench.commit("another directory");
        bench.git(&["tag", "passing"]);
        kind(&bench);
        let (Outcome::Done(done), true) = pass(&mut bench) else { panic!("Git made no point") };
        let point = done.restore_point.expect("it was made");
        assert_eq!(bench.id(&format!("{PREFIX}{point}/worktree^{{tree}}")), bench.id("HEAD^{tree}"));
    }
}

#[test]
fn a_missing_object_is_told_before_anything_is_done() {
    let mut bench = Bench::honest();
    let id = bench.id("HEAD:a.txt");
    bench.git(&["tag", "passing"]);
    // no remembered tree stands for it
    bench.write("new", "x\n");
    bench.git(&["add", "new"]);
    fs::remove_file(bench.git_dir().join("objects").join(&id[..2]).join(&id[2..])).expect("it is loose");
    let (Outcome::Failed(failed), true) = pass(&mut bench) else { panic!("a point was made") };
    assert_eq!((failed.class, failed.restore_point.as_ref()), (Class::Unusable, None), "{failed:#?}");
    assert_eq!(bench.id("passing"), bench.id("HEAD"));
}
