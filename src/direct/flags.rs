//! The command line of the direct surface, word by word from left to right (contract `direct/flags.md`).
//! Trust: the operator's own words. An argument library cannot say these the contract's way: the first error or call for help
//! ends it, a flag's value is whatever follows, and the last of several counts.

use bulkhead_contract::{
    catalogue::Surface,
    direct::gate::{GATED, Gate, named},
};
use bulkhead_supervisor::direct::Forge;
use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
};

/// Seconds of one call unless `--timeout` says otherwise.
pub const DEFAULT_TIMEOUT: u64 = 120;
/// Bytes of one answer unless `--output-budget` says otherwise.
pub const DEFAULT_BUDGET: u64 = 200_000;
/// Bytes beyond which an answer is an error unless `--max-output-bytes` says otherwise.
pub const DEFAULT_CEILING: u64 = 10_485_760;

/// Where commands of Git are logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogCommands {
    /// Standard error.
    Stderr,
    /// Appended to this file.
    File(PathBuf),
}

/// The command line, read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// `--surface`.
    pub surface: Surface,
    /// `--repo`.
    pub repo: PathBuf,
    /// `--forge`.
    pub forge: Option<Forge>,
    /// `--allow-write`, or what `--allow-tools` named.
    pub gate: Gate,
    /// `--hide-gated`.
    pub hide_gated: bool,
    /// `--timeout`, in seconds; 0 for none.
    pub timeout: u64,
    /// `--output-budget`, in bytes; 0 for none.
    pub budget: u64,
    /// `--max-output-bytes`; 0 for none.
    pub ceiling: u64,
    /// `--json-case camel`.
    pub camel: bool,
    /// `--log-commands`.
    pub log_commands: Option<LogCommands>,
    /// `--git`.
    pub git: Option<PathBuf>,
    /// `--ssh-command`.
    pub ssh_command: Option<String>,
    /// `--trust-repo-ssh-command`.
    pub trust_repo_ssh_command: bool,
    /// `--hooks run`.
    pub hooks: bool,
    /// `--filters user`.
    pub filters: bool,
    /// `--allow-unsigned`.
    pub allow_unsigned: bool,
    /// `--gh-account` and `--gh-token-env`, of which there may be one.
    pub account: Account,
    /// Flags of every surface, with their values, and the command with what follows it.
    pub rest: Vec<OsString>,
}

/// Whom a forge is asked as.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// `--gh-account`.
    pub login: Option<String>,
    /// `--gh-token-env`.
    pub variable: Option<String>,
}

/// What the command line comes to.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked {
    /// Help.
    Help,
    /// The version.
    Version,
    /// To do something.
    Run(Box<Words>),
}

/// A flag of every surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shared {
    /// It stands alone.
    Alone,
    /// A value follows.
    Value,
}

impl Default for Words {
    fn default() -> Self {
        Self {
            surface: Surface::Direct,
            repo: PathBuf::from("."),
            forge: None,
            gate: Gate::Closed,
            hide_gated: false,
            timeout: DEFAULT_TIMEOUT,
            budget: DEFAULT_BUDGET,
            ceiling: DEFAULT_CEILING,
            camel: false,
            log_commands: None,
            git: None,
            ssh_command: None,
            trust_repo_ssh_command: false,
            hooks: false,
            filters: false,
            allow_unsigned: false,
            account: Account::default(),
            rest: Vec::new(),
        }
    }
}

/// Reads the words behind the program's name. `shared` knows flags of every surface, `is_command` the commands, of which the
/// first ends the flags of this surface.
///
/// # Errors
/// One sentence about the first word that is wrong.
pub fn read(
    words: impl IntoIterator<Item = OsString>,
    shared: impl Fn(&str) -> Option<Shared>,
    is_command: impl Fn(&str) -> bool,
) -> Result<Asked, String> {
    let mut read = Words::default();
    let (mut open, mut tools) = (false, None::<Vec<&'static str>>);
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let unknown = || format!("unknown argument {word:?}; --help lists them");
        let flag = word.to_str().ok_or_else(unknown)?;
        // whatever follows is the value, also where it looks like a flag
        let mut value = || words.next().ok_or_else(|| format!("{flag} needs a value"));
        match flag {
            "-h" | "--help" => return Ok(Asked::Help),
            "-V" | "--version" => return Ok(Asked::Version),
            "--surface" => {
                read.surface = match value()?.to_str() {
                    Some("direct") => Surface::Direct,
                    Some("both") => Surface::Both,
                    _ => return Err("--surface: direct or both, with these flags".to_owned()),
                }
            }
            "--repo" => read.repo = value()?.into(),
            "--forge" => {
                let word = value()?;
                let forge = word.to_str().and_then(Forge::named);
                read.forge = Some(forge.ok_or_else(|| format!("--forge {word:?}: one of github, gitlab, gitea"))?);
            }
            "--allow-write" => open = true,
            "--allow-tools" => {
                let names = names(&value()?)?;
                let all = tools.get_or_insert_default();
                all.extend(names.into_iter().filter(|name| !all.contains(name)).collect::<Vec<_>>());
            }
            "--hide-gated" => read.hide_gated = true,
            "--timeout" => read.timeout = number(flag, &value()?)?,
            "--output-budget" => read.budget = number(flag, &value()?)?,
            "--max-output-bytes" => read.ceiling = number(flag, &value()?)?,
            "--json-case" => {
                read.camel = match value()?.to_str() {
                    Some("camel") => true,
                    Some("snake") => false,
                    _ => return Err("--json-case: snake or camel".to_owned()),
                }
            }
            "--log-commands" => {
                let named = words.next_if(|next| !next.as_encoded_bytes().starts_with(b"-"));
                read.log_commands = Some(match named {
                    Some(file) if file != OsStr::new("stderr") => LogCommands::File(file.into()),
                    _ => LogCommands::Stderr,
                });
            }
            "--git" => read.git = Some(value()?.into()),
            "--ssh-command" => {
                let command = text(flag, value()?)?;
                if command.trim().is_empty() {
                    return Err("--ssh-command must not be empty".to_owned());
                }
                read.ssh_command = Some(command);
            }
            "--trust-repo-ssh-command" => read.trust_repo_ssh_command = true,
            "--hooks" => {
                read.hooks = match value()?.to_str() {
                    Some("run") => true,
                    Some("off") => false,
                    _ => return Err("--hooks: off or run".to_owned()),
                }
            }
            "--filters" => {
                read.filters = match value()?.to_str() {
                    Some("user") => true,
                    Some("off") => false,
                    _ => return Err("--filters: off or user".to_owned()),
                }
            }
            "--allow-unsigned" => read.allow_unsigned = true,
            "--gh-account" => read.account.login = Some(text(flag, value()?)?),
            "--gh-token-env" => {
                let name = text(flag, value()?)?;
                if name.is_empty() || name.contains('=') || name.contains(char::is_whitespace) {
                    return Err(format!("--gh-token-env {name:?}: the name of an environment variable"));
                }
                read.account.variable = Some(name);
            }
            command if is_command(command) => {
                read.rest.push(word);
                read.rest.extend(words.by_ref());
            }
            other => match shared(other) {
                Some(Shared::Alone) => read.rest.push(word),
                Some(Shared::Value) => {
                    let value = value()?;
                    read.rest.extend([word, value]);
                }
                None => return Err(unknown()),
            },
        }
    }
    if read.account.login.is_some() && read.account.variable.is_some() {
        return Err("--gh-account and --gh-token-env exclude each other".to_owned());
    }
    read.gate = match (open, tools) {
        (true, _) => Gate::Open,
        (false, Some(tools)) => Gate::Tools(tools),
        (false, None) => Gate::Closed,
    };
    Ok(Asked::Run(Box::new(read)))
}

fn text(flag: &str, value: OsString) -> Result<String, String> {
    value.into_string().map_err(|value| format!("{flag} {value:?} is not UTF-8"))
}

/// A number as Rust and .NET both read it: perhaps with a plus, perhaps between blanks.
fn number(flag: &str, value: &OsStr) -> Result<u64, String> {
    let number = value.to_str().and_then(|text| text.trim_matches(' ').parse().ok());
    number.ok_or_else(|| format!("{flag} {value:?}: a whole number from 0 on"))
}

/// The gated tools that a list names, all of them.
fn names(value: &OsStr) -> Result<Vec<&'static str>, String> {
    let all = || GATED.join(", ");
    let items = value.to_str().unwrap_or_default().split(',').map(str::trim).filter(|item| !item.is_empty());
    let found: Result<Vec<_>, _> = items
        .map(|item| {
            named(item).ok_or_else(|| format!("--allow-tools {item:?}: no tool that writes; there are {}", all()))
        })
        .collect();
    let found = found?;
    if found.is_empty() {
        Err(format!("--allow-tools {value:?} names no tools; there are {}", all()))
    } else {
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &[&str]) -> Result<Asked, String> {
        let shared = |flag: &str| match flag {
            "--isolation" => Some(Shared::Value),
            "--empty-root" => Some(Shared::Alone),
            _ => None,
        };
        read(words.iter().map(OsString::from), shared, |word| word == "call")
    }

    fn words(words: &[&str]) -> Words {
        match asked(words) {
            Ok(Asked::Run(words)) => *words,
            other => panic!("{words:?}: {other:?}"),
        }
    }

    #[test]
    fn the_first_error_or_call_for_help_ends_it() {
        assert!(asked(&["--bogus", "--help"]).is_err());
        assert_eq!(asked(&["--help", "--bogus"]), Ok(Asked::Help));
        assert_eq!(asked(&["-h"]), Ok(Asked::Help));
        assert_eq!(asked(&["-V"]), Ok(Asked::Version));
        assert!(asked(&["--forge", "bitbucket", "--help"]).is_err());
        assert!(asked(&["--allow-tools", "nope", "--help"]).is_err());
        assert_eq!(asked(&["--repo", "/nonexistent", "--help"]), Ok(Asked::Help));
        assert_eq!(words(&["--repo", "--help"]).repo, PathBuf::from("--help"));
    }

    #[test]
    fn no_other_syntax_is_known() {
        for bad in ["--repo=X", "--", "positional", "", "--allow-write=true", "--Repo"] {
            let error = asked(&[bad]).expect_err("it is not known");
            assert!(error.starts_with("unknown argument"), "{error}");
        }
        for flag in ["--repo", "--forge", "--timeout", "--allow-tools", "--ssh-command"] {
            assert_eq!(asked(&[flag]), Err(format!("{flag} needs a value")));
        }
    }

    #[test]
    fn the_last_counts() {
        let read = words(&["--repo", "a", "--timeout", "1", "--repo", "b", "--forge", "github", "--forge", "gitea"]);
        assert_eq!((read.repo, read.timeout, read.forge), (PathBuf::from("b"), 1, Some(Forge::Gitea)));
        assert_eq!((words(&[]).timeout, words(&[]).budget, words(&[]).ceiling), (120, 200_000, 10_485_760));
        assert!(asked(&["--forge", "GitHub"]).is_err());
    }

    #[test]
    fn numbers() {
        for (text, number) in [("+5", 5), ("0", 0), (" 7 ", 7), ("18446744073709551615", u64::MAX)] {
            assert_eq!(words(&["--timeout", text]).timeout, number);
        }
        for bad in ["1.5", "-1", "", "99999999999999999999", "x", "5s"] {
            assert!(asked(&["--timeout", bad]).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_gate_takes_tools_that_write_and_no_others() {
        let read = words(&["--allow-tools", " repo_commit,,", "--allow-tools", "repo_push,repo_commit"]);
        assert_eq!(read.gate, Gate::Tools(vec!["repo_commit", "repo_push"]));
        assert_eq!(words(&["--allow-tools", "forge_pr_review,repo_try_merge", "--allow-write"]).gate, Gate::Open);
        for bad in ["repo_status", "REPO_COMMIT", "", ",", " , "] {
            for more in [&["--allow-tools", bad][..], &["--allow-write", "--allow-tools", bad]] {
                let error = asked(more).expect_err("no tool that writes");
                assert!(error.contains("repo_tag_create") && error.contains("forge_pr_merge"), "{error}");
            }
        }
    }

    #[test]
    fn commands_are_logged_to_standard_error_or_a_file() {
        let log = |more: &[&str]| words(more).log_commands;
        assert_eq!(log(&["--log-commands"]), Some(LogCommands::Stderr));
        assert_eq!(log(&["--log-commands", "--allow-write"]), Some(LogCommands::Stderr));
        assert_eq!(log(&["--log-commands", "stderr"]), Some(LogCommands::Stderr));
        assert_eq!(log(&["--log-commands", "/tmp/x"]), Some(LogCommands::File("/tmp/x".into())));
        assert_eq!(log(&[]), None);
    }

    #[test]
    fn accounts_exclude_each_other() {
        assert!(asked(&["--gh-account", "a", "--gh-token-env", "B"]).is_err());
        assert!(asked(&["--gh-token-env", "A=B"]).is_err() && asked(&["--gh-token-env", "A B"]).is_err());
        assert_eq!(words(&["--gh-account", "a", "--gh-account", "b"]).account.login.as_deref(), Some("b"));
        assert!(asked(&["--ssh-command", " "]).is_err());
    }

    #[test]
    fn flags_of_every_surface_and_commands_are_passed_on() {
        let read = words(&["--isolation", "off", "--repo", "x", "--empty-root", "call", "repo_log", "--repo", "max=1"]);
        let rest: Vec<OsString> =
            ["--isolation", "off", "--empty-root", "call", "repo_log", "--repo", "max=1"].map(OsString::from).into();
        assert_eq!((read.repo, read.rest), (PathBuf::from("x"), rest));
    }
}
