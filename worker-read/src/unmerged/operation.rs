//! The operation that left paths unmerged: its commits, and how far it has come.
//! Trust: the files are the repository's, so each is short, regular and parsed strictly, or counts as absent.

use crate::{open_beneath, operation as precedence};
use bulkhead_contract::{
    path::text_of,
    results::{ConflictOperation, Operation, OperationProgress},
};
use gix::{ObjectId, bstr::BStr};
use std::path::Path;

/// Bytes of one of the short files at most.
const MAX_FILE: u64 = 64 * 1024;
/// Heads of an octopus merge at most.
const MAX_HEADS: usize = 64;
/// Steps that are believed at most.
const MAX_STEPS: u64 = 10_000_000;

/// What is known of the operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Which.
    pub operation: ConflictOperation,
    /// The commits that are merged, picked, replayed or reverted; none where a patch is applied.
    pub theirs: Vec<ObjectId>,
    /// How far it has come, where it is a sequence.
    pub progress: Option<OperationProgress>,
}

/// Reads what the operation in `git_dir` left there.
#[must_use]
pub fn read(git_dir: &Path) -> Known {
    let operation = match precedence::in_progress(git_dir) {
        Some(Operation::Merge) => ConflictOperation::Merge,
        Some(Operation::Rebase) => ConflictOperation::Rebase,
        Some(Operation::CherryPick) => ConflictOperation::CherryPick,
        Some(Operation::Revert) => ConflictOperation::Revert,
        Some(Operation::Am) => ConflictOperation::Am,
        Some(Operation::Bisect) | None => ConflictOperation::Unknown,
    };
    known(operation, &|name| open_beneath::read(git_dir, name.as_bytes(), MAX_FILE).ok())
}

/// The same from the contents of the files, which `file` gives by name.
#[must_use]
pub fn known(operation: ConflictOperation, file: &dyn Fn(&str) -> Option<Vec<u8>>) -> Known {
    let ids = |name: &str| file(name).map(|text| ids(&text)).unwrap_or_default();
    let one = |names: &[&str]| names.iter().find_map(|name| ids(name).first().copied()).into_iter().collect();
    let theirs = match operation {
        ConflictOperation::Merge => ids("MERGE_HEAD"),
        ConflictOperation::Rebase => one(&["REBASE_HEAD", "rebase-merge/stopped-sha", "rebase-apply/original-commit"]),
        ConflictOperation::CherryPick => one(&["CHERRY_PICK_HEAD"]),
        ConflictOperation::Revert => one(&["REVERT_HEAD"]),
        ConflictOperation::Am | ConflictOperation::Unknown => Vec::new(),
    };
    let progress = match operation {
        ConflictOperation::Rebase | ConflictOperation::Am => replaying(file),
        ConflictOperation::CherryPick | ConflictOperation::Revert => OperationProgress {
            remaining: file("sequencer/todo").map(|text| commands(&text)),
            orig_head: hex(file, "sequencer/head"),
            ..OperationProgress::default()
        },
        ConflictOperation::Merge | ConflictOperation::Unknown => OperationProgress::default(),
    };
    let progress = Some(progress).filter(|progress| *progress != OperationProgress::default());
    Known { operation, theirs, progress }
}

/// State of a rebase, by either of its two ways of working, or of patches that are applied.
fn replaying(file: &dyn Fn(&str) -> Option<Vec<u8>>) -> OperationProgress {
    let mut progress = OperationProgress::default();
    for (directory, step, steps) in [("rebase-merge", "msgnum", "end"), ("rebase-apply", "next", "last")] {
        let number = |name: &str| file(&format!("{directory}/{name}")).and_then(|text| number(&text));
        let Some(steps) = number(steps) else { continue };
        progress.steps = Some(steps);
        progress.step = number(step).filter(|&step| step <= steps);
        progress.onto = hex(file, &format!("{directory}/onto"));
        progress.orig_head = hex(file, &format!("{directory}/orig-head"));
        if let Some(name) = file(&format!("{directory}/head-name")).and_then(|text| branch(&text)) {
            (progress.branch, progress.branch_encoding) = (Some(name.0), name.1);
        }
        break;
    }
    progress
}

/// One id a line, as far as the lines hold ids.
fn ids(text: &[u8]) -> Vec<ObjectId> {
    let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let all = lines.take_while(|line| !line.is_empty()).map_while(|line| ObjectId::from_hex(line).ok());
    let mut ids: Vec<ObjectId> = Vec::new();
    for id in all.take(MAX_HEADS) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids
}

fn hex(file: &dyn Fn(&str) -> Option<Vec<u8>>, name: &str) -> Option<String> {
    Some(ids(&file(name)?).first()?.to_string())
}

fn number(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    let digits = !text.is_empty() && text.len() <= 10 && text.iter().all(u8::is_ascii_digit);
    let number = std::str::from_utf8(text).ok().filter(|_| digits)?.parse().ok()?;
    (number <= MAX_STEPS).then_some(number)
}

/// Lines of a list of commands that are neither empty nor comments.
fn commands(text: &[u8]) -> u64 {
    let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter(|line| !line.is_empty() && !line.starts_with(b"#")).count() as u64
}

/// The short name of the branch in `head-name`; none where HEAD was detached.
fn branch(text: &[u8]) -> Option<(String, Option<bulkhead_contract::path::PathEncoding>)> {
    let name = text.trim_ascii();
    gix::validate::reference::name(BStr::new(name)).ok()?;
    Some(text_of(name.strip_prefix(b"refs/heads/")?))
}

/// Reads arbitrary bytes as the files of every operation; for fuzzing. Each line of `bytes` is a file, NUL its line end.
pub fn judge(bytes: &[u8]) {
    const NAMES: &[&str] = &[
        "MERGE_HEAD",
        "REBASE_HEAD",
        "CHERRY_PICK_HEAD",
        "REVERT_HEAD",
        "rebase-merge/end",
        "rebase-merge/msgnum",
        "rebase-merge/onto",
        "rebase-merge/head-name",
        "rebase-merge/stopped-sha",
        "rebase-apply/last",
        "rebase-apply/next",
        "sequencer/todo",
        "sequencer/head",
    ];
    let files: Vec<Vec<u8>> = bytes
        .split(|&byte| byte == b'\n')
        .map(|line| line.iter().map(|&byte| if byte == 0 { b'\n' } else { byte }).collect())
        .collect();
    let file = |name: &str| files.get(NAMES.iter().position(|known| *known == name)?).cloned();
    for operation in [
        ConflictOperation::Merge,
        ConflictOperation::Rebase,
        ConflictOperation::CherryPick,
        ConflictOperation::Revert,
        ConflictOperation::Am,
        ConflictOperation::Unknown,
    ] {
        let known = known(operation, &file);
        assert!(known.theirs.len() <= MAX_HEADS, "heads are bounded");
        if let Some(progress) = known.progress {
            assert!(progress.step <= progress.steps, "no step is beyond the last");
            assert!(progress.branch.is_none_or(|name| !name.contains('\n')), "a branch is a name");
        }
    }
    for size in [1, 7, 20] {
        for region in super::regions::find(bytes, size).0 {
            let base = region.base_line.unwrap_or(region.start_line + 1);
            assert!(region.start_line < base.max(region.sep_line) && base <= region.sep_line, "in order");
            assert!(region.sep_line < region.end_line, "in order");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: char) -> String {
        digit.to_string().repeat(40)
    }

    fn from(operation: ConflictOperation, files: &[(&str, String)]) -> Known {
        known(operation, &|name| {
            files.iter().find(|(known, _)| *known == name).map(|(_, text)| text.clone().into_bytes())
        })
    }

    #[test]
    fn an_octopus_has_several_heads() {
        let heads = format!("{}\n{}\nrubbish\n{}\n", id('1'), id('2'), id('3'));
        let known = from(ConflictOperation::Merge, &[("MERGE_HEAD", heads)]);
        assert_eq!(known.theirs.len(), 2);
        assert_eq!(known.progress, None);
    }

    #[test]
    fn a_rebase_says_how_far_it_is() {
        let files = [
            ("REBASE_HEAD", id('1')),
            ("rebase-merge/msgnum", "2\n".into()),
            ("rebase-merge/end", "5\n".into()),
            ("rebase-merge/onto", id('2')),
            ("rebase-merge/head-name", "refs/heads/topic\n".into()),
        ];
        let known = from(ConflictOperation::Rebase, &files);
        let progress = known.progress.expect("it is a sequence");
        assert_eq!((progress.step, progress.steps), (Some(2), Some(5)));
        assert_eq!(progress.branch.as_deref(), Some("topic"));
        assert_eq!(progress.onto, Some(id('2')));
        let wrong = [("rebase-merge/end", "-1\n".into()), ("rebase-merge/head-name", "detached HEAD\n".into())];
        assert_eq!(from(ConflictOperation::Rebase, &wrong).progress, None);
    }

    #[test]
    fn any_bytes_are_read_without_harm() {
        let mut seed = 1u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize
        };
        let pieces: [&[u8]; 9] = [
            b"\n",
            b"\0",
            b"1111111111111111111111111111111111111111",
            b"refs/heads/",
            b"7",
            b"<<<<<<<",
            b"=======",
            b">>>>>>>",
            b"\xff",
        ];
        for _ in 0..3_000 {
            let bytes: Vec<u8> = (0..next() % 40).flat_map(|_| pieces[next() % pieces.len()].to_vec()).collect();
            judge(&bytes);
        }
    }
}
