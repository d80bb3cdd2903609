//! The direct surface's front door: its command line, the one repository that it serves, and its settings.
//! Trust: the operator's own words; of the repository only where it lies is looked at here.

mod flags;
mod help;
mod open;
mod writes;

use crate::{
    cli::{self, Cli},
    env,
    options::{self, Options},
};
use bulkhead_contract::catalogue::Surface;
use bulkhead_supervisor::{direct, mcp::stdio};
use clap::{ArgAction, CommandFactory as _, Parser as _};
use flags::{Account, Asked, LogCommands, Shared, Words};
use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Another name of the program: started under it, it is the direct surface alone.
const OTHER_NAME: &str = "vcs-mcp";
/// Longest time of one call, where the operator wants no limit.
const NO_TIMEOUT: u64 = 30 * 24 * 3600;
/// What a call needs of the time at its end, at least.
const LEAST_TIMEOUT: u64 = 1;

const NEEDS_TOOLSETS: &str = "--surface both needs --toolsets: which groups of both surfaces are to be served";

/// The words behind the program's name, where they are meant for the direct surface, and the name to complain under.
#[must_use]
pub fn asked_for() -> Option<(&'static str, Vec<OsString>)> {
    let mut words = std::env::args_os();
    let program = words.next().unwrap_or_default();
    let other = Path::new(&program).file_stem() == Some(OsStr::new(OTHER_NAME));
    let words: Vec<OsString> = words.collect();
    // what `connect` says of the surface is for a host's file
    if !other && words.first().is_some_and(|first| first == "connect") {
        return None;
    }
    let named = words.windows(2).any(|pair| pair[0] == "--surface" && (pair[1] == "direct" || pair[1] == "both"));
    match (other, named) {
        (true, _) => Some((OTHER_NAME, words)),
        (false, true) => Some(("bulkhead", words)),
        (false, false) => None,
    }
}

/// What is to be done, or the end of it: help, the version, or a complaint.
///
/// # Errors
/// The exit status.
pub fn settle(program: &'static str, words: Vec<OsString>) -> Result<(Options, Option<cli::Settled>), ExitCode> {
    let complain = |why: &str| {
        crate::complain_as(program, why);
        ExitCode::FAILURE
    };
    let said = |text: &str| match stdio::say(text.trim_end()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    };
    let command = Cli::command();
    let is_command = |word: &str| program == "bulkhead" && command.find_subcommand(word).is_some();
    let words = match flags::read(words, |flag| shared(&command, flag), is_command).map_err(|why| complain(&why))? {
        Asked::Help => return Err(said(&help::text(program))),
        Asked::Version => return Err(said(&format!("{program} {}", env!("CARGO_PKG_VERSION")))),
        Asked::Run(words) => *words,
    };
    let shared = std::iter::once(OsString::from("bulkhead")).chain(words.rest.iter().cloned());
    // prints its own complaint, and exits as the contract wants only for the direct surface's own flags
    let cli = Cli::try_parse_from(shared.clone()).map_err(|e| complain(&one_line(&e.to_string())))?;
    let (flags, command) = crate::settled(cli, || Cli::command().get_matches_from(shared))?;
    let options = self::options(program, &words, flags).map_err(|why| complain(&why))?;
    Ok((options, command))
}

/// How a flag of every surface is written; `None` for one that there is not.
fn shared(command: &clap::Command, flag: &str) -> Option<Shared> {
    // what the direct surface says in its own way
    if matches!(flag, "--deadline" | "--surface") {
        return None;
    }
    let name = flag.strip_prefix("--")?;
    let argument = command.get_arguments().find(|argument| argument.get_long() == Some(name))?;
    Some(match argument.get_action() {
        ArgAction::SetTrue => Shared::Alone,
        _ => Shared::Value,
    })
}

/// Whether a server with this surface would understand these words. Where they lead is not looked at.
///
/// # Errors
/// One sentence about what it would refuse.
pub fn understood(words: Vec<OsString>) -> Result<(), String> {
    let command = Cli::command();
    let words = match flags::read(words, |flag| shared(&command, flag), |_| false)? {
        Asked::Run(words) => *words,
        Asked::Help | Asked::Version => return Err("--help and --version serve nothing".to_owned()),
    };
    account(&words.account, words.forge)?;
    let shared = std::iter::once(OsString::from("bulkhead")).chain(words.rest);
    let cli = Cli::try_parse_from(shared).map_err(|e| one_line(&e.to_string()))?;
    if words.surface == Surface::Both && cli.flags.toolsets.is_empty() {
        return Err(NEEDS_TOOLSETS.to_owned());
    }
    Ok(())
}

/// The first line of what an argument library says.
#[must_use]
pub fn one_line(text: &str) -> String {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    first.strip_prefix("error: ").unwrap_or(first).to_owned()
}

fn options(program: &'static str, words: &Words, mut shared: cli::Flags) -> Result<Options, String> {
    // one that is mistyped must not leave the directories that stand in where none is named
    let root = |root: &PathBuf| root.canonicalize().map_err(|e| format!("--root {}: {}", root.display(), e.kind()));
    let roots = shared.roots.iter().map(root).collect::<Result<Vec<_>, _>>()?;
    let served = open::open(&words.repo, &roots)?;
    if words.surface == Surface::Both && shared.toolsets.is_empty() && env::TOOLSETS.read().is_none() {
        return Err(NEEDS_TOOLSETS.to_owned());
    }
    account(&words.account, words.forge)?;
    let text = |path: &Path| {
        path.to_str()
            .map(str::to_owned)
            .ok_or_else(|| format!("{}: the path is not UTF-8, and answers name it", path.display()))
    };
    let (root, cwd) = (text(&served.root)?, text(&served.cwd)?);
    // what is read: this repository, and what the operator names besides
    let own = [&served.root, &served.git_dir, &served.common_dir].map(Clone::clone);
    if words.surface == Surface::Direct {
        shared.roots = own.iter().chain(&roots).cloned().collect();
    }
    shared.deadline = Some(match words.timeout {
        0 => NO_TIMEOUT,
        seconds => seconds.clamp(LEAST_TIMEOUT, NO_TIMEOUT),
    });
    let mut options = options::settle_on(&shared, words.surface, &own).map_err(|e| e.to_string())?;
    // a server whose reads are all refused must not write either
    if let Some(why) = &options.ceiling.invalid {
        return Err(format!("the repository of --repo cannot be served: {why}"));
    }
    let bytes = |number: u64| (number > 0).then(|| usize::try_from(number).unwrap_or(usize::MAX));
    options.inits.write = writes::settle(options.inits.write, words, &served, &roots, options.run_dir.as_deref())?;
    options.settings.direct = direct::Settings {
        program,
        root,
        cwd,
        gate: words.gate.clone(),
        hide_gated: words.hide_gated,
        budget: bytes(words.budget),
        ceiling: bytes(words.ceiling),
        forge: words.forge,
        camel: words.camel,
        hooks: words.hooks && words.gate.is_open(),
        // a file is opened when descriptors that a host left open were closed
        log_commands: words.log_commands.as_ref().map(|_| direct::CommandLog::Stderr),
    };
    if let Some(LogCommands::File(file)) = &words.log_commands {
        log_file(file)?;
        options.command_log = Some(file.clone());
    }
    Ok(options)
}

/// The file that commands are logged in, opened to be appended to.
///
/// # Errors
/// Why it cannot be.
pub fn log_file(path: &Path) -> Result<std::fs::File, String> {
    let opened = std::fs::File::options().append(true).create(true).open(path);
    opened.map_err(|e| format!("--log-commands {}: {}", path.display(), e.kind()))
}

/// Whom GitHub is asked as means nothing without GitHub. Which forge it is, nobody has looked at when the server starts, so the
/// operator has to have said it.
fn account(account: &Account, forge: Option<direct::Forge>) -> Result<(), String> {
    let named = account.login.is_some() || account.variable.is_some();
    match forge {
        Some(direct::Forge::GitHub) => Ok(()),
        _ if !named => Ok(()),
        Some(forge) => {
            Err(format!("--gh-account and --gh-token-env are for GitHub, and --forge says {}", forge.name()))
        }
        None => Err("--gh-account and --gh-token-env are for GitHub, and need --forge github beside them".to_owned()),
    }
}
