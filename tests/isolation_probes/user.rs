//! The second run, as an ordinary user: everything is collected there and judged here.
//! Trust: the second run is this program; its lines are read as they come.

use crate::{collect, collect::Collected};
use std::{
    fmt::Write as _,
    fs, io,
    io::Write as _,
    os::unix::{
        fs::{PermissionsExt, chown},
        process::CommandExt,
    },
    process::{Command, ExitCode, Stdio},
};

/// Nobody that a system has by default.
const USER: u32 = 12_345;

/// Starts the second run from a copy that every user can reach.
///
/// # Errors
/// Why that is not possible here.
pub fn run() -> Result<Collected, String> {
    let directory = tempfile::Builder::new().prefix("bulkhead-user-").tempdir().map_err(|e| e.to_string())?;
    let prepare = || -> io::Result<_> {
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755))?;
        let (copy, own) = (directory.path().join("probes"), directory.path().join("own"));
        fs::copy("/proc/self/exe", &copy)?;
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o755))?;
        fs::create_dir(&own)?;
        chown(&own, Some(USER), Some(USER))?;
        Ok((copy, own))
    };
    let (copy, own) = prepare().map_err(|e| e.to_string())?;
    let output = Command::new(&copy)
        .arg("as-user")
        .uid(USER)
        .gid(USER)
        .env("TMPDIR", own)
        .current_dir("/")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("{}: {e}", copy.display()))?;
    let mut collected = Collected::default();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let mut fields = line.splitn(4, '\t').map(str::to_owned);
        match [fields.next(), fields.next(), fields.next(), fields.next()] {
            [Some(kind), Some(column), Some(probe), Some(outcome)] if kind == "outcome" => {
                collected.outcomes.insert((probe, column), outcome);
            }
            [Some(kind), Some(column), Some(why), None] if kind == "skipped" => collected.skipped.push((column, why)),
            [Some(kind), Some(what), None, None] if kind == "held" => collected.held.push(what),
            [Some(kind), Some(what), None, None] if kind == "broken" => collected.broken.push(what),
            _ => collected.broken.push(format!("the second run says {line:?}")),
        }
    }
    if !output.status.success() {
        collected.broken.push(format!("the second run ended with {}", output.status));
    }
    Ok(collected)
}

/// The second run itself: writes one line for each thing collected.
pub fn collect() -> ExitCode {
    let Collected { outcomes, skipped, held, broken } = collect::everything();
    let mut text = String::new();
    let flat = |text: &str| text.replace(['\n', '\t'], " ");
    for ((probe, column), outcome) in outcomes {
        let _ = writeln!(text, "outcome\t{column}\t{probe}\t{}", flat(&outcome));
    }
    for (column, why) in skipped {
        let _ = writeln!(text, "skipped\t{column}\t{}", flat(&why));
    }
    for (kind, list) in [("held", held), ("broken", broken)] {
        for what in list {
            let _ = writeln!(text, "{kind}\t{}", flat(&what));
        }
    }
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
