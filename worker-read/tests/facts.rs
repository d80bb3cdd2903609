//! What a person is told of a proposal is what git says of the same repository.
//! Trust: test only.
#![cfg(unix)]

mod support;

use bulkhead_contract::results::Facts;
use bulkhead_ipc::edge::{
    asks::{self, Concerned, Lost, Trial},
    read::{Ask, Reply},
};
use support::{Operator, Worker, git_line, shell, start};

fn facts(worker: &mut Worker, ask: asks::Facts) -> Facts {
    match worker.ask(Ask::Facts(Box::new(ask))) {
        Ok(Reply::Facts(facts)) => *facts,
        other => panic!("another answer: {other:?}"),
    }
}

#[test]
fn ids_conflicts_losses_and_commits_are_git_s() {
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path().canonicalize().expect("it is there");
    shell(
        &dir,
        "git init -q -b main . && echo a > a && echo k > kept && git add . && git commit -qm one \
         && git checkout -qb side && echo s > a && git commit -qam side && echo t > b && git add b && git commit -qm more \
         && git checkout -q main && echo m > a && git commit -qam main && git tag -am t v1 \
         && echo changed > a && echo new > untracked && mkdir d && echo x > d/x && git add d/x",
    );
    let mut worker = start(&dir, &Operator::default()).expect("a repository");
    let line = |args: &[&str]| git_line(&dir, args);
    let names = ["main", "v1", "HEAD~1", "nowhere"].map(str::to_owned);
    let found = facts(&mut worker, asks::Facts { refs: names.to_vec(), ..asks::Facts::default() });
    assert_eq!((found.head, found.branch.as_deref()), (line(&["rev-parse", "HEAD"]), Some("main")));
    for fact in &found.refs {
        assert_eq!(fact.oid, line(&["rev-parse", "-q", "--verify", &fact.name]), "{}", fact.name);
    }
    assert_eq!(found.refs[1].commit, line(&["rev-parse", "v1^{commit}"]), "a tag leads on");
    assert_eq!((&found.refs[0].commit, &found.refs[3].commit), (&None, &None));
    assert!(found.lost.is_none() && found.preflights.is_empty() && found.commits.is_empty());

    let trial = |rebase| Trial { current: "main".into(), target: "side".into(), rebase };
    let broken = Trial { current: "main".into(), target: "nowhere".into(), rebase: false };
    let trials = vec![trial(false), trial(true), broken];
    let found = facts(&mut worker, asks::Facts { trials, ..asks::Facts::default() });
    for (fact, operation) in found.preflights.iter().zip(["merge", "rebase"]) {
        assert_eq!((fact.operation.as_str(), fact.status.as_str()), (operation, "conflicts"));
        assert_eq!((fact.conflict_count, fact.conflicting_paths.as_slice()), (1, &["a".to_owned()][..]));
        assert_eq!(fact.merge_base_oid, line(&["merge-base", "main", "side"]));
    }
    assert_eq!(found.preflights[2].status, "unknown");
    assert!(found.preflights[2].problem.as_ref().is_some_and(|problem| problem.contains("nowhere")));

    let lost = |paths: &[&str], untracked| {
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        asks::Facts { lost: Some(Lost { paths, untracked }), ..asks::Facts::default() }
    };
    for (paths, untracked, right) in [
        (&["."][..], false, &["a", "d/x"][..]),
        (&["."], true, &["a", "d/x", "untracked"]),
        (&["d/"], true, &["d/x"]),
        (&["untracked", "kept"], true, &["untracked"]),
        (&["kept"], true, &[]),
    ] {
        let found = facts(&mut worker, lost(paths, untracked)).lost.expect("it was asked");
        let names: Vec<_> = found.paths.iter().map(|path| path.path.as_str()).collect();
        assert_eq!((names.as_slice(), found.total, found.complete), (right, right.len() as u64, true), "{paths:?}");
    }

    let commits = vec![
        Concerned { tip: "side".into(), without: vec!["nowhere".into(), "main".into()] },
        Concerned { tip: "side".into(), without: vec!["nowhere".into()] },
    ];
    let found = facts(&mut worker, asks::Facts { commits, ..asks::Facts::default() });
    assert_eq!((found.commits[0].without.as_deref(), found.commits[0].total), (Some("main"), Some(2)));
    let newest: Vec<_> = found.commits[0].newest.iter().map(|commit| commit.subject.as_str()).collect();
    assert_eq!(newest, ["more", "side"]);
    assert_eq!(Some(found.commits[0].newest[0].sha.clone()), line(&["rev-parse", "side"]));
    assert_eq!((&found.commits[1].without, found.commits[1].total, found.commits[1].newest.len()), (&None, None, 0));
}
