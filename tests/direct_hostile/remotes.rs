//! Remotes that would have a program run, or that lead elsewhere: promised objects, addresses, the other side of a push.
//! Trust: hostile by construction.

use crate::{
    support::direct::{Came, Served},
    sweep::{GIVEN, Swept, call, calls, few, reads, writes},
    world::World,
};
use serde_json::json;
use std::fs;

/// What speaks with a remote, and a few tools that must not care.
fn remote_calls(world: &World) -> Swept {
    world.write("a.txt", "one\ntwo\nthree\nfour\nfive\nsix\n");
    calls(
        world,
        vec![
            ("repo_commit", json!({"paths": ["a.txt"], "message": "to be pushed"})),
            ("repo_fetch", json!({})),
            ("repo_push", json!({"branch": "main"})),
            ("repo_create_branch", json!({"name": "nb"})),
            ("repo_push", json!({"branch": "nb"})),
            ("repo_rename_branch", json!({"old_name": "nb", "new_name": "nc"})),
            ("repo_rebase", json!({"onto": "origin/feature"})),
        ],
    )
}

/// A partial clone whose one remote is at this address, with a blob and a tree missing.
fn promised(world: &World, url: &str) {
    for (key, value) in [
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", url),
        ("remote.origin.promisor", "true"),
        ("protocol.ext.allow", "always"),
        ("credential.helper", &world.shell()),
    ] {
        world.config(key, value);
    }
    for name in ["HEAD:a.txt", "clash:dir/b.txt"] {
        let id = world.git(&["rev-parse", name]);
        fs::remove_file(world.repo.join(".git/objects").join(&id[..2]).join(&id[2..])).expect("it is loose");
    }
    world.write("a.txt", "one\ntwo\nthree\n");
}

#[test]
fn promised_objects_are_missing_and_not_fetched() {
    type Build = fn(&World);
    let builds: [(Build, bool); 4] = [
        (
            |world| {
                promised(world, "../origin.git");
                world.config("remote.origin.uploadpack", &format!("{} git-upload-pack", world.words()));
            },
            true,
        ),
        (|world| promised(world, &format!("ext::sh -c {}", world.words().replace(' ', "% "))), true),
        (
            |world| {
                promised(world, "ssh://git@example.invalid/x");
                world.config("core.sshCommand", &world.shell());
            },
            true,
        ),
        // nobody listens there; a helper for passwords is asked only by somebody who does
        (|world| promised(world, "http://127.0.0.1:9/x"), false),
    ];
    for (build, fires) in builds {
        if fires {
            let control = World::new();
            build(&control);
            control.try_git(&control.repo, &["cat-file", "-p", "HEAD:a.txt"]);
            assert!(control.fired(), "a trap that git does not run into");
        }
        let world = World::new();
        build(&world);
        let world = world.watched();
        let read = reads(&world, "a.txt");
        read.values(&["repo_snapshot", "repo_status", "repo_log", "repo_branches", "repo_list_files"]);
        let world = World::new();
        build(&world);
        // through all of them once: nothing that writes cares which address it is that is not asked
        let written = if fires { few(&world.watched(), "a.txt") } else { writes(&world.watched(), "a.txt") };
        written.values(&["repo_create_branch", "repo_tag_create"]);
    }
}

#[test]
fn settings_of_remotes_that_name_programs_are_refused_by_name() {
    for (key, fetch) in
        [("remote.origin.uploadpack", true), ("remote.origin.receivepack", false), ("core.alternateRefsCommand", true)]
    {
        let build = |world: &World| {
            world.git(&["clone", "-q", "--bare", "../other", ".git/borrowed"]);
            fs::write(world.repo.join(".git/objects/info/alternates"), "../borrowed/objects\n").expect("ours");
            world.config(key, &format!("{} git-upload-pack", world.words()));
        };
        let control = World::new();
        build(&control);
        let command: &[&str] = if fetch { &["fetch", "-q"] } else { &["push", "-q", "origin", "clash"] };
        control.try_git(&control.repo, command);
        assert!(control.fired(), "a trap that git does not run into: {key}");
        let world = World::new();
        build(&world);
        let world = world.watched();
        let written = if key == "core.alternateRefsCommand" { writes(&world, "a.txt") } else { remote_calls(&world) };
        written.refused(&["repo_fetch", "repo_push"], key);
        written.values(&["repo_commit", "repo_rename_branch"]);
    }
    for (key, value) in [
        ("core.sshCommand", "sh -c 'touch PWNED'"),
        ("remote.origin.vcs", "ext"),
        ("remote.origin.proxy", "socks5://h"),
    ] {
        let world = World::new();
        world.config("remote.origin.url", "ssh://git@127.0.0.1:9/x");
        world.config(key, value);
        remote_calls(&world.watched()).refused(&["repo_fetch", "repo_push"], key);
    }
}

#[test]
fn addresses_that_are_commands_or_other_protocols_are_refused() {
    let ext = |world: &World| format!("ext::sh -c {}", world.words().replace(' ', "% "));
    let control = World::new();
    control.config("protocol.ext.allow", "always");
    control.config("remote.origin.url", &ext(&control));
    control.try_git(&control.repo, &["fetch", "-q"]);
    assert!(control.fired(), "a trap that git does not run into");
    let world = World::new();
    let words = ext(&world);
    world.executable(&world.repo.join(".git/git-remote-evil"));
    world.config("protocol.ext.allow", "always");
    world.config("protocol.allow", "always");
    world.config("core.gitProxy", &world.shell());
    world.config("core.askPass", &world.program());
    world.config("credential.helper", &world.shell());
    let world = world.watched();
    let mut served = Served::writing(&world.place, &world.repo, &["--timeout", GIVEN]);
    for url in [
        &words,
        "ext::sh -c :",
        "evil::x",
        "evil://x",
        "git://127.0.0.1:9/x",
        "http://127.0.0.1:9/x",
        "ftp://127.0.0.1:9/x",
        "--upload-pack=touch PWNED",
        "ssh://-oProxyCommand=touch PWNED/x",
        "-oProxyCommand=x:y",
    ] {
        for (key, other) in [("remote.origin.url", None), ("url.X.insteadOf", Some("https://example.invalid/x"))] {
            let key = key.replace('X', url);
            // `=` and the like in a section's name are taken as they are
            world.config(&key, other.unwrap_or(url));
            world.config("remote.origin.url", other.unwrap_or(url));
            for (tool, arguments) in [("repo_fetch", json!({})), ("repo_push", json!({"branch": "main"}))] {
                let came = call(&mut served, tool, &arguments);
                let named = matches!(&came, Came::Failure(class, _) if class == "refused" || class == "not_found");
                assert!(named, "{tool} {url}: {came:?}");
            }
            if other.is_some() {
                world.git(&["config", "--unset", &key]);
            }
        }
    }
    world.holds(served);
}

/// What the repository on the other side says of itself counts there, where Git runs too.
#[test]
fn the_other_side_of_a_file_remote_runs_nothing() {
    let there = |world: &World, key: &str, value: &str| {
        let origin = world.base.join("origin.git");
        world.git_in(&origin, &["config", key, value]);
        origin
    };
    let alternates = |world: &World| {
        let origin = there(world, "core.alternateRefsCommand", &world.shell());
        let objects = world.base.join("other/.git/objects");
        fs::write(origin.join("objects/info/alternates"), format!("{}\n", objects.display())).expect("ours");
    };
    let hooks = |world: &World| {
        let origin = there(world, "receive.procReceiveRefs", "refs/for");
        for hook in ["pre-receive", "update", "post-receive", "post-update", "reference-transaction", "proc-receive"] {
            world.executable(&origin.join("hooks").join(hook));
        }
    };
    let cleaning = |world: &World| {
        for (key, value) in [
            ("receive.autogc", "true"),
            ("maintenance.auto", "true"),
            ("gc.auto", "1"),
            ("gc.autoDetach", "false"),
            ("maintenance.autoDetach", "false"),
        ] {
            there(world, key, value);
        }
        let origin = there(world, "gc.recentObjectsHook", &world.shell());
        world.executable(&origin.join("hooks/pre-auto-gc"));
        for number in 0..40 {
            world.write(format!("many/{number}"), number.to_string());
        }
        world.commit("many objects");
        fs::create_dir_all(origin.join("objects/17")).expect("ours");
        for number in 0..40 {
            fs::write(origin.join(format!("objects/17/{number:038x}")), "").expect("ours");
        }
    };
    let checked_out = |world: &World| {
        let other = world.base.join("other");
        for (key, value) in [("receive.denyCurrentBranch", "updateInstead"), ("filter.x.smudge", &world.shell())] {
            world.git_in(&other, &["config", key, value]);
        }
        world.git_in(&other, &["config", "core.fsmonitor", &world.program()]);
        fs::write(other.join(".git/info/attributes"), "* filter=x\n").expect("ours");
        world.executable(&other.join(".git/hooks/push-to-checkout"));
        world.config("remote.origin.url", other.to_str().expect("UTF-8"));
    };
    type Build<'b> = &'b dyn Fn(&World);
    let all: [(&str, Build<'_>); 4] =
        [("alternates", &alternates), ("hooks", &hooks), ("cleaning", &cleaning), ("checked out", &checked_out)];
    for (name, build) in all {
        let spoilt = || {
            let world = World::new();
            build(&world);
            world.write("a.txt", "one\ntwo\nthree\n");
            world.commit("to be pushed");
            assert!(!world.fired(), "{name}: the builder ran into its own trap");
            world.watched()
        };
        let control = spoilt();
        control.try_git(&control.repo, &["push", "-q", "origin", "main"]);
        assert!(control.fired(), "a trap that git does not run into: {name}");
        remote_calls(&spoilt()).values(&["repo_commit", "repo_fetch"]);
    }
}

#[test]
fn a_fetch_writes_and_deletes_nothing_but_the_remotes_own_refs() {
    let world = World::new();
    world.git(&["branch", "unpushed"]);
    let mirror = [("remote.origin.fetch", "+refs/heads/*:refs/heads/*"), ("remote.origin.prune", "true")];
    for (key, value) in [&mirror[..], &[("fetch.prune", "true"), ("remote.origin.tagOpt", "--tags")]].concat() {
        world.config(key, value);
    }
    let control = World::new();
    control.git(&["branch", "unpushed"]);
    control.git(&["checkout", "-q", "--detach"]);
    control.git(&["config", "remote.origin.fetch", "+refs/heads/*:refs/heads/*"]);
    control.git(&["fetch", "-q", "--prune"]);
    assert!(!control.git(&["branch"]).contains("unpushed"), "a trap that git does not run into");
    let world = world.watched();
    let local = |world: &World| world.git(&["for-each-ref", "refs/heads", "refs/tags"]);
    let before = local(&world);
    let mut served = Served::writing(&world.place, &world.repo, &["--timeout", GIVEN]);
    for spec in ["+refs/heads/*:refs/heads/*", "+refs/*:refs/*", "refs/heads/main:refs/heads/clash", "main", ":HEAD"] {
        world.git(&["config", "--replace-all", "remote.origin.fetch", spec]);
        let came = call(&mut served, "repo_fetch", &json!({}));
        assert!(matches!(came, Came::Value(_)), "{spec}: {came:?}");
        assert_eq!(local(&world), before, "{spec}");
    }
    world.holds(served);
}

/// An address that we and Git could read as two different places.
#[test]
fn addresses_are_read_as_git_reads_them() {
    let world = World::new().watched();
    let victim = world.victim();
    let shown = victim.to_str().expect("UTF-8");
    // beneath the root there is a repository by the name that a second reading would find
    let inside = world.repo.join(&shown[1..]);
    fs::create_dir_all(&inside).expect("ours");
    world.git_in(&inside, &["init", "-q"]);
    let encoded = shown.replace("outside", "%6futside");
    let inside = world.base.join(&encoded[1..]);
    fs::create_dir_all(&inside).expect("ours");
    let mut served = Served::writing(&world.place, &world.repo, &["--timeout", GIVEN]);
    for url in [
        shown.to_owned(),
        format!("file://{shown}"),
        format!("file:/{shown}"),
        format!("file://{}", &shown[1..]),
        format!("file://localhost{shown}"),
        format!("file://{encoded}"),
        format!("{}/../outside/victim", world.base.display()),
        format!("file://{}/%2e%2e/outside/victim", world.base.display()),
    ] {
        world.config("remote.origin.url", &url);
        let came = call(&mut served, "repo_fetch", &json!({}));
        assert!(matches!(came, Came::Failure(..)), "{url}: {came:?}");
        let refs = world.git(&["for-each-ref", "--format=%(subject)"]);
        assert!(!refs.contains(crate::world::SECRET), "{url}: {came:?}");
        let came = call(&mut served, "repo_push", &json!({"branch": "main"}));
        assert!(matches!(came, Came::Failure(..)), "{url}: {came:?}");
    }
    world.holds(served);
}
