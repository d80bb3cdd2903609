//! What becomes of parsers that answer out of order, die, hang, or cannot be had; and where a page ends.
//! Trust: workers here are stand-ins that answer by the name of the file.

use super::*;
use crate::{control::Control, mcp, reads::Client};
use bulkhead_contract::{
    cursor::SemanticCursor,
    results::{LineKind, Region, SemanticHunk, SemanticLine, SemanticSources},
};
use bulkhead_ipc::edge::{
    agents, asks,
    read::{Ask, Reply},
    write::{self, Operation},
};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use tokio::time::sleep;

/// A repository of these changed files.
#[derive(Debug, Default)]
struct Fake {
    files: Vec<SourcePair>,
    more: bool,
    open: Cell<usize>,
    most_open: Cell<usize>,
    asked: RefCell<Vec<(String, u32)>>,
}

fn pair(path: &str) -> SourcePair {
    let regions = vec![Region { old_start: 0, old_len: 0, new_start: 0, new_len: 40 }];
    let sources = match path.strip_prefix("none") {
        Some(_) => Sources::None(FallbackReason::Unmerged),
        None => Sources::Texts { old: Vec::new(), new: vec![b'\n'; 40], regions },
    };
    SourcePair { path: path.as_bytes().to_vec(), old_path: None, sources }
}

fn compared(ask: &syntax::Ask) -> syntax::Reply {
    let line = |number: u32| SemanticLine {
        kind: LineKind::Added,
        old_line: None,
        new_line: Some(number),
        content: "x".repeat(40),
        old_content: None,
        changed_tokens: None,
        old_changed_tokens: None,
        cut: false,
    };
    let lines = (ask.skip + 1..=40).take(ask.lines as usize).map(line).collect();
    let hunk = SemanticHunk { header: "f".into(), within: Vec::new(), change: None, moved: None, lines };
    syntax::Reply::Compared(Box::new(Compared { language: "rust".into(), hunks: vec![hunk], changed_lines: 40 }))
}

impl Reads for Fake {
    async fn read(&self, question: Question, _control: Control) -> Result<Answered, CallError> {
        let Ask::Sources(ask) = question.ask else { panic!("texts are asked for") };
        let sources = SemanticSources {
            repo_path: "/r".into(),
            path: None,
            files: self.files.clone(),
            changed_files: self.files.len() as u64 + u64::from(self.more),
            more: self.more,
            skip: ask.cursor.as_deref().and_then(SemanticCursor::parse).and_then(|at| at.lines).unwrap_or(0),
            partial: None,
        };
        Ok(Answered { canonical: b"/r".to_vec(), reply: Reply::Sources(Box::new(sources)) })
    }

    fn noted(&self, _client: &Client, _tool: &str, _canonical: &[u8]) {}

    async fn exchange(
        &self,
        exchange: bulkhead_ipc::edge::gateway::Exchange,
        _control: Control,
    ) -> Result<bulkhead_ipc::edge::gateway::Outcome, crate::gateway::Interrupted> {
        panic!("the stand-in was not taught to carry {exchange:?}")
    }

    async fn scan(&self, root: Vec<u8>, _: Vec<String>, _: Control) -> Result<[agents::Found; 2], CallError> {
        panic!("the stand-in was not taught who works in {}", String::from_utf8_lossy(&root))
    }

    async fn write(&self, operation: Operation, _control: Control) -> Result<write::Outcome, CallError> {
        panic!("the stand-in was not taught to write {operation:?}")
    }

    async fn syntax(&self, ask: syntax::Ask, control: Control) -> Result<syntax::Reply, CallError> {
        let name = String::from_utf8_lossy(&ask.path).into_owned();
        self.asked.borrow_mut().push((name.clone(), ask.skip));
        self.open.set(self.open.get() + 1);
        self.most_open.set(self.most_open.get().max(self.open.get()));
        let limit = control.limit().expect("a part of a call is limited");
        let outcome = match name.trim_end_matches(char::is_numeric) {
            "slow" => {
                sleep(Duration::from_millis(50)).await;
                Ok(compared(&ask))
            }
            "stuck" => {
                sleep(limit).await;
                Err(CallError::Deadline { seconds: limit.as_secs() })
            }
            "died" => Err(CallError::WorkerDied { how: "signal 11".into() }),
            "busy" => Err(CallError::Unavailable { why: "they ended too often".into() }),
            "short" => Err(CallError::IsolationMissing { layer: "exec".into(), cause: "no seccomp".into() }),
            "deep" => Ok(syntax::Reply::Fallback(FallbackReason::TooDeep)),
            _ => Ok(compared(&ask)),
        };
        self.open.set(self.open.get() - 1);
        outcome
    }
}

async fn call(fake: &Fake, fallbacks: bool, chars: usize, cursor: Option<&str>) -> Result<Value, CallError> {
    let asked = Asked::default();
    let ask = Ask::Sources(asks::Sources { compared: asked.clone(), files: 50, cursor: cursor.map(str::to_owned) });
    let question = Question { path: "/r".into(), ask, fingerprint: [0; 32] };
    let semantic = Semantic { question, asked, later: cursor.is_some(), fallbacks, chars, repo_id: None };
    let (_stopper, control) = Control::pair(None);
    semantic.done(fake, &mcp::tests::settings(), control).await.map(|done| done.data.expect("an answer has data"))
}

fn of(names: &[&str]) -> Fake {
    Fake { files: names.iter().map(|name| pair(name)).collect(), ..Fake::default() }
}

fn told(data: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or("compared").to_owned();
    data["files"].as_array().expect("files").iter().map(|file| (text(&file["path"]), text(&file["reason"]))).collect()
}

#[tokio::test(start_paused = true)]
async fn each_file_has_its_own_fate_and_keeps_its_place() {
    let fake = of(&["slow1", "a", "died", "deep", "busy", "stuck", "none", "z"]);
    let data = call(&fake, false, 100_000, None).await.expect("an answer");
    let expected = [
        ("slow1", "compared"),
        ("a", "compared"),
        ("died", "parser-crashed"),
        ("deep", "too-deep"),
        ("busy", "engine-unavailable"),
        ("stuck", "time"),
        ("none", "unmerged"),
        ("z", "compared"),
    ];
    assert_eq!(told(&data), expected.map(|(path, reason)| (path.to_owned(), reason.to_owned())));
    assert_eq!(fake.most_open.get(), AT_ONCE);
    assert_eq!(data["supported"], json!(true));
    let rows = call(&fake, true, 100_000, None).await.expect("an answer");
    assert_eq!((&rows["analyzedFiles"], rows["fallbacks"].as_array().map(Vec::len)), (&json!(8), Some(5)));
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_where_processes_are_not_confined() {
    let error = call(&of(&["a", "short", "z"]), false, 100_000, None).await.expect_err("refused");
    assert!(matches!(error, CallError::IsolationMissing { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_page_ends_at_a_line_and_the_next_one_goes_on_there() {
    let fake = of(&["a", "b", "c"]);
    let first = call(&fake, false, 5_000, None).await.expect("an answer");
    assert_eq!(told(&first).len(), 2, "{first}");
    let cut = &first["files"][1];
    let shown = cut["hunks"][0]["lines"].as_array().expect("lines").len();
    assert!((1..40).contains(&shown) && cut["linesTruncated"] == json!(true), "{cut}");
    let cursor = first["nextCursor"].as_str().expect("more follows").to_owned();
    assert_eq!(cursor, format!("s{shown}p:b"));
    let rest = of(&["b", "c"]);
    let second = call(&rest, false, 100_000, Some(&cursor)).await.expect("an answer");
    let skips = rest.asked.borrow().clone();
    assert_eq!(skips, [("b".to_owned(), u32::try_from(shown).expect("few")), ("c".to_owned(), 0)]);
    assert_eq!(second["files"][0]["hunks"][0]["lines"][0]["newLine"], json!(shown + 1));
    assert_eq!((second.get("nextCursor"), &second["filesTruncated"]), (None, &json!(false)));
    // a line is always told, or a page could never end
    let tiny = call(&fake, false, 1, None).await.expect("an answer");
    assert_eq!(tiny["files"][0]["hunks"][0]["lines"].as_array().map(Vec::len), Some(1));
    assert_eq!(tiny["nextCursor"], json!("s1p:a"));
}

#[tokio::test(start_paused = true)]
async fn where_the_repository_has_more_the_page_says_so() {
    let fake = Fake { more: true, ..of(&["a", "died"]) };
    let data = call(&fake, false, 100_000, None).await.expect("an answer");
    assert_eq!((&data["nextCursor"], &data["changedFiles"]), (&json!("sap:died"), &json!(3)));
}

#[tokio::test(start_paused = true)]
async fn without_any_comparison_the_text_diff_is_named() {
    let data = call(&of(&["died", "deep"]), false, 100_000, None).await.expect("an answer");
    assert_eq!((&data["supported"], &data["fallback"]), (&json!(false), &json!("diff.text")));
    assert!(data.get("files").is_none());
    let nothing = call(&of(&[]), false, 100_000, None).await.expect("an answer");
    assert_eq!((&nothing["supported"], &nothing["files"]), (&json!(true), &json!([])));
}
