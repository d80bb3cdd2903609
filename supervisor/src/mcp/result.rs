//! How a call ended, as JSON: rendered once, embedded twice (text for every host, structure where the revision has it).
//! Trust: values come from workers that may be taken over; they are typed, cut where they are texts, and only written out.

use super::{era::Era, handshake::modern_members, jsonrpc::RpcError, jsonrpc::text_json, visible::visible};
use crate::{
    direct, gateway,
    outcome::{Broken, CallError},
    proposals::{Failed, MAX_HELD},
    settings::{self, Settings},
    work::Done,
};
use bulkhead_contract::{
    canonical,
    failure::{ReadFailure, Reason, code},
    isolation,
    limits::MAX_OPEN_REQUESTS,
    path,
    tool::Tool,
};
use serde_json::{Map, Value, json};

/// Where the operator names the allowed roots.
const ROOTS_VARIABLE: &str = "BULKHEAD_ROOTS";
/// Longest text of a failure that is passed on, in characters.
const MAX_DETAILS: usize = 2_000;

/// The end of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Rendered {
    /// Content of a result.
    Payload {
        /// A JSON object, compact, keys sorted.
        json: String,
        /// Result member `isError`.
        is_error: bool,
    },
    /// Content of a result whose text and structure differ.
    Pair {
        /// Any JSON value, as the text of the result.
        text: String,
        /// A JSON object, compact, as its structured content.
        structure: String,
        /// Result member `isError`.
        is_error: bool,
    },
    /// The call ends in a JSON-RPC error.
    Rpc(RpcError),
}

/// Renders the end of a call of `tool` on `asked`, the caller's path.
#[must_use]
pub fn render(tool: &Tool, asked: &str, settings: &Settings, outcome: Result<Done, CallError>) -> Rendered {
    if tool.is_direct() {
        return direct::rendered(tool, &settings.direct, outcome);
    }
    match outcome {
        Ok(done) => good(tool, done),
        Err(CallError::Read(ReadFailure { reason: Reason::OutsideRoots, details, .. })) => Rendered::Rpc(RpcError {
            code: code::OUTSIDE_ROOTS,
            message: format!(
                "{} The operator widens the allowed roots with --root or {ROOTS_VARIABLE}.",
                cut(&details)
            ),
            data: Some(json!({
                "environmentVariable": ROOTS_VARIABLE,
                "repoPathFingerprint": canonical::label(&Value::from(asked)),
            })),
        }),
        Err(CallError::Forbidden { violations }) => Rendered::Rpc(forbidden(tool, &violations)),
        Err(error) => failed(tool, &error),
    }
}

/// The error that names everything for which a proposal was not sent.
fn forbidden(tool: &Tool, broken: &[Broken]) -> RpcError {
    let all = broken.iter().map(|broken| cut(&broken.violation.to_string())).collect::<Vec<_>>().join("; ");
    let row = |Broken { violation, reason }: &Broken| json!({ "path": violation.path, "problem": cut(&violation.problem), "reason": reason.name() });
    let mut error = RpcError::invalid_params(format!("{}. Nothing was sent.", all.trim_end_matches('.')));
    if let Some(data) = &mut error.data {
        data["tool"] = tool.name.into();
        data["violations"] = broken.iter().map(row).collect();
    }
    error
}

/// The end of a call that was not started because too many are open.
#[must_use]
pub fn busy(tool: &Tool) -> Rendered {
    let open = format!(
        "Too much is open already: at most {MAX_OPEN_REQUESTS} calls, and {} MiB of proposals and writes.",
        MAX_HELD >> 20
    );
    if tool.is_direct() {
        return direct::busy(open);
    }
    let data = json!({ "openRequests": MAX_OPEN_REQUESTS, "retryable": true });
    error_payload(tool, code::BUSY, open + " Wait for answers, then call again.", data)
}

/// Member of `_meta` that says why an answer is not recorded; absent where it is, and where nothing is to be recorded.
pub const UNRECORDED: &str = "bulkhead/unrecorded";

/// The result of a `tools/call` as JSON text; `unrecorded` says why it is not recorded, if so.
#[must_use]
pub fn wrap(era: Era, text: &str, structure: &str, is_error: bool, unrecorded: Option<&str>) -> String {
    let mut members = modern_members(era);
    if let Some(why) = unrecorded {
        let meta = members.entry("_meta").or_insert_with(|| json!({}));
        meta[UNRECORDED] = cut(why).into();
    }
    let meta = members.remove("_meta").map_or_else(String::new, |meta| format!("\"_meta\":{meta},"));
    let kind = members.remove("resultType").map_or_else(String::new, |kind| format!(",\"resultType\":{kind}"));
    let structure = if era.has_structure() { format!(",\"structuredContent\":{structure}") } else { String::new() };
    let text = text_json(text);
    format!("{{{meta}\"content\":[{{\"text\":{text},\"type\":\"text\"}}],\"isError\":{is_error}{kind}{structure}}}")
}

fn good(tool: &Tool, done: Done) -> Rendered {
    let mut payload = envelope(tool);
    if let Some(canonical) = &done.canonical {
        let (repo_path, encoding) = path::text_of(canonical);
        payload.insert("repoPath".into(), repo_path.into());
        if encoding.is_some() {
            payload.insert("repoPathEncoding".into(), "escaped".into());
        }
    }
    payload.extend(done.members);
    if let Some(data) = done.data {
        payload.insert("data".into(), data);
    }
    let is_error = done.failed.is_some();
    if let Some(Failed { code, message, data }) = done.failed {
        // as in [`error_payload`]: what the gateway did not say has no source
        if matches!(code, code::GATEWAY_SILENT | code::PROPOSAL_UNKNOWN) {
            payload.remove("source");
        }
        let mut error = json!({ "code": code, "message": message });
        if let Some(data) = data {
            error["data"] = data;
        }
        payload.insert("error".into(), error);
    }
    Rendered::Payload { json: visible(Value::Object(payload).to_string()), is_error }
}

fn failed(tool: &Tool, error: &CallError) -> Rendered {
    let (code, message, data) = match error {
        CallError::Read(failure) => (code::LOCAL_READ, read_message(failure), read_data(failure)),
        CallError::Incomplete { details } => {
            (code::INVALID_PARAMS, format!("Invalid params: {}", cut(details)), json!({ "details": cut(details) }))
        }
        CallError::IsolationMissing { layer, cause } => (
            code::ISOLATION_MISSING,
            format!(
                "Refused: --isolation required is not met. Nothing takes `{}` away from the process that would read: {}. \
                 The operator can mend the machine ({}`bulkhead doctor` shows each layer) or accept less with --isolation \
                 best-effort.",
                cut(layer),
                cut(cause).trim_end_matches('.'),
                isolation::step(cause).map(|step| format!("{step}; ")).unwrap_or_default(),
            ),
            json!({
                "layer": cut(layer),
                "cause": cut(cause),
                "step": isolation::step(cause),
                "flag": "--isolation best-effort",
            }),
        ),
        CallError::Deadline { seconds } => (
            code::DEADLINE,
            format!(
                "No answer within {seconds} s; the worker was stopped. Ask for less (fewer rows, a smaller repository), or \
                 have the operator raise --deadline."
            ),
            json!({ "seconds": seconds, "retryable": true }),
        ),
        CallError::WorkerDied { how } => (
            code::WORKER_DIED,
            format!(
                "The process that served this call ended ({}). Nothing was changed and other calls go on. Calling again is \
                 safe; if it happens again, the repository is probably damaged or hostile.",
                cut(how)
            ),
            json!({ "how": cut(how), "retryable": true }),
        ),
        CallError::Unavailable { why } => (
            code::WORKER_UNAVAILABLE,
            format!("No process that may read can be started now: {}", cut(why)),
            json!({ "why": cut(why), "retryable": true }),
        ),
        CallError::Gone { why } => (
            code::WORKER_UNAVAILABLE,
            format!("No process that may read can be started any more: {}. Calling again does not help.", cut(why)),
            json!({ "why": cut(why), "retryable": false }),
        ),
        CallError::Poisoned { seconds } => (
            code::POISONED,
            format!(
                "Refused: this very call ended its process twice. It is accepted again in {seconds} s; another tool, other \
                 arguments or another repository are accepted now."
            ),
            json!({ "retryAfterSeconds": seconds, "retryable": true }),
        ),
        CallError::Unrecorded { why, for_good } if !tool.annotations.read_only => (
            code::UNRECORDED,
            format!(
                "Refused: this call cannot be recorded, and nothing that asks for a write leaves unrecorded: {}. Nothing was \
                 sent. The operator can mend that (`bulkhead doctor` shows the ledger{}) or record nothing with --audit off.",
                cut(why).trim_end_matches('.'),
                restart(*for_good),
            ),
            json!({ "why": cut(why), "flag": "--audit off", "retryable": !for_good }),
        ),
        CallError::Unrecorded { why, for_good } => (
            code::UNRECORDED,
            format!(
                "Refused: --audit required, and this call cannot be recorded: {}. The operator can mend that (`bulkhead \
                 doctor` shows the ledger{}) or accept unrecorded reads with --audit best-effort.",
                cut(why).trim_end_matches('.'),
                restart(*for_good),
            ),
            json!({ "why": cut(why), "flag": "--audit best-effort", "retryable": !for_good }),
        ),
        CallError::DetectionOff => (
            code::DETECTION_OFF,
            "The operator of this server wants nobody to look for other agents.".to_owned(),
            json!({
                "environmentVariable": settings::DETECTION_DISABLED,
                "reason": "The variable is set, so that neither processes nor other agents' stores are looked at.",
                "agentRecommendation": "Do not ask again: the answer will be the same until the operator starts the server \
                                        anew without the variable.",
            }),
        ),
        CallError::GatewayNeeded => (code::GATEWAY_NEEDED, gateway::NEEDED.to_owned(), gateway::needed(tool.name)),
        CallError::GatewaySilent { configured } => {
            (code::GATEWAY_SILENT, gateway::SILENT.to_owned(), gateway::silent(tool.name, *configured))
        }
        // only calls of the other surface end so
        CallError::Direct(failure) => {
            (code::LOCAL_READ, cut(&failure.reason), json!({ "class": failure.class.name() }))
        }
        // rendered above
        CallError::Forbidden { violations } => {
            (code::INVALID_PARAMS, format!("{} arguments break rules.", violations.len()), json!({}))
        }
        // a call that its client cancelled is not rendered at all
        CallError::Stopping | CallError::Cancelled => (
            code::WORKER_DIED,
            "The server was stopping, and the call was stopped with it before it had an answer. Nothing was changed; \
             calling again is safe."
                .to_owned(),
            json!({ "how": "the server was stopping", "retryable": true }),
        ),
    };
    error_payload(tool, code, message, data)
}

/// What belongs to mending what this server does not try again.
fn restart(for_good: bool) -> &'static str {
    if for_good { "; this server tries no more and has to be restarted" } else { "" }
}

fn read_message(failure: &ReadFailure) -> String {
    // our own sentences quote the path, or begin with it where it lies in the git directory
    let named = |path: &str| {
        let rest = failure.details.strip_prefix(path).filter(|_| path.starts_with(".git"));
        rest.is_some_and(|rest| rest.starts_with(' ')) || failure.details.contains(&format!("`{path}`"))
    };
    let at = match &failure.path {
        Some((path, _)) if !named(path) => format!(" (`{}`)", cut(path)),
        _ => String::new(),
    };
    format!("{}: {}{at}", failure.reason.name(), cut(&failure.details))
}

fn read_data(failure: &ReadFailure) -> Value {
    let mut data = json!({
        "operation": cut(&failure.operation),
        "details": cut(&failure.details),
        "reason": failure.reason.name(),
    });
    if let Some((path, encoding)) = &failure.path {
        data["path"] = cut(path).into();
        if encoding.is_some() {
            data["pathEncoding"] = "escaped".into();
        }
    }
    data
}

fn error_payload(tool: &Tool, code: i64, message: String, data: Value) -> Rendered {
    let mut payload = envelope(tool);
    // what only a gateway could answer names its tier in place of a source
    if let Some(tier) = data.get("tier") {
        payload.insert("tier".into(), tier.clone());
        payload.remove("source");
    }
    payload.insert("error".into(), json!({ "code": code, "message": message, "data": data }));
    Rendered::Payload { json: visible(Value::Object(payload).to_string()), is_error: true }
}

fn envelope(tool: &Tool) -> Map<String, Value> {
    let mut payload = Map::new();
    payload.insert("tool".into(), tool.name.into());
    payload.insert("readOnly".into(), tool.annotations.read_only.into());
    payload.insert("source".into(), tool.source.into());
    payload
}

/// Workers word their failures; a taken-over one may word a novel.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_DETAILS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::{
        jsonrpc::error_line,
        tests::{answered, settings},
    };
    use bulkhead_contract::catalogue;

    fn tool() -> &'static Tool {
        catalogue::find("repo.status").expect("the tool has a row")
    }

    fn payload(outcome: Result<Done, CallError>) -> (Value, bool) {
        match render(tool(), "/w/app", &settings(), outcome) {
            Rendered::Payload { json, is_error } => (serde_json::from_str(&json).expect("payloads are JSON"), is_error),
            other => panic!("not a payload: {other:?}"),
        }
    }

    #[test]
    fn a_good_answer_is_the_envelope_around_the_data() {
        let (value, is_error) = payload(Ok(answered()));
        assert!(!is_error);
        let keys: Vec<_> = value.as_object().expect("an object").keys().cloned().collect();
        assert_eq!(keys, ["data", "readOnly", "repoPath", "source", "tool"]);
        assert_eq!((&value["tool"], &value["source"]), (&json!("repo.status"), &json!("local-git")));
        assert_eq!((&value["readOnly"], &value["repoPath"]), (&json!(true), &json!("/w/app")));
        assert_eq!(value["data"]["branch"], "main");
    }

    #[test]
    fn a_path_that_is_no_text_is_marked() {
        let (value, _) = payload(Ok(Done { canonical: Some(b"/w/\xff".to_vec()), ..answered() }));
        assert_eq!((&value["repoPath"], &value["repoPathEncoding"]), (&json!("/w/\\xFF"), &json!("escaped")));
    }

    #[test]
    fn text_and_structure_are_the_same_json() {
        let Rendered::Payload { json, is_error } = render(tool(), "/w/app", &settings(), Ok(answered())) else {
            panic!("a good answer is a payload");
        };
        for era in Era::ALL {
            let wrapped = wrap(era, &json, &json, is_error, None);
            let value: Value = serde_json::from_str(&wrapped).expect("results are JSON");
            assert_eq!(value.to_string(), wrapped, "keys are sorted in {}", era.version());
            assert_eq!(value["content"][0]["text"], json);
            assert_eq!(value.get("structuredContent").map(Value::to_string), era.has_structure().then(|| json.clone()));
            assert_eq!(value.get("resultType").is_some(), era.is_modern());
            assert_eq!(value["_meta"].is_object(), era.is_modern());
            assert!(value.get("ttlMs").is_none());
        }
    }

    #[test]
    fn no_text_of_an_answer_hides_anything() {
        let hidden = "\u{85}\u{7f}\u{202e}\u{feff}\u{e0041}";
        let failure = ReadFailure::new(Reason::Corrupt, "open", hidden);
        let hidden_path = format!("/w/{hidden}").into_bytes();
        for outcome in [Ok(Done { canonical: Some(hidden_path), ..answered() }), Err(CallError::Read(failure))] {
            let Rendered::Payload { json, is_error } = render(tool(), "/w/app", &settings(), outcome) else {
                panic!("no payload")
            };
            let era = Era::ALL.into_iter().find(|era| era.has_structure()).expect("newer eras have it");
            let wrapped = wrap(era, &json, &json, is_error, None);
            assert!(!hidden.chars().any(|c| wrapped.contains(c)), "{wrapped}");
            let value: Value = serde_json::from_str(&wrapped).expect("results are JSON");
            assert_eq!(value["content"][0]["text"], json, "whoever decodes once sees the escapes");
            assert!(value["structuredContent"].to_string().contains("\u{202e}"), "the value is as it was");
        }
        let outside = CallError::Read(ReadFailure::new(Reason::OutsideRoots, "open", hidden));
        let Rendered::Rpc(error) = render(tool(), "/w/app", &settings(), Err(outside)) else {
            panic!("no protocol error")
        };
        let line = error_line(None, &error);
        assert!(!hidden.chars().any(|c| line.contains(c)), "{line}");
    }

    #[test]
    fn failures_have_their_codes_and_say_what_to_do() {
        let failure = ReadFailure::new(Reason::Corrupt, "index", "The index is damaged.").at(b".git/index\xff");
        for (error, code, key, words) in [
            (CallError::Incomplete { details: "name one".into() }, code::INVALID_PARAMS, "details", "name one"),
            (CallError::Read(failure), code::LOCAL_READ, "operation", "corrupt"),
            (
                CallError::IsolationMissing { layer: "network".into(), cause: "no seccomp".into() },
                code::ISOLATION_MISSING,
                "flag",
                "--isolation best-effort",
            ),
            (CallError::Deadline { seconds: 30 }, code::DEADLINE, "seconds", "30 s"),
            (CallError::WorkerDied { how: "signal 6".into() }, code::WORKER_DIED, "how", "signal 6"),
            (CallError::Stopping, code::WORKER_DIED, "how", "server was stopping"),
            (CallError::Cancelled, code::WORKER_DIED, "how", "server was stopping"),
            (CallError::Unavailable { why: "crashed".into() }, code::WORKER_UNAVAILABLE, "why", "crashed"),
            (CallError::Poisoned { seconds: 9 }, code::POISONED, "retryAfterSeconds", "9 s"),
        ] {
            let (value, is_error) = payload(Err(error));
            assert!(is_error);
            assert_eq!(value["error"]["code"], code);
            assert!(value["error"]["data"].get(key).is_some(), "{value}");
            assert!(value["error"]["message"].as_str().is_some_and(|message| message.contains(words)), "{value}");
            assert_eq!(
                (&value["tool"], &value["readOnly"], &value["source"]),
                (&json!("repo.status"), &json!(true), &json!("local-git"))
            );
        }
    }

    #[test]
    fn only_what_may_come_right_by_itself_is_worth_a_retry() {
        let why = || "it is gone".to_owned();
        for (error, code, retryable) in [
            (CallError::Unavailable { why: why() }, code::WORKER_UNAVAILABLE, true),
            (CallError::Gone { why: why() }, code::WORKER_UNAVAILABLE, false),
            (CallError::Unrecorded { why: why(), for_good: false }, code::UNRECORDED, true),
            (CallError::Unrecorded { why: why(), for_good: true }, code::UNRECORDED, false),
        ] {
            let (value, _) = payload(Err(error));
            let error = &value["error"];
            assert_eq!((&error["code"], &error["data"]["retryable"]), (&json!(code), &json!(retryable)));
            let message = error["message"].as_str().expect("a message");
            let helpless = message.contains("restarted") || message.contains("does not help");
            assert_eq!(helpless, !retryable, "{message}");
        }
    }

    #[test]
    fn a_failed_read_names_reason_and_path() {
        let failure = ReadFailure::new(Reason::TooLarge, "index", "Over the limit.").at(b"a\xff");
        let (value, _) = payload(Err(CallError::Read(failure)));
        assert_eq!(
            value["error"]["data"],
            json!({"operation": "index", "details": "Over the limit.", "reason": "too-large", "path": "a\\xFF", "pathEncoding": "escaped"})
        );
    }

    #[test]
    fn a_path_that_the_sentence_names_is_not_repeated() {
        for (details, path, ends) in [
            ("`.git` leads nowhere.", ".git", "`.git` leads nowhere."),
            (".git/HEAD is a FIFO.", ".git/HEAD", ".git/HEAD is a FIFO."),
            (".git/HEAD.lock is a FIFO.", ".git/HEAD", "(`.git/HEAD`)"),
            ("A file is damaged.", "A", "(`A`)"),
        ] {
            let failure = ReadFailure::new(Reason::Corrupt, "open", details).at(path.as_bytes());
            assert!(read_message(&failure).ends_with(ends), "{}", read_message(&failure));
        }
    }

    #[test]
    fn outside_the_roots_is_a_protocol_error_without_the_path() {
        let failure = ReadFailure::new(Reason::OutsideRoots, "open", "It is not below a root.");
        let Rendered::Rpc(error) = render(tool(), "/w/app", &settings(), Err(CallError::Read(failure))) else {
            panic!("a path outside the roots is a JSON-RPC error");
        };
        assert_eq!(error.code, code::OUTSIDE_ROOTS);
        assert_eq!(
            error.message,
            "It is not below a root. The operator widens the allowed roots with --root or BULKHEAD_ROOTS."
        );
        assert_eq!(
            error.data,
            Some(json!({
                "environmentVariable": "BULKHEAD_ROOTS",
                "repoPathFingerprint": "sha256:09bc9a80dc3d3ee8988088dbb66adff5b4168be76186ddec8ce1ed79d151b8f1",
            }))
        );
    }

    #[test]
    fn a_long_failure_is_cut() {
        let (value, _) =
            payload(Err(CallError::Read(ReadFailure::new(Reason::Io, "é".repeat(9_000), "é".repeat(1 << 20)))));
        assert!(value.to_string().chars().count() < 4 * MAX_DETAILS);
    }
}
