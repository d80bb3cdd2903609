//! Whether two commits make the same change, whatever the lines around it are numbered: Git's patch id.
//! Trust: contents are the repository's; they are measured before they are read, and only their digest is kept.

use super::{
    scratch::Scratch,
    trees::{Difference, Entry, differences},
};
use crate::{
    diff::{contents::is_binary, lines::between},
    pace::{Pace, Stopped},
};
use bulkhead_contract::failure::ReadFailure;
use gix::{
    ObjectId,
    diff::blob::{Algorithm, InternedInput, sources::byte_lines},
    objs::{FindExt as _, Kind},
};

/// Lines around a change that belong to it.
const CONTEXT: u32 = 3;

/// The change that a commit with these trees makes; nothing where it changes nothing.
pub(super) fn changes(
    scratch: &Scratch<'_>,
    old: Option<ObjectId>,
    new: ObjectId,
) -> Result<Vec<Difference>, ReadFailure> {
    let mut all = Vec::new();
    differences(scratch, old, Some(new), &mut |difference| {
        all.push(difference);
        true
    })?;
    Ok(all)
}

/// A digest of the change that is the same wherever in a file it is made.
pub(super) fn id(scratch: &Scratch<'_>, changes: &[Difference]) -> Result<ObjectId, ReadFailure> {
    let mut text = Vec::new();
    for change in changes {
        file(scratch, change, &mut text)?;
        // digest upon digest, so that a large change is never held as a whole
        let so_far = digest(scratch, &text)?;
        text.clear();
        text.extend_from_slice(so_far.as_slice());
    }
    digest(scratch, &text)
}

fn digest(scratch: &Scratch<'_>, bytes: &[u8]) -> Result<ObjectId, ReadFailure> {
    gix::objs::compute_hash(scratch.repo.git.object_hash(), Kind::Blob, bytes).map_err(|_| scratch.failure())
}

fn file(scratch: &Scratch<'_>, change: &Difference, text: &mut Vec<u8>) -> Result<(), ReadFailure> {
    text.extend_from_slice(&change.path);
    text.push(0);
    match (change.old, change.new) {
        (None, Some((mode, _))) => text.extend_from_slice(format!("new{:o}", mode.value()).as_bytes()),
        (Some((mode, _)), None) => text.extend_from_slice(format!("deleted{:o}", mode.value()).as_bytes()),
        _ => {}
    }
    let (old, new) = (contents(scratch, change.old)?, contents(scratch, change.new)?);
    if is_binary(&old) || is_binary(&new) {
        for side in [change.old, change.new].into_iter().flatten() {
            text.extend_from_slice(side.1.as_slice());
        }
        return Ok(());
    }
    lines(&old, &new, text, scratch.pace).map_err(|stopped| scratch.stopped(stopped))
}

fn contents(scratch: &Scratch<'_>, entry: Option<Entry>) -> Result<Vec<u8>, ReadFailure> {
    let Some((mode, id)) = entry else { return Ok(Vec::new()) };
    if mode.is_commit() {
        return Ok(format!("Subproject commit {id}\n").into_bytes());
    }
    let mut buffer = Vec::new();
    scratch.find_blob(&id, &mut buffer).map_err(|_| scratch.failure())?;
    Ok(buffer)
}

/// Appends the hunks with three lines around them, without places and without white space.
fn lines(old: &[u8], new: &[u8], text: &mut Vec<u8>, pace: &Pace) -> Result<(), Stopped> {
    let mut input = InternedInput::new(byte_lines(old), byte_lines(new));
    let mut diff = between(Algorithm::Myers, &mut input, pace)?;
    diff.postprocess_no_heuristic(&input);
    let mut put = |sign: u8, token: gix::diff::blob::Token| {
        if sign != b' ' {
            text.push(sign);
        }
        text.extend(input.interner[token].iter().filter(|byte| !byte.is_ascii_whitespace()));
    };
    let total = u32::try_from(input.before.len()).unwrap_or(u32::MAX);
    let mut shown = 0;
    let mut hunks = diff.hunks().peekable();
    while let Some(hunk) = hunks.next() {
        let before = hunk.before.start.saturating_sub(CONTEXT).max(shown);
        for at in before..hunk.before.start {
            put(b' ', input.before[at as usize]);
        }
        for at in hunk.before.clone() {
            put(b'-', input.before[at as usize]);
        }
        for at in hunk.after.clone() {
            put(b'+', input.after[at as usize]);
        }
        shown = hunk.before.end;
        let next = hunks.peek().map(|other| other.before.start);
        let end = shown.saturating_add(CONTEXT).min(total).min(next.unwrap_or(total));
        for at in shown..end {
            put(b' ', input.before[at as usize]);
        }
        shown = end.max(shown);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Pace, lines};

    fn key(old: &str, new: &str) -> String {
        let mut text = Vec::new();
        let pace = Pace::alone(600_000);
        lines(old.as_bytes(), new.as_bytes(), &mut text, &pace).expect("there is time");
        String::from_utf8(text).expect("it was text")
    }

    #[test]
    fn a_change_is_the_same_elsewhere_and_with_other_white_space() {
        let here = key("a\nb\nc\nd\ne\n", "a\nb\nC C\nd\ne\n");
        assert_eq!(here, "ab-c+CCde");
        assert_eq!(here, key("x\na\nb\nc\nd\ne\n", "x\na\nb\nCC\nd\ne\n").trim_start_matches('x'));
        assert_ne!(here, key("a\nb\nc\nd\ne\n", "a\nb\nD\nd\ne\n"));
    }
}
