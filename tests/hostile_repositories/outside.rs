//! Repositories that try to have something outside of them read: redirects, links, includes, alternates.
//! Trust: hostile by construction.

use super::{
    attack,
    support::{hostile::outside as build, hostile::programs, *},
};
use serde_json::json;
use std::fs;

/// Reasons for which something that leads out is refused.
const OUT: &[&str] = &["redirected", "outside-roots"];

#[test]
fn includes_that_lead_out_or_never_end() {
    let report = attack(build::includes);
    report.all_answered("repo");
    report.all_answered("waiting");
}

#[test]
fn alternates_that_lead_out() {
    let reasons = &["redirected", "outside-roots", "object-missing", "corrupt"];
    attack(build::alternates_out).answered_or("repo", reasons);
}

#[test]
fn alternates_in_a_circle_and_in_a_long_chain() {
    let report = attack(build::alternates_without_end);
    report.answered_or("repo", &["redirected", "corrupt", "too-large"]);
    report.answered_or("chain", &["redirected", "corrupt", "too-large"]);
}

#[test]
fn git_files_that_lead_out() {
    let report = attack(build::git_files);
    report.all_refused("absolute", OUT);
    report.all_refused("relative", OUT);
    report.all_refused("long", &["redirected", "outside-roots", "too-large", "corrupt", "not-a-repository"]);
    report.all_refused("fifo", &["special-file"]);
    report.all_refused("directory", &["not-a-repository", "corrupt", "special-file"]);
}

#[test]
fn a_common_directory_that_is_somebody_elses() {
    let report = attack(build::common_directory);
    report.all_refused("common", OUT);
    report.all_refused("whole", OUT);
}

#[test]
fn a_worktree_that_lies_elsewhere() {
    let report = attack(build::worktree_elsewhere);
    for name in ["elsewhere", "everything", "above"] {
        report.all_refused(name, OUT);
    }
}

#[test]
fn a_git_directory_that_is_a_link() {
    attack(build::git_directory_is_a_link).all_refused("repo", OUT);
}

#[test]
fn a_path_to_a_repository_that_is_a_link_out() {
    attack(build::repository_is_a_link).all_refused("link", &["outside-roots"]);
}

#[test]
fn parts_of_a_git_directory_that_are_links_out() {
    let report = attack(build::parts_are_links);
    let reasons = &["redirected", "outside-roots", "special-file", "permission-denied", "object-missing", "corrupt"];
    for name in ["repo", "part-packed-refs", "part-index", "part-config", "part-HEAD", "part-info", "part-logs"] {
        report.answered_or(name, reasons);
    }
    // HEAD and its branch say what is shown; foreign ones must not, and a branch that is there is not unborn
    report.all_refused("part-HEAD", reasons);
    report.all_refused("part-refs-heads-main", reasons);
}

#[test]
fn files_that_are_links_out() {
    attack(build::files_are_links).all_answered("repo");
}

#[test]
fn a_bare_repository_hidden_in_a_worktree() {
    attack(programs::hidden_bare).all_answered("repo");
}

#[test]
fn very_many_repositories_that_are_refused_keep_no_worker_from_others() {
    let place = Place::new();
    let honest = Repo::honest(&place, "all/honest");
    let victim = Repo::honest(&place, "victim");
    let mut server = Start::new(&place).root(place.at("all")).spawn();
    // each refusal takes a worker of its own, and the launcher starts only so many a second
    let asked: Vec<_> = (0..240)
        .map(|n| {
            let path = place.at(format!("all/r{n}"));
            fs::create_dir_all(&path).expect("ours");
            fs::write(path.join(".git"), format!("gitdir: {}\n", victim.git_dir().display())).expect("ours");
            server.ask("repo.status", json!({"repoPath": path.to_str().expect("places have UTF-8 paths")}))
        })
        .collect();
    let last = server.read("repo.status", honest.path());
    assert!(last.is_ok(), "{}", last.message);
    for id in asked {
        server.answer(&id).expect_refused("a repository elsewhere", &["redirected", "outside-roots"]);
    }
}
