//! What a worker says about its own jail when it is asked: the report of its layers, and what it tried just now.
//! Trust: only calls whose refusal is an error code are tried; the supervisor compares with what it sees from outside.

use bulkhead_contract::isolation::Report;
use std::{fs, io};

/// Places that no repository is in. Each opens in a process without walls.
const OUTSIDE: &[&str] = &["/", "/etc/passwd", "/proc/self/status", "/dev/null"];

/// The report of the live process, with fresh evidence about files.
#[must_use]
pub fn report(entered: &Report) -> Report {
    let mut report = entered.clone();
    let tried: Vec<String> = OUTSIDE.iter().map(|path| format!("{path} {}", outcome(fs::File::open(path)))).collect();
    if let Some(row) = report.rows.iter_mut().find(|row| row.capability == "files-outside-roots") {
        row.evidence = format!("{}; tried: {}", row.evidence, tried.join(", "));
    }
    report
}

fn outcome(opened: io::Result<fs::File>) -> &'static str {
    match opened.map_err(|e| e.kind()) {
        Ok(_) => "opens",
        Err(io::ErrorKind::PermissionDenied) => "is refused",
        Err(io::ErrorKind::NotFound) => "is absent",
        Err(_) => "fails",
    }
}
