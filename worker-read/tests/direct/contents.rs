//! Files, lists of files, merge bases, remotes.
//! Trust: test only.

use crate::{
    ALL, bytes, direct_repository, list_of, recorded, refused,
    support::{Operator, Worker, git, git_line, shell, start},
};
use bulkhead_contract::{failure::Reason, limits::DIRECT_TEXT_BYTES, results::ShownFile};
use bulkhead_ipc::edge::{
    asks::{Compared, History, ListFiles, MergeBase, ShowFile, TextDiff},
    read::{Answer, Ask, Page, Reply},
};

fn show(worker: &mut Worker, revision: &str, path: &str, bytes: u32) -> Answer {
    worker.ask(Ask::ShowFile(ShowFile { revision: revision.to_owned(), path: path.to_owned(), bytes }))
}

fn shown(worker: &mut Worker, revision: &str, path: &str, bytes: u32) -> ShownFile {
    match show(worker, revision, path, bytes) {
        Ok(Reply::ShowFile(file)) => *file,
        other => panic!("{revision}:{path}: {other:?}"),
    }
}

fn list(worker: &mut Worker, revision: Option<&str>, chars: u32) -> Answer {
    worker.ask(Ask::ListFiles(ListFiles { revision: revision.map(str::to_owned), chars }))
}

#[test]
fn files_are_shown_as_they_were_recorded() {
    let (_temp, repo, mut worker) = recorded();
    assert_eq!(git_line(&repo, &["rev-parse", "main"]).as_deref(), Some(direct_repository::MAIN), "the ids are those");
    assert_eq!(git_line(&repo, &["rev-parse", "main~1"]).as_deref(), Some(direct_repository::SECOND));
    assert_eq!(git_line(&repo, &["rev-parse", "main~2"]).as_deref(), Some(direct_repository::FIRST));
    for (revision, path, text) in [
        ("HEAD", "a.txt", "one\nTWO\nTHREE-main\nfour\nfive\n"),
        ("HEAD", "nonl.txt", "no newline"),
        ("HEAD", "crlf.txt", "x\r\ny\r\n"),
        ("HEAD", "latin1.txt", "latin \u{fffd}\n"),
        ("HEAD", "bin.dat", "\0\u{1}\u{2}bin\u{fffd}\n"),
        ("HEAD", "empty.txt", ""),
        ("HEAD", "link", "a.txt"),
        ("HEAD", "./a.txt", "one\nTWO\nTHREE-main\nfour\nfive\n"),
        ("HEAD", "\u{fc}n\u{ef}.txt", "u\n"),
        ("HEAD~1", "a.txt", "one\nTWO\nthree\nfour\nfive\n"),
        ("v1", "dir//b.txt", "b1\nb2\n"),
        ("v2^{tree}", "dir/sub/c.txt", "deep\n"),
        (":0", "a.txt", "one\nTWO\nTHREE-main\nfour\nfive\n"),
    ] {
        let file = shown(&mut worker, revision, path, ALL);
        assert_eq!((file.text.as_str(), file.total), (text, text.len() as u64), "{revision}:{path}");
    }
    let cut = shown(&mut worker, "HEAD", "latin1.txt", 8);
    assert_eq!((cut.text.as_str(), cut.total), ("latin ", 10), "a character is not split");
    assert_eq!(shown(&mut worker, "HEAD", "a.txt", 0), ShownFile { text: String::new(), total: 29 });
    for (revision, path, reason) in [
        ("HEAD", "nosuch", Reason::NoSuchPath),
        ("HEAD", "a.txt/x", Reason::NoSuchPath),
        (":1", "a.txt", Reason::NoSuchPath),
        ("HEAD", "dir", Reason::BadArgument),
        ("HEAD", "", Reason::BadArgument),
        ("HEAD", "/a.txt", Reason::BadArgument),
        ("HEAD", "dir/../a.txt", Reason::BadArgument),
        ("nosuch", "a.txt", Reason::NoSuchRevision),
        ("-p", "a.txt", Reason::BadArgument),
        ("HEAD:a.txt", "a.txt", Reason::BadArgument),
        (":4", "a.txt", Reason::BadArgument),
    ] {
        refused(show(&mut worker, revision, path, ALL), reason, &format!("{revision}:{path}"));
    }
}

#[test]
fn what_is_no_file_and_what_is_too_much_is_told() {
    let (_temp, repo, mut worker) = recorded();
    shell(
        &repo,
        "git update-index --add --cacheinfo 160000,1459e0456c38a72f19d43f1550ce0ac68b5fd83f,sub \
         && mkdir long && head -c 9000000 /dev/zero | tr '\\0' x > long/text && truncate -s 70M long/zeros \
         && printf n > $'odd\\377\\\\name' && git add long odd*",
    );
    let details = refused(show(&mut worker, ":0", "sub", ALL), Reason::BadArgument, "a submodule");
    assert!(details.contains("1459e0456c38a72f19d43f1550ce0ac68b5fd83f"), "{details}");
    let long = shown(&mut worker, ":0", "long/text", ALL);
    assert_eq!((long.text.len(), long.total), (DIRECT_TEXT_BYTES as usize, 9_000_000));
    refused(show(&mut worker, ":0", "long/zeros", ALL), Reason::TooLarge, "zeros");
    assert_eq!(shown(&mut worker, ":0", "odd\\xFF\\\\name", ALL).text, "n");
}

#[test]
fn lists_are_those_of_ls_files_and_ls_tree() {
    let (_temp, repo, mut worker) = recorded();
    shell(
        &repo,
        "echo n > $'odd\\377' && mkdir -p 'dir.d' dir-d && echo x > dir.d/x && echo x > dir-d/x && git add -A \
         && git update-index --add --cacheinfo 160000,1459e0456c38a72f19d43f1550ce0ac68b5fd83f,dir/module",
    );
    shell(
        &repo,
        "git -c user.name=a -c user.email=b commit -qm more && git merge -q clash || true; echo new > intended && git add -N intended",
    );
    assert!(!git(&repo, &["ls-files", "-u"]).is_empty(), "some path is unmerged");
    let names = |args: &[&str]| -> Vec<Vec<u8>> {
        let out = git(&repo, args);
        out.split(|&byte| byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect()
    };
    for (revision, args) in [
        (None, &["ls-files", "-z"][..]),
        (Some("HEAD"), &["ls-tree", "-r", "-z", "--name-only", "HEAD"]),
        (Some("v1"), &["ls-tree", "-r", "-z", "--name-only", "v1"]),
        (Some("HEAD:dir"), &["ls-tree", "-r", "-z", "--name-only", "HEAD:dir"]),
    ] {
        let right = names(args);
        let ours = list_of(list(&mut worker, revision, ALL));
        assert_eq!((bytes(&ours.paths), ours.total), (right.clone(), right.len() as u64), "{revision:?}");
        let some = list_of(list(&mut worker, revision, 12));
        assert!(some.paths.len() < right.len() && !some.paths.is_empty(), "{revision:?}");
        assert_eq!((some.total, &some.paths[..]), (ours.total, &ours.paths[..some.paths.len()]));
    }
    let empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
    assert_eq!(list_of(list(&mut worker, Some(empty), ALL)).total, 0);
    refused(show(&mut worker, empty, "a.txt", ALL), Reason::NoSuchPath, "the empty tree");
    refused(list(&mut worker, Some("nosuch"), ALL), Reason::NoSuchRevision, "a revision");
    refused(list(&mut worker, Some("HEAD:a.txt"), ALL), Reason::BadArgument, "a file");
    let unmerged = list_of(worker.ask(Ask::Unmerged { chars: ALL }));
    assert_eq!(bytes(&unmerged.paths), names(&["diff", "--name-only", "--diff-filter=U", "-z"]));
    assert_eq!(unmerged.total, 2);
    let cut = list_of(worker.ask(Ask::Unmerged { chars: 1 }));
    assert_eq!((cut.paths.len(), cut.total), (1, 2));
}

#[test]
fn merge_bases_are_those_that_git_names_first() {
    let (_temp, repo, mut worker) = recorded();
    // two histories that were merged into each other have two best ancestors
    shell(
        &repo,
        "git checkout -q feature && git merge -q -s ours -m x1 clash && git checkout -q clash \
         && git merge -q -s ours -m x2 8f9bb9d369da6b76a32a2ff865a1eba9f8818a96 && git checkout -q main",
    );
    assert_eq!(git(&repo, &["merge-base", "--all", "feature", "clash"]).len(), 82, "two of them");
    let names = ["main", "feature", "clash", "v1", "v2", "HEAD~2", "island", "merged-old"];
    for a in names {
        for b in names {
            let ask = Ask::MergeBase(MergeBase { a: a.to_owned(), b: b.to_owned() });
            let Ok(Reply::MergeBase(found)) = worker.ask(ask) else { panic!("{a} {b}") };
            assert_eq!(found.id, git_line(&repo, &["merge-base", a, b]), "{a} {b}");
        }
    }
    let ask = |b: &str| Ask::MergeBase(MergeBase { a: "main".to_owned(), b: b.to_owned() });
    refused(worker.ask(ask("nosuch")), Reason::NoSuchRevision, "a revision");
    refused(worker.ask(ask("HEAD:a.txt")), Reason::BadArgument, "a file");
}

#[test]
fn remotes_are_listed_without_their_secrets() {
    let (temp, repo, mut worker) = recorded();
    let origin = temp.path().canonicalize().expect("it is there").join("origin.git");
    shell(
        &repo,
        "git config url.https://rewritten.invalid/.insteadOf https://example.invalid/ \
         && git config remote.backup.partialclonefilter blob:none && git config remote.bare.fetch +refs/heads/*:refs/x/* \
         && git config remote.two.url https://one.invalid/ && git config --add remote.two.url https://two.invalid/",
    );
    let Ok(Reply::Remotes(found)) = worker.ask(Ask::Remotes) else { panic!("another answer") };
    let rows: Vec<_> = found.remotes.iter().map(|row| (row.name.as_str(), row.url.as_deref())).collect();
    let right = [
        ("backup", Some("https://user:***@example.invalid/x/y.git")),
        ("bare", None),
        ("origin", origin.to_str()),
        ("two", Some("https://one.invalid/")),
    ];
    assert_eq!((rows.as_slice(), found.total), (&right[..], 4));
}

#[test]
fn a_snapshot_has_its_full_id_and_all_its_rows_and_history_the_author_s_own_time() {
    let (_temp, repo, mut worker) = recorded();
    shell(&repo, "echo s >> a.txt && git add a.txt && echo u >> a.txt && mkdir u && echo 1 > u/1 && echo 2 > u/2");
    let brief = worker.brief().expect("a repository");
    assert_eq!(brief.head.id.as_deref(), Some(direct_repository::MAIN));
    assert_eq!((brief.working_tree.staged, brief.working_tree.unstaged, brief.working_tree.rows), (1, 1, 2));
    let page = Page { limit: 2, chars: ALL, cursor: None };
    let only = bulkhead_ipc::edge::asks::Commits {
        range: Some("HEAD".to_owned()),
        path: None,
        follow: false,
        author: None,
        grep: None,
        since: None,
        until: None,
    };
    let Ok(Reply::History(history)) = worker.ask(Ask::History(History { page, only: Box::new(only) })) else {
        panic!("another answer")
    };
    let dates: Vec<_> = history.commits.iter().map(|commit| commit.author_date.as_str()).collect();
    assert_eq!(dates, ["2023-11-15T05:13:20+02:00", "2023-11-15T02:13:20+02:00"]);
}

#[test]
fn a_bare_repository_has_trees_and_no_index() {
    let (temp, _repo, _worker) = recorded();
    let mut bare = start(&temp.path().join("origin.git"), &Operator::default()).expect("a repository");
    assert_eq!(shown(&mut bare, "main", "a.txt", ALL).total, 29);
    assert_eq!(list_of(list(&mut bare, Some("main"), ALL)).total, 16);
    refused(list(&mut bare, None, ALL), Reason::Bare, "an index");
    refused(show(&mut bare, ":0", "a.txt", ALL), Reason::Bare, "an index");
    refused(bare.ask(Ask::Unmerged { chars: ALL }), Reason::Bare, "an index");
}

#[test]
fn a_diff_against_the_empty_tree_is_what_an_unborn_branch_has() {
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let dir = temp.path().canonicalize().expect("it is there");
    shell(&dir, "git init -q -b trunk . && printf 'x\\n' > f && git add f && printf 'y\\n' >> f && echo u > u");
    let mut worker = start(&dir, &Operator::default()).expect("a repository");
    let brief = worker.brief().expect("a repository");
    assert_eq!((brief.head.id, brief.head.branch.as_deref(), brief.working_tree.rows), (None, Some("trunk"), 2));
    let empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
    let ask = all_of(empty, None);
    let Ok(Reply::TextDiff(diff)) = worker.ask(Ask::TextDiff(ask)) else { panic!("another answer") };
    assert_eq!(diff.diff.as_bytes(), git(&dir, &["diff", "-M", empty]));
    assert_eq!(diff.total_files, 1);
}

/// The diff of everything against `base`.
fn all_of(base: &str, context: Option<u32>) -> TextDiff {
    TextDiff {
        compared: Compared { base: Some(base.to_owned()), ..Compared::default() },
        repo_path: String::new(),
        paths: Vec::new(),
        staged: false,
        context,
        ignore_whitespace: false,
        stat: false,
        max_bytes: 10_000,
        max_lines: None,
        page: Page { limit: 100, chars: ALL, cursor: None },
    }
}

#[test]
fn the_repository_says_how_many_lines_stand_around_a_change_unless_the_caller_does() {
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let dir = temp.path().canonicalize().expect("it is there");
    shell(&dir, "git init -q . && seq 30 > f && git add f && git -c user.name=a -c user.email=a@b commit -qm c");
    shell(&dir, "sed -i 15s/.*/x/ f");
    for (configured, asked, options) in [
        ("0", None, vec!["diff", "HEAD"]),
        ("1", None, vec!["diff", "HEAD"]),
        ("1", Some(5), vec!["diff", "-U5", "HEAD"]),
        ("4000000000", None, vec!["diff", "-U100", "HEAD"]),
        ("-1", None, vec!["diff", "-U3", "HEAD"]),
    ] {
        // git itself fails on what is no number of lines, so it is asked before
        shell(&dir, "git config --unset-all diff.context || true");
        if asked.is_none() && options.len() == 2 {
            shell(&dir, &format!("git config diff.context {configured}"));
        }
        let wanted = git(&dir, &options);
        shell(&dir, &format!("git config diff.context {configured}"));
        let mut worker = start(&dir, &Operator::default()).expect("a repository");
        let Ok(Reply::TextDiff(diff)) = worker.ask(Ask::TextDiff(all_of("HEAD", asked))) else {
            panic!("another answer")
        };
        let shown = String::from_utf8_lossy(&wanted).into_owned();
        assert_eq!(diff.diff, shown, "diff.context {configured}, asked {asked:?}");
    }
}
