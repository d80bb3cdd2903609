//! Everything that the other side can do wrong, and what the outcome says of it; each costs its own exchange alone.
//! Trust: the peer is scripted to be hostile.

use crate::{
    house::{Case, House, Lane, To, get, post},
    peer::{Connection, answer},
    wire::whole,
};
use bulkhead_ipc::edge::gateway::{Babble, Body, Failure, MAX_ANSWERED, Outcome};

pub const ALL: &[Case] = &[
    ("nobody_listens_and_nobody_accepts", absent),
    ("a_connection_that_is_cut_says_at_which_stage", cut),
    ("babble_is_named_and_ends_where_it_must", babble),
    ("bodies_that_do_not_end_are_given_up", endless_bodies),
    ("silence_and_drips_end_with_the_budget", late),
    ("what_may_not_leave_is_refused_before_anything_does", unfit),
];

fn failed(why: Failure, sent: bool) -> Outcome {
    Outcome::Failed { why, sent }
}

fn absent(house: &House) {
    for _ in 0..2 {
        let outcome = house.over(To::Nobody, async |lane| lane.carry(get("/v1/mcp/x")).await.expect("carried"));
        assert_eq!(outcome, failed(Failure::Unreachable, false));
    }
    house.over(To::Full, async |lane| {
        let all: Vec<_> = (0..8).map(|_| lane.begin(post("/v1/mcp/x", "{}"))).collect();
        for (_stopper, task) in all {
            let outcome = task.await.expect("no panic").expect("carried");
            assert_eq!(outcome, failed(Failure::ConnectTimeout, false));
        }
    });
}

async fn against(house: &House, lane: &Lane, script: impl FnOnce(&mut Connection) + Send + 'static) -> Outcome {
    house.peer.script(script);
    lane.carry(post("/v1/mcp/x", "{}")).await.expect("carried")
}

fn cut(house: &House) {
    house.over(To::Peer, async |lane| {
        // before a byte is read: what was written may have been lost on the way
        assert_eq!(against(house, lane, |_| ()).await, failed(Failure::Cut, true), "at once");
        let after = |said: &'static [u8]| {
            move |connection: &mut Connection| {
                connection.request();
                let _ = connection.say(said);
            }
        };
        for said in [&b""[..], b"H", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"] {
            let what = String::from_utf8_lossy(said).into_owned();
            assert_eq!(against(house, lane, after(said)).await, failed(Failure::Cut, true), "{what:?}");
        }
        let halves: [&[u8]; 3] = [
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhal",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal",
        ];
        for said in halves {
            let outcome = against(house, lane, after(said)).await;
            let half = Outcome::Answered { status: 200, body: Body::Cut, authentic: false };
            assert_eq!(outcome, half, "{:?}", String::from_utf8_lossy(said));
        }
        house.peer.answers(answer(200, b"well"));
        assert_eq!(lane.carry(get("/v1/mcp/x")).await.expect("carried"), whole(200, "well"), "and the next is well");
        house.peer.came();
    });
}

fn babble(house: &House) {
    house.over(To::Peer, async |lane| {
        let says = |said: &'static [u8]| {
            move |connection: &mut Connection| {
                connection.request();
                let _ = connection.say(said);
                connection.until_closed();
            }
        };
        let not_http: [&[u8]; 6] = [
            b"SSH-2.0-OpenSSH_9.9\r\n",
            b"\x16\x03\x03\x00\x4a\x02\x00\x00\x46",
            b"HTTP/2.0 200 OK\r\n\r\n",
            b"HTTP/1.1 abc OK\r\n\r\n",
            b"HTTP/1.1 999 OK\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        ];
        for said in not_http {
            let what = String::from_utf8_lossy(said).into_owned();
            let wanted = failed(Failure::Babble(Babble::NotHttp), true);
            assert_eq!(against(house, lane, says(said)).await, wanted, "{what:?}");
        }
        let upgrade = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n";
        let wanted = failed(Failure::Babble(Babble::Upgrade), true);
        assert_eq!(against(house, lane, says(upgrade)).await, wanted);
        let chunks: [&[u8]; 2] = [
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\noneXX",
        ];
        for said in chunks {
            let what = String::from_utf8_lossy(said).into_owned();
            let wanted = failed(Failure::Babble(Babble::Framing), true);
            assert_eq!(against(house, lane, says(said)).await, wanted, "{what:?}");
        }
        // each goes on for as long as it is listened to
        let floods: [(&[u8], &[u8]); 4] = [
            (b"HTTP/1.1 200 OK\r\n", b"x-more: and more\r\n"),
            (b"HTTP/1.1 200 OK\r\nx-one: ", b"long and longer "),
            (b"HTTP/1.1 ", b"1"),
            (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        ];
        for (first, more) in floods {
            let outcome = against(house, lane, move |connection| {
                connection.request();
                let _ = connection.say(first);
                connection.flood(more);
            });
            let outcome = outcome.await;
            let named = matches!(
                outcome,
                Outcome::Failed { why: Failure::Babble(Babble::HeadTooLong | Babble::NotHttp), sent: true }
            );
            assert!(named, "{:?}: {outcome:?}", String::from_utf8_lossy(more));
        }
    });
}

fn endless_bodies(house: &House) {
    house.over(To::Peer, async |lane| {
        let too_long = Outcome::Answered { status: 200, body: Body::TooLong, authentic: false };
        for head in [
            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", MAX_ANSWERED + 1),
            "HTTP/1.1 200 OK\r\nContent-Length: 900000000000\r\n\r\n".to_owned(),
        ] {
            let outcome = against(house, lane, move |connection| {
                connection.request();
                let _ = connection.say(head.as_bytes());
                connection.until_closed();
            });
            assert_eq!(outcome.await, too_long, "by its announcement alone");
        }
        let ten = 10 << 20;
        let bodies: [(Vec<u8>, Vec<u8>); 2] = [
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec(), b"1000\r\n".to_vec()),
            (b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), Vec::new()),
        ];
        for (head, before) in bodies {
            let outcome = against(house, lane, move |connection| {
                connection.request();
                let _ = connection.say(&head);
                let after: &[u8] = if before.is_empty() { b"" } else { b"\r\n" };
                let piece = [&before[..], &[b'x'; 0x1000], after].concat();
                for _ in 0..ten / 0x1000 {
                    if connection.say(&piece).is_err() {
                        return;
                    }
                }
            });
            assert_eq!(outcome.await, too_long, "while reading");
        }
    });
}

fn late(house: &House) {
    house.over(To::Peer, async |lane| {
        // so that the start of a worker is not in the budget
        house.peer.answers(answer(200, b""));
        lane.carry(get("/v1/mcp/x")).await.expect("carried");
        let brief = |budget_ms| bulkhead_ipc::edge::gateway::Exchange { budget_ms, ..post("/v1/mcp/x", "{}") };
        house.peer.falls_silent();
        let outcome = lane.carry(brief(300)).await.expect("carried");
        assert_eq!(outcome, failed(Failure::Timeout, true));
        house.peer.wait_for_closed(1);
        let drips: [(&'static [u8], &'static [u8], Outcome); 2] = [
            (b"HTTP/1.1 200 OK\r\nx: ", b"x", failed(Failure::Timeout, true)),
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n",
                b"x",
                Outcome::Answered { status: 200, body: Body::Cut, authentic: false },
            ),
        ];
        for (head, drop, wanted) in drips {
            house.peer.script(move |connection| {
                connection.request();
                let _ = connection.say(head);
                while connection.say(drop).is_ok() {
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
            });
            assert_eq!(lane.carry(brief(400)).await.expect("carried"), wanted);
        }
        house.peer.came();
    });
}

fn unfit(house: &House) {
    house.over(To::Peer, async |lane| {
        house.peer.connections();
        for path in ["/v1/mcp/x\r\nhost: evil", "/v1/mcp/x y", "/other", "http://10.0.0.1/v1/mcp/"] {
            let refused = lane.carry(get(path)).await.expect_err("refused");
            assert!(!refused.sent, "{path:?}");
        }
        assert_eq!(house.peer.connections(), 0);
    });
}
