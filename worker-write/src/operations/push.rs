//! `repo_push`: one local branch to the branch of the same name, forward only; it follows it from then on.
//! Trust: the refspec is ours; what the remote says is shown, and its refusal is told by its kind.

use super::{lfs, remote};
use crate::{
    failure::{Step, failed, git_failed, shown},
    repo::{Repo, lossy},
    settings::Settings,
};
use bulkhead_contract::direct::Class;
use bulkhead_ipc::edge::write::Done;

pub(super) fn push(repo: &Repo<'_>, settings: &Settings, branch: &str) -> Step<Done> {
    let full = format!("refs/heads/{branch}");
    let tip = if branch.is_empty() || branch.contains([':', '+', '*']) { None } else { repo.reference(&full)? };
    let Some(tip) = tip else {
        return Err(failed(
            Class::NotFound,
            format!(
                "There is no local branch {}; tags and other refs are not pushed. Nothing was done.",
                shown(branch)
            ),
            "repo_branches lists the branches that there are.",
        ));
    };
    let name = target(repo)?;
    let other = remote::may_be_used(repo, settings, &name, true)?;
    lfs::has_no_pointers(repo, &tip, &name)?;
    pushed(repo, branch, &name, &other.program).map_err(|failed| other.told(failed))?;
    // also where the operator has hooks run: beside this Git they would have a network and the operator's keys
    let hooks_skipped = repo.hooks.present(&["pre-push"]);
    Ok(Done { id: Some(tip), hooks_skipped, notes: other.left(), ..Done::default() })
}

/// The push itself, with `program` at the other side.
fn pushed(repo: &Repo<'_>, branch: &str, name: &str, program: &str) -> Step<()> {
    let full = format!("refs/heads/{branch}");
    let refspec = format!("{full}:{full}");
    let (run, attempts) = remote::attempt(repo, || {
        repo.call([
            "-c",
            &format!("remote.{name}.mirror=false"),
            "push",
            "--porcelain",
            "--no-progress",
            "--set-upstream",
        ])
        .args(["--no-follow-tags", "--no-signed", "--no-force", "--no-mirror", "--recurse-submodules=no"])
        .args([&format!("--receive-pack={program}"), "--no-verify"])
        .args(["--", name, &refspec])
        .env("GIT_ALLOW_PROTOCOL", remote::PROTOCOLS)
        .run()
    })?;
    if run.code == Some(0) {
        return Ok(());
    }
    let said = lossy(&run.stdout);
    let tried = remote::tried(attempts);
    let mut failed = git_failed(&format!("{} was not pushed to {}{tried}.", shown(branch), shown(name)), &run);
    if let Some(line) = said.lines().find(|line| line.starts_with('!')) {
        // `! TAB from:to TAB summary`
        let summary = line.rsplit('\t').next().unwrap_or_default();
        failed.reason = format!("{}\nThe remote's ref: {}", failed.reason, shown(summary));
        let forward =
            ["non-fast-forward", "fetch first", "stale info", "needs force"].iter().any(|word| summary.contains(word));
        (failed.class, failed.next) = if forward {
            (
                Class::RejectedNonFastForward,
                "repo_fetch, then repo_rebase onto the remote's branch, then push again; this server never forces."
                    .to_owned(),
            )
        } else if failed.class == Class::Locked {
            (
                Class::Locked,
                "If no other Git runs at the remote, delete the lock file that is named there, then push again."
                    .to_owned(),
            )
        } else {
            (Class::Refused, "Read why the remote refuses it; its rules are its owner's.".to_owned())
        };
    }
    Err(failed)
}

/// `origin`, as the contract has it; where there is none, the only remote that there is.
fn target(repo: &Repo<'_>) -> Step<String> {
    let listing = repo.call(["remote"]).all("Remotes could not be listed.")?;
    let listing = lossy(&listing);
    let names: Vec<_> = listing.lines().collect();
    match names.as_slice() {
        [only] => Ok((*only).to_owned()),
        _ => Ok("origin".to_owned()),
    }
}
