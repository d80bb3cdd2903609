//! What one proposal takes against a gateway on this machine: recorded (one sync of the disk) and not, with and without a
//! look at other agents, and a read in the same session to compare it with. Trust: our own gateway of the tests.

#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../tests/support/gateway/mod.rs"]
mod gateway;
mod support;

use gateway::{Answer, Gateway};
use serde_json::json;
use std::path::Path;
use support::{Figures, Server, ours, say};

/// Proposals of each kind that are timed.
const ROUNDS: usize = 100;
/// Untimed ones before.
const WARM: usize = 5;

fn main() {
    let (_keep, root) = support::fixture();
    let repository = root.join("rich");
    let gateway = Gateway::start();
    // no quota: the desk would refuse the eleventh
    gateway.always(|seen| match seen.method.as_str() {
        "GET" => Answer::Say(200, br#"{"status":"pending"}"#.to_vec()),
        _ => Answer::Say(
            202,
            json!({"previewId": seen.json()["previewId"], "status": "pending"}).to_string().into_bytes(),
        ),
    });
    let kinds = [
        ("recorded", &["--audit", "best-effort"][..], false),
        ("not recorded", &["--audit", "off"], false),
        ("recorded, with a look at other agents", &["--audit", "best-effort"], true),
        ("not recorded, with a look at other agents", &["--audit", "off"], true),
    ];
    let mut servers: Vec<(Server, Figures, Figures)> = kinds
        .iter()
        .map(|(_, flags, look)| (server(&gateway, flags, *look, &root), Figures::default(), Figures::default()))
        .collect();
    let arguments =
        json!({"repoPath": repository, "reason": "bench", "sourceRef": "main", "targetRef": "main"}).to_string();
    let read = json!({ "repoPath": repository }).to_string();
    for round in 0..WARM + ROUNDS {
        for (server, proposals, reads) in &mut servers {
            let mut propose = || {
                let answer = server.try_call("operation.preview.merge", &arguments).expect("it is accepted");
                assert!(answer.contains("\\\"accepted\\\":true"), "{answer:.400}");
            };
            if round < WARM {
                propose()
            } else {
                proposals.take(propose)
            }
            let mut read = || drop(server.try_call("repo.refs", &read).expect("it is answered"));
            if round < WARM { read() } else { reads.take(read) }
        }
        // what was asked is of no interest here
        drop(gateway.seen());
    }
    say("");
    say("| a proposal | p50 | p95 | repo.refs beside it, p50 |");
    say("|---|---|---|---|");
    for ((name, ..), (_, proposals, reads)) in kinds.iter().zip(&servers) {
        say(&format!(
            "| {name} | {:.2} ms | {:.2} ms | {:.2} ms |",
            proposals.at(0.5),
            proposals.at(0.95),
            reads.at(0.5)
        ));
    }
}

fn server(gateway: &Gateway, flags: &[&str], look: bool, root: &Path) -> Server {
    let mut command =
        if look { vec![] } else { vec!["env".to_owned(), "FLUXGIT_MCP_AGENT_DETECTION_DISABLED=1".to_owned()] };
    command.extend(ours(flags, root));
    command.extend(["--gateway".to_owned(), gateway.address()]);
    let mut server = Server::start(&command, root);
    server.initialize();
    server
}
