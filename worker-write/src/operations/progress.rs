//! `repo_abort_in_progress` and `repo_continue_in_progress`, for every operation that Git can stop in.
//! Trust: which operation it is, Git's own files say; steps of a rebase that would run programs are refused.

use super::{rebase, signing};
use crate::{
    failure::{Step, failed, named, refused},
    hooks,
    repo::Repo,
    restore,
    settings::Settings,
    standing,
    text::Unread,
};
use bulkhead_contract::direct::{Class, OperationState};
use bulkhead_ipc::edge::write::{Done, Failed};

const HOOKS: &[&str] = &[
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-merge-commit",
    "post-merge",
    "post-rewrite",
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "post-checkout",
    "post-index-change",
];
const HOOKS_OF_ABORT: &[&str] = &["post-checkout", "post-index-change"];

/// Gives up what is open; nothing is open: nothing is done.
pub(super) fn abort(repo: &Repo<'_>) -> Step<Done> {
    let state = repo.state();
    let arguments: &[&str] = match state {
        OperationState::Clear | OperationState::Conflict => {
            return Ok(Done { state: Some(OperationState::Clear), ..Done::default() });
        }
        OperationState::Merge => &["merge", "--abort"],
        OperationState::Rebase => &["rebase", "--abort"],
        OperationState::ApplyMailbox => &["am", "--abort"],
        OperationState::CherryPick => &["cherry-pick", "--abort"],
        OperationState::Revert => &["revert", "--abort"],
        OperationState::Bisect => &["bisect", "reset"],
    };
    let target = goes_back_to(repo)?;
    let overwritten = match &target {
        Some(commit) => repo.in_the_way(commit)?,
        None => Vec::new(),
    };
    if let Some(commit) = &target {
        restore::nothing_lost(repo, &overwritten, commit)?;
    }
    let point = restore::make(repo, "repo_abort_in_progress", None)?;
    restore::all_kept(&point, &overwritten)?;
    let hooked = hooks::beside(repo, HOOKS_OF_ABORT, repo.call(arguments))?;
    if hooked.run.code != Some(0) {
        return Err(hooked.failed(&format!("Git could not give up {}.", standing::word(state))));
    }
    let mut done = Done { state: Some(repo.state()), id: repo.commit("HEAD")?, notes: point.notes, ..Done::default() };
    hooked.onto(&mut done);
    Ok(done)
}

/// Where giving up leads, where Git says so in a file.
fn goes_back_to(repo: &Repo<'_>) -> Step<Option<String>> {
    for name in ["rebase-merge/orig-head", "rebase-apply/orig-head", "BISECT_START", "sequencer/head"] {
        let text = standing::bounded(&repo.git_dir.join(name)).map_err(|why| unread(name, &why))?;
        if let Some(text) = text {
            let revision = text.trim();
            return if super::names::is_plain(revision) { repo.commit(revision) } else { Ok(None) };
        }
    }
    Ok(None)
}

/// Of a file that says what is open, and was not read.
fn unread(name: &str, why: &Unread) -> Box<Failed> {
    failed(
        if matches!(why, Unread::Long(_)) { Class::TooLarge } else { Class::Unusable },
        format!("{name} in the git directory is {why}. Nothing was done."),
        "A person has to look at it, and go on or give up with Git itself.",
    )
}

/// Goes on with what is open, where nothing is unmerged. The state that it comes to is `Clear`, or `Conflict` where it
/// stopped once more.
pub(super) fn go_on(repo: &Repo<'_>, settings: &Settings) -> Step<Done> {
    let state = repo.state();
    let unmerged = repo.unmerged()?;
    if !unmerged.is_empty() {
        return Ok(Done {
            state: Some(OperationState::Conflict),
            notes: vec![format!("Nothing was done; these paths are unmerged: {}.", named(&unmerged))],
            ..Done::default()
        });
    }
    let verb: &[&str] = match state {
        OperationState::Clear | OperationState::Conflict => {
            return Ok(Done { state: Some(OperationState::Clear), ..Done::default() });
        }
        OperationState::Bisect => {
            return Err(failed(
                Class::Unsupported,
                "A bisection goes on by saying which commit is good or bad, which this tool cannot.",
                "Use git bisect itself, or repo_abort_in_progress.",
            ));
        }
        OperationState::Merge => {
            &["commit", "--quiet", "--no-edit", "--cleanup=strip", "--no-gpg-sign", "--no-status", "--no-post-rewrite"]
        }
        OperationState::Rebase => &["rebase", "--continue"],
        OperationState::ApplyMailbox => &["am", "--continue"],
        OperationState::CherryPick => &["cherry-pick", "--continue"],
        OperationState::Revert => &["revert", "--continue"],
    };
    may_go_on(repo, settings, state)?;
    let emptied = emptied(repo, state)?;
    let point = restore::make(repo, "repo_continue_in_progress", None)?;
    // the other verbs have no such word, and ask only hooks that they are told of
    let unverified = repo.hooks.unverified().filter(|_| state == OperationState::Merge);
    let hooked = hooks::beside(repo, HOOKS, repo.call(verb).args(unverified))?;
    let failed = (hooked.run.code != Some(0))
        .then(|| hooked.failed(&format!("Git could not go on with {}.", standing::word(state))));
    let now = repo.state();
    let mut done =
        Done { state: Some(now), id: repo.commit("HEAD")?, signed: Some(false), notes: point.notes, ..Done::default() };
    hooked.onto(&mut done);
    done.notes.extend(emptied);
    let Some(mut failed) = failed else { return Ok(done) };
    let unmerged = repo.unmerged()?;
    if now != OperationState::Clear && !unmerged.is_empty() {
        done.state = Some(OperationState::Conflict);
        done.notes.push(format!("It stopped at the next step; these paths are unmerged: {}.", named(&unmerged)));
        return Ok(done);
    }
    if done.notes.iter().any(|note| note.contains("became empty")) {
        failed.reason.push_str("\nWhat the step would change is there already, so it became empty.");
        failed.next = "repo_abort_in_progress gives it up; Git itself can skip the step.".to_owned();
    }
    Err(rebase::stopped(repo, failed))
}

fn may_go_on(repo: &Repo<'_>, settings: &Settings, state: OperationState) -> Step<()> {
    signing::may_be_unsigned(repo, "commit.gpgSign")?;
    let programs = standing::programs_to_run(&repo.git_dir).map_err(|why| unread(standing::STEPS, &why))?;
    if state == OperationState::Rebase && !programs.is_empty() {
        return refused(
            format!(
                "Steps of this rebase run programs, which this server does not: {}. Nothing was done.",
                named(&programs)
            ),
            "Go on with git rebase --continue itself, or repo_abort_in_progress.",
        );
    }
    let strange = standing::strange_strategies(&repo.git_dir).map_err(|why| unread("How it merges", &why))?;
    if !strange.is_empty() {
        return refused(
            format!("It merges by programs, which this server does not run: {}. Nothing was done.", named(&strange)),
            "Go on with Git itself, or repo_abort_in_progress.",
        );
    }
    if state == OperationState::Merge { Ok(()) } else { settings.no_merge_driver(repo) }
}

/// A sentence where the step that was stopped at would change nothing any more: Git drops it without a word.
fn emptied(repo: &Repo<'_>, state: OperationState) -> Step<Option<String>> {
    let name = match state {
        OperationState::Rebase => "REBASE_HEAD",
        OperationState::CherryPick => "CHERRY_PICK_HEAD",
        OperationState::Revert => "REVERT_HEAD",
        _ => return Ok(None),
    };
    let Some(commit) = repo.commit(name)? else { return Ok(None) };
    let staged = repo.call(["diff-index", "--cached", "--quiet", "--no-ext-diff", "HEAD", "--"]).output()?;
    if staged.is_none() {
        return Ok(None);
    }
    let subject = repo.call(["log", "-1", "--no-show-signature", "--format=%h %s", &commit, "--"]).line()?;
    Ok(Some(format!("The step {} became empty and was dropped.", subject.unwrap_or(commit))))
}
