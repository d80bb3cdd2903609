//! The operation that waits for its end, from the files that Git leaves in the git directory.
//! Trust: only whether the files are there counts; of one, the first word.

use crate::open_beneath;
use bulkhead_contract::results::Operation;
use std::path::Path;

/// Bytes of `sequencer/todo` that are looked at; it grows with the number of commits.
const MAX_TODO: u64 = 16 << 20;

/// The operation in progress in the working tree of `git_dir`, in the contract's order of precedence.
#[must_use]
pub fn in_progress(git_dir: &Path) -> Option<Operation> {
    let there = |name: &str| std::fs::symlink_metadata(git_dir.join(name)).is_ok();
    if there("rebase-merge") {
        return Some(Operation::Rebase);
    }
    if there("rebase-apply") {
        return Some(if there("rebase-apply/applying") { Operation::Am } else { Operation::Rebase });
    }
    if there("MERGE_HEAD") {
        return Some(Operation::Merge);
    }
    if there("CHERRY_PICK_HEAD") {
        return Some(Operation::CherryPick);
    }
    if there("REVERT_HEAD") {
        return Some(Operation::Revert);
    }
    // between two steps of a sequence neither of the two heads is there
    if there("sequencer")
        && let Ok(todo) = open_beneath::read(git_dir, b"sequencer/todo", MAX_TODO)
    {
        match todo.split(|byte| byte.is_ascii_whitespace()).find(|word| !word.is_empty()) {
            Some(b"pick" | b"p") => return Some(Operation::CherryPick),
            Some(b"revert") => return Some(Operation::Revert),
            _ => {}
        }
    }
    there("BISECT_LOG").then_some(Operation::Bisect)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn files_name_the_operation_in_order_of_precedence() {
        let temp = tempfile::tempdir().expect("a writable temporary directory");
        let dir = temp.path();
        let write = |name: &str, text: &str| fs::write(dir.join(name), text).expect("writable");
        assert_eq!(in_progress(dir), None);
        write("BISECT_LOG", "");
        assert_eq!(in_progress(dir), Some(Operation::Bisect));
        fs::create_dir(dir.join("sequencer")).expect("writable");
        write("sequencer/todo", "\nrevert 1234 x\n");
        assert_eq!(in_progress(dir), Some(Operation::Revert));
        write("CHERRY_PICK_HEAD", "");
        assert_eq!(in_progress(dir), Some(Operation::CherryPick));
        write("MERGE_HEAD", "");
        assert_eq!(in_progress(dir), Some(Operation::Merge));
        fs::create_dir(dir.join("rebase-apply")).expect("writable");
        assert_eq!(in_progress(dir), Some(Operation::Rebase));
        write("rebase-apply/applying", "");
        assert_eq!(in_progress(dir), Some(Operation::Am));
    }
}
