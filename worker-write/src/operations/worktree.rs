//! `repo_create_worktree` and `repo_remove_worktree`.
//! Trust: a place is taken only beneath the operator's roots and outside of git directories, links resolved.

use super::names;
use crate::{
    failure::{Step, failed, git_failed, refused, shown},
    hooks,
    repo::{Repo, fields, lossy},
    restore,
    settings::flattened,
    standing,
};
use bulkhead_contract::direct::Class;
use bulkhead_ipc::edge::write::Done;
use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Component, Path, PathBuf},
};

/// A new branch in a new working tree.
pub(super) fn create(repo: &Repo<'_>, path: &str, branch: &str, base: &str) -> Step<Done> {
    let place = free_place(repo, path)?;
    repo.checked_name("heads", branch)?;
    if repo.reference(&format!("refs/heads/{branch}"))?.is_some() {
        return refused(
            format!("A branch {} is there already. Nothing was done.", shown(branch)),
            "Choose another name for the new branch.",
        );
    }
    let commit = names::commit(repo, base)?;
    let call = repo.call(["worktree", "add", "--quiet", "--no-track", "-b", branch, "--"]).arg(&place).arg(&commit);
    let hooked = hooks::beside(repo, &["post-checkout", "post-index-change"], call)?;
    let mut done = Done { id: Some(commit.clone()), ..Done::default() };
    // Git ends as that hook does, when all is made
    let stands = hooked.has_run("post-checkout") && own_git_dir(repo, &place)?.is_some();
    if hooked.run.code != Some(0) && !stands {
        // Git takes the directory away again and leaves the branch, for which the next call of the same words would be refused
        if !is_taken(&place) {
            let _ = repo.call(["update-ref", "--no-deref", "-d", &format!("refs/heads/{branch}"), &commit]).run();
        }
        return Err(hooked.failed(&format!("The working tree {} could not be made.", shown(path))));
    }
    hooked.onto(&mut done);
    Ok(done)
}

/// The path, links resolved, where it is allowed and nothing is there but an empty directory.
fn free_place(repo: &Repo<'_>, path: &str) -> Step<PathBuf> {
    if path.is_empty() || path.starts_with('-') || path.contains('\0') {
        return refused(format!("{} is no path. Nothing was done.", shown(path)), "Name a directory.");
    }
    let flat = flattened(&repo.root.join(path));
    // what is not there yet is made by Git, beneath what is; above a step up everything must be there already
    let climbs = Path::new(path).components().any(|part| part == Component::ParentDir);
    let above = flat.ancestors().skip(1).take(if climbs { 1 } else { usize::MAX });
    let Some((above, canonical)) =
        above.into_iter().find_map(|it| it.canonicalize().ok().map(|canonical| (it, canonical)))
    else {
        return Err(failed(
            Class::NotFound,
            format!("The directory above {} is not there. Nothing was done.", shown(path)),
            "Name a path whose directory exists, or one without ..",
        ));
    };
    let place = canonical.join(flat.strip_prefix(above).unwrap_or(&flat));
    is_allowed(repo, &place)?;
    if is_taken(&place) {
        return refused(format!("{} is there already. Nothing was done.", shown(path)), "Choose another path.");
    }
    Ok(place)
}

/// Whether anything but an empty directory is there.
fn is_taken(place: &Path) -> bool {
    match place.symlink_metadata() {
        Ok(found) if found.is_dir() => place.read_dir().map_or(true, |mut entries| entries.next().is_some()),
        Ok(_) => true,
        Err(_) => false,
    }
}

/// Beneath the operator's roots, and in no git directory.
fn is_allowed(repo: &Repo<'_>, place: &Path) -> Step<()> {
    let beneath = repo
        .allowed
        .roots
        .iter()
        .any(|root| place.starts_with(OsStr::from_bytes(root)) && place.as_os_str().as_bytes() != root.as_slice());
    if !beneath {
        return refused(
            format!("{} is not beneath the directories that the operator allows. Nothing was done.", place.display()),
            "Choose a path beneath one of the server's roots.",
        );
    }
    let named_git = place.components().any(|part| part.as_os_str().eq_ignore_ascii_case(OsStr::new(".git")));
    // a bare repository, or one that is called otherwise
    let is_git = |dir: &Path| dir.join("HEAD").is_file() && ["objects", "refs"].iter().all(|it| dir.join(it).is_dir());
    let in_another = place.ancestors().skip(1).any(is_git);
    if named_git || in_another || place.starts_with(&repo.git_dir) || place.starts_with(&repo.common_dir) {
        return refused(
            format!("{} is in a git directory. Nothing was done.", place.display()),
            "Choose another path.",
        );
    }
    Ok(())
}

/// A linked working tree as Git lists it.
#[derive(Debug, Default)]
struct Listed {
    path: Vec<u8>,
    locked: bool,
}

/// Its branch stays. The restore point holds its commit, index, tracked and untracked files, not its ignored ones.
pub(super) fn remove(repo: &Repo<'_>, path: &str, force: bool) -> Step<Done> {
    let (at, found) = find(repo, path)?;
    let place = PathBuf::from(OsStr::from_bytes(&found.path));
    if at == 0 {
        return refused(
            format!("{} is the main working tree. Nothing was done.", shown(path)),
            "It cannot be removed.",
        );
    }
    if place == repo.root || place.canonicalize().is_ok_and(|place| place == repo.root) {
        return refused(
            format!("{} is the working tree that this server serves. Nothing was done.", shown(path)),
            "Remove it from another working tree.",
        );
    }
    is_allowed(repo, &place)?;
    if found.locked {
        return refused(
            format!("The working tree {} is locked. Nothing was done.", shown(path)),
            "Unlock it with git worktree unlock first.",
        );
    }
    let mut done = Done::default();
    if let Some(git_dir) = own_git_dir(repo, &place)? {
        let there = repo.at(&place, &git_dir);
        if !force {
            is_clean(&there, path)?;
        }
        has_no_submodules(&there, path)?;
        let ignored = there
            .call(["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"])
            .all("The working tree could not be listed. Nothing was done.")?;
        let point = restore::make(&there, "repo_remove_worktree", None)?;
        if !point.whole {
            return refused(
                format!("{} Nothing was done.", point.notes.join(" ")),
                "Move these files away, or remove the working tree with Git itself.",
            );
        }
        done.notes = point.notes;
        let count = fields(&ignored).count();
        if count > 0 {
            done.notes.push(format!("{count} ignored files or directories went with it; no restore point holds them."));
        }
    }
    let run = repo.call(["worktree", "remove"]).args(force.then_some("--force")).arg("--").arg(&place).run()?;
    if run.code != Some(0) {
        return Err(git_failed(&format!("The working tree {} could not be removed.", shown(path)), &run));
    }
    Ok(done)
}

/// Submodules have repositories and changes of their own, which no restore point holds.
fn has_no_submodules(there: &Repo<'_>, path: &str) -> Step<()> {
    let entries = there.entries(false, &[])?;
    let is_filled = |path: &Vec<u8>| {
        there.root.join(OsStr::from_bytes(path)).read_dir().is_ok_and(|mut entries| entries.next().is_some())
    };
    let filled = entries.iter().filter(|entry| entry.mode == "160000").find(|entry| is_filled(&entry.path));
    match filled {
        None => Ok(()),
        Some(entry) => refused(
            format!(
                "The working tree {} holds the submodule {}. Nothing was done.",
                shown(path),
                shown(&lossy(&entry.path))
            ),
            "Remove it with Git itself.",
        ),
    }
}

fn is_clean(there: &Repo<'_>, path: &str) -> Step<()> {
    let listing = there
        .call([
            "status",
            "--porcelain=v1",
            "-z",
            "--untracked-files=normal",
            "--ignore-submodules=dirty",
            "--no-renames",
        ])
        .all("The working tree could not be looked at. Nothing was done.")?;
    let changed: Vec<_> = fields(&listing).map(|row| lossy(row.get(3..).unwrap_or_default())).collect();
    if changed.is_empty() {
        return Ok(());
    }
    Err(failed(
        Class::Dirty,
        format!(
            "The working tree {} holds changes or untracked files: {}. Nothing was done.",
            shown(path),
            crate::failure::named(&changed)
        ),
        "Commit them there, or call again with force: the restore point keeps them.",
    ))
}

/// The row of the list, and its number; the first is the main working tree.
fn find(repo: &Repo<'_>, path: &str) -> Step<(usize, Listed)> {
    let listing = repo.call(["worktree", "list", "--porcelain", "-z"]).all("Worktrees could not be listed.")?;
    let mut rows: Vec<Listed> = Vec::new();
    for line in fields(&listing) {
        if let Some(path) = line.strip_prefix(b"worktree ") {
            rows.push(Listed { path: path.to_vec(), ..Listed::default() });
        } else if (line == b"locked" || line.starts_with(b"locked "))
            && let Some(row) = rows.last_mut()
        {
            row.locked = true;
        }
    }
    let flat = flattened(&repo.root.join(path));
    let asked = flat.canonicalize().unwrap_or(flat);
    let is_it = |row: &Listed| {
        let listed = Path::new(OsStr::from_bytes(&row.path));
        listed == asked || listed.canonicalize().is_ok_and(|listed| listed == asked)
    };
    rows.into_iter().enumerate().find(|(_, row)| is_it(row)).ok_or_else(|| {
        failed(
            Class::NotFound,
            format!("{} is not a working tree of this repository. Nothing was done.", shown(path)),
            "repo_worktrees lists those that there are.",
        )
    })
}

/// Working trees whose git directories are looked through.
const MAX_LINKED: usize = 10_000;

/// The git directory of a linked working tree, found from the repository's side: the tree's own `.git` file is not asked.
/// `None` where the tree itself is gone; where it is there, nothing of it may go without a point that is made through this.
fn own_git_dir(repo: &Repo<'_>, place: &Path) -> Step<Option<PathBuf>> {
    if !place.is_dir() {
        return Ok(None);
    }
    let back = place.join(".git");
    let names_it = |directory: &PathBuf| {
        let named = standing::bounded(&directory.join("gitdir")).ok().flatten();
        named.is_some_and(|text| flattened(&directory.join(text.trim_end())) == back)
    };
    let entries = std::fs::read_dir(repo.common_dir.join("worktrees")).into_iter().flatten().flatten();
    match entries.take(MAX_LINKED).map(|entry| entry.path()).find(names_it) {
        Some(found) => Ok(Some(found)),
        None => refused(
            format!(
                "None of the first {MAX_LINKED} directories in worktrees/ of the repository names {} in a gitdir file of at \
                 most 1 MiB, so no restore point can be made of it. Nothing was done.",
                place.display()
            ),
            "Look at it with git worktree list, and remove it with Git itself.",
        ),
    }
}
