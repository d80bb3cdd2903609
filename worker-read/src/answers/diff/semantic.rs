//! diff.semantic and diff.semanticFallbacks: that no engine is connected, and what to ask instead.
//! Trust: see the module above.

use super::question::question;
use crate::{files, pace::Pace, repo::Repo};
use bulkhead_contract::{
    failure::ReadFailure,
    path::text_of,
    results::{Semantic, SemanticDiff, SemanticFallback, SemanticFallbacks, TextDiffArguments},
};
use bulkhead_ipc::edge::asks;

/// `diff.semantic` and `diff.semanticFallbacks`.
pub(in crate::answers) fn semantic(repo: &Repo, ask: &asks::Semantic, pace: &Pace) -> Result<Semantic, ReadFailure> {
    let compared = &ask.compared;
    let (repo_path, _) = text_of(&files::path_bytes(repo.found.canonical()));
    // arguments that diff.text would refuse are refused here, too
    let (_, _, path) = question(repo, compared, &[], &repo_path, false, pace)?;
    let reason =
        "No semantic diff engine is connected to this server, so changed lines are compared as text.".to_owned();
    Ok(if ask.fallbacks {
        Semantic::Fallbacks(SemanticFallbacks {
            fallbacks: vec![SemanticFallback {
                from: "diff.semantic".to_owned(),
                to: "diff.text".to_owned(),
                supported: false,
                reason,
                repo_path,
                path,
            }],
        })
    } else {
        Semantic::Diff(SemanticDiff {
            supported: false,
            fallback: "diff.text".to_owned(),
            reason,
            text_diff_arguments: TextDiffArguments {
                repo_path,
                base: compared.base.clone(),
                head: compared.head.clone(),
                path,
            },
        })
    })
}
