//! `repo_checkout` and `repo_new_child`: a branch, or a commit to stand on without one.
//! Trust: a branch is passed by its name, which is known to be one, anything else by its id.

use super::names;
use crate::{
    failure::{Step, failed, named, refused, shown},
    hooks,
    repo::{Head, Repo, fields, lossy},
    restore, standing,
};
use bulkhead_contract::direct::{Class, OperationState};
use bulkhead_ipc::edge::write::Done;

/// Where to go.
enum Target {
    Branch(String),
    Commit(String),
    /// A new branch that follows one of a remote: name, full name of what it follows.
    Following(String, String),
}

pub(super) fn checkout(repo: &Repo<'_>, reference: &str) -> Step<Done> {
    let state = repo.state();
    if !matches!(state, OperationState::Clear | OperationState::Bisect) {
        let unmerged = repo.unmerged()?;
        let class = if unmerged.is_empty() { Class::Refused } else { Class::Conflict };
        return Err(failed(
            class,
            format!("The repository is in the middle of {}. Nothing was done.", standing::word(state)),
            "repo_continue_in_progress finishes it, repo_abort_in_progress gives it up.",
        ));
    }
    let target = target(repo, reference)?;
    let head = repo.head()?;
    let to = match &target {
        Target::Branch(name) => repo.commit(&format!("refs/heads/{name}"))?,
        Target::Commit(id) => Some(id.clone()),
        Target::Following(_, full) => repo.commit(full)?,
    };
    let point = restore::make(repo, "repo_checkout", None)?;
    let mut call = repo.call([
        "checkout",
        "--quiet",
        "--no-guess",
        "--no-overwrite-ignore",
        "--no-recurse-submodules",
        "--no-progress",
    ]);
    let mut done = Done { notes: point.notes, ..Done::default() };
    match &target {
        Target::Branch(name) => call = call.args([name.as_str(), "--"]),
        Target::Commit(id) => {
            call = call.args(["--detach", id, "--"]);
            done.notes.push("HEAD is on a commit and on no branch; commits made here belong to no branch.".to_owned());
        }
        Target::Following(name, full) => {
            call = call.args(["-b", name, "--track", full, "--"]);
            done.notes.push(format!("The branch {name} was made; it follows {full}."));
        }
    }
    let hooked = hooks::beside(repo, &["post-checkout", "post-index-change"], call)?;
    // Git ends as that hook does, when it is there already
    let stands = hooked.has_run("post-checkout") && there(&target, to.as_deref(), &repo.head()?);
    if hooked.run.code != Some(0) && !stands {
        let mut failed = hooked.failed(&format!("Git did not go to {}.", shown(reference)));
        if failed.class == Class::Dirty
            && let Some(to) = &to
        {
            failed.reason.push_str(&format!("\nIn the way: {}.", named(&overlap(repo, &head, to)?)));
        }
        return Err(failed);
    }
    done.id = repo.commit("HEAD")?;
    hooked.onto(&mut done);
    Ok(done)
}

/// Whether HEAD is where it was to go.
fn there(target: &Target, to: Option<&str>, head: &Head) -> bool {
    let branch = match target {
        Target::Branch(name) | Target::Following(name, _) => Some(name.as_str()),
        Target::Commit(_) => None,
    };
    head.branch.as_deref() == branch && head.commit.as_deref() == to
}

fn target(repo: &Repo<'_>, reference: &str) -> Step<Target> {
    let reference = if reference == "-" { "@{-1}" } else { reference };
    if !names::is_plain(reference) {
        return refused(format!("{} is no branch and no revision.", shown(reference)), "Name a branch or a commit.");
    }
    if reference.starts_with("@{-") {
        let full =
            repo.call(["rev-parse", "--symbolic-full-name", "--verify", "-q", "--end-of-options", reference]).line()?;
        if let Some(name) = full.as_deref().and_then(|full| full.strip_prefix("refs/heads/")) {
            return Ok(Target::Branch(name.to_owned()));
        }
    }
    if repo.reference(&format!("refs/heads/{reference}"))?.is_some() {
        return Ok(Target::Branch(reference.to_owned()));
    }
    if let Some(id) = repo.commit(reference)? {
        return Ok(Target::Commit(id));
    }
    let mut following = Vec::new();
    for remote in lossy(&repo.call(["remote"]).all("Remotes could not be listed.")?).lines() {
        let full = format!("refs/remotes/{remote}/{reference}");
        if repo.reference(&full)?.is_some() {
            following.push(full);
        }
    }
    match following.as_slice() {
        [] => names::commit(repo, reference).map(Target::Commit),
        [full] => {
            repo.checked_name("heads", reference)?;
            Ok(Target::Following(reference.to_owned(), full.clone()))
        }
        several => refused(
            format!("No branch is named {}, and several remotes have one: {}.", shown(reference), named(several)),
            "Name one of these in full.",
        ),
    }
}

/// Paths that differ here and there.
fn overlap(repo: &Repo<'_>, head: &Head, to: &str) -> Step<Vec<String>> {
    let changed = repo.changed(head, &[])?;
    let from = match &head.commit {
        Some(commit) => commit.clone(),
        None => repo.empty_tree()?,
    };
    let listing = repo
        .call(["diff-tree", "-r", "-z", "--name-only", "--no-renames", &from, to])
        .all("The commits could not be compared.")?;
    let moves: std::collections::BTreeSet<_> = fields(&listing).collect();
    let mut paths: Vec<_> =
        changed.iter().filter(|path| moves.contains(path.as_slice())).map(|path| lossy(path)).collect();
    paths.extend(repo.in_the_way(to)?.iter().map(|path| lossy(path)));
    paths.sort_unstable();
    paths.dedup();
    Ok(paths)
}
