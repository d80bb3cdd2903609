//! Ed25519 keys: PKCS#8 and SPKI PEM in, signatures out, private halves wiped when dropped.
//! Trust: key texts come from the operator and are checked as if they did not; public keys of small order are refused.

use crate::{hash::hex, limits::MAX_KEYS};
use ed25519_dalek::{
    Signature, Signer as _, SigningKey, VerifyingKey,
    pkcs8::{
        ALGORITHM_OID, DecodePublicKey as _, Document, EncodePrivateKey as _, EncodePublicKey as _, PrivateKeyInfoRef,
        SecretDocument,
        spki::{SubjectPublicKeyInfoRef, der::pem::LineEnding},
    },
};
use std::fmt;
use thiserror::Error;
use zeroize::Zeroizing;

/// Why a text is no key for this ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum KeyError {
    /// Not a PEM document.
    #[error("not a PEM document")]
    NotPem,
    /// PEM of another kind than asked for: encrypted, a certificate, a public key in place of a private one.
    #[error("PEM of another kind; expected {expected}")]
    OtherLabel {
        /// The label that was asked for.
        expected: &'static str,
    },
    /// A key of another algorithm.
    #[error("not an Ed25519 key")]
    OtherAlgorithm,
    /// The algorithm is right, the key material is not: wrong length, or a public half that does not belong to it.
    #[error("malformed Ed25519 key")]
    Malformed,
    /// A public key of small order: signatures by it prove nothing.
    #[error("a weak public key")]
    Weak,
    /// More than [`MAX_KEYS`] public keys.
    #[error("more than {MAX_KEYS} public keys")]
    TooMany,
}

/// The short name of a key in entries: 16 lower-case hex digits, the first eight bytes of the public key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyId([u8; 8]);

impl KeyId {
    /// Reads 16 lower-case hex digits.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        crate::hash::from_hex(text).map(Self)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

const PUBLIC: &str = "PUBLIC KEY";
const PRIVATE: &str = "PRIVATE KEY";

/// A public key that entries are checked with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// Reads `-----BEGIN PUBLIC KEY-----` (SPKI).
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        let (label, document) = Document::from_pem(pem.trim()).map_err(|_| KeyError::NotPem)?;
        if label != PUBLIC {
            return Err(KeyError::OtherLabel { expected: PUBLIC });
        }
        let info = SubjectPublicKeyInfoRef::try_from(document.as_bytes()).map_err(|_| KeyError::Malformed)?;
        if info.algorithm.oid != ALGORITHM_OID {
            return Err(KeyError::OtherAlgorithm);
        }
        let key = VerifyingKey::from_public_key_der(document.as_bytes()).map_err(|_| KeyError::Malformed)?;
        if key.is_weak() { Err(KeyError::Weak) } else { Ok(Self(key)) }
    }

    /// `-----BEGIN PUBLIC KEY-----`, to be handed to verifiers.
    ///
    /// # Errors
    /// [`KeyError::Malformed`], which no key of this type gives.
    pub fn to_pem(&self) -> Result<String, KeyError> {
        self.0.to_public_key_pem(LineEnding::LF).map_err(|_| KeyError::Malformed)
    }

    /// The short name of this key.
    #[must_use]
    pub fn id(&self) -> KeyId {
        let mut id = [0; 8];
        id.copy_from_slice(&self.0.as_bytes()[..8]);
        KeyId(id)
    }

    /// Whether `signature` over `message` is this key's; malleable and small-order forms are not.
    #[must_use]
    pub fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        self.0.verify_strict(message, &Signature::from_bytes(signature)).is_ok()
    }
}

/// Public keys of one verification, looked up by id.
#[derive(Clone, Debug, Default)]
pub struct Keys(Vec<PublicKey>);

impl Keys {
    /// At most [`MAX_KEYS`] keys; none means that signatures are counted and not judged.
    ///
    /// # Errors
    /// [`KeyError::TooMany`].
    pub fn new(keys: Vec<PublicKey>) -> Result<Self, KeyError> {
        if keys.len() > MAX_KEYS { Err(KeyError::TooMany) } else { Ok(Self(keys)) }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those that `id` may mean: all of them where an old record names none.
    pub(crate) fn named(&self, id: Option<KeyId>) -> impl Iterator<Item = &PublicKey> {
        self.0.iter().filter(move |key| id.is_none_or(|id| key.id() == id))
    }
}

/// The private key that entries are signed with. Wiped when dropped; its text form and memory are the holder's care.
/// It stays at one address, so that this memory can be kept out of swap.
pub struct PrivateKey(Box<SigningKey>);

impl PrivateKey {
    /// Reads `-----BEGIN PRIVATE KEY-----` (unencrypted PKCS#8, version 1 or 2); line ends may be CRLF.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        let (label, document) = SecretDocument::from_pem(pem.trim()).map_err(|_| KeyError::NotPem)?;
        if label != PRIVATE {
            return Err(KeyError::OtherLabel { expected: PRIVATE });
        }
        let info = PrivateKeyInfoRef::try_from(document.as_bytes()).map_err(|_| KeyError::Malformed)?;
        if info.algorithm.oid != ALGORITHM_OID {
            return Err(KeyError::OtherAlgorithm);
        }
        SigningKey::try_from(info).map(Box::new).map(Self).map_err(|_| KeyError::Malformed)
    }

    /// A new key from 32 random bytes.
    #[must_use]
    pub fn from_seed(seed: &Zeroizing<[u8; 32]>) -> Self {
        Self(Box::new(SigningKey::from_bytes(seed)))
    }

    /// `-----BEGIN PRIVATE KEY-----`, for the one file that keeps it.
    ///
    /// # Errors
    /// [`KeyError::Malformed`], which no key of this type gives.
    pub fn to_pem(&self) -> Result<Zeroizing<String>, KeyError> {
        self.0.to_pkcs8_pem(LineEnding::LF).map_err(|_| KeyError::Malformed)
    }

    /// The half that verifiers get.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// The secret itself, for keeping its memory to this process; never to be copied or shown.
    #[must_use]
    pub fn secret(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// Signs a message.
    #[must_use]
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "PrivateKey({})", self.public().id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRIVATE_A: &str = include_str!("../tests/vectors/test-signing-key.pem");
    const PUBLIC_A: &str = include_str!("../tests/vectors/a.pub.pem");

    #[test]
    fn the_test_key_and_its_public_half_belong_together() {
        let key = PrivateKey::from_pem(PRIVATE_A).expect("the test key");
        assert_eq!(key.public(), PublicKey::from_pem(PUBLIC_A).expect("its public half"));
        assert_eq!(key.public().id().to_string(), "ff1b5ee3e75ed7a1");
        assert_eq!(key.public().to_pem().expect("text"), PUBLIC_A);
        assert!(PrivateKey::from_pem(&PRIVATE_A.replace('\n', "\r\n")).is_ok(), "CRLF");
        let again = PrivateKey::from_pem(&key.to_pem().expect("text")).expect("what was written");
        assert_eq!(again.public(), key.public());
        assert!(!format!("{key:?}").contains("2e8bb7"), "a debug form shows the public name alone");
    }

    #[test]
    fn a_key_of_another_kind_is_refused_by_name() {
        let refused = |pem: &str| PrivateKey::from_pem(pem).expect_err("refused");
        assert_eq!(refused("MC4CAQAw"), KeyError::NotPem);
        assert_eq!(refused(PUBLIC_A), KeyError::OtherLabel { expected: "PRIVATE KEY" });
        assert_eq!(
            refused(&PRIVATE_A.replace("PRIVATE", "ENCRYPTED PRIVATE")),
            KeyError::OtherLabel { expected: "PRIVATE KEY" }
        );
        // the algorithm 1.3.101.110 is X25519, one bit from 1.3.101.112
        assert_eq!(refused(&PRIVATE_A.replace("BQYDK2VwBCIE", "BQYDK2VuBCIE")), KeyError::OtherAlgorithm);
        assert_eq!(refused(&PRIVATE_A.replace("MC4CAQAw", "MC4CAQAx")), KeyError::Malformed);
        let short = [&[0x30, 0x2d, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x21, 4, 0x1f][..], &[7; 31]].concat();
        let short = Document::try_from(short).expect("DER").to_pem(PRIVATE, LineEnding::LF).expect("PEM");
        assert_eq!(refused(&short), KeyError::Malformed, "31 bytes");
        let public = |pem: &str| PublicKey::from_pem(pem).expect_err("refused");
        assert_eq!(public(PRIVATE_A), KeyError::OtherLabel { expected: "PUBLIC KEY" });
        assert_eq!(public(&PUBLIC_A.replace("BQYDK2VwAyEA", "BQYDK2VuAyEA")), KeyError::OtherAlgorithm);
        let mut der = Document::from_pem(PUBLIC_A).expect("PEM").1.as_bytes().to_vec();
        der[12..].fill(0);
        der[12] = 1;
        let weak = Document::try_from(der).expect("DER").to_pem(PUBLIC, LineEnding::LF).expect("PEM");
        assert_eq!(public(&weak), KeyError::Weak, "the neutral element");
    }
}
