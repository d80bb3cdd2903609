//! Canonical JSON and digests of it: the one text form under which arguments, paths and audit entries are hashed.
//! Trust: [`read()`] takes bytes from anywhere, within bounds; values may be the caller's and are only written out.
//!
//! The form (contract `audit.md`, *Canonical JSON*): no whitespace; members of every object sorted by the UTF-8 bytes of
//! their keys; strings in raw UTF-8 with the escapes `\"`, `\\`, `\b`, `\f`, `\n`, `\r`, `\t`, and `\u00xx` in lower case
//! for the other C0 controls; integers within `i64` and `u64` as they are, every other number in the shortest decimal
//! form that reads back as the same `f64`: with `.0` where it is integral, as `d.ddde+xx` or `d.ddde-xx` from 1e16 up and
//! below 1e-5. Numbers are read with correct rounding.

mod number;
mod read;
mod write;

pub use read::{Bounds, Read, ReadError, read};
pub use write::{members, string, value};

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The canonical text of a value.
#[must_use]
pub fn text(of: &Value) -> String {
    let mut out = String::new();
    value(of, &mut out);
    out
}

/// SHA-256 over the canonical texts of `values`, each followed by a newline, which canonical text never holds.
#[must_use]
pub fn digest<'a>(values: impl IntoIterator<Item = &'a Value>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for value in values {
        hash.update(text(value).as_bytes());
        hash.update(b"\n");
    }
    hash.finalize().into()
}

/// SHA-256 over the canonical text of one value.
#[must_use]
pub fn sha256(value: &Value) -> [u8; 32] {
    Sha256::digest(text(value).as_bytes()).into()
}

/// A digest in 64 hex digits.
#[must_use]
pub fn hex(digest: &[u8; 32]) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(64);
    for byte in digest {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// The beginning of a digest as people compare it: 16 hex digits in groups of four.
#[must_use]
pub fn short(digest: &[u8; 32]) -> String {
    let hex = hex(digest);
    [&hex[..4], &hex[4..8], &hex[8..12], &hex[12..16]].join("-")
}

/// `sha256:<64 hex digits>` over the canonical text of one value.
#[must_use]
pub fn label(value: &Value) -> String {
    format!("sha256:{}", hex(&sha256(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_are_sorted_at_every_level() {
        let value: Value = serde_json::from_str(r#"{"b":1,"a":{"z":[{"y":1,"x":2}],"Z":1.0},"é":"\u0007\u2028"}"#)
            .expect("the sample is JSON");
        assert_eq!(text(&value), "{\"a\":{\"Z\":1.0,\"z\":[{\"x\":2,\"y\":1}]},\"b\":1,\"é\":\"\\u0007\u{2028}\"}");
    }

    #[test]
    fn a_label_covers_the_quotes() {
        // printf '"/w/app"' | sha256sum
        assert_eq!(label(&json!("/w/app")), "sha256:09bc9a80dc3d3ee8988088dbb66adff5b4168be76186ddec8ce1ed79d151b8f1");
        // what the contract's vectors carry as the fingerprint of empty arguments
        assert_eq!(label(&json!({})), "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
    }

    #[test]
    fn digests_tell_values_apart() {
        assert_ne!(digest([&json!("a"), &json!("b")]), digest([&json!("ab")]));
        assert_eq!(digest([&json!({"a": 1, "b": 2})]), digest([&json!({"b": 2, "a": 1})]));
    }

    /// A text in any spelling, and the one canonical text of it.
    const VECTORS: &[(&str, &str)] = &[
        ("null", "null"),
        (" [ true ,\r\n false ] ", "[true,false]"),
        ("{}", "{}"),
        (r#"{"b":1, "a":2, "B":3, "":4}"#, r#"{"":4,"B":3,"a":2,"b":1}"#),
        // by bytes, not by UTF-16 units: U+FFFF sorts before U+1F600, though its units sort after the surrogates
        ("{\"\u{1f600}\":1,\"\u{ffff}\":2,\"é\":3,\"z\":4}", "{\"z\":4,\"é\":3,\"\u{ffff}\":2,\"\u{1f600}\":1}"),
        (r#""\u0000\u0001\u0008\u0009\u000a\u000b\u000c\u000d\u001F""#, r#""\u0000\u0001\b\t\n\u000b\f\r\u001f""#),
        (r#""\/\u002f\u0022\u005c""#, r#""//\"\\""#),
        ("\"\\u007f\\u2028\\ud83d\\ude00\\u65e5\"", "\"\u{7f}\u{2028}\u{1f600}日\""),
        ("9223372036854775807", "9223372036854775807"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", "1.8446744073709552e+19"),
        ("-9223372036854775809", "-9.223372036854776e+18"),
        ("0", "0"),
        ("-0", "-0.0"),
        ("-0.0", "-0.0"),
        ("1.0", "1.0"),
        ("1000.0", "1000.0"),
        ("1.50", "1.5"),
        ("1E3", "1000.0"),
        ("1e+2", "100.0"),
        ("1e15", "1000000000000000.0"),
        ("1e16", "1e+16"),
        ("123456789012345680.0", "1.2345678901234568e+17"),
        ("0.00001", "0.00001"),
        ("0.000001", "1e-6"),
        ("1.25e-7", "1.25e-7"),
        ("5e-324", "5e-324"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("2.2250738585072011e-308", "2.225073858507201e-308"),
        ("0.1", "0.1"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("9007199254740993.0", "9007199254740992.0"),
        ("1e-400", "0.0"),
        ("1658206780088562.25", "1658206780088562.2"),
    ];

    #[test]
    fn every_spelling_has_one_canonical_text() {
        for (spelled, canonical) in VECTORS {
            let got = read(spelled.as_bytes(), Bounds::WIDE).expect("the vector is JSON");
            assert_eq!(text(&got.value), *canonical, "{spelled}");
            let again = read(canonical.as_bytes(), Bounds::WIDE).expect("canonical text is JSON");
            assert_eq!(text(&again.value), *canonical, "canonical text is its own canonical text");
            assert!(again.spelled, "{canonical}");
        }
    }
}
