//! Repositories that try to have a program run: hooks, configuration, filters, promisor remotes.
//! Trust: hostile by construction.

use super::{Attack, MARKER, support::*};
use serde_json::json;
use std::{fs, os::unix::fs::PermissionsExt as _};

/// Hooks that git would run on one occasion or another.
const HOOKS: &[&str] = &[
    "pre-commit",
    "post-checkout",
    "post-merge",
    "post-index-change",
    "reference-transaction",
    "fsmonitor-watchman",
    "pre-auto-gc",
    "post-rewrite",
    "prepare-commit-msg",
    "commit-msg",
    "pre-push",
    "update",
    "post-commit",
];

/// Configuration keys whose value git starts as a program.
const KEYS: &[&str] = &[
    "core.fsmonitor",
    "core.pager",
    "core.editor",
    "core.sshCommand",
    "core.askPass",
    "core.alternateRefsCommand",
    "core.gitProxy",
    "diff.external",
    "pager.log",
    "pager.diff",
    "pager.show",
    "gpg.program",
    "gpg.ssh.program",
    "credential.helper",
    "uploadpack.packObjectsHook",
    "sequence.editor",
    "interactive.diffFilter",
    "merge.x.driver",
    "diff.x.textconv",
    "diff.x.command",
    "filter.x.clean",
    "filter.x.smudge",
    "filter.x.process",
    "trailer.x.command",
    "web.browser",
    "browser.x.cmd",
    "man.x.cmd",
    "difftool.x.cmd",
    "remote.origin.vcs",
    "submodule.s.update",
];

#[test]
fn every_hook() {
    let mut attack = Attack::new();
    let repo = Repo::honest(&attack.place, "repo");
    for hook in HOOKS {
        let path = repo.git_dir().join("hooks").join(hook);
        fs::create_dir_all(path.parent().expect("it has one")).expect("the place is ours");
        fs::write(&path, format!("#!/bin/sh\ntouch '{}'\n", attack.place.at(MARKER).display())).expect("it is ours");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    }
    repo.append("a.txt", "changed\n");
    attack.aim(repo.path().to_owned());
    attack.run().all_answered("repo");
}

#[test]
fn every_configuration_key_that_names_a_program() {
    let mut attack = Attack::new();
    let repo = Repo::honest(&attack.place, "repo");
    let run = format!("sh -c 'touch {}'", attack.place.at(MARKER).display());
    for key in KEYS {
        repo.git(&["config", key, &run]);
    }
    for (key, value) in [
        ("alias.log", format!("!touch {}", attack.place.at(MARKER).display())),
        ("log.showSignature", "true".into()),
        ("core.hooksPath", attack.place.at("hooks").display().to_string()),
        ("filter.x.required", "true".into()),
        ("remote.origin.url", format!("ext::{run}")),
        ("protocol.ext.allow", "always".into()),
        ("gc.auto", "1".into()),
        ("maintenance.auto", "true".into()),
    ] {
        repo.git(&["config", key, &value]);
    }
    repo.write(".gitattributes", "* diff=x filter=x merge=x\n");
    fs::create_dir_all(repo.git_dir().join("info")).expect("the place is ours");
    fs::write(repo.git_dir().join("info/attributes"), "* diff=x filter=x merge=x\n").expect("the place is ours");
    repo.append("a.txt", "changed\n");
    let path = repo.path().to_owned();
    attack.aim(&path);
    // the second time the worker is warm and the index has been looked at
    attack.aim(&path);
    let report = attack.run();
    report.all_answered("repo");
    let entries = report.on("repo")[1].data()["entries"].clone();
    let changed = entries.as_array().expect("rows").iter().find(|row| row["path"] == "a.txt").expect("it is changed");
    assert_eq!(changed["status"], " M");
    assert_eq!(changed["filtered"], json!(true), "a row that a filter might have changed says so: {changed}");
}

#[test]
fn a_submodules_own_configuration() {
    let mut attack = Attack::new();
    let part = Repo::honest(&attack.place, "part");
    let repo = Repo::honest(&attack.place, "repo");
    repo.git(&["submodule", "--quiet", "add", part.path().to_str().expect("UTF-8"), "sub"]);
    repo.commit("with a submodule");
    let inner = Repo::open(&attack.place, repo.at("sub"));
    let run = format!("sh -c 'touch {}; cat'", attack.place.at(MARKER).display());
    for key in ["core.fsmonitor", "filter.x.clean", "filter.x.process"] {
        inner.git(&["config", key, &run]);
    }
    inner.write(".gitattributes", "* filter=x\n");
    inner.append("a.txt", "changed\n");
    attack.aim(repo.path().to_owned());
    attack.run().all_answered("repo");
}

#[test]
fn a_promisor_remote() {
    let mut attack = Attack::new();
    for (name, url) in [
        ("command", format!("ext::sh -c 'touch {}'", attack.place.at(MARKER).display())),
        ("network", "http://127.0.0.1:9/".to_owned()),
    ] {
        let repo = Repo::honest(&attack.place, format!("promised-{name}"));
        for (key, value) in [
            ("core.repositoryformatversion", "1"),
            ("extensions.partialClone", "origin"),
            ("remote.origin.url", &url),
            ("remote.origin.promisor", "true"),
            ("protocol.ext.allow", "always"),
        ] {
            repo.git(&["config", key, value]);
        }
        let blob = repo.git(&["rev-parse", "HEAD:a.txt"]);
        let tree = repo.git(&["rev-parse", "HEAD~1^{tree}"]);
        for id in [blob, tree] {
            fs::remove_file(repo.git_dir().join("objects").join(&id[..2]).join(&id[2..])).expect("it is loose");
        }
        objects::set_ref(&repo.git_dir(), "refs/heads/missing", format!("{}\n", "9".repeat(40)));
        repo.git(&["config", "branch.main.remote", "."]);
        repo.git(&["config", "branch.main.merge", "refs/heads/missing"]);
        repo.append("a.txt", "changed\n");
        attack.aim(repo.path().to_owned());
    }
    let report = attack.run();
    for name in ["promised-command", "promised-network"] {
        report.answered_or(name, &["object-missing"]);
    }
}
