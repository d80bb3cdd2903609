//! JSON Schemas of the rows, and the entry of a tool in `tools/list`. Hosts are strict in different ways, so: a root
//! object, no `$ref`, no unions, no type arrays. Trust: renders constants of this crate and nothing else.

use crate::{
    direct::WRAPPED,
    limits::MAX_PATH_BYTES,
    tool::{Annotations, Argument, Field, Kind, Shape, Tool},
};
use serde_json::{Map, Value, json};

/// Members beside `data` that a brief schema names: those that come first.
const ACTED_ON: usize = 3;

/// How much of a result is described.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// That there is `data` or `error`, and which members `data` has; open below.
    Brief,
    /// Every field, with its meaning.
    Full,
}

/// What an entry of `tools/list` carries besides name, description and input schema; depends on the protocol's era.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Members {
    /// Hints about what the tool may do.
    pub annotations: bool,
    /// Title for people.
    pub title: bool,
    /// Output schema, if any.
    pub output: Option<Detail>,
}

/// The entry of `tool` in `tools/list` under the name `spelled`.
#[must_use]
pub fn entry(tool: &Tool, spelled: &str, members: Members) -> Value {
    let mut entry = Map::new();
    entry.insert("name".into(), spelled.into());
    entry.insert("description".into(), tool.description.into());
    entry.insert("inputSchema".into(), input(tool));
    if members.annotations {
        entry.insert("annotations".into(), annotations(tool.annotations));
    }
    if members.title {
        entry.insert("title".into(), tool.title.into());
    }
    if let Some(detail) = members.output {
        entry.insert("outputSchema".into(), output(tool, detail));
    }
    Value::Object(entry)
}

/// Schema of a tool's arguments.
#[must_use]
pub fn input(tool: &Tool) -> Value {
    let mut schema = members(tool.arguments);
    // the direct contract lets callers send what no row knows
    if tool.is_direct() {
        schema.remove("additionalProperties");
    }
    Value::Object(schema)
}

fn members(rows: &[Argument]) -> Map<String, Value> {
    let mut properties = Map::new();
    for argument in rows {
        let mut schema = accepts(&argument.kind);
        if !argument.description.is_empty() {
            schema.insert("description".into(), argument.description.into());
        }
        properties.insert(argument.name.into(), Value::Object(schema));
    }
    let mut root = object(properties);
    root.insert("additionalProperties".into(), false.into());
    require(&mut root, rows.iter().filter(|argument| argument.required).map(|argument| argument.name));
    root
}

/// Schema of a tool's results, errors included: `data` in good ones, `error` in bad ones.
#[must_use]
pub fn output(tool: &Tool, detail: Detail) -> Value {
    let full = detail == Detail::Full;
    if tool.is_direct() {
        return direct_output(tool, detail);
    }
    let error = json!({
        "type": "object",
        "properties": {"code": {"type": "integer"}, "message": {"type": "string"}, "data": {"type": "object"}},
        "required": ["code", "message"],
    });
    let beside = if full { tool.beside() } else { &tool.beside()[..tool.beside().len().min(ACTED_ON)] };
    let mut properties = match fields(beside, detail).remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    // lists are read by agents, who pay for every byte: a brief schema leaves out what is the same for every tool
    if full {
        properties.insert("tool".into(), json!({"type": "string"}));
        properties.insert("readOnly".into(), json!({"type": "boolean"}));
        properties.insert("source".into(), json!({"type": "string"}));
        if tool.argument("repoPath").is_some() {
            properties.insert("repoPath".into(), json!({"type": "string"}));
        }
    }
    // what a gateway says is passed on; agents need no list of it
    let passed_on = tool.proposes().is_some() && !full;
    let data = if passed_on { Map::new() } else { fields(tool.data, detail) };
    properties.insert("data".into(), Value::Object(data));
    properties.insert("error".into(), if full { error } else { json!({}) });
    let mut root = object(properties);
    if full {
        require(&mut root, ["tool", "readOnly"]);
    }
    Value::Object(root)
}

/// What structured content of the direct surface holds: the result itself, or `error`, or for results that are no objects one
/// member, and beside it what was cut.
fn direct_output(tool: &Tool, detail: Detail) -> Value {
    const CUT: &[Field] = &[
        Field::sometimes("truncated", Shape::Boolean, "Items at the end were left out."),
        Field::sometimes("shown", Shape::Count, "Items that are here."),
        Field::sometimes("total", Shape::Count, "Items that there are."),
    ];
    const ERROR: &[Field] = &[
        Field::always("class", Shape::Text, "The kind of failure."),
        Field::always("reason", Shape::Text, "All of the reason."),
        Field::always("next", Shape::Text, "What to do."),
    ];
    let wraps_a_list = matches!(tool.data, [Field { name: WRAPPED, shape: Shape::List(_), .. }]);
    let rows: Vec<Field> = tool.data.iter().chain(if wraps_a_list { CUT } else { &[] }).copied().collect();
    let mut root = fields(&rows, detail);
    // a result that is an error has none of them
    root.remove("required");
    if let Some(Value::Object(properties)) = root.get_mut("properties") {
        properties.insert("error".into(), Value::Object(holds(&Shape::Object(ERROR), detail)));
    }
    Value::Object(root)
}

fn annotations(hints: Annotations) -> Value {
    json!({
        "readOnlyHint": hints.read_only,
        "destructiveHint": hints.destructive,
        "idempotentHint": hints.idempotent,
        "openWorldHint": hints.open_world,
    })
}

fn accepts(kind: &Kind) -> Map<String, Value> {
    let schema = match kind {
        Kind::Path => json!({"type": "string", "minLength": 1, "maxLength": MAX_PATH_BYTES}),
        Kind::Text { min: 0, max } => json!({"type": "string", "maxLength": max}),
        Kind::Text { min, max } => json!({"type": "string", "minLength": min, "maxLength": max}),
        // which characters is said in words: hosts choke on patterns
        Kind::Word { max } => json!({"type": "string", "minLength": 1, "maxLength": max}),
        Kind::Integer { min, max, default } => {
            with_default(json!({"type": "integer", "minimum": min, "maximum": max}), default.map(Value::from))
        }
        Kind::Boolean { default } => with_default(json!({"type": "boolean"}), default.map(Value::from)),
        Kind::OneOf { words, default } => {
            with_default(json!({"type": "string", "enum": words}), default.map(Value::from))
        }
        Kind::ListOf { item, min: 0, max } => json!({"type": "array", "items": accepts(item), "maxItems": max}),
        Kind::ListOf { item, min, max } => {
            json!({"type": "array", "items": accepts(item), "minItems": min, "maxItems": max})
        }
        Kind::Object(rows) => return members(rows),
    };
    into_map(schema)
}

fn with_default(mut schema: Value, default: Option<Value>) -> Value {
    if let Some(default) = default {
        schema["default"] = default;
    }
    schema
}

fn fields(rows: &[Field], detail: Detail) -> Map<String, Value> {
    let mut properties = Map::new();
    for row in rows {
        let mut schema = holds(&row.shape, detail);
        if detail == Detail::Full {
            let meaning = match row.shape {
                Shape::Nullable(what) => format!("{what}, or null. {}", row.description),
                _ => row.description.to_owned(),
            };
            schema.insert("description".into(), meaning.into());
        }
        properties.insert(row.name.into(), Value::Object(schema));
    }
    let mut root = object(properties);
    if detail == Detail::Full {
        require(&mut root, rows.iter().filter(|row| !row.optional).map(|row| row.name));
    }
    root
}

fn holds(shape: &Shape, detail: Detail) -> Map<String, Value> {
    if detail == Detail::Brief {
        return Map::new();
    }
    let schema = match shape {
        Shape::Text => json!({"type": "string"}),
        Shape::Count => json!({"type": "integer", "minimum": 0}),
        Shape::Integer => json!({"type": "integer"}),
        Shape::Boolean => json!({"type": "boolean"}),
        Shape::OneOf(words) => json!({"type": "string", "enum": words}),
        Shape::Nullable(what) => json!({"description": format!("{what}, or null")}),
        Shape::Any(what) => json!({"description": what}),
        Shape::NullableObject(rows) => {
            // without a type: hosts choke on type arrays, and null is allowed
            let mut fields = fields(rows, detail);
            fields.remove("type");
            Value::Object(fields)
        }
        Shape::Object(rows) => Value::Object(fields(rows, detail)),
        Shape::List(item) => json!({"type": "array", "items": holds(item, detail)}),
    };
    into_map(schema)
}

fn object(properties: Map<String, Value>) -> Map<String, Value> {
    let mut root = Map::new();
    root.insert("type".into(), "object".into());
    root.insert("properties".into(), Value::Object(properties));
    root
}

fn require<'a>(root: &mut Map<String, Value>, names: impl IntoIterator<Item = &'a str>) {
    let names: Vec<Value> = names.into_iter().map(Value::from).collect();
    if !names.is_empty() {
        root.insert("required".into(), Value::Array(names));
    }
}

fn into_map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => Map::from_iter([("const".to_owned(), other)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Surface, TOOLS};

    fn every_schema() -> impl Iterator<Item = (String, Value)> {
        Surface::Both.tools().flat_map(|tool| {
            [
                (format!("{} input", tool.name), input(tool)),
                (format!("{} brief output", tool.name), output(tool, Detail::Brief)),
                (format!("{} full output", tool.name), output(tool, Detail::Full)),
            ]
        })
    }

    fn walk(value: &Value, visit: &mut impl FnMut(&Map<String, Value>)) {
        match value {
            Value::Object(map) => {
                visit(map);
                for (key, inner) in map {
                    match inner {
                        // its keys are names of ours and no words of the schema language
                        Value::Object(named) if key == "properties" => named.values().for_each(|it| walk(it, visit)),
                        _ => walk(inner, visit),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|inner| walk(inner, visit)),
            _ => {}
        }
    }

    #[test]
    fn nothing_that_a_host_chokes_on() {
        for (name, schema) in every_schema() {
            assert_eq!(schema["type"], "object", "{name}");
            walk(&schema, &mut |map| {
                for word in ["$ref", "$defs", "oneOf", "anyOf", "allOf", "not", "if", "format", "pattern", "const"] {
                    assert!(!map.contains_key(word), "{name} uses {word}");
                }
                assert!(!map.get("type").is_some_and(Value::is_array), "{name} has a type array");
            });
        }
    }

    #[test]
    fn input_schemas_are_closed_and_output_schemas_open() {
        for tool in TOOLS {
            assert_eq!(input(tool)["additionalProperties"], false);
            walk(&output(tool, Detail::Full), &mut |map| assert!(!map.contains_key("additionalProperties")));
        }
    }

    #[test]
    fn bounds_and_defaults_of_the_contract_stand_in_the_schema() {
        let schema = input(&TOOLS[0]);
        let commits = &schema["properties"]["recentCommits"];
        assert_eq!(
            (&commits["minimum"], &commits["maximum"], &commits["default"]),
            (&json!(1), &json!(20), &json!(10))
        );
        assert_eq!(schema["properties"]["repoPath"]["maxLength"], 32_768);
        assert_eq!(schema["properties"]["repoId"]["maxLength"], 4_096);
        assert_eq!(schema["required"], json!(["repoPath"]));
    }

    #[test]
    fn direct_schemas_say_what_the_result_is() {
        let row = |name: &str| Surface::Direct.find(name).expect("it has a row");
        assert!(input(row("repo_log")).get("additionalProperties").is_none());
        let list = output(row("repo_log"), Detail::Full);
        assert_eq!(list["properties"]["result"]["items"]["properties"]["id"]["type"], "string");
        assert_eq!(list["properties"]["total"]["type"], "integer");
        let object = output(row("repo_snapshot"), Detail::Brief);
        assert!(object["properties"]["head"].is_object() && object["properties"].get("total").is_none());
        assert_eq!(object["properties"]["error"], json!({}));
    }

    #[test]
    fn brief_is_one_level_deep_and_full_is_not() {
        let brief = output(&TOOLS[0], Detail::Brief);
        assert_eq!(brief["properties"]["data"]["properties"]["head"], json!({}));
        let full = output(&TOOLS[0], Detail::Full);
        assert!(full["properties"]["data"]["properties"]["head"]["properties"]["branch"]["description"].is_string());
    }

    #[test]
    fn members_follow_the_era() {
        let bare = entry(&TOOLS[0], "repo_brief", Members::default());
        let keys: Vec<_> = bare.as_object().expect("an entry is an object").keys().cloned().collect();
        assert_eq!(keys, ["description", "inputSchema", "name"]);
        let all = Members { annotations: true, title: true, output: Some(Detail::Brief) };
        assert_eq!(entry(&TOOLS[0], "repo.brief", all)["annotations"]["openWorldHint"], false);
    }
}
