//! Reads one JSON text strictly: a key twice, a number out of range, deep nesting or trailing bytes are refused.
//! Trust: none; the bytes may come from anybody, their length is bounded before the first is looked at.

use super::number;
use crate::limits::{MAX_JSON_DEPTH, MAX_JSON_VALUES};
use serde_json::{Map, Number, Value};
use thiserror::Error;

/// How much [`read`] takes.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Bytes of the text.
    pub bytes: usize,
    /// Arrays and objects inside each other; the reader recurses this deep.
    pub depth: usize,
    /// Values of all kinds and levels; each takes some hundred bytes of memory, however short its text.
    pub values: usize,
}

impl Bounds {
    /// As much as a message of a client may have.
    pub const WIDE: Self = Self { bytes: 8 * 1024 * 1024, depth: MAX_JSON_DEPTH, values: MAX_JSON_VALUES };
}

/// Why a text was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReadError {
    /// More bytes than [`Bounds::bytes`].
    #[error("{length} bytes, the bound is {bound}")]
    TooLong {
        /// Bytes of the text.
        length: usize,
        /// Bytes allowed.
        bound: usize,
    },
    /// More levels than [`Bounds::depth`].
    #[error("nested deeper than {0} levels")]
    TooDeep(usize),
    /// More values than [`Bounds::values`].
    #[error("more than {0} values")]
    TooMany(usize),
    /// A key twice in one object: two readers could see two different values. At most 64 characters of it are kept.
    #[error("the key {0:?} occurs twice in one object")]
    DuplicateKey(String),
    /// A number whose magnitude is beyond what an `f64` holds.
    #[error("a number out of range at byte {0}")]
    NumberRange(usize),
    /// Not JSON; the offset of the byte that cannot stand there.
    #[error("not JSON at byte {0}")]
    Syntax(usize),
    /// Not UTF-8; the offset of the first bad byte.
    #[error("not UTF-8 at byte {0}")]
    Encoding(usize),
}

/// What was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// The value.
    pub value: Value,
    /// Whether every string and every number was spelled as the canonical form spells it. Order of members and
    /// whitespace do not count: they are layout, which a hash of the canonical form leaves free on purpose.
    pub spelled: bool,
}

/// Reads one JSON text that fills `bytes`; whitespace around it is allowed.
///
/// # Errors
/// [`ReadError`]; the first fault that is met.
pub fn read(bytes: &[u8], bounds: Bounds) -> Result<Read, ReadError> {
    if bytes.len() > bounds.bytes {
        return Err(ReadError::TooLong { length: bytes.len(), bound: bounds.bytes });
    }
    let text = std::str::from_utf8(bytes).map_err(|fault| ReadError::Encoding(fault.valid_up_to()))?;
    let mut reader = Reader { text, at: 0, depth: 0, values: 0, bounds, spelled: true };
    let value = reader.value()?;
    reader.space();
    if reader.at < text.len() {
        return Err(ReadError::Syntax(reader.at));
    }
    Ok(Read { value, spelled: reader.spelled })
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    values: usize,
    bounds: Bounds,
    spelled: bool,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn fault<T>(&self) -> Result<T, ReadError> {
        Err(ReadError::Syntax(self.at))
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// The next byte after whitespace must be `byte`.
    fn expect(&mut self, byte: u8) -> Result<(), ReadError> {
        self.space();
        if self.peek() != Some(byte) {
            return self.fault();
        }
        self.at += 1;
        Ok(())
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, ReadError> {
        if !self.text[self.at..].starts_with(word) {
            return self.fault();
        }
        self.at += word.len();
        Ok(value)
    }

    fn value(&mut self) -> Result<Value, ReadError> {
        if self.values == self.bounds.values {
            return Err(ReadError::TooMany(self.bounds.values));
        }
        self.values += 1;
        self.space();
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => self.string().map(Value::String),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.fault(),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Value, ReadError>) -> Result<Value, ReadError> {
        if self.depth == self.bounds.depth {
            return Err(ReadError::TooDeep(self.bounds.depth));
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    /// After one item: whether another follows, `end` closing the list otherwise.
    fn more(&mut self, end: u8) -> Result<bool, ReadError> {
        self.space();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte == end => {
                self.at += 1;
                Ok(false)
            }
            _ => self.fault(),
        }
    }

    /// Whether the list ends before its first item.
    fn empty(&mut self, end: u8) -> bool {
        self.space();
        let ends = self.peek() == Some(end);
        self.at += usize::from(ends);
        ends
    }

    fn array(&mut self) -> Result<Value, ReadError> {
        let mut items = Vec::new();
        if !self.empty(b']') {
            loop {
                items.push(self.value()?);
                if !self.more(b']')? {
                    break;
                }
            }
        }
        Ok(Value::Array(items))
    }

    fn object(&mut self) -> Result<Value, ReadError> {
        let mut map = Map::new();
        if !self.empty(b'}') {
            loop {
                self.space();
                if self.peek() != Some(b'"') {
                    return self.fault();
                }
                let key = self.string()?;
                if map.contains_key(&key) {
                    return Err(ReadError::DuplicateKey(key.chars().take(64).collect()));
                }
                self.expect(b':')?;
                let value = self.value()?;
                map.insert(key, value);
                if !self.more(b'}')? {
                    break;
                }
            }
        }
        Ok(Value::Object(map))
    }

    fn string(&mut self) -> Result<String, ReadError> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(stop) = rest.bytes().position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') else {
                self.at = self.text.len();
                return self.fault();
            };
            out.push_str(&rest[..stop]);
            self.at += stop;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => self.escape(&mut out)?,
                _ => return self.fault(),
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<(), ReadError> {
        let from = self.at;
        self.at += 1;
        let short = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => Some(char::from(byte)),
            Some(b'b') => Some('\u{8}'),
            Some(b'f') => Some('\u{c}'),
            Some(b'n') => Some('\n'),
            Some(b'r') => Some('\r'),
            Some(b't') => Some('\t'),
            Some(b'u') => None,
            _ => return self.fault(),
        };
        self.at += 1;
        let of = short.map_or_else(|| self.code_point(), Ok)?;
        out.push(of);
        let mut canonical = String::with_capacity(8);
        super::string(of.encode_utf8(&mut [0; 4]), &mut canonical);
        self.spelled &= canonical[1..canonical.len() - 1] == self.text[from..self.at];
        Ok(())
    }

    /// Four hex digits after `\u`, and the other half where they are a high surrogate; a lone half is refused.
    fn code_point(&mut self) -> Result<char, ReadError> {
        let first = self.unit()?;
        let code = match first {
            0xd800..=0xdbff => {
                if !self.text[self.at..].starts_with("\\u") {
                    return self.fault();
                }
                self.at += 2;
                let low = self.unit()?;
                if !(0xdc00..=0xdfff).contains(&low) {
                    return self.fault();
                }
                0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00)
            }
            other => other,
        };
        char::from_u32(code).map_or_else(|| self.fault(), Ok)
    }

    fn unit(&mut self) -> Result<u32, ReadError> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4);
        let digits = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let Some(unit) = digits.and_then(|digits| u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok())
        else {
            return self.fault();
        };
        self.at += 4;
        Ok(unit)
    }

    fn digits(&mut self) -> Result<(), ReadError> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return self.fault();
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Value, ReadError> {
        let from = self.at;
        let negative = self.peek() == Some(b'-');
        self.at += usize::from(negative);
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        let whole = self.at;
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let text = &self.text[from..self.at];
        let integer = if whole < self.at || text == "-0" {
            None
        } else if negative {
            text.parse::<i64>().ok().map(Number::from)
        } else {
            text.parse::<u64>().ok().map(Number::from)
        };
        // the standard library rounds correctly; a reader that does not would hash a neighbouring number
        let float = || text.parse::<f64>().ok().and_then(Number::from_f64);
        let number = integer.or_else(float).ok_or(ReadError::NumberRange(from))?;
        let mut canonical = String::new();
        number::write(&number, &mut canonical);
        self.spelled &= canonical == text;
        Ok(Value::Number(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> ReadError {
        read(text.as_bytes(), Bounds { bytes: 100, depth: 3, values: 9 }).expect_err("the text is refused")
    }

    #[test]
    fn what_two_readers_could_read_differently_is_refused() {
        assert_eq!(fault(r#"{"a":1,"a":1}"#), ReadError::DuplicateKey("a".into()));
        assert_eq!(fault(r#"{"x":[{"é":1,"\u00e9":2}]}"#), ReadError::DuplicateKey("é".into()));
        assert_eq!(fault("[1e400]"), ReadError::NumberRange(1));
        assert_eq!(fault("[[[[]]]]"), ReadError::TooDeep(3));
        assert_eq!(fault("[0,[0,{\"a\":0}],0,0,0,0]"), ReadError::TooMany(9));
        let long = "k".repeat(40);
        assert_eq!(fault(&format!("{{\"{long}\":1,\"{long}\":2}}")), ReadError::DuplicateKey(long));
        assert_eq!(fault(&" ".repeat(101)), ReadError::TooLong { length: 101, bound: 100 });
        assert_eq!(read(b"\"\xff\"", Bounds::WIDE).expect_err("bad UTF-8"), ReadError::Encoding(1));
    }

    #[test]
    fn what_is_not_json_is_refused_where_it_stops_being_it() {
        let faults = [
            ("", 0),
            ("{", 1),
            ("[1,]", 3),
            ("{\"a\":1,}", 7),
            ("{a:1}", 1),
            ("[1 2]", 3),
            ("1 1", 2),
            ("01", 1),
            ("-", 1),
            ("1.", 2),
            (".5", 0),
            ("1e", 2),
            ("+1", 0),
            ("NaN", 0),
            ("nul", 0),
            ("\"\\x\"", 2),
            ("\"\\u12g4\"", 3),
            ("\"\\ud800\"", 7),
            ("\"\\ud800\\u0041\"", 13),
            ("\"\\udc00\"", 7),
            ("\"a", 2),
            ("\"\n\"", 1),
            ("\u{feff}1", 0),
            ("\u{b}1", 0),
            ("'a'", 0),
            ("[1]x", 3),
        ];
        for (text, at) in faults {
            assert_eq!(fault(text), ReadError::Syntax(at), "{text:?}");
        }
    }

    #[test]
    fn spelling_is_told_from_layout() {
        let spelled = |text: &str| read(text.as_bytes(), Bounds::WIDE).expect("JSON").spelled;
        assert!(spelled("{ \"b\" : 1.5 ,\r\n \"a\" : \"\\u001f\\n/é\" }"), "order and whitespace are layout");
        for other in ["\"\\u001F\"", "\"\\u000a\"", "\"\\/\"", "\"\\u00e9\"", "1E+16", "1e16", "1.50", "10e-1", "-0"] {
            assert!(!spelled(other), "{other}");
        }
    }

    #[test]
    fn what_is_read_is_what_serde_json_reads() {
        for text in [r#"{"a":[1,-1,2.5,true,null,"x\ud83d\ude00"],"b":{"c":{}}}"#, "[]", "\"\"", "-1e-3"] {
            let other: Value = serde_json::from_str(text).expect("JSON");
            assert_eq!(read(text.as_bytes(), Bounds::WIDE).expect("JSON").value, other);
        }
    }
}
