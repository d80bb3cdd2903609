//! Which words stand behind the program in a host's file: those that the operator wrote for the server, checked as the server
//! would check them. Trust: the operator's own words.

use super::entry;
use crate::{cli::Cli, direct, roots};
use clap::{ArgMatches, CommandFactory as _, Parser as _, parser::ValueSource};
use std::{
    any::TypeId,
    ffi::OsString,
    path::{Path, PathBuf},
};

/// What is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// Every repository beneath the roots.
    Review,
    /// One repository.
    Direct,
    /// Both.
    Both,
}

/// What the operator asked for.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// `--surface`.
    pub surface: Surface,
    /// `--root`, as written.
    pub roots: &'a [PathBuf],
    /// `--repo`, as written.
    pub repo: Option<&'a Path>,
    /// Flags of every surface, by [`carried`], and what stood behind `--`.
    pub further: Vec<String>,
}

/// The same for one host and scope.
#[derive(Debug)]
pub struct Place<'a> {
    /// The current directory.
    pub cwd: &'a Path,
    /// In a project: its directory, and what stands for it in the host's file.
    pub project: Option<(&'a Path, &'a str)>,
    /// Whether tools are named with underscores.
    pub underscores: bool,
}

/// The flags of every surface that stood on the command line, as words; paths are made absolute, because a host starts servers
/// in a directory of its own choice.
///
/// # Errors
/// A value that a host's file cannot hold.
pub fn carried(matches: &ArgMatches) -> Result<Vec<String>, String> {
    let command = Cli::command();
    let mut words = Vec::new();
    for argument in command.get_arguments().filter(|argument| argument.is_global_set() && argument.get_id() != "roots")
    {
        let id = argument.get_id().as_str();
        let (Some(long), Some(ValueSource::CommandLine)) = (argument.get_long(), matches.value_source(id)) else {
            continue;
        };
        let flag = format!("--{long}");
        if !argument.get_action().takes_values() {
            words.push(flag);
            continue;
        }
        let is_path = argument.get_value_parser().type_id() == TypeId::of::<PathBuf>();
        let value = |value: &std::ffi::OsStr| {
            if is_path {
                return absolute(Path::new(value)).and_then(|path| entry::word(&path));
            }
            value.to_str().map(str::to_owned).ok_or_else(|| format!("{flag}: the value is not UTF-8"))
        };
        let values = matches.get_raw(id).into_iter().flatten().map(value).collect::<Result<Vec<_>, _>>()?;
        match argument.get_value_delimiter() {
            Some(delimiter) => words.extend([flag.clone(), values.join(&delimiter.to_string())]),
            None => words.extend(values.into_iter().flat_map(|value| [flag.clone(), value])),
        }
    }
    Ok(words)
}

/// The words for a host.
///
/// # Errors
/// One sentence: the server would not start with them, or refuse every call.
pub fn words(wanted: &Wanted<'_>, place: &Place<'_>) -> Result<Vec<String>, String> {
    let ceiling = roots::settle(wanted.roots, Some(place.cwd), None);
    if let (false, Some(why)) = (wanted.roots.is_empty(), ceiling.invalid) {
        return Err(format!("--root: {why}"));
    }
    let told = |path: &Path| absolute(path).and_then(|path| entry::within(&path, place.project));
    let mut words = Vec::new();
    if wanted.surface == Surface::Review {
        if wanted.repo.is_some() {
            return Err("--repo is for --surface direct or both; the review surface takes --root".to_owned());
        }
    } else {
        let name = if wanted.surface == Surface::Direct { "direct" } else { "both" };
        let repo = match (wanted.repo, place.project) {
            (Some(repo), _) => repo,
            (None, Some((project, _))) => project,
            (None, None) => return Err("--surface direct serves one repository: name it with --repo".to_owned()),
        };
        words.extend(["--surface".to_owned(), name.to_owned(), "--repo".to_owned(), told(&place.cwd.join(repo))?]);
    }
    match (wanted.roots, place.project, wanted.surface) {
        ([], Some((_, variable)), Surface::Review) => words.extend(["--root".to_owned(), variable.to_owned()]),
        ([], None, Surface::Review) if cfg!(windows) => {
            return Err("name the directories that may be read with --root".to_owned());
        }
        (roots, _, _) => {
            for root in roots {
                words.extend(["--root".to_owned(), told(&place.cwd.join(root))?]);
            }
        }
    }
    let names = |word: &String| word == "--tool-names";
    if place.underscores && wanted.surface != Surface::Direct && !wanted.further.iter().any(names) {
        words.extend(["--tool-names".to_owned(), "underscore".to_owned()]);
    }
    words.extend(wanted.further.iter().cloned());
    understood(wanted.surface, &words)?;
    Ok(words)
}

/// Whether the server would understand them. Where they lead is not looked at: what stands for a project's directory is known
/// to the host alone.
fn understood(surface: Surface, words: &[String]) -> Result<(), String> {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    if surface != Surface::Review {
        return direct::understood(words);
    }
    let cli = Cli::try_parse_from(std::iter::once(OsString::from("bulkhead")).chain(words));
    match cli {
        Ok(Cli { command: None, .. }) => Ok(()),
        Ok(_) => Err("behind -- stand flags of the server, and no command".to_owned()),
        Err(e) => Err(format!("the server would refuse these flags: {}", direct::one_line(&e.to_string()))),
    }
}

/// A path as it is named, from the file system's root on; links in it stay, unless `..` steps over them.
fn absolute(path: &Path) -> Result<PathBuf, String> {
    let failed = |e: std::io::Error| format!("{}: {}", path.display(), e.kind());
    let path = std::path::absolute(path).map_err(failed)?;
    if path.components().any(|part| part == std::path::Component::ParentDir) {
        return path.canonicalize().map_err(failed);
    }
    Ok(path.components().collect())
}
