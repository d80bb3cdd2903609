//! Checkpoints of retention: what stands in for segments that were deleted.
//! Trust: a checkpoint file may be forged; without a signature it proves nothing but what it agrees with.

use crate::{
    hash::Hash,
    key::PrivateKey,
    record::Rules,
    signature::{SignatureFault, Signed},
    statement::{self, Statement, StatementFault},
};
use serde_json::Value;
use thiserror::Error;

/// Why a checkpoint file is none.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CheckpointFault {
    /// Not a JSON object within bounds.
    #[error("the checkpoint is not a JSON object: {0}")]
    Malformed(String),
    /// In strict verification: a string or number is not spelled canonically.
    #[error("the checkpoint is not spelled in canonical form")]
    Spelling,
    /// A member is missing or does not have its form.
    #[error("the checkpoint's {0} is missing or malformed")]
    Member(&'static str),
    /// Its signature is wrong, or was taken off.
    #[error("the checkpoint: {0}")]
    Signature(#[from] SignatureFault),
    /// In strict verification, or before a signed entry: it is not signed.
    #[error("the checkpoint is not signed")]
    Unsigned,
}

/// What was deleted, up to which entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoint {
    /// Milliseconds since 1970.
    pub created_at: u64,
    /// First sequence that was kept.
    pub next: u64,
    /// `entryHash` of the last entry that was deleted.
    pub previous: Hash,
}

impl Checkpoint {
    /// The file's content: one canonical object, no newline.
    #[must_use]
    pub fn text(&self, key: Option<&PrivateKey>) -> String {
        let members = [
            ("auditCheckpointVersion", Value::from(1)),
            ("createdAt", self.created_at.into()),
            ("nextSequence", self.next.into()),
            ("previousHash", self.previous.to_string().into()),
            ("prunedThroughSequence", self.next.saturating_sub(1).into()),
        ];
        statement::text(members, key)
    }

    /// Reads a checkpoint file.
    ///
    /// # Errors
    /// [`CheckpointFault`].
    pub fn read(bytes: &[u8], rules: &Rules) -> Result<(Self, Signed), CheckpointFault> {
        let statement = Statement::read(bytes)?;
        if rules.strict && !statement.spelled {
            return Err(CheckpointFault::Spelling);
        }
        let signed = statement.signed(rules)?;
        statement.version("auditCheckpointVersion")?;
        let created_at = statement.number("createdAt")?;
        let next = statement.number("nextSequence")?;
        if next < 2 {
            return Err(CheckpointFault::Member("nextSequence"));
        }
        let previous = statement.hash("previousHash")?;
        if statement.number("prunedThroughSequence")? != next - 1 {
            return Err(CheckpointFault::Member("prunedThroughSequence"));
        }
        Ok((Self { created_at, next, previous }, signed))
    }
}

impl From<StatementFault> for CheckpointFault {
    fn from(fault: StatementFault) -> Self {
        match fault {
            StatementFault::Malformed(why) => Self::Malformed(why),
            StatementFault::Member(name) => Self::Member(name),
            StatementFault::Signature(fault) => Self::Signature(fault),
            StatementFault::Unsigned => Self::Unsigned,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Keys;

    const VECTOR: &str = include_str!(
        "../tests/vectors/own-pruned/mcp.jsonl.checkpoint-00000000000000000004-00000000-0000-4000-8000-000000000000.json"
    );

    fn rules(strict: bool) -> Rules {
        let key = crate::key::PublicKey::from_pem(include_str!("../tests/vectors/a.pub.pem")).expect("a key");
        Rules { keys: Keys::new(vec![key]).expect("one key"), strict }
    }

    #[test]
    fn the_vector_is_read_and_written_to_the_byte() {
        let (checkpoint, signed) = Checkpoint::read(VECTOR.as_bytes(), &rules(true)).expect("the vector");
        assert_eq!((checkpoint.next, signed), (4, Signed::Yes));
        let key = PrivateKey::from_pem(include_str!("../tests/vectors/test-signing-key.pem")).expect("the test key");
        assert_eq!(checkpoint.text(Some(&key)), VECTOR);
    }

    #[test]
    fn each_fault_has_its_name() {
        let read = |text: &str, strict| Checkpoint::read(text.as_bytes(), &rules(strict));
        let unsigned = read(VECTOR, true).expect("the vector").0.text(None);
        assert!(read(&unsigned, false).is_ok());
        assert_eq!(read(&unsigned, true), Err(CheckpointFault::Unsigned));
        for (from, to, member) in [
            ("Version\":1", "Version\":2", "auditCheckpointVersion"),
            ("createdAt\":1", "createdAt\":-1", "createdAt"),
            ("nextSequence\":4", "nextSequence\":1", "nextSequence"),
            ("\"sha256:", "\"legacy-sha256:", "previousHash"),
            ("ThroughSequence\":3", "ThroughSequence\":4", "prunedThroughSequence"),
        ] {
            assert!(unsigned.contains(from), "{from}");
            assert_eq!(read(&unsigned.replace(from, to), false), Err(CheckpointFault::Member(member)));
        }
        assert!(matches!(read("[]", false), Err(CheckpointFault::Malformed(_))));
        let altered = VECTOR.replace("createdAt\":1750000000000", "createdAt\":1750000000001");
        assert_eq!(read(&altered, false), Err(CheckpointFault::Signature(SignatureFault::Wrong)));
    }
}
