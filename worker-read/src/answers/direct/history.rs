//! repo_merge_base.
//! Trust: see the module above.

use crate::{merge, pace::Pace, repo::Repo, revision};
use bulkhead_contract::{failure::ReadFailure, results::MergeBase};
use bulkhead_ipc::edge::asks;

const OPERATION: &str = "mergeBase";

/// `repo_merge_base`.
pub(in crate::answers) fn merge_base(
    repo: &Repo,
    ask: &asks::MergeBase,
    pace: &Pace,
) -> Result<MergeBase, ReadFailure> {
    let a = revision::commit(repo, &ask.a, OPERATION, pace)?;
    let b = revision::commit(repo, &ask.b, OPERATION, pace)?;
    Ok(MergeBase { id: merge::common(repo, a, b, pace)?.first().map(ToString::to_string) })
}
