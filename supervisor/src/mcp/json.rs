//! The text of a message to a JSON value: stricter than JSON, because two readers of one message must agree on it.
//! Trust: nothing; the bytes are bounded by the framing, depth and number of values are bounded here.

use super::{
    id_scan::IdScan,
    jsonrpc::{Id, RpcError},
};
use bulkhead_contract::{
    args::shown,
    failure::code,
    limits::{MAX_JSON_DEPTH, MAX_JSON_VALUES},
};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::{cell::Cell, fmt};

/// A text that is no message, with the id of the one who waits for an answer to it, where it could be read.
#[derive(Debug)]
pub struct Unreadable {
    /// Id of the request.
    pub id: Option<Id>,
    /// -32700 where it is not JSON (nesting deeper than [`MAX_JSON_DEPTH`] included), -32600 where it breaks our rules.
    pub error: RpcError,
}

/// Reads one message. Duplicate keys, a byte order mark, invalid UTF-8, trailing bytes, deep nesting and masses of
/// values are refused.
///
/// # Errors
/// [`Unreadable`].
pub fn parse(bytes: &[u8]) -> Result<Value, Unreadable> {
    let left = Cell::new(MAX_JSON_VALUES);
    let mut text = serde_json::Deserializer::from_slice(bytes);
    let value = Strict { left: &left, depth: 0 }.deserialize(&mut text).and_then(|value| text.end().map(|()| value));
    value.map_err(|error| Unreadable {
        id: IdScan::of(bytes),
        error: if error.is_data() {
            RpcError::invalid_request(error.to_string())
        } else {
            RpcError::new(code::PARSE_ERROR, "Parse error", error.to_string())
        },
    })
}

#[derive(Clone, Copy)]
struct Strict<'a> {
    left: &'a Cell<usize>,
    depth: usize,
}

impl Strict<'_> {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        // the parser has the same bound; this one holds should its own ever change
        if self.depth == MAX_JSON_DEPTH {
            return Err(E::custom(format_args!("nested deeper than {MAX_JSON_DEPTH} levels")));
        }
        Ok(Strict { depth: self.depth + 1, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self.left.get().checked_sub(1) {
            Some(left) => self.left.set(left),
            None => return Err(D::Error::custom(format_args!("more than {MAX_JSON_VALUES} values in one message"))),
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(inner)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format_args!("the key `{}` stands twice in one object", shown(&key))));
            }
            let value = members.next_value_seed(inner)?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(bytes: &[u8]) -> (i64, Option<Id>) {
        let unreadable = parse(bytes).expect_err("the text is refused");
        (unreadable.error.code, unreadable.id)
    }

    #[test]
    fn plain_json_is_read_as_it_stands() {
        let text = r#"{"a":[1,-2,1.5,1e3,true,null,"é\u0041"],"b":{"a":{}},"c":18446744073709551615}"#;
        let expected: Value = serde_json::from_str(text).expect("the sample is JSON");
        assert_eq!(parse(text.as_bytes()).expect("the sample is plain"), expected);
        assert_eq!(parse(b" [ ] ").expect("white space is fine"), json!([]));
    }

    #[test]
    fn what_is_not_json_is_a_parse_error() {
        let cases: [&[u8]; 9] = [
            b"",
            b"hello",
            b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
            b"{\"id\":\"\\ud800\",\"method\":\"ping\"}",
            b"\x00\x01\x02",
            b"NaN",
            b"{\"a\":1,}",
            b"[1e999]",
            b"{\"a\":\"\n\"}",
        ];
        for case in cases {
            assert_eq!(refused(case), (code::PARSE_ERROR, None), "{case:?}");
        }
    }

    #[test]
    fn the_id_survives_what_is_wrong_elsewhere() {
        let one = Some(Id::from(1));
        assert_eq!(
            refused(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\xffng\"}"),
            (code::PARSE_ERROR, one.clone())
        );
        assert_eq!(refused(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} x"), (code::PARSE_ERROR, one.clone()));
        assert_eq!(refused(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\0"), (code::PARSE_ERROR, one.clone()));
        assert_eq!(refused(b"{\"id\":1,\"method\":\"a\",\"method\":\"b\"}"), (code::INVALID_REQUEST, one));
    }

    #[test]
    fn duplicate_keys_are_refused_at_every_level() {
        assert_eq!(refused(b"{\"id\":1,\"id\":2,\"method\":\"ping\"}"), (code::INVALID_REQUEST, None));
        assert_eq!(refused(b"{\"id\":1,\"params\":{\"a\":[{\"x\":1,\"\\u0078\":2}]}}").0, code::INVALID_REQUEST);
    }

    #[test]
    fn nesting_is_bounded_exactly() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse(nested(MAX_JSON_DEPTH).as_bytes()).is_ok());
        assert_eq!(refused(nested(MAX_JSON_DEPTH + 1).as_bytes()), (code::PARSE_ERROR, None));
        let message = format!("{{\"id\":3,\"method\":\"x\",\"params\":{}}}", nested(200_000));
        assert_eq!(refused(message.as_bytes()), (code::PARSE_ERROR, Some(Id::from(3))));
    }

    #[test]
    fn the_number_of_values_is_bounded() {
        let many = |items: usize| format!("[{}0]", "0,".repeat(items - 1));
        assert!(parse(many(MAX_JSON_VALUES - 1).as_bytes()).is_ok());
        assert_eq!(refused(many(MAX_JSON_VALUES).as_bytes()).0, code::INVALID_REQUEST);
    }
}
