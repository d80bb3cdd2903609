//! JSON-RPC 2.0: what a parsed value is (request, notification or neither) and how answers are written.
//! Trust: values come from an agent; whatever is wrong with one is an error for it alone.

use super::visible::visible;
use bulkhead_contract::{
    failure::code,
    limits::{MAX_ID_BYTES, MAX_RESPONSE_BYTES},
};
use serde::Serialize;
use serde_json::{Map, Number, Value, json};

/// Id of a request: a string of at most [`MAX_ID_BYTES`] bytes or an integer of 64 bits. `7` and `"7"` differ.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub enum Id {
    /// An integer.
    Number(Number),
    /// A string.
    Text(String),
}

impl Id {
    /// The id, if the value may be one.
    #[must_use]
    pub fn of(value: &Value) -> Option<Id> {
        match value {
            Value::Number(number) if !number.is_f64() => Some(Id::Number(number.clone())),
            Value::String(text) if text.len() <= MAX_ID_BYTES => Some(Id::Text(text.clone())),
            _ => None,
        }
    }

    /// The id as JSON text.
    #[must_use]
    pub fn json(&self) -> String {
        match self {
            Id::Number(number) => number.to_string(),
            Id::Text(text) => text_json(text),
        }
    }
}

impl From<u64> for Id {
    fn from(number: u64) -> Self {
        Id::Number(number.into())
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        Id::Text(text.to_owned())
    }
}

/// A JSON-RPC error object.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct RpcError {
    /// One of [`code`].
    pub code: i64,
    /// For people and agents.
    pub message: String,
    /// For programs.
    pub data: Option<Value>,
}

impl RpcError {
    /// An error whose `data.details` says more.
    pub fn new(code: i64, message: impl Into<String>, details: impl Into<String>) -> Self {
        let details: String = details.into();
        RpcError { code, message: message.into(), data: Some(json!({ "details": details })) }
    }

    /// -32600.
    pub fn invalid_request(details: impl Into<String>) -> Self {
        RpcError::new(code::INVALID_REQUEST, "Invalid request", details)
    }

    /// -32602. The message carries the details too: many hosts show nothing else.
    pub fn invalid_params(details: impl Into<String>) -> Self {
        let details: String = details.into();
        RpcError::new(code::INVALID_PARAMS, format!("Invalid params: {details}"), details)
    }

    /// The error as a JSON value.
    #[must_use]
    pub fn json(&self) -> Value {
        let mut error = Map::new();
        error.insert("code".into(), self.code.into());
        error.insert("message".into(), self.message.as_str().into());
        if let Some(data) = &self.data {
            error.insert("data".into(), data.clone());
        }
        Value::Object(error)
    }
}

/// A request: it gets exactly one answer, unless it is cancelled.
#[derive(Debug)]
pub struct Request {
    /// As sent.
    pub id: Id,
    /// Any string.
    pub method: String,
    /// Whatever was sent; null where nothing was.
    pub params: Value,
}

/// What a value of the stream is.
#[derive(Debug)]
pub enum Message {
    /// Wants an answer.
    Request(Request),
    /// Wants none and gets none, however odd it is.
    Notification {
        /// Any string.
        method: String,
        /// Whatever was sent; null where nothing was.
        params: Value,
    },
    /// Breaks JSON-RPC; answered with the id where it has a readable one.
    Refused(Option<Id>, RpcError),
}

/// Tells what `value` is.
#[must_use]
pub fn classify(value: Value) -> Message {
    let Value::Object(mut object) = value else {
        return Message::Refused(None, RpcError::invalid_request("a message is a JSON object"));
    };
    let id = object.get("id").and_then(Id::of);
    let method = match object.remove("method") {
        Some(Value::String(method)) => method,
        Some(_) => return Message::Refused(id, RpcError::invalid_request("`method` must be a string")),
        // its id is one that we would have chosen, not one that the client waits for
        None if object.contains_key("result") || object.contains_key("error") => {
            return Message::Refused(
                None,
                RpcError::invalid_request("this server sends no requests, so it takes no answers"),
            );
        }
        None => return Message::Refused(id, RpcError::invalid_request("`method` is missing")),
    };
    let params = object.remove("params").unwrap_or(Value::Null);
    if !object.contains_key("id") {
        return Message::Notification { method, params };
    }
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Message::Refused(id, RpcError::invalid_request("`jsonrpc` must be \"2.0\""));
    }
    match id {
        Some(id) => Message::Request(Request { id, method, params }),
        None => Message::Refused(
            None,
            RpcError::invalid_request(format!(
                "`id` must be a string of at most {MAX_ID_BYTES} bytes or a 64-bit integer"
            )),
        ),
    }
}

/// The answer with that result, which is JSON text; an answer over the bound becomes an error that says so.
#[must_use]
pub fn result_line(id: &Id, result: &str) -> String {
    let line = format!("{{\"id\":{},\"jsonrpc\":\"2.0\",\"result\":{result}}}", id.json());
    if line.len() < MAX_RESPONSE_BYTES { line } else { error_line(Some(id), &too_long(line.len() + 1)) }
}

/// The answer with that error. `id` is left out where it is not known: null is no valid id in MCP.
#[must_use]
pub fn error_line(id: Option<&Id>, error: &RpcError) -> String {
    let mut line = json!({ "jsonrpc": "2.0", "error": error.json() });
    if let Some(id) = id {
        line["id"] = json!(id);
    }
    visible(line.to_string())
}

/// The error that stands for an answer over [`MAX_RESPONSE_BYTES`].
#[must_use]
pub fn too_long(serialized: usize) -> RpcError {
    let details = "the answer is longer than one message may be; ask for fewer rows";
    RpcError {
        code: code::INTERNAL,
        message: format!("Internal error: {details}"),
        data: Some(json!({
            "details": details,
            "limitBytes": MAX_RESPONSE_BYTES,
            "retryable": true,
            "serializedBytes": serialized,
        })),
    }
}

/// A string as JSON text.
#[must_use]
pub fn text_json(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(value: Value) -> (Option<Id>, i64) {
        match classify(value) {
            Message::Refused(id, error) => (id, error.code),
            other => panic!("not refused: {other:?}"),
        }
    }

    #[test]
    fn requests_and_notifications_are_told_apart() {
        assert!(matches!(
            classify(json!({"jsonrpc": "2.0", "id": "", "method": "ping", "extra": 1})),
            Message::Request(Request { id: Id::Text(text), .. }) if text.is_empty()
        ));
        for value in
            [json!({"jsonrpc": "2.0", "method": "x"}), json!({"jsonrpc": "1.0", "method": "x"}), json!({"method": "x"})]
        {
            assert!(matches!(classify(value), Message::Notification { .. }));
        }
    }

    #[test]
    fn ids_are_strings_or_integers() {
        for id in [json!(-7), json!(0), json!(u64::MAX), json!(i64::MIN), json!("a".repeat(MAX_ID_BYTES))] {
            assert!(
                matches!(classify(json!({"jsonrpc": "2.0", "id": id, "method": "m"})), Message::Request(_)),
                "{id}"
            );
        }
        let long = json!("a".repeat(MAX_ID_BYTES + 1));
        for id in [json!(null), json!(1.5), json!(1.0), json!(true), json!({}), json!([1]), long, json!(2f64.powi(70))]
        {
            assert_eq!(
                refused(json!({"jsonrpc": "2.0", "id": id, "method": "m"})),
                (None, code::INVALID_REQUEST),
                "{id}"
            );
        }
        assert_ne!(Id::of(&json!(7)), Id::of(&json!("7")));
    }

    #[test]
    fn a_readable_id_is_given_back() {
        let nine = Some(Id::from(9));
        assert_eq!(refused(json!({"jsonrpc": "1.0", "id": 9, "method": "m"})).0, nine);
        assert_eq!(refused(json!({"id": 9, "method": "m"})).0, nine);
        assert_eq!(refused(json!({"jsonrpc": "2.0", "id": 9})).0, nine);
        assert_eq!(refused(json!({"jsonrpc": "2.0", "id": 9, "method": 5})).0, nine);
        assert_eq!(refused(json!({"jsonrpc": "1.0", "id": {"a": 1}, "method": "m"})).0, None);
        for odd in [json!(42), json!("x"), json!(null), json!([])] {
            assert_eq!(refused(odd).0, None);
        }
    }

    #[test]
    fn an_answer_from_the_client_is_refused_without_its_id() {
        assert_eq!(refused(json!({"jsonrpc": "2.0", "id": 9, "result": {}})), (None, code::INVALID_REQUEST));
        assert_eq!(refused(json!({"jsonrpc": "2.0", "id": 9, "error": {}})), (None, code::INVALID_REQUEST));
    }

    #[test]
    fn lines_are_sorted_and_leave_an_unknown_id_out() {
        assert_eq!(result_line(&Id::from("a\n"), "{}"), r#"{"id":"a\n","jsonrpc":"2.0","result":{}}"#);
        let error = RpcError { code: 1, message: "m".into(), data: None };
        assert_eq!(
            error_line(Some(&Id::from(3)), &error),
            r#"{"error":{"code":1,"message":"m"},"id":3,"jsonrpc":"2.0"}"#
        );
        assert_eq!(error_line(None, &error), r#"{"error":{"code":1,"message":"m"},"jsonrpc":"2.0"}"#);
    }

    #[test]
    fn an_answer_over_the_bound_keeps_its_id() {
        let line = result_line(&Id::from(3), &text_json(&"x".repeat(MAX_RESPONSE_BYTES)));
        let value: Value = serde_json::from_str(&line).expect("lines are JSON");
        assert_eq!((&value["id"], &value["error"]["code"]), (&json!(3), &json!(code::INTERNAL)));
        assert_eq!(value["error"]["data"]["retryable"], true);
    }
}
