//! The judgement on arbitrary bytes in the place of any store: whatever comes out of them can be shown.
//! Trust: the bytes are the fuzzer's.

use bulkhead_ipc::edge::agents::{Finding, MAX_FILES, MAX_FINDINGS, MAX_TEXT};
use bulkhead_worker_agents::{inside, look::Look, presence, recognise::Program, sessions, sqlite::Database, when};
use std::time::{Duration, Instant};

/// The repository of every trial.
pub const ROOT: &str = "/srv/repo";
/// Milliseconds since 1970 at which every trial looks.
pub const NOW: i64 = 1_796_027_909_946;

/// What may be shown is short, plain, and of the repository.
fn fine(finding: &Finding) {
    let texts = [&finding.branch, &finding.last_tool].into_iter().flatten().chain(&finding.files);
    let client = finding.mcp_client.iter().flat_map(|client| client.version.iter().chain([&client.name]));
    for text in texts.chain(client).chain([&finding.agent]) {
        assert!(text.chars().count() <= MAX_TEXT && !text.chars().any(char::is_control), "{finding:?}");
    }
    assert!(finding.files.len() <= MAX_FILES, "{finding:?}");
    for file in &finding.files {
        assert!(!file.starts_with('/') && !file.split('/').any(|part| part == ".." || part.is_empty()), "{finding:?}");
    }
}

/// Every reader on these bytes.
pub fn trial(bytes: &[u8]) {
    let look = Look::new(ROOT.as_bytes(), &[], NOW, Instant::now() + Duration::from_secs(3_600));
    let mut found = sessions::judge_text(bytes, &look);
    found.extend(sessions::judge_database(bytes, None, &look));
    // the second half as the log of the first
    let (file, log) = bytes.split_at(bytes.len() / 2);
    found.extend(sessions::judge_database(file, Some(log), &look));
    found.extend(presence::of_text(bytes, b"7.json", &look, 1).unwrap_or_default());
    assert!(found.len() <= MAX_FINDINGS);
    found.iter().for_each(fine);
    let owned = bytes.to_vec();
    if let Ok(database) = Database::open(&owned, None) {
        let _ = database.rows("t", &["a", "b?"], &mut |row| {
            let _ = row.value(0, 64)?;
            let _ = row.value(1, 1 << 20)?;
            Ok(true)
        });
    }
    let program = Program { path: bytes.to_vec(), line: bytes.to_vec() };
    let _ = (program.agent(&|_| true), program.is_server());
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = (when::text(text), inside::local(text), inside::relative(text));
    }
}
