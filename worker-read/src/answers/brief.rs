//! `repo.brief`: one aggregated snapshot, and up to three hints at what to look at first.
//! Trust: see the module above; hints are our own sentences and hold names only of branches.

use super::{rows, status::place};
use crate::{operation, pace::Pace, refs, repo::Repo, stash, status, submodules, worktree::Untracked};
use bulkhead_contract::{
    failure::ReadFailure,
    limits::{BRIEF_COMMITS, BRIEF_HINTS},
    results::{Brief, BriefHead, BriefSubmodules, BriefWorkingTree, Conventions, Operation, Partial},
};
use gix::bstr::ByteSlice as _;

/// `repo.brief`.
pub(super) fn brief(repo: &Repo, recent_commits: u32, pace: &Pace) -> Result<Brief, ReadFailure> {
    let shown = recent_commits.clamp(1, BRIEF_COMMITS.1) as usize;
    let (head, working_tree, submodules, mut partial) = sides(repo, pace)?;
    let place = place(repo, &head, pace)?;
    let recent = head.id.map(|id| repo.recent(id, BRIEF_COMMITS.1 as usize)).unwrap_or_default();
    let operation = operation::in_progress(&repo.found.git_dir);
    partial = partial.or_else(|| place.partial());
    if partial.is_none() && recent.incomplete {
        partial = Some(Partial {
            reason: "object-missing".to_owned(),
            details: "Some commits are missing or cannot be read; the recent commits are incomplete.".to_owned(),
        });
    }
    let stashes = stash::count(&repo.refs)?;
    if stashes.is_none() {
        partial = partial.or_else(|| Some(stash::unknown()));
    }
    let head = BriefHead {
        branch: place.branch,
        detached: head.branch.is_none(),
        sha: recent
            .commits
            .first()
            .map(|commit| commit.sha.clone())
            .or_else(|| head.id.map(|id| id.to_hex_with_len(7).to_string())),
        id: head.id.map(|id| id.to_string()),
        upstream: place.upstream,
        upstream_gone: place.upstream_gone,
        ahead: place.ahead,
        behind: place.behind,
    };
    let hints = hints(&head, operation, &working_tree, &submodules);
    Ok(Brief {
        head,
        operation_in_progress: operation,
        working_tree,
        stashes: stashes.unwrap_or(0),
        submodules,
        recent_commits: recent.commits.iter().take(shown).cloned().collect(),
        conventions: Conventions {
            conventional_commit_ratio: recent.conventional_ratio,
            default_branch: default_branch(repo)?,
        },
        hints,
        partial,
    })
}

type Parts = (refs::Head, BriefWorkingTree, BriefSubmodules, Option<Partial>);

fn sides(repo: &Repo, pace: &Pace) -> Result<Parts, ReadFailure> {
    if repo.is_bare() {
        let working_tree =
            BriefWorkingTree { clean: true, staged: 0, unstaged: 0, untracked: 0, conflicted: 0, rows: 0, bare: true };
        return Ok((repo.refs.head()?, working_tree, BriefSubmodules::default(), None));
    }
    let sides = status::read(repo, Untracked::default(), pace, 0)?;
    let totals = rows::totals(&sides);
    let any = totals.staged + totals.unstaged + totals.untracked > 0;
    let working_tree = BriefWorkingTree {
        clean: !any && sides.partial.is_none(),
        // the contract counts an unmerged path once, as conflicted
        staged: totals.staged - totals.conflicted,
        unstaged: totals.unstaged - totals.conflicted,
        untracked: totals.untracked,
        conflicted: totals.conflicted,
        rows: rows::tracked_total(&sides) + sides.untracked.total,
        bare: false,
    };
    let submodules = submodules::survey(repo, &sides.index, pace);
    Ok((sides.head, working_tree, submodules, sides.partial))
}

/// The branch that `refs/remotes/origin/HEAD` names.
fn default_branch(repo: &Repo) -> Result<Option<String>, ReadFailure> {
    let target = refs::unless_broken(repo.refs.target("refs/remotes/origin/HEAD".into()))?;
    Ok(target
        .flatten()
        .and_then(|name| name.strip_prefix(b"refs/remotes/origin/").map(|short| short.to_str_lossy().into_owned())))
}

/// In the contract's order: conflicts, operation, detached, behind, submodules.
fn hints(
    head: &BriefHead,
    operation: Option<Operation>,
    working_tree: &BriefWorkingTree,
    submodules: &BriefSubmodules,
) -> Vec<String> {
    let mut hints = Vec::new();
    if working_tree.conflicted > 0 {
        hints.push(format!(
            "{} unmerged: resolve and stage them before anything else is committed.",
            counted(working_tree.conflicted, "path is", "paths are")
        ));
    }
    if let Some(operation) = operation {
        let name = operation.spoken();
        hints.push(format!("A {name} is under way: finish or abort it before starting other work."));
    }
    if head.detached {
        hints.push("HEAD is detached: commits made now belong to no branch.".to_owned());
    }
    if head.behind > 0 {
        let upstream = head.upstream.as_deref().unwrap_or("the upstream");
        let commits = counted(head.behind, "commit", "commits");
        hints.push(if head.ahead > 0 {
            format!("The branch has diverged: {upstream} has {commits} that it lacks. Integrate them before pushing.")
        } else {
            format!("The branch is behind: {upstream} has {commits} that it lacks.")
        });
    }
    let attention = submodules.drifted + submodules.uninitialized + submodules.conflicts;
    if attention > 0 {
        hints.push(format!(
            "{} not at the recorded commit: see submodules.attention.",
            counted(attention, "submodule is", "submodules are")
        ));
    }
    hints.truncate(BRIEF_HINTS);
    hints
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_come_in_order_and_stop_at_three() {
        let head = BriefHead {
            branch: None,
            detached: true,
            sha: None,
            id: None,
            upstream: Some("origin/main".into()),
            upstream_gone: false,
            ahead: 1,
            behind: 2,
        };
        let tree = BriefWorkingTree {
            clean: false,
            staged: 0,
            unstaged: 0,
            untracked: 0,
            conflicted: 1,
            rows: 1,
            bare: false,
        };
        let all = hints(&head, Some(Operation::Merge), &tree, &BriefSubmodules::default());
        assert_eq!(all.len(), 3);
        assert!(all[0].starts_with("1 path is unmerged") && all[1].contains("merge") && all[2].contains("detached"));
        let calm = BriefHead { detached: false, ahead: 0, behind: 0, ..head };
        let clean = BriefWorkingTree { clean: true, conflicted: 0, ..tree };
        assert!(hints(&calm, None, &clean, &BriefSubmodules::default()).is_empty());
    }
}
