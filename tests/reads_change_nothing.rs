//! No read writes a byte in a repository or a home: not the index, not a lock, not a time. Records go to their own place.
//! Trust: the whole directory is looked at before and after, with times, inodes and contents.

mod support;

use support::{Place, Start, calls, fixtures, snapshot::Snapshot};

#[test]
fn in_no_state_of_a_repository() {
    let fixture = fixtures::build(fixtures::STATES);
    // entries whose times lie: what makes git itself refresh and rewrite the index
    for name in ["columns", "part", "packs"] {
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
        for file in ["file14", "p3"] {
            if let Ok(file) = std::fs::File::open(fixture.at(name).join(file)) {
                file.set_modified(later).expect("it is ours");
            }
        }
    }
    let records = Place::new();
    let before = Snapshot::of(fixture.place.path());
    let start = Start::new(&fixture.place).root(fixture.directory()).argument("--run-dir").argument(records.at("run"));
    let mut server = start.spawn();
    let mut answers = 0;
    for entry in std::fs::read_dir(fixture.directory()).expect("it was just built") {
        let path = entry.expect("an entry").path();
        for (tool, arguments) in calls::on(&path) {
            answers += usize::from(path.is_dir() && server.call(tool, arguments).is_ok());
        }
    }
    let ended = server.finish();
    assert!(ended.status.success(), "{}", ended.said);
    assert!(answers > 60, "the tools did read: {answers}");
    let after = Snapshot::of(fixture.place.path());
    let changes = before.differences(&after);
    assert!(changes.is_empty(), "of {} entries:\n{}", before.len(), changes.join("\n"));
    assert!(records.at("run/audit/mcp.jsonl").is_file(), "they were recorded, where that was asked for");
}

#[test]
fn nor_does_starting_listing_and_looking() {
    let fixture = fixtures::build(fixtures::RECORDED);
    let before = Snapshot::of(fixture.place.path());
    let mut server = Start::new(&fixture.place).root(fixture.directory()).spawn();
    let id = server.request("tools/list", serde_json::json!({"_meta": support::server::meta()}));
    assert!(server.answer(&id).message.get("result").is_some());
    assert!(server.finish().status.success());
    for arguments in [&["tools"][..], &["doctor"], &["doctor", "--json"], &["--help"], &["--version"]] {
        Start::new(&fixture.place).root(fixture.directory()).cwd(fixture.at("rich")).arguments(arguments).output();
    }
    let changes = before.differences(&Snapshot::of(fixture.place.path()));
    assert!(changes.is_empty(), "{}", changes.join("\n"));
}
