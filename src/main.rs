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
use cli::{Aside, Cli, Command, Flags, Settled};
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
            let (flags, command) = match settled(Cli::parse(), || Cli::command().get_matches()) {
                Ok(settled) => settled,
                Err(code) => return code,
            };
            match options::settle_on(&flags, Surface::Review, &[]) {
                Ok(options) => (options, command),
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
        Some(Settled::Call { tool, arguments }) => call::run(options, &tool, &arguments),
        Some(Settled::VerifyAudit { ledger, pubkey, require_signed, since, expect_sequence, json }) => {
            let asked = audit::Asked { pubkey, require_signed, since, expect_sequence, json };
            audit::verify(&ledger, &asked)
        }
        Some(Settled::Audit { command }) => audit::run(&options, &command),
        Some(Settled::Tools { json }) => tools::run(&options, json),
        Some(Settled::Doctor { json }) => doctor::run(options, json),
    }
}

/// What is to be settled, and done then. `matches` is the same command line, once more, as clap has it.
///
/// # Errors
/// The exit status of what needed no settings, and is done.
fn settled(cli: Cli, matches: impl FnOnce() -> ArgMatches) -> Result<(Flags, Option<Settled>), ExitCode> {
    match cli.command {
        None => Ok((cli.flags, None)),
        Some(Command::Settled(command)) => Ok((cli.flags, Some(command))),
        Some(Command::Aside(Aside::Connect(words))) => Err(connect::run(&cli.flags, &words, &matches())),
        Some(Command::Aside(Aside::Completions { shell })) => Err(manual::completions(shell)),
        Some(Command::Aside(Aside::Man { directory })) => Err(manual::pages(directory.as_deref())),
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
