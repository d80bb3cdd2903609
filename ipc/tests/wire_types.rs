//! No wire type may be recursive or hold elements of size zero: the decoder's byte limit bounds neither.
//! Trust: reads our own sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Every type that derives `Decode` in the crates whose types go on the wire, with the type words of its fields.
fn wire_types() -> BTreeMap<String, BTreeSet<String>> {
    let base = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut types = BTreeMap::new();
    let mut open = vec![base.join("src"), base.join("../contract/src")];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).expect("our own source directory") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ext| ext == "rs") {
                collect(&std::fs::read_to_string(&path).expect("our own source"), &mut types);
            }
        }
    }
    types
}

fn collect(source: &str, types: &mut BTreeMap<String, BTreeSet<String>>) {
    let mut rest = source;
    while let Some(at) = rest.find("#[derive(") {
        rest = &rest[at..];
        let derive = &rest[..rest.find(']').expect("a derive ends")];
        if derive.split(['(', ',', ')']).any(|word| word.trim() == "Decode") {
            let (name, fields) = fields_of(&rest[rest.find("pub ").expect("wire types are public")..]);
            types.insert(name, fields);
        }
        rest = &rest["#[derive(".len()..];
    }
}

/// Name of the item that starts at `pub`, and the type words of its body.
fn fields_of(item: &str) -> (String, BTreeSet<String>) {
    let mut words = item["pub ".len()..].split_whitespace();
    let (keyword, name) = (words.next().expect("a keyword"), words.next().expect("a name"));
    assert!(matches!(keyword, "struct" | "enum"), "{keyword} {name}");
    let name = name.split('<').next().unwrap_or(name).trim_end_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let body = &item[..item.find("\n}").unwrap_or_else(|| item.find(';').unwrap_or(item.len()))];
    // a variant may be called like a type that it has nothing to do with
    let without_variant = |line: &str| match line.strip_prefix("    ").filter(|rest| !rest.starts_with(' ')) {
        Some(rest) if keyword == "enum" && rest.starts_with(|c: char| c.is_ascii_uppercase()) => {
            format!("variant{}", rest.trim_start_matches(|c: char| c.is_alphanumeric()))
        }
        _ => line.to_owned(),
    };
    // without the line that declares it, the name is there only as a field's type
    let lines = body.lines().skip(1).map(|line| without_variant(line.split("//").next().unwrap_or("")));
    let body: String = lines.collect::<Vec<_>>().join("\n");
    assert!(!body.contains("Vec<()>"), "elements of size zero in {name}");
    let fields = body.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    (name, fields.map(str::to_owned).collect())
}

#[test]
fn no_wire_type_reaches_itself() {
    let types = wire_types();
    for expected in [
        "ToRead",
        "FromRead",
        "Reply",
        "ToLauncher",
        "FromLauncher",
        "ToAudit",
        "FromAudit",
        "ToHolder",
        "FromHolder",
        "ToErrand",
        "FromErrand",
        "ToDialler",
        "FromDialler",
        "ToGateway",
        "FromGateway",
        "Exchange",
        "Outcome",
        "Scan",
        "Found",
        "SemanticSources",
        "SemanticHunk",
        "StatusRow",
        "ReadFailure",
    ] {
        assert!(types.contains_key(expected), "the scan lost {expected}: {:?}", types.keys());
    }
    for name in types.keys() {
        let (mut seen, mut open) = (BTreeSet::new(), vec![name]);
        while let Some(at) = open.pop() {
            for field in types[at].iter().filter_map(|field| types.get_key_value(field).map(|(key, _)| key)) {
                assert_ne!(field, name, "{name} reaches itself through {at}");
                if seen.insert(field) {
                    open.push(field);
                }
            }
        }
    }
}

#[test]
fn no_wire_type_is_empty() {
    for (name, fields) in wire_types() {
        assert!(!fields.is_empty(), "{name} may be of size zero: {fields:?}");
    }
}
