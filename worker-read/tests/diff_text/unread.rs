//! Files of attributes that are too large to be read, or that nobody lets us read: what they say does not count, and answers
//! say so.
//! Trust: test code.

use crate::{
    answer, ask,
    support::{Operator, git, shell, start, without_rights},
};
use bulkhead_contract::results::Partial;
use bulkhead_ipc::edge::{
    asks,
    read::{Ask, Page, Reply},
};
use std::{fs, path::Path};

/// Longer than is read of one.
fn long(rules: &str) -> String {
    "# comment\n".repeat(120_000) + rules
}

fn told(partial: Option<Partial>) -> Option<String> {
    partial.map(|partial| {
        assert_eq!(partial.reason, "unreadable");
        partial.details
    })
}

/// What the answers about the two commits say: the text, its files, and the details of the second.
fn answers(top: &Path) -> [Option<String>; 3] {
    let mut worker = start(top, &Operator::default()).expect("readable");
    let compared = |stat| asks::TextDiff { stat, ..ask(Some("HEAD~1"), Some("HEAD")) };
    let text = answer(&mut worker, compared(false)).partial;
    let files = answer(&mut worker, compared(true)).partial;
    let page = Page { limit: 100, chars: 100_000, cursor: None };
    let details = match worker.try_ask(Ask::CommitDetails(asks::CommitDetails { commit: "HEAD".to_owned(), page })) {
        Some(Ok(Reply::CommitDetails(details))) => details.partial,
        other => panic!("details expected, not {other:?}"),
    };
    [text, files, details].map(told)
}

#[test]
fn a_file_of_attributes_that_is_too_large_is_named_by_diffs_between_commits() {
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let top = temp.path().canonicalize().expect("it is there");
    shell(
        &top,
        "git init -q -b main; mkdir sub other; echo 1 > sub/a.txt; echo 1 > other/b.txt; git add .; git commit -qm one
         echo 2 > sub/a.txt; git add .; git commit -qm two",
    );
    let none = [None, None, None];
    assert_eq!(answers(&top), none);
    let rules = "*.txt -diff\n";
    // where nothing changed, it says nothing of the answer
    fs::write(top.join("other/.gitattributes"), long(rules)).expect("writable");
    assert_eq!(answers(&top), none);
    for name in ["sub/.gitattributes", ".gitattributes", ".git/info/attributes"] {
        let path = top.join(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("writable");
        fs::write(&path, long(rules)).expect("writable");
        let wanted = Some(format!("At least {name} could not be read and was left out."));
        assert_eq!(answers(&top), [wanted.clone(), wanted.clone(), wanted.clone()], "{name}");
        if !name.starts_with(".git/") {
            // in the index, and not checked out
            git(&top, &["add", name]);
            fs::remove_file(&path).expect("ours");
            assert_eq!(answers(&top), [wanted.clone(), wanted.clone(), wanted], "{name} in the index");
            git(&top, &["rm", "-q", "--cached", name]);
        }
        fs::write(&path, rules).expect("writable");
        assert_eq!(answers(&top), none, "{name} as long as one may be");
        fs::remove_file(&path).expect("ours");
    }
}

#[test]
fn a_file_of_attributes_that_our_rights_do_not_reach_is_named() {
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let top = temp.path().canonicalize().expect("it is there");
    shell(
        &top,
        "git init -q -b main; echo 1 > a.txt; git add .; git commit -qm one; echo 2 > a.txt; git add .; git commit -qm two
         chmod -R a+rX .; echo '*.txt -diff' > .gitattributes; chmod 0 .gitattributes",
    );
    let wanted = Some("At least .gitattributes could not be read and was left out.".to_owned());
    without_rights(|| assert_eq!(answers(&top), [wanted.clone(), wanted.clone(), wanted.clone()]));
}
