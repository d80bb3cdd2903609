//! With a token: nothing is proposed before the other side has shown that it knows it, and no answer counts that does not.
//! Trust: the peer knows the token, or only pretends to.

use crate::{
    house::{Case, House, Lane, TOKEN, To, get, post},
    peer::{Came, Connection, answer},
    wire::whole,
};
use bulkhead_ipc::edge::gateway::{Body, Exchange, Failure, Outcome};
use bulkhead_supervisor::outcome::CallError;
use bulkhead_worker_gateway::proof::{self, Nonce};

pub const ALL: &[Case] = &[
    ("who_knows_the_token_is_told_and_believed", known),
    ("who_does_not_know_it_is_told_nothing", unknown),
    ("answers_that_are_not_proven_do_not_count", unproven),
    ("without_the_demand_the_plain_wire_is_spoken", plain),
    ("a_token_that_cannot_be_used_is_never_done_without", unusable),
];

fn authentic() -> Exchange {
    Exchange { authentic: true, ..post("/v1/mcp/operation/preview/push", "{\"facts\":{}}") }
}

fn field<'a>(came: &'a Came, name: &str) -> Option<&'a str> {
    came.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

fn nonce(came: &Came) -> Nonce {
    let text = field(came, "bulkhead-nonce").expect("a nonce");
    assert_eq!(text.len(), 32);
    std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("hex digits"))
}

fn with_mac(status: u16, body: &str, mac: &[u8]) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nbulkhead-mac: {}\r\n\r\n{body}", proof::hex(mac))
}

/// Greets as one who knows `token`; the nonce.
fn greets(connection: &mut Connection, token: &str) -> Option<Nonce> {
    let hello = connection.request()?;
    assert!(hello.head.starts_with("GET /v1/mcp/hello HTTP/1.1\r\n"), "{}", hello.head);
    assert!(field(&hello, "bulkhead-mac").is_none() && hello.body.is_empty());
    let nonce = nonce(&hello);
    let mac = proof::of_hello(token.as_bytes(), &nonce);
    connection.say(with_mac(200, "", &mac).as_bytes()).ok()?;
    Some(nonce)
}

fn known(house: &House) {
    house.over(To::Known, async |lane| {
        assert!(lane.bridge.authenticates());
        for status in [202, 403] {
            let note = house.peer.note();
            house.peer.script(move |connection| {
                let nonce = greets(connection, TOKEN).expect("a greeting");
                let Some(came) = connection.request() else { return };
                let path = "/v1/mcp/operation/preview/push";
                let wanted = proof::of_request(TOKEN.as_bytes(), &nonce, "POST", path, &came.body);
                let shown = field(&came, "bulkhead-mac").map(str::to_owned);
                assert_eq!(shown, Some(proof::hex(&wanted)));
                let mac = proof::of_answer(TOKEN.as_bytes(), &nonce, status, path, b"{\"x\":1}");
                let _ = connection.say(with_mac(status, "{\"x\":1}", &mac).as_bytes());
                note(came);
            });
            let outcome = lane.carry(authentic()).await.expect("carried");
            let body = Body::Whole(b"{\"x\":1}".to_vec());
            assert_eq!(outcome, Outcome::Answered { status, body, authentic: true });
        }
        house.peer.wait_for(2);
        let came = house.peer.came();
        assert!(came.iter().all(|came| !came.head.contains(TOKEN) && came.body == b"{\"facts\":{}}"), "{came:?}");
        assert_ne!(nonce(&came[0]), nonce(&came[1]), "each connection has its own");
    });
}

/// One exchange against this; the requests that came.
async fn against(
    house: &House,
    lane: &Lane,
    script: impl FnOnce(&mut Connection, &dyn Fn(Came)) + Send + 'static,
) -> Outcome {
    let note = house.peer.note();
    house.peer.script(move |connection| script(connection, &note));
    lane.carry(authentic()).await.expect("carried")
}

fn unknown(house: &House) {
    house.over(To::Known, async |lane| {
        let refused = Outcome::Failed { why: Failure::NotAuthentic, sent: false };
        let says = |said: Vec<u8>| {
            move |connection: &mut Connection, note: &dyn Fn(Came)| {
                connection.request();
                let _ = connection.say(&said);
                connection.request().into_iter().for_each(note);
            }
        };
        let of_another = proof::hex(&proof::of_hello(TOKEN.as_bytes(), &[7; 16]));
        for said in [
            answer(404, b"{\"error\":\"no such path\"}"),
            answer(200, b"{}"),
            b"HTTP/1.1 200 OK\r\nbulkhead-mac: \r\nContent-Length: 0\r\n\r\n".to_vec(),
            format!("HTTP/1.1 200 OK\r\nbulkhead-mac: {of_another}\r\nContent-Length: 0\r\n\r\n").into_bytes(),
            b"HTTP/1.1 302 Found\r\nLocation: /v1/mcp/other\r\nContent-Length: 0\r\n\r\n".to_vec(),
        ] {
            let what = String::from_utf8_lossy(&said).into_owned();
            assert_eq!(against(house, lane, says(said)).await, refused, "{what:?}");
        }
        let other = against(house, lane, |connection, note| {
            greets(connection, "another token of the same length, or nearly so!!");
            connection.request().into_iter().for_each(note);
        });
        assert_eq!(other.await, refused, "another token");
        // an answer that knows the token and comes with another status
        let status = against(house, lane, |connection, note| {
            let hello = connection.request().expect("a greeting");
            let mac = proof::of_hello(TOKEN.as_bytes(), &nonce(&hello));
            let _ = connection.say(with_mac(201, "", &mac).as_bytes());
            connection.request().into_iter().for_each(note);
        });
        assert_eq!(status.await, refused, "another status");
        for (script, why) in [
            ((|_: &mut Connection| ()) as fn(&mut Connection), Failure::Cut),
            (|connection| _ = connection.request(), Failure::Cut),
            (|connection| _ = greets(connection, TOKEN), Failure::Cut),
        ] {
            let outcome = against(house, lane, move |connection, _| script(connection)).await;
            // between greeting and request the end can be seen only when the request is on its way
            let honest = matches!(outcome, Outcome::Failed { why: said, .. } if said == why);
            assert!(honest, "{outcome:?}");
        }
        assert!(house.peer.came().is_empty(), "nothing was proposed");
    });
}

fn unproven(house: &House) {
    house.over(To::Known, async |lane| {
        let path = "/v1/mcp/operation/preview/push";
        let key = TOKEN.as_bytes();
        type Forge = fn(&Nonce, &str) -> String;
        let forged: [(&str, Forge, Failure); 7] = [
            ("none", |_, _| String::from_utf8(answer(200, b"yes")).expect("text"), Failure::NotAuthentic),
            (
                "of another body",
                |nonce, path| with_mac(200, "yes", &proof::of_answer(TOKEN.as_bytes(), nonce, 200, path, b"no")),
                Failure::NotAuthentic,
            ),
            (
                "of another status",
                |nonce, path| with_mac(200, "yes", &proof::of_answer(TOKEN.as_bytes(), nonce, 202, path, b"yes")),
                Failure::NotAuthentic,
            ),
            (
                "of another path",
                |nonce, _| with_mac(200, "yes", &proof::of_answer(TOKEN.as_bytes(), nonce, 200, "/v1/mcp/x", b"yes")),
                Failure::NotAuthentic,
            ),
            (
                "of another connection",
                |_, path| with_mac(200, "yes", &proof::of_answer(TOKEN.as_bytes(), &[9; 16], 200, path, b"yes")),
                Failure::NotAuthentic,
            ),
            (
                "the request's own",
                |nonce, path| with_mac(200, "yes", &proof::of_request(TOKEN.as_bytes(), nonce, "POST", path, b"yes")),
                Failure::NotAuthentic,
            ),
            (
                "of a body that is cut",
                |nonce, path| {
                    let mac = proof::of_answer(TOKEN.as_bytes(), nonce, 200, path, b"yes");
                    with_mac(200, "yes", &mac).trim_end_matches("es").to_owned()
                },
                Failure::Cut,
            ),
        ];
        for (what, forge, why) in forged {
            let outcome = against(house, lane, move |connection, note| {
                let nonce = greets(connection, TOKEN).expect("a greeting");
                let Some(came) = connection.request() else { return };
                let _ = connection.say(forge(&nonce, path).as_bytes());
                connection.end();
                note(came);
            });
            assert_eq!(outcome.await, Outcome::Failed { why, sent: true }, "{what}");
        }
        // an answer to the request that came before it was asked
        let early = against(house, lane, move |connection, note| {
            let hello = connection.request().expect("a greeting");
            let nonce = nonce(&hello);
            let first = with_mac(200, "", &proof::of_hello(key, &nonce));
            let second = with_mac(200, "yes", &proof::of_answer(key, &nonce, 200, path, b"yes"));
            let _ = connection.say(format!("{first}{second}").as_bytes());
            connection.request().into_iter().for_each(note);
        });
        let early = early.await;
        assert!(matches!(early, Outcome::Failed { sent: false, .. }), "{early:?}");
        house.peer.came();
    });
}

fn plain(house: &House) {
    house.over(To::Known, async |lane| {
        house.peer.answers(answer(200, b"plain"));
        assert_eq!(lane.carry(get("/v1/mcp/x")).await.expect("carried"), whole(200, "plain"));
        let came = house.peer.came();
        assert!(came.len() == 1 && !came[0].head.contains("bulkhead"), "{came:?}");
    });
    house.over(To::Peer, async |lane| {
        // where there is no token, the demand changes nothing
        house.peer.answers(answer(200, b"plain"));
        assert_eq!(lane.carry(authentic()).await.expect("carried"), whole(200, "plain"));
        assert!(house.peer.came().iter().all(|came| !came.head.contains("bulkhead")));
    });
}

fn unusable(house: &House) {
    house.over(To::Unusable, async |lane| {
        house.peer.connections();
        for exchange in [authentic(), get("/v1/mcp/x")] {
            let interrupted = lane.carry(exchange).await.expect_err("refused");
            let CallError::Unavailable { why } = &interrupted.why else { panic!("{interrupted:?}") };
            assert!(
                !interrupted.sent && why.contains("unusable") && why.contains("644") && why.contains("600"),
                "{why}"
            );
            assert!(!why.contains(TOKEN));
        }
        assert_eq!(house.peer.connections(), 0);
    });
}
