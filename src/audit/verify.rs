//! `bulkhead verify-audit`: a whole ledger, judged; the contract's lines and exit codes.
//! Trust: the ledger may be forged in every byte; keys and heads are the operator's, and are checked in form.

use bulkhead_ledger::{
    head::Head,
    key::{Keys, PublicKey},
    limits::MAX_KEY_FILE,
    record::Rules,
    verify::{Options, verify_path},
};
use bulkhead_supervisor::mcp::stdio::say;
use std::{
    fs::File,
    io::{IsTerminal as _, Read as _, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Exit status for a ledger that is not sound.
pub const BROKEN: u8 = 3;
/// Bytes of a head; an honest one has some 400.
const MAX_HEAD: u64 = 4096;
/// Characters of the progress bar.
const BAR: u64 = 40;

/// What is asked of the ledger.
#[derive(Debug)]
pub struct Asked {
    /// Files of public keys.
    pub pubkey: Vec<PathBuf>,
    /// Everything must be signed.
    pub require_signed: bool,
    /// File of an earlier head.
    pub since: Option<PathBuf>,
    /// Least sequence.
    pub expect_sequence: Option<u64>,
    /// As JSON.
    pub json: bool,
}

/// Verifies and prints.
pub fn verify(ledger: &Path, asked: &Asked) -> ExitCode {
    let options = match options(asked) {
        Ok(options) => options,
        Err(why) => return crate::refuse(&why),
    };
    let mut bar = Bar { shown: None, on: std::io::stderr().is_terminal() };
    let report = verify_path(ledger, &options, &mut |done, total| bar.show(done, total));
    bar.clear();
    if asked.json {
        if say(&report.json().to_string()).is_err() {
            return ExitCode::FAILURE;
        }
    } else if report.is_sound() && say(&report.lines().join("\n")).is_err() {
        return ExitCode::FAILURE;
    }
    match report.failure() {
        None => ExitCode::SUCCESS,
        Some(why) => {
            crate::complain(&why);
            ExitCode::from(BROKEN)
        }
    }
}

fn options(asked: &Asked) -> Result<Options, String> {
    let mut keys = Vec::new();
    for path in &asked.pubkey {
        let told = |why: String| format!("{}: {why}", path.display());
        let text = text(path, MAX_KEY_FILE).map_err(told)?;
        keys.push(PublicKey::from_pem(&text).map_err(|why| told(why.to_string()))?);
    }
    let keys = Keys::new(keys).map_err(|why| why.to_string())?;
    let rules = Rules { keys, strict: asked.require_signed };
    let since = match &asked.since {
        Some(path) => {
            let told = |why: String| format!("{}: {why}", path.display());
            let text = text(path, MAX_HEAD).map_err(told)?;
            Some(Head::read(text.trim(), &rules).map_err(|why| told(why.to_string()))?.0)
        }
        None => None,
    };
    Ok(Options { rules, since, expect_sequence: asked.expect_sequence, threads: 0 })
}

/// A small text file.
fn text(path: &Path, most: u64) -> Result<String, String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    if bytes.len() as u64 > most {
        return Err(format!("more than {most} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned())
}

/// How far it is, on a terminal.
struct Bar {
    shown: Option<u64>,
    on: bool,
}

impl Bar {
    fn show(&mut self, done: u64, total: u64) {
        let filled = (done * BAR).checked_div(total).unwrap_or(BAR).min(BAR);
        if self.on && self.shown != Some(filled) {
            self.shown = Some(filled);
            let bar: String = (0..BAR).map(|at| if at < filled { '#' } else { '.' }).collect();
            let _ = write!(std::io::stderr(), "\r[{bar}] {} of {} KiB", done >> 10, total >> 10);
        }
    }

    fn clear(&self) {
        if self.shown.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
