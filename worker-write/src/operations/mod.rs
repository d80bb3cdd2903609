//! From an operation to its outcome: what every one of them goes through, and which module does it.
//! Trust: the operation is an agent's; the repository is anybody's. Nothing here panics on either.
//!
//! In this order: the lock of the working copy; lock files that Git left; settings that are overruled or refused; the guard's
//! look; the operation, which makes its own restore point where it can lose something; the guard's second look; where the
//! repository stands.

mod attributes;
mod branch;
mod checkout;
mod commit;
mod fetch;
mod lfs;
mod names;
mod progress;
mod push;
mod rebase;
mod remote;
mod resolve;
mod signing;
mod tag;
mod worktree;

use crate::{
    failure::{Step, bounded, failed, named, refused, shown},
    git::Git,
    guard::Guard,
    hooks::Hooks,
    leftover::{self, Look},
    lock, place,
    repo::Repo,
    restore,
    settings::Settings,
    store::Store,
};
use bulkhead_contract::direct::Class;
use bulkhead_ipc::edge::write::{Allowed, Done, Failed, MAX_LIST, MAX_NAME, MAX_REASON, Operation, Outcome};
use std::rc::Rc;

/// Does it, or says why not and how the repository stands.
#[must_use]
pub fn perform(operation: &Operation, allowed: &Allowed, git: &Git) -> Outcome {
    let mut repo = Repo::new(allowed, git);
    match guarded(operation, &mut repo) {
        Ok(done) => Outcome::Done(Box::new(within_bounds(done))),
        Err(failed) => Outcome::Failed(Box::new(told(*failed, &repo))),
    }
}

fn guarded(operation: &Operation, repo: &mut Repo<'_>) -> Step<Done> {
    let held = lock::take(repo.allowed, repo.git)?;
    place::as_it_was(repo)?;
    leftover::none(&repo.git_dir, &repo.common_dir, matches!(operation, Operation::Continue))?;
    Settings::are_its_own(repo)?;
    let settings = Settings::begin(repo)?;
    if matches!(operation, Operation::Commit { .. } | Operation::Checkout { .. }) {
        restore::begin_to_list(repo)?;
    }
    // while Git reads; what goes well leaves nothing unfinished beyond what was there
    let unfinished = leftover::unfinished(&repo.common_dir, Look::Brief);
    let settings = settings.ended()?;
    repo.git.yield_to(|key| settings.get(key).is_some());
    // what reaches beyond the repository has none
    let has_hooks = !matches!(operation, Operation::CreateWorktree { .. } | Operation::RemoveWorktree { .. });
    repo.hooks = Hooks::of(repo, &settings, has_hooks)?;
    repo.store = Store::open(&settings, &repo.common_dir).map(Rc::new);
    let pins = settings.pins(repo)?;
    repo.pin(pins);

    let guard = guarding(repo, &settings, &held)?;
    held.leave(&guard.record());
    let result = done(operation, repo, &settings);
    let looked = guard.after(repo, &explained(operation));
    held.leave(&[]);
    match (result, looked) {
        (Ok(mut done), Ok(())) => {
            done.state = done.state.or_else(|| Some(repo.state()));
            done.restore_point = repo.point.take();
            done.notes.extend(unfinished);
            Ok(done)
        }
        (Err(failed), Ok(())) => Err(failed),
        (result, Err(mut foul)) => {
            match result {
                Err(failed) => {
                    foul.reason.push_str(&format!(" The operation itself failed too: {}", shown(&failed.reason)));
                }
                Ok(done) => {
                    let id = done.id.map(|id| format!(" HEAD is at {id}.")).unwrap_or_default();
                    foul.reason
                        .push_str(&format!(" The operation itself was done, and is not to be asked for again.{id}"));
                }
            }
            Err(foul)
        }
    }
}

/// The guard, where all that it keeps can be kept and nothing is left of a write that ended before its own had looked.
fn guarding(repo: &Repo<'_>, settings: &Settings, held: &lock::Held) -> Step<Guard> {
    let guard = Guard::before(&repo.root, &repo.git_dir, &repo.common_dir, settings.included());
    let guard = guard.map_err(|much| {
        failed(
            Class::TooLarge,
            format!("In the git directory {much}, so that a change of it could not be undone. Nothing was done."),
            "Make room there, or do it with Git itself.",
        )
    })?;
    let differs = guard.since(&held.left());
    if differs.is_empty() {
        return Ok(guard);
    }
    held.leave(&[]);
    let names: Vec<_> = differs.iter().map(|path| path.display().to_string()).collect();
    refused(
        format!(
            "An earlier write was ended before it had looked at what changed in the repository's own settings while it ran. Since it \
             began, these have changed: {}. Nothing was done.",
            named(&names)
        ),
        "Have a person look at these, who may have changed them; the next write takes them as they are then.",
    )
}

fn done(operation: &Operation, repo: &mut Repo<'_>, settings: &Settings) -> Step<Done> {
    match operation {
        Operation::Commit { paths, message, allow_empty, include_untracked } => {
            let (allow_empty, include_untracked) = (*allow_empty, *include_untracked);
            commit::commit(repo, settings, &commit::Asked { paths, message, allow_empty, include_untracked })
        }
        Operation::Checkout { reference } => checkout::checkout(repo, reference),
        Operation::Fetch => fetch::fetch(repo, settings),
        Operation::Push { branch } => push::push(repo, settings, branch),
        Operation::CreateWorktree { path, branch, base } => worktree::create(repo, path, branch, base),
        Operation::RemoveWorktree { path, force } => worktree::remove(repo, path, *force),
        Operation::Rebase { onto } => rebase::rebase(repo, settings, onto),
        Operation::Abort => progress::abort(repo),
        Operation::Continue => progress::go_on(repo, settings),
        Operation::CreateBranch { name } => branch::create(repo, name),
        Operation::DeleteBranch { name, force } => branch::delete(repo, name, *force),
        Operation::RenameBranch { old, new } => branch::rename(repo, old, new),
        Operation::CreateTag { name, message, revision } => {
            tag::create(repo, name, message.as_deref(), revision.as_deref())
        }
        Operation::DeleteTag { name } => tag::delete(repo, name),
        Operation::Resolve { path, becomes, stages } => resolve::resolve(repo, path, becomes, stages),
        Operation::Restore { id } => restore::back(repo, id),
    }
}

/// Keys of the configuration that an operation may change; one that ends in a dot stands for all that it begins.
fn explained(operation: &Operation) -> Vec<String> {
    let follows = |branch: &String| vec![format!("branch.{branch}.remote"), format!("branch.{branch}.merge")];
    match operation {
        Operation::Push { branch } => follows(branch),
        Operation::Checkout { reference } => follows(reference),
        Operation::DeleteBranch { name, .. } => vec![format!("branch.{name}.")],
        Operation::RenameBranch { old, new } => vec![format!("branch.{old}."), format!("branch.{new}.")],
        _ => Vec::new(),
    }
}

/// What was done, within the limits of the edge.
fn within_bounds(mut done: Done) -> Done {
    let total = done.notes.len();
    if total > MAX_LIST {
        done.notes.truncate(MAX_LIST - 1);
        done.notes.push(format!("{} further notes are left out ({total} in all).", total - MAX_LIST + 1));
    }
    done.notes = done.notes.into_iter().map(|note| bounded(note, MAX_REASON)).collect();
    done
}

/// The failure, with where the repository stands now.
fn told(mut failed: Failed, repo: &Repo<'_>) -> Failed {
    failed.state = Some(repo.state());
    failed.restore_point = repo.point.take();
    // there were none before, so a Git that was ended left them, and can no longer remove them
    if failed.class != Class::Locked {
        failed.reason.extend(leftover::now(&repo.git_dir, &repo.common_dir).map(|said| format!("\n{said}")));
    }
    if matches!(failed.class, Class::Timeout | Class::Cancelled | Class::Failed | Class::Network) {
        failed.reason.extend(leftover::unfinished(&repo.common_dir, Look::Long).map(|said| format!("\n{said}")));
    }
    let ended = matches!(failed.class, Class::Timeout | Class::Cancelled);
    if failed.unmerged.is_empty()
        && !ended
        && let Ok(mut unmerged) = repo.unmerged()
    {
        if unmerged.len() > MAX_LIST {
            failed.reason.push_str(&format!(" {} paths are unmerged; {MAX_LIST} are named.", unmerged.len()));
            unmerged.truncate(MAX_LIST);
        }
        let short = |path: String| if path.len() <= MAX_NAME { path } else { shown(&path) };
        failed.unmerged = unmerged.into_iter().map(short).collect();
    }
    failed.reason = bounded(failed.reason, MAX_REASON);
    failed
}
