//! `repo_resolve_conflict`: an unmerged path becomes one of its stages, a text, or nothing.
//! Trust: the text was put together by a read worker from stages that are compared here with the index's.

use super::names;
use crate::{
    failure::{Step, failed, git_failed, refused, shown},
    repo::{Entry, Repo, lossy},
    restore,
};
use bulkhead_contract::direct::Class;
use bulkhead_ipc::edge::write::{Done, Resolved};

pub(super) fn resolve(repo: &Repo<'_>, path: &str, becomes: &Resolved, stages: &[Option<String>; 3]) -> Step<Done> {
    let wanted = names::path(repo, path)?;
    let unmerged = repo.entries(true, &[])?;
    let of_path: Vec<_> = unmerged.iter().filter(|entry| entry.path == wanted).collect();
    if of_path.is_empty() {
        return refused(
            format!("{} is not unmerged. Nothing was done.", shown(path)),
            "repo_conflicts lists the paths that are.",
        );
    }
    let stage = |number: u8| of_path.iter().find(|entry| entry.stage == number).copied();
    let now = [1, 2, 3].map(|number| stage(number).map(|entry| entry.id.clone()));
    if now != *stages {
        return Err(failed(
            Class::Conflict,
            format!("The stages of {} are not those that this resolution was made of. Nothing was done.", shown(path)),
            "Look at repo_conflict_regions again, then resolve what stands there now.",
        ));
    }
    let absent = |number: u8| {
        failed(
            Class::NotFound,
            format!("{} has no {}. Nothing was done.", shown(path), side(number)),
            "Choose another side; repo_conflict_regions shows which there are.",
        )
    };
    let (entry, conflicts) = match becomes {
        Resolved::Stage(number) => (Some(stage(*number).ok_or_else(|| absent(*number))?.clone()), 1),
        Resolved::Content { bytes, mode_of, conflicts } => {
            let of = stage(*mode_of).ok_or_else(|| absent(*mode_of))?;
            let call = repo.call(["hash-object", "-w", "--no-filters", "--stdin"]).stdin(bytes.clone());
            let id = lossy(&call.all("The text could not be written. Nothing was done.")?).trim().to_owned();
            (Some(Entry { id, stage: 0, ..of.clone() }), *conflicts)
        }
        Resolved::Deleted => (None, 1),
    };
    let others = if entry.is_some() { other_names(&unmerged, &wanted) } else { Vec::new() };

    let point = restore::make(repo, "repo_resolve_conflict", None)?;
    let mut done = Done { conflicts_resolved: conflicts, notes: point.notes, ..Done::default() };
    remove(repo, &others)?;
    match &entry {
        Some(entry) => put(repo, entry)?,
        None => remove(repo, std::slice::from_ref(&wanted))?,
    }
    if !others.is_empty() {
        let names: Vec<_> = others.iter().map(|other| lossy(other)).collect();
        done.notes.push(format!("Both sides renamed this file; its other names were cleared: {}.", names.join(", ")));
    }
    Ok(done)
}

fn side(number: u8) -> &'static str {
    match number {
        1 => "base",
        2 => "\"ours\"",
        3 => "\"theirs\"",
        _ => "such stage",
    }
}

/// A file that both sides renamed leaves three paths with a single stage each. Which paths belong together the index does
/// not say, so they are taken for one only where there is one of each.
fn other_names(unmerged: &[Entry], wanted: &[u8]) -> Vec<Vec<u8>> {
    let alone = |number: u8| -> Vec<&Entry> {
        let is_alone = |entry: &&Entry| {
            entry.stage == number && unmerged.iter().filter(|other| other.path == entry.path).count() == 1
        };
        unmerged.iter().filter(is_alone).collect()
    };
    let (base, ours, theirs) = (alone(1), alone(2), alone(3));
    let ([base], [ours], [theirs]) = (base.as_slice(), ours.as_slice(), theirs.as_slice()) else { return Vec::new() };
    let group = [&base.path, &ours.path, &theirs.path];
    if ours.path != wanted && theirs.path != wanted {
        return Vec::new();
    }
    group.into_iter().filter(|path| path.as_slice() != wanted).cloned().collect()
}

/// Out of the index and the working tree.
fn remove(repo: &Repo<'_>, paths: &[Vec<u8>]) -> Step<()> {
    if paths.is_empty() {
        return Ok(());
    }
    let call = repo.call(["rm", "--force", "--quiet", "--ignore-unmatch", "--"]).paths(paths);
    call.all("A path could not be removed.").map(drop)
}

/// Into the index, merged, and into the working tree.
fn put(repo: &Repo<'_>, entry: &Entry) -> Step<()> {
    let row = |mode: &str, id: &str| [format!("{mode} {id}\t").as_bytes(), &entry.path, b"\0"].concat();
    let input = [row("0", &"0".repeat(entry.id.len())), row(&entry.mode, &entry.id)].concat();
    repo.call(["update-index", "--add", "-z", "--index-info"]).stdin(input).all("The index could not be written.")?;
    if entry.mode == "160000" {
        return Ok(());
    }
    let run = repo
        .call(["checkout-index", "--force", "--quiet", "--index", "--"])
        .paths(std::slice::from_ref(&entry.path))
        .run()?;
    if run.code != Some(0) {
        return Err(git_failed("The path is resolved in the index, and its file could not be written.", &run));
    }
    Ok(())
}
