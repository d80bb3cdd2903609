//! `repo_commit`: exactly the named paths, from the working tree; what else is staged stays staged.
//! Trust: paths are literal; the message is passed through a file, and no program sees it.

use super::{attributes, names, signing};
use crate::{
    failure::{Step, failed, named, refused, shown},
    hooks,
    leftover::Scratch,
    repo::{Repo, fields, lossy},
    restore,
    settings::{self, Settings},
    standing,
};
use bulkhead_contract::direct::{Class, OperationState};
use bulkhead_ipc::edge::write::Done;
use std::{collections::BTreeSet, ffi::OsStr, os::unix::ffi::OsStrExt};

/// What is asked.
pub(super) struct Asked<'o> {
    pub(super) paths: &'o [String],
    pub(super) message: &'o str,
    pub(super) allow_empty: bool,
    /// Files that are not tracked yet are taken in, beneath the named paths.
    pub(super) include_untracked: bool,
}

const HOOKS: &[&str] = &["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-index-change"];

pub(super) fn commit(repo: &Repo<'_>, settings: &Settings, asked: &Asked<'_>) -> Step<Done> {
    if asked.message.trim().is_empty() {
        return refused("The message is empty. Nothing was committed.", "Say in a line what the commit does.");
    }
    if asked.message.contains('\0') {
        return refused("The message holds a NUL. Nothing was committed.", "Leave the NUL out.");
    }
    if asked.paths.is_empty() {
        return refused("No path is named. Nothing was committed.", "Name what is to be committed.");
    }
    signing::may_be_unsigned(repo, "commit.gpgSign")?;
    let state = repo.state();
    if matches!(state, OperationState::Merge | OperationState::CherryPick | OperationState::Revert) {
        return refused(
            format!(
                "The repository is in the middle of {}, which Git commits as a whole. Nothing was committed.",
                standing::word(state)
            ),
            "repo_continue_in_progress commits it once all paths are resolved; repo_abort_in_progress gives it up.",
        );
    }
    let paths = asked.paths.iter().map(|named| names::path(repo, named)).collect::<Step<Vec<_>>>()?;
    let head = repo.head()?;
    let new = if asked.include_untracked { untracked(repo, &paths)? } else { Vec::new() };
    merged(repo, &paths)?;
    let comparing = repo.begin_to_compare(&head, pathspecs(&paths))?;
    // what the point holds is put together while Git compares; it becomes one where there is something to commit
    let before = head.commit.clone();
    let point = restore::make_unless(repo, "repo_commit", None, || {
        let mut changed = comparing.ended(repo)?;
        chosen(repo, &changed, asked, &paths, &new)?;
        changed.extend(new.iter().cloned());
        unfiltered(repo, settings, &changed)
    })?;
    intend(repo, &new)?;
    let run = run(repo, asked, &paths, before.as_deref());
    if run.is_err() && !new.is_empty() {
        // a failed commit leaves the index as it was; where that fails too, the point has it
        let _ = repo.call(["update-index", "--force-remove", "-z", "--stdin"]).stdin(listed(&new)).run();
    }
    let mut done = run?;
    done.notes.extend(point.notes);
    Ok(done)
}

/// Refuses while paths are unmerged.
fn merged(repo: &Repo<'_>, paths: &[Vec<u8>]) -> Step<()> {
    let unmerged = repo.unmerged()?;
    let of_named: Vec<_> =
        unmerged.iter().filter(|path| paths.iter().any(|above| names::is_beneath(path.as_bytes(), above))).collect();
    if !of_named.is_empty() {
        return Err(conflict(format!(
            "Unmerged paths are not committed, as their markers would be: {}.",
            named(&of_named)
        )));
    }
    if !unmerged.is_empty() {
        return Err(conflict(format!("Git commits nothing while paths are unmerged: {}.", named(&unmerged))));
    }
    Ok(())
}

/// Refuses where one of the named paths is not known, or nothing differs beneath it.
fn chosen(repo: &Repo<'_>, changed: &[Vec<u8>], asked: &Asked<'_>, paths: &[Vec<u8>], new: &[Vec<u8>]) -> Step<()> {
    let quiet: Vec<_> = asked
        .paths
        .iter()
        .zip(paths)
        .filter(|(_, above)| !changed.iter().chain(new).any(|path| names::is_beneath(path, above)))
        .collect();
    if quiet.is_empty() {
        return Ok(());
    }
    let unknown: Vec<_> = {
        let above: Vec<_> = quiet.iter().map(|(_, above)| (*above).clone()).collect();
        let known: BTreeSet<_> = repo.entries(false, &pathspecs(&above))?.into_iter().map(|entry| entry.path).collect();
        quiet.iter().filter(|(_, above)| !known.iter().any(|path| names::is_beneath(path, above))).collect()
    };
    if !unknown.is_empty() {
        let names: Vec<_> = unknown.iter().map(|(name, _)| name.as_str()).collect();
        let untracked = unknown.iter().any(|(_, path)| repo.root.join(lossy(path)).symlink_metadata().is_ok());
        return Err(failed(
            Class::NotFound,
            format!("Git does not track {}. Nothing was committed.", named(&names)),
            if untracked {
                "Call again with include_untracked to commit new files, if they are not ignored."
            } else {
                "Check the names with repo_status."
            },
        ));
    }
    if asked.allow_empty {
        return Ok(());
    }
    let names: Vec<_> = quiet.iter().map(|(name, _)| name.as_str()).collect();
    refused(
        format!("Nothing differs from HEAD in {}. Nothing was committed.", named(&names)),
        "Leave these paths out; repo_status shows what differs.",
    )
}

/// Files beneath the named paths that are neither tracked nor ignored.
fn untracked(repo: &Repo<'_>, paths: &[Vec<u8>]) -> Step<Vec<Vec<u8>>> {
    let call = repo.call(["ls-files", "--others", "--exclude-standard", "-z", "--"]);
    let listing = call.args(pathspecs(paths).iter().map(|path| OsStr::from_bytes(path)));
    let listing = listing.all("Files that are not tracked could not be listed. Nothing was committed.")?;
    // a name with a slash at its end is another repository, which is nobody's file
    Ok(fields(&listing).filter(|path| !path.ends_with(b"/")).map(<[u8]>::to_vec).collect())
}

/// Has the index know of files that are to be committed, without their contents.
fn intend(repo: &Repo<'_>, new: &[Vec<u8>]) -> Step<()> {
    if new.is_empty() {
        return Ok(());
    }
    let add = ["add", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul"];
    repo.call(add).stdin(listed(new)).all("New files could not be taken in. Nothing was committed.").map(drop)
}

/// Each ended, as Git reads lists of paths.
fn listed(paths: &[Vec<u8>]) -> Vec<u8> {
    paths.iter().flat_map(|path| path.iter().copied().chain([0])).collect()
}

/// As Git takes them: the working tree itself is `.`.
fn pathspecs(paths: &[Vec<u8>]) -> Vec<Vec<u8>> {
    paths.iter().map(|path| if path.is_empty() { b".".to_vec() } else { path.clone() }).collect()
}

fn conflict(reason: String) -> Box<bulkhead_ipc::edge::write::Failed> {
    failed(
        Class::Conflict,
        format!("{reason} Nothing was committed."),
        "Resolve them with repo_resolve_conflict, then repo_continue_in_progress.",
    )
}

/// Refuses paths that a filter would have to convert: without it, what is committed would not be what is meant.
fn unfiltered(repo: &Repo<'_>, settings: &Settings, changed: &[Vec<u8>]) -> Step<()> {
    if !attributes::may_say(repo, settings, "filter", changed) {
        return Ok(());
    }
    let mut filtered = repo.attributes("filter", changed)?;
    filtered.retain(|_, filter| !settings::filter_runs(repo, filter));
    match filtered.first_key_value() {
        None => Ok(()),
        Some((path, filter)) => refused(
            format!(
                "{} goes through the filter {}, which this server does not run; its raw bytes would be committed in \
                 place of what is meant ({} such paths). Nothing was committed.",
                shown(path),
                shown(filter),
                filtered.len()
            ),
            "Commit these paths with Git itself, or have the operator allow a filter of their own with --filters user.",
        ),
    }
}

fn run(repo: &Repo<'_>, asked: &Asked<'_>, paths: &[Vec<u8>], before: Option<&str>) -> Step<Done> {
    let scratch = Scratch::new(&repo.git_dir)?;
    let file = scratch.path("message");
    std::fs::write(&file, asked.message).map_err(|error| {
        failed(Class::Failed, format!("The message could not be passed to Git: {error}."), "Make room on the disk.")
    })?;
    let input = listed(&pathspecs(paths));
    let call = repo
        .call([
            "commit",
            "--quiet",
            "--only",
            "--cleanup=whitespace",
            "--no-gpg-sign",
            "--no-status",
            "--no-post-rewrite",
        ])
        .args(repo.hooks.unverified())
        .args(asked.allow_empty.then_some("--allow-empty"))
        .args(["--pathspec-from-file=-", "--pathspec-file-nul", "-F"])
        .arg(&file)
        .stdin(input);
    let hooked = hooks::beside(repo, HOOKS, call)?;
    if hooked.run.code != Some(0) {
        return Err(hooked.failed("Git did not commit."));
    }
    let mut done = Done { id: repo.commit("HEAD")?, signed: Some(false), ..Done::default() };
    let is_ours = !hooked.had_any() || made_on(repo, before)?;
    if !is_ours {
        done.notes.push(
            "HEAD is not where Git left it: a hook has moved it since, and the commit that was made is in its reflog."
                .to_owned(),
        );
    }
    if hooked.has_run("pre-commit") && is_ours && !in_index(repo, before)? {
        done.notes.push("What a hook added stands in the commit and not in the index.".to_owned());
    }
    hooked.onto(&mut done);
    Ok(done)
}

/// Whether HEAD is a commit on top of this one, as it is right after a commit was made.
fn made_on(repo: &Repo<'_>, before: Option<&str>) -> Step<bool> {
    let first = repo.call(["rev-parse", "--verify", "-q", "--end-of-options", "HEAD^1"]).line()?;
    Ok(first.as_deref() == before)
}

/// Has the index hold what the commit holds of all that it changed. What a hook added went into the commit alone: Git had written
/// the index before it ran. There, what was committed stood staged as it was, and what else a hook added did not stand at all.
fn in_index(repo: &Repo<'_>, before: Option<&str>) -> Step<bool> {
    let base = match before {
        Some(commit) => commit.to_owned(),
        None => repo.empty_tree()?,
    };
    let changed = repo
        .call(["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", &base, "HEAD", "--"])
        .all("What was committed could not be listed.")?;
    let index = ["reset", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul"];
    Ok(repo.call(index).stdin(changed).run()?.code == Some(0))
}
