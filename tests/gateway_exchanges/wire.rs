//! What leaves and what is made of what comes back, byte for byte, by a jailed process and by a thread.
//! Trust: the peer is scripted.

use crate::{
    house::{Case, House, To, get, post},
    peer::answer,
};
use bulkhead_ipc::edge::gateway::{Body, MAX_ANSWERED, MAX_BODY, Outcome};

pub const ALL: &[Case] = &[
    ("a_request_leaves_exactly_as_the_contract_has_it", requests),
    ("any_final_status_is_an_answer_and_no_redirection_is_followed", statuses),
    ("the_longest_bodies_pass_both_ways", long_bodies),
    ("bodies_may_be_chunked_or_end_with_the_connection", framings),
];

/// Both ways in which a worker can live.
const WAYS: [To; 2] = [To::Peer, To::PeerByThread];

pub fn whole(status: u16, body: impl Into<Vec<u8>>) -> Outcome {
    Outcome::Answered { status, body: Body::Whole(body.into()), authentic: false }
}

fn requests(house: &House) {
    for way in WAYS {
        house.over(way, async |lane| {
            let host = house.peer.address;
            house.peer.answers(answer(202, b"{}"));
            let outcome = lane.carry(post("/v1/mcp/operation/preview/merge", "{\"a\":\"\u{e9}\\r\\n\"}")).await;
            assert_eq!(outcome.expect("carried"), whole(202, "{}"), "{way:?}");
            house.peer.answers(answer(200, b""));
            assert_eq!(lane.carry(get("/v1/mcp/operation/status/a_B-9")).await.expect("carried"), whole(200, ""));
            let came = house.peer.came();
            let wanted = [
                format!(
                    "POST /v1/mcp/operation/preview/merge HTTP/1.1\r\ncontent-type: application/json\r\n\
                     content-length: 14\r\naccept: */*\r\nhost: {host}"
                ),
                format!("GET /v1/mcp/operation/status/a_B-9 HTTP/1.1\r\naccept: */*\r\nhost: {host}"),
            ];
            assert_eq!(came.iter().map(|came| came.head.clone()).collect::<Vec<_>>(), wanted, "{way:?}");
            assert_eq!(came[0].body, "{\"a\":\"\u{e9}\\r\\n\"}".as_bytes());
            assert!(came[1].body.is_empty());
            assert_eq!(house.peer.connections(), 2, "one connection for each");
        });
    }
}

fn statuses(house: &House) {
    house.over(To::Peer, async |lane| {
        for status in [200, 202, 204, 301, 302, 304, 307, 400, 403, 404, 429, 500, 599] {
            let elsewhere = format!("HTTP/1.1 {status} X\r\nLocation: http://{}/v1/mcp/x\r\n", house.peer.address);
            let empty = matches!(status, 204 | 304);
            let rest = if empty { "\r\n" } else { "Content-Length: 3\r\n\r\nyes" };
            house.peer.answers(format!("{elsewhere}{rest}"));
            let outcome = lane.carry(get("/v1/mcp/x")).await.expect("carried");
            assert_eq!(outcome, whole(status, if empty { "" } else { "yes" }), "{status}");
        }
        assert_eq!((house.peer.connections(), house.peer.came().len()), (13, 13));
        // announcements before it do not count
        house.peer.answers(
            [b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 X\r\nLink: a\r\n\r\n", &answer(201, b"x")[..]].concat(),
        );
        assert_eq!(lane.carry(post("/v1/mcp/x", "{}")).await.expect("carried"), whole(201, "x"));
        house.peer.came();
    });
}

fn long_bodies(house: &House) {
    for way in WAYS {
        house.over(way, async |lane| {
            let sent: Vec<u8> = (0..MAX_BODY).map(|n| (n % 251) as u8).collect();
            let back: Vec<u8> = (0..MAX_ANSWERED).map(|n| (n % 241) as u8).collect();
            house.peer.answers(answer(200, &back));
            let outcome = lane.carry(post("/v1/mcp/x", sent.clone())).await.expect("carried");
            assert!(outcome == whole(200, back), "{way:?}: another answer");
            let came = house.peer.came();
            assert!(came.len() == 1 && came[0].body == sent, "{way:?}: another request");
        });
    }
}

fn framings(house: &House) {
    house.over(To::Peer, async |lane| {
        let invalid = b"\xff\xfe{\"broken\": \x00";
        house.peer.answers(answer(200, invalid));
        assert_eq!(lane.carry(get("/v1/mcp/x")).await.expect("carried"), whole(200, *invalid), "invalid UTF-8");
        house
            .peer
            .answers("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n3;x=y\r\ntwo\r\n0\r\n\r\n");
        assert_eq!(lane.carry(get("/v1/mcp/x")).await.expect("carried"), whole(200, "onetwo"));
        house.peer.answers("HTTP/1.0 200 OK\r\n\r\nuntil the end");
        assert_eq!(lane.carry(get("/v1/mcp/x")).await.expect("carried"), whole(200, "until the end"));
        house.peer.came();
    });
}
