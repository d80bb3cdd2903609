//! Regions between markers, and what an unmerged path becomes when one side decides.
//! Trust: test only.

use crate::{
    ALL, list_of, recorded, refused,
    support::{Operator, Worker, git_line, shell, start},
};
use bulkhead_contract::{
    failure::Reason,
    results::{ConflictRegions, MarkedRegion},
};
use bulkhead_ipc::edge::{
    asks::{self, ConflictChoice, Resolution, Resolve},
    read::{Answer, Ask, Reply},
    write::Resolved,
};
use std::{
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

fn ask_regions(worker: &mut Worker, path: &str, bytes: u32) -> Answer {
    worker.ask(Ask::ConflictRegions(asks::ConflictRegions { path: path.to_owned(), bytes }))
}

fn regions(worker: &mut Worker, path: &str) -> Vec<MarkedRegion> {
    match ask_regions(worker, path, ALL) {
        Ok(Reply::ConflictRegions(found)) => {
            let ConflictRegions { regions } = *found;
            regions
        }
        other => panic!("{path}: {other:?}"),
    }
}

fn ask_resolve(worker: &mut Worker, path: &str, side: ConflictChoice) -> Answer {
    worker.ask(Ask::Resolve(Resolve { path: path.to_owned(), side }))
}

fn resolve(worker: &mut Worker, path: &str, side: ConflictChoice) -> Resolution {
    match ask_resolve(worker, path, side) {
        Ok(Reply::Resolve(resolution)) => *resolution,
        other => panic!("{path} {side:?}: {other:?}"),
    }
}

fn content(text: &str, mode_of: u8, conflicts: u32) -> Resolved {
    Resolved::Content { bytes: text.as_bytes().to_vec(), mode_of, conflicts }
}

const SIDES: [ConflictChoice; 3] = [ConflictChoice::Base, ConflictChoice::Ours, ConflictChoice::Theirs];

#[test]
fn regions_and_resolutions_of_the_recorded_conflict() {
    let (_temp, repo, mut worker) = recorded();
    assert_eq!(regions(&mut worker, "a.txt"), [], "a file without markers");
    shell(&repo, "git checkout -q clash && git -c merge.conflictStyle=diff3 rebase -q main || true");
    let [region] = &regions(&mut worker, "a.txt")[..] else { panic!("one region") };
    assert_eq!((region.ours_label.as_str(), region.marker_len), ("HEAD", 7));
    assert!(region.theirs_label.contains("k1: clashing edit"), "{}", region.theirs_label);
    assert!(region.base_label.as_ref().is_some_and(|label| label.contains("parent of")), "{region:?}");
    let lines = |texts: [&str; 2]| texts.map(str::to_owned).to_vec();
    assert_eq!(region.ours, lines(["TWO\n", "THREE-main\n"]));
    assert_eq!(region.theirs, lines(["two\n", "THREE-clash\n"]));
    assert_eq!(region.base, Some(lines(["two\n", "three\n"])));
    for (side, line) in SIDES.into_iter().zip(["two\nthree", "TWO\nTHREE-main", "two\nTHREE-clash"]) {
        let found = resolve(&mut worker, "a.txt", side);
        assert_eq!(
            found.becomes,
            content(&format!("one\n{line}\nfour\nfive\n"), if side == ConflictChoice::Theirs { 3 } else { 2 }, 1)
        );
        for (stage, id) in (1..).zip(&found.stages) {
            assert_eq!(*id, git_line(&repo, &["rev-parse", &format!(":{stage}:a.txt")]), "stage {stage}");
        }
    }
    refused(ask_resolve(&mut worker, "crlf.txt", ConflictChoice::Ours), Reason::NoSuchPath, "it is merged");
    refused(ask_resolve(&mut worker, "../x", ConflictChoice::Ours), Reason::BadArgument, "it leads out");
}

#[test]
fn paths_of_regions_are_taken_as_they_were_recorded() {
    let (_temp, repo, mut worker) = recorded();
    symlink("dir", repo.join("way")).expect("the place is ours");
    shell(&repo, "mkfifo pipe && head -c 300 /dev/zero > zeros && printf 'x\\n' > 'back\\slash'");
    for (path, reason) in [
        ("nosuch", Reason::NoSuchPath),
        ("dir\\b.txt", Reason::NoSuchPath),
        ("../x", Reason::BadArgument),
        ("/etc/passwd", Reason::BadArgument),
        ("dir", Reason::BadArgument),
        ("dir/", Reason::BadArgument),
        ("", Reason::BadArgument),
        (".", Reason::BadArgument),
        ("dir/../a.txt", Reason::BadArgument),
        ("link", Reason::BadArgument),
        ("way/b.txt", Reason::BadArgument),
        ("bin.dat", Reason::BadArgument),
        ("latin1.txt", Reason::BadArgument),
        ("./a.txt", Reason::BadArgument),
        ("a.txt\0b", Reason::BadArgument),
        ("CON", Reason::BadArgument),
        ("a:b", Reason::BadArgument),
        ("pipe", Reason::BadArgument),
        (".git/config", Reason::BadArgument),
    ] {
        refused(ask_regions(&mut worker, path, ALL), reason, path);
    }
    assert_eq!(regions(&mut worker, "zeros"), []);
    assert_eq!(regions(&mut worker, "back\\slash"), []);
    refused(ask_regions(&mut worker, "old-name.txt", 64), Reason::TooLarge, "a file over the budget");
}

/// A repository in which `side` is merged into `main` and stops. Each function writes one version of all files.
fn stopped(versions: [&str; 3]) -> (tempfile::TempDir, PathBuf, Worker) {
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let dir = temp.path().canonicalize().expect("it is there");
    let [base, ours, theirs] = versions;
    shell(
        &dir,
        &format!(
            "git init -q -b main . && git config core.autocrlf false && : > always\n{base}\ngit add -A -- . ':!module' && git commit -qm base\n\
             git checkout -qb side\n{theirs}\ngit add -A -- . ':!module' && git commit -qm theirs --allow-empty\n\
             git checkout -q main\n{ours}\ngit add -A -- . ':!module' && git commit -qm ours --allow-empty\ngit merge -q side || true"
        ),
    );
    let worker = start(&dir, &Operator::default()).expect("a repository");
    (temp, dir, worker)
}

fn unmerged(worker: &mut Worker) -> Vec<String> {
    list_of(worker.ask(Ask::Unmerged { chars: ALL })).paths.into_iter().map(|row| row.path).collect()
}

#[test]
fn a_line_of_seven_signs_splits_no_side() {
    let (_temp, _dir, mut worker) = stopped([
        "printf 'title\\nold\\nend\\n' > doc",
        "printf 'ours\\n=======\\nof it\\nend\\n' > doc",
        "printf 'theirs\\n=======\\n>>>>>>> quoted\\nof them\\nend\\n' > doc",
    ]);
    let [region] = &regions(&mut worker, "doc")[..] else { panic!("one region") };
    assert_eq!(region.ours.concat(), "ours\n=======\nof it\n");
    assert_eq!(region.theirs.concat(), "theirs\n=======\n>>>>>>> quoted\nof them\n");
    let becomes = resolve(&mut worker, "doc", ConflictChoice::Ours).becomes;
    assert_eq!(becomes, content("ours\n=======\nof it\nend\n", 2, 1), "nothing is lost");
}

#[test]
fn markers_are_as_long_as_the_attributes_say() {
    let (_temp, dir, mut worker) = stopped([
        "printf 'a conflict-marker-size=10\\n' > .gitattributes; printf 'x\\n' > a",
        "printf '<<<<<<< o\\n=======\\n' > a",
        "printf 'z\\n' > a",
    ]);
    assert!(std::fs::read_to_string(dir.join("a")).is_ok_and(|text| text.starts_with("<<<<<<<<<< HEAD")));
    let [region] = &regions(&mut worker, "a")[..] else { panic!("one region") };
    assert_eq!((region.marker_len, region.ours.concat()), (10, "<<<<<<< o\n=======\n".to_owned()));
}

#[test]
fn every_kind_of_conflict_can_be_resolved_to_a_side() {
    let (_temp, dir, mut worker) = stopped([
        "printf 'a\\nb\\nc\\nd\\ne\\nf\\n' > text; cp text gone-theirs; cp text gone-ours; printf 'n\\0b' > binary; ln -s base link
         printf 'p\\n' > plain; printf 'w\\n' > whole; printf 'whole -merge\\n' > .gitattributes
         for i in 1 2 3 4 5 6 7 8 9; do echo \"line $i\"; done > moved
         git update-index --add --cacheinfo 160000,1111111111111111111111111111111111111111,module",
        "printf 'A\\nb\\nc\\nd\\nE\\nf\\n' > text; echo o >> gone-theirs; git rm -q gone-ours; printf 'n\\0o' > binary; ln -sf ours link
         chmod +x plain; printf 'po\\n' > plain; printf 'wo\\n' > whole; printf 'x\\no\\ny\\n' > added; git mv moved moved-ours
         git update-index --cacheinfo 160000,2222222222222222222222222222222222222222,module",
        "printf 'a\\nb\\nc\\nd\\nEE\\nF\\n' > text; git rm -q gone-theirs; echo t >> gone-ours; printf 'n\\0t' > binary; ln -sf theirs link
         printf 'pt\\n' > plain; printf 'wt\\n' > whole; printf 'x\\nt\\ny\\n' > added; git mv moved moved-theirs
         git update-index --cacheinfo 160000,3333333333333333333333333333333333333333,module",
    ]);
    let all = unmerged(&mut worker);
    for path in [
        "added",
        "binary",
        "gone-ours",
        "gone-theirs",
        "link",
        "module",
        "moved",
        "moved-ours",
        "moved-theirs",
        "plain",
        "text",
        "whole",
    ] {
        assert!(all.iter().any(|found| found == path), "{path} is not unmerged: {all:?}");
    }
    use ConflictChoice::{Base, Ours, Theirs};
    for (path, side, becomes) in [
        ("text", Ours, content("A\nb\nc\nd\nE\nf\n", 2, 1)),
        ("text", Theirs, content("A\nb\nc\nd\nEE\nF\n", 3, 1)),
        ("text", Base, content("A\nb\nc\nd\ne\nf\n", 2, 1)),
        ("added", Ours, content("x\no\ny\n", 2, 1)),
        ("added", Theirs, content("x\nt\ny\n", 3, 1)),
        ("plain", Theirs, content("pt\n", 2, 1)),
        ("binary", Ours, Resolved::Stage(2)),
        ("binary", Theirs, Resolved::Stage(3)),
        ("binary", Base, Resolved::Stage(1)),
        ("whole", Theirs, Resolved::Stage(3)),
        ("link", Ours, Resolved::Stage(2)),
        ("link", Base, Resolved::Stage(1)),
        ("module", Theirs, Resolved::Stage(3)),
        ("gone-theirs", Ours, Resolved::Stage(2)),
        ("gone-theirs", Theirs, Resolved::Deleted),
        ("gone-theirs", Base, Resolved::Stage(1)),
        ("gone-ours", Ours, Resolved::Deleted),
        ("gone-ours", Theirs, Resolved::Stage(3)),
        ("moved", Ours, Resolved::Deleted),
        ("moved", Theirs, Resolved::Deleted),
        ("moved", Base, Resolved::Stage(1)),
        ("moved-ours", Ours, Resolved::Stage(2)),
        ("moved-ours", Theirs, Resolved::Deleted),
        ("moved-theirs", Theirs, Resolved::Stage(3)),
    ] {
        let found = resolve(&mut worker, path, side);
        assert_eq!(found.becomes, becomes, "{path} {side:?}");
        let stage = |number: usize| git_line(&dir, &["rev-parse", "-q", "--verify", &format!(":{number}:{path}")]);
        assert_eq!(found.stages, [stage(1), stage(2), stage(3)], "{path}");
    }
    for path in ["added", "moved-ours"] {
        let details = refused(ask_resolve(&mut worker, path, Base), Reason::BadArgument, path);
        assert!(details.contains("no base"), "{details}");
    }
    assert_eq!(unmerged(&mut worker), all, "nothing was resolved by asking");
}

#[test]
fn a_version_that_is_too_long_or_not_there_is_refused_by_name() {
    let (_temp, dir, mut worker) = stopped([
        "echo b > lost; seq 1 2000000 > long",
        "echo o > lost; (seq 1 2000000; echo o) > long",
        "echo t > lost; (seq 1 2000000; echo t) > long",
    ]);
    let failure = ask_resolve(&mut worker, "long", ConflictChoice::Ours).expect_err("it is too long");
    assert_eq!((failure.reason, failure.path), (Reason::TooLarge, Some(("long".to_owned(), None))));
    refused(ask_regions(&mut worker, "long", ALL), Reason::TooLarge, "the file is too long as well");
    let id = git_line(&dir, &["rev-parse", ":1:lost"]).expect("a base");
    std::fs::remove_file(object(&dir, &id)).expect("a loose object");
    let failure = ask_resolve(&mut worker, "lost", ConflictChoice::Ours).expect_err("it is not there");
    assert_eq!((failure.reason, failure.path), (Reason::ObjectMissing, Some(("lost".to_owned(), None))));
}

fn object(dir: &Path, id: &str) -> PathBuf {
    dir.join(".git/objects").join(&id[..2]).join(&id[2..])
}
