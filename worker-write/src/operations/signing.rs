//! Signatures: this server makes none, and does not leave one out where its operator wants one.
//! Trust: the operator's own settings; what the repository says of signatures is not asked.

use crate::{
    failure::{Step, refused},
    repo::Repo,
    settings::{is_on, operators},
};

/// Refuses where the operator's `key` is on and `--allow-unsigned` was not given.
pub(super) fn may_be_unsigned(repo: &Repo<'_>, key: &str) -> Step<()> {
    if repo.allowed.allow_unsigned || !operators(repo, key).is_some_and(is_on) {
        return Ok(());
    }
    refused(
        format!("Your own configuration has {key} on, and this server cannot sign. Nothing was done."),
        "Do it with Git itself, or have the operator start the server with --allow-unsigned.",
    )
}
