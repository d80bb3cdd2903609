//! A caller's path to the part of the repository that it means: relative to the top, however it was written.
//! Trust: the path is a caller's; it never leads out, and nothing it names is opened, only looked for.

use crate::{changes::normalised, files, repo::Repo, worktree::disk::Dir};
use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    path::{PathEncoding, bytes_of},
};
use gix::{ObjectId, bstr::ByteSlice as _, index::entry::Mode, objs::FindExt as _};

/// Bytes of one tree at most.
const MAX_TREE: u64 = 64 << 20;

/// The path relative to the top, without slashes around it; empty for the top itself. Absolute paths are taken where they
/// lie in the repository, and the escaped form of a path that is not UTF-8 where only that exists.
///
/// # Errors
/// [`Reason::BadArgument`] for a path that is blank, leads out, or holds a NUL.
pub fn path(repo: &Repo, text: &str, operation: &'static str) -> Result<Vec<u8>, ReadFailure> {
    let bad = |details: &str| Err(ReadFailure::new(Reason::BadArgument, operation, details));
    if text.trim().is_empty() {
        return bad("A path must not be blank; `.` means the whole repository.");
    }
    if text.contains('\0') {
        return bad("A path must not contain a NUL character.");
    }
    let mut rest = text;
    if text.starts_with('/') && text.bytes().any(|byte| byte != b'/') {
        let top = files::path_bytes(repo.found.canonical());
        let inside = text.as_bytes().strip_prefix(&top[..]).filter(|rest| rest.is_empty() || rest.starts_with(b"/"));
        match inside {
            Some(inside) => rest = &text[text.len() - inside.len()..],
            // a path written from the top, as in rule files
            None if exists(repo, text.trim_matches('/').as_bytes()) => {}
            None => return bad("An absolute path must lie in the repository; give it relative to the top directory."),
        }
    }
    let names = rest.split('/').filter(|name| !name.is_empty() && *name != ".");
    if names.clone().any(|name| name == "..") {
        return bad("A path must not contain `..`; give it relative to the top of the repository.");
    }
    let path = names.collect::<Vec<_>>().join("/");
    if path.contains('\\')
        && !exists(repo, path.as_bytes())
        && let Some(bytes) = bytes_of(&path, Some(PathEncoding::Escaped))
        && !bytes.split(|&byte| byte == b'/').any(|name| name == b"..")
        && !bytes.contains(&0)
        && exists(repo, &bytes)
    {
        return Ok(bytes);
    }
    Ok(path.into_bytes())
}

/// Whether the path stands in the index, at HEAD or in the working tree.
#[must_use]
pub fn exists(repo: &Repo, path: &[u8]) -> bool {
    path.is_empty() || in_worktree(repo, path).is_some() || in_index(repo, path) || at_head(repo, path)
}

/// Whether the path is there in the working tree, and is a directory. Links on the way are not followed.
#[must_use]
pub fn in_worktree(repo: &Repo, path: &[u8]) -> Option<bool> {
    let mut dir = Dir::open(repo.found.worktree.as_deref().filter(|_| !repo.is_bare())?).ok()?;
    let mut names = path.split(|&byte| byte == b'/').peekable();
    while let Some(name) = names.next() {
        if names.peek().is_none() {
            return dir.stat(name).ok().map(|stat| stat.kind == crate::worktree::disk::Kind::Dir);
        }
        dir = dir.child(name).ok()?;
    }
    None
}

fn in_index(repo: &Repo, path: &[u8]) -> bool {
    let Ok(index) = repo.index() else { return false };
    let entries = index.state.entries();
    let below = [path, b"/"].concat();
    [path, &below].into_iter().any(|start| {
        let at = entries.partition_point(|entry| entry.path(&index.state) < start.as_bstr());
        entries.get(at).is_some_and(|entry| {
            let found = entry.path(&index.state);
            found == path || found.starts_with(&below)
        })
    })
}

fn at_head(repo: &Repo, path: &[u8]) -> bool {
    let Ok(Some(head)) = repo.refs.head().map(|head| head.id) else { return false };
    let Ok(tree) = repo.tree_of(head) else { return false };
    in_tree(repo, tree, path).is_ok_and(|found| found.is_some())
}

/// What stands at `path` in the tree `root`; at the empty path the tree itself.
///
/// # Errors
/// [`Reason::ObjectMissing`] where a tree on the way is not there, or is damaged.
pub(crate) fn in_tree(repo: &Repo, root: ObjectId, path: &[u8]) -> Result<Option<(Mode, ObjectId)>, ReadFailure> {
    let mut found = (Mode::DIR, root);
    for name in path.split(|&byte| byte == b'/').filter(|_| !path.is_empty()) {
        if found.0 != Mode::DIR {
            return Ok(None);
        }
        match child(repo, found.1, name)? {
            Some(entry) => found = entry,
            None => return Ok(None),
        }
    }
    Ok(Some(found))
}

fn child(repo: &Repo, tree: ObjectId, name: &[u8]) -> Result<Option<(Mode, ObjectId)>, ReadFailure> {
    let missing = || {
        repo.doubt();
        ReadFailure::new(Reason::ObjectMissing, "tree", "A tree is not in this clone, or is damaged.")
    };
    if tree == ObjectId::empty_tree(repo.git.object_hash()) {
        return Ok(None);
    }
    let small = repo.git.find_header(tree).is_ok_and(|header| header.size() <= MAX_TREE);
    let mut buffer = Vec::new();
    let entries = repo.git.objects.find_tree_iter(&tree, &mut buffer).ok().filter(|_| small).ok_or_else(missing)?;
    for entry in entries {
        let entry = entry.map_err(|_| missing())?;
        if entry.filename == name {
            return Ok(Some((normalised(u32::from(entry.mode.value())), entry.oid.to_owned())));
        }
    }
    Ok(None)
}
