//! Which hooks those are: where the repository's configuration and the operator's have them.
//! Trust: test code.

use crate::{World, executable, reason, support::direct::identity};
use serde_json::json;
use std::fs;

#[test]
fn a_directory_of_the_working_tree_with_its_own_tools() {
    let world = World::new();
    // as tools that keep hooks in the tree do: a dispatcher, a script of the project, an interpreter found by name
    world.program(".husky/_/pre-commit", "#!/usr/bin/env sh\n. \"$(dirname \"$0\")/h\"\n");
    world.write(".husky/_/h", "exec sh -e \"$(dirname \"$(dirname \"$0\")\")/$(basename \"$0\")\" \"$@\"\n");
    world.write(".husky/pre-commit", "tools/check\n");
    world.program(
        "tools/check",
        "#!/usr/bin/env perl\nmy @staged = `git diff --cached --name-only`;\nopen my $out, '>', 'checked.txt' or die;\nprint $out @staged;\n",
    );
    world.git(&["config", "core.hooksPath", ".husky/_"]);
    world.write("a.txt", "changed\n");
    let mut served = world.served(&[]);
    let done = served.value("repo_commit", json!({"paths": ["a.txt"], "message": "x"}));
    assert_eq!(done["hooks_run"], json!(["pre-commit"]), "{done}");
    assert_eq!(world.text("checked.txt"), "a.txt\n");
}

#[test]
fn one_of_the_repositorys_that_leads_out_is_refused() {
    let world = World::new();
    let outside = world.place.directory("outside");
    fs::write(outside.join("pre-commit"), "#!/bin/sh\ntouch ran.txt\n").expect("ours");
    executable(&outside.join("pre-commit"));
    std::os::unix::fs::symlink(&outside, world.repo.join("way-out")).expect("ours");
    world.write("a.txt", "changed\n");
    let mut served = world.served(&[]);
    let outside = outside.to_str().expect("places have UTF-8 paths");
    for named in [outside, "../outside", "way-out", "~/hooks", ""] {
        world.git(&["config", "core.hooksPath", named]);
        let failure = served.fails("repo_commit", json!({"paths": ["a.txt"], "message": "x"}), "refused");
        assert!(reason(&failure).contains("core.hooksPath"), "{named}: {failure}");
    }
    world.git(&["config", "--unset", "core.hooksPath"]);
    // a single hook that leads out cannot be executed, and what cannot be asked does not agree
    std::os::unix::fs::symlink(format!("{outside}/pre-commit"), world.repo.join(".git/hooks/pre-commit"))
        .or_else(|_| {
            fs::create_dir_all(world.repo.join(".git/hooks"))?;
            std::os::unix::fs::symlink(format!("{outside}/pre-commit"), world.repo.join(".git/hooks/pre-commit"))
        })
        .expect("ours");
    let head = world.git(&["rev-parse", "HEAD"]);
    let failed = served.call("repo_commit", json!({"paths": ["a.txt"], "message": "x"}));
    assert!(format!("{failed:?}").contains("pre-commit"), "{failed:?}");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    assert!(!world.repo.join("ran.txt").exists());
}

#[test]
fn the_operators_own_serve_a_repository_that_names_none() {
    for relative in [false, true] {
        let world = World::new();
        identity(&world.place);
        let directory = if relative { world.repo.join("hooks-here") } else { world.place.home().join("hooks") };
        fs::create_dir_all(&directory).expect("ours");
        fs::write(directory.join("commit-msg"), "#!/bin/sh\necho 'Signed: company' >>\"$1\"\n").expect("ours");
        executable(&directory.join("commit-msg"));
        // git itself would not look here any more
        world.hook("commit-msg", "exit 1");
        let config = world.place.home().join(".gitconfig");
        let own = fs::read_to_string(&config).expect("it was written");
        let named = if relative { "hooks-here" } else { "~/hooks" };
        world.write("a.txt", "changed\n");
        let mut start = crate::support::Start::new(&world.place);
        fs::write(&config, format!("{own}[core]\n\thooksPath = {named}\n")).expect("ours");
        start = start.arguments(&["--surface", "direct", "--allow-write", "--hooks", "run", "--repo"]);
        let mut served = crate::support::direct::Served(start.argument(&world.repo).spawn());
        let done = served.value("repo_commit", json!({"paths": ["a.txt"], "message": "x"}));
        assert_eq!(done["hooks_run"], json!(["commit-msg"]), "{named}: {done}");
        assert_eq!(world.git(&["log", "-1", "--format=%B"]), "x\nSigned: company", "{named}");
    }
}
