//! Canonical JSON and digests of it: the one text form under which arguments and paths are known to logs and memory.
//! Trust: values may be the caller's; they are only written out.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Compact JSON, keys of every object sorted by their bytes (contract `audit.md`, *Canonical JSON*).
///
/// Rests on `serde_json` keeping objects sorted, which its feature `preserve_order` would end; a test watches that.
#[must_use]
pub fn text(value: &Value) -> String {
    value.to_string()
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

/// `sha256:<64 hex digits>` over the canonical text of one value.
#[must_use]
pub fn label(value: &Value) -> String {
    use std::fmt::Write as _;
    let mut out = String::from("sha256:");
    for byte in Sha256::digest(text(value).as_bytes()) {
        let _ = write!(out, "{byte:02x}");
    }
    out
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
    }

    #[test]
    fn digests_tell_values_apart() {
        assert_ne!(digest([&json!("a"), &json!("b")]), digest([&json!("ab")]));
        assert_eq!(digest([&json!({"a": 1, "b": 2})]), digest([&json!({"b": 2, "a": 1})]));
    }
}
