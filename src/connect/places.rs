//! Where the directories lie that hosts keep their configuration in, on each system.
//! Trust: the operator's own environment; the file system is not asked here.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// A family of systems: hosts keep their files in other places on each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Linux, and everything that follows the XDG base directories.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl System {
    /// The one that this program was built for.
    #[must_use]
    pub fn here() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::MacOs
        } else {
            Self::Linux
        }
    }
}

/// The directories of one user. All are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// Which system's rules hold.
    pub system: System,
    /// The home directory.
    pub home: PathBuf,
    /// `$XDG_CONFIG_HOME`, else `~/.config`, on every system: command line tools use it on all three.
    pub config: PathBuf,
    /// Where applications keep their configuration: `config`, `~/Library/Application Support` or `%APPDATA%`.
    pub applications: PathBuf,
    /// `$CLAUDE_CONFIG_DIR`, where it is set.
    pub claude: Option<PathBuf>,
    /// `$CODEX_HOME`, else `~/.codex`.
    pub codex: PathBuf,
    /// `$COPILOT_HOME`, else `~/.copilot`.
    pub copilot: PathBuf,
}

impl Places {
    /// From the environment: a variable that is empty or no absolute path is not there.
    ///
    /// # Errors
    /// One sentence where there is no home directory.
    pub fn of(system: System, variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, String> {
        let directory = |name: &str| variable(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
        let name = if system == System::Windows { "USERPROFILE" } else { "HOME" };
        let home =
            directory(name).ok_or_else(|| format!("{name} names no directory, so no host's files can be found"))?;
        let config = directory("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let applications = match system {
            System::Linux => config.clone(),
            System::MacOs => home.join("Library").join("Application Support"),
            System::Windows => directory("APPDATA").unwrap_or_else(|| home.join("AppData").join("Roaming")),
        };
        Ok(Self {
            system,
            config,
            applications,
            claude: directory("CLAUDE_CONFIG_DIR"),
            codex: directory("CODEX_HOME").unwrap_or_else(|| home.join(".codex")),
            copilot: directory("COPILOT_HOME").unwrap_or_else(|| home.join(".copilot")),
            home,
        })
    }
}

/// The project around a directory: the nearest one with a `.git` in it, else the directory itself. Only its existence is
/// looked at; where a `.git` file leads does not matter here.
#[must_use]
pub fn project(cwd: &Path) -> PathBuf {
    let around = cwd.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok());
    around.unwrap_or(cwd).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn every_system_has_its_own_places() {
        let none = |name: &str| (name == "HOME" || name == "USERPROFILE").then(|| OsString::from("/home/me"));
        let applications = |system| Places::of(system, none).expect("there is a home").applications;
        assert_eq!(applications(System::Linux), Path::new("/home/me/.config"));
        assert_eq!(applications(System::MacOs), Path::new("/home/me/Library/Application Support"));
        assert_eq!(applications(System::Windows), Path::new("/home/me/AppData/Roaming"));
    }

    #[cfg(unix)]
    #[test]
    fn variables_count_where_they_name_a_directory() {
        let set = |name: &str| match name {
            "HOME" => Some("/h".into()),
            "XDG_CONFIG_HOME" => Some("/x".into()),
            "CODEX_HOME" => Some("relative".into()),
            "COPILOT_HOME" => Some("".into()),
            "CLAUDE_CONFIG_DIR" => Some("/c".into()),
            _ => None,
        };
        let places = Places::of(System::Linux, set).expect("there is a home");
        assert_eq!((places.config, places.applications), ("/x".into(), PathBuf::from("/x")));
        assert_eq!((places.codex, places.copilot), ("/h/.codex".into(), PathBuf::from("/h/.copilot")));
        assert_eq!(places.claude, Some("/c".into()));
        assert!(Places::of(System::Linux, |_| None).expect_err("no home").contains("HOME"));
    }

    #[test]
    fn a_project_is_the_nearest_repository() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir_all(temp.path().join("a/.git")).expect("a fresh directory");
        std::fs::create_dir_all(temp.path().join("a/b/c")).expect("a fresh directory");
        assert_eq!(project(&temp.path().join("a/b/c")), temp.path().join("a"));
    }
}
