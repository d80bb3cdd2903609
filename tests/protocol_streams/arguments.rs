//! Arguments that try to become paths elsewhere, options, pathspecs, revisions or patterns.
//! Trust: hostile by construction.

use super::{Session, support::TOOLS};
use serde_json::{Value, json};

#[test]
fn none_of_them_is_more_than_a_value() {
    let mut session = Session::new();
    let here = session.repository.clone();
    let on = |key: &str, value: Value| json!({"repoPath": here, key: value});
    let cases = [
        json!({"repoPath": "/etc"}),
        json!({"repoPath": "/"}),
        json!({"repoPath": "/root"}),
        json!({"repoPath": "../../.."}),
        json!({"repoPath": "/proc/self/cwd"}),
        json!({"repoPath": "/proc/self/root"}),
        json!({"repoPath": "file:///etc"}),
        json!({"repoPath": "a\u{0}b"}),
        json!({"repoPath": format!("{here}\u{0}/../../etc")}),
        json!({"repoPath": "~root"}),
        json!({"repoPath": ""}),
        json!({"repoPath": "   "}),
        json!({"repoPath": format!("/{}", "a/".repeat(3000))}),
        json!({"repoPath": format!("{here}/../../../../../../etc")}),
        json!({"repoPath": "x".repeat(100_000)}),
        json!({"repoPath": 5}),
        json!({"repoPath": null}),
        json!({"repoPath": [&here]}),
        json!({"repoPath": {"a": 1}}),
        json!({"repoPath": true}),
        json!({}),
        on("rev", json!("--output=PWNED")),
        on("path", json!("../../etc/passwd")),
        on("unknown_key", json!(1)),
        on("limit", json!(-1)),
        on("limit", json!(u64::MAX)),
        on("limit", json!(1e308)),
        on("limit", json!("NaN")),
        on("limit", json!(0)),
        on("limit", json!(2.5)),
        on("cursor", json!("\u{202e}")),
        on("cursor", json!("9".repeat(10_000))),
        on("cursor", json!({"a": []})),
        on("recentCommits", json!(-1)),
        on("recentCommits", json!(i64::MIN)),
        on("recentCommits", json!("1")),
        on("repoId", json!("../../../etc/passwd")),
        on("__proto__", json!({})),
        on("", json!("")),
    ];
    for arguments in &cases {
        for tool in TOOLS {
            let outcome = session.server.call(tool, arguments.clone());
            let shown = outcome.message.to_string();
            assert!(!shown.contains("root:x:0:0"), "{tool} {arguments}");
            let harmless = arguments.get("repoId").is_some();
            assert!(harmless || !outcome.is_ok(), "{tool} {arguments}: {shown}");
            if let Some(code) = outcome.code() {
                assert!([-32602, -32011, 10010].contains(&code), "{tool} {arguments}: {shown}");
            }
        }
    }
    session.still_reads();
    session.finish();
}

#[test]
fn what_a_refusal_repeats_is_short_and_printable() {
    let mut session = Session::new();
    let evil = format!("/\u{1b}]0;title\u{7}\u{202e}{}", "x".repeat(20_000));
    let outcome = session.server.call("repo.status", json!({"repoPath": evil}));
    assert!(!outcome.is_ok());
    assert!(outcome.bytes < 8_192, "a refusal of {} bytes", outcome.bytes);
    session.finish();
}
