//! Configuration, hooks and the like before and after an operation: what nobody asked for is undone and told.
//! Trust: the files are anybody's, and the Git that ran in between may have been taken over by what it read; their bytes
//! are kept, compared and put back, and configuration is parsed by Git for its keys alone.
//!
//! What a taken-over Git could plant here would run in the user's own Git later, outside of every jail.

use crate::{
    failure::{Step, failed, named},
    repo::Repo,
    settings,
    text::{self, Unread},
};
use bulkhead_contract::direct::Class;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
};

/// Files that programs, attributes, ignored names or other places can be named in.
const FILES: &[&str] = &[
    "config",
    "config.worktree",
    "commondir",
    "gitdir",
    "info/attributes",
    "info/exclude",
    "info/grafts",
    "objects/info/alternates",
];
/// Directories that these lie in: as links they would lead Git to files that anybody may change later.
const DIRECTORIES: &[&str] = &["hooks", "info"];
/// Bytes of one file that are kept; of a longer one only that it is longer, and when and how long.
const MAX_FILE: u64 = 1 << 20;
/// Files of the directory of hooks that are looked at besides those that Git runs.
const MAX_HOOKS: usize = 500;
/// Names of hooks that Git runs (githooks(5)): looked at however much stands beside them.
pub(crate) const HOOKS: &[&str] = &[
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "reference-transaction",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "sendemail-validate",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-prepare-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "post-index-change",
];

/// What stood under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Stood {
    File {
        bytes: Vec<u8>,
        mode: u32,
    },
    Link(PathBuf),
    /// Longer than is kept: length, and time of the last change.
    Long(u64, Option<std::time::SystemTime>),
    /// A directory, a pipe.
    Other,
}

/// All of it before the operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    directories: Vec<PathBuf>,
    stood: BTreeMap<PathBuf, Stood>,
}

impl Guard {
    /// Looks at both directories.
    #[must_use]
    pub fn before(git_dir: &Path, common_dir: &Path) -> Self {
        let mut directories = vec![git_dir.to_owned(), common_dir.to_owned()];
        directories.dedup();
        let stood = look(&directories);
        Self { directories, stood }
    }

    /// Names under which something else stands now, and those under which something stands that did not.
    #[must_use]
    pub fn changes(&self) -> Vec<PathBuf> {
        let now = look(&self.directories);
        let names: BTreeSet<_> = self.stood.keys().chain(now.keys()).collect();
        names.into_iter().filter(|name| self.stood.get(*name) != now.get(*name)).cloned().collect()
    }

    /// Puts back what stood there.
    ///
    /// # Errors
    /// A file was too long to be kept, or cannot be written.
    pub fn undo(&self, changes: &[PathBuf]) -> io::Result<()> {
        let is_above =
            |path: &Path| DIRECTORIES.iter().any(|name| self.directories.iter().any(|it| it.join(name) == path));
        let above: Vec<_> = changes.iter().filter(|path| is_above(path)).cloned().collect();
        if above.is_empty() {
            return self.put_back(changes);
        }
        // through a link another directory was looked at
        self.put_back(&above)?;
        self.put_back(&self.changes())
    }

    fn put_back(&self, changes: &[PathBuf]) -> io::Result<()> {
        for path in changes {
            match fs::remove_file(path) {
                Err(error) if error.kind() == io::ErrorKind::IsADirectory => fs::remove_dir_all(path)?,
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            match self.stood.get(path) {
                None => {}
                Some(Stood::File { bytes, mode }) => write(path, bytes, *mode)?,
                Some(Stood::Link(target)) => symlink(target, path)?,
                Some(Stood::Long(..) | Stood::Other) => {
                    return Err(io::Error::other(format!("{} was not kept", path.display())));
                }
            }
        }
        Ok(())
    }

    /// Compares, and undoes all where anything changed that the operation does not explain; `explained` are keys of
    /// the configuration, or sections of it with a dot at the end.
    pub(crate) fn after(&self, repo: &Repo<'_>, explained: &[String]) -> Step<()> {
        let changes = self.changes();
        let mut unexplained = Vec::new();
        for path in &changes {
            let said = self.unexplained(repo, path, explained)?;
            unexplained.extend(said);
        }
        if unexplained.is_empty() {
            return Ok(());
        }
        let undone = match self.undo(&changes) {
            Ok(()) => "All of it was put back.".to_owned(),
            Err(error) => format!("It could not be put back: {error}."),
        };
        Err(failed(
            Class::Refused,
            format!(
                "While Git ran, something changed in the repository's own settings that this operation does not explain: \
                 {}. {undone} The rest of what Git did stands.",
                named(&unexplained)
            ),
            "Have somebody look at the repository before it is used again; the restore point leads back.",
        ))
    }

    /// What of a changed file is nothing that was asked for.
    fn unexplained(&self, repo: &Repo<'_>, path: &Path, explained: &[String]) -> Step<Vec<String>> {
        let is_settings = path.file_name().is_some_and(|name| name == "config" || name == "config.worktree");
        let (before, now) = (self.stood.get(path), stands(path));
        let text = |stood: Option<&Stood>| match stood {
            Some(Stood::File { bytes, .. }) => Some(bytes.clone()),
            None => Some(Vec::new()),
            Some(_) => None,
        };
        let modes = match (before, now.as_ref()) {
            (Some(Stood::File { mode: before, .. }), Some(Stood::File { mode: now, .. })) => before == now,
            _ => true,
        };
        let (Some(before), Some(now), true, true) = (text(before), text(now.as_ref()), modes, is_settings) else {
            return Ok(vec![path.display().to_string()]);
        };
        let list = |bytes: Vec<u8>| {
            let call = repo.call(["config", "--no-includes", "--list", "-z", "--file", "-"]).stdin(bytes);
            settings::listed(call)
        };
        let (before, now) = (list(before)?, list(now)?);
        let mut keys: Vec<_> = gone(&before, &now).chain(gone(&now, &before)).collect();
        keys.retain(|key| !explained.iter().any(|explained| explains(explained, key)));
        keys.sort_unstable();
        keys.dedup();
        Ok(keys.into_iter().map(|key| format!("{key} in {}", path.display())).collect())
    }
}

/// Whether a key is the one that is explained, or one of a section, whose name ends in a dot, and not of a longer one.
fn explains(explained: &str, key: &str) -> bool {
    match key.strip_prefix(explained) {
        Some("") => true,
        Some(name) => explained.ends_with('.') && !name.contains('.'),
        None => false,
    }
}

/// Keys of settings that one list has and another has not as often.
fn gone<'a>(from: &'a [(String, String)], to: &'a [(String, String)]) -> impl Iterator<Item = &'a str> {
    let count = |list: &[(String, String)], row: &(String, String)| list.iter().filter(|it| *it == row).count();
    from.iter().filter(move |row| count(from, row) > count(to, row)).map(|(key, _)| key.as_str())
}

fn look(directories: &[PathBuf]) -> BTreeMap<PathBuf, Stood> {
    let mut all = BTreeMap::new();
    for directory in directories {
        let hooks = directory.join("hooks");
        let others = fs::read_dir(&hooks).into_iter().flatten().flatten().take(MAX_HOOKS).map(|entry| entry.path());
        let files = FILES.iter().map(|name| directory.join(name)).chain(HOOKS.iter().map(|name| hooks.join(name)));
        let files = files.chain(others);
        all.extend(files.filter_map(|path| stands(&path).map(|stood| (path, stood))));
        let links = DIRECTORIES.iter().map(|name| directory.join(name)).filter_map(|path| {
            let stood = stands(&path).filter(|stood| matches!(stood, Stood::Link(_)))?;
            Some((path, stood))
        });
        all.extend(links);
    }
    all
}

fn stands(path: &Path) -> Option<Stood> {
    let found = path.symlink_metadata().ok()?;
    if found.is_symlink() {
        return Some(fs::read_link(path).map_or(Stood::Other, Stood::Link));
    }
    if !found.is_file() {
        return Some(Stood::Other);
    }
    if found.len() > MAX_FILE {
        return Some(Stood::Long(found.len(), found.modified().ok()));
    }
    Some(match text::bytes(path, MAX_FILE) {
        Ok(Some(bytes)) => Stood::File { bytes, mode: found.permissions().mode() },
        // it has grown since
        Err(Unread::Long(_)) => Stood::Long(found.len(), found.modified().ok()),
        Ok(None) | Err(_) => Stood::Other,
    })
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    io::Write::write_all(&mut file, bytes)?;
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_explains_its_own_keys_and_no_other_section() {
        assert!(explains("branch.a.", "branch.a.remote") && explains("branch.a.merge", "branch.a.merge"));
        for key in ["branch.a.b.remote", "branch.ab.remote", "core.pager"] {
            assert!(!explains("branch.a.", key), "{key}");
        }
        assert!(!explains("branch.a.merge", "branch.a.mergeoptions"));
    }
}
