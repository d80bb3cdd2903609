//! Whether a result type and its tool's rows say the same: every key has a row, every row a key, every value its shape.
//! Trust: test code over our own types.

use crate::{
    results::Partial,
    tool::{Field, Shape, Tool},
};
use serde_json::Value;
use std::collections::BTreeSet;

/// Fails where a value and its rows differ: a key without a row, a row without a key, a value of another shape.
fn agrees(at: &str, shape: &Shape, value: &Value) {
    match shape {
        Shape::Text => assert!(value.is_string(), "{at}: {value}"),
        Shape::Count => assert!(value.is_u64(), "{at}: {value}"),
        Shape::Integer => assert!(value.is_i64(), "{at}: {value}"),
        Shape::Any(_) => {}
        Shape::NullableObject(_) if value.is_null() => {}
        Shape::Boolean => assert!(value.is_boolean(), "{at}: {value}"),
        Shape::OneOf(words) => assert!(value.as_str().is_some_and(|w| words.contains(&w)), "{at}: {value}"),
        Shape::Nullable(_) => assert!(!value.is_object() && !value.is_array(), "{at}: {value}"),
        Shape::List(item) => {
            let items = value.as_array().expect("a list shape holds a list");
            assert!(!items.is_empty(), "{at}: the sample is empty and proves nothing");
            items.iter().for_each(|one| agrees(&format!("{at}[]"), item, one));
        }
        Shape::Object(fields) | Shape::NullableObject(fields) => {
            let object = value.as_object().expect("an object shape holds an object");
            let keys: BTreeSet<_> = object.keys().map(String::as_str).collect();
            let rows: BTreeSet<_> = fields.iter().map(|field| field.name).collect();
            assert_eq!(keys, rows, "{at}");
            fields.iter().for_each(|f| agrees(&format!("{at}.{}", f.name), &f.shape, &object[f.name]));
        }
    }
}

/// Fails where a field that the rows call required may be left out of the JSON.
fn required_stay(at: &str, fields: &[Field], value: &Value) {
    let object = value.as_object().expect("an object shape holds an object");
    for field in fields {
        let Some(inner) = object.get(field.name) else {
            assert!(field.optional, "{at}.{} may be absent", field.name);
            continue;
        };
        assert!(!field.optional, "{at}.{} is there in the poorest value", field.name);
        match (&field.shape, inner) {
            (Shape::NullableObject(_), Value::Null) => {}
            (Shape::Object(rows) | Shape::NullableObject(rows), _) => required_stay(field.name, rows, inner),
            (Shape::List(Shape::Object(rows)), Value::Array(items)) => {
                items.iter().for_each(|one| required_stay(field.name, rows, one));
            }
            _ => {}
        }
    }
}

/// `rich` has every optional field and no empty list; `poor` lacks every optional field.
pub(super) fn both(tool: &Tool, rich: &impl serde::Serialize, poor: &impl serde::Serialize) {
    let json = |value| serde_json::to_value(value).expect("results serialise");
    agrees(tool.name, &Shape::Object(tool.data), &serde_json::to_value(rich).expect("results serialise"));
    required_stay(tool.name, tool.data, &json(poor));
}

/// A `partial` for values that have every optional field.
pub(super) fn partial() -> Option<Partial> {
    Some(Partial { reason: "deadline".into(), details: "cut".into() })
}
