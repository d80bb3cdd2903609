//! What a host is told to start: this program, by a name that stays, and the words behind it.
//! Trust: the operator's own words; paths are checked here, because a host can be told a word and never asked what it meant.

use std::path::{Path, PathBuf};

/// One server, as a host's file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What is started.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
}

/// What to call this program in a file that outlives it.
///
/// A package's directory is often named by its version, and a link in `PATH` leads there; the link survives an upgrade, so
/// where `PATH` has one to this very file, that is the name. Else it is the file's own.
///
/// # Errors
/// The file is gone, as after an upgrade of a running program.
pub fn this_program(search: Option<std::ffi::OsString>) -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|e| format!("this program's own path is not known: {}", e.kind()))?;
    let there = own.canonicalize().map_err(|_| "this program's file was replaced; start it again".to_owned())?;
    let name = if cfg!(windows) { "bulkhead.exe" } else { "bulkhead" };
    let found = search.iter().flat_map(std::env::split_paths).filter(|dir| dir.is_absolute()).map(|dir| dir.join(name));
    Ok(found.into_iter().find(|path| path.canonicalize().is_ok_and(|found| found == there)).unwrap_or(own))
}

/// Whether a program lies where `cargo build` puts it, from where `cargo clean` takes it.
#[must_use]
pub fn is_build(program: &Path) -> bool {
    program
        .parent()
        .is_some_and(|dir| dir.join(".cargo-lock").exists() || dir.join("build").join(".cargo-lock").exists())
}

/// A path as a word for a host.
///
/// # Errors
/// It is not UTF-8, or has what hosts take for the beginning of a variable.
pub fn word(path: &Path) -> Result<String, String> {
    let text = path
        .to_str()
        .ok_or_else(|| format!("{}: the path is not UTF-8, which no host's file can hold", path.display()))?;
    if text.contains('$') || text.contains("{env:") || text.contains("{file:") {
        return Err(format!(
            "{text}: hosts would take a part of this path for a variable; give the directory another name"
        ));
    }
    Ok(text.to_owned())
}

/// `path` as a host is to be told it: as `variable`, or beneath it, where it lies in the project.
///
/// # Errors
/// As [`word`].
pub fn within(path: &Path, project: Option<(&Path, &str)>) -> Result<String, String> {
    let Some((project, variable)) = project else { return word(path) };
    match path.strip_prefix(project) {
        Ok(rest) if rest.as_os_str().is_empty() => Ok(variable.to_owned()),
        Ok(rest) => {
            let rest = word(rest)?;
            // the separator that is one on every system
            Ok(format!("{variable}/{}", if cfg!(windows) { rest.replace('\\', "/") } else { rest }))
        }
        Err(_) => word(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_the_project_is_told_by_its_variable() {
        let project = Some((Path::new("/p"), "${workspaceFolder}"));
        assert_eq!(within(Path::new("/p"), project).as_deref(), Ok("${workspaceFolder}"));
        assert_eq!(within(Path::new("/p/a/b"), project).as_deref(), Ok("${workspaceFolder}/a/b"));
        assert_eq!(within(Path::new("/pp"), project).as_deref(), Ok("/pp"));
        assert_eq!(within(Path::new("/p"), None).as_deref(), Ok("/p"));
    }

    #[test]
    fn what_a_host_would_expand_is_refused() {
        for path in ["/a$b", "/a/${HOME}", "/a/{env:X}", "/a/{file:x}"] {
            assert!(word(Path::new(path)).is_err(), "{path}");
        }
        assert!(word(Path::new("/a/{b}")).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn the_name_in_the_search_path_is_taken_where_it_leads_here() {
        let own = std::env::current_exe().expect("it runs").canonicalize().expect("it is there");
        let temp = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(this_program(None), Ok(own.clone()));
        assert_eq!(this_program(Some(temp.path().into())), Ok(own.clone()));
        std::os::unix::fs::symlink(&own, temp.path().join("bulkhead")).expect("the directory is ours");
        let search = std::env::join_paths([Path::new("."), temp.path()]).expect("no colons");
        assert_eq!(this_program(Some(search)), Ok(temp.path().join("bulkhead")));
    }
}
