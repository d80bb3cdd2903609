//! Proposals over a wire that the test holds: what leaves, what is said of it, and what a repeated call does.
//! Trust: test code.

#[path = "../../../tests/support/gateway/desk.rs"]
mod desk;
mod session;
#[path = "../support/mod.rs"]
mod support;

use bulkhead_contract::canonical;
use bulkhead_ipc::edge::gateway::Failure;
use serde_json::{Value, json};
use session::{Do, merge, settings, with, with_settings};

#[tokio::test]
async fn an_accepted_proposal_says_what_to_do_next() {
    with(false, async |agent| {
        let answer = agent.merge(json!({"repoId": "never forwarded"})).await;
        assert_eq!(
            (&answer["accepted"], &answer["status"], &answer["isError"]),
            (&json!(true), &json!("pending"), &json!(false))
        );
        assert_eq!(answer["nextAction"]["tool"], "operation.status");
        assert_eq!(answer["nextAction"]["data"]["previewId"], answer["previewId"]);
        assert_eq!((&answer["source"], &answer["tier"]), (&json!("fluxgit-app"), &json!("fluxgit-write-handshake")));
        assert_eq!((&answer["bridgeAuthenticated"], answer.get("repoPath")), (&json!(false), None));
        let sent = agent.wire.sent.borrow()[0].clone();
        let body: Value = serde_json::from_slice(&sent.body.expect("a body")).expect("JSON");
        assert_eq!((&body["repoPath"], &body["agentId"]), (&json!("/real/w/app"), &json!("probe-client")));
        assert!(body.get("facts").is_none() && body.get("repoId").is_none(), "{body}");
        assert_eq!(answer["proposalDigest"], canonical::hex(&canonical::sha256(&body)));
        let digest = answer["proposalDigest"].as_str().expect("hex");
        assert_eq!(
            answer["proposalShort"],
            format!("{}-{}-{}-{}", &digest[..4], &digest[4..8], &digest[8..12], &digest[12..16])
        );
        let id = answer["previewId"].as_str().expect("an id").to_owned();
        assert_eq!(
            agent.left(),
            ["POST /v1/mcp/operation/preview/merge".to_owned(), format!("GET /v1/mcp/operation/status/{id}")]
        );
        assert_eq!(*agent.wire.noted.borrow(), ["operation.preview.merge /real/w/app"]);
        for (status, is_error, code) in [("completed", false, None), ("rejected", true, Some(10004))] {
            agent.wire.desk.borrow_mut().cards.get_mut(&id).expect("the card").status = status.to_owned();
            let answer = agent.call("operation.status", json!({ "previewId": id })).await;
            assert_eq!((&answer["isError"], &answer["data"]["status"]), (&json!(is_error), &json!(status)));
            assert_eq!(answer["error"].get("code").and_then(Value::as_i64), code);
        }
    })
    .await;
}

#[tokio::test]
async fn a_gateway_that_has_proved_itself_gets_facts() {
    with(true, async |agent| {
        let answer = agent.merge(json!({})).await;
        assert_eq!(answer["bridgeAuthenticated"], true, "{answer}");
        let sent = agent.wire.sent.borrow()[0].clone();
        assert!(sent.authentic);
        let mut body: Value = serde_json::from_slice(&sent.body.expect("a body")).expect("JSON");
        assert_eq!(body["facts"]["repositories"][0]["repoPath"], "/real/w/app");
        let told = body["facts"].as_object_mut().expect("facts").remove("digest");
        assert_eq!(
            (told.as_ref(), &answer["proposalDigest"]),
            (Some(&answer["proposalDigest"]), &json!(canonical::hex(&canonical::sha256(&body))))
        );
        agent.script([Do::Drop(Failure::NotAuthentic, false)]);
        let answer = agent.merge(json!({})).await;
        assert_eq!((&answer["error"]["code"], &answer["error"]["data"]["sent"]), (&json!(10003), &json!(false)));
        assert!(answer["error"]["data"]["reason"].as_str().expect("a reason").starts_with("Bridge not authentic"));
        assert!(answer.get("previewId").is_none(), "{answer}");
    })
    .await;
}

#[tokio::test]
async fn a_refusal_names_everything_and_nothing_leaves() {
    with(false, async |agent| {
        let answer = agent.merge(json!({"sourceRef": "--upload-pack=x", "reason": " ", "repoPath": "/gone"})).await;
        let violations = answer["data"]["violations"].as_array().expect("violations").clone();
        let rows: Vec<_> = violations.iter().map(|row| (row["path"].as_str(), row["reason"].as_str())).collect();
        assert_eq!(answer["code"], -32602);
        assert_eq!(
            rows,
            [
                (Some("arguments.reason"), Some("bad-argument")),
                (Some("arguments.sourceRef"), Some("bad-argument")),
                (Some("arguments.repoPath"), Some("no-such-path")),
            ]
        );
        // the rows are broken, too: rules are named beside them, and no worker is asked
        let answer =
            agent.call("operation.preview.merge", json!({"repoPath": "x", "sourceRef": "-a", "reason": " "})).await;
        let paths: Vec<_> = answer["data"]["violations"]
            .as_array()
            .expect("violations")
            .iter()
            .map(|row| row["path"].clone())
            .collect();
        assert_eq!(paths, ["arguments.repoPath", "arguments.targetRef", "arguments.reason", "arguments.sourceRef"]);
        // a repository alone is refused as for every read
        assert_eq!(agent.merge(json!({"repoPath": "/plain"})).await["error"]["data"]["reason"], "not-a-repository");
        assert_eq!(agent.merge(json!({"repoPath": "/outside"})).await["code"], -32011);
        let targets = json!([{"repoPath": "/w/app", "branches": ["a"]}, {"repoPath": "/outside/x", "branches": ["b"]}]);
        let answer = agent
            .call("operation.preview.branchDelete", json!({"repoPath": "/w/app", "reason": "r", "targets": targets}))
            .await;
        assert_eq!(answer["data"]["violations"][0]["path"], "arguments.targets[1].repoPath");
        let arguments = json!({"repoPath": "/w/app", "reason": " ", "branch": "-b", "path": "/outside/tree"});
        let answer = agent.call("operation.preview.worktree", arguments).await;
        assert_eq!(answer["data"]["violations"].as_array().map(Vec::len), Some(3), "{answer}");
        for (path, code) in [("/w/new/tree", None), ("/outside/tree", Some("outside-roots"))] {
            let answer = agent
                .call(
                    "operation.preview.worktree",
                    json!({"repoPath": "/w/app", "reason": "r", "branch": "b", "path": path}),
                )
                .await;
            assert_eq!(answer["data"]["violations"][0]["reason"].as_str(), code, "{answer}");
        }
        assert_eq!(agent.cards(), 1, "the working tree beneath the roots");
    })
    .await;
}

#[tokio::test]
async fn without_a_gateway_nothing_is_asked_of_anybody() {
    let mut settings = settings(false);
    settings.gateway = None;
    with_settings(settings, false, async |agent| {
        for tool in ["operation.status", "operation.cancel"] {
            let answer = agent.call(tool, json!({"previewId": "p"})).await;
            assert_eq!(
                (&answer["error"]["code"], &answer["error"]["data"]["gatewayConfigured"]),
                (&json!(10003), &json!(false))
            );
        }
        assert_eq!(agent.merge(json!({})).await["error"]["code"], 10003);
        assert_eq!(agent.merge(json!({"sourceRef": "-x"})).await["code"], -32602);
        assert!(agent.left().is_empty());
    })
    .await;
}

#[tokio::test]
async fn doubt_is_told_and_the_same_key_opens_no_second_card() {
    with(false, async |agent| {
        let key = json!({"idempotencyKey": "k1"});
        agent.script([Do::Lose(Failure::Timeout)]);
        let answer = agent.merge(key.clone()).await;
        assert_eq!((&answer["error"]["code"], &answer["isError"]), (&json!(10003), &json!(true)));
        let data = &answer["error"]["data"];
        assert_eq!(
            (&data["sent"], &data["idempotencyKey"], &data["gatewayConfigured"]),
            (&json!(true), &json!("merge:client:k1"), &json!(true))
        );
        let id = answer["previewId"].as_str().expect("to reconcile by").to_owned();
        assert_eq!(answer.get("accepted"), None);
        assert_eq!(agent.cards(), 1, "it had arrived");
        agent.left();
        let answer = agent.merge(key.clone()).await;
        assert_eq!(
            (&answer["accepted"], &answer["previewId"], &answer["repeated"]),
            (&json!(true), &json!(id), &json!(true))
        );
        assert_eq!(agent.left(), [format!("GET /v1/mcp/operation/status/{id}")]);
        // from now on it is known
        agent.wire.desk.borrow_mut().decide(&id, "rejected", Some("no"));
        let answer = agent.merge(key.clone()).await;
        assert_eq!((&answer["error"]["code"], &answer["status"]), (&json!(10004), &json!("rejected")));
        // the gateway has forgotten it: still no second card
        agent.wire.desk.borrow_mut().advance(desk::LIFE + desk::KEPT);
        assert_eq!(agent.merge(key.clone()).await["error"]["code"], 10005);
        let other = agent.merge(json!({"idempotencyKey": "k1", "sourceRef": "c"})).await;
        assert_eq!(other["data"]["violations"][0]["path"], "arguments.idempotencyKey");
        assert_eq!(agent.cards(), 0);
    })
    .await;
}

#[tokio::test]
async fn what_did_not_arrive_is_sent_again_under_the_same_id() {
    with(false, async |agent| {
        agent.script([Do::Drop(Failure::Cut, true)]);
        let first = agent.merge(json!({"idempotencyKey": "k"})).await;
        let second = agent.merge(json!({"idempotencyKey": "k"})).await;
        assert_eq!((&second["accepted"], &second["previewId"]), (&json!(true), &first["previewId"]));
        // what never left leaves nothing behind
        agent.script([Do::Drop(Failure::Unreachable, false)]);
        let first = agent.merge(json!({"idempotencyKey": "l"})).await;
        assert!(first.get("previewId").is_none() && first["error"]["data"]["sent"] == false, "{first}");
        assert_eq!(agent.merge(json!({"idempotencyKey": "l", "sourceRef": "other"})).await["accepted"], true);
        // a refusal may be asked about again
        agent.wire.desk.borrow_mut().forbidden.push("merge".into());
        let refused = agent.merge(json!({"idempotencyKey": "m"})).await;
        assert_eq!((&refused["error"]["code"], &refused["status"]), (&json!(10006), &json!("refused")));
        agent.wire.desk.borrow_mut().forbidden.clear();
        assert_eq!(agent.merge(json!({"idempotencyKey": "m"})).await["accepted"], true);
        assert_eq!(agent.cards(), 3);
    })
    .await;
}

#[tokio::test]
async fn two_calls_at_once_with_one_key_are_one_card() {
    with(false, async |agent| {
        for _ in 0..2 {
            agent.ask("operation.preview.merge", merge(json!({"idempotencyKey": "k"}))).await;
        }
        let answers = [agent.answer().await, agent.answer().await];
        let ids: Vec<_> =
            answers.iter().map(|answer| answer["result"]["structuredContent"]["previewId"].clone()).collect();
        assert_eq!(ids[0], ids[1]);
        assert_eq!(agent.cards(), 1);
    })
    .await;
}

#[tokio::test]
async fn nothing_is_accepted_out_of_doubt() {
    with(false, async |agent| {
        for (script, code) in [
            // took it, said nothing plain, and its record does not show it
            (vec![Do::Say(204, ""), Do::Say(404, "{}")], 10003),
            (vec![Do::Say(200, "{{"), Do::Say(500, "")], 10003),
            (vec![Do::Say(200, "\u{feff}"), Do::Drop(Failure::Timeout, true)], 10003),
            (vec![Do::Say(200, r#"{"previewId":5}"#), Do::Say(200, r#"{"status":null}"#)], 10003),
            // a status that nobody knows
            (vec![Do::Say(202, r#"{"previewId":"p"}"#), Do::Say(200, r#"{"status":"weird"}"#)], 10003),
            (vec![Do::Say(202, r#"{"previewId":"a/b"}"#)], 10007),
            (vec![Do::Say(307, "{}")], 10003),
            (vec![Do::Say(500, r#"{"x":1}"#)], 10003),
            (vec![Do::Say(500, r#"{"error":null}"#)], 10006),
            (vec![Do::Fall(true)], 10003),
            (vec![Do::Fall(false)], 10003),
        ] {
            agent.script(script.clone());
            let answer = agent.merge(json!({})).await;
            assert_eq!(answer["error"]["code"], code, "{script:?}: {answer}");
            assert_eq!((&answer["isError"], answer.get("accepted")), (&json!(true), None), "{script:?}");
            assert_eq!(agent.wire.script.borrow().len(), 0, "{script:?}");
        }
        // a record, and nothing else, takes the doubt away
        agent.script([Do::Say(200, ""), Do::Say(200, r#"{"status":"pending"}"#)]);
        assert_eq!(agent.merge(json!({})).await["accepted"], true);
        agent.script([Do::Say(202, r#"{"previewId":"p"}"#), Do::Say(404, "{}")]);
        assert_eq!(agent.merge(json!({})).await["accepted"], true, "it had said so plainly");
        assert!(agent.wire.noted.borrow().len() == 2, "others are told of what was accepted alone");
    })
    .await;
}

#[tokio::test]
async fn a_withdrawal_is_what_the_gateway_says_it_is() {
    with(false, async |agent| {
        let id = agent.merge(json!({})).await["previewId"].as_str().expect("an id").to_owned();
        let answer = agent.call("operation.cancel", json!({ "previewId": id })).await;
        assert_eq!((&answer["status"], &answer["isError"]), (&json!("cancelled"), &json!(false)));
        let answer = agent.call("operation.cancel", json!({ "previewId": id })).await;
        assert_eq!((&answer["error"]["code"], &answer["error"]["data"]["httpStatus"]), (&json!(10006), &json!(409)));
        for (script, code) in [
            (vec![Do::Say(404, "{}")], json!(10005)),
            (vec![Do::Say(500, "")], json!(10006)),
            (vec![Do::Drop(Failure::Unreachable, false)], json!(10003)),
            (vec![Do::Say(204, ""), Do::Say(200, r#"{"status":"cancelled"}"#)], json!(null)),
            (vec![Do::Say(200, "zz"), Do::Say(200, r#"{"status":"pending"}"#)], json!(10003)),
            (vec![Do::Say(200, r#"{"status":"completed"}"#)], json!(10004)),
            (vec![Do::Say(200, "zz"), Do::Say(404, "")], json!(10005)),
        ] {
            agent.script(script.clone());
            let answer = agent.call("operation.cancel", json!({"previewId": "p"})).await;
            assert_eq!(answer["error"]["code"], code, "{script:?}: {answer}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_desk_keeps_quota_expiry_and_owners() {
    with(false, async |agent| {
        let mut ids = Vec::new();
        for _ in 0..desk::PENDING {
            ids.push(agent.merge(json!({})).await["previewId"].as_str().expect("an id").to_owned());
        }
        let over = agent.merge(json!({})).await;
        assert_eq!(
            (&over["error"]["data"]["httpStatus"], &over["error"]["data"]["gateway"]["error"]),
            (&json!(429), &json!("agent_pending_cap_exceeded"))
        );
        agent.wire.desk.borrow_mut().advance(desk::LIFE);
        let expired = agent.call("operation.status", json!({"previewId": ids[0]})).await;
        assert_eq!((&expired["data"]["status"], &expired["error"]["code"]), (&json!("expired"), &json!(10004)));
        agent.wire.desk.borrow_mut().advance(desk::KEPT);
        assert_eq!(agent.call("operation.status", json!({"previewId": ids[0]})).await["error"]["code"], 10005);
        assert_eq!(agent.merge(json!({})).await["accepted"], true);
    })
    .await;
}
