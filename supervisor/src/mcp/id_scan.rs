//! Finds the top-level `id` of a message that cannot be parsed or kept, so that its sender gets an answer.
//! Trust: nothing; works on any bytes in constant memory and gives an id only where there is exactly one.

use super::jsonrpc::Id;
use bulkhead_contract::limits::MAX_ID_BYTES;

/// Reads a message piece by piece, without keeping it.
#[derive(Debug, Default)]
pub struct IdScan {
    place: Place,
    depth: usize,
    in_string: bool,
    escaped: bool,
    key: Vec<u8>,
    value: Vec<u8>,
    found: Vec<Vec<u8>>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Start,
    Key,
    Colon,
    Value,
    /// Past the object, or past the first byte that cannot stand there.
    Over,
}

/// Every character of an id may be written as an escape of six bytes.
const MAX_RAW_ID: usize = 6 * MAX_ID_BYTES + 2;
const ID_KEY: &[u8] = b"id";

impl IdScan {
    /// The id of a message that is at hand as a whole.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Id> {
        let mut scan = IdScan::default();
        scan.feed(bytes);
        scan.id()
    }

    /// Takes the next piece of the message.
    pub fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if self.place == Place::Over {
                return;
            }
            self.step(byte);
        }
    }

    /// The id, where exactly one complete and valid one was seen.
    #[must_use]
    pub fn id(&self) -> Option<Id> {
        match &self.found[..] {
            [raw] => Id::of(&serde_json::from_slice(raw).ok()?),
            _ => None,
        }
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            return self.step_in_string(byte);
        }
        match (self.place, byte) {
            (_, b' ' | b'\t' | b'\r' | b'\n') => {}
            (Place::Start, b'{') => {
                self.depth = 1;
                self.place = Place::Key;
            }
            (Place::Key, b'"') => {
                self.key.clear();
                self.in_string = true;
            }
            (Place::Colon, b':') => {
                self.value.clear();
                self.place = Place::Value;
            }
            (Place::Value, _) => self.step_in_value(byte),
            _ => self.place = Place::Over,
        }
    }

    fn step_in_value(&mut self, byte: u8) {
        match byte {
            b',' if self.depth == 1 => {
                self.close_value();
                self.place = Place::Key;
                return;
            }
            b'}' if self.depth == 1 => {
                self.close_value();
                self.place = Place::Over;
                return;
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' if self.depth == 1 => return self.place = Place::Over,
            b'}' | b']' => self.depth -= 1,
            b'"' => self.in_string = true,
            _ => {}
        }
        self.keep(byte);
    }

    fn step_in_string(&mut self, byte: u8) {
        let ends = byte == b'"' && !self.escaped;
        self.escaped = byte == b'\\' && !self.escaped;
        self.in_string = !ends;
        match self.place {
            Place::Key if ends => self.place = Place::Colon,
            Place::Key if self.key.len() <= ID_KEY.len() => self.key.push(byte),
            Place::Key => {}
            _ => self.keep(byte),
        }
    }

    /// Keeps a byte of the value of `id`; a value that is too long to be one stays too long to parse as one.
    fn keep(&mut self, byte: u8) {
        if self.key == ID_KEY && self.value.len() <= MAX_RAW_ID {
            self.value.push(byte);
        }
    }

    fn close_value(&mut self) {
        // a second one is enough to know that there is not exactly one
        if self.key == ID_KEY && self.found.len() < 2 {
            self.found.push(std::mem::take(&mut self.value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> Option<String> {
        IdScan::of(text.as_bytes()).map(|id| id.json())
    }

    #[test]
    fn the_id_is_found_wherever_it_stands() {
        for text in [
            r#"{"id":7,"method":"x"}"#,
            r#"{"params":{"id":1,"a":["}",{"id":2}]},"method":"x", "id" : 7 }"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"cut"#,
            r#"{"id":7} trailing"#,
            r#"{"x":"\"id\":9","id":7}"#,
            r#"{"a":1,"id":7,broken"#,
        ] {
            assert_eq!(id(text).as_deref(), Some("7"), "{text}");
        }
        assert_eq!(id(r#"{"id":"a\"b\u00e9"}"#).as_deref(), Some(r#""a\"bé""#));
    }

    #[test]
    fn no_id_is_invented() {
        for text in [
            "",
            "42",
            "[{\"id\":7}]",
            r#"{"id":1,"id":2}"#,
            r#"{"id":null}"#,
            r#"{"id":1.5}"#,
            r#"{"id":[1]}"#,
            r#"{"id":12"#,
            r#"{"id":"cut"#,
            r#"{"params":{"id":1}}"#,
            r#"{id:1}"#,
            r#"{"idx":1}"#,
            r#"{"i":1}"#,
            r#"{"id":1]"#,
        ] {
            assert_eq!(id(text), None, "{text}");
        }
        assert_eq!(id(&format!("{{\"id\":\"{}\"}}", "a".repeat(MAX_ID_BYTES + 1))), None);
        assert_eq!(id(&format!("{{\"id\":\"{}\"}}", "a".repeat(MAX_ID_BYTES * 8))), None);
    }

    #[test]
    fn pieces_make_no_difference() {
        let text = br#"{"params":{"a":"\\\"","b":[[]]},"id":"x","method":"m"}"#;
        for cut in 0..text.len() {
            let mut scan = IdScan::default();
            scan.feed(&text[..cut]);
            scan.feed(&text[cut..]);
            assert_eq!(scan.id().map(|id| id.json()).as_deref(), Some("\"x\""), "cut at {cut}");
        }
    }

    #[test]
    fn memory_stays_constant() {
        let mut scan = IdScan::default();
        scan.feed(br#"{"id":""#);
        for _ in 0..1024 {
            scan.feed(&[b'a'; 4096]);
        }
        assert!(scan.value.capacity() <= 4 * MAX_RAW_ID);
        assert_eq!(scan.id(), None);
    }
}
