//! Asking a program of the operator's about itself, before any jail: briefly, without input, and not at length.
//! Trust: the programs are the operator's own, found before anything of a repository was read.

use std::{
    ffi::{OsStr, OsString},
    io::Read,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of an answer at most; a longer one counts as none.
const MAX_ANSWER: u64 = 1 << 20;
/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(1);

/// What `program` says to these arguments, standing in the root directory, with these variables and no other.
///
/// # Errors
/// Why there is no answer, in words.
pub(crate) fn ask<S: AsRef<OsStr>>(
    program: &Path,
    arguments: &[S],
    environment: &[(OsString, OsString)],
) -> Result<Vec<u8>, String> {
    let failed = |why: String| format!("{}: {why}", program.display());
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("LC_ALL", "C").current_dir("/");
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|e| failed(e.to_string()))?;
    let out = child.stdout.take();
    let heard = thread::spawn(move || {
        let mut bytes = Vec::new();
        out.map(|out| out.take(MAX_ANSWER + 1).read_to_end(&mut bytes)).transpose().map(|_| bytes)
    });
    let until = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < until => thread::sleep(PAUSE),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(failed(format!("no answer within {} s", PATIENCE.as_secs())));
            }
            Err(e) => return Err(failed(e.to_string())),
        }
    };
    let bytes = heard.join().map_err(|_| failed("its answer was lost".to_owned()))?;
    let bytes = bytes.map_err(|e| failed(e.to_string()))?;
    if !status.success() {
        return Err(failed(status.to_string()));
    }
    if bytes.len() as u64 > MAX_ANSWER {
        return Err(failed("its answer is too long".to_owned()));
    }
    Ok(bytes)
}
