//! The steps after the beginning of an expression: `~2`, `^`, `^2`, `^{tree}`, `^{/text}`, `:path`, taken one by one.
//! Trust: the steps are a caller's and the objects the repository's; every walk looks at the clock, every tree is measured.

use crate::{
    pace::{Pace, Stopped},
    repo::Repo,
    userdiff,
};
use gix::{
    ObjectId,
    objs::{FindExt as _, Kind},
};
use regex::bytes::{Regex, RegexBuilder};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashSet},
};

/// Bytes of one tree at most.
const MAX_TREE: u64 = 64 << 20;
/// Commits that a search looks at, at most.
const MAX_SEARCHED: usize = 2_000_000;
/// Bytes of a compiled pattern at most.
const MAX_COMPILED: usize = 1 << 20;

/// Where `steps` lead from `id`; `None` where they lead nowhere, or are none.
///
/// # Errors
/// [`Stopped`].
pub(super) fn taken(repo: &Repo, id: ObjectId, steps: &str, pace: &Pace) -> Result<Option<ObjectId>, Stopped> {
    let (mut at, mut rest) = (id, steps);
    while !rest.is_empty() {
        let (next, after) = if let Some(path) = rest.strip_prefix(':') {
            (below(repo, at, path, pace)?, "")
        } else if let Some(after) = rest.strip_prefix('~') {
            let Some((count, after)) = number(after) else { return Ok(None) };
            (ancestor(repo, at, count, pace)?, after)
        } else if let Some(after) = rest.strip_prefix("^{") {
            let Some(end) = closing(after) else { return Ok(None) };
            let (what, after) = (&after[..end], &after[end + 1..]);
            (of_kind(repo, at, what, pace)?, after)
        } else if let Some(after) = rest.strip_prefix('^') {
            let Some((count, after)) = number(after) else { return Ok(None) };
            (parent(repo, at, count, pace)?, after)
        } else {
            return Ok(None);
        };
        let Some(next) = next else { return Ok(None) };
        (at, rest) = (next, after);
    }
    Ok(Some(at))
}

/// The number that `text` begins with, one where it begins with none, and what follows.
fn number(text: &str) -> Option<(usize, &str)> {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let number =
        if digits.is_empty() { 1 } else { digits.parse().ok().filter(|&number| number <= i32::MAX as usize)? };
    Some((number, rest))
}

/// Where the brace is that closes what `after` begins with. Git reads expressions from their end: a text to search for may
/// hold braces, but neither `^{` nor a colon outside of braces.
fn closing(after: &str) -> Option<usize> {
    if !after.starts_with('/') {
        return after.find('}');
    }
    let mut depth = 1_u32;
    let colon = after.bytes().position(|byte| {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        byte == b':' && depth == 0
    });
    let end = colon.into_iter().chain(after.find("^{")).min().unwrap_or(after.len());
    after[..end].rfind('}')
}

/// Follows tags to something else.
fn untagged(repo: &Repo, id: ObjectId, pace: &Pace) -> Result<Option<(ObjectId, Kind)>, Stopped> {
    let mut id = id;
    loop {
        pace.step(1)?;
        let Ok(header) = repo.git.find_header(id) else { return Ok(None) };
        if header.kind() != Kind::Tag {
            return Ok(Some((id, header.kind())));
        }
        let target = repo.git.find_tag(id).ok().and_then(|tag| tag.target_id().ok());
        let Some(target) = target else { return Ok(None) };
        id = target.detach();
    }
}

fn commit(repo: &Repo, id: ObjectId, pace: &Pace) -> Result<Option<ObjectId>, Stopped> {
    Ok(untagged(repo, id, pace)?.filter(|(_, kind)| *kind == Kind::Commit).map(|(id, _)| id))
}

fn ancestor(repo: &Repo, id: ObjectId, count: usize, pace: &Pace) -> Result<Option<ObjectId>, Stopped> {
    let Some(mut id) = commit(repo, id, pace)? else { return Ok(None) };
    for _ in 0..count {
        pace.step(1)?;
        let Some(&first) = repo.parents(id).first() else { return Ok(None) };
        id = first;
    }
    Ok(Some(id))
}

fn parent(repo: &Repo, id: ObjectId, number: usize, pace: &Pace) -> Result<Option<ObjectId>, Stopped> {
    let Some(id) = commit(repo, id, pace)? else { return Ok(None) };
    Ok(match number {
        0 => Some(id),
        number => repo.parents(id).get(number - 1).copied(),
    })
}

/// What stands between the braces of `^{…}`.
fn of_kind(repo: &Repo, id: ObjectId, what: &str, pace: &Pace) -> Result<Option<ObjectId>, Stopped> {
    let wanted = match what {
        "object" => return Ok(Some(id)),
        "" => return Ok(untagged(repo, id, pace)?.map(|(id, _)| id)),
        "commit" => Kind::Commit,
        "tree" => Kind::Tree,
        "blob" => Kind::Blob,
        "tag" => {
            let is_tag = repo.git.find_header(id).is_ok_and(|header| header.kind() == Kind::Tag);
            return Ok(is_tag.then_some(id));
        }
        _ => {
            let Some(text) = what.strip_prefix('/') else { return Ok(None) };
            let Some(id) = commit(repo, id, pace)? else { return Ok(None) };
            return if text.is_empty() { Ok(Some(id)) } else { found(repo, id, text, pace) };
        }
    };
    Ok(match untagged(repo, id, pace)? {
        Some((id, kind)) if kind == wanted => Some(id),
        Some((id, Kind::Commit)) if wanted == Kind::Tree => tree(repo, id),
        _ => None,
    })
}

fn tree(repo: &Repo, commit: ObjectId) -> Option<ObjectId> {
    repo.commit(commit, &mut Vec::new()).and_then(|commit| commit.tree)
}

/// The entry at `path` of the tree that `id` leads to.
fn below(repo: &Repo, id: ObjectId, path: &str, pace: &Pace) -> Result<Option<ObjectId>, Stopped> {
    let mut at = match untagged(repo, id, pace)? {
        Some((id, Kind::Tree)) => Some(id),
        Some((id, Kind::Commit)) => tree(repo, id),
        _ => None,
    };
    let mut names = path.split('/').peekable();
    let mut buffer = Vec::new();
    while let (Some(name), Some(id)) = (names.next(), at) {
        pace.look()?;
        let is_tree = repo.git.find_header(id).is_ok_and(|header| header.kind() == Kind::Tree);
        // nothing after the last slash, or nothing at all, is the directory itself
        if name.is_empty() && names.peek().is_none() {
            return Ok(is_tree.then_some(id));
        }
        let small = repo.git.find_header(id).is_ok_and(|header| header.size() <= MAX_TREE);
        at = None;
        if is_tree && small {
            let tree = repo.git.objects.find_tree_iter(&id, &mut buffer).ok();
            let entry = tree.and_then(|tree| tree.filter_map(Result::ok).find(|entry| entry.filename == name));
            at = entry.map(|entry| entry.oid.to_owned());
        }
    }
    Ok(at)
}

/// The youngest commit below `id` whose message matches `text` (Git's `get_oid_oneline`).
fn found(repo: &Repo, id: ObjectId, text: &str, pace: &Pace) -> Result<Option<ObjectId>, Stopped> {
    let (text, negated) = match text.strip_prefix('!') {
        None => (text, false),
        Some(rest) => match rest.strip_prefix('-') {
            Some(rest) => (rest, true),
            None if rest.starts_with('!') => (rest, false),
            None => return Ok(None),
        },
    };
    let Some(pattern) = pattern(text) else { return Ok(None) };
    let (mut queue, mut seen, mut order) = (BinaryHeap::new(), HashSet::from([id]), 0_u64);
    queue.push((0, Reverse(order), id));
    let mut buffer = Vec::new();
    while let Some((_, _, id)) = queue.pop() {
        pace.step(1)?;
        let parents = match repo.commit(id, &mut buffer) {
            None => continue,
            Some(commit) => {
                let message: &[u8] = commit.message;
                // for Git a message ends at the first NUL
                let end = message.iter().position(|&byte| byte == 0).unwrap_or(message.len());
                if pattern.is_match(&message[..end]) != negated {
                    return Ok(Some(id));
                }
                if repo.is_shallow(&id) { Vec::new() } else { commit.parents }
            }
        };
        for parent in parents {
            pace.step(1)?;
            if seen.len() < MAX_SEARCHED && seen.insert(parent) {
                order += 1;
                queue.push((repo.commit_time(parent).unwrap_or(0), Reverse(order), parent));
            }
        }
    }
    Ok(None)
}

fn pattern(text: &str) -> Option<Regex> {
    let translated = userdiff::extended(text.as_bytes())?;
    let builder = &mut RegexBuilder::new(&translated);
    builder.unicode(false).size_limit(MAX_COMPILED).dfa_size_limit(2 * MAX_COMPILED).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_may_be_left_out_and_must_not_be_endless() {
        assert_eq!(number(""), Some((1, "")));
        assert_eq!(number("0^2"), Some((0, "^2")));
        assert_eq!(number("12~"), Some((12, "~")));
        assert_eq!(number("2147483648"), None);
        assert_eq!(number(&"9".repeat(60)), None);
    }

    #[test]
    fn braces_close_where_git_closes_them() {
        let text = |after: &str| closing(after).map(|end| after[..end].to_owned());
        for (after, expected) in [
            ("tree}", "tree"),
            ("tree}:x}", "tree"),
            ("/a}", "/a"),
            ("/a{1}}", "/a{1}"),
            ("/a}b}~1", "/a}b"),
            ("/a}~1^{tree}", "/a"),
            ("/a}:x}", "/a"),
            ("/a:b}:x", "/a:b"),
        ] {
            assert_eq!(text(after).as_deref(), Some(expected), "{after}");
        }
        assert_eq!(text("/a"), None);
    }
}
