//! Hooks that Git would have run: named, because they did not.
//! Trust: only whether a file is there and may be executed is looked at.

use crate::{repo::Repo, settings::Settings};
use std::{os::unix::fs::PermissionsExt, path::PathBuf};

/// Those of these that the repository has. Also where the operator would have hooks run: no jail of Git has a shell.
pub(super) fn skipped(repo: &Repo<'_>, settings: &Settings, names: &[&str]) -> Vec<String> {
    let directory = match settings.get("core.hookspath") {
        Some(path) => repo.root.join(path),
        None => repo.common_dir.join("hooks"),
    };
    let runs = |path: PathBuf| path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0);
    names.iter().filter(|name| runs(directory.join(name))).map(|name| (*name).to_owned()).collect()
}
