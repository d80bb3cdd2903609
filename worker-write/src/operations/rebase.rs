//! `repo_rebase`: the current branch onto a commit. A conflict leaves it open, as Git does.
//! Trust: the commit is passed by its id; what the repository says of rebases is overruled.

use super::{names, signing};
use crate::{
    failure::{Step, failed, named, refused, shown},
    hooks,
    repo::{Repo, lossy},
    restore,
    settings::Settings,
    standing,
};
use bulkhead_contract::direct::{Class, OperationState};
use bulkhead_ipc::edge::write::Done;

const HOOKS: &[&str] = &[
    "pre-rebase",
    "post-checkout",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-rewrite",
    "post-index-change",
];

pub(super) fn rebase(repo: &Repo<'_>, settings: &Settings, onto: &str) -> Step<Done> {
    let state = repo.state();
    if state != OperationState::Clear {
        return refused(
            format!("The repository is in the middle of {}. Nothing was done.", standing::word(state)),
            "repo_continue_in_progress finishes it, repo_abort_in_progress gives it up.",
        );
    }
    signing::may_be_unsigned(repo, "commit.gpgSign")?;
    let target = names::commit(repo, onto)?;
    let head = repo.head()?;
    let old = head.born()?.to_owned();
    repo.refresh()?;
    let changed: Vec<_> = repo.changed(&head, &[])?.iter().map(|path| lossy(path)).collect();
    if !changed.is_empty() {
        return Err(failed(
            Class::Dirty,
            format!(
                "There are uncommitted changes, and this server puts nothing aside: {}. Nothing was done.",
                named(&changed)
            ),
            "Commit them with repo_commit first, or take them back.",
        ));
    }
    let overwritten: Vec<_> = repo.in_the_way(&target)?.iter().map(|path| lossy(path)).collect();
    if !overwritten.is_empty() {
        return Err(failed(
            Class::Dirty,
            format!("Untracked or ignored files would be overwritten: {}. Nothing was done.", named(&overwritten)),
            "Move these files away first.",
        ));
    }
    settings.no_merge_driver(repo)?;

    let point = restore::make(repo, "repo_rebase", None)?;
    let call = repo
        .call(["rebase", "--merge", "--no-autostash", "--no-update-refs", "--no-autosquash", "--no-fork-point"])
        .args(["--no-rebase-merges", "--no-stat", "--no-gpg-sign", "--no-rerere-autoupdate", "--empty=drop"])
        .args(repo.hooks.unverified())
        .arg(&target);
    let hooked = hooks::beside(repo, HOOKS, call)?;
    if hooked.run.code != Some(0) {
        let failed = hooked.failed(&format!("The rebase onto {} stopped.", shown(onto)));
        return Err(stopped(repo, failed));
    }
    let id = repo.commit("HEAD")?;
    let mut done = Done {
        state: Some(OperationState::Clear),
        id: id.clone(),
        signed: (id.as_deref() != Some(&old)).then_some(false),
        notes: point.notes,
        ..Done::default()
    };
    hooked.onto(&mut done);
    if let Some(id) = id {
        let (before, after) = (ahead(repo, &target, &old)?, ahead(repo, &target, &id)?);
        if after < before {
            done.notes.push(format!(
                "Of {before} commits {} are not there any more: merges, what {} has already, or what became empty.",
                before - after,
                shown(onto)
            ));
        }
    }
    Ok(done)
}

/// A rebase that is open with unmerged paths is a conflict, whatever Git said of it.
pub(super) fn stopped(
    repo: &Repo<'_>,
    mut failed: Box<bulkhead_ipc::edge::write::Failed>,
) -> Box<bulkhead_ipc::edge::write::Failed> {
    let open = repo.state() != OperationState::Clear;
    if open && repo.unmerged().is_ok_and(|unmerged| !unmerged.is_empty()) {
        failed.class = Class::Conflict;
        failed.next =
            "Resolve the unmerged paths with repo_resolve_conflict (in a rebase, \"ours\" is what it goes onto), \
                       then repo_continue_in_progress, or repo_abort_in_progress."
                .to_owned();
    }
    failed
}

/// Commits of one that another has not.
fn ahead(repo: &Repo<'_>, base: &str, tip: &str) -> Step<u64> {
    let count = repo.call(["rev-list", "--count"]).arg(format!("{base}..{tip}")).arg("--").line()?;
    Ok(count.and_then(|count| count.parse().ok()).unwrap_or(0))
}
