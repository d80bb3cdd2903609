//! The columns of a table, from the statement that made it.
//! Trust: hostile text; what is not understood makes the table an unknown one.

/// Where a column's value is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It is the row's own number.
    Rowid,
    /// In the record, from 0 on.
    At(usize),
    /// The table has no such column.
    Nowhere,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name, unquoted.
    pub name: String,
    /// It is another name of the row's number, and the record holds nothing for it.
    pub is_rowid: bool,
}

/// The columns in the order of the record; `None` for a statement that is not understood, a table without rowid, and one
/// with computed columns, which records leave out.
pub fn names(statement: &str) -> Option<Vec<Column>> {
    let open = statement.find('(')?;
    let (parts, rest) = parts(&statement[open + 1..])?;
    let rest = rest.to_ascii_uppercase();
    if rest.contains("WITHOUT") || !statement[..open].to_ascii_uppercase().trim_start().starts_with("CREATE TABLE") {
        return None;
    }
    let mut columns = Vec::new();
    for part in parts {
        let words: Vec<String> = words(part).collect();
        let first = words.first()?;
        let upper: Vec<String> = words.iter().skip(1).map(|word| word.to_ascii_uppercase()).collect();
        let quoted = part.trim_start().starts_with(['"', '`', '[', '\'']);
        let constraint = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"];
        if !quoted && constraint.contains(&first.to_ascii_uppercase().as_str()) {
            continue;
        }
        if upper.iter().any(|word| word == "GENERATED")
            || upper.windows(2).any(|pair| pair[0] == "AS" && pair[1] == "(")
        {
            return None;
        }
        let is_integer = upper.first().is_some_and(|word| word == "INTEGER");
        let is_key = upper.windows(2).any(|pair| pair == ["PRIMARY", "KEY"]);
        let is_descending = upper.windows(3).any(|pair| pair == ["PRIMARY", "KEY", "DESC"]);
        columns.push(Column { name: first.clone(), is_rowid: is_integer && is_key && !is_descending });
    }
    (!columns.is_empty()).then_some(columns)
}

/// The parts between commas up to the closing parenthesis, and what follows it.
fn parts(text: &str) -> Option<(Vec<&str>, &str)> {
    let mut parts = Vec::new();
    let (mut depth, mut begin) = (0_u32, 0);
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => {
                parts.push(&text[begin..at]);
                return Some((parts, &text[at + 1..]));
            }
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            '"' | '\'' | '`' => _ = chars.find(|(_, other)| *other == c)?,
            '[' => _ = chars.find(|(_, other)| *other == ']')?,
            _ => {}
        }
    }
    None
}

/// Words and parentheses, quoted names without their quotes.
fn words(part: &str) -> impl Iterator<Item = String> {
    let mut words = Vec::new();
    let mut rest = part.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, after) = match first {
            '"' | '`' | '\'' => quoted(rest, first),
            '[' => quoted(rest, ']'),
            '(' | ')' => (first.to_string(), &rest[1..]),
            _ => {
                let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '(' | ')')).unwrap_or(rest.len());
                (rest[..end].to_owned(), &rest[end..])
            }
        };
        words.push(word);
        rest = after.trim_start();
    }
    words.into_iter()
}

fn quoted(text: &str, end: char) -> (String, &str) {
    let inner = &text[1..];
    match inner.find(end) {
        Some(at) => (inner[..at].to_owned(), &inner[at + end.len_utf8()..]),
        None => (inner.to_owned(), ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(statement: &str) -> Option<Vec<(String, bool)>> {
        Some(names(statement)?.into_iter().map(|column| (column.name, column.is_rowid)).collect())
    }

    #[test]
    fn columns_are_named_in_order_and_constraints_are_none() {
        let statement = "CREATE TABLE \"t\" (\n id integer PRIMARY KEY AUTOINCREMENT, `a b` TEXT DEFAULT ',)',\n [c] DECIMAL(10, 2)
            REFERENCES x(y), updated_at INTEGER NOT NULL CHECK (updated_at > 0), CONSTRAINT k UNIQUE (c), PRIMARY KEY(c))";
        let wanted = [("id", true), ("a b", false), ("c", false), ("updated_at", false)];
        assert_eq!(of(statement), Some(wanted.map(|(name, is)| (name.to_owned(), is)).to_vec()));
        assert_eq!(of("CREATE TABLE t(id INT PRIMARY KEY)"), Some(vec![("id".into(), false)]));
        assert_eq!(of("CREATE TABLE t(\"primary\" TEXT)"), Some(vec![("primary".into(), false)]));
    }

    #[test]
    fn what_is_not_understood_is_nothing() {
        for odd in [
            "",
            "CREATE TABLE t",
            "CREATE TABLE t(a",
            "CREATE TABLE t()",
            "CREATE TABLE t(a 'x)",
            "CREATE TABLE t(a PRIMARY KEY) WITHOUT ROWID",
            "CREATE TABLE t(a, b AS (a + 1))",
            "CREATE TABLE t(a, b INT GENERATED ALWAYS AS (a) STORED)",
            "CREATE VIRTUAL TABLE t USING fts5(a)",
        ] {
            assert_eq!(of(odd), None, "{odd}");
        }
    }
}
