//! One server in a JSON file, put in or taken out by its syntax tree: everything else stays as it was written.
//! Trust: the file may be a hostile project's; the parser bounds its nesting, and what comes out is parsed again and compared.

use super::{entry::Entry, hosts::Form};
use jsonc_parser::{
    JsonValue, ParseOptions,
    cst::{CstInputValue, CstNode, CstObject, CstRootNode},
    parse_to_value,
};

/// What a file that does not exist, or is empty, is taken for.
const EMPTY: &str = "{}\n";

/// Comments and a comma at the end are what editors write; everything else that is no JSON is a mistake, which the host
/// would stumble over too.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A member of a server.
struct Member {
    name: &'static str,
    value: CstInputValue,
    /// It is set where the server is new, and then the operator's.
    once: bool,
}

/// The text with the server `name` in it.
///
/// # Errors
/// The text does not parse, or is not of the form that the host reads; one sentence that says where.
pub fn put(text: &str, paths: &[&[&str]], name: &str, form: Form, entry: &Entry) -> Result<String, String> {
    let text = if text.trim().is_empty() { EMPTY } else { text };
    let root = parsed(text)?;
    let object = root.object_value_or_create().ok_or("its value is not an object")?;
    let servers = servers(&object, paths)?;
    let members = members(form, entry);
    match once(&servers, name)? {
        Some(property) => {
            let server = property.object_value().ok_or_else(|| format!("{name:?} in it is not an object"))?;
            for member in members.into_iter().filter(|member| !member.once) {
                match once(&server, member.name)? {
                    Some(there) if there.value().is_some_and(|value| says(&value, &member.value)) => {}
                    Some(there) => there.set_value(member.value),
                    None => drop(server.append(member.name, member.value)),
                }
            }
        }
        None => {
            let members = members.into_iter().map(|member| (member.name.to_owned(), member.value)).collect();
            servers.append(name, CstInputValue::Object(members));
        }
    }
    checked(text, root.to_string(), paths, name)
}

/// The text without the server `name`; `None` where it is not in it.
///
/// # Errors
/// As [`put`].
pub fn take(text: &str, paths: &[&[&str]], name: &str) -> Result<Option<String>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let root = parsed(text)?;
    let object = root.object_value().ok_or("its value is not an object")?;
    let Some(servers) = paths.iter().find_map(|path| existing(&object, path).transpose()).transpose()? else {
        return Ok(None);
    };
    let Some(property) = once(&servers, name)? else { return Ok(None) };
    property.remove();
    checked(text, root.to_string(), paths, name).map(Some)
}

fn parsed(text: &str) -> Result<CstRootNode, String> {
    CstRootNode::parse(text, &OPTIONS).map_err(|e| format!("it is not JSON: {e}; repair it there and try again"))
}

/// The object of servers: at the first path that is there, else made at the last.
fn servers(root: &CstObject, paths: &[&[&str]]) -> Result<CstObject, String> {
    for path in paths {
        if let Some(found) = existing(root, path)? {
            return Ok(found);
        }
    }
    let path = paths.last().ok_or("no place for servers is known")?;
    path.iter().try_fold(root.clone(), |object, key| {
        once(&object, key)?;
        object.object_value_or_create(key).ok_or_else(|| format!("{key:?} in it is not an object"))
    })
}

/// The object at `path`. One that is a server itself, because somebody called it so, is none of servers.
fn existing(root: &CstObject, path: &[&str]) -> Result<Option<CstObject>, String> {
    let mut object = root.clone();
    for (depth, key) in path.iter().enumerate() {
        let Some(property) = once(&object, key)? else { return Ok(None) };
        let Some(next) = property.object_value() else { return Ok(None) };
        if depth > 0 && ["command", "url"].iter().any(|member| next.get(member).is_some()) {
            return Ok(None);
        }
        object = next;
    }
    Ok(Some(object))
}

/// The property of that name, which may stand once: of two, one parser takes the first and another the last.
fn once(object: &CstObject, name: &str) -> Result<Option<jsonc_parser::cst::CstObjectProp>, String> {
    let mut found = object.properties().into_iter().filter(|property| property.decoded_name().as_deref() == Some(name));
    let first = found.next();
    match found.next() {
        None => Ok(first),
        Some(_) => Err(format!("{name:?} stands twice in it; keep one of them and try again")),
    }
}

fn members(form: Form, entry: &Entry) -> Vec<Member> {
    let text = |text: &str| CstInputValue::String(text.to_owned());
    let list = |words: &mut dyn Iterator<Item = &String>| CstInputValue::Array(words.map(|word| text(word)).collect());
    let kind = |kind: &str| Member { name: "type", value: text(kind), once: false };
    let command = Member { name: "command", value: text(&entry.command), once: false };
    let args = Member { name: "args", value: list(&mut entry.args.iter()), once: false };
    match form {
        Form::Plain => vec![command, args],
        Form::Stdio => vec![kind("stdio"), command, args],
        Form::Local => {
            let tools = Member { name: "tools", value: CstInputValue::Array(vec![text("*")]), once: true };
            vec![kind("local"), command, args, tools]
        }
        Form::OneList => {
            let words = list(&mut std::iter::once(&entry.command).chain(&entry.args));
            vec![kind("local"), Member { name: "command", value: words, once: false }]
        }
    }
}

/// Whether a value says what we would write.
fn says(there: &CstNode, ours: &CstInputValue) -> bool {
    match ours {
        CstInputValue::String(text) => {
            there.as_string_lit().and_then(|literal| literal.decoded_value().ok()).as_ref() == Some(text)
        }
        CstInputValue::Array(ours) => there.as_array().is_some_and(|array| {
            let there = array.elements();
            there.len() == ours.len() && there.iter().zip(ours).all(|(there, ours)| says(there, ours))
        }),
        _ => false,
    }
}

/// The new text, where it says of everything but our server what the old one said.
fn checked(old: &str, new: String, paths: &[&[&str]], name: &str) -> Result<String, String> {
    let without = |text: &str| -> Option<String> {
        let value = parse_to_value(text, &OPTIONS).ok()??;
        Some(rest(&value, paths, name))
    };
    // a file of comments alone has no value
    let same = match (without(old), without(&new)) {
        (Some(old), Some(new)) => old == new,
        (None, Some(_)) => true,
        _ => false,
    };
    if same { Ok(new) } else { Err("it could not be changed without changing what else it says".to_owned()) }
}

/// What a value says, without our server, and without objects that are empty without it.
fn rest(value: &JsonValue<'_>, paths: &[&[&str]], name: &str) -> String {
    fn at(value: &JsonValue<'_>, paths: &[&[&str]], here: &mut Vec<String>, name: &str) -> Option<String> {
        let JsonValue::Object(object) = value else { return Some(format!("{value:?}")) };
        let is_servers = paths.iter().any(|path| path.iter().eq(here.iter()));
        let is_on_the_way =
            paths.iter().any(|path| path.len() >= here.len() && path.iter().zip(&*here).all(|(a, b)| a == b));
        let mut members = Vec::new();
        for (key, value) in object.clone() {
            if is_servers && key == name {
                continue;
            }
            here.push(key.to_string());
            members.extend(at(&value, paths, here, name).map(|value| format!("{key:?}:{value}")));
            here.pop();
        }
        members.sort();
        (!(members.is_empty() && is_on_the_way)).then(|| format!("{{{}}}", members.join(",")))
    }
    at(value, paths, &mut Vec::new(), name).unwrap_or_default()
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
