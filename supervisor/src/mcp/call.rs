//! `tools/call`: name and arguments to a question, or the error that says everything that is wrong with them.
//! Trust: name and arguments are the agent's; they are only compared with the catalogue's rows.

use super::{
    jsonrpc::RpcError,
    list::{Lists, serves},
};
use crate::{direct, plan, settings::Settings, work::Work};
use bulkhead_contract::{
    args::{self, Violation, shown},
    catalogue::Surface,
    direct::gate,
    failure::code,
    limits::MAX_VIOLATIONS,
    rules,
    tool::Tool,
};
use serde_json::{Value, json};

/// A call that may be asked.
#[derive(Debug)]
pub struct Prepared {
    /// The row of its tool.
    pub tool: &'static Tool,
    /// What to do.
    pub work: Work,
}

/// Checks the params of a `tools/call`.
///
/// # Errors
/// -32602 for params, an unknown tool or arguments that break the rows; -32010 where the operator's roots cannot be used.
pub fn prepare(params: &Value, settings: &Settings) -> Result<Prepared, RpcError> {
    let params = params.as_object().ok_or_else(|| RpcError::invalid_params("`params` must be an object"))?;
    let name = params.get("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| RpcError::invalid_params("`params.name` must be the name of a tool, as a string"))?;
    let tool = settings.surface.find(name).filter(|tool| serves(settings, tool));
    let tool = tool.ok_or_else(|| unknown_tool(name, settings))?;
    let empty = json!({});
    prepare_tool(tool, params.get("arguments").unwrap_or(&empty), settings)
}

/// The tool that the params of a `tools/call` name, in either spelling, whether it is served or not.
#[must_use]
pub fn named(params: &Value, settings: &Settings) -> Option<&'static str> {
    settings.surface.find(params.get("name")?.as_str()?).map(|tool| tool.name)
}

/// Checks the arguments of one tool.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_tool(tool: &'static Tool, arguments: &Value, settings: &Settings) -> Result<Prepared, RpcError> {
    if tool.is_direct() {
        return direct::prepare(tool, arguments, settings);
    }
    let checked = args::check(tool, arguments).map_err(|mut violations| {
        // what the rows leave out is named at once, too
        for broken in rules::check(tool, arguments) {
            if violations.len() < MAX_VIOLATIONS && violations.iter().all(|named| named.path != broken.path) {
                violations.push(broken);
            }
        }
        refused_arguments(tool, &violations)
    })?;
    if let Some(invalid) = &settings.roots_invalid {
        return Err(RpcError {
            code: code::ROOTS_INVALID,
            message: format!("The allowed roots cannot be used, so nothing is read: {}", invalid.details),
            data: Some(json!({ "environmentVariable": invalid.source, "details": invalid.details })),
        });
    }
    let work = plan::work(tool, &checked, arguments)
        .ok_or_else(|| RpcError::new(code::INTERNAL, "Internal error", format!("no worker answers {}", tool.name)))?;
    Ok(Prepared { tool, work })
}

/// The error that names everything that is wrong with the arguments of a call.
#[must_use]
pub fn refused_arguments(tool: &Tool, violations: &[Violation]) -> RpcError {
    let all = violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let rows: Vec<_> = violations.iter().map(|v| json!({ "path": v.path, "problem": v.problem })).collect();
    let mut error = RpcError::invalid_params(all);
    if let Some(data) = &mut error.data {
        data["tool"] = tool.name.into();
        data["violations"] = rows.into();
    }
    error
}

/// The error for a name that is no tool, or that the operator does not serve.
#[must_use]
pub fn unknown_tool(name: &str, settings: &Settings) -> RpcError {
    let served: Vec<_> = Lists::listed(settings).map(|tool| tool.name).collect();
    let reason = if settings.surface.find(name).is_some() {
        "the operator does not serve this tool (`--tools`, `--toolsets`)".to_owned()
    } else if gate::is_forge(name) && settings.surface != Surface::Review {
        "this build has no support for forges; everything that Git itself can say is in the `repo_*` tools".to_owned()
    } else if let Some(meant) = settings.surface.meant(name).filter(|meant| served.contains(meant)) {
        format!("there is no such tool; did you mean `{meant}`?")
    } else {
        format!("there is no such tool; there are {}", served.join(", "))
    };
    let (read, write): (Vec<_>, Vec<_>) = Lists::listed(settings).partition(|tool| tool.annotations.read_only);
    let names = |tools: Vec<&Tool>| tools.into_iter().map(|tool| tool.name).collect::<Vec<_>>();
    RpcError {
        code: code::INVALID_PARAMS,
        message: format!("Unknown tool `{}`: {reason}", shown(name)),
        data: Some(json!({
            "tool": shown(name),
            "reason": reason,
            "readOnlyTools": names(read),
            "writeProposalTools": names(write),
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{mcp::tests::settings, settings::RootsInvalid};
    use bulkhead_contract::catalogue;

    fn refused(params: Value, settings: &Settings) -> RpcError {
        prepare(&params, settings).expect_err("the call is refused")
    }

    #[test]
    fn both_spellings_are_callable() {
        for name in ["repo.status", "repo_status"] {
            let params = json!({"name": name, "arguments": {"repoPath": "/w"}});
            let prepared = prepare(&params, &settings()).expect("the call fits");
            assert_eq!(prepared.tool.name, "repo.status");
        }
    }

    #[test]
    fn odd_params_are_refused_by_name() {
        for params in [json!(null), json!([]), json!({}), json!({"name": 5}), json!({"name": null})] {
            assert_eq!(refused(params, &settings()).code, code::INVALID_PARAMS);
        }
        for arguments in [json!(null), json!([]), json!("x")] {
            let error = refused(json!({"name": "repo.status", "arguments": arguments}), &settings());
            assert_eq!(error.code, code::INVALID_PARAMS);
        }
    }

    #[test]
    fn all_violations_stand_in_one_message() {
        let params = json!({"name": "repo.brief", "arguments": {"repoPath": "x", "recentCommits": 21, "limit": 1}});
        let error = refused(params, &settings());
        for path in ["arguments.repoPath", "arguments.recentCommits", "arguments.limit"] {
            assert!(error.message.contains(path), "{error}");
        }
        let data = error.data.expect("violations are data");
        assert_eq!(data["violations"].as_array().map(Vec::len), Some(3));
        assert_eq!(data["violations"][1]["path"], "arguments.recentCommits");
    }

    #[test]
    fn an_unknown_tool_is_answered_with_the_known_ones() {
        let error = refused(json!({"name": "repo.stauts", "arguments": {}}), &settings());
        assert!(error.message.contains("`repo.stauts`") && error.message.contains("`repo.status`"), "{error}");
        let data = error.data.expect("the tools are data");
        let named = |reads: bool| {
            let tools = catalogue::TOOLS.iter().filter(|tool| tool.annotations.read_only == reads);
            json!(tools.map(|tool| tool.name).collect::<Vec<_>>())
        };
        assert_eq!(data["readOnlyTools"], named(true));
        assert_eq!(data["writeProposalTools"], named(false));
        let long = refused(json!({"name": "x".repeat(250_000)}), &settings());
        assert!(long.json().to_string().len() < 4_000);
    }

    #[test]
    fn a_tool_that_is_not_served_is_not_callable() {
        let mut settings = settings();
        settings.listed_tools = Some(vec!["repo.brief"]);
        let error = refused(json!({"name": "repo.status", "arguments": {"repoPath": "/w"}}), &settings);
        assert!(error.message.contains("does not serve"), "{error}");
        assert_eq!(error.data.expect("the tools are data")["readOnlyTools"], json!(["repo.brief"]));
    }

    #[test]
    fn unusable_roots_refuse_every_call_that_is_well_formed() {
        let mut settings = settings();
        settings.roots_invalid =
            Some(RootsInvalid { source: "BULKHEAD_ROOTS".into(), details: "`x` is relative".into() });
        let error = refused(json!({"name": "repo.status", "arguments": {"repoPath": "/w"}}), &settings);
        assert_eq!(error.code, code::ROOTS_INVALID);
        assert_eq!(error.data.expect("the source is data")["environmentVariable"], "BULKHEAD_ROOTS");
        assert_eq!(refused(json!({"name": "repo.status", "arguments": {}}), &settings).code, code::INVALID_PARAMS);
    }
}
