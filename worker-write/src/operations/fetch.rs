//! `repo_fetch`: the remote that the current branch follows, into the refs that are that remote's and nowhere else.
//! Trust: what the repository says of where to put things is corrected; what a remote sends, Git checks.

use super::remote;
use crate::{
    failure::{Step, failed, git_failed, shown},
    repo::{Repo, lossy},
    settings::Settings,
};
use bulkhead_contract::direct::Class;
use bulkhead_ipc::edge::write::Done;

pub(super) fn fetch(repo: &Repo<'_>, settings: &Settings) -> Step<Done> {
    let name = default(repo, settings)?;
    let other = remote::may_be_used(repo, settings, &name, false)?;
    let (refspecs, notes) = destinations(&name, settings);
    let (run, attempts) = remote::attempt(repo, || {
        repo.call([
            "fetch",
            "--quiet",
            "--no-progress",
            "--no-prune",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
        ])
        .args(["--no-write-fetch-head", "--no-write-commit-graph", "--refmap="])
        .args([&format!("--upload-pack={}", other.program), "--"])
        .arg(&name)
        .args(&refspecs)
        .env("GIT_ALLOW_PROTOCOL", remote::PROTOCOLS)
        .run()
    })?;
    if run.code != Some(0) {
        let tried = remote::tried(attempts);
        return Err(git_failed(&format!("Nothing could be fetched from {}{tried}.", shown(&name)), &run));
    }
    Ok(Done { notes, ..Done::default() })
}

/// The remote as Git chooses it: that of the current branch, else the only one, else `origin`.
fn default(repo: &Repo<'_>, settings: &Settings) -> Step<String> {
    if let Some(branch) = repo.head()?.branch
        && let Some(name) = settings.get(&format!("branch.{branch}.remote"))
    {
        return match name {
            "." => Err(failed(
                Class::Unsupported,
                format!("The branch {} follows another local branch; there is nothing to fetch.", shown(&branch)),
                "Check out a branch that follows a remote's.",
            )),
            name => Ok(name.to_owned()),
        };
    }
    let listing = repo.call(["remote"]).all("Remotes could not be listed.")?;
    let listing = lossy(&listing);
    let mut names = listing.lines();
    match (names.next(), names.next()) {
        (Some(only), None) => Ok(only.to_owned()),
        _ => Ok("origin".to_owned()),
    }
}

/// Refspecs whose destinations are all beneath `refs/remotes/<remote>/`, and a sentence for each that was not so.
fn destinations(remote: &str, settings: &Settings) -> (Vec<String>, Vec<String>) {
    let own = format!("refs/remotes/{remote}/");
    let branches = format!("+refs/heads/*:{own}*");
    let (mut refspecs, mut notes) = (Vec::new(), Vec::new());
    for spec in settings.all(&format!("remote.{remote}.fetch")) {
        if spec.starts_with('^') {
            refspecs.push(spec.to_owned());
            continue;
        }
        let (source, destination) = spec.strip_prefix('+').unwrap_or(spec).split_once(':').unwrap_or((spec, ""));
        if destination.starts_with(&own) && source.starts_with("refs/") {
            refspecs.push(spec.to_owned());
        } else {
            notes.push(format!(
                "The repository says {} of this remote; nothing is written outside of {own}, so its branches were fetched \
                 there instead.",
                shown(spec)
            ));
            if !refspecs.contains(&branches) {
                refspecs.push(branches.clone());
            }
        }
    }
    if !refspecs.iter().any(|spec| !spec.starts_with('^')) {
        refspecs.push(branches);
    }
    (refspecs, notes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(specs: &[&str]) -> (Vec<String>, usize) {
        let own = specs.iter().map(|spec| ("remote.o.fetch".to_owned(), (*spec).to_owned()));
        let (refspecs, notes) = destinations("o", &Settings::of(own));
        (refspecs, notes.len())
    }

    #[test]
    fn nothing_is_fetched_to_anywhere_but_the_remotes_own_refs() {
        let usual = "+refs/heads/*:refs/remotes/o/*";
        assert_eq!(of(&[]), (vec![usual.to_owned()], 0));
        assert_eq!(of(&[usual]), (vec![usual.to_owned()], 0));
        assert_eq!(of(&["+refs/heads/*:refs/heads/*"]), (vec![usual.to_owned()], 1));
        assert_eq!(of(&["+refs/*:refs/*", usual]), (vec![usual.to_owned(), usual.to_owned()], 1));
        assert_eq!(of(&["+refs/heads/*:refs/remotes/other/*"]), (vec![usual.to_owned()], 1));
        assert_eq!(
            of(&["^refs/heads/wip", "refs/heads/main:refs/remotes/o/main"]),
            (vec!["^refs/heads/wip".to_owned(), "refs/heads/main:refs/remotes/o/main".to_owned()], 0)
        );
    }
}
