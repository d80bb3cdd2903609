//! repo_remotes: names and addresses, without the secrets that addresses are often given.
//! Trust: addresses are whatever the configuration holds; what may be a secret in one is masked rather than shown.

use crate::repo::Repo;
use bulkhead_contract::{
    address,
    limits::DIRECT_REMOTES,
    path::text_of,
    results::{Remote, Remotes},
};
use gix::bstr::ByteSlice as _;

/// Characters of an address at most; a longer one is cut.
const MAX_URL: usize = 4_000;
/// `repo_remotes`. Rewritten addresses (`url.*.insteadOf`) are not shown: the repository's own rules for that are left out
/// when it is opened.
pub(in crate::answers) fn remotes(repo: &Repo) -> Remotes {
    let names = repo.git.remote_names();
    let config = repo.git.config_snapshot();
    let row = |name: &gix::bstr::BStr| {
        let all = config.plumbing().raw_values_by("remote", Some(name), "url").unwrap_or_default();
        // an empty value takes back those before it
        let after = all.iter().rposition(|url| url.is_empty()).map_or(0, |at| at + 1);
        Remote {
            name: text_of(name).0,
            url: all.get(after).map(|url| address::masked(&crate::history::cut(&url.to_str_lossy(), MAX_URL))),
        }
    };
    let remotes = names.iter().take(DIRECT_REMOTES).map(|name| row(name.as_bstr())).collect();
    Remotes { remotes, total: names.len() as u64 }
}
