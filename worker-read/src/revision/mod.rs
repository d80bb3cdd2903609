//! A caller's expression to the object that it names: `HEAD~2`, `v1.0^{}`, `main@{1}`, an id or its beginning.
//! Trust: the expression is a caller's; it is never an option, a range or a path, and names in it are looked up, not run.

mod named;
mod steps;

use crate::{pace::Pace, repo::Repo};
use bulkhead_contract::failure::{ReadFailure, Reason};
use gix::{ObjectId, objs::Kind};

/// Bytes of an expression at most.
pub const MAX_EXPRESSION: usize = 4_096;

/// The object that `expression` names.
///
/// # Errors
/// [`Reason::BadArgument`] saying what is wrong with it: blank, option-like, a range; [`Reason::NoSuchRevision`] where it
/// names nothing; [`Reason::TooLarge`] where the way there takes longer than the call has.
pub fn object(repo: &Repo, expression: &str, operation: &'static str, pace: &Pace) -> Result<ObjectId, ReadFailure> {
    let refuse = |what: &str| Err(bad(operation, &format!("`{}` {what}", shown(expression))));
    if expression.trim().is_empty() {
        return Err(bad(operation, "A revision must not be blank."));
    }
    if expression.len() > MAX_EXPRESSION || expression.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return refuse("is no revision: it is too long or holds control characters.");
    }
    if expression.starts_with('-') {
        return refuse("looks like an option. A branch of that name is `refs/heads/…` in full.");
    }
    if expression.contains("..")
        || expression.starts_with('^')
        || expression.contains("^@")
        || expression.contains("^!")
    {
        return refuse("is a range; one revision is expected.");
    }
    // `:path` reads the index and `:/text` searches history; neither is a revision that a person would expect here
    if expression.starts_with(':') {
        return refuse("is no revision.");
    }
    let nothing = || {
        let details = format!("`{}` names nothing in this repository.", shown(expression));
        Err(ReadFailure::new(Reason::NoSuchRevision, operation, details))
    };
    let Some((id, steps)) = named::beginning(repo, expression)? else { return nothing() };
    if steps.is_empty() {
        return Ok(id);
    }
    // an id that is not there would be taken for a name
    if !repo.git.has_object(id) {
        return Err(missing(repo, operation, expression));
    }
    match steps::taken(repo, id, steps, pace) {
        Ok(Some(id)) => Ok(id),
        Ok(None) => nothing(),
        Err(_) => {
            let details = format!(
                "`{}` was not found in time. Name a commit by its id, or start the server with a larger --deadline.",
                shown(expression)
            );
            Err(ReadFailure::new(Reason::TooLarge, operation, details))
        }
    }
}

/// The commit that `expression` names; annotated tags are peeled.
///
/// # Errors
/// As [`object`], and [`Reason::BadArgument`] naming the kind where it is no commit.
pub fn commit(repo: &Repo, expression: &str, operation: &'static str, pace: &Pace) -> Result<ObjectId, ReadFailure> {
    let id = object(repo, expression, operation, pace)?;
    peeled(repo, id, Kind::Commit).map_err(|kind| match kind {
        Some(kind) => bad(operation, &format!("`{}` names a {kind}, not a commit.", shown(expression))),
        None => missing(repo, operation, expression),
    })
}

/// Follows tags from `id` to an object of `kind`; the kind that stands there instead, or `None` where an object is
/// missing.
pub(crate) fn peeled(repo: &Repo, id: ObjectId, kind: Kind) -> Result<ObjectId, Option<Kind>> {
    const MAX_TAGS: usize = 32;
    let mut id = id;
    for _ in 0..MAX_TAGS {
        let header = repo.git.find_header(id).map_err(|_| None)?;
        if header.kind() == kind {
            return Ok(id);
        }
        if header.kind() != Kind::Tag {
            return Err(Some(header.kind()));
        }
        let tag = repo.git.find_tag(id).map_err(|_| None)?;
        id = tag.target_id().map_err(|_| None)?.detach();
    }
    Err(Some(Kind::Tag))
}

pub(crate) fn missing(repo: &Repo, operation: &'static str, expression: &str) -> ReadFailure {
    repo.doubt();
    let details = format!("The object that `{}` names is not in this clone, or is damaged.", shown(expression));
    ReadFailure::new(Reason::ObjectMissing, operation, details)
}

fn bad(operation: &'static str, details: &str) -> ReadFailure {
    ReadFailure::new(Reason::BadArgument, operation, details)
}

fn shown(expression: &str) -> String {
    bulkhead_contract::args::shown(expression)
}
