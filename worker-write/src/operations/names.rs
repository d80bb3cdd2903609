//! Paths and revisions that a caller named, as Git takes them.
//! Trust: an agent's texts; what leaves the working tree, or leads into a git directory, is refused by name.

use crate::{
    failure::{Step, failed, refused, shown},
    repo::Repo,
    settings::flattened,
};
use bulkhead_contract::direct::Class;
use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Component, Path},
};

/// A path relative to the working tree, from one that may be absolute; empty for the working tree itself.
pub(super) fn path(repo: &Repo<'_>, named: &str) -> Step<Vec<u8>> {
    let outside = |why: &str| {
        refused(format!("{} {why}. Nothing was done.", shown(named)), "Name paths relative to the working tree.")
    };
    if named.is_empty() {
        return outside("(an empty path) names nothing");
    }
    if named.contains('\0') {
        return outside("holds a NUL");
    }
    let path = Path::new(named);
    if path.components().any(|component| component == Component::ParentDir) {
        return outside("climbs with ..");
    }
    let flat = flattened(&repo.root.join(path));
    let Ok(relative) = flat.strip_prefix(&repo.root) else { return outside("is outside of the working tree") };
    let is_git = |component: Component<'_>| component.as_os_str().eq_ignore_ascii_case(OsStr::new(".git"));
    if relative.components().any(is_git) {
        return outside("is in a git directory");
    }
    Ok(relative.as_os_str().as_bytes().to_vec())
}

/// The commit that a revision names, or class `not_found`.
pub(super) fn commit(repo: &Repo<'_>, revision: &str) -> Step<String> {
    let found = if is_plain(revision) { repo.commit(revision)? } else { None };
    found.ok_or_else(|| {
        failed(
            Class::NotFound,
            format!("No commit is named {}. Nothing was done.", shown(revision)),
            "repo_branches, repo_tags and repo_log show what there is.",
        )
    })
}

/// Whether a text may be asked of Git as a revision at all.
pub(super) fn is_plain(revision: &str) -> bool {
    !revision.is_empty() && !revision.starts_with('-') && !revision.contains(['\0', '\n'])
}

/// Whether one path is another, or beneath it; everything is beneath the empty one.
pub(super) fn is_beneath(path: &[u8], above: &[u8]) -> bool {
    above.is_empty() || path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}
