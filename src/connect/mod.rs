//! `bulkhead connect`: writes this server into a host's configuration, and shows what it writes.
//! Trust: the operator's own words, and the operator's own files; a file in a project is the project's, and may be hostile.

mod diff;
mod entry;
mod file;
mod flags;
mod hosts;
mod json;
mod places;
mod text;
mod toml;

use crate::cli::{Connect, Flags, Scope, ServedSurface};
use bulkhead_supervisor::mcp::stdio::say;
use clap::ArgMatches;
use entry::Entry;
use file::Found;
use flags::{Place, Surface, Wanted};
use hosts::{HOSTS, Host, Shape};
use places::{Places, System};
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};
use text::Text;

/// Something to say to an agent that has the tools.
const FIRST_PROMPT: &str = "Brief me on this repository, and tell me whether my changes would conflict with main.";
/// Longest name of a server: with a tool's name behind it, hosts take sixty characters.
const LONGEST_NAME: usize = 24;

/// The names that the command line takes.
pub fn host_names() -> Vec<&'static str> {
    hosts::names().collect()
}

/// A server's name, where all hosts take it.
///
/// # Errors
/// What they take.
pub fn server_name(name: &str) -> Result<String, String> {
    let fine = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(fine) {
        return Err(format!("1 to {LONGEST_NAME} of A-Z, a-z, 0-9, - and _"));
    }
    Ok(name.to_owned())
}

/// What was asked for, with what it is asked of.
struct Asked<'a> {
    wanted: Wanted<'a>,
    command: String,
    name: &'a str,
    remove: bool,
    places: Places,
    cwd: PathBuf,
    /// The project's directory, with `--scope project`.
    project: Option<PathBuf>,
}

/// What would be done to one host's file.
struct Plan {
    found: Found,
    /// The file's new bytes; `None` where nothing has to be done.
    after: Option<Vec<u8>>,
    /// Whether the server is in the file now.
    is_there: bool,
    diff: String,
}

/// Runs the command.
pub fn run(flags: &Flags, words: &Connect, matches: &ArgMatches) -> ExitCode {
    match answer(flags, words, matches) {
        Ok(text) => match say(text.trim_end()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(why) => {
            crate::complain(&diff::seen(&why));
            ExitCode::FAILURE
        }
    }
}

fn answer(flags: &Flags, words: &Connect, matches: &ArgMatches) -> Result<String, String> {
    let Connect { host, scope, dry_run, remove, surface, repo, name, program, further } = words;
    let cwd = std::env::current_dir().map_err(|e| format!("the current directory: {}", e.kind()))?;
    let surface = match surface {
        ServedSurface::Review => Surface::Review,
        ServedSurface::Direct => Surface::Direct,
        ServedSurface::Both => Surface::Both,
    };
    let further = flags::carried(matches)?.into_iter().chain(further.iter().cloned()).collect();
    let (command, is_build) = command(program.as_deref())?;
    let asked = Asked {
        wanted: Wanted { surface, roots: &flags.roots, repo: repo.as_deref(), further },
        command,
        name,
        remove: *remove,
        places: Places::of(System::here(), |name| std::env::var_os(name))?,
        project: (*scope == Scope::Project).then(|| places::project(&cwd)),
        cwd,
    };
    match host {
        None => list(&asked),
        Some(host) => {
            let host = hosts::named(host).ok_or("no such host")?;
            let mut text = change(&asked, host, *dry_run)?;
            if is_build && !remove {
                text.push_str(
                    "note: the program lies in a build directory, from where `cargo clean` takes it; install it with `cargo install \
                     --path .` and connect again\n",
                );
            }
            Ok(text)
        }
    }
}

/// What hosts are to start, and whether it is a build that will not stay.
fn command(program: Option<&Path>) -> Result<(String, bool), String> {
    match program {
        // a name that the host looks for itself
        Some(name) if name.components().count() == 1 && !name.is_absolute() => Ok((entry::word(name)?, false)),
        Some(path) => {
            let path = std::path::absolute(path).map_err(|e| format!("--command {}: {}", path.display(), e.kind()))?;
            if !path.is_file() {
                return Err(format!("--command {}: there is no such file", path.display()));
            }
            Ok((entry::word(&path)?, entry::is_build(&path)))
        }
        None => {
            let path = entry::this_program(std::env::var_os("PATH"))?;
            Ok((entry::word(&path)?, entry::is_build(&path)))
        }
    }
}

impl Asked<'_> {
    /// The host's file in this scope.
    fn file(&self, host: &Host) -> Result<PathBuf, String> {
        let files = match (&self.project, &host.project) {
            (None, _) => (host.user)(&self.places),
            (Some(project), Some(known)) => {
                // by parts: each system has its own separator
                known
                    .files
                    .iter()
                    .map(|file| file.split('/').fold(project.clone(), |path, part| path.join(part)))
                    .collect()
            }
            (Some(_), None) => {
                return Err(format!(
                    "{} keeps no servers in projects that are known here; use --scope user",
                    host.title
                ));
            }
        };
        let there = files.iter().find(|file| file.symlink_metadata().is_ok());
        there.or(files.last()).cloned().ok_or_else(|| format!("{} has no file that is known here", host.title))
    }

    fn entry(&self, host: &Host) -> Result<Entry, String> {
        let project = self.project.as_deref().zip(host.project.as_ref().map(|known| known.root));
        let place = Place { cwd: &self.cwd, project, underscores: host.underscores };
        Ok(Entry { command: self.command.clone(), args: flags::words(&self.wanted, &place)? })
    }

    fn plan(&self, host: &Host, file: &Path) -> Result<Plan, String> {
        let at = |why: String| format!("{}: {why}", file.display());
        let found = file::look(file, self.project.as_deref()).map_err(at)?;
        let bytes = found.bytes.clone().unwrap_or_default();
        let before = Text::read(&bytes).map_err(at)?;
        let without = match host.shape {
            Shape::Json(paths, _) => json::take(before.body, paths, self.name),
            Shape::Toml => toml::take(before.body, self.name),
        };
        let without = without.map_err(at)?;
        let is_there = without.is_some();
        let after = if self.remove {
            without
        } else {
            let entry = self.entry(host)?;
            let after = match host.shape {
                Shape::Json(paths, form) => json::put(before.body, paths, self.name, form, &entry),
                Shape::Toml => toml::put(before.body, self.name, &entry),
            };
            Some(after.map_err(at)?).filter(|after| after != before.body)
        };
        let name = found.path.display().to_string();
        let diff = after
            .as_ref()
            .map_or_else(String::new, |after| diff::unified(&name, found.bytes.is_none(), before.body, after));
        let after = after.map(|after| before.write(&after));
        Ok(Plan { found, after, is_there, diff })
    }
}

/// Changes one host's file, or says what would change.
fn change(asked: &Asked<'_>, host: &Host, dry_run: bool) -> Result<String, String> {
    let file = asked.file(host)?;
    let plan = asked.plan(host, &file)?;
    let shown = |path: &Path| diff::seen(&path.display().to_string());
    let mut text = String::new();
    if let Some(link) = &plan.found.link {
        text.push_str(&format!(
            "{} is a link to {}, which is the file that is meant\n",
            shown(link),
            shown(&plan.found.path)
        ));
    }
    let Some(after) = &plan.after else {
        text.push_str(&match asked.remove {
            true => format!("nothing to do: {} has no server {:?}\n", shown(&plan.found.path), asked.name),
            false => {
                format!("nothing to do: {} has the server {:?} as it should be\n", shown(&plan.found.path), asked.name)
            }
        });
        return Ok(text);
    };
    text.push_str(&plan.diff);
    if dry_run {
        text.push_str("nothing was written\n");
        return Ok(text);
    }
    let backup = plan.found.replace(after).map_err(|why| format!("{}: {why}; nothing was changed", file.display()))?;
    text.push_str(&format!("written: {}\n", shown(&plan.found.path)));
    if let Some(backup) = backup {
        text.push_str(&format!("what it said before: {}\n", shown(&backup)));
    }
    text.push_str(&format!("{}: {}\n", host.title, host.then));
    if asked.remove {
        return Ok(text);
    }
    text.push_str(&format!("then say, for example: {FIRST_PROMPT}\n"));
    if asked.project.is_some() {
        text.push_str("note: the file names where the program lies on this machine; `--command bulkhead` has everybody start their own\n");
    } else if asked.wanted.surface == Surface::Review && asked.wanted.roots.is_empty() {
        text.push_str(
            "note: without --root the server may read every repository beneath your home directory, and the one around the \
             directory that the host starts it in; --root DIR narrows that\n",
        );
    }
    Ok(text)
}

/// Which hosts are here, and what would be done.
fn list(asked: &Asked<'_>) -> Result<String, String> {
    let mut here = String::new();
    let mut missing = Vec::new();
    for host in HOSTS {
        let Ok(file) = asked.file(host) else { continue };
        let is_here =
            file.symlink_metadata().is_ok() || (asked.project.is_none() && (host.sign)(&asked.places).is_dir());
        if !is_here {
            missing.push(host.name);
            continue;
        }
        let would = match asked.plan(host, &file) {
            Err(why) => {
                format!("nothing would be done: {}", why.strip_prefix(&format!("{}: ", file.display())).unwrap_or(&why))
            }
            Ok(Plan { after: None, .. }) => "nothing to do".to_owned(),
            Ok(_) if asked.remove => format!("would take {:?} out", asked.name),
            Ok(Plan { is_there: true, .. }) => format!("would change {:?}", asked.name),
            Ok(_) => format!("would add {:?}", asked.name),
        };
        here.push_str(&format!("  {:<15} {}\n  {:<15} {}\n", host.name, file.display(), "", would));
    }
    let scope = if asked.project.is_some() { "in this project" } else { "of this user" };
    let mut text = if here.is_empty() {
        format!("No host has its configuration {scope} here.\n")
    } else {
        format!("Configuration {scope}, and what `bulkhead connect HOST` would do:\n\n{here}")
    };
    if !missing.is_empty() {
        text.push_str(&format!("\nNot found: {}\n", missing.join(", ")));
    }
    text.push_str("\nNothing was changed.\n");
    Ok(text.split('\n').map(diff::seen).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_every_host_takes() {
        assert_eq!(server_name("bulk_head-2").as_deref(), Ok("bulk_head-2"));
        for bad in ["", "a b", "a.b", "ü", "aaaaaaaaaaaaaaaaaaaaaaaaa", "\""] {
            assert!(server_name(bad).is_err(), "{bad}");
        }
    }
}
