//! The fuzz target's judgement over a fixed corpus and over mutations of it, on the stable toolchain.
//! Trust: the corpus is made here; the mutations are what a taken-over peer might send.

use bulkhead_contract::failure::{ReadFailure, Reason};
use bulkhead_contract::{
    isolation::Report,
    results::{
        AgentSource, FallbackReason, HunkChange, LineKind, McpClient, Moved, Region, SemanticHunk, SemanticLine,
        Status, Unseen, UnseenReason,
    },
};
use bulkhead_ipc::{
    codec,
    edge::{
        FileId, WorkerKind,
        agents::{self, ToAgents},
        audit::{self, FromAudit, ToAudit},
        dialler::{FromDialler, NoStream, ToDialler},
        errand::{ErrandCall, FromErrand},
        gateway::{self, FromGateway, ToGateway},
        launcher::{End, FromLauncher, StatusOf, ToLauncher},
        ledger::{FromHolder, Segment, ToHolder},
        note::{self, ToNote},
        read::{Answer, Ask, Call, FromRead, Page, Place, Reply, ToRead},
        syntax::{self, ToSyntax},
        write::{self, Operation, Resolved, ToWrite},
    },
    frame,
};

fn seeds() -> Vec<Vec<u8>> {
    let page = Page { limit: 1000, chars: 40_000, cursor: Some("t:a/b".to_owned()) };
    let place = Place { path: b"/srv/repo".to_vec(), asked: FileId { dev: 1, ino: u64::MAX } };
    let call = Call { id: 1, budget_ms: 30_000, place: Some(place), ask: Ask::Status(page) };
    let failure = ReadFailure::new(Reason::Corrupt, "index", "the index is cut short").at(b"a\xffb");
    let status = Status {
        branch: Some("main".to_owned()),
        detached: false,
        head: None,
        upstream: None,
        upstream_gone: false,
        ahead: 0,
        behind: 300,
        clean: true,
        changed_files: 0,
        entries: Vec::new(),
        truncated: false,
        next_cursor: None,
        partial: None,
    };
    let answers: [Answer; 3] = [
        Ok(Reply::Status(Box::new(status))),
        Ok(Reply::SelfProbe(Report { process: "worker-read".to_owned(), rows: Vec::new() })),
        Err(failure.clone()),
    ];
    let event = audit::Event {
        kind: audit::Kind::ToolCall,
        tool: "repo.status".to_owned(),
        result: audit::Outcome::Success,
        scope: audit::Scope::Path([7; 32]),
        arguments: Some([9; 32]),
        session: "client:1".to_owned(),
        duration_ms: 3,
        summary: "answered".to_owned(),
        reported: None,
        timestamp: u64::MAX,
        place: 1,
        numbers: vec![("lost".to_owned(), 300)],
        write: None,
    };
    let known = audit::Known { sequence: 7, hash: [1; 32], ledger: Some("id".to_owned()) };
    let standing = audit::Standing { last: Some(known.clone()), notices: vec!["rotated".to_owned()] };
    let fault = audit::Fault { index: 1, why: "full".to_owned(), again: true };
    let segment = Segment { first: 1, last: 9, id: "id".to_owned() };
    let stamp = agents::Stamp { file: (1, u64::MAX), size: 300, modified: i64::MAX, changed: -1, way: 2 };
    let finding = agents::Finding {
        agent: "codex".to_owned(),
        source: AgentSource::Session,
        pid: Some(7),
        last_activity_ms: Some(1_796_027_909_946),
        files: vec!["src/m.rs".to_owned()],
        mcp_client: Some(McpClient { name: "codex".to_owned(), version: None }),
        ..agents::Finding::default()
    };
    let unseen = Unseen { what: "goose".to_owned(), reason: UnseenReason::Link, count: 300 };
    let before = vec![agents::Known { stamp, said: vec![finding.clone()], unseen: Some(unseen.clone()) }; 2];
    let root = b"/srv/repo\xff".to_vec();
    let stores = agents::Scan { root: root.clone(), at: agents::Sources::Stores { known: before.clone() } };
    let processes = agents::Scan { root, at: agents::Sources::Processes { traced: vec!["aider".to_owned()] } };
    let found = agents::Found { findings: vec![finding], unseen: vec![unseen], known: before, at_ms: -1 };
    let noted = note::NotedRepo { path: "/srv".to_owned(), tool: "repo.brief".to_owned(), at_ms: 1 };
    let note = note::Note { client: Some("c".to_owned()), version: None, repos: vec![noted; 3] };
    let exchange = gateway::Exchange {
        method: gateway::Method::Post,
        path: "/v1/mcp/operation/cancel/a".to_owned(),
        body: Some(b"{}".to_vec()),
        budget_ms: 5_000,
        authentic: true,
    };
    let why = gateway::Failure::Babble(gateway::Babble::Framing);
    let body = gateway::Body::Whole(vec![b'x'; 300]);
    let region = Region { old_start: 0, old_len: 1, new_start: 0, new_len: 300 };
    let sources = syntax::Ask {
        path: b"a.rs".to_vec(),
        old: b"fn a() {}\n".to_vec(),
        new: vec![b'\n'; 300],
        regions: vec![region; 2],
        skip: 0,
        lines: 1_500,
        bytes: 70_000,
    };
    let line = SemanticLine {
        kind: LineKind::Modified,
        old_line: Some(1),
        new_line: Some(300),
        content: "b".to_owned(),
        old_content: Some("a".to_owned()),
        changed_tokens: Some(vec!["b".to_owned()]),
        old_changed_tokens: None,
        cut: true,
    };
    let hunk = SemanticHunk {
        header: "fn a".to_owned(),
        within: vec!["impl A".to_owned()],
        change: Some(HunkChange::Moved),
        moved: Some(Moved { old_line: 1, new_line: 300, old_within: Some(Vec::new()) }),
        lines: vec![line; 2],
    };
    let compared = syntax::Compared { language: "rust".to_owned(), hunks: vec![hunk; 2], changed_lines: 70_000 };
    let becomes = Resolved::Content { bytes: vec![b'x'; 300], mode_of: 2, conflicts: 1 };
    let resolve = Operation::Resolve { path: "a".to_owned(), becomes, stages: [None, Some("1".repeat(40)), None] };
    let done = write::Done { signed: Some(false), notes: vec!["a note".to_owned(); 2], ..write::Done::default() };
    let mut seeds = vec![
        codec::encode_answer(&exchange),
        codec::encode_answer(&gateway::Outcome::Answered { status: 599, body, authentic: true }),
        codec::encode_answer(&gateway::Outcome::Failed { why, sent: true }),
        codec::encode(&ToGateway::Part { id: 300, last: true, bytes: vec![7; 300] }),
        codec::encode(&ToDialler::Dial { ticket: u64::MAX }),
        codec::encode(&FromDialler::Failed { ticket: 1, why: NoStream::Refused { errno: 111 } }),
        codec::encode(&ToGateway::Cancel { id: 1 }),
        codec::encode(&FromGateway::Ready { report: Report::default(), token: true, locked: false }),
        codec::encode(&FromGateway::Leaving { id: u64::MAX }),
        codec::encode(&ToAgents::Call(Box::new(ErrandCall { id: 1, budget_ms: 300, ask: stores }))),
        codec::encode(&ToAgents::Call(Box::new(ErrandCall { id: 2, budget_ms: 300, ask: processes }))),
        codec::encode(&ToNote::Call(Box::new(ErrandCall { id: 2, budget_ms: 300, ask: note::Ask::Note(note) }))),
        codec::encode_answer::<note::Answer>(&Ok(note::Noted { failed: Some("refused".to_owned()) })),
        codec::encode(&ToAgents::SelfProbe { id: 300 }),
        codec::encode(&FromErrand::Closed { id: 1, report: Report::default() }),
        codec::encode(&FromErrand::Part { id: 1, last: true, bytes: vec![7; 300] }),
        codec::encode_answer::<agents::Answer>(&Ok(found)),
        codec::encode(&ToSyntax::Call(Box::new(ErrandCall { id: 3, budget_ms: 300, ask: sources }))),
        codec::encode(&ToWrite::Call(Box::new(ErrandCall { id: 4, budget_ms: 300, ask: resolve }))),
        codec::encode(&ToWrite::Part { id: 5, last: true, bytes: vec![1, 2, 3] }),
        codec::encode_answer::<write::Answer>(&Ok(write::Outcome::Done(Box::new(done)))),
        codec::encode_answer::<syntax::Answer>(&Ok(syntax::Reply::Compared(Box::new(compared)))),
        codec::encode_answer::<syntax::Answer>(&Ok(syntax::Reply::Fallback(FallbackReason::TooDeep))),
        codec::encode(&ToAudit::Append { group: 1, events: vec![event; 2] }),
        codec::encode(&ToAudit::Open { known: Some(known) }),
        codec::encode(&FromAudit::Recorded { group: 1, faults: vec![fault], standing }),
        codec::encode(&FromAudit::Lost { why: "cut".to_owned(), tampered: true }),
        codec::encode(&ToHolder::Rename { file: FileId { dev: 1, ino: 2 }, to: segment.clone() }),
        codec::encode(&ToHolder::WriteCheckpoint { next: 4, id: "id".to_owned(), content: vec![b'x'; 300] }),
        codec::encode(&FromHolder::Listing { segments: vec![segment; 3], checkpoints: vec!["c".to_owned()] }),
        codec::encode(&ToRead::Call(Box::new(call))),
        codec::encode(&ToRead::Cancel { id: 1 }),
        codec::encode(&FromRead::Part { id: 1, last: true, bytes: vec![7; 300] }),
        codec::encode(&FromRead::Progress { id: 1, done: 70_000, total: None }),
        codec::encode(&FromRead::Refused { failure, report: Report::default() }),
        codec::encode(&ToLauncher::Spawn { ticket: 9, kind: WorkerKind::Read, path: Some(b"/a".to_vec()) }),
        codec::encode(&ToLauncher::Status { ticket: 9, of: StatusOf::Worker { pid: 77 } }),
        codec::encode(&FromLauncher::Ended { pid: 77, end: End::Signal(9) }),
        codec::encode(&FromLauncher::SpawnFailed { ticket: 9, errno: 11, step: "fork".to_owned() }),
    ];
    seeds.extend(answers.iter().map(codec::encode_answer));
    seeds.into_iter().map(|seed| seed.expect("small and well-formed")).collect()
}

/// What the fuzz target does too: every decoder of an edge, and what decodes must encode to something that decodes to
/// the same value again.
fn judge(bytes: &[u8]) {
    fn one<T: bincode::Decode<()> + bincode::Encode + PartialEq + std::fmt::Debug>(bytes: &[u8]) {
        if let Ok(message) = codec::decode::<T>(bytes) {
            let again = codec::encode(&message).expect("it came in within the limits");
            assert_eq!(codec::decode::<T>(&again).expect("we wrote it"), message);
        }
    }
    one::<ToRead>(bytes);
    one::<FromRead>(bytes);
    one::<ToLauncher>(bytes);
    one::<FromLauncher>(bytes);
    one::<ToAudit>(bytes);
    one::<FromAudit>(bytes);
    one::<ToHolder>(bytes);
    one::<FromHolder>(bytes);
    one::<ToAgents>(bytes);
    one::<ToNote>(bytes);
    one::<ToSyntax>(bytes);
    one::<ToWrite>(bytes);
    one::<FromErrand>(bytes);
    one::<ToDialler>(bytes);
    one::<FromDialler>(bytes);
    one::<ToGateway>(bytes);
    one::<FromGateway>(bytes);
    one::<gateway::Exchange>(bytes);
    one::<gateway::Outcome>(bytes);
    let _ = codec::decode_answer::<gateway::Exchange>(bytes).map(|exchange| exchange.check());
    let _ = codec::decode_answer::<agents::Answer>(bytes);
    let _ = codec::decode_answer::<note::Answer>(bytes);
    let _ = codec::decode_answer::<syntax::Answer>(bytes);
    let _ = codec::decode_answer::<write::Answer>(bytes);
    let _ = codec::decode_answer::<Answer>(bytes);
    let _ = frame::read(&mut &*bytes);
    let mut assembler = frame::Assembler::default();
    assembler.push(bytes);
    while let Ok(Some(_)) = assembler.take() {}
}

#[test]
fn every_seed_is_a_message_of_some_edge() {
    for seed in seeds() {
        let known = codec::decode::<ToRead>(&seed).is_ok()
            || codec::decode::<FromRead>(&seed).is_ok()
            || codec::decode::<ToLauncher>(&seed).is_ok()
            || codec::decode::<FromLauncher>(&seed).is_ok()
            || codec::decode::<ToAudit>(&seed).is_ok()
            || codec::decode::<FromAudit>(&seed).is_ok()
            || codec::decode::<ToHolder>(&seed).is_ok()
            || codec::decode::<FromHolder>(&seed).is_ok()
            || codec::decode::<ToAgents>(&seed).is_ok()
            || codec::decode::<ToNote>(&seed).is_ok()
            || codec::decode::<ToSyntax>(&seed).is_ok()
            || codec::decode::<ToWrite>(&seed).is_ok()
            || codec::decode_answer::<write::Answer>(&seed).is_ok()
            || codec::decode::<FromErrand>(&seed).is_ok()
            || codec::decode::<ToDialler>(&seed).is_ok()
            || codec::decode::<FromDialler>(&seed).is_ok()
            || codec::decode::<ToGateway>(&seed).is_ok()
            || codec::decode::<FromGateway>(&seed).is_ok()
            || codec::decode_answer::<gateway::Exchange>(&seed).is_ok()
            || codec::decode_answer::<gateway::Outcome>(&seed).is_ok()
            || codec::decode_answer::<agents::Answer>(&seed).is_ok()
            || codec::decode_answer::<note::Answer>(&seed).is_ok()
            || codec::decode_answer::<syntax::Answer>(&seed).is_ok()
            || codec::decode_answer::<Answer>(&seed).is_ok();
        assert!(known, "{seed:?}");
    }
}

#[test]
fn mutated_messages_are_refused_or_understood_and_never_worse() {
    // a fixed xorshift, so that a failure comes again
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for seed in seeds() {
        judge(&seed);
        for cut in 0..seed.len() {
            judge(&seed[..cut]);
        }
        for _ in 0..4_000 {
            let mut bytes = seed.clone();
            for _ in 0..=next() % 4 {
                let at = usize::try_from(next()).unwrap_or(0) % bytes.len();
                match next() % 3 {
                    0 => bytes[at] = (next() & 0xff) as u8,
                    1 => bytes.insert(at, [0xff, 0xfd, 0xfc, 0xfb, 0x00][(next() % 5) as usize]),
                    _ if bytes.len() > 1 => drop(bytes.remove(at)),
                    _ => {}
                }
            }
            judge(&bytes);
        }
    }
}
