//! One server in a TOML file, put in or taken out with everything else left as it was written.
//! Trust: the file may be a hostile project's; the parser bounds its nesting, and what comes out is parsed again and compared.

use super::entry::Entry;
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};

/// The table of servers.
const SERVERS: &str = "mcp_servers";

/// The text with the server `name` in it.
///
/// # Errors
/// The text does not parse, or is not of the form that the host reads; one sentence that says where.
pub fn put(text: &str, name: &str, entry: &Entry) -> Result<String, String> {
    let lines = Lines::of(text)?;
    let mut document = parsed(&lines.text)?;
    if !document.contains_key(SERVERS) {
        let mut servers = Table::new();
        servers.set_implicit(true);
        document.insert(SERVERS, Item::Table(servers));
    }
    let empty = document.len() == 1 && lines.text.trim().is_empty();
    let servers = table(&mut document, SERVERS)?.ok_or("no table of servers could be made")?;
    match servers.get_mut(name) {
        Some(there) => {
            let there = there.as_table_like_mut().ok_or_else(|| format!("{SERVERS}.{name} in it is not a table"))?;
            set(there, "command", Value::from(entry.command.as_str()));
            set(there, "args", Value::Array(entry.args.iter().map(String::as_str).collect::<Array>()));
        }
        None => {
            let mut server = Table::new();
            set(&mut server, "command", Value::from(entry.command.as_str()));
            set(&mut server, "args", Value::Array(entry.args.iter().map(String::as_str).collect::<Array>()));
            if !empty {
                server.decor_mut().set_prefix("\n");
            }
            servers.insert(name, Item::Table(server));
        }
    }
    checked(&lines, &document.to_string(), name)
}

/// The text without the server `name`; `None` where it is not in it.
///
/// # Errors
/// As [`put`].
pub fn take(text: &str, name: &str) -> Result<Option<String>, String> {
    let lines = Lines::of(text)?;
    let mut document = parsed(&lines.text)?;
    let Some(servers) = table(&mut document, SERVERS)? else { return Ok(None) };
    let Some(removed) = servers.remove(name) else { return Ok(None) };
    // what stands above our header was written about something else, or by somebody else
    if let Some(table) = removed.as_table() {
        keep(&mut document, table);
    }
    checked(&lines, &document.to_string(), name).map(Some)
}

fn parsed(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|e: toml_edit::TomlError| {
        let place = e.span().map_or_else(String::new, |span| {
            let before = &text.as_bytes()[..span.start.min(text.len())];
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            format!(" on line {line}")
        });
        format!(
            "it is not TOML: {}{place}; repair it there and try again",
            e.message().lines().next().unwrap_or_default()
        )
    })
}

fn table<'d>(document: &'d mut DocumentMut, name: &str) -> Result<Option<&'d mut dyn TableLike>, String> {
    match document.get_mut(name) {
        None => Ok(None),
        Some(item) => item.as_table_like_mut().map(Some).ok_or_else(|| format!("{name} in it is not a table")),
    }
}

/// Sets a value, where it is another, with what stands around the old one.
fn set(table: &mut dyn TableLike, key: &str, mut value: Value) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(there) if same(there, &value) => {}
        Some(there) => {
            *value.decor_mut() = there.decor().clone();
            *there = value;
        }
        None => drop(table.insert(key, Item::Value(value))),
    }
}

/// Whether two values say the same; only texts and lists of texts are compared.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::String(one), Value::String(other)) => one.value() == other.value(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        _ => false,
    }
}

/// Comments above a table that was taken out go to what follows it.
fn keep(document: &mut DocumentMut, removed: &Table) {
    let above = removed.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
    if !above.contains('#') {
        return;
    }
    let (above, position) = (above.trim_end_matches('\n').to_owned() + "\n", removed.position().unwrap_or(isize::MAX));
    match next(document.as_table_mut(), position) {
        Some(table) => {
            let own = table.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default().to_owned();
            table.decor_mut().set_prefix(above + &own);
        }
        None => {
            let own = document.trailing().as_str().unwrap_or_default().to_owned();
            document.set_trailing(above + &own);
        }
    }
}

/// The table with a header of its own that is the first behind `position`.
fn next(table: &mut Table, position: isize) -> Option<&mut Table> {
    fn walk<'t>(table: &'t mut Table, position: isize, best: &mut Option<&'t mut Table>) {
        // an implicit table has no header, and a dotted one stands in its parent's lines
        let own = table.position().filter(|own| *own > position && !table.is_implicit() && !table.is_dotted());
        let better =
            own.is_some_and(|own| best.as_ref().and_then(|best| best.position()).is_none_or(|best| own < best));
        if better {
            *best = Some(table);
            return;
        }
        for (_, item) in table.iter_mut() {
            match item {
                Item::Table(table) => walk(table, position, best),
                Item::ArrayOfTables(tables) => tables.iter_mut().for_each(|table| walk(table, position, best)),
                _ => {}
            }
        }
    }
    let mut best = None;
    walk(table, position, &mut best);
    best
}

/// A text with one kind of line ends, which is put back.
struct Lines {
    text: String,
    carriage: bool,
}

impl Lines {
    fn of(text: &str) -> Result<Self, String> {
        let all = text.matches('\n').count();
        let carriage = text.matches("\r\n").count();
        if carriage != 0 && carriage != all {
            return Err(
                "some of its lines end with CRLF and some with LF; save it with one of them and try again".to_owned()
            );
        }
        Ok(Self { text: text.replace("\r\n", "\n"), carriage: carriage != 0 })
    }
}

/// The new text, where it says of everything but our server what the old one said.
fn checked(old: &Lines, new: &str, name: &str) -> Result<String, String> {
    let rest = |text: &str| -> Option<String> {
        let mut document = text.parse::<DocumentMut>().ok()?;
        if let Some(servers) = document.get_mut(SERVERS).and_then(Item::as_table_like_mut) {
            servers.remove(name);
            if servers.is_empty() {
                document.remove(SERVERS);
            }
        }
        Some(said(document.as_item()))
    };
    match (rest(&old.text), rest(new)) {
        (Some(old_rest), Some(new_rest)) if old_rest == new_rest => {
            Ok(if old.carriage { new.replace('\n', "\r\n") } else { new.to_owned() })
        }
        _ => Err("it could not be changed without changing what else it says".to_owned()),
    }
}

/// What an item says, however it is written.
fn said(item: &Item) -> String {
    if let Some(table) = item.as_table_like() {
        let mut members: Vec<String> = table.iter().map(|(key, item)| format!("{key:?}={}", said(item))).collect();
        members.sort();
        return format!("{{{}}}", members.join(","));
    }
    match item {
        Item::ArrayOfTables(tables) => {
            let tables: Vec<String> = tables.iter().map(|table| said(&Item::Table(table.clone()))).collect();
            format!("[{}]", tables.join(","))
        }
        Item::Value(Value::Array(values)) => {
            let values: Vec<String> = values.iter().map(|value| said(&Item::Value(value.clone()))).collect();
            format!("[{}]", values.join(","))
        }
        Item::Value(Value::String(text)) => format!("{:?}", text.value()),
        other => other.to_string().trim().to_owned(),
    }
}

#[cfg(test)]
#[path = "toml_tests.rs"]
mod tests;
