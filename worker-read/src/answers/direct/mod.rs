//! Answers of the direct surface that no other tool asks for: contents, lists of paths, remotes, conflicts, authors of lines.
//! Trust: see the module above; paths are a caller's and are never followed through links.

mod annotate;
mod conflicts;
mod files;
mod history;
mod points;
mod remotes;
mod resolve;

pub(super) use annotate::annotate;
pub(super) use conflicts::{regions, unmerged};
pub(super) use files::{list, show};
pub(super) use history::merge_base;
pub(super) use points::points;
pub(super) use remotes::remotes;
pub(super) use resolve::resolve;

use crate::{pace::Stopped, repo::Repo, revision, status};
use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    path::{PathEncoding, bytes_of, text_of},
    results::{NamedPath, Partial},
};
use gix::{ObjectId, bstr::ByteSlice as _, objs::Kind};

fn bad(operation: &'static str, details: impl Into<String>) -> ReadFailure {
    ReadFailure::new(Reason::BadArgument, operation, details)
}

/// The names of a path that a caller wrote from the top, joined again. Blank, absolute and `..` are refused; `.` and
/// slashes that name nothing are left out.
fn path(text: &str, operation: &'static str) -> Result<Vec<u8>, ReadFailure> {
    if text.contains('\0') {
        return Err(bad(operation, "A path must not contain a NUL character."));
    }
    if text.starts_with('/') {
        return Err(bad(operation, "A path must be relative to the top of the repository."));
    }
    let names: Vec<&str> = text.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
    if names.contains(&"..") {
        return Err(bad(operation, "A path must not contain `..`; give it relative to the top of the repository."));
    }
    if names.is_empty() {
        return Err(bad(operation, "A path must name a file."));
    }
    Ok(names.join("/").into_bytes())
}

/// What `at` finds at `path`, or at the path that it is the escaped form of.
fn either<T>(path: &[u8], at: impl Fn(&[u8]) -> Result<Option<T>, ReadFailure>) -> Result<Option<T>, ReadFailure> {
    if let Some(found) = at(path)? {
        return Ok(Some(found));
    }
    let escaped = path.to_str().ok().filter(|path| path.contains('\\'));
    let bytes = escaped.and_then(|path| bytes_of(path, Some(PathEncoding::Escaped)));
    bytes.map_or(Ok(None), |path| at(&path))
}

/// The tree that `expression` leads to.
fn tree(
    repo: &Repo,
    expression: &str,
    operation: &'static str,
    pace: &crate::pace::Pace,
) -> Result<ObjectId, ReadFailure> {
    let shown = bulkhead_contract::args::shown(expression);
    let id = revision::object(repo, expression, operation, pace)?;
    // few repositories hold it
    if id == ObjectId::empty_tree(repo.git.object_hash()) {
        return Ok(id);
    }
    match revision::peeled(repo, id, Kind::Commit) {
        Ok(commit) => repo.tree_of(commit),
        Err(Some(Kind::Tree)) => Ok(id),
        Err(Some(kind)) => Err(bad(operation, format!("`{shown}` names a {kind}, not a commit or a directory."))),
        Err(None) => Err(revision::missing(repo, operation, expression)),
    }
}

fn named(path: &[u8]) -> NamedPath {
    let (path, path_encoding) = text_of(path);
    NamedPath { path, path_encoding }
}

fn partial(stopped: Stopped) -> Option<Partial> {
    status::partial(Some(stopped), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_taken_from_the_top_and_never_leads_out() {
        for (text, names) in [("a", "a"), ("./a", "a"), ("a//b/./c/", "a/b/c"), ("a\\b", "a\\b"), (" a", " a")] {
            assert_eq!(path(text, "x").as_deref(), Ok(names.as_bytes()), "{text}");
        }
        for text in ["", ".", "./", "/", "/a", "..", "a/../b", "a\0b"] {
            assert_eq!(path(text, "x").expect_err(text).reason, Reason::BadArgument);
        }
    }
}
