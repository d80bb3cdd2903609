//! One client from its first byte to its last: requests are answered as they finish, and no input ends the session.
//! Trust: nothing that comes in; what a client may hold (open calls, waiting answers, batches) is bounded here.

use super::{
    call::{self, Prepared},
    era::{self, Era, Opened, Placed},
    framing::{Event, Fault},
    handshake,
    json::{self, Unreadable},
    jsonrpc::{Id, Message, Request, RpcError, classify, error_line, result_line},
    list::Lists,
    open::OpenCalls,
    progress::{EVERY, Progress},
    reply_to::{Batch, Output, ReplyTo},
    result::{self, Rendered},
    spelling::Spelling,
    stdio::Outflow,
};
use crate::{
    audit::{Audit, Entry},
    control::{Control, Tick},
    log,
    outcome::CallError,
    proposals::{Asker, Held, Outbox},
    reads::{Client, Reads},
    settings::Settings,
    work::{Done, Work},
};
use bulkhead_contract::{
    args::shown,
    failure::code,
    limits::{MAX_BATCH, MAX_OPEN_REQUESTS, MAX_REQUEST_BYTES},
};
use serde_json::{Value, json};
use std::{future::Future, pin::pin, rc::Rc, time::Duration};
use tokio::{
    sync::mpsc,
    task::{JoinError, JoinSet},
    time::{MissedTickBehavior, interval_at, timeout},
};

/// How long running calls may go on after the last byte of input: scripts pipe requests in and close at once.
const LINGER: Duration = Duration::from_millis(600);
/// How long answers may wait at the end for somebody who reads nothing. Hosts that want a server gone send a signal, which
/// does not wait for them.
pub const UNREAD: Duration = Duration::from_millis(1_500);
/// How long stopped calls may take to notice.
const LEAVE: Duration = Duration::from_millis(100);
/// Ticks of one call that wait for the next notification.
const TICKS: usize = 8;

/// Both directions of a client.
#[derive(Debug)]
pub struct SessionIo {
    /// What came in, in order; closed at the end of input.
    pub input: mpsc::Receiver<Vec<Event>>,
    /// Lines to write; closed when they cannot be written.
    pub output: Output,
    /// What has left of them.
    pub outflow: Outflow,
    /// Whether nothing more comes in, even where not all of it was taken yet: what is not taken keeps the end from being seen.
    pub hung_up: fn() -> bool,
}

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Every call was answered.
    Answered,
    /// Some call got no answer for want of a reader.
    Unread,
    /// Nothing was said at all.
    Unheard,
}

/// Serves one client until its input ends or its output breaks, then stops what still runs. Answers that are finished
/// by then are in the output, where somebody reads it. Must run inside a [`tokio::task::LocalSet`].
pub async fn run<R: Reads + 'static>(io: SessionIo, reads: Rc<R>, settings: Rc<Settings>, audit: Audit) -> End {
    let SessionIo { mut input, output, outflow, hung_up } = io;
    let lists = Lists::new(Rc::clone(&settings));
    let mut session = Session {
        reads,
        settings,
        audit,
        outbox: Rc::new(Outbox::default()),
        lists,
        output,
        outflow,
        opened: Opened::default(),
        open: OpenCalls::default(),
        tasks: JoinSet::new(),
        heard: false,
        #[cfg(feature = "conformance-fixtures")]
        fixtures: super::fixtures::Fixtures::default(),
    };
    loop {
        tokio::select! {
            events = input.recv() => match events {
                Some(events) => {
                    let ended = || input.is_closed() || hung_up();
                    let abandoned = abandoned(ended, session.output.clone(), session.outflow.clone());
                    tokio::select! {
                        () = session.take(events) => {}
                        () = abandoned => {
                            session.tasks.abort_all();
                            return End::Unread;
                        }
                    }
                }
                None => break,
            },
            Some(ended) = session.tasks.join_next_with_id() => session.mend(ended.map(drop)).await,
            () = session.output.closed() => {
                log::info("standard output is closed; the session ends");
                break;
            }
        }
    }
    let heard = session.heard;
    match session.end().await {
        _ if !heard => End::Unheard,
        true => End::Answered,
        false => End::Unread,
    }
}

/// Resolves when the input is over and nobody reads the answers to it, on which the session itself may be waiting.
async fn abandoned(ended: impl Fn() -> bool, output: Output, outflow: Outflow) {
    let mut before = outflow.bytes();
    loop {
        tokio::time::sleep(UNREAD).await;
        let now = outflow.bytes();
        if output.capacity() == 0 && now == before && ended() {
            return;
        }
        before = now;
    }
}

struct Session<R> {
    reads: Rc<R>,
    settings: Rc<Settings>,
    audit: Audit,
    outbox: Rc<Outbox>,
    lists: Lists,
    output: Output,
    outflow: Outflow,
    opened: Opened,
    open: OpenCalls,
    tasks: JoinSet<()>,
    /// Anything came in.
    heard: bool,
    #[cfg(feature = "conformance-fixtures")]
    fixtures: super::fixtures::Fixtures,
}

/// What becomes of a request.
enum Step {
    /// Its answer.
    Answer(String),
    /// It wants none.
    Nothing,
    /// A task settles it.
    Later,
}

impl<R: Reads + 'static> Session<R> {
    async fn take(&mut self, events: Vec<Event>) {
        self.heard |= !events.is_empty();
        for event in events {
            match event {
                Event::Message(bytes) => self.message(&bytes).await,
                Event::Broken { fault, id } => {
                    log::debug(&format!("input left out: {fault}"));
                    self.send(error_line(id.as_ref(), &broken(fault))).await;
                }
            }
            // lets calls that can finish do so, before more of them are admitted
            tokio::task::yield_now().await;
            while let Some(ended) = self.tasks.try_join_next_with_id() {
                self.mend(ended.map(drop)).await;
            }
        }
    }

    async fn message(&mut self, bytes: &[u8]) {
        match json::parse(bytes) {
            Ok(Value::Array(items)) => self.batch(items).await,
            Ok(value) => match self.one(value, &ReplyTo::Line) {
                Step::Answer(line) => self.send(line).await,
                Step::Nothing | Step::Later => {}
            },
            Err(Unreadable { id, error }) => {
                log::debug(&format!("input left out: {error}"));
                self.send(error_line(id.as_ref(), &error)).await;
            }
        }
    }

    async fn batch(&mut self, items: Vec<Value>) {
        let problem = match items.len() {
            _ if !self.opened.era.is_some_and(Era::has_batches) => "batches exist in protocol version 2025-03-26 alone",
            0 => "a batch must not be empty",
            1..=MAX_BATCH => "",
            _ => "the batch has too many messages",
        };
        if !problem.is_empty() {
            let mut error = RpcError::invalid_request(problem);
            error.message = "Batch requests are not supported".into();
            if items.len() > MAX_BATCH {
                error.data = Some(json!({ "details": problem, "limit": MAX_BATCH }));
            }
            return self.send(error_line(None, &error)).await;
        }
        // one settlement more than messages: the array must not be complete before all of them were looked at
        let batch = Batch::new(items.len() + 1);
        let reply_to = ReplyTo::Batch(batch);
        for item in items {
            match self.one(item, &reply_to) {
                Step::Answer(line) => reply_to.settle(&self.output, Some(line)).await,
                Step::Nothing => reply_to.settle(&self.output, None).await,
                Step::Later => {}
            }
        }
        reply_to.settle(&self.output, None).await;
    }

    fn one(&mut self, value: Value, reply_to: &ReplyTo) -> Step {
        #[cfg(feature = "conformance-fixtures")]
        if self.fixtures.answered(&value) {
            return Step::Nothing;
        }
        match classify(value) {
            Message::Refused(id, error) => Step::Answer(error_line(id.as_ref(), &error)),
            Message::Notification { method, params } => {
                if method == "notifications/cancelled"
                    && let Some(id) = params.get("requestId").and_then(Id::of)
                {
                    self.open.cancel(&id);
                }
                Step::Nothing
            }
            Message::Request(request) => match self.request(&request, reply_to) {
                Ok(step) => step,
                Err(error) => Step::Answer(error_line(Some(&request.id), &error)),
            },
        }
    }

    fn request(&mut self, request: &Request, reply_to: &ReplyTo) -> Result<Step, RpcError> {
        if self.open.holds(&request.id) {
            return Err(RpcError::invalid_request("this `id` belongs to a request that is still being worked on"));
        }
        let Placed { era, client, version } = era::place(request, &self.opened)?;
        let answer = |result: &str| Ok(Step::Answer(result_line(&request.id, result)));
        #[cfg(feature = "conformance-fixtures")]
        if let Some(served) = self.fixtures.serve(request, era, &self.output) {
            return match served? {
                super::fixtures::Served::Now(result) => answer(&result.to_string()),
                super::fixtures::Served::Later(later) => {
                    let of_session = (&mut self.tasks, &self.open, &self.output);
                    super::fixtures::start(later, request, reply_to, of_session);
                    Ok(Step::Later)
                }
            };
        }
        match (request.method.as_str(), era.is_modern()) {
            ("initialize", false) if matches!(reply_to, ReplyTo::Batch(_)) => {
                Err(RpcError::invalid_request("`initialize` must not be part of a batch"))
            }
            ("initialize", false) => {
                let (opened, result) = handshake::initialize(&request.params, &self.settings);
                self.opened = opened;
                answer(&result)
            }
            ("ping", false) => answer("{}"),
            ("server/discover", true) => answer(&handshake::discover(client.as_deref(), &self.settings)),
            ("tools/list", _) => {
                let spelling = Spelling::of(self.settings.tool_names, client.as_deref());
                let list = self.lists.answer(era, spelling, &request.params)?;
                #[cfg(feature = "conformance-fixtures")]
                let list = &super::fixtures::listed(list, era);
                answer(list)
            }
            ("tools/call", _) => {
                let (tool, arguments) = (call::named(&request.params, &self.settings), &request.params["arguments"]);
                let entry = self.audit.call(tool, arguments, client.as_deref());
                let prepared = match call::prepare(&request.params, &self.settings) {
                    Ok(prepared) => prepared,
                    Err(error) => {
                        entry.refused(&error);
                        return Err(error);
                    }
                };
                let room = self.outbox.hold(prepared.work.held());
                let Some(room) = room.filter(|_| self.open.len() < MAX_OPEN_REQUESTS) else {
                    entry.busy();
                    let unrecorded = self.audit.unrecorded();
                    let busy = call_line(&request.id, era, result::busy(prepared.tool), unrecorded.as_deref());
                    return Ok(Step::Answer(busy));
                };
                self.start(request, (era, Client { name: client, version }), prepared, (entry, room), reply_to.clone());
                Ok(Step::Later)
            }
            (method, _) => Err(RpcError {
                code: code::METHOD_NOT_FOUND,
                message: "Method not found".into(),
                data: Some(json!({ "method": shown(method) })),
            }),
        }
    }

    fn start(
        &mut self,
        request: &Request,
        (era, client): (Era, Client),
        prepared: Prepared,
        (entry, room): (Entry, Held),
        reply_to: ReplyTo,
    ) {
        let Prepared { tool, work } = prepared;
        let work = work.asked_by(client.name.as_deref());
        let progress = Progress::asked(&request.params);
        let (sender, ticks) = mpsc::channel(TICKS);
        let (stopper, control) = Control::pair(progress.is_some().then_some(sender));
        let id = request.id.clone();
        self.open.enter(&id, stopper, reply_to.clone());
        let (reads, settings) = (Rc::clone(&self.reads), Rc::clone(&self.settings));
        let (open, output) = (self.open.clone(), self.output.clone());
        let (audit, outbox) = (self.audit.clone(), Rc::clone(&self.outbox));
        let served = async move {
            let asked = work.asked().to_owned();
            let shown = Shown { progress, ticks, id: &id, open: &open, output: &output };
            let record = Record { audit: &audit, entry, outbox: &outbox };
            let called = recorded(work, &*reads, &settings, client.name.as_deref(), record, control);
            let outcome = shown.until(called).await;
            if let Ok(Done { canonical: Some(canonical), .. } | Done { about: Some(canonical), .. }) = &outcome {
                reads.noted(&client, tool.name, canonical);
            }
            let unrecorded = audit.unrecorded();
            // who cancelled gets nothing, also when the answer was ready in the same moment
            let line = open.wanted(&id).then(|| {
                let rendered = result::render(tool, &asked, &settings, outcome);
                call_line(&id, era, rendered, unrecorded.as_deref())
            });
            reply_to.settle(&output, line).await;
            open.leave(&id);
            drop(room);
        };
        let handle = self.tasks.spawn_local(served);
        self.open.served_by(&request.id, handle.id());
    }

    /// A call whose task broke is a fault of ours, and still gets its answer.
    async fn mend(&mut self, ended: Result<(), JoinError>) {
        let Err(broken) = ended else { return };
        log::warn("a call broke inside the supervisor and was answered with an internal error");
        if let Some((id, reply_to, wanted)) = self.open.take_broken(broken.id()) {
            let error =
                RpcError::new(code::INTERNAL, "Internal error", "the call broke inside the server; other calls go on");
            reply_to.settle(&self.output, wanted.then(|| error_line(Some(&id), &error))).await;
        }
    }

    async fn send(&mut self, line: String) {
        let _ = self.output.send(line).await;
    }

    async fn end(mut self) -> bool {
        if !self.output.is_closed() {
            self.linger().await;
        }
        self.open.stop_all();
        let _ = timeout(LEAVE, self.drain()).await;
        let answered = self.tasks.is_empty() || self.output.is_closed();
        self.tasks.abort_all();
        answered
    }

    /// Waits until all calls are answered, for as long as answers leave; a reader that is slow is waited for longer than
    /// calls are that have nothing to say yet.
    async fn linger(&mut self) {
        loop {
            let (before, waiting) = (self.outflow.bytes(), self.output.capacity() < self.output.max_capacity());
            let patience = if waiting { UNREAD } else { LINGER };
            if timeout(patience, self.drain()).await.is_ok() || self.outflow.bytes() == before {
                return;
            }
        }
    }

    async fn drain(&mut self) {
        while let Some(ended) = self.tasks.join_next_with_id().await {
            self.mend(ended.map(drop)).await;
        }
    }
}

/// What the client sees of a call while it runs.
struct Shown<'a> {
    progress: Option<Progress>,
    ticks: mpsc::Receiver<Tick>,
    id: &'a Id,
    open: &'a OpenCalls,
    output: &'a Output,
}

impl Shown<'_> {
    async fn until(mut self, read: impl Future<Output = Result<Done, CallError>>) -> Result<Done, CallError> {
        let mut read = pin!(read);
        let Some(progress) = &mut self.progress else { return read.await };
        let mut clock = interval_at(tokio::time::Instant::now() + EVERY, EVERY);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                outcome = &mut read => return outcome,
                Some(tick) = self.ticks.recv() => progress.hear(tick),
                _ = clock.tick() => if self.open.wanted(self.id) {
                    // a client that does not read must not hold up the call; the next number says more than this one
                    let _ = self.output.try_send(progress.line());
                },
            }
        }
    }
}

/// What is kept of a call beside its answer.
pub(super) struct Record<'a> {
    /// The log.
    pub audit: &'a Audit,
    /// This call's place in it.
    pub entry: Entry,
    /// Keys of proposals.
    pub outbox: &'a Outbox,
}

/// Does the work of a call, unless it must be recorded and cannot be, and takes note of how it ended.
pub(super) async fn recorded<R: Reads>(
    work: Work,
    reads: &R,
    settings: &Settings,
    client: Option<&str>,
    Record { audit, entry, outbox }: Record<'_>,
    control: Control,
) -> Result<Done, CallError> {
    let outcome = match audit.admit().await {
        Ok(()) => work.done(reads, settings, Asker { client, outbox, entry: &entry }, control).await,
        Err(why) => Err(why.into()),
    };
    entry.ended(&outcome);
    audit.settled().await;
    outcome
}

fn call_line(id: &Id, era: Era, rendered: Rendered, unrecorded: Option<&str>) -> String {
    match rendered {
        Rendered::Payload { json, is_error } => result_line(id, &result::wrap(era, &json, &json, is_error, unrecorded)),
        Rendered::Pair { text, structure, is_error } => {
            result_line(id, &result::wrap(era, &text, &structure, is_error, unrecorded))
        }
        Rendered::Rpc(error) => error_line(Some(id), &error),
    }
}

fn broken(fault: Fault) -> RpcError {
    let (code, message) = match fault {
        Fault::Oversized | Fault::LengthTooLarge => (code::INVALID_REQUEST, "Invalid request"),
        _ => (code::PARSE_ERROR, "Parse error"),
    };
    let mut error = RpcError::new(code, message, fault.to_string());
    if let (code::INVALID_REQUEST, Some(data)) = (code, &mut error.data) {
        data["limitBytes"] = MAX_REQUEST_BYTES.into();
    }
    error
}
