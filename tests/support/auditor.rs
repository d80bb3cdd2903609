//! One jailed worker-audit, alone: launcher and supervisor are played, so that it can be traced, killed and timed by itself.
//! Trust: test code; the worker's answers are decoded and never believed.

use bulkhead_contract::isolation::Demand;
use bulkhead_ipc::{
    codec,
    edge::audit::{Event, FromAudit, Init, Kind, Known, Outcome, Scope, Standing, ToAudit},
    frame,
};
use bulkhead_launcher::Holder;
use bulkhead_sandbox::handover;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::{
    io::Write as _,
    os::fd::AsFd as _,
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread::JoinHandle,
};

/// Milliseconds that an answer may take; it takes a few.
const PATIENCE: u16 = 60_000;
/// Puts request pipe, answer pipe and socket where a launcher leaves them. The worker's parent is who executes it: the
/// tracer, which takes this shell's place, or this program.
const PLACE: &str = "exec \"$@\" 3<&0 4>&1 5<&2 0</dev/null 1>/dev/null 2>/dev/null";

/// A worker-audit that was started.
pub struct Auditor {
    child: Child,
    requests: Option<ChildStdin>,
    answers: ChildStdout,
    holder: Option<JoinHandle<()>>,
}

impl Auditor {
    /// Starts the product's own worker for this ledger, as the child of `tracer` where there is one.
    pub fn start(binary: &str, ledger: &Path, tracer: &[String]) -> Self {
        let (ours, theirs) = handover::pair().expect("a pair of sockets");
        let mut command = Command::new("sh");
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let own = std::process::id().to_string();
        if tracer.is_empty() {
            command.args(["-c", PLACE, "sh", binary, "worker", "audit", &own]);
        } else {
            let worker = format!("set -- \"$@\" {binary} worker audit $$; {PLACE}");
            command.args(["-c", &worker, "sh"]).args(tracer);
        }
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::from(theirs)).spawn();
        // the command holds the worker's end of the socket, by which the holder would never see it end
        drop(command);
        let mut child = child.expect("sh is there");
        let mut holder = Holder::new(ours, Some(ledger.to_owned())).expect("a socket");
        let holder = std::thread::spawn(move || {
            loop {
                let _ = poll(&mut [PollFd::new(holder.fd(), PollFlags::POLLIN)], PollTimeout::NONE);
                if holder.serve().is_err() {
                    return;
                }
            }
        });
        let (requests, answers) = (child.stdin.take(), child.stdout.take().expect("piped"));
        let mut auditor = Self { child, requests, answers, holder: Some(holder) };
        let ledger = ledger.to_str().expect("places have UTF-8 paths").as_bytes().to_vec();
        let demand = Demand::Required;
        let init = Init { demand, ledger: Some(ledger), sign_key: None, compat: false, memory: 256 << 20 };
        auditor.say(&ToAudit::Init(Box::new(init)));
        auditor
    }

    /// Says something; to a worker that has ended, nothing is said.
    pub fn say(&mut self, message: &ToAudit) {
        let framed = frame::with_length(&codec::encode(message).expect("small")).expect("small");
        let _ = self.requests.as_mut().map(|requests| requests.write_all(&framed));
    }

    /// The next answer; `None` when the worker has ended.
    ///
    /// # Panics
    /// When it takes too long.
    pub fn hear(&mut self) -> Option<FromAudit> {
        let mut one = [PollFd::new(self.answers.as_fd(), PollFlags::POLLIN)];
        assert!(poll(&mut one, PollTimeout::from(PATIENCE)).expect("a pipe") > 0, "the worker says nothing");
        let body = frame::read(&mut self.answers).ok().flatten()?;
        Some(codec::decode(&body).expect("the worker is the product's own"))
    }

    /// Waits for `Ready` and has it take the ledger up; `Err` where it ended, or said otherwise.
    pub fn open(&mut self, known: Option<Known>) -> Result<Standing, String> {
        match self.hear() {
            Some(FromAudit::Ready(_)) => {}
            other => return Err(format!("{other:?}")),
        }
        self.say(&ToAudit::Open { known });
        match self.hear() {
            Some(FromAudit::Opened(standing)) => Ok(standing),
            other => Err(format!("{other:?}")),
        }
    }

    /// Has a group recorded and waits for it; `None` where the worker ended.
    pub fn append(&mut self, group: u64, events: Vec<Event>) -> Option<Standing> {
        self.say(&ToAudit::Append { group, events });
        match self.hear()? {
            FromAudit::Recorded { faults, standing, .. } => {
                assert!(faults.is_empty(), "{faults:?}");
                Some(standing)
            }
            other => panic!("{other:?}"),
        }
    }

    /// Lets it end; waits until it and its tracer have, and the directory is given up.
    pub fn end(mut self) {
        self.requests = None;
        self.child.wait().expect("it is a child");
        self.holder.take().map(JoinHandle::join);
    }
}

impl Drop for Auditor {
    fn drop(&mut self) {
        // a tracer that is killed takes the traced with it; neither is left where it has ended
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One event like those of a server.
pub fn event(place: u64) -> Event {
    Event {
        kind: Kind::ToolCall,
        tool: "repo.status".into(),
        result: Outcome::Success,
        scope: Scope::Path([1; 32]),
        arguments: Some([2; 32]),
        session: "client:0123456789abcdef".into(),
        duration_ms: 1,
        summary: "answered".into(),
        reported: None,
        timestamp: 1_750_000_000_000 + place,
        place,
        numbers: vec![],
        write: None,
    }
}
