//! `repo_tag_create` and `repo_tag_delete`.
//! Trust: names passed the contract's rules; Git is asked again whether they are names, and gets ids in place of revisions.

use super::{names, signing};
use crate::{
    failure::{Step, failed, refused, shown},
    hooks,
    repo::Repo,
    restore,
};
use bulkhead_contract::direct::Class;
use bulkhead_ipc::edge::write::Done;

/// An annotated one where there is a message. Tags may name any object; HEAD where nothing is said.
pub(super) fn create(repo: &Repo<'_>, name: &str, message: Option<&str>, revision: Option<&str>) -> Step<Done> {
    repo.checked_name("tags", name)?;
    let full = format!("refs/tags/{name}");
    if repo.reference(&full)?.is_some() {
        return refused(
            format!("A tag {} is there already. Nothing was done.", shown(name)),
            "Choose another name, or delete that tag first.",
        );
    }
    let object = object(repo, revision)?;
    let call = match message {
        None => {
            let order = format!("create {full} {object}\n");
            repo.call(["update-ref", "--stdin"]).stdin(order)
        }
        Some(message) if message.trim().is_empty() || message.contains('\0') => {
            return refused(
                "The message is empty or holds a NUL. Nothing was done.",
                "Say in a line what the tag marks, or leave the message out.",
            );
        }
        Some(message) => {
            signing::may_be_unsigned(repo, "tag.gpgSign")?;
            let call =
                repo.call(["tag", "--annotate", "--no-sign", "--cleanup=whitespace", "-F", "-", "--", name, &object]);
            call.stdin(message)
        }
    };
    let hooked = hooks::beside(repo, &[], call)?;
    if hooked.run.code != Some(0) {
        return Err(hooked.failed(&format!("The tag {} could not be made.", shown(name))));
    }
    let mut done = Done { id: Some(object), signed: message.map(|_| false), ..Done::default() };
    hooked.onto(&mut done);
    Ok(done)
}

fn object(repo: &Repo<'_>, revision: Option<&str>) -> Step<String> {
    let Some(revision) = revision else { return Ok(repo.head()?.born()?.to_owned()) };
    let found = if names::is_plain(revision) {
        repo.call(["rev-parse", "--verify", "-q", "--end-of-options", revision]).line()?
    } else {
        None
    };
    found.ok_or_else(|| {
        failed(
            Class::NotFound,
            format!("Nothing is named {}. Nothing was done.", shown(revision)),
            "repo_branches, repo_tags and repo_log show what there is.",
        )
    })
}

/// The restore point keeps what it named, an annotation included.
pub(super) fn delete(repo: &Repo<'_>, name: &str) -> Step<Done> {
    let full = format!("refs/tags/{name}");
    let value = repo.reference(&full)?.ok_or_else(|| {
        failed(
            Class::NotFound,
            format!("There is no tag {}. Nothing was done.", shown(name)),
            "repo_tags lists those that there are.",
        )
    })?;
    let point = restore::make(repo, "repo_tag_delete", Some((&full, &value)))?;
    let call = repo.call(["update-ref", "--no-deref", "-d", &full, &value]);
    let hooked = hooks::beside(repo, &[], call)?;
    if hooked.run.code != Some(0) {
        return Err(hooked.failed(&format!("The tag {} could not be deleted.", shown(name))));
    }
    let mut done = Done { id: Some(value.clone()), notes: point.notes, ..Done::default() };
    hooked.onto(&mut done);
    Ok(done)
}
