//! A worker that is killed, a ledger that is swapped, a directory that cannot be written: what is stated happens.
//! Trust: test code plays the attacker and the failing machine.

use crate::{
    rotation,
    support::{Server, process, unmet},
    world::{World, said, utf8},
};
use nix::sys::signal::Signal;
use serde_json::Value;
use std::{fs, os::unix::fs::PermissionsExt as _, time::Duration};

/// Longest wait for something that takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);

fn unrecorded(world: &World, server: &mut Server) -> Option<String> {
    let outcome = server.read("repo.status", &world.repo);
    assert!(outcome.is_ok(), "a read is answered all the same: {}", outcome.message);
    outcome.message["result"]["_meta"]["bulkhead/unrecorded"].as_str().map(str::to_owned)
}

/// Calls until an answer says that it is not recorded; what it says.
fn eventually_unrecorded(world: &World, server: &mut Server) -> String {
    let mut told = None;
    let found = process::until(PATIENCE, || {
        told = unrecorded(world, server);
        told.is_some()
    });
    assert!(found, "no answer says that it is not recorded");
    told.expect("just found")
}

#[test]
fn a_killed_worker_is_replaced_and_nothing_is_lost() {
    let world = World::new();
    world.init();
    let mut server = world.server(&[]);
    let mut calls = 0;
    for _ in 0..5 {
        for _ in 0..10 {
            world.read(&mut server);
            calls += 1;
        }
        let alive = || process::of_kind(server.pid(), "audit");
        assert!(process::until(PATIENCE, || !alive().is_empty()), "a worker that records");
        for worker in alive() {
            worker.signal(Signal::SIGKILL);
        }
    }
    world.until("tool_call", calls);
    assert!(server.finish().status.success());
    // an entry whose acknowledgement was lost may stand there twice, under one place
    let entries = world.entries();
    let mut places: Vec<u64> = entries.iter().filter_map(|entry| entry["sessionEvent"].as_u64()).collect();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places, (1..=places.len() as u64).collect::<Vec<_>>(), "no place is missing");
    let seen: Vec<&Value> = entries.iter().filter(|entry| entry["event_type"] == "tool_call").collect();
    assert!(seen.len() >= calls);
    world.expect_sound();
}

#[test]
fn the_whole_house_killed_at_any_time_leaves_a_ledger_that_verifies_and_goes_on() {
    let world = World::new();
    world.init();
    let mut before = 0;
    for round in 0..4u64 {
        let mut server = world.server(&[]);
        for _ in 0..=round * 3 {
            world.read(&mut server);
        }
        process::launcher(server.pid()).signal(Signal::SIGKILL);
        drop(server);
        let mut server = world.server(&[]);
        world.read(&mut server);
        world.until("server_start", 1);
        assert!(server.finish().status.success());
        let count = world.entries().len();
        assert!(count > before, "it goes on");
        before = count;
        world.expect_sound();
    }
}

#[test]
fn a_ledger_that_is_swapped_or_cut_under_a_server_is_noticed_and_left_alone() {
    for (what, mode) in [("swapped", "best-effort"), ("cut", "best-effort"), ("swapped", "required")] {
        let world = World::new();
        let mut server = world.server(&["--audit", mode]);
        world.read(&mut server);
        world.read(&mut server);
        world.until("tool_call", 2);
        let text = fs::read_to_string(world.ledger()).expect("the ledger");
        let left: String = text.lines().take(2).map(|line| format!("{line}\n")).collect();
        if what == "swapped" {
            let other = world.place.at("other");
            fs::write(&other, &left).expect("ours");
            fs::rename(other, world.ledger()).expect("ours");
        } else {
            fs::write(world.ledger(), &left).expect("ours");
        }
        let noticed = process::until(PATIENCE, || match mode {
            "required" => server.read("repo.status", &world.repo).code() == Some(10026),
            _ => unrecorded(&world, &mut server).is_some(),
        });
        assert!(noticed, "{what} is noticed");
        if mode == "required" {
            // the server gave the ledger up, so that asking again is of no use
            let given_up = process::until(PATIENCE, || {
                let outcome = server.read("repo.status", &world.repo);
                let error = outcome.error().expect("every call is refused");
                let message = error["message"].as_str().expect("a message");
                error["data"]["retryable"] == false && message.contains("restarted")
            });
            assert!(given_up, "{}", server.read("repo.status", &world.repo).message);
        }
        assert!(server.finish().status.success());
        assert_eq!(fs::read_to_string(world.ledger()).expect("the ledger"), left, "nothing is written to it");
    }
}

#[test]
fn a_key_that_cannot_be_used_means_no_records_and_never_unsigned_ones() {
    let world = World::new();
    world.init();
    fs::set_permissions(world.beside(".signing-key.pem"), fs::Permissions::from_mode(0o644)).expect("ours");
    let mut server = world.server(&[]);
    let why = unrecorded(&world, &mut server).expect("the answer says so");
    assert!(why.contains("signing-key") && why.contains("644"), "{why}");
    let ended = server.finish();
    assert!(ended.status.success() && ended.said.contains("signing-key"), "{}", ended.said);
    assert!(!world.ledger().exists(), "nothing was written");
    let mut server = world.server(&["--audit", "required"]);
    let refused = server.read("repo.status", &world.repo);
    assert_eq!(refused.code(), Some(10026), "{}", refused.message);
    assert!(server.finish().status.success());
    // repaired, the next server records
    fs::set_permissions(world.beside(".signing-key.pem"), fs::Permissions::from_mode(0o600)).expect("ours");
    let mut server = world.server(&["--audit", "required"]);
    world.read(&mut server);
    world.until("tool_call", 1);
    assert!(server.finish().status.success());
    world.expect_sound();
}

#[test]
fn each_kind_of_key_that_is_not_used_is_named_and_nothing_is_recorded_without_it() {
    let world = World::new();
    world.init();
    let good = fs::read_to_string(world.beside(".signing-key.pem")).expect("it was made");
    let put = |name: &str, text: &str, mode: u32| {
        let path = world.place.at(name);
        fs::write(&path, text).expect("ours");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("ours");
        path
    };
    put("good.pem", &good, 0o600);
    let links = world.place.directory("links");
    std::os::unix::fs::symlink(world.place.at("good.pem"), links.join("key.pem")).expect("ours");
    std::os::unix::fs::symlink(world.place.path(), links.join("above")).expect("ours");
    let twice = put("twice.pem", &good, 0o600);
    fs::hard_link(&twice, links.join("second.pem")).expect("ours");
    let public = fs::read_to_string(world.public_key()).expect("it was made");
    // the algorithm 1.3.101.110, which agrees on keys and signs nothing
    let agreeing = good.replace("BQYDK2VwBCIE", "BQYDK2VuBCIE");
    assert_ne!(agreeing, good);
    let short: String = good.lines().map(|line| format!("{}\n", &line[..line.len().min(40)])).collect();
    for (path, why) in [
        (links.join("key.pem"), "symbolic link"),
        (links.join("above/good.pem"), "directory above"),
        (twice, "2 names"),
        (put("open.pem", &good, 0o644), "644"),
        (put("group.pem", &good, 0o640), "640"),
        (put("none.pem", "", 0o600), "0 bytes"),
        (put("short.pem", &short, 0o600), "no usable key"),
        (put("public.pem", &public, 0o600), "no usable key"),
        (put("agreeing.pem", &agreeing, 0o600), "not an Ed25519 key"),
        (world.place.directory("a-directory"), "not a regular file"),
        (world.place.at("missing.pem"), "cannot be read"),
    ] {
        let mut server = world.server(&["--audit-sign-key", utf8(&path)]);
        let told = eventually_unrecorded(&world, &mut server);
        assert!(told.contains(utf8(&path)) && told.contains(why), "{}: {told}", path.display());
        assert!(server.finish().status.success());
        assert!(!world.ledger().exists(), "{}: nothing is written", path.display());
    }
    let mut server = world.server(&["--audit-sign-key", utf8(&world.place.at("good.pem"))]);
    world.read(&mut server);
    world.until("tool_call", 1);
    assert!(server.finish().status.success());
    world.expect_sound();
}

#[test]
fn a_directory_that_cannot_be_written_is_told_and_tried_again() {
    let mode = |world: &World, mode| {
        let dir = world.ledger().parent().expect("it has one").to_owned();
        fs::set_permissions(dir, fs::Permissions::from_mode(mode)).expect("ours");
    };
    // nothing is there yet: neither lock nor keys can be made
    let world = World::new();
    fs::create_dir_all(world.ledger().parent().expect("it has one")).expect("ours");
    mode(&world, 0o500);
    let mut server = world.server(&[]);
    let why = eventually_unrecorded(&world, &mut server);
    assert!(why.contains("denied"), "{why}");
    mode(&world, 0o700);
    world.until("tool_call", 1);
    assert!(process::until(PATIENCE, || unrecorded(&world, &mut server).is_none()), "and answers are silent again");
    assert!(server.finish().status.success());
    world.expect_sound();

    // everything is there, and the file is full: it cannot be given another name
    let world = World::new();
    world.init();
    rotation::fill(&world.ledger(), &world.beside(".signing-key.pem"), 1, 3_500);
    let mut server = world.server(&[]);
    world.read(&mut server);
    world.until("tool_call", 1);
    mode(&world, 0o500);
    let mut calls = 1;
    let noticed = process::until(PATIENCE, || {
        calls += 1;
        unrecorded(&world, &mut server).is_some()
    });
    assert!(noticed, "answers say so");
    mode(&world, 0o700);
    let recorded = || {
        let exported = world.run(&["audit", "export", "--json", "--tool", "repo.status"]);
        String::from_utf8_lossy(&exported.stdout).lines().count()
    };
    assert!(process::until(PATIENCE, || recorded() >= calls), "what waited is recorded");
    assert!(server.finish().status.success());
    world.expect_sound();
}

#[test]
fn damage_that_a_start_does_not_read_is_found_by_a_running_server() {
    let world = World::new();
    world.init();
    rotation::fill(&world.ledger(), &world.beside(".signing-key.pem"), 1, 100_000);
    let sound = fs::read(world.ledger()).expect("it was filled");
    let mut damaged = sound.clone();
    let middle = sound.len() / 2;
    damaged[middle] ^= 1;
    fs::write(world.ledger(), &damaged).expect("ours");
    let mut server = world.server(&[]);
    let told = eventually_unrecorded(&world, &mut server);
    assert!(told.contains("damaged at byte"), "{told}");
    assert!(server.finish().status.success());
    let after = fs::read(world.ledger()).expect("the ledger");
    assert_eq!(after[..damaged.len()], damaged, "nothing that stood there was changed");
    assert_eq!(world.verify(&[]).0, Some(3));
    // its end changed, nothing is recorded at all
    let mut damaged = sound.clone();
    damaged[sound.len() - 100] ^= 1;
    fs::write(world.ledger(), &damaged).expect("ours");
    let mut server = world.server(&["--audit", "required"]);
    let refused = server.read("repo.status", &world.repo);
    assert_eq!(refused.code(), Some(10026), "{}", refused.message);
    assert!(server.finish().status.success());
    assert_eq!(fs::read(world.ledger()).expect("the ledger"), damaged, "it is left as it is");
}

#[test]
fn a_directory_that_others_may_read_is_refused() {
    let world = World::new();
    let dir = world.ledger().parent().expect("it has one").to_owned();
    fs::create_dir_all(&dir).expect("ours");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).expect("ours");
    let mut server = world.server(&[]);
    let why = unrecorded(&world, &mut server).expect("the answer says so");
    assert!(why.contains("755"), "{why}");
    assert!(server.finish().status.success());
}

#[test]
fn a_file_that_may_not_grow_is_like_a_full_disk_and_ends_no_process() {
    let world = World::new();
    world.init();
    let limited = ["sh", "-c", "ulimit -f 16; exec \"$@\"", "sh"];
    let mut server = world.start().wrapper(&limited).spawn();
    world.read(&mut server);
    world.until("tool_call", 1);
    let worker = process::of_kind(server.pid(), "audit");
    let told = eventually_unrecorded(&world, &mut server);
    assert!(told.contains("too large"), "{told}");
    assert_eq!(process::of_kind(server.pid(), "audit"), worker, "the same process tries again");
    assert!(server.finish().status.success());
    world.expect_sound();
    let before = world.entries().len();
    let mut server = world.server(&[]);
    world.read(&mut server);
    assert!(process::until(PATIENCE, || world.entries().len() > before), "without the limit it goes on");
    assert!(server.finish().status.success());
    world.expect_sound();
    // and so does a server of one process, which would have ended itself
    let single = World::new();
    let mut server = single.start().wrapper(&limited).arguments(&["--isolation", "off"]).spawn();
    assert!(eventually_unrecorded(&single, &mut server).contains("too large"));
    assert!(server.finish().status.success());
    single.expect_sound();
}

#[test]
fn a_full_disk_refuses_what_must_be_recorded_and_is_recovered_from() {
    // a file system of its own, of which almost nothing is free
    let world = World::new();
    let disk = world.place.directory("disk");
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k,mode=700", "none", utf8(&disk)])
        .output()
        .is_ok_and(|output| output.status.success());
    if !mounted {
        assert!(!unmet::unmet("the right to mount a small file system"));
        return;
    }
    let ledger = disk.join("audit.jsonl");
    let filler = disk.join("filler");
    let mut server = world.server(&["--audit-ledger", utf8(&ledger)]);
    assert_eq!(unrecorded(&world, &mut server), None);
    let has = |count: usize| {
        let text = fs::read_to_string(&ledger).unwrap_or_default();
        text.lines().filter(|line| line.contains("\"tool_call\"")).count() >= count
    };
    assert!(process::until(PATIENCE, || has(1)), "the first call is recorded");
    let _ = fs::write(&filler, vec![7; 1 << 20]);
    let mut calls = 1;
    let full = process::until(PATIENCE, || {
        calls += 1;
        unrecorded(&world, &mut server).is_some()
    });
    assert!(full, "the disk is full, and answers say that they are not recorded");
    fs::remove_file(&filler).expect("ours");
    assert!(process::until(PATIENCE, || has(calls)), "what waited is recorded once there is room");
    let again = process::until(PATIENCE, || unrecorded(&world, &mut server).is_none());
    assert!(again, "and answers are silent about it again");
    assert!(server.finish().status.success());
    let output = world.run(&["verify-audit", utf8(&ledger)]);
    let unmounted = std::process::Command::new("umount").arg(&disk).output();
    assert!(unmounted.is_ok_and(|output| output.status.success()), "the file system is given back");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}
