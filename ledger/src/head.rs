//! Heads: a small signed statement of where a ledger ends, to be kept outside the machine.
//! Trust: a head comes back from anywhere; unsigned or by an unknown key it states, and proves nothing.

use crate::{
    hash::Hash,
    key::PrivateKey,
    record::Rules,
    signature::{SignatureFault, Signed},
    statement::{self, Statement, StatementFault},
    uuid::Uuid,
};
use serde_json::Value;
use thiserror::Error;

/// Why a text is no head.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HeadFault {
    /// Not a JSON object within bounds.
    #[error("the head is not a JSON object: {0}")]
    Malformed(String),
    /// A member is missing or does not have its form.
    #[error("the head's {0} is missing or malformed")]
    Member(&'static str),
    /// Its signature is wrong, or was taken off.
    #[error("the head: {0}")]
    Signature(#[from] SignatureFault),
    /// In strict verification: it is not signed.
    #[error("the head is not signed")]
    Unsigned,
}

/// Where a ledger ended at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The ledger's id; `None` where no writer recorded one.
    pub ledger: Option<Uuid>,
    /// Sequence of the last entry.
    pub sequence: u64,
    /// Its `entryHash`.
    pub hash: Hash,
    /// Milliseconds since 1970 when this was stated.
    pub created_at: u64,
}

impl Head {
    /// One canonical object, no newline; some 330 bytes when signed.
    #[must_use]
    pub fn text(&self, key: Option<&PrivateKey>) -> String {
        let members = [
            ("auditHeadVersion", Value::from(1)),
            ("createdAt", self.created_at.into()),
            ("entryHash", self.hash.to_string().into()),
            ("ledgerId", self.ledger.map_or(Value::Null, |id| id.to_string().into())),
            ("sequence", self.sequence.into()),
        ];
        statement::text(members, key)
    }

    /// Reads a head in any layout.
    ///
    /// # Errors
    /// [`HeadFault`].
    pub fn read(text: &str, rules: &Rules) -> Result<(Self, Signed), HeadFault> {
        let statement = Statement::read(text.as_bytes())?;
        let signed = statement.signed(rules)?;
        statement.version("auditHeadVersion")?;
        let created_at = statement.number("createdAt")?;
        let sequence = statement.number("sequence")?;
        if sequence == 0 {
            return Err(HeadFault::Member("sequence"));
        }
        let ledger = match statement.member("ledgerId") {
            Some(Value::Null) => None,
            id => Some(id.and_then(Value::as_str).and_then(Uuid::read).ok_or(HeadFault::Member("ledgerId"))?),
        };
        Ok((Self { ledger, sequence, hash: statement.hash("entryHash")?, created_at }, signed))
    }
}

impl From<StatementFault> for HeadFault {
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
    use bulkhead_contract::canonical;

    #[test]
    fn a_head_is_read_as_it_was_stated_and_not_otherwise() {
        let key = PrivateKey::from_seed(&[1; 32].into());
        let rules = Rules { keys: Keys::new(vec![key.public()]).expect("one key"), strict: true };
        let head = Head { ledger: Some(Uuid::v4([3; 16])), sequence: 7, hash: Hash([5; 32]), created_at: 9 };
        let text = head.text(Some(&key));
        assert!(text.len() < 400, "{}", text.len());
        assert_eq!(Head::read(&text, &rules), Ok((head, Signed::Yes)));
        let longer = text.replace("\"sequence\":7", "\"sequence\":8");
        assert_eq!(Head::read(&longer, &rules), Err(HeadFault::Signature(SignatureFault::Wrong)));
        assert_eq!(Head::read(&head.text(None), &rules), Err(HeadFault::Unsigned));
        let loose = Rules { strict: false, ..rules };
        assert_eq!(Head::read(&head.text(None), &loose), Ok((head, Signed::No)));
        let foreign = Head { ledger: None, ..head };
        assert_eq!(Head::read(&foreign.text(None), &loose), Ok((foreign, Signed::No)));
        for member in ["auditHeadVersion", "createdAt", "entryHash", "ledgerId", "sequence"] {
            let Ok(Value::Object(mut map)) = serde_json::from_str(&head.text(None)) else { panic!("an object") };
            map.remove(member);
            let text = canonical::text(&Value::Object(map));
            assert_eq!(Head::read(&text, &loose), Err(HeadFault::Member(member)));
        }
    }
}
