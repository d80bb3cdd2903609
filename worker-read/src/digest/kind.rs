//! What a reflog row's message says that was done: Git's own words at its beginning.
//! Trust: messages are whatever the writer of the log put there; a wrong one is `other` at worst.

use bulkhead_contract::results::EventKind;

/// The kind that `message` begins with.
pub fn of(message: &[u8]) -> EventKind {
    const KINDS: &[(&[u8], EventKind)] = &[
        (b"commit (amend)", EventKind::Amend),
        (b"commit (merge)", EventKind::Merge),
        (b"commit (cherry-pick)", EventKind::CherryPick),
        (b"commit", EventKind::Commit),
        (b"merge", EventKind::Merge),
        (b"checkout", EventKind::Checkout),
        (b"switch", EventKind::Checkout),
        (b"pull", EventKind::Pull),
        (b"initial pull", EventKind::Pull),
        (b"reset", EventKind::Reset),
        (b"rebase", EventKind::Rebase),
        (b"cherry-pick", EventKind::CherryPick),
        (b"revert", EventKind::Revert),
        (b"branch", EventKind::Branch),
        (b"Branch", EventKind::Branch),
        (b"fetch", EventKind::Fetch),
    ];
    let begins = |word: &[u8]| {
        // the word ends there: `commitment` is no commit
        message.strip_prefix(word).is_some_and(|rest| rest.first().is_none_or(|byte| b" :(".contains(byte)))
    };
    KINDS.iter().find(|(word, _)| begins(word)).map_or(EventKind::Other, |(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_that_git_writes_are_known() {
        for (message, kind) in [
            ("commit: x", EventKind::Commit),
            ("commit (initial): x", EventKind::Commit),
            ("commit (amend): x", EventKind::Amend),
            ("commit (merge): Merge branch 'x'", EventKind::Merge),
            ("commit (cherry-pick): x", EventKind::CherryPick),
            ("merge topic: Fast-forward", EventKind::Merge),
            ("checkout: moving from a to b", EventKind::Checkout),
            ("pull: Fast-forward", EventKind::Pull),
            ("pull --rebase (start): checkout 1234", EventKind::Pull),
            ("reset: moving to HEAD~1", EventKind::Reset),
            ("rebase (pick): x", EventKind::Rebase),
            ("rebase -i (finish): returning to refs/heads/x", EventKind::Rebase),
            ("cherry-pick: x", EventKind::CherryPick),
            ("revert: Revert \"x\"", EventKind::Revert),
            ("branch: Created from HEAD", EventKind::Branch),
            ("Branch: renamed refs/heads/a to refs/heads/b", EventKind::Branch),
            ("fetch origin: fast-forward", EventKind::Fetch),
            ("clone: from somewhere", EventKind::Other),
            ("commitment", EventKind::Other),
            ("", EventKind::Other),
        ] {
            assert_eq!(of(message.as_bytes()), kind, "{message}");
        }
    }
}
