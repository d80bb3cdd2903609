//! Where a ledger may lie on a real file system, and what the plain directory refuses.
//! Trust: makes its own directories, links and files.
#![cfg(unix)]

use crate::support::{Steady, event, events, open_at, private_directory, signed, strict, verify_at};
use bulkhead_ledger::{
    append::{
        AppendError, Appender, Directory as _,
        disk::{PlaceError, open_directory},
    },
    names::SegmentName,
    uuid::Uuid,
};
use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
};

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).expect("facts").mode() & 0o777
}

#[test]
fn everything_that_is_made_is_private() {
    let base = private_directory();
    let path = base.path().join("a").join("b").join("audit.jsonl");
    let mut appender = open_at(&path, signed(), 1);
    appender.append(&[event(1)]).expect("appended");
    assert_eq!((mode(&base.path().join("a")), mode(&base.path().join("a/b"))), (0o700, 0o700));
    assert_eq!((mode(&path), mode(&path.with_file_name("audit.jsonl.lock"))), (0o600, 0o600));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("set");
    drop(open_at(&path, signed(), 2));
    assert_eq!(mode(&path), 0o600, "a writer closes what was opened to others");
}

#[test]
fn a_directory_that_others_may_use_is_refused() {
    let base = private_directory();
    for open_to_others in [0o750, 0o705, 0o777] {
        fs::set_permissions(base.path(), fs::Permissions::from_mode(open_to_others)).expect("set");
        let refused = open_directory(&base.path().join("audit.jsonl")).expect_err("refused");
        assert!(matches!(refused, PlaceError::Mode(mode) if mode == open_to_others), "{refused}");
    }
    fs::set_permissions(base.path(), fs::Permissions::from_mode(0o700)).expect("set");
    assert!(open_directory(&base.path().join("audit.jsonl")).is_ok());
    assert!(matches!(open_directory(std::path::Path::new("/")), Err(PlaceError::Name)));
}

#[test]
fn links_second_names_and_other_kinds_of_files_are_refused() {
    let base = private_directory();
    let path = base.path().join("audit.jsonl");
    let open = || {
        let directory = open_directory(&path).expect("the directory is fine");
        Appender::open(directory, Steady::new(1), signed()).map(drop)
    };
    fs::write(base.path().join("elsewhere"), b"").expect("written");
    symlink(base.path().join("elsewhere"), &path).expect("linked");
    assert!(matches!(open(), Err(AppendError::Io(_))), "a link");
    fs::remove_file(&path).expect("removed");
    fs::hard_link(base.path().join("elsewhere"), &path).expect("linked");
    assert!(matches!(open(), Err(AppendError::Io(_))), "a second name");
    fs::remove_file(&path).expect("removed");
    fs::create_dir(&path).expect("made");
    assert!(matches!(open(), Err(AppendError::Io(_))), "a directory");
    fs::remove_dir(&path).expect("removed");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("made");
    assert!(matches!(open(), Err(AppendError::Io(_))), "a FIFO, and without waiting on it");
    fs::remove_file(&path).expect("removed");
    assert!(open().is_ok());
    let lock = path.with_file_name("audit.jsonl.lock");
    fs::remove_file(&lock).expect("removed");
    symlink(base.path().join("elsewhere"), &lock).expect("linked");
    assert!(matches!(open_directory(&path), Err(PlaceError::Io(_))), "a lock that is a link");
}

#[test]
fn a_directory_beneath_a_link_is_found_once_and_used() {
    let base = private_directory();
    fs::create_dir(base.path().join("real")).expect("made");
    fs::set_permissions(base.path().join("real"), fs::Permissions::from_mode(0o700)).expect("set");
    symlink(base.path().join("real"), base.path().join("link")).expect("linked");
    let mut appender = open_at(&base.path().join("link/audit.jsonl"), signed(), 1);
    appender.append(&events(1..3)).expect("appended");
    assert!(verify_at(&base.path().join("real/audit.jsonl"), &strict()).is_sound());
}

#[test]
fn a_directory_that_became_read_only_is_reported() {
    let base = private_directory();
    if nix::unistd::geteuid().is_root() {
        eprintln!("SKIPPED: root writes where it likes");
        return;
    }
    let path = base.path().join("audit.jsonl");
    fs::set_permissions(base.path(), fs::Permissions::from_mode(0o500)).expect("set");
    assert!(matches!(open_directory(&path), Err(PlaceError::Io(_))));
    fs::set_permissions(base.path(), fs::Permissions::from_mode(0o700)).expect("set");
}

#[test]
fn the_peer_of_a_jailed_writer_cuts_nothing_but_a_torn_line() {
    let base = private_directory();
    let path = base.path().join("audit.jsonl");
    let mut directory = open_directory(&path).expect("a private directory");
    let content = b"{\"one\":1}\n{\"two\":2}\n{\"thr";
    fs::write(&path, content).expect("written");
    let file = directory.active().expect("no fault").expect("it is there");
    let length = content.len() as u64;
    for (from, to) in [
        (length, 10),
        (length, 19),
        (length, 22),
        (length, 0),
        (length, length),
        (length - 1, 20),
        (20, 20),
        (length, length + 1),
        (length, u64::MAX),
        (0, 1),
        (u64::MAX, 0),
    ] {
        assert!(directory.cut_tail(file, from, to).is_err(), "{from} to {to}");
        assert_eq!(fs::read(&path).expect("readable"), content);
    }
    let other = bulkhead_ledger::Identity { inode: file.inode + 1, ..file };
    assert!(directory.cut_tail(other, length, 20).is_err(), "another file");
    directory.cut_tail(file, length, 20).expect("the torn line");
    assert_eq!(fs::read(&path).expect("readable"), &content[..20]);
    let name = SegmentName { first: 1, last: 2, id: Uuid::v4([1; 16]) };
    assert!(directory.rename_active(other, &name).is_err(), "another file");
    fs::write(base.path().join(name.file_name("audit.jsonl")), b"").expect("written");
    assert!(directory.rename_active(file, &name).is_err(), "a segment is never replaced");
    assert!(directory.remove_checkpoint("audit.jsonl").is_err(), "no other file is removed as a checkpoint");
    assert!(directory.remove_checkpoint("audit.jsonl.checkpoint-/../x").is_err());
}

#[test]
fn a_file_that_is_swapped_cut_or_deleted_beneath_a_writer_is_refused() {
    let base = private_directory();
    let path = base.path().join("audit.jsonl");
    let copy = base.path().join("copy");
    let start = || {
        let _ = fs::remove_file(&path);
        let mut appender = open_at(&path, signed(), 1);
        appender.append(&events(1..4)).expect("appended");
        appender
    };
    let mut appender = start();
    fs::copy(&path, &copy).expect("copied");
    fs::rename(&copy, &path).expect("renamed");
    assert_eq!(appender.append(&[event(4)]).err(), Some(AppendError::Swapped));
    let mut appender = start();
    fs::OpenOptions::new().write(true).open(&path).expect("opened").set_len(100).expect("cut");
    assert!(matches!(appender.append(&[event(4)]), Err(AppendError::Truncated { found: 100, .. })));
    let mut appender = start();
    fs::remove_file(&path).expect("removed");
    assert_eq!(appender.append(&[event(4)]).err(), Some(AppendError::Swapped));
    assert!(!path.exists(), "no new ledger was begun in its place");
}
