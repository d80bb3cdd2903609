//! One line read: its form, its signature, its hash, and what it says of the chain.
//! Trust: none; a line may be forged, damaged or hostile, and is judged within bounds on its own.

use crate::{
    chain::{Chained, Link},
    hash::Hash,
    key::Keys,
    limits::{MAX_LINE, RECORD},
    signature::{self, SignatureFault, Signed},
    uuid::Uuid,
};
use bulkhead_contract::canonical::{self, ReadError};
use serde_json::{Map, Value};
use thiserror::Error;

/// Why a line is no sound record. The order is the contract's order of checks.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RecordFault {
    /// Longer than [`MAX_LINE`].
    #[error("the line is longer than {MAX_LINE} bytes")]
    TooLong,
    /// The file's last line does not end.
    #[error("the line is not terminated")]
    Unterminated,
    /// Nothing but whitespace.
    #[error("the line is blank")]
    Blank,
    /// A key twice: the first value would be invisible to hash and signature. Refused in records of every writer.
    #[error("the key {0:?} occurs twice")]
    DuplicateKey(String),
    /// Not a JSON object within bounds.
    #[error("not a JSON object: {0}")]
    Malformed(String),
    /// In strict verification: a string or number is not spelled canonically. Its value is covered by hash and
    /// signature, its bytes are not.
    #[error("a string or number is not spelled in canonical form")]
    Spelling,
    /// The signature is wrong, or was taken off.
    #[error(transparent)]
    Signature(#[from] SignatureFault),
    /// In strict verification: it is not signed.
    #[error("the record is not signed")]
    Unsigned,
    /// A schema or chain version other than 1.
    #[error("{0} is not 1")]
    Version(&'static str),
    /// A member of the chain is missing or does not have its form.
    #[error("{0} is missing or malformed")]
    Member(&'static str),
    /// The entry's content is not what its hash says.
    #[error("the entry was altered: its hash does not match its content")]
    Altered,
    /// A single entry was asked for, and this is a record of before the chain.
    #[error("a record of before the chain, which has no hash")]
    NotChained,
}

/// What the chain needs of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A chained entry.
    Chained(Chained),
    /// A record of before the chain, by its canonical text.
    Legacy(Box<str>),
    /// Not enough of it can be read.
    Unknown,
}

/// A line, judged by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// Where it belongs; filled in as far as it can be read even if there is a fault, so that one fault is not told
    /// again by every entry after it.
    pub place: Place,
    /// Its signature.
    pub signed: Signed,
    /// Its `timestamp`, if there is a whole one.
    pub timestamp: Option<u64>,
    /// The first fault.
    pub fault: Option<RecordFault>,
}

/// What is asked of every record.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// Keys that signatures are checked with; none: signatures are looked at for their form alone.
    pub keys: Keys,
    /// Everything must be signed, and spelled canonically.
    pub strict: bool,
}

fn refused(fault: RecordFault) -> Judged {
    Judged { place: Place::Unknown, signed: Signed::No, timestamp: None, fault: Some(fault) }
}

/// Judges one line, given without its newline (a carriage return before it is whitespace).
#[must_use]
pub fn judge(line: &[u8], rules: &Rules) -> Judged {
    if line.len() >= MAX_LINE {
        return refused(RecordFault::TooLong);
    }
    if line.iter().all(u8::is_ascii_whitespace) {
        return refused(RecordFault::Blank);
    }
    let read = match canonical::read(line, RECORD) {
        Ok(read) => read,
        Err(ReadError::DuplicateKey(key)) => return refused(RecordFault::DuplicateKey(key)),
        Err(other) => return refused(RecordFault::Malformed(other.to_string())),
    };
    let Value::Object(map) = read.value else {
        return refused(RecordFault::Malformed("another kind of value".to_owned()));
    };
    let spelling = (rules.strict && !read.spelled).then_some(RecordFault::Spelling);
    let legacy = !map.contains_key("auditChainVersion");
    let (signed, signature) = match signature::check(&map, &rules.keys, legacy) {
        Ok(Signed::No) if rules.strict => (Signed::No, Some(RecordFault::Unsigned)),
        Ok(signed) => (signed, None),
        Err(fault) => (Signed::No, Some(fault.into())),
    };
    let timestamp = map.get("timestamp").and_then(Value::as_f64).map(|at| at as u64);
    let (place, member) = if legacy {
        (Place::Legacy(canonical::text(&Value::Object(map)).into_boxed_str()), None)
    } else {
        let mut fault = None;
        let chained = chained(&map, &mut fault);
        (chained.map_or(Place::Unknown, Place::Chained), fault)
    };
    Judged { place, signed, timestamp, fault: spelling.or(signature).or(member) }
}

/// The chain's members. The first fault is noted; the place is given wherever its own members can be read.
fn chained(map: &Map<String, Value>, fault: &mut Option<RecordFault>) -> Option<Chained> {
    let mut note = |found: RecordFault| {
        fault.get_or_insert(found);
    };
    let text = |name: &str| map.get(name).and_then(Value::as_str);
    for version in ["auditSchemaVersion", "auditChainVersion"] {
        if map.get(version).and_then(Value::as_u64) != Some(1) {
            note(RecordFault::Version(version));
        }
    }
    let sequence = map.get("sequence").and_then(Value::as_u64).filter(|sequence| *sequence >= 1);
    let previous = text("previousHash").and_then(Link::read);
    let stated = text("entryHash").and_then(Hash::from_label);
    let segment = text("segmentId").and_then(Uuid::read);
    let ledger = text("ledgerId").and_then(Uuid::read);
    let sound = [
        ("sequence", sequence.is_some()),
        ("previousHash", previous.is_some()),
        ("entryHash", stated.is_some()),
        ("segmentId", segment.is_some()),
        ("id", text("id").and_then(Uuid::read).is_some_and(|id| id.is_v4())),
        ("timestamp", map.get("timestamp").is_some_and(Value::is_number)),
        ("ledgerId", ledger.is_some() || !map.contains_key("ledgerId")),
    ];
    for (name, _) in sound.iter().filter(|(_, sound)| !sound) {
        note(RecordFault::Member(name));
    }
    let mut covered = String::new();
    canonical::members(map, &["entryHash", "signature"], &mut covered);
    let computed = Hash::of(&[covered.as_bytes()]);
    Some(Chained { sequence: sequence?, previous: previous?, stated: stated?, computed, segment: segment?, ledger })
}

/// Verifies one chained entry by itself: form, signature and hash. Its place in the chain is not judged.
///
/// # Errors
/// The first [`RecordFault`].
pub fn verify_entry(line: &[u8], rules: &Rules) -> Result<(Chained, Signed), RecordFault> {
    let judged = judge(line.strip_suffix(b"\n").unwrap_or(line), rules);
    match (judged.fault, judged.place) {
        (Some(fault), _) => Err(fault),
        (None, Place::Chained(chained)) if chained.stated == chained.computed => Ok((chained, judged.signed)),
        (None, Place::Chained(_)) => Err(RecordFault::Altered),
        (None, _) => Err(RecordFault::NotChained),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::PublicKey;

    const SIGNED: &str = include_str!("../tests/vectors/own-signed/mcp.jsonl");
    const UNSIGNED: &str = include_str!("../tests/vectors/own-unsigned/mcp.jsonl");

    fn rules(strict: bool) -> Rules {
        let key = PublicKey::from_pem(include_str!("../tests/vectors/a.pub.pem")).expect("a key");
        Rules { keys: Keys::new(vec![key]).expect("one key"), strict }
    }

    fn fault(line: &str) -> RecordFault {
        verify_entry(line.as_bytes(), &rules(false)).expect_err("refused")
    }

    #[test]
    fn one_entry_can_be_verified_by_itself() {
        let line = SIGNED.lines().nth(2).expect("six lines");
        let (chained, signed) = verify_entry(line.as_bytes(), &rules(true)).expect("sound");
        assert_eq!((chained.sequence, signed), (3, Signed::Yes));
        let line = UNSIGNED.lines().next().expect("six lines");
        assert_eq!(verify_entry(line.as_bytes(), &rules(false)).expect("sound").1, Signed::No);
        assert_eq!(verify_entry(line.as_bytes(), &rules(true)), Err(RecordFault::Unsigned));
        assert_eq!(fault(&line.replace("vector 1", "vector 2")), RecordFault::Altered);
    }

    #[test]
    fn every_member_of_the_chain_has_a_form() {
        let line = UNSIGNED.lines().next().expect("six lines");
        for (from, to, expected) in [
            ("\"auditSchemaVersion\":1", "\"auditSchemaVersion\":2", RecordFault::Version("auditSchemaVersion")),
            ("\"auditChainVersion\":1", "\"auditChainVersion\":\"1\"", RecordFault::Version("auditChainVersion")),
            ("\"sequence\":1", "\"sequence\":0", RecordFault::Member("sequence")),
            ("\"sequence\":1", "\"sequence\":1.0", RecordFault::Member("sequence")),
            ("\"genesis\"", "\"Genesis\"", RecordFault::Member("previousHash")),
            ("\"entryHash\":\"sha256:", "\"entryHash\":\"SHA256:", RecordFault::Member("entryHash")),
            ("\"segmentId\":\"1111", "\"segmentId\":\"{111", RecordFault::Member("segmentId")),
            ("0000-4001-8000", "0000-1001-8000", RecordFault::Member("id")),
            ("\"timestamp\":1", "\"timestamp\":\"\",\"x\":1", RecordFault::Member("timestamp")),
            ("\"tool\":", "\"ledgerId\":1,\"tool\":", RecordFault::Member("ledgerId")),
            ("\"auditChainVersion\":1,", "", RecordFault::NotChained),
        ] {
            assert!(line.contains(from), "{from}");
            assert_eq!(fault(&line.replacen(from, to, 1)), expected, "{from}");
        }
    }

    #[test]
    fn what_is_no_object_is_refused_by_name() {
        assert_eq!(fault(""), RecordFault::Blank);
        assert_eq!(fault(" \t\r"), RecordFault::Blank);
        assert_eq!(fault(&" ".repeat(MAX_LINE)), RecordFault::TooLong);
        assert!(matches!(fault("[]"), RecordFault::Malformed(_)));
        assert!(matches!(fault("{"), RecordFault::Malformed(_)));
        assert!(matches!(
            fault(&format!("{{\"a\":{}1{}}}", "[".repeat(64), "]".repeat(64))),
            RecordFault::Malformed(_)
        ));
        let twice = SIGNED.lines().next().expect("six lines").replacen('{', "{\"tool\":\"other\",", 1);
        assert_eq!(fault(&twice), RecordFault::DuplicateKey("tool".into()));
        let legacy = "{\"a\":1,\"a\":2}";
        assert_eq!(fault(legacy), RecordFault::DuplicateKey("a".into()), "also in records of before the chain");
    }

    #[test]
    fn strict_wants_canonical_spelling_and_leaves_layout_free() {
        let line = include_str!("../tests/vectors/own-unicode/mcp.jsonl").lines().next().expect("two lines");
        assert!(verify_entry(line.as_bytes(), &rules(true)).is_ok());
        let laid_out = line.replacen(",\"", " ,\t\"", 3) + "\r\n";
        assert!(verify_entry(laid_out.as_bytes(), &rules(true)).is_ok());
        let spelled = line.replace("日", "\\u65e5");
        assert!(verify_entry(spelled.as_bytes(), &rules(false)).is_ok());
        assert_eq!(verify_entry(spelled.as_bytes(), &rules(true)), Err(RecordFault::Spelling));
    }
}
