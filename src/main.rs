//! The one binary: the first word decides whether this process is a worker or the front door.
//! Trust: a worker's arguments come from the launcher alone; the front door's come from the operator.
#![forbid(unsafe_code)]

mod agents;
mod audit;
mod call;
mod cli;
mod connect;
mod direct;
mod doctor;
mod env;
mod gateway;
mod manual;
mod options;
mod roots;
mod run_dir;
mod serve;
mod tools;
mod worker;

use bulkhead_contract::catalogue::Surface;
use clap::{ArgMatches, CommandFactory as _, Parser as _};
use std::{io::Write as _, process::ExitCode};

fn main() -> ExitCode {
    if let Some(kind) = worker::asked_for() {
        return worker::run(kind);
    }
    let asked = direct::asked_for();
    let program = asked.as_ref().map_or("bulkhead", |(program, _)| *program);
    let (options, command) = match asked {
        Some((program, words)) => match direct::settle(program, words) {
            Ok(settled) => settled,
            Err(code) => return code,
        },
        None => {
            let cli = cli::Cli::parse();
            if let Some(code) = aside(&cli, || cli::Cli::command().get_matches()) {
                return code;
            }
            match options::settle_on(&cli.flags, Surface::Review) {
                Ok(options) => (options, cli.command),
                Err(e) => return refuse(&e.to_string()),
            }
        }
    };
    for name in env::unknown() {
        complain_as(
            program,
            &format!("the variable {name} is not one of this program's; `bulkhead --help` lists them"),
        );
    }
    for complaint in &options.complaints {
        complain_as(program, complaint);
    }
    match command {
        None => serve::run(options),
        Some(cli::Command::Call { tool, arguments }) => call::run(options, &tool, &arguments),
        Some(cli::Command::VerifyAudit { ledger, pubkey, require_signed, since, expect_sequence, json }) => {
            let asked = audit::Asked { pubkey, require_signed, since, expect_sequence, json };
            audit::verify(&ledger, &asked)
        }
        Some(cli::Command::Audit { command }) => audit::run(&options, &command),
        Some(cli::Command::Tools { json }) => tools::run(&options, json),
        Some(cli::Command::Doctor { json }) => doctor::run(options, json),
        // run aside, before anything was settled for a server
        Some(cli::Command::Connect { .. } | cli::Command::Completions { .. } | cli::Command::Man { .. }) => {
            ExitCode::SUCCESS
        }
    }
}

/// Runs a command that needs nothing of what a server needs: it writes a host's file, or describes this program. `None` for all
/// others.
fn aside(cli: &cli::Cli, matches: impl FnOnce() -> ArgMatches) -> Option<ExitCode> {
    match cli.command.as_ref()? {
        cli::Command::Connect { .. } => Some(connect::run(cli, &matches())),
        cli::Command::Completions { shell } => Some(manual::completions(*shell)),
        cli::Command::Man { directory } => Some(manual::pages(directory.as_deref())),
        _ => None,
    }
}

/// The command line is not well-formed: one line on standard error, exit status 2 as clap's own.
fn refuse(why: &str) -> ExitCode {
    complain(why);
    ExitCode::from(2)
}

/// One line on standard error. A closed standard error is no reason to stop.
fn complain(why: &str) {
    complain_as("bulkhead", why);
}

/// The same under another name of the program.
fn complain_as(program: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "{program}: {why}");
}
