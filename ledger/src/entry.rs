//! From an event to the line that records it: chained, hashed, signed.
//! Trust: the event was bounded by [`Event::members`]; position, ids and key are the ledger's own.

use crate::{
    chain::Link,
    event::{Event, EventFault},
    hash::Hash,
    key::PrivateKey,
    limits::MAX_LINE,
    signature,
    uuid::Uuid,
};
use bulkhead_contract::canonical;
use serde_json::{Map, Value};

/// Where an entry stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Its sequence, from 1.
    pub sequence: u64,
    /// What it continues.
    pub previous: Link,
    /// The segment of its file.
    pub segment: Uuid,
    /// The ledger that it belongs to; `None` writes exactly the contract's members.
    pub ledger: Option<Uuid>,
}

/// A line ready to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// Canonical text and newline.
    pub line: Vec<u8>,
    /// Its `entryHash`.
    pub hash: Hash,
}

/// Makes the line of an event.
///
/// # Errors
/// [`EventFault`].
pub fn seal(event: &Event, at: &Position, id: Uuid, key: Option<&PrivateKey>) -> Result<Sealed, EventFault> {
    seal_members(event.members()?, at, id, key)
}

/// Makes the line of an entry whose event members are given; they replace nothing of the ledger's own.
fn seal_members(
    mut map: Map<String, Value>,
    at: &Position,
    id: Uuid,
    key: Option<&PrivateKey>,
) -> Result<Sealed, EventFault> {
    let own: [(&str, Value); 6] = [
        ("id", id.to_string().into()),
        ("auditSchemaVersion", 1.into()),
        ("auditChainVersion", 1.into()),
        ("sequence", at.sequence.into()),
        ("segmentId", at.segment.to_string().into()),
        ("previousHash", at.previous.to_string().into()),
    ];
    map.extend(own.map(|(name, value)| (name.to_owned(), value)));
    if let Some(ledger) = at.ledger {
        map.insert("ledgerId".into(), ledger.to_string().into());
    }
    if let Some(key) = key {
        signature::announce(&mut map, key);
    }
    let mut text = String::new();
    canonical::members(&map, &["entryHash", "signature"], &mut text);
    let hash = Hash::of(&[text.as_bytes()]);
    map.insert("entryHash".into(), hash.to_string().into());
    if let Some(key) = key {
        signature::finish(&mut map, key);
    }
    text.clear();
    canonical::members(&map, &[], &mut text);
    text.push('\n');
    if text.len() > MAX_LINE {
        return Err(EventFault::Oversize { length: text.len(), bound: MAX_LINE });
    }
    Ok(Sealed { line: text.into_bytes(), hash })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Link;

    /// Takes an entry of the vectors apart and makes it anew: it must come out the same to the byte.
    fn made_anew(line: &str, key: Option<&PrivateKey>) -> String {
        let Ok(Value::Object(mut map)) = serde_json::from_str::<Value>(line) else { panic!("an object: {line}") };
        let mut take = |name: &str| map.remove(name).expect("the contract's member");
        let at = Position {
            sequence: take("sequence").as_u64().expect("a number"),
            previous: Link::read(take("previousHash").as_str().expect("a text")).expect("a link"),
            segment: Uuid::read(take("segmentId").as_str().expect("a text")).expect("a UUID"),
            ledger: None,
        };
        let id = Uuid::read(take("id").as_str().expect("a text")).expect("a UUID");
        for name in ["auditSchemaVersion", "auditChainVersion", "entryHash"] {
            take(name);
        }
        for name in ["signature", "signatureKeyId", "signatureVersion"] {
            map.remove(name);
        }
        String::from_utf8(seal_members(map, &at, id, key).expect("within bounds").line).expect("UTF-8")
    }

    #[test]
    fn hashes_and_signatures_of_the_vectors_are_reproduced_to_the_byte() {
        let key = PrivateKey::from_pem(include_str!("../tests/vectors/test-signing-key.pem")).expect("the test key");
        let mut lines = 0;
        for (file, key) in [
            (include_str!("../tests/vectors/own-unsigned/mcp.jsonl"), None),
            (include_str!("../tests/vectors/own-signed/mcp.jsonl"), Some(&key)),
            (include_str!("../tests/vectors/own-unicode/mcp.jsonl"), Some(&key)),
            (include_str!("../tests/vectors/own-numbers/mcp.jsonl"), Some(&key)),
            (include_str!("../tests/vectors/own-rotated/mcp.jsonl"), Some(&key)),
            (include_str!("../tests/vectors/own-six-segments/mcp.jsonl"), Some(&key)),
        ] {
            for line in file.split_inclusive('\n') {
                assert_eq!(made_anew(line, key), line);
                lines += 1;
            }
        }
        assert_eq!(lines, 6 + 6 + 2 + 2 + 2 + 1);
        let other = include_str!("../tests/vectors/own-nonsorted/mcp.jsonl").lines();
        let sorted = include_str!("../tests/vectors/own-signed/mcp.jsonl").split_inclusive('\n');
        for (line, sorted) in other.zip(sorted) {
            assert_eq!(made_anew(line, Some(&key)), sorted, "layout does not count");
        }
    }
}
