//! Signatures of entries, checkpoints and heads: one rule for all, and the older forms for reading.
//! Trust: objects and their signature members may be forged; that is what is being found out.

use crate::{
    base64url,
    key::{KeyId, Keys, PrivateKey},
};
use bulkhead_contract::canonical;
use serde_json::{Map, Value};
use thiserror::Error;

/// The version that is written.
pub const VERSION: u64 = 3;

/// What a signature proves where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signed {
    /// There is none, and nothing says that there was one.
    No,
    /// There is one, by one of the given keys, and it verifies.
    Yes,
    /// There is one of the right form, and no key was given to check it with.
    Unchecked,
}

/// Why a signature is none.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SignatureFault {
    /// Its key or version is named, and the signature itself is gone: it was taken off.
    #[error("the signature was taken off (its key or version is still named)")]
    Stripped,
    /// Not a text, not base64url without padding, not 64 bytes.
    #[error("the signature is not 64 bytes in base64url without padding")]
    Form,
    /// `signatureVersion` is not one that this kind of object may have.
    #[error("the signature's version is not known here")]
    Version,
    /// `signatureKeyId` is missing or not 16 hex digits.
    #[error("the signature does not name its key")]
    KeyId,
    /// By a key that was not given.
    #[error("signed by the key {0}, which was not given")]
    UnknownKey(KeyId),
    /// It does not verify.
    #[error("the signature does not verify")]
    Wrong,
}

/// Adds key id and version, which hashes and signatures cover; [`finish`] adds the signature itself.
pub(crate) fn announce(map: &mut Map<String, Value>, key: &PrivateKey) {
    map.insert("signatureKeyId".into(), key.public().id().to_string().into());
    map.insert("signatureVersion".into(), VERSION.into());
}

/// Signs the object as it is, and adds the signature.
pub(crate) fn finish(map: &mut Map<String, Value>, key: &PrivateKey) {
    let mut text = String::new();
    canonical::members(map, &["signature"], &mut text);
    map.insert("signature".into(), base64url::encode(&key.sign(text.as_bytes())).into());
}

/// Judges an object's signature. Version 3 is asked for unless `legacy`: records of before the chain may have any
/// version or none; below 2 the signed bytes leave out the key's id, too.
///
/// # Errors
/// [`SignatureFault`].
pub fn check(map: &Map<String, Value>, keys: &Keys, legacy: bool) -> Result<Signed, SignatureFault> {
    let (id, version) = (map.get("signatureKeyId"), map.get("signatureVersion"));
    let Some(signature) = map.get("signature") else {
        return if id.is_none() && version.is_none() { Ok(Signed::No) } else { Err(SignatureFault::Stripped) };
    };
    let signature = signature.as_str().and_then(base64url::decode).ok_or(SignatureFault::Form)?;
    let version = match version {
        None if legacy => 0,
        version => version.and_then(Value::as_u64).ok_or(SignatureFault::Version)?,
    };
    if version != VERSION && !legacy || version > VERSION {
        return Err(SignatureFault::Version);
    }
    let id = match id {
        None if legacy => None,
        id => Some(id.and_then(Value::as_str).and_then(KeyId::read).ok_or(SignatureFault::KeyId)?),
    };
    if keys.is_empty() {
        return Ok(Signed::Unchecked);
    }
    let without: &[&str] = if version < 2 { &["signature", "signatureKeyId"] } else { &["signature"] };
    let mut text = String::new();
    canonical::members(map, without, &mut text);
    if let Some(id) = id.filter(|id| keys.named(Some(*id)).next().is_none()) {
        return Err(SignatureFault::UnknownKey(id));
    }
    let verifies = keys.named(id).any(|key| key.verifies(text.as_bytes(), &signature));
    if verifies { Ok(Signed::Yes) } else { Err(SignatureFault::Wrong) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::PublicKey;
    use serde_json::json;

    fn key(seed: u8) -> PrivateKey {
        PrivateKey::from_seed(&[seed; 32].into())
    }

    fn keys(of: &[&PrivateKey]) -> Keys {
        Keys::new(of.iter().map(|key| key.public()).collect::<Vec<PublicKey>>()).expect("few keys")
    }

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().expect("an object").clone()
    }

    #[test]
    fn a_signature_holds_for_its_object_and_its_key_alone() {
        let (one, other) = (key(1), key(2));
        let mut map = object(json!({"a": 1}));
        announce(&mut map, &one);
        finish(&mut map, &one);
        assert_eq!(check(&map, &keys(&[&other, &one]), false), Ok(Signed::Yes));
        assert_eq!(check(&map, &keys(&[]), false), Ok(Signed::Unchecked));
        assert_eq!(check(&map, &keys(&[&other]), false), Err(SignatureFault::UnknownKey(one.public().id())));
        for (member, value, fault) in [
            ("a", json!(2), SignatureFault::Wrong),
            ("b", json!(2), SignatureFault::Wrong),
            ("signatureVersion", json!(2), SignatureFault::Version),
            ("signatureVersion", json!(3.0), SignatureFault::Version),
            ("signatureKeyId", json!("FF"), SignatureFault::KeyId),
            ("signatureKeyId", json!(other.public().id().to_string()), SignatureFault::Wrong),
            ("signature", json!(1), SignatureFault::Form),
            ("signature", json!("AA=="), SignatureFault::Form),
        ] {
            let mut changed = map.clone();
            changed.insert(member.into(), value);
            assert_eq!(check(&changed, &keys(&[&one, &other]), false), Err(fault), "{member}");
        }
        map.remove("signature");
        assert_eq!(check(&map, &keys(&[&one]), false), Err(SignatureFault::Stripped));
    }

    #[test]
    fn older_forms_are_read_in_records_of_before_the_chain() {
        let one = key(1);
        let id = one.public().id().to_string();
        for (version, covers_id) in
            [(None, false), (Some(0), false), (Some(1), false), (Some(2), true), (Some(3), true)]
        {
            let mut map = object(json!({"tool": "x"}));
            if let Some(version) = version {
                map.insert("signatureVersion".into(), version.into());
            }
            let mut covered = map.clone();
            covered.insert("signatureKeyId".into(), id.clone().into());
            let text = if covers_id { covered.clone() } else { map.clone() };
            let text = canonical::text(&Value::Object(text));
            covered.insert("signature".into(), base64url::encode(&one.sign(text.as_bytes())).into());
            assert_eq!(check(&covered, &keys(&[&one]), true), Ok(Signed::Yes), "{version:?}");
            covered.insert("tool".into(), "y".into());
            assert_eq!(check(&covered, &keys(&[&one]), true), Err(SignatureFault::Wrong), "{version:?}");
        }
    }
}
