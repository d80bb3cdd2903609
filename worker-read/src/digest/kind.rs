//! What a reflog row's message says that was done: Git's own words at its beginning.
//! Trust: messages are whatever the writer of the log put there; a wrong one is `other` at worst.

use bulkhead_contract::results::DigestKind;

/// The kind that `message` begins with.
pub fn of(message: &[u8]) -> DigestKind {
    const KINDS: &[(&[u8], DigestKind)] = &[
        (b"commit (amend)", DigestKind::Amend),
        (b"commit (merge)", DigestKind::Merge),
        (b"commit (cherry-pick)", DigestKind::CherryPick),
        (b"commit", DigestKind::Commit),
        (b"merge", DigestKind::Merge),
        (b"checkout", DigestKind::Checkout),
        (b"switch", DigestKind::Checkout),
        (b"pull", DigestKind::Pull),
        (b"initial pull", DigestKind::Pull),
        (b"reset", DigestKind::Reset),
        (b"rebase", DigestKind::Rebase),
        (b"cherry-pick", DigestKind::CherryPick),
        (b"revert", DigestKind::Revert),
        (b"branch", DigestKind::Branch),
        (b"Branch", DigestKind::Branch),
        (b"fetch", DigestKind::Fetch),
    ];
    let begins = |word: &[u8]| {
        // the word ends there: `commitment` is no commit
        message.strip_prefix(word).is_some_and(|rest| rest.first().is_none_or(|byte| b" :(".contains(byte)))
    };
    KINDS.iter().find(|(word, _)| begins(word)).map_or(DigestKind::Other, |(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_that_git_writes_are_known() {
        for (message, kind) in [
            ("commit: x", DigestKind::Commit),
            ("commit (initial): x", DigestKind::Commit),
            ("commit (amend): x", DigestKind::Amend),
            ("commit (merge): Merge branch 'x'", DigestKind::Merge),
            ("commit (cherry-pick): x", DigestKind::CherryPick),
            ("merge topic: Fast-forward", DigestKind::Merge),
            ("checkout: moving from a to b", DigestKind::Checkout),
            ("pull: Fast-forward", DigestKind::Pull),
            ("pull --rebase (start): checkout 1234", DigestKind::Pull),
            ("reset: moving to HEAD~1", DigestKind::Reset),
            ("rebase (pick): x", DigestKind::Rebase),
            ("rebase -i (finish): returning to refs/heads/x", DigestKind::Rebase),
            ("cherry-pick: x", DigestKind::CherryPick),
            ("revert: Revert \"x\"", DigestKind::Revert),
            ("branch: Created from HEAD", DigestKind::Branch),
            ("Branch: renamed refs/heads/a to refs/heads/b", DigestKind::Branch),
            ("fetch origin: fast-forward", DigestKind::Fetch),
            ("clone: from somewhere", DigestKind::Other),
            ("commitment", DigestKind::Other),
            ("", DigestKind::Other),
        ] {
            assert_eq!(of(message.as_bytes()), kind, "{message}");
        }
    }
}
