//! A worker that is killed, a ledger that is swapped, a directory that cannot be written: what is stated happens.
//! Trust: test code plays the attacker and the failing machine.

use crate::{
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
