//! `tools/list`: rendered once, when it is first asked for, for each kind of revision and spelling.
//! Trust: renders constants; the client's cursor is only compared.

use super::{era::Era, handshake::modern_members, jsonrpc::RpcError, spelling::Spelling};
use crate::settings::{OutputSchemas, Settings, ToolNames};
use bulkhead_contract::{
    catalogue::Surface,
    schema::{self, Detail, Members},
    tool::{Argument, Tool},
};
use serde_json::Value;
use std::{cell::OnceCell, rc::Rc};

/// Milliseconds for which a client may keep the list.
pub const TTL_MS: u64 = 3_600_000;

/// The lists. None is rendered before the first client asks for it: that would delay the first answer of all.
#[derive(Debug)]
pub struct Lists {
    settings: Rc<Settings>,
    rendered: Vec<(Era, Spelling, OnceCell<String>)>,
}

impl Lists {
    /// The lists under these settings.
    #[must_use]
    pub fn new(settings: Rc<Settings>) -> Lists {
        let spellings = [Spelling::Dotted, Spelling::Underscored];
        let each = |era| spellings.map(|spelling| (era, spelling, OnceCell::new()));
        Lists { settings, rendered: Era::ALL.into_iter().flat_map(each).collect() }
    }

    /// The tools that the operator serves.
    pub fn listed(settings: &Settings) -> impl Iterator<Item = &'static Tool> {
        settings.surface.tools().filter(move |tool| serves(settings, tool) && !hides(settings, tool))
    }

    /// The answer to `tools/list`, as JSON text. There is one page: several hosts read no second one.
    ///
    /// # Errors
    /// -32602 for a cursor that is not ours; none is, except the empty one.
    pub fn answer(&self, era: Era, spelling: Spelling, params: &Value) -> Result<&str, RpcError> {
        match params.get("cursor") {
            None | Some(Value::Null) => {}
            Some(Value::String(cursor)) if cursor.is_empty() => {}
            Some(Value::String(_)) => {
                return Err(RpcError::invalid_params("no such `cursor`: the list of tools has one page"));
            }
            Some(_) => return Err(RpcError::invalid_params("`cursor` must be a string")),
        }
        let found = self.rendered.iter().find(|(e, s, _)| (*e, *s) == (era, spelling));
        Ok(found.map_or("{\"tools\":[]}", |(_, _, list)| list.get_or_init(|| page(&self.settings, era, spelling))))
    }
}

/// The operator serves this tool.
#[must_use]
pub fn serves(settings: &Settings, tool: &Tool) -> bool {
    settings.listed_tools.as_ref().is_none_or(|names| names.contains(&tool.name))
}

/// The operator wants tools that the gate stands before not to be listed, and this is one.
fn hides(settings: &Settings, tool: &Tool) -> bool {
    settings.direct.hide_gated && !settings.direct.gate.lets(tool.name)
}

/// `private` where anything on this machine can change the list.
#[must_use]
pub fn cache_scope(settings: &Settings) -> &'static str {
    let hides = settings.surface != Surface::Review && settings.direct.hide_gated;
    let narrowed = settings.listed_tools.is_some() || settings.output_schemas != OutputSchemas::Brief || hides;
    if narrowed || settings.tool_names == ToolNames::Auto { "private" } else { "public" }
}

/// The array of tools as a client of that revision sees it.
#[must_use]
pub fn tools(settings: &Settings, era: Era, spelling: Spelling) -> Value {
    let detail = match settings.output_schemas {
        OutputSchemas::None => None,
        OutputSchemas::Brief => Some(Detail::Brief),
        OutputSchemas::Full => Some(Detail::Full),
    };
    let members = Members {
        annotations: era.has_annotations(),
        title: era.has_structure(),
        output: detail.filter(|_| era.has_structure()),
    };
    Lists::listed(settings).map(|tool| schema::entry(tool, &spelling.name(tool, settings.surface), members)).collect()
}

fn page(settings: &Settings, era: Era, spelling: Spelling) -> String {
    let mut result = modern_members(era);
    if era.is_modern() {
        result.insert("ttlMs".into(), TTL_MS.into());
        result.insert("cacheScope".into(), cache_scope(settings).into());
    }
    result.insert("tools".into(), tools(settings, era, spelling));
    Value::Object(result).to_string()
}

/// The tools as text for `bulkhead tools`: name, toolset and when to call it.
#[must_use]
pub fn tools_text(settings: &Settings) -> String {
    let spelling = Spelling::of(settings.tool_names, None);
    let mut text = String::new();
    for tool in Lists::listed(settings) {
        let when = tool.description.split_inclusive(". ").next().unwrap_or(tool.description).trim_end();
        let shown = |argument: &Argument| match argument.required {
            true => argument.name.to_owned(),
            false => format!("[{}]", argument.name),
        };
        let arguments = tool.arguments.iter().map(shown).collect::<Vec<_>>().join(" ");
        let name = spelling.name(tool, settings.surface);
        text += &format!("{name}  ({})  {arguments}\n    {when}\n", tool.toolset.name());
    }
    text
}

/// The tools as JSON for `bulkhead tools --json`: entries as clients of the newest revision see them.
#[must_use]
pub fn tools_json(settings: &Settings) -> String {
    tools(settings, Era::Jul2026, Spelling::of(settings.tool_names, None)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::tests::settings;
    use bulkhead_contract::catalogue;
    use serde_json::json;

    fn keys(era: Era) -> Vec<String> {
        let list = tools(&settings(), era, Spelling::Dotted);
        list[0].as_object().expect("an entry is an object").keys().cloned().collect()
    }

    #[test]
    fn entries_carry_what_the_revision_knows() {
        assert_eq!(keys(Era::Nov2024), ["description", "inputSchema", "name"]);
        assert_eq!(keys(Era::Mar2025), ["annotations", "description", "inputSchema", "name"]);
        let all = ["annotations", "description", "inputSchema", "name", "outputSchema", "title"];
        for era in [Era::Jun2025, Era::Nov2025, Era::Jul2026] {
            assert_eq!(keys(era), all);
        }
    }

    #[test]
    fn the_whole_list_is_small() {
        const LIMIT: usize = 40_000;
        const PER_TOOL: usize = 1_050;
        let mut settings = settings();
        for schemas in [OutputSchemas::Brief, OutputSchemas::Full, OutputSchemas::None] {
            settings.output_schemas = schemas;
            for era in Era::ALL {
                let bytes = page(&settings, era, Spelling::Dotted).len();
                eprintln!("tools/list {} {schemas:?}: {bytes} bytes, about {} tokens", era.version(), bytes / 4);
                // full schemas are for code generators, who ask for them
                assert!(bytes < LIMIT || schemas == OutputSchemas::Full, "{bytes}");
                // later tools have to fit too
                let share = PER_TOOL * catalogue::TOOLS.len();
                assert!(bytes <= share || schemas == OutputSchemas::Full, "{bytes} of {share}");
            }
        }
    }

    #[test]
    fn the_order_is_that_of_the_catalogue_and_names_follow_the_spelling() {
        let names = |spelling| {
            let list = tools(&settings(), Era::Nov2025, spelling);
            list.as_array().expect("a list").iter().map(|tool| tool["name"].clone()).collect::<Vec<_>>()
        };
        let expected: Vec<_> = catalogue::TOOLS.iter().map(|tool| tool.name.to_owned()).collect();
        assert_eq!(names(Spelling::Dotted), expected);
        let expected: Vec<_> = catalogue::TOOLS.iter().map(|tool| tool.name.replace('.', "_")).collect();
        assert_eq!(names(Spelling::Underscored), expected);
    }

    #[test]
    fn cursors() {
        let lists = Lists::new(Rc::new(settings()));
        let answer =
            |params| lists.answer(Era::Nov2024, Spelling::Dotted, &params).map(str::len).map_err(|error| error.code);
        for fine in [json!(null), json!({}), json!({"cursor": null}), json!({"cursor": ""})] {
            assert!(answer(fine).is_ok());
        }
        for bad in [json!({"cursor": "zzz"}), json!({"cursor": 5}), json!({"cursor": {}})] {
            assert_eq!(answer(bad), Err(bulkhead_contract::failure::code::INVALID_PARAMS));
        }
    }

    #[test]
    fn a_list_that_local_settings_change_is_private() {
        let mut settings = settings();
        assert_eq!(cache_scope(&settings), "private");
        settings.tool_names = ToolNames::Dotted;
        assert_eq!(cache_scope(&settings), "public");
        settings.listed_tools = Some(vec!["repo.status"]);
        assert_eq!(cache_scope(&settings), "private");
        let list = tools(&settings, Era::Nov2024, Spelling::Dotted);
        assert_eq!(list.as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn the_text_names_every_tool_and_when_to_call_it() {
        let text = tools_text(&settings());
        for tool in catalogue::TOOLS {
            assert!(text.contains(tool.name));
        }
        assert_eq!(text.matches("    Call this").count(), catalogue::TOOLS.len(), "{text}");
        let json: Value = serde_json::from_str(&tools_json(&settings())).expect("JSON");
        assert!(json[0]["outputSchema"].is_object());
    }
}
