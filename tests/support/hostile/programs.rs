//! Repositories that try to have a program run: hooks, configuration, filters, signatures, promisor remotes.
//! Trust: hostile by construction.

use super::Scene;
use crate::support::{Repo, objects};
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

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

/// A program file that leaves the marker.
fn program(scene: &Scene, path: &Path) {
    fs::create_dir_all(path.parent().expect("it has one")).expect("the place is ours");
    fs::write(path, format!("#!/bin/sh\n{}\n", scene.leave_marker())).expect("it is ours");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
}

fn attributes(repo: &Repo<'_>, text: &str) {
    fs::create_dir_all(repo.git_dir().join("info")).expect("the place is ours");
    fs::write(repo.git_dir().join("info/attributes"), text).expect("the place is ours");
}

/// Every hook, executable.
pub fn every_hook(scene: &mut Scene) {
    let repo = scene.honest("repo");
    for hook in HOOKS {
        program(scene, &repo.git_dir().join("hooks").join(hook));
    }
    repo.append("a.txt", "changed\n");
    scene.aim("repo");
}

/// Hooks in a directory that `core.hooksPath` names.
pub fn hooks_elsewhere(scene: &mut Scene) {
    let repo = scene.honest("repo");
    let hooks = scene.place.at("hooks");
    HOOKS.iter().for_each(|hook| program(scene, &hooks.join(hook)));
    repo.git(&["config", "core.hooksPath", hooks.to_str().expect("places have UTF-8 paths")]);
    repo.append("a.txt", "changed\n");
    scene.aim("repo");
}

/// Every configuration key that names a program, with attributes that lead to it.
pub fn every_key(scene: &mut Scene) {
    let repo = scene.honest("repo");
    let run = format!("sh -c \"{}\"", scene.leave_marker());
    for key in KEYS {
        repo.git(&["config", key, &run]);
    }
    for (key, value) in [
        ("alias.log", format!("!{}", scene.leave_marker())),
        ("log.showSignature", "true".into()),
        ("core.hooksPath", scene.place.at("hooks").display().to_string()),
        ("filter.x.required", "true".into()),
        ("remote.origin.url", format!("ext::{run}")),
        ("protocol.ext.allow", "always".into()),
        ("gc.auto", "1".into()),
        ("maintenance.auto", "true".into()),
    ] {
        repo.git(&["config", key, &value]);
    }
    repo.write(".gitattributes", "* diff=x filter=x merge=x\n");
    attributes(&repo, "* diff=x filter=x merge=x\n");
    repo.append("a.txt", "changed\n");
    // the second time the worker is warm and the index has been looked at
    scene.aim("repo");
    scene.aim("repo");
}

/// One way to a program alone in each repository: where all stand together, the first one hides the others.
pub fn one_key_each(scene: &mut Scene) {
    for (name, key) in [
        ("clean", "filter.x.clean"),
        ("process", "filter.x.process"),
        ("smudge", "filter.x.smudge"),
        ("textconv", "diff.x.textconv"),
        ("command", "diff.x.command"),
        ("external", "diff.external"),
        ("monitor", "core.fsmonitor"),
        ("merge", "merge.x.driver"),
        ("refs", "core.alternateRefsCommand"),
    ] {
        let repo = scene.honest(name);
        repo.git(&["config", key, &format!("{}; cat", scene.leave_marker())]);
        attributes(&repo, "* diff=x filter=x merge=x\n");
        repo.append("a.txt", "changed\n");
        scene.aim(name);
    }
}

/// A signed commit, a log that wants to see its signature, and a program to verify it.
pub fn signatures(scene: &mut Scene) {
    let repo = scene.honest("repo");
    program(scene, &repo.git_dir().join("verify"));
    let verify = repo.git_dir().join("verify");
    for key in ["gpg.program", "gpg.ssh.program", "gpg.x509.program"] {
        repo.git(&["config", key, verify.to_str().expect("places have UTF-8 paths")]);
    }
    for (key, value) in [("log.showSignature", "true"), ("merge.verifySignatures", "true"), ("commit.gpgSign", "true")]
    {
        repo.git(&["config", key, value]);
    }
    let (tree, parent) = (repo.git(&["rev-parse", "HEAD^{tree}"]), repo.git(&["rev-parse", "HEAD"]));
    let signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ\n -----END PGP SIGNATURE-----";
    let who = "a <a@example.invalid> 1700000000 +0000";
    let text = format!("tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n{signature}\n\nsigned\n");
    let id = objects::put(&repo.git_dir(), "commit", text.as_bytes());
    objects::set_ref(&repo.git_dir(), "refs/heads/main", format!("{id}\n"));
    scene.aim("repo");
}

/// A submodule whose own configuration names programs.
pub fn submodules_own(scene: &mut Scene) {
    let part = scene.honest("part");
    let repo = scene.honest("repo");
    repo.git(&["submodule", "--quiet", "add", part.path().to_str().expect("UTF-8"), "sub"]);
    repo.commit("with a submodule");
    let inner = Repo::open(&scene.place, repo.at("sub"));
    let run = format!("sh -c \"{}; cat\"", scene.leave_marker());
    for key in ["core.fsmonitor", "filter.x.clean", "filter.x.process"] {
        inner.git(&["config", key, &run]);
    }
    inner.write(".gitattributes", "* filter=x\n");
    // of the same size: only who looks into it, through the filter, can tell
    inner.write("a.txt", "LINE 1\nLINE 2\nLINE 3\n");
    scene.aim("repo");
}

/// A partial clone whose missing objects make a reader start a program or go to the network.
pub fn promisor(scene: &mut Scene) {
    for (name, url, more) in [
        ("command", format!("ext::sh -c \"{}\"", scene.leave_marker()), None),
        ("network", "http://127.0.0.1:9/".to_owned(), None),
        ("program", scene.inside().display().to_string(), Some("remote.origin.uploadpack")),
    ] {
        let repo = scene.honest(format!("promised-{name}"));
        for (key, value) in [
            ("core.repositoryformatversion", "1"),
            ("extensions.partialClone", "origin"),
            ("remote.origin.url", &url),
            ("remote.origin.promisor", "true"),
            ("protocol.ext.allow", "always"),
        ] {
            repo.git(&["config", key, value]);
        }
        if let Some(key) = more {
            repo.git(&["config", key, &format!("{}; false", scene.leave_marker())]);
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
        scene.aim(format!("promised-{name}"));
    }
    scene.revision("missing");
}

/// A bare repository with programs in its configuration, hidden in the working tree of another.
pub fn hidden_bare(scene: &mut Scene) {
    let repo = scene.honest("repo");
    let bare = Repo::init_with(&scene.place, "inside/repo/sub/x/hidden", &["--bare"]);
    let run = scene.leave_marker();
    bare.git(&["config", "core.fsmonitor", &run]);
    bare.git(&["config", "alias.status", &format!("!{run}")]);
    if crate::support::is_root() {
        // somebody else's, as far as the machine knows users
        let status = scene.place.command("chown").args(["-R", "65534:65534"]).arg(repo.at("sub")).status();
        assert!(status.expect("chown is installed").success());
    }
    let root = repo.path().to_owned();
    scene.roots.push(root);
    scene.aim("repo");
    scene.aim("repo/sub/x/hidden");
}
