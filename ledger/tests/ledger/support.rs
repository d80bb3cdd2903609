//! What the tests share: keys, events, a host without surprises, verification of files and of simulated disks.
//! Trust: reads test data of this repository.

use crate::simulated::Disk;
use bulkhead_ledger::{
    append::{Appender, Host, Settings, disk::DiskDirectory, disk::open_directory},
    event::{Approval, Event, Outcome, Risk},
    key::{Keys, PrivateKey, PublicKey},
    record::Rules,
    verify::{Kind, Options, Report, verify, verify_path},
};
use serde_json::Map;
use std::{path::Path, time::Duration};

pub fn key() -> PrivateKey {
    PrivateKey::from_pem(include_str!("../vectors/test-signing-key.pem")).expect("the test key")
}

pub fn public(name: &str) -> PublicKey {
    let pem = match name {
        "a" => include_str!("../vectors/a.pub.pem"),
        _ => include_str!("../vectors/b.pub.pem"),
    };
    PublicKey::from_pem(pem).expect("a public key")
}

pub fn rules(strict: bool) -> Rules {
    Rules { keys: Keys::new(vec![public("a")]).expect("one key"), strict }
}

pub fn options(strict: bool) -> Options {
    Options { rules: rules(strict), threads: 2, ..Options::default() }
}

pub fn strict() -> Options {
    options(true)
}

pub fn verify_at(path: &Path, options: &Options) -> Report {
    verify_path(path, options, &mut |_, _| {})
}

pub fn verify_disk(disk: &Disk, options: &Options) -> Report {
    verify(disk.snapshot(), options, &mut |_, _| {})
}

/// The kinds of what was found, in order, each once.
pub fn kinds(report: &Report) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    for finding in &report.findings {
        if !kinds.contains(&finding.kind) {
            kinds.push(finding.kind);
        }
    }
    kinds
}

/// One event like the contract's; `number` tells it from others.
pub fn event(number: u64) -> Event {
    Event {
        event_type: "tool_call".into(),
        tool: "repo.status".into(),
        risk: Risk::None,
        approval: Approval::NotRequired,
        result: Outcome::Success,
        repo_scope: "unknown".into(),
        args_fingerprint: None,
        session_id: "test".into(),
        duration_ms: number,
        summary: format!("event {number}"),
        read_only: true,
        timestamp: 1_750_000_000_000 + number,
        further: Map::new(),
    }
}

pub fn events(numbers: std::ops::Range<u64>) -> Vec<Event> {
    numbers.map(event).collect()
}

/// A clock that ticks and ids that count, so that every run is the same.
pub struct Steady(u64);

impl Steady {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
}

impl Host for Steady {
    fn now(&mut self) -> u64 {
        1_750_000_000_000
    }

    fn random(&mut self) -> [u8; 16] {
        let mut half = || {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0.to_le_bytes()
        };
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&half());
        bytes[8..].copy_from_slice(&half());
        bytes
    }

    fn pause(&mut self, length: Duration) {
        std::thread::sleep(length);
    }
}

pub fn signed() -> Settings {
    Settings { key: Some(key()), ..Settings::default() }
}

pub fn open_at(path: &Path, settings: Settings, seed: u64) -> Appender<DiskDirectory, Steady> {
    let directory = open_directory(path).expect("a private directory");
    Appender::open(directory, Steady::new(seed), settings).expect("a sound ledger").0
}

/// A temporary directory that only its owner can use.
pub fn private_directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o700)).expect("set");
    }
    directory
}
