//! Streams that are meant to break the server: it stays up, answers each id at most once, and serves the next request.
//! Trust: test code.

use super::*;
use bulkhead_contract::limits::MAX_OPEN_REQUESTS;
use std::collections::HashMap;

fn by_id(lines: &[Value]) -> HashMap<String, usize> {
    let mut seen = HashMap::new();
    for line in lines {
        *seen.entry(line.get("id").map_or("-".into(), Value::to_string)).or_default() += 1;
    }
    seen
}

#[tokio::test(start_paused = true)]
async fn an_endless_line_is_one_error() {
    with(async |client| {
        let piece = vec![b'x'; 1 << 16];
        for _ in 0..512 {
            client.raw(&piece).await;
        }
        client.raw("\n").await;
        let line = client.next().await;
        assert_eq!((line.get("id"), &line["error"]["code"]), (None, &json!(-32600)));
        assert_eq!(line["error"]["data"]["limitBytes"], 8_388_608);
        client.quiet().await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_endless_line_before_the_end_of_input_too() {
    with(async |client| {
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..16 {
            client.raw(&piece).await;
        }
        assert_eq!(client.end().await.len(), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn deep_json_keeps_its_id() {
    with(async |client| {
        client.ask(initialize("2025-06-18")).await;
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        client.raw(format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{deep}}}\n")).await;
        let line = client.next().await;
        assert_eq!((&line["id"], &line["error"]["code"]), (&json!(1), &json!(-32700)));
        client.quiet().await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn big_arguments_are_refused_under_their_id() {
    with(async |client| {
        client.send(call(1, &"A".repeat(1 << 20))).await;
        assert_eq!(client.next().await["error"]["code"], -32602);
        client.raw(format!("{}\n", call(2, &"A".repeat(9 << 20)))).await;
        let line = client.next().await;
        assert_eq!((&line["id"], &line["error"]["code"]), (&json!(2), &json!(-32600)));
        client.quiet().await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn bad_bytes() {
    with(async |client| {
        client.raw(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}\n\x00\x01\x02\n").await;
        assert_eq!(client.next().await["error"]["code"], -32700);
        assert_eq!(client.next().await["error"]["code"], -32700);
        client.raw("{\"jsonrpc\":\"2.0\",\"id\":1,\r\n\"method\":\"ping\"}\n").await;
        assert_eq!(client.next().await["error"]["code"], -32700);
        assert_eq!(client.next().await["error"]["code"], -32700);
        client.quiet().await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn duplicate_keys() {
    with(async |client| {
        client.raw("{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\",\"method\":\"tools/list\"}\n").await;
        let line = client.next().await;
        assert_eq!((line.get("id"), &line["error"]["code"]), (None, &json!(-32600)));
        client.raw("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"method\":\"tools/list\"}\n").await;
        assert_eq!(client.next().await["id"], 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn odd_ids() {
    with(async |client| {
        for id in [json!(1), json!(1), json!(-1), json!(1.5), json!("1"), json!(""), json!(null), json!(2f64.powi(70))]
        {
            client.send(call(id, "/w/app")).await;
        }
        let lines = client.end().await;
        let seen = by_id(&lines);
        assert_eq!((seen["1"], seen["-1"], seen["\"1\""], seen["\"\""], seen["-"]), (2, 1, 1, 1, 3));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_flood_is_answered_once_each_and_bounded() {
    with(async |client| {
        const CALLS: usize = 2_000;
        let flood: String = (0..CALLS).map(|id| format!("{}\n", call(id, "/stuck"))).collect();
        client.raw(flood).await;
        for _ in 0..CALLS - MAX_OPEN_REQUESTS {
            let line = client.next().await;
            assert_eq!(line["result"]["isError"], true);
            let text = line["result"]["content"][0]["text"].as_str().expect("a text");
            assert!(text.contains("10025"), "{text}");
        }
        client.quiet().await;
        assert_eq!(client.reads.asked.get(), MAX_OPEN_REQUESTS);
        let rest = client.end().await;
        assert_eq!(rest.len(), MAX_OPEN_REQUESTS);
        assert!(by_id(&rest).values().all(|&count| count == 1));
        assert_eq!(client.reads.stopped.get(), MAX_OPEN_REQUESTS);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn quick_calls_in_one_burst_are_all_answered() {
    with(async |client| {
        const CALLS: usize = 2_000;
        let burst: String = (0..CALLS).map(|id| format!("{}\n", call(id, "/w/app"))).collect();
        client.raw(burst).await;
        for _ in 0..CALLS {
            assert_eq!(client.next().await["result"]["isError"], false);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn cancelling_what_is_not_there() {
    with(async |client| {
        for id in [json!(1), json!("x"), json!(null), json!(2f64.powi(70)), json!({}), json!([])] {
            client
                .send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}))
                .await;
        }
        for params in [json!(null), json!([]), json!({}), json!("x")] {
            client.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})).await;
        }
        client.quiet().await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn cancelling_in_a_race() {
    with(async |client| {
        let race: String = (1..500)
            .map(|id| {
                let cancel =
                    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
                format!("{}\n{cancel}\n", call(id, if id % 2 == 0 { "/stuck" } else { "/w/app" }))
            })
            .collect();
        client.raw(race).await;
        let lines = client.end().await;
        assert!(by_id(&lines).iter().all(|(id, &count)| count == 1 && id.parse::<u32>().is_ok_and(|id| id % 2 == 1)));
        assert_eq!(client.reads.stopped.get(), 249);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn input_that_ends_midway() {
    with(async |client| {
        client.ask(initialize("2025-06-18")).await;
        client.raw("{\"jsonrpc\":\"2.0\",\"id\":1,\"met").await;
        let lines = client.end().await;
        assert_eq!((lines.len(), &lines[0]["id"], &lines[0]["error"]["code"]), (1, &json!(1), &json!(-32700)));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_breaks_inside_is_answered_and_costs_nothing_else() {
    with(async |client| {
        client.status(1, "/gate").await;
        client.status(2, "/panic").await;
        let line = client.next().await;
        assert_eq!((&line["id"], &line["error"]["code"]), (&json!(2), &json!(-32603)));
        client.reads.gate.add_permits(1);
        let line = client.next().await;
        assert_eq!((&line["id"], &line["result"]["isError"]), (&json!(1), &json!(false)));
        client.status(2, "/w/app").await;
        assert_eq!(client.next().await["id"], 2);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_reads_stops_being_read() {
    with(async |client| {
        let input = client.input.clone().expect("the input is open");
        let ping = || vec![Event::Message(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}".to_vec())];
        let mut taken = 0;
        while tokio::time::timeout(Duration::from_secs(5), input.send(ping())).await.is_ok() {
            taken += 1;
            assert!(taken < 1_000, "the session takes input without end");
        }
        assert!(taken >= WAITING_LINES);
        drop(input);
        // once the client reads again, everything that was taken is answered
        client.input = None;
        let mut answers = 0;
        while client.output.recv().await.is_some() {
            answers += 1;
        }
        assert_eq!(answers, taken);
    })
    .await;
}
