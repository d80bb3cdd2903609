//! A status equals git's after random edits of every kind, on every kind of checkout.
//! Trust: the judge is the real git. `BULKHEAD_SEED=N` repeats a run, `BULKHEAD_SLOW=1` makes it longer, and then
//! `BULKHEAD_STATUS_REPO=DIR` adds a clone of that repository.

mod support;

use std::{
    collections::HashSet,
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{MetadataExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};
use support::{
    Place, Repo, Start,
    dice::Dice,
    status::{answered, diff_agrees, differences, expected},
};

/// Kinds of checkouts: how each is made of a plain one.
const KINDS: [&str; 8] =
    ["plain", "split", "linked", "sparse", "sparse-index", "format-4", "untracked-cache", "case-insensitive"];

fn seed() -> u64 {
    std::env::var("BULKHEAD_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

#[test]
fn on_every_kind_of_checkout() {
    let rounds = if support::slow() { 60 } else { 6 };
    for kind in KINDS {
        let place = Place::new();
        let library = Repo::honest(&place, "library");
        let repo = Repo::init(&place, "repo");
        fill(&repo);
        let url = library.path().to_str().expect("plain").to_owned();
        for name in ["sub", "d1/sub"] {
            repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, name]);
        }
        repo.commit("first");
        let repo = make(kind, &place, repo);
        run(kind, &place, &repo, rounds);
    }
}

/// Enough files for more than one thread.
#[test]
fn on_a_large_checkout() {
    let place = Place::new();
    let repo = Repo::init(&place, "repo");
    fill(&repo);
    for number in 0..6_000 {
        let directory =
            if number % 3 == 0 { "flat".to_owned() } else { format!("large/{}/{}", number % 23, number % 7) };
        repo.write(format!("{directory}/f{number}"), format!("{number}\n"));
    }
    let library = Repo::honest(&place, "library");
    let url = library.path().to_str().expect("plain").to_owned();
    for name in ["flat/sub", "large/11/sub", "large/11/0/sub", "large/3/2/sub"] {
        repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, name]);
    }
    repo.commit("first");
    run("large", &place, &repo, if support::slow() { 40 } else { 6 });
}

#[test]
fn on_a_clone_of_a_real_repository() {
    let Some(of) = std::env::var_os("BULKHEAD_STATUS_REPO").filter(|_| support::slow()) else { return };
    let place = Place::new();
    let path = place.at("clone");
    let status = place.command("git").args(["clone", "-q", "--no-local"]).arg(of).arg(&path).status();
    assert!(status.expect("git is installed").success());
    run("clone", &place, &Repo::open(&place, path), 30);
}

fn fill(repo: &Repo<'_>) {
    for number in 0..240 {
        let text = format!("file {number}\n{}", "a line of some length\n".repeat(number % 9));
        repo.write(format!("d{}/e{}/f{number}", number % 5, number % 3), text);
    }
    for name in
        ["caf\u{e9}", "cafe\u{301}", "sp ace", "q\"uote", "new\nline", "a", "a-b", "a.b/c", "A", "d0-x", "d0.x", "d00"]
    {
        repo.write(format!("names/{name}"), format!("{name}\n"));
    }
    let raw = repo.at("names").join(OsStr::from_bytes(b"\xff\xfe"));
    fs::write(raw, "raw").expect("ours");
    repo.write("crlf.txt", "a\r\nb\r\n");
    repo.write(".gitattributes", "*.txt text\n*.bin -text\n");
    repo.write(".gitignore", "*.o\n/d3/e1/\n!keep.o\nbuild/\n");
    repo.write("d2/.gitignore", "*.tmp\n!f*.tmp\n");
    std::os::unix::fs::symlink("a", repo.at("names/link")).expect("ours");
}

fn make<'place>(kind: &str, place: &'place Place, repo: Repo<'place>) -> Repo<'place> {
    match kind {
        "split" => drop(repo.git(&["update-index", "--split-index"])),
        "linked" => {
            let path = place.at("linked");
            repo.git(&["worktree", "add", "-q", path.to_str().expect("plain"), "-b", "linked"]);
            return Repo::open(place, path);
        }
        "sparse" => drop(repo.git(&["sparse-checkout", "set", "--no-cone", "/d0/", "/d1/", "/names/", "/.git*"])),
        "sparse-index" => drop(repo.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "d0", "d1", "names"])),
        "format-4" => drop(repo.git(&["update-index", "--index-version", "4"])),
        "untracked-cache" => drop(repo.git(&["update-index", "--force-untracked-cache"])),
        "case-insensitive" => drop(repo.git(&["config", "core.ignoreCase", "true"])),
        _ => {}
    }
    repo
}

fn run(kind: &str, place: &Place, repo: &Repo<'_>, rounds: usize) {
    let seed = seed();
    let mut dice = Dice(seed);
    let mut server = Start::new(place).root(place.path()).spawn();
    let mut done: Vec<String> = Vec::new();
    for round in 0..rounds {
        let names = tracked(repo);
        for _ in 0..12 {
            done.extend(edit(kind, repo, &names, &mut dice));
        }
        // git 2.47 ends itself over some pairs of renames in both columns; there is nothing to compare with then
        if String::from_utf8_lossy(&repo.try_git(&["status", "--porcelain"]).stderr).contains("BUG: ") {
            repo.try_git(&["reset", "-q"]);
            continue;
        }
        if has_doubles(repo) {
            server.read("repo.status", repo.path()).expect_refused(kind, &["corrupt"]);
            repo.git(&["read-tree", "HEAD"]);
            continue;
        }
        let faults = differences(kind, expected(repo), answered(&mut server, repo.path()));
        let last = &done[done.len().saturating_sub(24)..];
        assert!(faults.is_empty(), "BULKHEAD_SEED={seed}, round {round}:\n{}\nafter {last:#?}", faults.join("\n"));
        diff_agrees(&format!("{kind}, BULKHEAD_SEED={seed}, round {round}, {last:#?}"), repo, &mut server);
        if dice.below(5) == 0 {
            repo.try_git(&["add", "-A"]);
            repo.try_git(&["commit", "-q", "-m", "a round"]);
        }
    }
    assert!(server.finish().status.success());
}

/// Whether git has left an index that names a path twice, as 2.47 does with some sparse ones.
fn has_doubles(repo: &Repo<'_>) -> bool {
    let output = repo.try_git(&["ls-files", "-z", "--stage", "--sparse"]).stdout;
    let mut seen = HashSet::new();
    // mode, id, stage and path: only the last two make an entry
    let mut entries = output.split(|&byte| byte == 0).filter_map(|line| line.splitn(3, |&byte| byte == b' ').nth(2));
    !entries.all(|entry| seen.insert(entry.to_vec()))
}

/// All tracked paths that are no submodules, and not the file that Git cannot do without.
fn tracked(repo: &Repo<'_>) -> Vec<PathBuf> {
    let output = repo.try_git(&["ls-files", "-z"]);
    let paths = output.stdout.split(|&byte| byte == 0).filter(|path| !path.is_empty());
    paths
        .map(|path| PathBuf::from(OsStr::from_bytes(path)))
        .filter(|path| !path.ends_with("sub") && !path.ends_with(".gitmodules"))
        .collect()
}

/// One random edit of the working tree, of the index, or of what decides about them; what it was.
fn edit(kind: &str, repo: &Repo<'_>, names: &[PathBuf], dice: &mut Dice) -> Option<String> {
    let name = names.get(dice.below(names.len().max(1)))?;
    let path = repo.at(name);
    let there = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file());
    let fresh = format!("d{}/new{}", dice.below(6), dice.below(10_000));
    let git = |arguments: &[&OsStr]| drop(repo.try_git(arguments));
    let on = |arguments: &[&str]| {
        let mut all: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        all.extend([OsStr::new("--"), name.as_os_str()]);
        git(&all);
    };
    let what = dice.below(28);
    match what {
        0 if there => append(&path, b"changed\n"),
        1 if there => fs::remove_file(&path).ok()?,
        2 if there => git(&[OsStr::new("mv"), name.as_os_str(), OsStr::new(&fresh)]),
        3 => on(&["rm", "-q", "--cached"]),
        4 => on(&["add"]),
        5 => on(&["reset", "-q"]),
        6 => drop(repo.try_git(&["add", "-A", "."])),
        7 => repo.write(&fresh, "new\n"),
        8 => repo.write(format!("{fresh}-dir/deep/er/{}.o", dice.below(9)), "ignored\n"),
        9 => repo.write(format!("{fresh}-dir/deep/file"), "new\n"),
        10 if there => fs::set_permissions(&path, fs::Permissions::from_mode([0o755, 0o644][dice.below(2)])).ok()?,
        11 if there => fs::write(&path, fs::read(&path).ok()?).ok()?,
        12 if there => {
            fs::remove_file(&path).ok()?;
            std::os::unix::fs::symlink("elsewhere", &path).ok()?;
        }
        13 if there => {
            fs::remove_file(&path).ok()?;
            fs::create_dir(&path).ok()?;
            if dice.below(2) == 0 {
                fs::write(path.join("inside"), "x").ok()?;
            }
        }
        14 => {
            repo.write(&fresh, "will be added\n");
            git(&[OsStr::new("add"), OsStr::new("-N"), OsStr::new(&fresh)]);
        }
        15 => on(&["update-index", ["--assume-unchanged", "--no-assume-unchanged"][dice.below(2)]]),
        16 => on(&["update-index", ["--skip-worktree", "--no-skip-worktree"][dice.below(2)]]),
        17 => conflict(repo, name, dice)?,
        18 if there => {
            // other contents of the same size, and the old time
            let old = fs::metadata(&path).ok()?;
            let time = old.modified().ok()?;
            // many a git compares whole seconds and would not notice within the same one
            let seconds = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs());
            for _ in 0..100 {
                if seconds(SystemTime::now()) > u64::try_from(old.ctime()).ok()? {
                    break;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            let mut bytes = fs::read(&path).ok()?;
            *bytes.first_mut()? ^= 1;
            fs::write(&path, bytes).ok()?;
            set_time(&path, time);
        }
        19 if there => set_time(&path, SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)),
        20 => {
            let rules = ["*.o\n", "*.o\nnew*\n", "build/\n/d4/\n", "!*.o\nd*/new1*\n", "*.o\n*-dir\n"];
            let file = [".gitignore", "d1/.gitignore", "d2/.gitignore"][dice.below(3)];
            repo.write(file, rules[dice.below(rules.len())]);
        }
        21 => {
            let rules = ["* text=auto\n", "*.txt -text\n", "* -text\n", "*.txt text eol=crlf\n", ""];
            repo.write([".gitattributes", "d1/.gitattributes"][dice.below(2)], rules[dice.below(rules.len())]);
        }
        22 => {
            let common = repo.git(&["rev-parse", "--path-format=absolute", "--git-common-dir"]);
            let exclude = Path::new(&common).join("info/exclude");
            fs::create_dir_all(exclude.parent()?).ok()?;
            fs::write(exclude, ["*.x\n", "new2*\n", ""][dice.below(3)]).ok()?;
        }
        23 => {
            // not the one with a submodule, whose move git cannot follow
            let (from, to) = (repo.at(["d0", "d2", "d3", "d4"][dice.below(4)]), repo.at("moved"));
            let (from, to) = if to.exists() { (to, from) } else { (from, to) };
            if !to.exists() {
                fs::rename(from, to).ok()?;
            }
        }
        24 => submodule(repo, dice)?,
        25 => {
            // an untracked repository, with a commit or without
            let nested = repo.at(format!("{fresh}-nested"));
            fs::create_dir_all(&nested).ok()?;
            let nested = nested.to_str()?;
            repo.try_git(&["init", "-q", nested]);
            if dice.below(2) == 0 {
                repo.try_git(&["-C", nested, "commit", "-q", "--allow-empty", "-m", "nested"]);
            }
        }
        26 if kind != "case-insensitive" => {
            repo.write(format!("names/{}", ["B", "b", "CAF\u{c9}"][dice.below(3)]), "case\n")
        }
        27 => fs::create_dir_all(repo.at(format!("{fresh}-empty/nothing"))).ok()?,
        _ => return None,
    }
    Some(format!("{what} {} {fresh}", name.display()))
}

/// An unmerged path with some of its stages.
fn conflict(repo: &Repo<'_>, name: &Path, dice: &mut Dice) -> Option<()> {
    let id = repo.git(&["hash-object", "-w", "-t", "blob", "/dev/null"]);
    let stages = 1 + dice.below(7);
    // what is on the disk resembles nothing: Git takes an unmerged path for a new one in its search for renames, and where
    // it pairs it with a deleted one, that deletion is in no row at all
    if fs::symlink_metadata(repo.at(name)).is_ok_and(|meta| meta.is_file()) {
        let lines: Vec<String> = (0..64).map(|_| dice.below(usize::MAX).to_string()).collect();
        fs::write(repo.at(name), lines.join("\n")).ok()?;
    }
    let mut input = format!("0 {}\t", "0".repeat(id.len())).into_bytes();
    input.extend(name.as_os_str().as_bytes());
    input.push(0);
    for stage in (1..=3).filter(|stage| stages & (1 << (stage - 1)) != 0) {
        input.extend(format!("100644 {id} {stage}\t").into_bytes());
        input.extend(name.as_os_str().as_bytes());
        input.push(0);
    }
    let file = repo.git(&["rev-parse", "--path-format=absolute", "--git-path", "stages"]);
    fs::write(&file, input).ok()?;
    let line = format!("git update-index -z --index-info < '{file}'");
    repo.try_git(&["-c", &format!("alias.stages=!{line}"), "stages"]);
    Some(())
}

fn submodule(repo: &Repo<'_>, dice: &mut Dice) -> Option<()> {
    let subs = ["sub", "d1/sub", "flat/sub", "large/11/sub", "large/11/0/sub", "large/3/2/sub"];
    let there: Vec<&str> = subs.into_iter().filter(|name| repo.at(name).is_dir()).collect();
    let name = there.get(dice.below(there.len().max(1)))?;
    if !repo.at(name).join(".git").exists() {
        return None;
    }
    match dice.below(5) {
        0 => repo.write(format!("{name}/a.txt"), "edited\n"),
        1 => repo.write(format!("{name}/untracked"), "new\n"),
        2 => drop(repo.try_git(&["-C", name, "checkout", "-q", "-f", ["HEAD~1", "main"][dice.below(2)]])),
        3 => drop(repo.try_git(&["-C", name, "clean", "-qfd"])),
        _ => drop(repo.try_git(&["-C", name, "rm", "-q", "--cached", "a.txt"])),
    }
    Some(())
}

fn append(path: &Path, bytes: &[u8]) {
    let mut all = fs::read(path).expect("it is there");
    all.extend(bytes);
    fs::write(path, all).expect("ours");
}

fn set_time(path: &Path, time: SystemTime) {
    if let Ok(file) = fs::File::options().write(true).open(path) {
        file.set_modified(time).expect("ours");
    }
}
