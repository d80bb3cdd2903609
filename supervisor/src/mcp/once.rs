//! One call without a client, for `bulkhead call`: the same checks, the same worker, the same payload.
//! Trust: tool and arguments come from the command line of the operator, and are checked as an agent's are.

use super::{
    call::{prepare_tool, unknown_tool},
    jsonrpc::RpcError,
    list::serves,
    result::{Rendered, render},
    session::{Record, recorded},
    visible::visible,
};
use crate::{audit::Audit, control::Control, proposals::Outbox, reads::Reads, settings::Settings};
use serde_json::{Value, json};

/// What came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallOutput {
    /// A JSON object, compact: the payload of the result, or `error` with `code`, `message` and `data`.
    pub payload_json: String,
    /// It is an error.
    pub is_error: bool,
}

/// Whom the ledger names for a call from the command line.
const CLIENT: &str = "bulkhead call";

/// Calls `tool`, in either spelling, with `arguments`. Cannot be cancelled other than by dropping it.
pub async fn call_once<R: Reads>(
    reads: &R,
    settings: &Settings,
    audit: &Audit,
    tool: &str,
    arguments: &Value,
) -> CallOutput {
    let found = settings.surface.find(tool);
    let entry = audit.call(found.map(|row| row.name), arguments, Some(CLIENT));
    let prepared = match found.filter(|row| serves(settings, row)) {
        Some(row) => prepare_tool(row, arguments, settings),
        None => Err(unknown_tool(tool, settings)),
    };
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            entry.refused(&error);
            return refused(&error);
        }
    };
    let asked = prepared.work.asked().to_owned();
    // the other end is kept: without it the worker would have nobody to wait for
    let (_stopper, control) = Control::pair(None);
    let record = Record { audit, entry, outbox: &Outbox::default() };
    let outcome = recorded(prepared.work, reads, settings, Some(CLIENT), record, control).await;
    match render(prepared.tool, &asked, settings, outcome) {
        Rendered::Payload { json, is_error } => CallOutput { payload_json: json, is_error },
        Rendered::Pair { text, is_error, .. } => CallOutput { payload_json: text, is_error },
        Rendered::Rpc(error) => refused(&error),
    }
}

fn refused(error: &RpcError) -> CallOutput {
    CallOutput { payload_json: visible(json!({ "error": error.json() }).to_string()), is_error: true }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::tests::{Fake, settings};

    async fn call(tool: &str, arguments: Value) -> (Value, bool) {
        let output = call_once(&Fake::default(), &settings(), &Audit::off(), tool, &arguments).await;
        (serde_json::from_str(&output.payload_json).expect("payloads are JSON"), output.is_error)
    }

    #[tokio::test]
    async fn a_call_gives_the_payload_alone() {
        let (value, is_error) = call("repo_status", json!({"repoPath": "/w/app"})).await;
        assert!(!is_error);
        assert_eq!((&value["tool"], &value["data"]["branch"]), (&json!("repo.status"), &json!("main")));
    }

    #[tokio::test]
    async fn errors_have_one_shape() {
        for (tool, arguments) in
            [("nope", json!({})), ("repo.status", json!({})), ("repo.status", json!({"repoPath": "/fail"}))]
        {
            let (value, is_error) = call(tool, arguments).await;
            assert!(is_error);
            assert!(value["error"]["code"].is_i64() && value["error"]["message"].is_string(), "{value}");
        }
    }
}
