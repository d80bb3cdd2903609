//! The recorded exchanges with an engine behind a gateway, and what becomes of an answer that lies, babbles or does not come.
//! Trust: recordings are data; the gateway is a stand-in.

use super::*;
use crate::{
    control::Control,
    gateway::Interrupted,
    mcp,
    reads::Client,
    settings::{RunDirectory, Settings},
};
use bulkhead_contract::results::{Records, Region, RegistryEntry, SemanticSources};
use bulkhead_ipc::edge::{
    agents, asks,
    gateway::{Body, Exchange, Failure, Method, Outcome},
    read::{Ask, Reply},
    write::{self, Operation},
};
use serde_json::{Value, json};
use std::cell::RefCell;

const RECORDED: &str = include_str!("../../tests/recorded/semantic.json");

/// A repository whose changed files have no grammar, and a gateway that says one thing.
struct Fake {
    canonical: String,
    paths: Vec<String>,
    narrowed: Option<String>,
    registered: bool,
    /// Reason of files that are named so; without grammar are all others.
    reasons: Vec<(&'static str, FallbackReason)>,
    says: RefCell<Option<Result<Outcome, Interrupted>>>,
    seen: RefCell<Vec<Exchange>>,
}

impl Fake {
    fn of(paths: &[&str], says: Result<Outcome, Interrupted>) -> Self {
        Self {
            canonical: "/r".to_owned(),
            paths: paths.iter().map(|path| (*path).to_owned()).collect(),
            narrowed: None,
            registered: true,
            reasons: Vec::new(),
            says: RefCell::new(Some(says)),
            seen: RefCell::new(Vec::new()),
        }
    }
}

fn answered(status: u16, body: &Value) -> Result<Outcome, Interrupted> {
    let body = Body::Whole(body.to_string().into_bytes());
    Ok(Outcome::Answered { status, body, authentic: false })
}

impl Reads for Fake {
    async fn read(&self, question: Question, _control: Control) -> Result<Answered, CallError> {
        let reply = match question.ask {
            Ask::Sources(_) => {
                let regions = vec![Region { old_start: 0, old_len: 0, new_start: 0, new_len: 1 }];
                let pair = |path: &String| SourcePair {
                    path: path.as_bytes().to_vec(),
                    old_path: None,
                    sources: Sources::Texts { old: Vec::new(), new: b"x\n".to_vec(), regions: regions.clone() },
                };
                Reply::Sources(Box::new(SemanticSources {
                    repo_path: self.canonical.clone(),
                    path: self.narrowed.clone(),
                    files: self.paths.iter().map(pair).collect(),
                    changed_files: self.paths.len() as u64,
                    more: false,
                    skip: 0,
                    partial: None,
                }))
            }
            Ask::Records(_) => {
                let path = self.canonical.clone().into_bytes();
                let registry =
                    if self.registered { vec![RegistryEntry { id: "repo-abc".into(), path }] } else { vec![] };
                Reply::Records(Box::new(Records {
                    named: false,
                    registry,
                    restore: vec![],
                    any: false,
                    truncated: false,
                    problems: vec![],
                }))
            }
            other => panic!("nobody asks {other:?}"),
        };
        Ok(Answered { canonical: self.canonical.clone().into_bytes(), reply })
    }

    fn noted(&self, _client: &Client, _tool: &str, _canonical: &[u8]) {}

    async fn exchange(&self, exchange: Exchange, _control: Control) -> Result<Outcome, Interrupted> {
        self.seen.borrow_mut().push(exchange);
        self.says.borrow_mut().take().expect("one exchange")
    }

    async fn scan(&self, root: Vec<u8>, _: Vec<String>, _: Control) -> Result<[agents::Found; 2], CallError> {
        panic!("the stand-in was not taught who works in {}", String::from_utf8_lossy(&root))
    }

    async fn write(&self, operation: Operation, _control: Control) -> Result<write::Outcome, CallError> {
        panic!("the stand-in was not taught to write {operation:?}")
    }

    async fn syntax(&self, ask: syntax::Ask, _control: Control) -> Result<syntax::Reply, CallError> {
        let reason = self.reasons.iter().find(|(name, _)| ask.path == name.as_bytes()).map(|(_, reason)| *reason);
        Ok(syntax::Reply::Fallback(reason.unwrap_or(FallbackReason::UnsupportedLanguage)))
    }
}

fn settings() -> Settings {
    let run_dir = RunDirectory { path: "/run".into(), written: "/run".into(), exists: true };
    Settings {
        gateway: Some("127.0.0.1:7777".parse().expect("an address")),
        run_dirs: vec![run_dir],
        ..mcp::tests::settings()
    }
}

async fn call(fake: &Fake, tool: &str, arguments: &Value, settings: &Settings) -> Result<Done, CallError> {
    let text = |name: &str| arguments[name].as_str().map(str::to_owned);
    let asked = Asked { base: text("base"), head: text("head"), ..Asked::default() };
    let ask = Ask::Sources(asks::Sources { compared: asked.clone(), files: 50, cursor: None });
    let semantic = Semantic {
        question: Question { path: fake.canonical.clone(), ask, fingerprint: [0; 32] },
        asked,
        later: false,
        fallbacks: tool == "diff.semanticFallbacks",
        chars: 100_000,
        repo_id: text("repoId"),
    };
    let (_stopper, control) = Control::pair(None);
    semantic.done(fake, settings, control).await
}

/// As in the recordings; what the reference passed on about files that it had not asked about is not passed on, and files
/// that the gateway says nothing of keep their own row.
#[tokio::test(start_paused = true)]
async fn recorded_exchanges_come_out_again() {
    let cases: Vec<Value> = serde_json::from_str(RECORDED).expect("JSON");
    assert_eq!(cases.len(), 13);
    let (mut asked, mut told) = (0, 0);
    for case in &cases {
        let name = case["case"].as_str().expect("a name");
        let exchange = &case["http"][0];
        let paths: Vec<&str> =
            exchange["request"]["body"]["paths"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let response = &exchange["response"];
        let says = match name {
            "slow11" => Ok(Outcome::Failed { why: Failure::Timeout, sent: true }),
            "badjson" => {
                let body = Body::Whole(b"zz".to_vec());
                Ok(Outcome::Answered { status: 200, body, authentic: false })
            }
            _ => answered(
                response["status"].as_u64().and_then(|it| u16::try_from(it).ok()).unwrap_or(0),
                &response["body"],
            ),
        };
        let fake = Fake {
            canonical: case["arguments"]["repoPath"].as_str().expect("a path").to_owned(),
            narrowed: case["arguments"]["path"].as_str().map(str::to_owned),
            registered: name != "unregistered",
            ..Fake::of(if exchange.is_null() { &["shared.txt"] } else { &paths }, says)
        };
        if name == "option-base" {
            // ours is refused where the revision is read, before anything could be asked
            continue;
        }
        let tool = case["tool"].as_str().expect("a tool");
        let done = call(&fake, tool, &case["arguments"], &settings()).await.expect("an answer");
        let data = done.data.as_ref().expect("an answer has data");
        let seen = fake.seen.borrow();
        // where nothing changed there is nothing to ask about
        assert_eq!(seen.len(), usize::from(!paths.is_empty()), "{name}");
        let Some(request) = seen.first() else {
            assert!(done.members.is_empty(), "{name}");
            continue;
        };
        asked += 1;
        assert_eq!((request.method, request.path.as_str()), (Method::Post, "/v1/mcp/diff/semantic"), "{name}");
        assert_eq!(request.budget_ms, 10_000, "{name}");
        let body: Value = serde_json::from_slice(request.body.as_ref().expect("a POST has one")).expect("JSON");
        assert_eq!(body, exchange["request"]["body"], "{name}");
        let recorded = &case["structuredContent"]["data"];
        let files = response["body"]["files"].as_array().into_iter().flatten();
        let of_ours: Vec<&Value> =
            files.filter(|file| paths.contains(&file["path"].as_str().unwrap_or_default())).collect();
        let bridged = !of_ours.is_empty() && !matches!(name, "slow11" | "badjson" | "http-404");
        assert_eq!(done.members.get("source"), bridged.then(|| json!("fluxgit-gateway")).as_ref(), "{name}");
        if !bridged {
            let why = data["reason"].as_str().expect("why there is none");
            assert_eq!((&data["supported"], &data["fallback"]), (&json!(false), &json!("diff.text")), "{name}");
            assert!(why.contains("The engine behind the gateway was asked, too: "), "{name}: {why}");
            continue;
        }
        told += 1;
        assert_eq!(data["engine"], json!("fluxgit-diff-engine"), "{name}");
        if tool == "diff.semanticFallbacks" {
            assert_eq!(data["analyzedFiles"], recorded["analyzedFiles"], "{name}");
            assert_eq!(data["fallbacks"].as_array().map(Vec::len), Some(paths.len() - of_ours.len()), "{name}");
            continue;
        }
        for member in ["supported", "base", "head", "path", "changedFiles", "filesTruncated"] {
            assert_eq!(data[member], recorded[member], "{name}: {member}");
        }
        let rows = data["files"].as_array().expect("files");
        assert_eq!(rows.len(), paths.len(), "{name}: a row for every changed file");
        for file in of_ours {
            let row = rows.iter().find(|row| row["path"] == file["path"]).expect("its row");
            assert_eq!((&row["hunks"], &row["fallbackToText"]), (&file["hunks"], &json!(false)), "{name}");
            assert_eq!(row["changedLines"], json!(1), "{name}");
        }
    }
    assert_eq!((asked, told), (10, 3));
}

#[tokio::test(start_paused = true)]
async fn it_is_asked_only_where_no_file_has_a_grammar_and_somebody_names_the_repository() {
    let good = || answered(200, &json!({"files": [{"path": "a.x", "hunks": []}]}));
    let never = [
        Fake { reasons: vec![("b.rs", FallbackReason::TooDeep)], ..Fake::of(&["a.x", "b.rs"], good()) },
        Fake { reasons: vec![("m", FallbackReason::NotAFile)], ..Fake::of(&["m"], good()) },
        Fake { registered: false, ..Fake::of(&["a.x"], good()) },
        Fake::of(&[], good()),
    ];
    for fake in &never {
        let done = call(fake, "diff.semantic", &json!({}), &settings()).await.expect("an answer");
        assert!(fake.seen.borrow().is_empty() && done.members.is_empty(), "{:?}", fake.paths);
    }
    let alone = Settings { gateway: None, ..settings() };
    let fake = Fake::of(&["a.x"], good());
    call(&fake, "diff.semantic", &json!({}), &alone).await.expect("an answer");
    assert!(fake.seen.borrow().is_empty(), "no gateway is configured");
    // a submodule is no file that any engine compares; the caller's name for the repository wins
    let fake =
        Fake { registered: false, reasons: vec![("m", FallbackReason::NotAFile)], ..Fake::of(&["a.x", "m"], good()) };
    let done = call(&fake, "diff.semantic", &json!({"repoId": "mine"}), &settings()).await.expect("an answer");
    let body: Value = serde_json::from_slice(fake.seen.borrow()[0].body.as_ref().expect("a body")).expect("JSON");
    assert_eq!((&body["repoId"], &body["paths"]), (&json!("mine"), &json!(["a.x"])));
    assert_eq!(done.data.expect("data")["files"][1]["reason"], json!("not-a-file"));
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_with_an_answer_leaves_ours() {
    let row = |path: &str, more: Value| {
        let mut row = json!({"path": path, "hunks": []});
        row.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        json!({ "files": [row] })
    };
    let line = json!([{"header": "h", "lines": [{"type": "sideways", "content": "x"}]}]);
    let bodies = [
        json!([]),
        json!({"files": {}}),
        json!({ "files": [] }),
        json!({"files": [7, null, "a.x"]}),
        row("../../etc/passwd", json!({})),
        row("b.x", json!({})),
        row("a.x", json!({"hunks": 7})),
        row("a.x", json!({ "hunks": line })),
        row("a.x", json!({"fallbackToText": "yes"})),
    ];
    let failures = [
        Ok(Outcome::Failed { why: Failure::Unreachable, sent: false }),
        Ok(Outcome::Failed { why: Failure::Cut, sent: true }),
        Ok(Outcome::Answered { status: 302, body: Body::Whole(Vec::new()), authentic: false }),
        Ok(Outcome::Answered { status: 200, body: Body::TooLong, authentic: false }),
        Err(Interrupted { why: CallError::WorkerDied { how: "signal 9".into() }, sent: true }),
        Err(Interrupted { why: CallError::IsolationMissing { layer: "x".into(), cause: "y".into() }, sent: false }),
    ];
    for says in bodies.iter().map(|body| answered(200, body)).chain(failures) {
        let fake = Fake::of(&["a.x"], says.clone());
        let done = call(&fake, "diff.semantic", &json!({}), &settings()).await.expect("an answer");
        let data = done.data.expect("data");
        assert!(done.members.is_empty(), "{says:?}: {data}");
        assert_eq!(data["supported"], json!(false), "{says:?}");
        let why = data["reason"].as_str().expect("why");
        assert!(why.contains("asked, too: ") && !why.contains(".."), "{why}");
    }
    // where the operator demands proof, an answer without it is none
    let demanding = Settings { gateway_token: true, ..settings() };
    let fake = Fake::of(&["a.x"], answered(200, &json!({"files": [{"path": "a.x", "hunks": []}]})));
    let done = call(&fake, "diff.semantic", &json!({}), &demanding).await.expect("an answer");
    assert!(fake.seen.borrow()[0].authentic && done.members.is_empty());
    // a call that nobody waits for ends
    let fake = Fake::of(&["a.x"], Err(Interrupted { why: CallError::Cancelled, sent: true }));
    assert!(matches!(call(&fake, "diff.semantic", &json!({}), &settings()).await, Err(CallError::Cancelled)));
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_measure_is_cut_and_counted() {
    let line = json!({"type": "added", "newLine": 1, "content": "y".repeat(5_000), "changedTokens": vec!["t"; 300]});
    let same = json!({"type": "unchanged", "oldLine": 0, "content": "z"});
    let mut lines = vec![json!({"type": "deleted", "oldLine": 2, "content": "x".repeat(100)}); 2_000];
    lines[0] = line;
    let hunks = json!([{"header": "h".repeat(5_000), "lines": lines}, {"header": "", "lines": [same]}]);
    let files = json!([
        {"path": "a.x", "hunks": hunks},
        {"path": "a.x", "hunks": []},
        {"path": "b.x", "fallbackToText": true, "reason": "n".repeat(5_000)},
    ]);
    let fake = Fake::of(&["a.x", "b.x", "c.x"], answered(200, &json!({ "files": files })));
    let done = call(&fake, "diff.semantic", &json!({}), &settings()).await.expect("an answer");
    let data = done.data.expect("data");
    let [a, b, c] = data["files"].as_array().expect("files").as_slice() else { panic!("three rows: {data}") };
    assert_eq!((&a["changedLines"], &a["linesTruncated"]), (&json!(2_000), &json!(true)));
    let shown = a["hunks"][0]["lines"].as_array().expect("lines");
    assert!((100..1_500).contains(&shown.len()), "{}", shown.len());
    assert_eq!((shown[0]["content"].as_str().map(str::len), &shown[0]["cut"]), (Some(2_000), &json!(true)));
    assert_eq!(shown[0]["changedTokens"].as_array().map(Vec::len), Some(200));
    assert_eq!(a["hunks"][0]["header"].as_str().map(str::len), Some(512));
    assert_eq!(b["reason"], json!("left-by-gateway"));
    assert!(b["details"].as_str().is_some_and(|details| details.ends_with("n") && details.len() < 700), "{b}");
    assert_eq!((&c["reason"], &c["textDiffArguments"]["path"]), (&json!("unsupported-language"), &json!("c.x")));
    assert!(data.to_string().len() < 150_000);
}
