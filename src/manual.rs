//! `bulkhead completions` and `bulkhead man`: the command line as data, written for shells and for readers of manual pages.
//! Trust: constants of this build, and a directory that the operator names.

use crate::cli::Cli;
use bulkhead_supervisor::mcp::stdio;
use clap::CommandFactory as _;
use clap_complete::Shell;
use std::{path::Path, process::ExitCode};

/// Prints the script that completes this command line in `shell`.
pub fn completions(shell: Shell) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "bulkhead", &mut script);
    said(script)
}

/// Prints the page of the program itself, or writes those of all commands into `directory`.
pub fn pages(directory: Option<&Path>) -> ExitCode {
    let command = Cli::command();
    let Some(directory) = directory else {
        let mut page = Vec::new();
        return match clap_mangen::Man::new(command).render(&mut page) {
            Ok(()) => said(page),
            Err(_) => ExitCode::FAILURE,
        };
    };
    match clap_mangen::generate_to(command, directory) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            crate::complain(&format!("the pages cannot be written in {}: {}", directory.display(), e.kind()));
            ExitCode::FAILURE
        }
    }
}

fn said(text: Vec<u8>) -> ExitCode {
    // rendered from constants, which are UTF-8
    let text = String::from_utf8_lossy(&text);
    match stdio::say(text.trim_end()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, ValueEnum as _};

    fn script(shell: Shell) -> String {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Cli::command(), "bulkhead", &mut script);
        String::from_utf8(script).expect("constants")
    }

    /// Every command with its flags, those of all commands left out but at the top.
    fn commands(command: &Command, path: &str, all: &mut Vec<(String, Vec<String>)>) {
        let own = command.get_arguments().filter(|argument| path.is_empty() || !argument.is_global_set());
        let flags = own.filter_map(|argument| argument.get_long()).map(str::to_owned).collect();
        let name =
            if path.is_empty() { command.get_name().to_owned() } else { format!("{path}-{}", command.get_name()) };
        for child in command.get_subcommands().filter(|child| child.get_name() != "help") {
            commands(child, &name, all);
        }
        all.push((name, flags));
    }

    fn all() -> Vec<(String, Vec<String>)> {
        let mut all = Vec::new();
        commands(&Cli::command(), "", &mut all);
        assert!(all.len() > 10 && all.iter().any(|(name, _)| name == "bulkhead-audit-tail"), "{all:?}");
        all
    }

    #[test]
    fn every_shell_is_told_every_command_and_flag() {
        for shell in Shell::value_variants() {
            let script = script(*shell);
            for (name, flags) in all() {
                let word = name.rsplit('-').next().expect("a name");
                assert!(script.contains(word), "{shell}: no {name}");
                for flag in flags {
                    // fish writes the flag without its dashes
                    let written = if *shell == Shell::Fish { format!("-l {flag}") } else { format!("--{flag}") };
                    assert!(script.contains(&written), "{shell}: {name} has no {written}");
                }
            }
        }
    }

    #[test]
    fn every_command_has_a_page_with_its_flags() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(pages(Some(temp.path())), ExitCode::SUCCESS);
        for (name, flags) in all() {
            let page = std::fs::read_to_string(temp.path().join(format!("{name}.1"))).expect(&name);
            let page = page.replace('\\', "");
            assert!(page.starts_with(".ie") || page.contains(".TH "), "{name}: {page}");
            for flag in flags {
                assert!(page.contains(&format!("--{flag}")), "{name}: no --{flag}");
            }
        }
        assert_eq!(pages(Some(&temp.path().join("missing"))), ExitCode::FAILURE);
    }
}
