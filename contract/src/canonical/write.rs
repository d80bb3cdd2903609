//! Writes values in canonical form.
//! Trust: values of any origin; writing cannot fail and looks at nothing else.

use super::number;
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// Appends the canonical text of `value`.
pub fn value(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(of) => number::write(of, out),
        Value::String(text) => string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                self::value(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => members(map, &[], out),
    }
}

/// Appends the canonical text of an object, leaving out those of its own members that `without` names.
///
/// Hashes and signatures of audit entries cover an entry without some of its members.
pub fn members(map: &Map<String, Value>, without: &[&str], out: &mut String) {
    let mut rows: Vec<(&String, &Value)> = map.iter().filter(|(key, _)| !without.contains(&key.as_str())).collect();
    // a map that keeps the order of insertion is a feature of serde_json that some other crate may switch on
    if !rows.is_sorted_by(|one, other| one.0.as_bytes() <= other.0.as_bytes()) {
        rows.sort_unstable_by(|one, other| one.0.as_bytes().cmp(other.0.as_bytes()));
    }
    out.push('{');
    for (index, (key, of)) in rows.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        string(key, out);
        out.push(':');
        value(of, out);
    }
    out.push('}');
}

/// Appends a string with its quotes; only what must be escaped is.
pub fn string(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
        out.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            control => {
                let _ = write!(out, "\\u{control:04x}");
            }
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out.push('"');
}
