//! Status rows in one form, whether they come from `git status --porcelain=v1 -z` or from an answer of the server.
//! Trust: test code; paths of answers are turned back into bytes, so that a lossy one cannot compare equal.

use serde_json::Value;

/// One changed path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row {
    /// Path as bytes, shown escaped.
    pub path: Bytes,
    /// Two columns.
    pub status: String,
    /// Old path of a rename.
    pub orig: Option<Bytes>,
}

/// Bytes of a path that print readably in a failed assertion.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub Vec<u8>);

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

/// The rows of `git status --porcelain=v1 -z`.
pub fn from_porcelain(text: &[u8]) -> Vec<Row> {
    let mut fields = text.split(|byte| *byte == 0).filter(|field| !field.is_empty());
    let mut rows = Vec::new();
    while let Some(field) = fields.next() {
        let (columns, path) = field.split_at(3);
        let status = String::from_utf8_lossy(&columns[..2]).into_owned();
        let orig = status.contains(['R', 'C']).then(|| Bytes(fields.next().expect("an old path follows").to_vec()));
        rows.push(Row { path: Bytes(path.to_vec()), status, orig });
    }
    rows
}

/// The rows of a list in an answer.
pub fn from_answer(list: &Value) -> Vec<Row> {
    let rows = list.as_array().expect("a list of rows");
    rows.iter()
        .map(|row| Row {
            status: row["status"].as_str().expect("a status").to_owned(),
            path: path_bytes(row, "path").expect("a path"),
            orig: path_bytes(row, "origPath"),
        })
        .collect()
}

/// The bytes of a path field, undone from the escaped form where its sibling says so.
pub fn path_bytes(row: &Value, field: &str) -> Option<Bytes> {
    let text = row[field].as_str()?;
    let escaped = row[format!("{field}Encoding")].as_str() == Some("escaped");
    let encoding = escaped.then_some(bulkhead_contract::path::PathEncoding::Escaped);
    Some(Bytes(bulkhead_contract::path::bytes_of(text, encoding).expect("an escape that the contract allows")))
}

/// The same rows in an order that does not depend on who listed them.
pub fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort();
    rows
}
