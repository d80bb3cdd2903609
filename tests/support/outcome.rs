//! How one `tools/call` ended, whichever way the era carries it.
//! Trust: the message has passed [`super::server`]'s checks of JSON-RPC; everything beyond that is looked at here.

use serde_json::Value;
use std::time::Duration;

/// The answer to one `tools/call`.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The whole JSON-RPC message.
    pub message: Value,
    /// Bytes of its line.
    pub bytes: usize,
    /// From sending the request to receiving the answer.
    pub elapsed: Duration,
}

impl Outcome {
    /// Whether the tool answered without an error.
    pub fn is_ok(&self) -> bool {
        self.message.get("error").is_none() && self.message["result"]["isError"] == Value::Bool(false)
    }

    /// What the tool answered: the same in `structuredContent` and in the text.
    ///
    /// # Panics
    /// When the two differ, or when this is a JSON-RPC error.
    pub fn payload(&self) -> &Value {
        let result = self.message.get("result").unwrap_or_else(|| panic!("a result expected: {}", self.message));
        let structured = result.get("structuredContent").expect("this era has structured content");
        let text = result["content"][0]["text"].as_str().expect("one text block");
        let parsed: Value = serde_json::from_str(text).expect("the text is JSON");
        assert_eq!(&parsed, structured, "text and structured content differ");
        structured
    }

    /// Characters of the payload's text.
    pub fn characters(&self) -> usize {
        self.message["result"]["content"][0]["text"].as_str().map_or(0, |text| text.chars().count())
    }

    /// The `data` member of a good answer.
    ///
    /// # Panics
    /// When the tool answered an error.
    pub fn data(&self) -> &Value {
        assert!(self.is_ok(), "the tool answered an error: {}", self.message);
        &self.payload()["data"]
    }

    /// The error object: of JSON-RPC, or of the tool.
    pub fn error(&self) -> Option<&Value> {
        self.message.get("error").or_else(|| {
            let result = &self.message["result"];
            (result["isError"] == Value::Bool(true)).then(|| &self.payload()["error"])
        })
    }

    /// Its code.
    pub fn code(&self) -> Option<i64> {
        self.error().map(|error| error["code"].as_i64().unwrap_or_else(|| panic!("a code expected: {error}")))
    }

    /// Why a local read failed, for example `redirected`.
    pub fn reason(&self) -> Option<&str> {
        self.error().and_then(|error| error["data"]["reason"].as_str())
    }

    /// Says that the call was refused for one of these reasons; `outside-roots` stands for code -32011 too.
    ///
    /// # Panics
    /// When it was not.
    pub fn expect_refused(&self, what: &str, reasons: &[&str]) {
        let outside = self.code() == Some(-32011) && reasons.contains(&"outside-roots");
        let named = self.reason().is_some_and(|reason| reasons.contains(&reason));
        assert!(outside || named, "{what}: refused with {reasons:?} expected, not {}", self.message);
    }
}
