//! Lines of files and who made them, as git blame says.
//! Trust: test only; `BULKHEAD_ANNOTATE_DIR` names one more repository, thirty files of which are compared as well.

use crate::{
    ALL, direct_repository, recorded, refused,
    support::{Operator, Worker, git, git_line, shell, start, try_git, without_rights},
};
use bulkhead_contract::{failure::Reason, results::Annotated};
use bulkhead_ipc::edge::{
    asks::Annotate,
    read::{Answer, Ask, Reply},
};
use std::{os::unix::fs::symlink, path::Path};

fn ask(worker: &mut Worker, path: &str, revision: Option<&str>, bytes: u32) -> Answer {
    worker.ask(Ask::Annotate(Annotate { path: path.to_owned(), revision: revision.map(str::to_owned), bytes }))
}

fn annotated(worker: &mut Worker, path: &str, revision: Option<&str>) -> Annotated {
    match ask(worker, path, revision, ALL) {
        Ok(Reply::Annotate(annotated)) => *annotated,
        other => panic!("{path} at {revision:?}: {other:?}"),
    }
}

/// One line: id, text, author, time, offset in seconds.
type Row = (String, String, String, i64, i32);

fn rows(annotated: &Annotated) -> Vec<Row> {
    let zeros = |id: &str| id.bytes().all(|byte| byte == b'0');
    let row = |line: &bulkhead_contract::results::AnnotatedLine| {
        // of what is not committed, the time is now
        let (date, offset) = if zeros(&line.id) { (0, 0) } else { (line.date, line.offset) };
        (line.id.clone(), line.content.clone(), line.author.clone(), date, offset)
    };
    annotated.lines.iter().map(row).collect()
}

/// What git says; nothing where it refuses.
fn blame(dir: &Path, path: &str, revision: Option<&str>) -> Option<Vec<Row>> {
    let revision: Vec<&str> = revision.into_iter().collect();
    let (out, fine) = try_git(dir, &[&["blame", "--line-porcelain"], &revision[..], &["--", path]].concat());
    if !fine {
        return None;
    }
    let mut rows = Vec::new();
    let mut row = Row::default();
    for line in out.split(|&byte| byte == b'\n') {
        let text = String::from_utf8_lossy(line).into_owned();
        let field = |name: &str| text.strip_prefix(name).map(str::to_owned);
        if let Some(content) = text.strip_prefix('\t') {
            row.1 = content.to_owned();
            if row.0.bytes().all(|byte| byte == b'0') {
                // git calls lines of another file so, too, but none is asked for here
                (row.3, row.4) = (0, 0);
            }
            rows.push(std::mem::take(&mut row));
        } else if let Some(author) = field("author ") {
            row.2 = author;
        } else if let Some(time) = field("author-time ") {
            row.3 = time.parse().expect("a number");
        } else if let Some(zone) = field("author-tz ") {
            let number: i32 = zone.parse().expect("a number");
            row.4 = (number / 100 * 60 + number % 100) * 60;
        } else if row.0.is_empty() {
            row.0 = text.split(' ').next().unwrap_or_default().to_owned();
        }
    }
    Some(rows)
}

/// Fails where git says otherwise.
#[track_caller]
pub fn agree(worker: &mut Worker, dir: &Path, path: &str, revision: Option<&str>) {
    let right = blame(dir, path, revision).unwrap_or_else(|| panic!("git refuses {path} at {revision:?}"));
    let ours = annotated(worker, path, revision);
    assert_eq!(rows(&ours), right, "{path} at {revision:?}");
    assert_eq!((ours.total, ours.partial), (right.len() as u64, None));
    assert!(ours.lines.iter().zip(1..).all(|(line, number)| line.line == number));
}

#[test]
fn lines_are_annotated_as_they_were_recorded() {
    let (_temp, repo, mut worker) = recorded();
    let (main, second, first) = (direct_repository::MAIN, direct_repository::SECOND, direct_repository::FIRST);
    let ours = annotated(&mut worker, "a.txt", None);
    let short: Vec<_> =
        ours.lines.iter().map(|line| (line.id.as_str(), line.content.as_str(), line.date, line.offset)).collect();
    let right = [
        (first, "one", 1_700_003_600, 7_200),
        (second, "TWO", 1_700_007_200, 7_200),
        (main, "THREE-main", 1_700_018_000, 7_200),
        (first, "four", 1_700_003_600, 7_200),
        (first, "five", 1_700_003_600, 7_200),
    ];
    assert_eq!(short, right);
    for path in
        ["bin.dat", "empty.txt", "latin1.txt", "nonl.txt", "dir/b.txt", "link", "old-name.txt", "\u{fc}n\u{ef}.txt"]
    {
        agree(&mut worker, &repo, path, None);
        agree(&mut worker, &repo, path, Some("HEAD"));
    }
    let crlf = annotated(&mut worker, "crlf.txt", None);
    let texts: Vec<_> = crlf.lines.iter().map(|line| line.content.as_str()).collect();
    assert_eq!(texts, ["x\r", "y\r"], "only the line feed ends a line");
    agree(&mut worker, &repo, "crlf.txt", None);
    agree(&mut worker, &repo, "a.txt", Some("HEAD~1"));
    agree(&mut worker, &repo, "a.txt", Some("clash"));
    let Ok(Reply::Annotate(some)) = ask(&mut worker, "a.txt", None, 250) else { panic!("another answer") };
    assert!((1..5).contains(&some.lines.len()) && some.total == 5, "{} of {}", some.lines.len(), some.total);
    for (path, revision, reason) in [
        ("nosuch", None, Reason::NoSuchPath),
        ("nosuch", Some("HEAD"), Reason::NoSuchPath),
        ("a.txt", Some("nosuch"), Reason::NoSuchRevision),
        ("a.txt", Some("-x"), Reason::BadArgument),
        ("a.txt", Some("v1..v2"), Reason::BadArgument),
        ("a.txt", Some("HEAD^{tree}"), Reason::BadArgument),
        ("dir", None, Reason::NoSuchPath),
        ("dir", Some("HEAD"), Reason::BadArgument),
        ("../a.txt", None, Reason::BadArgument),
        ("", None, Reason::BadArgument),
    ] {
        refused(ask(&mut worker, path, revision, ALL), reason, &format!("{path} at {revision:?}"));
    }
}

#[test]
fn what_is_not_committed_is_nobody_s_yet() {
    let (_temp, repo, mut worker) = recorded();
    shell(
        &repo,
        "sed -i 's/TWO/TWO!/' a.txt && echo six >> a.txt && git add a.txt && sed -i 's/one/1/' a.txt \
         && echo staged > added.txt && git add added.txt && echo more >> added.txt && echo new > untracked \
         && git mv old-name.txt new-name.txt && sed -i 's/line 3$/line three/' new-name.txt && rm gone.txt \
         && git rm -q --cached sp\\ ace.txt && chmod +x nonl.txt",
    );
    for path in ["a.txt", "added.txt", "new-name.txt", "sp ace.txt", "nonl.txt", "dir/b.txt"] {
        agree(&mut worker, &repo, path, None);
    }
    let line = annotated(&mut worker, "added.txt", None).lines.remove(0);
    assert_eq!((line.author.as_str(), line.id), ("Not Committed Yet", "0".repeat(40)));
    assert!(line.date > 1_700_000_000);
    refused(ask(&mut worker, "untracked", None, ALL), Reason::NoSuchPath, "git does not know it");
    refused(ask(&mut worker, "gone.txt", None, ALL), Reason::NoSuchPath, "it is gone");
    shell(&repo, "git stash -q && git merge -q clash || true");
    for path in ["a.txt", "dir/b.txt"] {
        agree(&mut worker, &repo, path, None);
    }
    shell(&repo, "git checkout -q --theirs a.txt");
    agree(&mut worker, &repo, "a.txt", None);
}

#[test]
fn a_clean_checkout_with_other_line_ends_is_not_uncommitted() {
    let (_temp, repo, mut worker) = recorded();
    shell(
        &repo,
        "echo '*.txt text eol=crlf' > .gitattributes && git add . && git -c user.name=a -c user.email=b commit -qm attributes \
         && rm a.txt && git checkout -q a.txt && grep -q $'\\r' a.txt",
    );
    agree(&mut worker, &repo, "a.txt", None);
    assert!(annotated(&mut worker, "a.txt", None).lines.iter().all(|line| !line.id.starts_with("000")));
    // a filter is not run: what it made of the file last stands for the file
    shell(
        &repo,
        "git config filter.up.clean 'touch ran; tr a-z A-Z' && echo '*.dat filter=up' > .gitattributes && echo change > bin.dat",
    );
    let found = annotated(&mut worker, "bin.dat", None);
    assert!(found.filtered && found.lines.iter().all(|line| line.id == direct_repository::FIRST), "{found:?}");
    assert!(!repo.join("ran").exists());
}

#[test]
fn lines_are_followed_through_renames_and_merges() {
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let dir = temp.path().canonicalize().expect("it is there");
    shell(
        &dir,
        "git init -q -b main . && at() { export GIT_AUTHOR_DATE=\"$1 -0330\" GIT_COMMITTER_DATE=\"$1 +0000\"; }
         at 1700000000; seq 1 30 > one; seq 100 140 > other; git add .; git commit -qm 1
         at 1700000100; git mv one two; sed -i 's/^7$/seven/' two; git commit -qam 'renamed and changed'
         git checkout -qb side HEAD~1; at 1700000200; sed -i 's/^20$/twenty/' one; git commit -qam 'side changes the old name'
         at 1700000300; seq 1 10 >> other; git commit -qam 'side changes the other'
         git checkout -q main; at 1700000400; mkdir d; git mv two d/three; git commit -qm 'moved'
         at 1700000500; git merge -q side -m merged
         at 1700000600; (seq 1 5; cat other; seq 6 9) > x; mv x other; git commit -qam 'around'
         at 1700000700; cp d/three copy; git add copy; git commit -qm 'a copy is no rename'
         at 1700000050; sed -i 's/^9$/nine/' d/three; git commit -qam 'a clock that went wrong'
         at 1700000800; git rm -q other; git commit -qm 'gone'; at 1700000900; git checkout -q HEAD~1 -- other; git commit -qm 'back'
         at 1700001000; ln -s x link; git add .; git commit -qm 'a link'; rm link; echo x > link; git add .; git commit -qm 'no link'
         printf 'Ada Now <ada@example.org>\\n' > .mailmap",
    );
    let mut worker = start(&dir, &Operator::default()).expect("a repository");
    for path in ["d/three", "other", "copy", "link"] {
        agree(&mut worker, &dir, path, None);
        for revision in ["HEAD", "HEAD~1", "HEAD~2", "HEAD~3", "HEAD~4"] {
            if blame(&dir, path, Some(revision)).is_some() {
                agree(&mut worker, &dir, path, Some(revision));
            }
        }
    }
    // what was found before is where a later question ends
    shell(
        &dir,
        "export GIT_COMMITTER_DATE='1700002000 +0000' && sed -i 's/^12$/twelve/' d/three && git add . && git commit -qm later",
    );
    agree(&mut worker, &dir, "d/three", None);
    agree(&mut worker, &dir, "d/three", Some("HEAD~1"));
    assert!(annotated(&mut worker, "copy", None).lines.iter().all(|line| line.author == "Ada Now"), "of the mailmap");
    assert!(blame(&dir, "two", Some("HEAD~9")).is_some() || blame(&dir, "one", Some("side")).is_some());
    agree(&mut worker, &dir, "one", Some("side"));
    shell(&dir, "git checkout -q HEAD~5 2>/dev/null; git commit-graph write --reachable --changed-paths 2>/dev/null");
    let mut worker = start(&dir, &Operator::default()).expect("a repository");
    for path in ["d/three", "other"] {
        agree(&mut worker, &dir, path, Some("main"));
    }
    // a shallow clone ends where it ends
    let clone = temp.path().join("clone");
    git(temp.path(), &["clone", "-q", "--depth", "3", &format!("file://{}", dir.display()), "clone"]);
    let operator = Operator { ceilings: vec![clone.canonicalize().expect("it is there")], ..Operator::default() };
    let mut worker = start(&clone, &operator).expect("a repository");
    agree(&mut worker, &clone, "d/three", None);
}

#[test]
fn what_is_no_file_is_refused_and_nothing_is_waited_for() {
    let (_temp, repo, mut worker) = recorded();
    shell(
        &repo,
        "rm a.txt && mkfifo a.txt && rm dir/b.txt && mkdir dir/b.txt && rm nonl.txt \
         && truncate -s 20M long && yes | head -n 600000 > lines && git add long lines",
    );
    symlink("/etc/passwd", repo.join("nonl.txt")).expect("the place is ours");
    refused(ask(&mut worker, "a.txt", None, ALL), Reason::BadArgument, "a pipe");
    refused(ask(&mut worker, "dir/b.txt", None, ALL), Reason::BadArgument, "a directory");
    refused(ask(&mut worker, "long", None, ALL), Reason::TooLarge, "too long");
    refused(ask(&mut worker, "lines", None, ALL), Reason::TooLarge, "too many lines");
    let link = annotated(&mut worker, "nonl.txt", None);
    assert_eq!(link.lines[0].content, "/etc/passwd", "where it leads is not followed");
    let all = worker.ask_within(0, Ask::Annotate(Annotate { path: "gone.txt".into(), revision: None, bytes: ALL }));
    refused(all.expect("it has not moved"), Reason::TooLarge, "no time at all");
}

#[test]
fn attributes_that_are_too_large_to_be_read_are_told() {
    let (_keep, repo, mut worker) = recorded();
    let path = repo.join(".gitattributes");
    let rules = "*.txt text eol=crlf\n";
    std::fs::write(&path, rules).expect("ours");
    assert_eq!(annotated(&mut worker, "a.txt", None).partial, None);
    std::fs::write(&path, "# comment\n".repeat(120_000) + rules).expect("ours");
    let partial = annotated(&mut worker, "a.txt", None).partial.expect("it is not known what they say");
    assert_eq!(partial.reason, "unreadable");
    assert!(partial.details.contains(".gitattributes"), "{}", partial.details);
    // a version in a commit is as it is
    assert_eq!(annotated(&mut worker, "a.txt", Some("HEAD")).partial, None);
}

#[test]
fn attributes_that_our_rights_do_not_reach_are_told() {
    let (_keep, repo, worker) = recorded();
    drop(worker);
    shell(&repo, "chmod -R a+rX ..; echo '*.txt text eol=crlf' > .gitattributes; chmod 0 .gitattributes");
    without_rights(|| {
        let mut worker = start(&repo, &Operator::default()).expect("readable");
        let partial = annotated(&mut worker, "a.txt", None).partial.expect("it is not known what they say");
        assert_eq!(partial.details, "At least .gitattributes could not be read and was left out.");
        // as the status of the file says
        assert_eq!(worker.status().expect("readable").partial.map(|it| it.details), Some(partial.details));
        assert_eq!(annotated(&mut worker, "a.txt", Some("HEAD")).partial, None);
    });
}

#[test]
fn a_version_that_is_missing_is_told() {
    let (_temp, repo, mut worker) = recorded();
    let id = git_line(&repo, &["rev-parse", "HEAD~1:a.txt"]).expect("a blob");
    std::fs::remove_file(repo.join(".git/objects").join(&id[..2]).join(&id[2..])).expect("a loose object");
    let found = annotated(&mut worker, "a.txt", None);
    assert!(found.partial.is_some() && found.lines.iter().all(|line| line.id == direct_repository::MAIN));
}

#[test]
fn files_of_another_place_agree() {
    let Some(dir) = std::env::var_os("BULKHEAD_ANNOTATE_DIR").map(std::path::PathBuf::from) else { return };
    let mut worker = start(&dir, &Operator::default()).expect("a repository");
    let out = git(&dir, &["ls-tree", "-r", "--name-only", "HEAD"]);
    let files: Vec<String> =
        String::from_utf8_lossy(&out).lines().filter(|name| !name.starts_with('"')).map(str::to_owned).collect();
    let every = (files.len() / 40).max(1);
    let mut differ = Vec::new();
    let mut lines = 0;
    for path in files.iter().step_by(every) {
        let Some(right) = blame(&dir, path, Some("HEAD")) else { continue };
        let ours = rows(&annotated(&mut worker, path, Some("HEAD")));
        let wrong = ours.iter().zip(&right).filter(|(a, b)| a != b).count();
        lines += right.len();
        if ours.len() != right.len() || wrong > 0 {
            differ.push(format!("{path}: {wrong} of {} lines", right.len()));
        }
    }
    eprintln!("{lines} lines, {} files differ", differ.len());
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
