//! The worker of these tests: says what it was told at start, then answers one word a frame.
//! Trust: none needed; it is as unjailed as a worker is at its first instruction.

use bulkhead_ipc::frame;
use bulkhead_sandbox::inherited;
use std::{fs, io, process::ExitCode};

/// Serves until the pipe closes.
pub fn main() -> ExitCode {
    let (mut requests, mut answers) = inherited::worker_pipes().expect("the launcher put the pipes at 3 and 4");
    while let Some(request) = frame::read(&mut requests).expect("the tests write whole frames") {
        let answer = match request.as_slice() {
            b"exit" => return ExitCode::from(7),
            b"environment" => fs::read("/proc/self/environ").expect("own"),
            b"arguments" => fs::read("/proc/self/cmdline").expect("own"),
            b"status" => fs::read("/proc/self/status").expect("own"),
            b"directory" => fs::read_link("/proc/self/cwd").expect("own").into_os_string().into_encoded_bytes(),
            b"descriptors" => descriptors().expect("own").into_bytes(),
            other => other.to_vec(),
        };
        frame::write(&mut answers, &answer).expect("the tests read every answer");
    }
    ExitCode::SUCCESS
}

/// `number kind` of every open descriptor but the one that lists them.
fn descriptors() -> io::Result<String> {
    let mut list = Vec::new();
    for entry in fs::read_dir("/proc/self/fd")? {
        let entry = entry?;
        let target = fs::read_link(entry.path())?.to_string_lossy().into_owned();
        if !target.ends_with("/fd") {
            let number = entry.file_name().to_string_lossy().into_owned();
            list.push(format!("{number} {}", target.split(':').next().unwrap_or_default()));
        }
    }
    list.sort();
    Ok(list.join("\n"))
}
