//! The ledger from the command line: what is settled about it at start, and the commands that make keys, verify and show it.
//! Trust: ledgers, keys and heads may be anybody's; what is shown was verified, or says that it was not.

mod settle;
mod show;
mod verify;

pub use settle::{Settled, settle};
pub use verify::{Asked, verify};

use crate::{cli::AuditCommand, options::Options};
use bulkhead_ledger::{
    append::{Host as _, SystemHost, disk},
    key_file,
    verify::Options as Verification,
};
use bulkhead_supervisor::mcp::stdio::say;
use bulkhead_worker_audit::keys;
use std::{path::Path, process::ExitCode};

/// Runs one of `bulkhead audit`.
pub fn run(options: &Options, command: &AuditCommand) -> ExitCode {
    let ledger = match &options.audit.ledger {
        Ok(ledger) => ledger,
        Err(why) => return crate::refuse(why),
    };
    match command {
        AuditCommand::Init => init(ledger),
        AuditCommand::Head => head(options, ledger),
        AuditCommand::Tail { follow, lines } => show::tail(ledger, *lines, *follow),
        AuditCommand::Export { csv: _, json, since, tool, result } => {
            let chosen = show::Chosen { since: *since, tool: tool.as_deref(), result: result.as_deref() };
            show::export(ledger, *json, &chosen)
        }
    }
}

fn init(ledger: &Path) -> ExitCode {
    match keys::init(ledger) {
        Ok(made) => {
            let what = if made.is_new { "made" } else { "there already" };
            printed(&format!(
                "ledger:     {}\nkey:        {} ({what}; id {})\npublic key: {}",
                ledger.display(),
                made.key.display(),
                made.id,
                made.public.display()
            ))
        }
        Err(why) => failed(&why.to_string()),
    }
}

/// A head, signed by the key that signs records; of a ledger that verifies as far as that key goes.
fn head(options: &Options, ledger: &Path) -> ExitCode {
    let own = keys::signing_key(ledger);
    let named = options.audit.sign_key.as_deref();
    let path = named.or_else(|| own.symlink_metadata().is_ok().then_some(own.as_path()));
    let key = match path.map(key_file::load).transpose() {
        Ok(key) => key,
        Err(why) => return failed(&format!("{}: {why}", path.unwrap_or(&own).display())),
    };
    let report = bulkhead_ledger::verify::verify_path(ledger, &Verification::default(), &mut |_, _| {});
    if let Some(why) = report.failure() {
        crate::complain(&format!("no head is stated: {why}"));
        return ExitCode::from(verify::BROKEN);
    }
    match report.head_statement(SystemHost.now()) {
        Some(head) => printed(&head.text(key.as_ref())),
        None => failed("the ledger has no entry yet"),
    }
}

/// Why calls would not be recorded in a ledger that is not there yet: the key that is named, or the directory. Makes nothing.
pub fn obstacle(settled: &Settled) -> Option<String> {
    let ledger = settled.ledger.as_deref().ok()?;
    let own = keys::signing_key(ledger);
    let key = settled.sign_key.as_deref().or_else(|| own.symlink_metadata().is_ok().then_some(own.as_path()));
    if let Err(why) = disk::check_directory(ledger) {
        return Some(why.to_string());
    }
    let path = key?;
    Some(format!("{}: {}", path.display(), key_file::load(path).err()?))
}

fn printed(text: &str) -> ExitCode {
    if say(text).is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn failed(why: &str) -> ExitCode {
    crate::complain(why);
    ExitCode::FAILURE
}
