//! Runs a whole worker in this very process under its jail and prints what it says: `jailed CEILING PATH`.
//! Trust: a tool for people who work on the worker or its policy; the process is of no use afterwards.

use bulkhead_contract::isolation::Demand;
use bulkhead_ipc::{
    Error,
    channel::{FrameSink, FrameSource, Now, Receiver, Sender, WorkerEnds},
    chunk::Joiner,
    codec,
    edge::read::{Answer, Ask, Call, FromRead, Init, OwnerTrust, Page, ToRead},
};
use std::{io::Write as _, sync::mpsc};

struct Queue(mpsc::Receiver<Vec<u8>>);
struct Tail(mpsc::Sender<Vec<u8>>);

impl FrameSource for Queue {
    fn next_frame(&mut self) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.0.recv().ok())
    }

    fn frame_now(&mut self) -> Result<Now<Vec<u8>>, Error> {
        Ok(match self.0.try_recv() {
            Ok(frame) => Now::Said(frame),
            Err(mpsc::TryRecvError::Empty) => Now::Nothing,
            Err(mpsc::TryRecvError::Disconnected) => Now::End,
        })
    }
}

impl FrameSink for Tail {
    fn put_frame(&mut self, body: &[u8]) -> Result<(), Error> {
        self.0.send(body.to_vec()).map_err(|_| Error::CutFrame)
    }
}

/// Takes what the worker says, and tells the asker each time that the worker is free.
struct Answers(Tail, mpsc::Sender<()>);

impl FrameSink for Answers {
    fn put_frame(&mut self, body: &[u8]) -> Result<(), Error> {
        if matches!(codec::decode(body)?, FromRead::Ready(_) | FromRead::Part { last: true, .. }) {
            let _ = self.1.send(());
        }
        self.0.put_frame(body)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let ceiling = std::fs::canonicalize(args.next().ok_or("no ceiling")?)?;
    let path = args.next().ok_or("no path")?;
    let (says, from_worker) = mpsc::channel();
    let init = Init {
        demand: Demand::Required,
        empty_root: false,
        ceilings: vec![bulkhead_worker_read::files::path_bytes(&ceiling)],
        run_dirs: Vec::new(),
        path: Some(path.into_bytes()),
        trust: OwnerTrust::default(),
        home: None,
        xdg_config_home: None,
        memory: 1 << 30,
        threads: 2,
    };
    let page = Page { limit: 20, chars: 40_000, cursor: None };
    let asks = [Ask::SelfProbe, Ask::Brief { recent_commits: 3 }, Ask::Status(page.clone()), Ask::Changes(page)];
    let calls = asks
        .into_iter()
        .zip(1..)
        .map(|(ask, id)| ToRead::Call(Box::new(Call { id, budget_ms: 30_000, place: None, ask })));
    let mut messages: Vec<ToRead> = calls.collect();
    messages.insert(0, ToRead::Init(Box::new(init)));
    let (freed, free) = mpsc::channel();
    let mut replies: Receiver<FromRead> = Receiver::new(Queue(from_worker));
    let ends = WorkerEnds {
        requests: Receiver::new(Questions { messages: messages.into_iter(), free }),
        answers: Sender::new(Answers(Tail(says), freed)),
    };
    bulkhead_worker_read::run(ends, true);
    let mut out = std::io::stdout().lock();
    let mut joiner = Joiner::default();
    while let Some(message) = replies.receive()? {
        if let FromRead::Part { last, bytes, .. } = message {
            if let Some(whole) = joiner.push(last, bytes)? {
                writeln!(out, "{:#?}", codec::decode_answer::<Answer>(&whole)?)?;
            }
        } else {
            writeln!(out, "{message:#?}")?;
        }
    }
    Ok(())
}

/// Gives one message after the other, each call only when the worker is free.
struct Questions {
    messages: std::vec::IntoIter<ToRead>,
    free: mpsc::Receiver<()>,
}

impl FrameSource for Questions {
    fn next_frame(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let Some(message) = self.messages.next() else {
            let _ = self.free.recv();
            return Ok(None);
        };
        if matches!(message, ToRead::Call(_)) && self.free.recv().is_err() {
            return Ok(None);
        }
        codec::encode(&message).map(Some)
    }

    fn frame_now(&mut self) -> Result<Now<Vec<u8>>, Error> {
        Ok(Now::Nothing)
    }
}
