//! Every kind of tampering that the contract names, made and found, each under its own name.
//! Trust: makes its own ledgers on a simulated disk and damages them.

use crate::{
    simulated::{Disk, NAME},
    support::{Steady, events, kinds, options, signed, strict, verify_at, verify_disk},
};
use bulkhead_ledger::{
    append::{Appender, Settings},
    names::{self, CheckpointName, SegmentName},
    uuid::Uuid,
    verify::{Kind, Options},
};
use serde_json::{Map, Value, json};

/// Six signed entries in one file.
fn plain() -> Disk {
    let disk = Disk::default();
    let (mut appender, _) = Appender::open(disk.directory(), Steady::new(1), signed()).expect("a new ledger");
    appender.append(&events(1..7)).expect("appended");
    disk
}

/// Two entries to a file: three segments and the active one.
fn rotated() -> Disk {
    let disk = Disk::default();
    let settings = Settings { rotate_at: 2200, ..signed() };
    let (mut appender, _) = Appender::open(disk.directory(), Steady::new(1), settings).expect("a new ledger");
    appender.append(&events(1..9)).expect("appended");
    assert_eq!(disk.ledger_files().len(), 4);
    disk
}

/// As [`rotated`], and the two oldest segments pruned.
fn pruned() -> Disk {
    let disk = Disk::default();
    let settings = Settings { rotate_at: 2200, ..signed() };
    let (mut appender, _) = Appender::open(disk.directory(), Steady::new(1), settings).expect("a new ledger");
    appender.append(&events(1..14)).expect("appended");
    assert_eq!(disk.ledger_files().len(), 5);
    disk
}

fn lines(disk: &Disk, file: &str) -> Vec<String> {
    let text = String::from_utf8(disk.content(file)).expect("UTF-8");
    text.split_inclusive('\n').map(str::to_owned).collect()
}

fn put(disk: &Disk, file: &str, lines: &[String]) {
    disk.put(file, lines.concat().as_bytes());
}

fn edit(line: &str, change: impl FnOnce(&mut Map<String, Value>)) -> String {
    let Ok(Value::Object(mut map)) = serde_json::from_str(line) else { panic!("an object") };
    change(&mut map);
    let text = bulkhead_contract::canonical::text(&Value::Object(map));
    text + "\n"
}

/// Hashes an entry anew, as one who has no key but knows the format can.
fn rehash(map: &mut Map<String, Value>) {
    let mut text = String::new();
    bulkhead_contract::canonical::members(map, &["entryHash", "signature"], &mut text);
    let hash = bulkhead_ledger::hash::Hash::of(&[text.as_bytes()]);
    map.insert("entryHash".into(), hash.to_string().into());
}

fn found(disk: &Disk, options: &Options) -> Vec<Kind> {
    kinds(&verify_disk(disk, options))
}

#[test]
fn an_untouched_ledger_is_sound() {
    for disk in [plain(), rotated(), pruned()] {
        let report = verify_disk(&disk, &strict());
        assert!(report.is_sound(), "{:?}", report.findings);
        assert!(report.ledger.is_some());
    }
    assert!(verify_disk(&pruned(), &strict()).retention_checkpoint_used);
}

#[test]
fn content_signatures_and_hashes_cannot_be_changed() {
    let disk = plain();
    let sound = lines(&disk, NAME);
    let check = |change: &dyn Fn(&mut Map<String, Value>), strictly: &[Kind], loosely: &[Kind]| {
        let mut changed = sound.clone();
        changed[2] = edit(&changed[2], change);
        put(&disk, NAME, &changed);
        assert_eq!(found(&disk, &strict()), strictly);
        assert_eq!(found(&disk, &options(false)), loosely);
        let report = verify_disk(&disk, &strict());
        assert_eq!((report.findings[0].segment, report.findings[0].line), (Some(0), 3));
    };
    let unsign = |map: &mut Map<String, Value>| {
        for member in ["signature", "signatureKeyId", "signatureVersion"] {
            map.remove(member);
        }
    };
    check(
        &|map| drop(map.insert("tool".into(), "x".into())),
        &[Kind::BadSignature, Kind::Altered],
        &[Kind::BadSignature, Kind::Altered],
    );
    check(
        &|map| drop(map.insert("more".into(), 1.into())),
        &[Kind::BadSignature, Kind::Altered],
        &[Kind::BadSignature, Kind::Altered],
    );
    check(
        &|map| drop(map.remove("summary")),
        &[Kind::BadSignature, Kind::Altered],
        &[Kind::BadSignature, Kind::Altered],
    );
    check(&|map| drop(map.remove("signature")), &[Kind::Stripped], &[Kind::Stripped]);
    check(&|map| drop(map.insert("signature".into(), "x".into())), &[Kind::BadSignature], &[Kind::BadSignature]);
    check(&|map| drop(map.insert("signature".into(), 1.into())), &[Kind::BadSignature], &[Kind::BadSignature]);
    check(&unsign, &[Kind::Unsigned, Kind::Altered], &[Kind::Altered]);
    // unsigned and hashed anew: what follows continues another entry
    check(&|map| (unsign(map), rehash(map)).0, &[Kind::Unsigned, Kind::Forked], &[Kind::Forked]);
    check(
        &|map| (drop(map.insert("tool".into(), "x".into())), rehash(map)).0,
        &[Kind::BadSignature, Kind::Forked],
        &[Kind::BadSignature, Kind::Forked],
    );
    check(
        &|map| drop(map.insert("id".into(), "x".into())),
        &[Kind::BadSignature, Kind::Altered],
        &[Kind::BadSignature, Kind::Altered],
    );
}

#[test]
fn a_chain_that_was_rewritten_without_signatures_is_found_strictly_and_by_an_earlier_head() {
    let disk = plain();
    let report = verify_disk(&disk, &strict());
    let head = report.head_statement(1).expect("a head");
    let mut previous: Option<Value> = None;
    let forged: Vec<String> = lines(&disk, NAME)
        .iter()
        .map(|line| {
            edit(line, |map| {
                for member in ["signature", "signatureKeyId", "signatureVersion"] {
                    map.remove(member);
                }
                map.insert("tool".into(), "harmless".into());
                if let Some(previous) = &previous {
                    map.insert("previousHash".into(), previous.clone());
                }
                rehash(map);
                previous = map.get("entryHash").cloned();
            })
        })
        .collect();
    put(&disk, NAME, &forged);
    assert_eq!(found(&disk, &strict()), [Kind::Unsigned]);
    assert_eq!(verify_disk(&disk, &strict()).unsigned_ranges, [(1, 6)]);
    assert_eq!(found(&disk, &options(false)), [], "without an expectation it is a sound unsigned ledger");
    assert_eq!(verify_disk(&disk, &options(false)).unsigned, 6, "and says so");
    assert_eq!(found(&disk, &Options { since: Some(head), ..options(false) }), [Kind::Forked]);
}

#[test]
fn entries_cannot_be_taken_out_doubled_moved_or_put_in() {
    let disk = plain();
    let sound = lines(&disk, NAME);
    let check = |change: &dyn Fn(&mut Vec<String>), expected: &[Kind]| {
        let mut changed = sound.clone();
        change(&mut changed);
        put(&disk, NAME, &changed);
        assert_eq!(found(&disk, &strict()), expected);
    };
    check(&|lines| drop(lines.remove(2)), &[Kind::Gap]);
    check(&|lines| drop(lines.remove(0)), &[Kind::Cut]);
    check(&|lines| lines.insert(3, lines[2].clone()), &[Kind::Reordered]);
    check(&|lines| lines.swap(2, 3), &[Kind::Gap, Kind::Reordered]);
    check(&|lines| lines.insert(2, "\n".into()), &[Kind::Malformed]);
    check(&|lines| lines.insert(2, "[]\n".into()), &[Kind::Malformed]);
    check(&|lines| lines.insert(2, "{\"tool\":\"x\"}\n".into()), &[Kind::Unsigned, Kind::LegacyAfterChain]);
    check(&|lines| lines.insert(2, format!("{}\n", " ".repeat(300_000))), &[Kind::TooLarge]);
    check(&|lines| lines[5].truncate(400), &[Kind::Torn]);
    check(&|lines| lines[5] = lines[5].trim_end().to_owned(), &[Kind::Torn]);
    let twice = |lines: &mut Vec<String>| lines[2] = lines[2].replacen('{', "{\"tool\":\"first\",", 1);
    check(&twice, &[Kind::DuplicateKey]);
    // an entry of another ledger by the same key, at its own place
    let other = Disk::default();
    let (mut appender, _) = Appender::open(other.directory(), Steady::new(2), signed()).expect("a new ledger");
    appender.append(&events(1..7)).expect("appended");
    let foreign = lines_of(&other);
    check(&|lines| lines[2].clone_from(&foreign[2]), &[Kind::Forked]);
    check(&|lines| lines.splice(3.., foreign[3..].iter().cloned()).for_each(drop), &[Kind::Forked]);
}

fn lines_of(disk: &Disk) -> Vec<String> {
    lines(disk, NAME)
}

#[test]
fn what_was_cut_off_is_found_when_something_is_expected() {
    let disk = plain();
    let report = verify_disk(&disk, &strict());
    let head = report.head_statement(1);
    let sound = lines(&disk, NAME);
    put(&disk, NAME, &sound[..4]);
    let cut = verify_disk(&disk, &strict());
    assert_eq!((cut.is_sound(), cut.last), (true, 4), "it says where it ends");
    assert_ne!(cut.head, report.head);
    assert_eq!(found(&disk, &Options { expect_sequence: Some(6), ..strict() }), [Kind::Cut]);
    assert_eq!(found(&disk, &Options { since: head, ..strict() }), [Kind::Cut]);
    assert_eq!(found(&disk, &Options { expect_sequence: Some(4), ..strict() }), []);
}

#[test]
fn a_ledger_that_is_not_there_or_empty_is_no_success() {
    let disk = Disk::default();
    assert_eq!(found(&disk, &options(false)), [Kind::Empty]);
    disk.put(NAME, b"");
    assert_eq!(found(&disk, &options(false)), [Kind::Empty]);
    let base = tempfile::tempdir().expect("a directory");
    let at = |name: &str| verify_at(&base.path().join(name), &options(true));
    assert_eq!(kinds(&at("none.jsonl")), [Kind::Missing]);
    assert_eq!(kinds(&at("no/such/place.jsonl")), [Kind::Missing]);
    std::fs::write(base.path().join("empty.jsonl"), b"").expect("written");
    assert_eq!(kinds(&at("empty.jsonl")), [Kind::Empty]);
    std::fs::create_dir(base.path().join("directory.jsonl")).expect("made");
    assert_eq!(kinds(&at("directory.jsonl")), [Kind::Unreadable]);
}

#[test]
fn segments_cannot_be_taken_out_renamed_or_mixed() {
    let remove = |index: usize, expected: &[Kind]| {
        let disk = rotated();
        let name = disk.ledger_files().swap_remove(index);
        disk.world().names.remove(&name);
        assert_eq!(found(&disk, &strict()), expected, "{name}");
    };
    remove(0, &[Kind::Cut]);
    remove(1, &[Kind::Gap]);
    let disk = rotated();
    let name = disk.ledger_files().swap_remove(1);
    let names::Kind::Segment(segment) = names::kind(NAME, &name) else { panic!("a segment") };
    let content = disk.content(&name);
    disk.world().names.remove(&name);
    for other in [
        SegmentName { last: 5, ..segment },
        SegmentName { id: Uuid::v4([3; 16]), ..segment },
        SegmentName { first: 2, ..segment },
    ] {
        disk.put(&other.file_name(NAME), &content);
        assert_eq!(found(&disk, &strict()), [Kind::Segment], "{other}");
        disk.world().names.remove(&other.file_name(NAME));
    }
    // put before the first
    disk.put(&SegmentName { first: 1, last: 1, ..segment }.file_name(NAME), &content);
    assert!(found(&disk, &strict()).contains(&Kind::Cut));
    let disk = rotated();
    disk.put(NAME, b"");
    assert_eq!(found(&disk, &strict()), [Kind::Cut], "the active file was emptied");
    let disk = rotated();
    let files = disk.ledger_files();
    let joined = [disk.content(&files[1]), disk.content(&files[2])].concat();
    disk.put(&files[1], &joined);
    disk.world().names.remove(&files[2]);
    assert_eq!(found(&disk, &strict()), [Kind::Segment]);
}

#[test]
fn the_active_file_cannot_be_deleted_and_names_must_be_names() {
    let base = tempfile::tempdir().expect("a directory");
    let disk = rotated();
    for name in disk.names() {
        std::fs::write(base.path().join(&name), disk.content(&name)).expect("written");
    }
    let path = base.path().join(NAME);
    assert!(verify_at(&path, &strict()).is_sound());
    let odd = base.path().join(format!("{NAME}.segment-odd"));
    std::fs::write(&odd, b"").expect("written");
    assert_eq!(kinds(&verify_at(&path, &strict())), [Kind::Segment]);
    std::fs::remove_file(odd).expect("removed");
    std::fs::remove_file(&path).expect("removed");
    assert_eq!(kinds(&verify_at(&path, &strict())), [Kind::Cut]);
    for number in 0..3_u8 {
        let name = SegmentName { first: 100, last: 100, id: Uuid::v4([number; 16]) };
        std::fs::write(base.path().join(name.file_name(NAME)), b"").expect("written");
    }
    assert_eq!(verify_at(&path, &strict()).findings[0].kind, Kind::TooLarge);
}

#[test]
fn checkpoints_cannot_be_taken_away_changed_or_forged() {
    let disk = pruned();
    let name = disk.names().into_iter().find(|name| name.contains("checkpoint")).expect("a checkpoint");
    let sound = String::from_utf8(disk.content(&name)).expect("UTF-8");
    disk.world().names.remove(&name);
    assert_eq!(found(&disk, &strict()), [Kind::Cut]);
    let forge = |change: &dyn Fn(&mut Map<String, Value>), strictly: &[Kind], loosely: &[Kind]| {
        disk.put(&name, edit(&sound, change).trim_end().as_bytes());
        assert_eq!(found(&disk, &strict()), strictly);
        assert_eq!(found(&disk, &options(false)), loosely);
    };
    let unsign = |map: &mut Map<String, Value>| {
        for member in ["signature", "signatureKeyId", "signatureVersion"] {
            map.remove(member);
        }
    };
    forge(
        &|map| drop(map.insert("createdAt".into(), 1.into())),
        &[Kind::BadSignature, Kind::Cut],
        &[Kind::BadSignature, Kind::Cut],
    );
    forge(&|map| drop(map.remove("signature")), &[Kind::Stripped, Kind::Cut], &[Kind::Stripped, Kind::Cut]);
    forge(&unsign, &[Kind::Unsigned, Kind::Cut], &[Kind::Unsigned]);
    forge(&|map| drop(map.remove("nextSequence")), &[Kind::BadSignature, Kind::Cut], &[Kind::BadSignature, Kind::Cut]);
    disk.put(&name, b"[]");
    assert_eq!(found(&disk, &strict()), [Kind::Checkpoint, Kind::Cut]);
    // an unsigned one that names another entry, in a ledger that is not signed either
    disk.put(&name, sound.as_bytes());
    let forged = json!({"auditCheckpointVersion": 1, "createdAt": 1, "nextSequence": 6, "prunedThroughSequence": 5,
        "previousHash": format!("sha256:{}", "0".repeat(64))});
    let other = CheckpointName { next: 6, id: Uuid::v4([1; 16]) }.file_name(NAME);
    disk.put(&other, forged.to_string().as_bytes());
    assert_eq!(found(&disk, &options(false)), [Kind::Checkpoint], "it disagrees with what is retained");
    let ahead = forged.to_string().replace(":6,", ":60,").replace(":5,", ":59,").replace(":5}", ":59}");
    disk.put(&other, ahead.as_bytes());
    assert_eq!(found(&disk, &options(false)), [Kind::Cut], "it stands for more than there is");
    assert_eq!(found(&disk, &strict()), [Kind::Unsigned], "a checkpoint that is not signed counts for nothing");
}

#[test]
fn findings_are_bounded_and_their_number_is_true() {
    let disk = plain();
    let sound = lines(&disk, NAME);
    let many: Vec<String> = std::iter::repeat_n("\n".to_owned(), 1000).chain(sound).collect();
    put(&disk, NAME, &many);
    let report = verify_disk(&disk, &strict());
    assert_eq!((report.findings.len(), report.findings_total), (256, 1000));
    assert!(report.failure().expect("a failure").ends_with("(and 999 more)"));
}

#[test]
fn a_file_beyond_its_bound_is_named_and_not_read_on() {
    let base = tempfile::tempdir().expect("a directory");
    let path = base.path().join(NAME);
    std::fs::write(&path, vec![b' '; 4 * 1024 * 1024 + 256 * 1024 + 1]).expect("written");
    assert_eq!(verify_at(&path, &options(false)).findings[0].kind, Kind::TooLarge);
}

#[test]
fn numbers_at_the_end_of_their_range_are_numbers_like_others() {
    let disk = plain();
    let sound = lines(&disk, NAME);
    let furthest = |map: &mut Map<String, Value>| {
        map.insert("sequence".into(), u64::MAX.into());
        for member in ["signature", "signatureKeyId", "signatureVersion"] {
            map.remove(member);
        }
        rehash(map);
    };
    let mut changed = sound.clone();
    changed[5] = edit(&changed[5], furthest);
    changed.push(changed[5].clone());
    put(&disk, NAME, &changed);
    assert_eq!(found(&disk, &options(false)), [Kind::Gap, Kind::Forked]);
    let name = SegmentName { first: u64::MAX, last: u64::MAX, id: Uuid::v4([3; 16]) };
    for name in [name, SegmentName { first: u64::MAX - 1, ..name }] {
        disk.put(&name.file_name(NAME), sound[0].as_bytes());
    }
    assert!(found(&disk, &options(false)).contains(&Kind::Segment));
    assert!(Appender::open(disk.directory(), Steady::new(1), signed()).is_err());
}
