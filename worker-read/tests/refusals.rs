//! Repositories that lead elsewhere, block, or belong to others are refused by name, and nothing of theirs is told.
//! Trust: test only.
#![cfg(unix)]

mod support;

use bulkhead_contract::failure::{ReadFailure, Reason};
use bulkhead_ipc::edge::read::Ask;
use std::{fs, os::unix::fs::symlink, path::Path};
use support::{Operator, command, git, shell, start, without_rights};

const SECRET: &str = "TOP-SECRET-CANARY";

struct Place {
    temp: tempfile::TempDir,
}

impl Place {
    /// `repo`, honest so far, and beside it `victim`, which no answer may know of.
    fn new() -> Self {
        let temp = tempfile::tempdir().expect("a writable temporary directory");
        let make =
            "git init -q -b main $r; cd $r; echo a > a.txt; git add .; git commit -qm one; git branch side; cd ..";
        shell(temp.path(), &format!("for r in repo victim; do {make}; done"));
        shell(
            &temp.path().join("victim"),
            &format!(
                "echo {SECRET} > secret.txt; git add .; git commit -qm {SECRET}-commit; git branch {SECRET}-branch"
            ),
        );
        Self { temp }
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        fs::canonicalize(self.temp.path()).expect("it is there").join(name)
    }

    fn refused(&self) -> ReadFailure {
        refused(&self.at("repo"), &Operator { ceilings: vec![self.at("repo")], ..Operator::default() })
    }
}

fn refused(path: &Path, operator: &Operator) -> ReadFailure {
    let failure = match start(path, operator) {
        Ok(_) => panic!("{} must be refused", path.display()),
        Err(failure) => failure,
    };
    assert!(!failure.details.contains(SECRET), "{failure:?}");
    let outside = std::env::temp_dir().display().to_string();
    assert!(!failure.details.contains(&outside), "no path of the system: {failure:?}");
    failure
}

fn only(reason: Reason, failure: &ReadFailure) {
    assert_eq!(failure.reason, reason, "{failure:?}");
}

#[test]
fn a_path_outside_the_ceilings_is_the_same_whether_it_exists_or_not() {
    let place = Place::new();
    let operator = Operator { ceilings: vec![place.at("repo")], ..Operator::default() };
    only(Reason::OutsideRoots, &refused(&place.at("victim"), &operator));
    only(Reason::OutsideRoots, &refused(&place.at("no-such"), &operator));
    only(Reason::NoSuchPath, &refused(&place.at("repo/no-such"), &operator));
    only(Reason::NoSuchPath, &refused(&place.at("repo/a.txt"), &operator));
    symlink(place.at("victim"), place.at("repo/link")).expect("possible");
    only(Reason::OutsideRoots, &refused(&place.at("repo/link"), &operator));
}

#[test]
fn discovery_never_climbs_above_the_ceiling() {
    let place = Place::new();
    fs::create_dir(place.at("repo/sub")).expect("writable");
    let operator = Operator { ceilings: vec![place.at("repo/sub")], ..Operator::default() };
    only(Reason::NotARepository, &refused(&place.at("repo/sub"), &operator));
}

#[test]
fn a_git_file_or_link_that_leads_out_is_refused() {
    let place = Place::new();
    fs::remove_dir_all(place.at("repo/.git")).expect("there");
    for text in [
        format!("gitdir: {}\n", place.at("victim/.git").display()),
        "gitdir: ../victim/.git\n".to_owned(),
        "gitdir: no/such/place\n".to_owned(),
    ] {
        fs::write(place.at("repo/.git"), &text).expect("writable");
        let failure = place.refused();
        only(Reason::Redirected, &failure);
        assert_eq!(failure.details.contains("another --root"), text.contains("victim"), "what to do: {failure:?}");
    }
    fs::write(place.at("repo/.git"), format!("gitdir: {}", "/x".repeat(40_000))).expect("writable");
    only(Reason::TooLarge, &place.refused());
    fs::write(place.at("repo/.git"), "something else\n").expect("writable");
    only(Reason::Corrupt, &place.refused());
    fs::remove_file(place.at("repo/.git")).expect("there");
    symlink(place.at("victim/.git"), place.at("repo/.git")).expect("possible");
    only(Reason::Redirected, &place.refused());
}

#[test]
fn what_discovery_passes_over_does_not_make_a_path_move() {
    let place = Place::new();
    shell(
        &place.at("repo"),
        "mkdir -p empty/.git/x head/.git/x; : > head/.git/HEAD; mkdir link; ln -s nowhere link/.git",
    );
    let operator = Operator { ceilings: vec![place.at("")], ..Operator::default() };
    for asked in ["repo/empty", "repo/empty/.git", "repo/empty/.git/x", "repo/head/.git/x", "repo/link"] {
        let mut worker = start(&place.at(asked), &operator).expect("the repository above");
        assert_eq!(worker.brief().expect("not moved").recent_commits.len(), 1, "{asked}");
    }
    let mut worker = start(&place.at("repo/empty"), &operator).expect("the repository above");
    shell(&place.at("repo/empty"), "git init -q");
    assert!(worker.try_ask(Ask::SelfProbe).is_none(), "a repository that came up is another one");
}

#[test]
fn what_our_rights_do_not_reach_is_said_to_be_so() {
    for make in [
        "chmod 0 .git",
        "chmod 0 .",
        "echo 'gitdir: x' > sub/.git; chmod 0 sub/.git",
        "mkdir sub/.git; chmod 0 sub/.git",
        "chmod 0 sub",
        "mkdir sub/private; mv .git sub/private/; ln -s sub/private/.git .git; chmod 0 sub/private",
    ] {
        let place = Place::new();
        shell(&place.at(""), "chmod 755 . repo; mkdir repo/sub");
        shell(&place.at("repo"), make);
        let asked = if make.contains("sub/.git") { place.at("repo/sub") } else { place.at("repo") };
        let asked = if make == "chmod 0 sub" { asked.join("sub") } else { asked };
        let operator = Operator { ceilings: vec![place.at("repo")], ..Operator::default() };
        let failure = without_rights(|| refused(&asked, &operator));
        only(Reason::PermissionDenied, &failure);
        assert!(failure.details.contains("own rights do not reach"), "{make}: {failure:?}");
        assert_eq!(failure.details.contains("no capabilities"), nix::unistd::geteuid().is_root(), "{failure:?}");
        shell(&place.at(""), "chmod -R u+rwX repo");
    }
}

#[test]
fn a_linked_worktree_that_is_not_named_back_is_refused() {
    let place = Place::new();
    shell(&place.at(""), "git -C victim worktree add -q ../linked");
    let text = fs::read_to_string(place.at("linked/.git")).expect("a file");
    fs::remove_dir_all(place.at("repo/.git")).expect("there");
    fs::write(place.at("repo/.git"), text).expect("writable");
    let operator = Operator { ceilings: vec![place.at("")], ..Operator::default() };
    only(Reason::Redirected, &refused(&place.at("repo"), &operator));
    assert!(start(&place.at("linked"), &operator).is_ok(), "the one that is named back is read");
}

#[test]
fn core_worktree_and_alternates_that_lead_out_are_refused() {
    let place = Place::new();
    let repo = place.at("repo");
    for value in [place.at("victim").display().to_string(), "/".to_owned(), "../..".to_owned()] {
        git(&repo, &["config", "core.worktree", &value]);
        let failure = place.refused();
        only(Reason::Redirected, &failure);
        assert_eq!(failure.path.as_ref().map(|(path, _)| path.as_str()), Some(".git/config"));
        assert!(failure.details.contains("does not read repositories whose core.worktree"), "{failure:?}");
    }
    git(&repo, &["config", "--unset", "core.worktree"]);
    let alternates = place.at("repo/.git/objects/info/alternates");
    fs::write(&alternates, format!("{}\n", place.at("victim/.git/objects").display())).expect("writable");
    only(Reason::Redirected, &place.refused());
    fs::write(&alternates, "../objects\n").expect("writable");
    only(Reason::Corrupt, &place.refused());
    fs::write(&alternates, "/no/such/place\n").expect("writable");
    let operator = Operator { ceilings: vec![repo.clone()], ..Operator::default() };
    assert!(start(&repo, &operator).is_ok(), "alternates that lead nowhere are passed over");
    fs::write(&alternates, "x".repeat(70_000)).expect("writable");
    only(Reason::TooLarge, &place.refused());
}

#[test]
fn links_inside_the_git_directory_that_lead_out_are_refused() {
    for name in ["packed-refs", "index", "config", "HEAD", "info", "logs", "objects", "refs"] {
        let place = Place::new();
        git(&place.at("victim"), &["pack-refs", "--all"]);
        let path = place.at("repo/.git").join(name);
        let _ = fs::remove_dir_all(&path);
        let _ = fs::remove_file(&path);
        symlink(place.at("victim/.git").join(name), &path).expect("possible");
        only(Reason::Redirected, &place.refused());
    }
}

#[test]
fn a_reference_that_is_a_link_or_a_fifo_does_not_pass_for_an_unborn_branch() {
    for (name, make, reason) in [
        ("refs/heads/main", "link", Reason::Redirected),
        ("refs/heads", "link", Reason::Redirected),
        ("refs/heads/main", "fifo", Reason::SpecialFile),
    ] {
        let place = Place::new();
        let path = place.at("repo/.git").join(name);
        let _ = fs::remove_dir_all(&path);
        let _ = fs::remove_file(&path);
        if make == "link" {
            symlink(place.at("victim/.git").join(name), &path).expect("possible");
        } else {
            assert!(command("mkfifo").arg(&path).status().expect("mkfifo").success());
        }
        let operator = Operator { ceilings: vec![place.at("repo")], ..Operator::default() };
        let failure = start(&place.at("repo"), &operator).expect("the rest is sound").status().expect_err("refused");
        assert_eq!(failure.reason, reason, "{name} as a {make}: {}", failure.details);
    }
}

#[test]
fn special_files_are_refused_and_never_opened() {
    for name in [
        "HEAD",
        "packed-refs",
        "config",
        "index",
        "objects/info/alternates",
        "info/exclude",
        "shallow",
        "objects/pack/x.idx",
    ] {
        let place = Place::new();
        let path = place.at("repo/.git").join(name);
        let _ = fs::remove_file(&path);
        fs::create_dir_all(path.parent().expect("beneath .git")).expect("writable");
        assert!(command("mkfifo").arg(&path).status().expect("mkfifo").success());
        only(Reason::SpecialFile, &place.refused());
    }
    let place = Place::new();
    fs::remove_dir_all(place.at("repo/.git")).expect("there");
    assert!(command("mkfifo").arg(place.at("repo/.git")).status().expect("mkfifo").success());
    only(Reason::SpecialFile, &place.refused());
}

#[test]
fn special_files_in_the_worktree_are_rows_at_most() {
    let place = Place::new();
    shell(
        &place.at("repo"),
        "mkfifo pipe .gitattributes; rm a.txt; mkfifo a.txt; ln -s /dev/zero zero; ln -s /proc/self/fd/0 stdin
         mkdir sub; mkfifo sub/.gitignore; echo x > sub/x; mkfifo .git/refs/heads/p .git/logs/refs/stash 2>/dev/null || true",
    );
    let operator = Operator { ceilings: vec![place.at("repo")], ..Operator::default() };
    let status = start(&place.at("repo"), &operator).expect("readable").status().expect("readable");
    let rows: Vec<_> = status.entries.iter().map(|row| (row.status.as_str(), row.path.as_str())).collect();
    assert_eq!(rows, [(" M", "a.txt"), ("??", "stdin"), ("??", "sub/"), ("??", "zero")]);
}

#[test]
fn a_bare_repository_is_read_by_its_own_name_and_not_inside_another() {
    let place = Place::new();
    shell(&place.at(""), "git clone -q --bare repo bare.git; git init -q --bare repo/planted");
    let operator = Operator { ceilings: vec![place.at("")], ..Operator::default() };
    let mut bare = start(&place.at("bare.git"), &operator).expect("readable");
    let brief = bare.brief().expect("bare repositories have a brief");
    assert!(brief.working_tree.bare && brief.working_tree.clean);
    assert_eq!(brief.recent_commits.len(), 1);
    only(Reason::Bare, &bare.status().expect_err("there is no working tree"));
    only(Reason::Bare, &bare.changes().expect_err("there is no working tree"));
    only(Reason::Redirected, &refused(&place.at("repo/planted"), &operator));
    let below = start(&place.at("repo/planted/objects"), &operator).expect("the outer repository");
    let found = below.ready.repository.as_ref().expect("with a path").canonical.clone();
    assert!(found.ends_with(b"/repo"), "{}", String::from_utf8_lossy(&found));
}

#[test]
fn formats_that_cannot_be_read_are_refused_by_name() {
    let cases: [&[(&str, &str)]; 4] = [
        &[("core.repositoryformatversion", "1"), ("extensions.refStorage", "reftable")],
        &[("core.repositoryformatversion", "99")],
        &[("core.repositoryformatversion", "1"), ("extensions.zzz", "1")],
        &[("core.repositoryformatversion", "1"), ("extensions.objectFormat", "sha3")],
    ];
    for case in cases {
        let place = Place::new();
        for (key, value) in case {
            // Git itself does not go on once the version is unknown
            git(&place.at(""), &["config", "--file", "repo/.git/config", key, value]);
        }
        only(Reason::UnsupportedFormat, &place.refused());
    }
}

#[test]
fn grafts_are_refused_and_a_file_that_holds_none_is_not() {
    let place = Place::new();
    let repo = place.at("repo");
    let file = repo.join(".git/info/grafts");
    fs::write(&file, "# none\n\n").expect("writable");
    let operator = Operator { ceilings: vec![repo.clone()], ..Operator::default() };
    assert!(start(&repo, &operator).is_ok(), "no graft in it");
    shell(&repo, "git commit -q --allow-empty -m two; git rev-parse HEAD >> .git/info/grafts");
    let failure = place.refused();
    only(Reason::UnsupportedFormat, &failure);
    assert_eq!(failure.path.expect("named").0, ".git/info/grafts");
}

#[test]
fn an_index_that_lies_is_corrupt() {
    let place = Place::new();
    let index = place.at("repo/.git/index");
    let whole = fs::read(&index).expect("there");
    let mut count = whole.clone();
    count[8..12].copy_from_slice(&[0xff; 4]);
    let mut flipped = whole.clone();
    let middle = whole.len() / 2;
    flipped[middle] ^= 0xff;
    for bytes in [count, flipped, whole[..whole.len() - 30].to_vec(), b"DIRC".to_vec(), Vec::new()] {
        fs::write(&index, &bytes).expect("writable");
        let operator = Operator { ceilings: vec![place.at("repo")], ..Operator::default() };
        let failure = start(&place.at("repo"), &operator).expect("it opens").status().expect_err("the index lies");
        only(Reason::Corrupt, &failure);
    }
}

#[test]
fn a_head_that_climbs_or_is_junk_is_corrupt_and_bad_refs_hide_nothing() {
    let place = Place::new();
    let operator = Operator { ceilings: vec![place.at("repo")], ..Operator::default() };
    let tip = String::from_utf8(git(&place.at("repo"), &["rev-parse", "HEAD"])).expect("hex");
    let tip = tip.trim();
    fs::remove_file(place.at("repo/.git/refs/heads/main")).expect("loose");
    fs::write(
        place.at("repo/.git/packed-refs"),
        format!("{tip} refs/heads/../../config\nnothex refs/heads/z\n{tip} refs/heads/main\n{tip} refs/heads/.lock\n"),
    )
    .expect("writable");
    let status = start(&place.at("repo"), &operator).expect("readable").status().expect("one bad line hides no other");
    assert_eq!(status.head.as_deref(), Some(tip));
    for (head, reason) in [
        (&b"ref: ../../../etc/passwd\n"[..], Reason::Corrupt),
        (b"ref: refs/heads/../../config\n", Reason::Corrupt),
        (&[0xab; 100_000], Reason::TooLarge),
    ] {
        fs::write(place.at("repo/.git/HEAD"), head).expect("writable");
        let failure = start(&place.at("repo"), &operator).expect("it opens").status().expect_err("HEAD is junk");
        only(reason, &failure);
    }
}

#[test]
fn an_owner_who_is_not_trusted_is_refused_with_the_flag_that_would_allow_it() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let place = Place::new();
    shell(&place.at(""), "chown -R 65534:65534 repo/.git");
    let failure = place.refused();
    only(Reason::UntrustedOwner, &failure);
    assert!(failure.details.contains("--trust-owner 65534"), "{failure:?}");
    let mut operator = Operator { ceilings: vec![place.at("repo")], ..Operator::default() };
    operator.trust.uids = vec![65534];
    assert!(start(&place.at("repo"), &operator).is_ok());
    operator.trust.uids.clear();
    fs::write(place.at(".gitconfig"), format!("[safe]\n\tdirectory = {}\n", place.at("repo").display()))
        .expect("writable");
    operator.home = Some(place.at(""));
    assert!(start(&place.at("repo"), &operator).is_ok());
}

#[test]
fn nothing_that_the_configuration_names_is_run_or_read() {
    let place = Place::new();
    let repo = place.at("repo");
    shell(
        &repo,
        "printf '#!/bin/sh\\necho ran >> ../PWNED\\ncat\\n' > ../run; chmod +x ../run
         printf '* diff=x filter=x merge=x\\n' > .git/info/attributes
         for k in filter.x.clean filter.x.smudge filter.x.process diff.x.textconv diff.external core.fsmonitor gpg.program \\
           core.sshCommand core.pager core.hooksPath log.showSignature core.excludesFile; do git config $k \"$PWD/../run\"; done
         git config status.showUntrackedFiles no; git config color.status always; git config log.date bad
         git config include.path ../../outside; printf '[core]\\n\\tbare = true\\n' > ../outside
         echo changed > a.txt; echo new > new",
    );
    let operator = Operator { ceilings: vec![repo.clone()], ..Operator::default() };
    let mut worker = start(&repo, &operator).expect("readable");
    let status = worker.status().expect("readable");
    let rows: Vec<_> =
        status.entries.iter().map(|row| (row.status.as_str(), row.path.as_str(), row.filtered)).collect();
    assert_eq!(rows, [(" M", "a.txt", true), ("??", "new", false)]);
    worker.brief().expect("readable");
    assert!(!place.at("PWNED").exists(), "a program ran");
}
