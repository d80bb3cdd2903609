//! `repo.branchStack`: the current branch, what it rests on, and what rests on it.
//! Trust: candidates are a caller's names of branches, checked as such; nothing is resolved as an expression.

use super::{super::budget::Budget, bad};
use crate::{
    branch_stack::{self, Relation, Stack},
    pace::Pace,
    refs::short,
    repo::Repo,
    status,
};
use bulkhead_contract::{
    args::shown,
    failure::ReadFailure,
    path::text_of,
    results::{
        BranchStack, Partial, StackBase, StackCurrent, StackDistance, StackRelated, StackRelation, StackRisk,
        StackUpstream,
    },
};
use bulkhead_ipc::edge::asks;
use gix::{
    ObjectId,
    bstr::{BString, ByteSlice as _},
};

const OPERATION: &str = "branch-stack";
const USUAL_BASES: [&str; 5] = ["main", "master", "develop", "dev", "trunk"];
const ACTIONS: [&str; 4] =
    ["compareWithBase", "showAllBranchContext", "openSafetyTimeline", "prepareGuardedRebasePlan"];
const GUIDANCE: &str = "Relations and counts come from local references as they are now; nothing was fetched, so the \
    upstream is as of the last fetch. No virtual branches are assumed.";

/// `repo.branchStack`.
pub(in super::super) fn branch_stack(
    repo: &Repo,
    ask: &asks::BranchStack,
    pace: &Pace,
) -> Result<BranchStack, ReadFailure> {
    let candidates = candidates(&ask.base_candidates)?;
    let stack = branch_stack::read(repo, &candidates, ask.max_related as usize, pace)?;
    let (risk, summary) = judged(&stack);
    let mut budget = Budget::new(ask.max_related, ask.chars);
    let related: Vec<_> = stack.related.iter().map(row).take_while(|row| budget.take(row)).collect();
    let hex = |id: Option<ObjectId>| id.map(|id| id.to_string());
    let base = stack.base.as_ref().map(|base| StackBase {
        name: text_of(&base.name).0,
        label: short(base.name.as_ref()),
        commit: hex(base.id),
        distance: (stack.id.is_some() && stack.counted)
            .then_some(StackDistance { ahead_from_base: stack.distance.0, behind_base: stack.distance.1 }),
    });
    Ok(BranchStack {
        current: StackCurrent {
            name: stack.branch.as_ref().map(|branch| text_of(branch).0),
            label: stack.branch.as_ref().map_or_else(|| "HEAD".to_owned(), |branch| short(branch.as_ref())),
            commit: hex(stack.id),
            ahead: stack.drift.0,
            behind: stack.drift.1,
        },
        upstream: stack.upstream.as_ref().map(|upstream| {
            let label = short(upstream.name.as_ref());
            StackUpstream { name: label.clone(), label, commit: hex(upstream.id) }
        }),
        base,
        related_total: stack.related_total,
        related_truncated: stack.related_total > related.len() as u64,
        related,
        risk,
        summary,
        guidance: GUIDANCE.to_owned(),
        suggested_actions: ACTIONS.map(str::to_owned).to_vec(),
        model: "real-git-refs-no-virtual-branches".to_owned(),
        network_fetch_performed: false,
        read_only: true,
        partial: partial(&stack),
    })
}

fn row(one: &branch_stack::Related) -> StackRelated {
    let (name, name_encoding) = text_of(&one.name);
    StackRelated {
        name,
        name_encoding,
        label: text_of(one.name.strip_prefix(b"refs/heads/").unwrap_or(&one.name)).0,
        commit: one.id.to_string(),
        relation: match one.relation {
            Relation::Tracks => StackRelation::TracksCurrent,
            Relation::Descends => StackRelation::DescendsFromCurrent,
            Relation::SharesBase => StackRelation::SharesBase,
        },
        ahead_of_current: one.ahead,
        behind_current: one.behind,
        upstream: one.upstream.as_ref().map(|upstream| text_of(upstream).0),
    }
}

/// Names of branches that the base is looked for under.
fn candidates(given: &[String]) -> Result<Vec<BString>, ReadFailure> {
    if given.is_empty() {
        return Ok(USUAL_BASES.map(BString::from).to_vec());
    }
    let check = |name: &String| {
        if name.starts_with('-') {
            let details = format!("`{}` in `baseCandidates` looks like an option.", shown(name));
            return Err(bad(OPERATION, details));
        }
        let full = format!("refs/heads/{name}");
        match gix::validate::reference::name(full.as_bytes().as_bstr()) {
            Ok(_) => Ok(BString::from(name.as_str())),
            Err(_) => {
                let details = format!("`{}` in `baseCandidates` is no name of a branch.", shown(name));
                Err(bad(OPERATION, details))
            }
        }
    };
    given.iter().map(check).collect()
}

fn judged(stack: &Stack) -> (StackRisk, String) {
    let label = stack.branch.as_ref().map_or_else(|| "HEAD".to_owned(), |branch| short(branch.as_ref()));
    let (ahead, behind) = stack.drift;
    let upstream = stack.upstream.as_ref();
    let place = match (upstream, upstream.is_some_and(|upstream| upstream.id.is_some())) {
        _ if stack.id.is_none() => format!("{label} has no commit yet"),
        (None, _) => format!("{label} follows no upstream"),
        (Some(upstream), false) => format!("{label} follows {}, which is gone", short(upstream.name.as_ref())),
        (Some(upstream), true) => {
            let name = short(upstream.name.as_ref());
            match (ahead, behind) {
                (0, 0) => format!("{label} is level with {name}"),
                (ahead, 0) => format!("{label} is {ahead} ahead of {name}"),
                (0, behind) => format!("{label} is {behind} behind {name}"),
                (ahead, behind) => format!("{label} and {name} have diverged: {ahead} ahead, {behind} behind"),
            }
        }
    };
    let summary = match stack.related_total {
        0 => format!("{place}; no other local branch is related to it."),
        1 => format!("{place}; one local branch is related to it."),
        many => format!("{place}; {many} local branches are related to it."),
    };
    let followed = upstream.is_some_and(|upstream| upstream.id.is_some());
    let risk = if ahead > 0 && behind > 0 {
        StackRisk::High
    } else if !followed || behind > 0 || stack.related_total > 0 {
        StackRisk::Medium
    } else {
        StackRisk::Low
    };
    (risk, summary)
}

fn partial(stack: &Stack) -> Option<Partial> {
    let made = |reason: &str, details: String| Some(Partial { reason: reason.to_owned(), details });
    status::partial(stack.stopped, None).or_else(|| {
        if stack.missing {
            made(
                "object-missing",
                "Commits are missing or damaged, so that relations and counts are not certain.".to_owned(),
            )
        } else if stack.cut {
            made(
                "too-large",
                "There are more references or commits than are looked at; counts are lower bounds.".to_owned(),
            )
        } else if stack.broken > 0 {
            made("unreadable", format!("{} local branches are broken and were left out.", stack.broken))
        } else {
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_contract::failure::Reason;

    #[test]
    fn a_candidate_is_the_name_of_a_branch() {
        let of = |names: &[&str]| candidates(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&[]).expect("the usual ones").len(), 5);
        assert_eq!(of(&["feature/one", "ü"]).expect("names").len(), 2);
        for bad in ["--help", "main^{/x}", "a..b", "a b", "main~1", "x:y", "@{u}", "a.lock", "/a"] {
            assert_eq!(of(&["main", bad]).expect_err(bad).reason, Reason::BadArgument, "{bad}");
        }
    }
}
