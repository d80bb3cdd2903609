//! Calls side by side: order, cancellation, progress and the end of the session.
//! Trust: test code.

use super::*;

fn cancel(id: impl Into<Value>) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id.into(), "reason": "test"}})
}

fn long(id: u64, token: Value) -> Value {
    let mut message = call(id, "/long");
    message["params"]["_meta"] = json!({ "progressToken": token });
    message
}

#[tokio::test(start_paused = true)]
async fn a_slow_call_delays_nothing() {
    with(async |client| {
        client.status("slow", "/gate").await;
        client.quiet().await;
        client.status("quick", "/w/app").await;
        assert_eq!(client.next().await["id"], "quick");
        client.reads.gate.add_permits(1);
        assert_eq!(client.next().await["id"], "slow");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn sixteen_calls_run_at_once() {
    with(async |client| {
        for id in 0..16 {
            client.status(id, "/gate").await;
        }
        client.quiet().await;
        assert_eq!(client.reads.asked.get(), 16);
        client.reads.gate.add_permits(16);
        let mut ids = Vec::new();
        for _ in 0..16 {
            let line = client.next().await;
            assert_eq!(line["result"]["isError"], false);
            ids.push(line["id"].as_u64().expect("a number"));
        }
        ids.sort_unstable();
        assert_eq!(ids, (0..16).collect::<Vec<_>>());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_stops_and_is_silent() {
    with(async |client| {
        client.status(7, "/stuck").await;
        client.quiet().await;
        client.send(cancel("7")).await;
        client.quiet().await;
        assert_eq!(client.reads.stopped.get(), 0, "7 is not \"7\"");
        client.send(cancel(7)).await;
        client.quiet().await;
        assert_eq!(client.reads.stopped.get(), 1);
        client.status(7, "/w/app").await;
        assert_eq!(client.next().await["id"], 7, "the id is free again");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_ready_when_it_was_cancelled_is_not_sent() {
    with(async |client| {
        client.status(1, "/gate").await;
        client.quiet().await;
        client.send(cancel(1)).await;
        client.quiet().await;
        client.reads.gate.add_permits(1);
        assert!(client.end().await.is_empty());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_id_in_use_is_refused_and_the_first_call_goes_on() {
    with(async |client| {
        client.status(1, "/gate").await;
        client.status(1, "/w/app").await;
        let refused = client.next().await;
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(1), &json!(-32600)));
        client.status("1", "/w/app").await;
        assert_eq!(client.next().await["id"], "1");
        client.reads.gate.add_permits(1);
        assert_eq!(client.next().await["result"]["isError"], false);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn progress_rises_at_least_every_second_and_ends_before_the_answer() {
    with(async |client| {
        let start = tokio::time::Instant::now();
        client.send(long(1, json!("t"))).await;
        let (mut last, mut at, mut told) = (0, start, 0);
        let answer = loop {
            let line = client.next().await;
            let now = tokio::time::Instant::now();
            assert!(now - at <= Duration::from_secs(1), "silent for {:?}", now - at);
            at = now;
            if line.get("id").is_some() {
                break line;
            }
            assert_eq!(line["method"], "notifications/progress");
            assert_eq!(line["params"]["progressToken"], "t");
            let done = line["params"]["progress"].as_u64().expect("a number");
            assert!(done > last);
            (last, told) = (done, told + 1);
        };
        assert_eq!(answer["id"], 1);
        assert!(told >= 4 && last >= 7, "{told} notifications up to {last}");
        tokio::time::sleep(Duration::from_secs(5)).await;
        client.quiet().await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn no_token_or_no_time_is_no_progress() {
    with(async |client| {
        client.status(1, "/long").await;
        assert_eq!(client.next().await["id"], 1);
        let mut quick = call(2, "/w/app");
        quick["params"]["_meta"] = json!({"progressToken": 5});
        assert_eq!(client.ask(quick).await["id"], 2);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_makes_no_progress_either() {
    with(async |client| {
        client.send(long(1, json!(1))).await;
        client.quiet().await;
        client.send(cancel(1)).await;
        tokio::time::sleep(Duration::from_secs(10)).await;
        client.quiet().await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn progress_that_nobody_reads_does_not_hold_up_the_call() {
    with(async |client| {
        for id in 0..8 {
            client.send(long(id, json!(id))).await;
        }
        tokio::time::sleep(Duration::from_secs(60)).await;
        let mut answers = 0;
        for line in client.end().await {
            answers += usize::from(line.get("id").is_some());
        }
        assert_eq!(answers, 8);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_was_piped_in_is_answered_before_the_end() {
    with(async |client| {
        client.status(1, "/w/app").await;
        client.status(2, "/fail").await;
        let lines = client.end().await;
        assert_eq!((&lines[0]["id"], &lines[1]["id"]), (&json!(1), &json!(2)));
        assert_eq!(lines[1]["result"]["isError"], true);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_end_stops_what_still_runs_within_a_second() {
    with(async |client| {
        client.status(1, "/stuck").await;
        client.status(2, "/gate").await;
        client.quiet().await;
        let start = tokio::time::Instant::now();
        let lines = client.end().await;
        assert!(tokio::time::Instant::now() - start < Duration::from_secs(1));
        assert_eq!(client.reads.stopped.get(), 1);
        assert_eq!(lines.len(), 1, "the stopped call is answered, the one that does not listen is dropped");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_closed_output_ends_the_session() {
    with(async |client| {
        client.output.close();
        let input = client.input.clone().expect("the input is open");
        input.closed().await;
        client.input = None;
    })
    .await;
}
