//! Configuration, hooks and the like before and after an operation: what nobody asked for is undone and told.
//! Trust: the files are anybody's, and the Git that ran in between may have been taken over by what it read; their bytes
//! are kept, compared and put back, and configuration is parsed by Git for its keys alone.
//!
//! What a taken-over Git could plant here would run in the user's own Git later, outside of every jail.

mod back;
mod look;

pub use look::TooMuch;

use crate::{
    failure::{Step, failed, named},
    repo::Repo,
    settings,
};
use back::Aside;
use bulkhead_contract::{canonical, direct::Class};
use look::{Identity, Places, Stood, identity};
use sha2::{Digest as _, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// Names of hooks that Git runs (githooks(5)).
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

/// Looks and undoings after which no more is tried: the first may uncover what a link or a rightless directory hid.
const ROUNDS: usize = 4;
/// What the text that is left for the next write begins with.
const HEADER: &str = "bulkhead-guard 1\n";

/// All of it before the operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    root: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
    /// Directories without which nothing of the rest is where it was.
    homes: Vec<(PathBuf, Identity)>,
    places: Places,
    stood: BTreeMap<PathBuf, Stood>,
}

impl Guard {
    /// Looks at both directories of a working tree at `root`, and at files of theirs that the configuration takes in.
    ///
    /// # Errors
    /// There is more than can be kept.
    pub fn before(root: &Path, git_dir: &Path, common_dir: &Path, included: &[PathBuf]) -> Result<Self, TooMuch> {
        let mut homes = vec![root.join(".git"), git_dir.to_owned(), common_dir.to_owned(), common_dir.join("objects")];
        homes.dedup();
        let there = |path: PathBuf| path.symlink_metadata().ok().map(|found| (path, identity(&found)));
        let places = Places::of(git_dir, common_dir, included)?;
        let stood = places.look()?;
        let (root, git_dir, common_dir) = (root.to_owned(), git_dir.to_owned(), common_dir.to_owned());
        Ok(Self { root, git_dir, common_dir, homes: homes.into_iter().filter_map(there).collect(), places, stood })
    }

    /// Names under which something else stands now, and those under which something stands that did not.
    ///
    /// # Errors
    /// There is so much now that it was not all looked at.
    pub fn changes(&self) -> Result<Vec<PathBuf>, TooMuch> {
        let now = self.places.look()?;
        let names: BTreeSet<_> = self.stood.keys().chain(now.keys()).collect();
        let differs = |name: &Path| match (self.stood.get(name), now.get(name)) {
            // what is in it has a row of its own
            (None, Some(Stood::Directory { .. })) | (Some(Stood::Directory { .. }), None) => false,
            (Some(_), None) => !self.places.is_gone(name),
            (stood, now) => stood != now,
        };
        Ok(names.into_iter().filter(|name| differs(name)).cloned().collect())
    }

    /// Puts back what stood there; says how that went.
    #[must_use]
    pub fn undo(&self) -> String {
        let mut aside = Aside::beneath(&self.git_dir);
        for _ in 0..ROUNDS {
            aside.faults.clear();
            match self.changes() {
                Ok(changes) if changes.is_empty() => return aside.told(),
                Ok(changes) => changes.iter().for_each(|path| aside.put_back(path, self.stood.get(path))),
                // with all that was planted among it; what stood there is put back in the next round
                Err(TooMuch(path)) => aside.clear_away(&path),
            }
        }
        if aside.faults.is_empty() {
            aside.faults.extend(self.changes().map_or_else(|much| vec![much.to_string()], shown_paths));
        }
        aside.told()
    }

    /// Compares, and undoes all where anything changed that the operation does not explain; `explained` are keys of
    /// the configuration, or sections of it with a dot at the end.
    pub(crate) fn after(&self, repo: &Repo<'_>, explained: &[String]) -> Step<()> {
        let mut unexplained = Vec::new();
        let mut undone = String::new();
        let mut aside = Aside::beneath(&self.root);
        for (path, which) in &self.homes {
            if path.symlink_metadata().is_ok_and(|found| identity(&found) == *which) {
                continue;
            }
            unexplained.push(format!("{} is another one", path.display()));
            let around = path.parent().unwrap_or(&self.root);
            aside.find(path, *which, &[around, &self.root, &self.git_dir, &self.common_dir]);
        }
        if !unexplained.is_empty() {
            undone = format!("{} ", aside.told());
        }
        match self.changes() {
            Ok(changes) => unexplained.extend(changes.iter().flat_map(|path| self.unexplained(repo, path, explained))),
            Err(TooMuch(path)) => unexplained.push(path.display().to_string()),
        }
        if unexplained.is_empty() {
            return Ok(());
        }
        undone.push_str(&self.undo());
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

    /// What the next write compares with where this one is ended before it has looked: names, and digests of what stood there.
    #[must_use]
    pub fn record(&self) -> Vec<u8> {
        let mut text = HEADER.as_bytes().to_vec();
        for (path, stood) in &self.stood {
            if let Some(digest) = digest(stood) {
                text.extend_from_slice(format!("{digest} ").as_bytes());
                text.extend_from_slice(path.as_os_str().as_bytes());
                text.push(0);
            }
        }
        text
    }

    /// Names under which something else stands than when this record was made.
    #[must_use]
    pub fn since(&self, record: &[u8]) -> Vec<PathBuf> {
        let Some(rows) = record.strip_prefix(HEADER.as_bytes()) else { return Vec::new() };
        let row = |row: &[u8]| {
            let at = row.iter().position(|byte| *byte == b' ')?;
            let path = PathBuf::from(std::ffi::OsStr::from_bytes(&row[at + 1..]));
            Some((path, String::from_utf8_lossy(&row[..at]).into_owned()))
        };
        let before: BTreeMap<_, _> = rows.split(|byte| *byte == 0).filter_map(row).collect();
        let now: BTreeMap<_, _> =
            self.stood.iter().filter_map(|(path, stood)| Some((path.clone(), digest(stood)?))).collect();
        let names: BTreeSet<_> = before.keys().chain(now.keys()).collect();
        names.into_iter().filter(|name| before.get(*name) != now.get(*name)).cloned().collect()
    }

    /// What of a changed file is nothing that was asked for.
    fn unexplained(&self, repo: &Repo<'_>, path: &Path, explained: &[String]) -> Vec<String> {
        let is_settings = path.file_name().is_some_and(|name| name == "config" || name == "config.worktree");
        let (before, now) = (self.stood.get(path), Places::one(path));
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
            return shown_paths(vec![path.to_owned()]);
        };
        let list = |bytes: Vec<u8>| {
            let call = repo.call(["config", "--no-includes", "--list", "-z", "--file", "-"]).stdin(bytes);
            settings::listed(call)
        };
        // nothing is explained by what Git cannot read, or has no time for any more
        let (Ok(before), Ok(now)) = (list(before), list(now)) else { return shown_paths(vec![path.to_owned()]) };
        let mut keys: Vec<_> = gone(&before, &now).chain(gone(&now, &before)).collect();
        keys.retain(|key| !explained.iter().any(|explained| explains(explained, key)));
        keys.sort_unstable();
        keys.dedup();
        keys.into_iter().map(|key| format!("{key} in {}", path.display())).collect()
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

fn shown_paths(paths: Vec<PathBuf>) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}

/// Of what stands under a name; of a directory there is none, since what is in it has its own.
fn digest(stood: &Stood) -> Option<String> {
    let digest = match stood {
        Stood::File { bytes, mode } => Sha256::new().chain_update(format!("file {mode:o} ")).chain_update(bytes),
        Stood::Link(target) => Sha256::new().chain_update("link ").chain_update(target.as_os_str().as_bytes()),
        Stood::Unread(which, changed) => Sha256::new().chain_update(format!("other {which:?} {changed:?}")),
        Stood::Directory { .. } => return None,
    };
    Some(canonical::hex(&digest.finalize().into()))
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
