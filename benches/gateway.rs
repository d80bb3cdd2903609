//! Exchanges with a gateway that answers at once: one after the other, with proof, without a process, and 64 at the same time.
//! Trust: the peer is our own; this program is also the worker, started again by the real launcher.
#![cfg_attr(target_os = "linux", allow(dead_code, reason = "the house of the tests has more than this uses"))]

#[cfg(target_os = "linux")]
#[path = "../tests/gateway_exchanges/house.rs"]
mod house;
#[cfg(target_os = "linux")]
#[path = "../tests/gateway_exchanges/peer.rs"]
mod peer;
#[cfg(target_os = "linux")]
mod support;

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    if std::env::args().nth(1).is_some_and(|word| word == "worker") {
        return house::worker();
    }
    bench::run();
    std::process::ExitCode::SUCCESS
}

#[cfg(target_os = "linux")]
mod bench {
    use crate::{
        house::{House, TOKEN, To, post},
        peer::answer,
        support::{Figures, say},
    };
    use bulkhead_ipc::edge::gateway::{Body, Exchange, MAX_ANSWERED, MAX_HELD, MAX_OPEN, Outcome};
    use bulkhead_worker_gateway::proof::{self, Nonce};
    use std::{
        sync::{Arc, Barrier},
        time::{Duration, Instant},
    };

    const ROUNDS: usize = 500;

    pub fn run() {
        let house = House::build();
        for (name, way) in [("jailed", To::Peer), ("by a thread", To::PeerByThread), ("with proof", To::Known)] {
            let (mut first, mut one, mut many) = (Figures::default(), Figures::default(), Figures::default());
            for _ in 0..20 {
                house.over(way, async |lane| {
                    serve(&house, way);
                    first.push(timed(lane.carry(asked(way))).await);
                });
            }
            house.over(way, async |lane| {
                for _ in 0..ROUNDS {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    serve(&house, way);
                    one.push(timed(lane.carry(asked(way))).await);
                }
                for _ in 0..20 {
                    // a burst has to be saved up: the launcher dials 256 times in a second in the long run
                    tokio::time::sleep(Duration::from_millis(600)).await;
                    let since = Instant::now();
                    let tasks: Vec<_> = (0..MAX_OPEN)
                        .map(|_| {
                            serve(&house, way);
                            lane.begin(asked(way))
                        })
                        .collect();
                    for (_stopper, task) in tasks {
                        let outcome = task.await.expect("no panic");
                        assert!(matches!(outcome, Ok(Outcome::Answered { status: 202, .. })), "{outcome:?}");
                    }
                    many.push(since.elapsed());
                }
                if let Some(worker) = lane.worker() {
                    let status = std::fs::read_to_string(format!("/proc/{worker}/status")).unwrap_or_default();
                    let rss = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM: unknown");
                    say(&format!("{name}: {}", rss.split_whitespace().collect::<Vec<_>>().join(" ")));
                }
            });
            say(name);
            say(&format!("  first, with the worker's start  {}", first.line()));
            say(&format!("  one after the other             {}", one.line()));
            say(&format!("  {MAX_OPEN} at once, all of them          {}", many.line()));
        }
        large(&house);
        say("64 processes in place of one would cost 64 times the first line's start");
    }

    /// The most that one worker holds: as many exchanges as may be open, request bodies that fill what may be held of them, and
    /// answers as long as they may be, all of them at the same time.
    fn large(house: &House) {
        let body = vec![b'y'; MAX_ANSWERED];
        let gate = Arc::new(Barrier::new(MAX_OPEN));
        house.over(To::Peer, async |lane| {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let tasks: Vec<_> = (0..MAX_OPEN)
                .map(|_| {
                    let (body, gate) = (body.clone(), Arc::clone(&gate));
                    house.peer.script(move |connection| {
                        connection.request();
                        // every request is there before the first answer comes
                        gate.wait();
                        let _ = connection.say(&answer(202, &body));
                    });
                    lane.begin(post("/v1/mcp/operation/preview/patch", vec![b'x'; MAX_HELD / MAX_OPEN]))
                })
                .collect();
            let mut whole = 0;
            for (_stopper, task) in tasks {
                let outcome = task.await.expect("no panic");
                let Ok(Outcome::Answered { body: Body::Whole(body), .. }) = outcome else { panic!("{outcome:?}") };
                assert_eq!(body.len(), MAX_ANSWERED);
                whole += body.len();
            }
            let Some(worker) = lane.worker() else { return };
            let status = std::fs::read_to_string(format!("/proc/{worker}/status")).unwrap_or_default();
            let line = |name: &str| {
                let found = status.lines().find(|line| line.starts_with(name)).unwrap_or(name);
                found.split_whitespace().collect::<Vec<_>>().join(" ")
            };
            say(&format!(
                "{MAX_OPEN} at once with {} MiB of requests and {} MiB of answers: {}, {}, afterwards {}",
                MAX_HELD >> 20,
                whole >> 20,
                line("VmHWM"),
                line("VmPeak"),
                line("VmRSS")
            ));
        });
    }

    fn asked(way: To) -> Exchange {
        let exchange = post("/v1/mcp/operation/preview/merge", vec![b'x'; 400]);
        Exchange { authentic: way == To::Known, ..exchange }
    }

    async fn timed<T: std::fmt::Debug>(work: impl Future<Output = Result<Outcome, T>>) -> Duration {
        let since = Instant::now();
        let outcome = work.await;
        let elapsed = since.elapsed();
        assert!(matches!(outcome, Ok(Outcome::Answered { status: 202, .. })), "{outcome:?}");
        elapsed
    }

    fn serve(house: &House, way: To) {
        if way != To::Known {
            house.peer.script(|connection| {
                connection.request();
                let _ = connection.say(&answer(202, b"{\"previewId\":\"a\",\"status\":\"pending\"}"));
            });
            return;
        }
        house.peer.script(|connection| {
            let Some(hello) = connection.request() else { return };
            let text = hello.head.lines().find_map(|line| line.strip_prefix("bulkhead-nonce: ")).expect("a nonce");
            let nonce: Nonce =
                std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("hex digits"));
            let with = |status: u16, body: &str, mac: proof::Mac| {
                let (length, mac) = (body.len(), proof::hex(&mac));
                format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nbulkhead-mac: {mac}\r\n\r\n{body}")
            };
            let key = TOKEN.as_bytes();
            let _ = connection.say(with(200, "", proof::of_hello(key, &nonce)).as_bytes());
            connection.request();
            let mac = proof::of_answer(key, &nonce, 202, "/v1/mcp/operation/preview/merge", b"{}");
            let _ = connection.say(with(202, "{}", mac).as_bytes());
        });
    }
}
