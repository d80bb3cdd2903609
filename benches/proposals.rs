//! What one proposal takes against a gateway on this machine: recorded (one sync of the disk) and not, with and without a
//! look at other agents, and a read in the same session to compare it with; and what that read takes while many proposals wait
//! for a gateway that hangs, dribbles or babbles. Trust: our own gateway of the tests.

#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../tests/support/gateway/mod.rs"]
mod gateway;
mod support;

use gateway::{Answer, Gateway};
use serde_json::json;
use std::{path::Path, time::Duration};
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
    drop(servers);
    beside(&root, &repository);
}

/// Proposals that wait while reads are timed.
const WAITING: usize = 64;
/// Reads of one stretch, alone and beside them; and stretches.
const READS: usize = 80;
const STRETCHES: usize = 8;
/// Between two reads. A stretch ends with the first proposal whose five seconds are over.
const PAUSE: Duration = Duration::from_millis(15);

/// A read alone, and beside proposals to a gateway that gives no answer, in turns.
fn beside(root: &Path, repository: &Path) {
    let propose =
        json!({"repoPath": repository, "reason": "bench", "sourceRef": "main", "targetRef": "main"}).to_string();
    let read = json!({ "repoPath": repository }).to_string();
    say("");
    say(&format!("| a gateway that | `repo.refs` alone, p50 (p95) | beside {WAITING} proposals, p50 (p95) | |"));
    say("|---|---|---|---|");
    for (name, habit) in [
        ("hangs", (|| Answer::After(Duration::from_secs(30), Box::new(Answer::Bytes(Vec::new())))) as fn() -> Answer),
        ("dribbles, a byte every 20 ms", || {
            Answer::Dribble(b"HTTP/1.1 200 X\r\nx: ".to_vec(), Duration::from_millis(20))
        }),
        ("babbles without end, 64 KiB every 20 ms", || {
            Answer::Dribble(
                [b"HTTP/1.1 200 X\r\ncontent-length: 2000000\r\n\r\n".as_slice(), &[b'x'; 65_536]].concat(),
                Duration::from_millis(20),
            )
        }),
    ] {
        let gateway = Gateway::start();
        gateway.always(move |_| habit());
        let mut server = server(&gateway, &["--audit", "best-effort"], false, root);
        let mut figures = [Figures::default(), Figures::default()];
        for stretch in 0..2 * STRETCHES {
            let waiting = if stretch % 2 == 1 { WAITING } else { 0 };
            for _ in 0..waiting {
                server.post("operation.preview.merge", &propose);
            }
            // until they have left
            std::thread::sleep(Duration::from_millis(400));
            let mut early = 0;
            for round in 0..WARM + READS {
                if early > 0 {
                    break;
                }
                std::thread::sleep(PAUSE);
                let mut one = || {
                    let id = server.post("repo.refs", &read);
                    let right = format!("\"id\":{id},");
                    loop {
                        let answer = server.other();
                        if answer.contains(&right) {
                            break assert!(!answer.contains("\"isError\":true"), "{answer:.400}");
                        }
                        early += usize::from(!answer.contains("\"method\""));
                    }
                };
                if round < WARM { one() } else { figures[stretch % 2].take(one) }
            }
            for _ in early..waiting {
                let answer = server.other();
                assert!(answer.contains("10003"), "{answer:.400}");
            }
            drop(gateway.seen());
        }
        let [alone, beside] = figures;
        say(&format!(
            "| {name} | {:.2} ms ({:.2}) | {:.2} ms ({:.2}) | {:+.1} % |",
            alone.at(0.5),
            alone.at(0.95),
            beside.at(0.5),
            beside.at(0.95),
            (beside.at(0.5) / alone.at(0.5) - 1.0) * 100.0
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
