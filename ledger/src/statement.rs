//! What checkpoints and heads have in common: one small object, signed like an entry, read within bounds.
//! Trust: the text may be forged; members are handed out only in their form.

use crate::{
    hash::Hash,
    key::{Keys, PrivateKey},
    limits::{MAX_CHECKPOINT, MAX_DEPTH, MAX_VALUES},
    record::Rules,
    signature::{self, SignatureFault, Signed},
};
use bulkhead_contract::canonical::{self, Bounds};
use serde_json::{Map, Value};

/// Why a text is no statement. Each kind of statement has words of its own for these.
#[derive(Debug)]
pub(crate) enum StatementFault {
    /// Not a JSON object within bounds.
    Malformed(String),
    /// A member is missing or does not have its form.
    Member(&'static str),
    /// Its signature is wrong, or was taken off.
    Signature(SignatureFault),
    /// In strict verification: it is not signed.
    Unsigned,
}

/// A statement's text: one canonical object, no newline.
pub(crate) fn text<const N: usize>(members: [(&str, Value); N], key: Option<&PrivateKey>) -> String {
    let mut map: Map<String, Value> = members.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
    if let Some(key) = key {
        signature::announce(&mut map, key);
        signature::finish(&mut map, key);
    }
    canonical::text(&Value::Object(map))
}

/// A statement that was read.
pub(crate) struct Statement {
    map: Map<String, Value>,
    /// Its strings and numbers are spelled canonically.
    pub spelled: bool,
}

impl Statement {
    /// Reads an object of at most [`MAX_CHECKPOINT`] bytes in any layout.
    pub fn read(bytes: &[u8]) -> Result<Self, StatementFault> {
        let bounds = Bounds { bytes: MAX_CHECKPOINT, depth: MAX_DEPTH, values: MAX_VALUES };
        match canonical::read(bytes, bounds) {
            Ok(canonical::Read { value: Value::Object(map), spelled }) => Ok(Self { map, spelled }),
            Ok(_) => Err(StatementFault::Malformed("another kind of value".to_owned())),
            Err(fault) => Err(StatementFault::Malformed(fault.to_string())),
        }
    }

    /// What its signature proves; strict rules want one.
    pub fn signed(&self, rules: &Rules) -> Result<Signed, StatementFault> {
        match signature::check(&self.map, &rules.keys, false) {
            Ok(Signed::No) if rules.strict => Err(StatementFault::Unsigned),
            Ok(signed) => Ok(signed),
            Err(fault) => Err(StatementFault::Signature(fault)),
        }
    }

    /// A member of any kind.
    pub fn member(&self, name: &str) -> Option<&Value> {
        self.map.get(name)
    }

    /// A member that is a whole number.
    pub fn number(&self, name: &'static str) -> Result<u64, StatementFault> {
        self.member(name).and_then(Value::as_u64).ok_or(StatementFault::Member(name))
    }

    /// The member that names the form, which must be 1.
    pub fn version(&self, name: &'static str) -> Result<(), StatementFault> {
        if self.number(name)? == 1 { Ok(()) } else { Err(StatementFault::Member(name)) }
    }

    /// A member that is the hash of an entry.
    pub fn hash(&self, name: &'static str) -> Result<Hash, StatementFault> {
        let label = self.member(name).and_then(Value::as_str);
        label.and_then(Hash::from_label).ok_or(StatementFault::Member(name))
    }
}

/// Rules that look at form alone, for a process that holds no public keys of others.
pub(crate) fn form_alone() -> Rules {
    Rules { keys: Keys::default(), strict: false }
}
