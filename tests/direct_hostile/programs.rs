//! Repositories that would have a program run by a Git that works in them.
//! Trust: hostile by construction.

use crate::{
    sweep::{Swept, few, reads, writes},
    world::World,
};

/// Both sweeps, each in a world of its own; in a third the real git shows that the trap works.
fn springs(build: impl Fn(&World), commands: &[&[&str]]) -> (Swept, Swept) {
    springs_by(build, commands, writes)
}

/// The same with a few writes: for another place of a trap that went through all of them.
fn springs_too(build: impl Fn(&World), commands: &[&[&str]]) -> (Swept, Swept) {
    springs_by(build, commands, few)
}

fn springs_by(build: impl Fn(&World), commands: &[&[&str]], writes: impl Fn(&World, &str) -> Swept) -> (Swept, Swept) {
    let control = World::new();
    build(&control);
    for command in commands {
        control.try_git(&control.repo, command);
    }
    assert!(control.fired(), "a trap that git itself does not run into: {commands:?}");
    let spoilt = || {
        let world = World::new();
        build(&world);
        assert!(!world.fired(), "the builder ran into its own trap");
        world.watched()
    };
    (reads(&spoilt(), "a.txt"), writes(&spoilt(), "a.txt"))
}

/// Everything but the network, `repo_undo` and the argument-free rest.
const LOCAL: &[&str] = &[
    "repo_commit",
    "repo_create_branch",
    "repo_checkout",
    "repo_new_child",
    "repo_resolve_conflict",
    "repo_continue_in_progress",
    "repo_tag_create",
    "repo_tag_delete",
    "repo_create_worktree",
    "repo_remove_worktree",
    "repo_rename_branch",
    "repo_delete_branch",
    "repo_restore",
];
/// The local ones of a few.
const FEW: &[&str] = &["repo_commit", "repo_create_branch", "repo_checkout", "repo_tag_create", "repo_create_worktree"];
const NETWORK: &[&str] = &["repo_fetch", "repo_push"];
const ANSWERED: &[&str] = &["repo_snapshot", "repo_status", "repo_diff", "repo_diff_stat", "repo_log", "repo_annotate"];

/// All hooks that git has.
const HOOKS: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-rewrite",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "prepare-commit-msg",
    "reference-transaction",
    "sendemail-validate",
];

#[test]
fn hooks_in_their_usual_place_and_elsewhere() {
    for elsewhere in [false, true] {
        let build = |world: &World| {
            let dir = world.repo.join(if elsewhere { ".git/more" } else { ".git/hooks" });
            for hook in HOOKS {
                world.executable(&dir.join(hook));
            }
            if elsewhere {
                world.config("core.hooksPath", dir.to_str().expect("places have UTF-8 paths"));
            }
        };
        let trap: &[&[&str]] = &[&["checkout", "-q", "feature"]];
        let (read, written) = if elsewhere { springs_too(build, trap) } else { springs(build, trap) };
        read.values(ANSWERED);
        written.values(if elsewhere { FEW } else { LOCAL });
        written.values(if elsewhere { &["repo_fetch"] } else { NETWORK });
    }
}

#[test]
fn a_file_system_monitor_from_every_file_of_settings() {
    type Build = fn(&World);
    let builds: [Build; 3] = [
        |world| world.config("core.fsmonitor", &world.program()),
        |world| {
            world.config("extensions.worktreeConfig", "true");
            world.git(&["config", "--worktree", "core.fsmonitor", &world.program()]);
        },
        |world| {
            let text = format!("[core]\n\tfsmonitor = {}\n", world.program());
            std::fs::write(world.repo.join(".git/more"), text).expect("ours");
            world.config("include.path", "more");
        },
    ];
    for (number, build) in builds.into_iter().enumerate() {
        let trap: &[&[&str]] = &[&["status"]];
        let (read, written) = if number == 0 { springs(build, trap) } else { springs_too(build, trap) };
        read.values(ANSWERED);
        written.values(if number == 0 { LOCAL } else { FEW });
    }
}

/// `a.txt` goes through this filter, as the attributes of that file say.
fn filtered(world: &World, attributes: &str, which: &[&str]) {
    for which in which {
        world.config(&format!("filter.x.{which}"), &format!("{} cat", world.words()));
    }
    world.write(attributes, "a.txt filter=x\n");
    world.write("a.txt", "one\ntwo\nthree\n");
}

#[test]
fn filters_that_clean() {
    for (attributes, which) in
        [(".gitattributes", "clean"), (".gitattributes", "process"), (".git/info/attributes", "clean")]
    {
        let build = |world: &World| filtered(world, attributes, &[which]);
        let trap: &[&[&str]] = &[&["status"], &["diff"]];
        let (read, written) = if which == "process" { springs(build, trap) } else { springs_too(build, trap) };
        read.values(ANSWERED);
        written.refused(&["repo_commit"], "filter");
    }
}

#[test]
fn filters_that_smudge() {
    for which in ["smudge", "process"] {
        let build = |world: &World| {
            world.write(".git/info/attributes", "* filter=x\n");
            world.config(&format!("filter.x.{which}"), &world.shell());
        };
        let trap: &[&[&str]] = &[&["checkout", "-q", "clash"]];
        let (read, written) = if which == "smudge" { springs(build, trap) } else { springs_too(build, trap) };
        read.values(ANSWERED);
        // what git would write is said, and raw bytes do not take its place unsaid
        written.refused(&["repo_commit"], "filter");
    }
}

#[test]
fn a_submodule_that_brings_its_own_settings() {
    for key in ["core.fsmonitor", "filter.x.clean", "filter.x.process"] {
        let build = |world: &World| {
            world.git(&["clone", "-q", "../origin.git", "sub"]);
            let sub = world.repo.join("sub");
            world.git(&["-c", "advice.addEmbeddedRepo=false", "add", "sub"]);
            world.git(&["commit", "-q", "-m", "with a part"]);
            let run = if key == "core.fsmonitor" { world.program() } else { world.shell() };
            world.git_in(&sub, &["config", key, &run]);
            std::fs::write(sub.join(".git/info/attributes"), "* filter=x\n").expect("ours");
            std::fs::write(sub.join("a.txt"), "one\ntwo\nthree\n").expect("ours");
        };
        let trap: &[&[&str]] = &[&["status"], &["diff"]];
        let (read, written) = if key == "filter.x.clean" { springs(build, trap) } else { springs_too(build, trap) };
        read.values(ANSWERED);
        written.values(&["repo_commit", "repo_create_branch"]);
    }
}

#[test]
fn conversions_and_commands_for_differences() {
    let build = |world: &World, keys: &[&str]| {
        for key in keys {
            world.config(key, &world.shell());
        }
        world.write(".git/info/attributes", "* diff=x\n");
        world.write("a.txt", "one\ntwo\nthree\n");
    };
    for (key, command) in [
        ("diff.x.textconv", &["diff", "HEAD"][..]),
        ("diff.x.textconv", &["blame", "a.txt"]),
        ("diff.x.textconv", &["show", "--textconv", "HEAD:a.txt"]),
        ("diff.external", &["diff", "HEAD"]),
        ("diff.x.command", &["diff", "HEAD"]),
    ] {
        let control = World::new();
        build(&control, &[key]);
        control.try_git(&control.repo, command);
        assert!(control.fired(), "a trap that git itself does not run into: {key} {command:?}");
    }
    // nothing runs one of them, so one cannot stand before another
    for keys in [&["diff.x.textconv"][..], &["diff.external", "diff.x.command"]] {
        let spoilt = || {
            let world = World::new();
            build(&world, keys);
            world.watched()
        };
        reads(&spoilt(), "a.txt").values(ANSWERED);
        writes(&spoilt(), "a.txt").values(LOCAL);
    }
}

#[test]
fn programs_that_sign_and_verify() {
    let signed = |world: &World| {
        world.config("log.showSignature", "true");
        world.config("gpg.program", &world.program());
        let tree = world.git(&["rev-parse", "HEAD^{tree}"]);
        let parent = world.git(&["rev-parse", "HEAD"]);
        let signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ\n -----END PGP SIGNATURE-----";
        let who = "A <a@x> 1700000000 +0000";
        let text = format!("tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n{signature}\n\nsigned\n");
        std::fs::write(world.repo.join(".git/raw"), text).expect("ours");
        let id = world.git(&["hash-object", "-t", "commit", "-w", ".git/raw"]);
        world.git(&["update-ref", "refs/heads/main", &id]);
    };
    let (read, written) = springs_too(signed, &[&["log", "-1"]]);
    read.values(ANSWERED);
    written.values(FEW);

    let signing = |world: &World| {
        for key in ["gpg.program", "gpg.ssh.program", "gpg.x509.program", "gpg.ssh.defaultKeyCommand"] {
            world.config(key, &world.program());
        }
        for (key, value) in [
            ("gpg.format", "ssh"),
            ("commit.gpgSign", "true"),
            ("tag.gpgSign", "true"),
            ("tag.forceSignAnnotated", "true"),
            ("merge.verifySignatures", "true"),
            ("push.gpgSign", "if-asked"),
            ("user.signingKey", "key::x"),
        ] {
            world.config(key, value);
        }
    };
    let (read, written) = springs(signing, &[&["commit", "-q", "--allow-empty", "-m", "x"]]);
    read.values(ANSWERED);
    written.values(LOCAL);
    written.values(NETWORK);
}

#[test]
fn a_driver_that_merges() {
    let build = |world: &World| {
        world.config("merge.x.driver", &world.shell());
        world.write(".git/info/attributes", "* merge=x\n");
    };
    let (read, written) = springs(build, &[&["merge", "clash"]]);
    read.values(ANSWERED);
    written.refused(&["repo_rebase"], "merge.x.driver");
    written.values(&["repo_commit", "repo_checkout", "repo_create_worktree", "repo_restore"]);
}

#[test]
fn editors_pagers_aliases_and_what_cleans_up() {
    let build = |world: &World| {
        let run = world.shell();
        for key in ["core.editor", "sequence.editor", "core.pager", "pager.log", "gc.recentObjectsHook"] {
            world.config(key, &run);
        }
        for command in ["log", "commit", "status", "rebase", "worktree", "update-ref", "for-each-ref", "nothing"] {
            world.config(&format!("alias.{command}"), &format!("!{run}"));
        }
        world.config("gc.auto", "1");
        world.config("maintenance.auto", "true");
        world.config("trailer.x.command", &run);
        world.config("rebase.instructionFormat", "%s%nexec touch PWNED");
    };
    let (read, written) = springs(build, &[&["nothing"]]);
    read.values(ANSWERED);
    written.values(LOCAL);
}
