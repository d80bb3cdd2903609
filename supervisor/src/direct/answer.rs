//! How a call of the direct surface ended, in its own form: the value as pretty JSON, and as an object beside it
//! (contract `direct/decisions.md`). Trust: values come from workers that may be taken over; they are only written out.

use super::{Failure, Settings, budget};
use crate::{
    mcp::{jsonrpc::RpcError, result::Rendered, visible::visible},
    outcome::CallError,
    work::Done,
};
use bulkhead_contract::{
    direct::{Class, WRAPPED},
    failure::{ReadFailure, Reason, code},
    tool::{Field, Tool},
};
use serde_json::{Map, Value, json};

/// Longest reason that is passed on, in characters.
const MAX_REASON: usize = 8_000;

/// Renders the end of a call of `tool`.
#[must_use]
pub fn rendered(tool: &Tool, own: &Settings, outcome: Result<Done, CallError>) -> Rendered {
    let (value, beside) = match outcome {
        Ok(done) => (done.data.unwrap_or(Value::Null), done.members),
        Err(error) => return failed(tool, error),
    };
    let value = if own.camel { in_camel_case(value) } else { value };
    let beside = match in_camel_case(Value::Object(beside.clone())) {
        Value::Object(members) if own.camel => members,
        _ => beside,
    };
    let text = budget::pretty(&value);
    if let Some(ceiling) = own.ceiling.filter(|ceiling| text.len() > *ceiling) {
        let what = format!("The answer of `{}`", tool.name);
        return failed(tool, super::reads::too_large(&what, text.len() as u64, ceiling));
    }
    let structure = match (&value, tool.data) {
        (Value::Object(cut), [Field { name: WRAPPED, .. }]) if cut.contains_key("items") => {
            let mut members = cut.clone();
            let items = members.remove("items").unwrap_or_default();
            members.insert(WRAPPED.into(), items);
            members.extend(beside);
            Value::Object(members)
        }
        (Value::Object(_), _) => value.clone(),
        _ => {
            let mut members = beside;
            members.insert(WRAPPED.into(), value);
            Value::Object(members)
        }
    };
    Rendered::Pair { text: visible(text), structure: visible(structure.to_string()), is_error: false }
}

/// The end of a call that was not started because too much is open.
#[must_use]
pub fn busy(reason: String) -> Rendered {
    told(&Failure::new(Class::Failed, reason, "Wait for answers, then call again."))
}

fn told(failure: &Failure) -> Rendered {
    let mut members = Map::new();
    members.insert("class".into(), failure.class.name().into());
    members.insert("reason".into(), cut(&failure.reason).into());
    members.insert("next".into(), cut(&failure.next).into());
    if let Some(state) = failure.state {
        members.insert("operation_state".into(), json!(state));
    }
    members.extend(failure.more.clone());
    let value = Value::Object(members);
    Rendered::Pair {
        text: visible(budget::pretty(&value)),
        structure: visible(json!({ "error": value }).to_string()),
        is_error: true,
    }
}

fn failed(tool: &Tool, error: CallError) -> Rendered {
    let (class, reason, next) = match error {
        CallError::Direct(failure) => return told(&failure),
        CallError::Read(failure) if failure.reason == Reason::BadArgument => {
            let message = format!("Invalid params: {}", cut(&failure.details));
            let data = json!({ "tool": tool.name, "details": cut(&failure.details) });
            return Rendered::Rpc(RpcError { code: code::INVALID_PARAMS, message, data: Some(data) });
        }
        CallError::Read(failure) => read(&failure),
        CallError::Deadline { seconds } => (
            Class::Timeout,
            format!("No answer within {seconds} s; the process was stopped."),
            "Ask for less, or have the operator raise --timeout.",
        ),
        CallError::Gone { why } => (
            Class::Failed,
            format!("No process can be started any more: {why}."),
            "Calling again does not help: the server has to be restarted.",
        ),
        CallError::Unrecorded { why, for_good: true } => (
            Class::Refused,
            format!("This call cannot be recorded: {}. Nothing was done.", why.trim_end_matches('.')),
            "Calling again does not help: the operator looks at the ledger (`bulkhead doctor` shows it), then restarts the \
             server.",
        ),
        CallError::Unrecorded { why, for_good: false } => (
            Class::Refused,
            format!("This call cannot be recorded: {}. Nothing was done.", why.trim_end_matches('.')),
            "The operator can mend that (`bulkhead doctor` shows the ledger) or record nothing with --audit off.",
        ),
        CallError::IsolationMissing { layer, cause } => (
            Class::Refused,
            format!(
                "What is demanded of isolation is not met (by --isolation required, or by --hooks run for what runs them): \
                 {layer}: {}.",
                cause.trim_end_matches('.')
            ),
            "The operator can mend the machine (`bulkhead doctor` names the step), or accept less with --isolation best-effort.",
        ),
        CallError::Poisoned { seconds } => (
            Class::Refused,
            "This very call ended its process twice.".to_owned(),
            match seconds {
                0 => "Ask something else.",
                _ => "Ask something else; this call is refused for some minutes.",
            },
        ),
        CallError::Cancelled => (Class::Cancelled, "The call was cancelled.".to_owned(), "Nothing."),
        other => (Class::Failed, format!("{other}."), "Call again; if it happens again, look at `bulkhead doctor`."),
    };
    told(&Failure::new(class, reason, next))
}

fn read(failure: &ReadFailure) -> (Class, String, &'static str) {
    let at = match &failure.path {
        Some((path, _)) if !failure.details.contains(path.as_str()) => format!(" (`{path}`)"),
        _ => String::new(),
    };
    let reason = format!("{}{at}", failure.details);
    let (class, next) = match failure.reason {
        Reason::NoSuchRevision => (Class::NotFound, "Look at repo_branches, repo_tags or repo_log for what there is."),
        Reason::NoSuchPath => (Class::NotFound, "Look at repo_list_files for the names of files."),
        Reason::ObjectMissing => {
            (Class::NotFound, "This clone lacks it; a person can fetch it. Nothing is fetched by reads.")
        }
        Reason::TooLarge => (Class::TooLarge, "Ask for less."),
        Reason::Bare => (Class::Unsupported, "Serve a working tree."),
        Reason::PermissionDenied | Reason::Io | Reason::Internal | Reason::BadArgument => {
            (Class::Failed, "Call again; if it happens again, the person should look at the machine.")
        }
        Reason::OutsideRoots | Reason::Redirected => (
            Class::Unusable,
            "If it is meant, the operator allows its directory with --root; else a person has to look at the repository.",
        ),
        Reason::NotARepository
        | Reason::UntrustedOwner
        | Reason::UnsupportedFormat
        | Reason::SpecialFile
        | Reason::Corrupt => (Class::Unusable, "A person has to look at the repository."),
    };
    (class, reason, next)
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_REASON) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// The same with the names of members in camel case; words that are values of unions stay as they are.
fn in_camel_case(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| (camel(&name), in_camel_case(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(in_camel_case).collect(),
        other => other,
    }
}

fn camel(name: &str) -> String {
    let mut parts = name.split('_');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut chars = part.chars();
        out.extend(chars.next().map(|first| first.to_ascii_uppercase()));
        out.push_str(chars.as_str());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_contract::catalogue::Surface;

    fn pair(name: &str, own: &Settings, outcome: Result<Value, CallError>) -> (Value, Value, bool) {
        let tool = Surface::Direct.find(name).expect("it has a row");
        let outcome = outcome.map(|value| Done { data: Some(value), ..Done::default() });
        match rendered(tool, own, outcome) {
            Rendered::Pair { text, structure, is_error } => {
                let parsed = |text: &str| serde_json::from_str(text).expect("it is JSON");
                (parsed(&text), parsed(&structure), is_error)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn text_is_the_value_and_structure_an_object() {
        let own = Settings::default();
        for (name, value, structure) in [
            ("repo_current_branch", json!("main"), json!({"result": "main"})),
            ("repo_current_branch", json!(null), json!({"result": null})),
            ("repo_branches", json!(["a"]), json!({"result": ["a"]})),
            (
                "repo_branches",
                json!({"items": ["a"], "truncated": true, "shown": 1, "total": 2}),
                json!({"result": ["a"], "truncated": true, "shown": 1, "total": 2}),
            ),
            ("repo_fetch", json!({"fetched": true}), json!({"fetched": true})),
        ] {
            assert_eq!(pair(name, &own, Ok(value.clone())), (value, structure, false));
        }
    }

    #[test]
    fn text_is_written_as_the_references_write_it() {
        let tool = Surface::Direct.find("repo_fetch").expect("it has a row");
        let done = Done { data: Some(json!({"fetched": true})), ..Done::default() };
        let Rendered::Pair { text, .. } = rendered(tool, &Settings::default(), Ok(done)) else { panic!("no pair") };
        assert_eq!(text, "{\n  \"fetched\": true\n}");
    }

    #[test]
    fn failures_have_a_class_a_reason_and_a_next_step() {
        let failure = |reason| CallError::Read(ReadFailure::new(reason, "open", "It is gone."));
        for (error, class) in [
            (failure(Reason::NoSuchPath), "not_found"),
            (failure(Reason::NoSuchRevision), "not_found"),
            (failure(Reason::Redirected), "unusable"),
            (failure(Reason::TooLarge), "too_large"),
            (CallError::Deadline { seconds: 3 }, "timeout"),
            (CallError::Unrecorded { why: "x".into(), for_good: false }, "refused"),
            (CallError::Unrecorded { why: "x".into(), for_good: true }, "refused"),
            (CallError::Gone { why: "x".into() }, "failed"),
            (CallError::WorkerDied { how: "signal 6".into() }, "failed"),
            (CallError::Direct(Box::new(Failure::new(Class::Dirty, "a", "b"))), "dirty"),
        ] {
            let (text, structure, is_error) = pair("repo_status", &Settings::default(), Err(error));
            assert!(is_error);
            assert_eq!((&text["class"], &structure["error"]), (&json!(class), &text));
            assert!(text["reason"].is_string() && text["next"].is_string());
        }
        let tool = Surface::Direct.find("repo_log").expect("it has a row");
        let bad = rendered(tool, &Settings::default(), Err(failure(Reason::BadArgument)));
        assert!(matches!(bad, Rendered::Rpc(RpcError { code: code::INVALID_PARAMS, .. })));
    }

    #[test]
    fn the_operators_ceiling_is_an_error_and_no_cut() {
        let own = Settings { ceiling: Some(10), ..Settings::default() };
        let (text, _, is_error) = pair("repo_branches", &own, Ok(json!(["a-long-name"])));
        assert!(is_error && text["class"] == "too_large");
    }

    #[test]
    fn what_a_list_cannot_say_of_itself_stands_beside_it() {
        let tool = Surface::Direct.find("repo_annotate").expect("it has a row");
        let partial = json!({"reason": "unreadable"});
        for (value, list) in [(json!(["x"]), json!(["x"])), (json!({"items": ["x"], "truncated": true}), json!(["x"]))]
        {
            let members = [("partial_answer".to_owned(), partial.clone())].into_iter().collect();
            let done = Done { data: Some(value.clone()), members, ..Done::default() };
            let own = Settings { camel: true, ..Settings::default() };
            let Rendered::Pair { text, structure, is_error: false } = rendered(tool, &own, Ok(done)) else {
                panic!("it is a value")
            };
            let parsed = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
            assert_eq!(parsed(&text), value, "the text is the contract's");
            let structure = parsed(&structure);
            assert_eq!((&structure[WRAPPED], &structure["partialAnswer"]), (&list, &partial));
        }
    }

    #[test]
    fn members_in_camel_case_where_the_operator_wants_them() {
        let own = Settings { camel: true, ..Settings::default() };
        let value = json!({"change_count": 1, "renamed": {"old": "a_b"}});
        assert_eq!(pair("repo_snapshot", &own, Ok(value)).0, json!({"changeCount": 1, "renamed": {"old": "a_b"}}));
    }
}
