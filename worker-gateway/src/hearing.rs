//! Where the supervisor is heard and answered: by pipes on the event loop, or by queues of a single process.
//! Trust: the supervisor may be taken over: what is no message of the edge ends the hearing.

use bulkhead_ipc::{
    Error,
    channel::WorkerEnds,
    edge::gateway::{FromGateway, Init, ToGateway},
};
use std::thread;
use tokio::sync::mpsc;

#[cfg(target_os = "linux")]
use bulkhead_ipc::{channel::Stream, codec, frame};
#[cfg(target_os = "linux")]
use std::{
    fs::File,
    io::{self, Read as _},
    os::fd::OwnedFd,
};
#[cfg(target_os = "linux")]
use tokio::io::{Interest, unix::AsyncFd};

/// Messages that wait between a queue and the event loop.
const QUEUE: usize = 8;

/// What the supervisor says.
pub enum Requests {
    /// Over a pipe.
    #[cfg(target_os = "linux")]
    Pipe {
        /// Non-blocking from [`Requests::piped`] on.
        pipe: AsyncFd<File>,
        /// What came and is not yet a whole message.
        frames: frame::Assembler,
    },
    /// From a thread that listens to a queue.
    Queue(mpsc::Receiver<Result<ToGateway, Error>>),
}

impl Requests {
    /// The first message, and the rest of a pipe, watched. Needs a runtime.
    ///
    /// # Errors
    /// Where the first message is not there or not the right one, and where the pipe cannot be watched.
    #[cfg(target_os = "linux")]
    pub fn piped(mut pipe: File) -> Result<Option<(Init, Self)>, Error> {
        // the launcher has written it before this process started, and nothing behind it is read ahead
        let Some(body) = frame::read(&mut pipe)? else { return Ok(None) };
        let ToGateway::Init(init) = codec::decode(&body)? else { return Ok(None) };
        let pipe = OwnedFd::from(pipe);
        bulkhead_sandbox::spawn::set_nonblocking(&pipe)?;
        let pipe = crate::stream::watch(File::from(pipe), Interest::READABLE)?;
        Ok(Some((*init, Self::Pipe { pipe, frames: frame::Assembler::default() })))
    }

    /// The same over a queue, with the other direction; a thread listens and another one speaks, because a queue blocks.
    ///
    /// # Errors
    /// As over a pipe, and where no thread can be started.
    pub fn queued(ends: WorkerEnds<ToGateway, FromGateway>) -> Result<Option<(Init, Self, Answers)>, Error> {
        let WorkerEnds { mut requests, answers: mut sink } = ends;
        let Some(ToGateway::Init(init)) = requests.receive()? else { return Ok(None) };
        let (heard, queue) = mpsc::channel(QUEUE);
        let listen = move || {
            while let Some(message) = requests.receive().transpose() {
                let over = message.is_err();
                if heard.blocking_send(message).is_err() || over {
                    return;
                }
            }
        };
        let (answers, said) = std::sync::mpsc::sync_channel::<FromGateway>(QUEUE);
        let speak = move || said.into_iter().try_for_each(|message| sink.send(&message));
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        named("gateway-hears").spawn(listen)?;
        named("gateway-says").spawn(speak)?;
        Ok(Some((*init, Self::Queue(queue), Answers::Queue(answers))))
    }

    /// The next message; `None` at the end. May be dropped and called again.
    ///
    /// # Errors
    /// What is no message, and what the channel has.
    pub async fn next(&mut self) -> Result<Option<ToGateway>, Error> {
        match self {
            #[cfg(target_os = "linux")]
            Requests::Pipe { pipe, frames } => loop {
                if let Some(body) = frames.take()? {
                    return codec::decode(&body).map(Some);
                }
                let mut piece = [0; 16 * 1024];
                let mut guard = pipe.readable().await?;
                match guard.try_io(|pipe| pipe.get_ref().read(&mut piece)) {
                    Ok(Ok(0)) if frames.is_empty() => return Ok(None),
                    Ok(Ok(0)) => return Err(Error::CutFrame),
                    Ok(Ok(got)) => frames.push(&piece[..got]),
                    Ok(Err(e)) if e.kind() == io::ErrorKind::Interrupted => {}
                    Ok(Err(e)) => return Err(e.into()),
                    Err(_empty) => {}
                }
            },
            Requests::Queue(queue) => queue.recv().await.transpose(),
        }
    }
}

/// What the supervisor is told. Telling waits where it does not listen, and everything with it: it always listens.
pub enum Answers {
    /// Over a pipe.
    #[cfg(target_os = "linux")]
    Pipe(bulkhead_ipc::channel::Sender<FromGateway>),
    /// To a thread that speaks into a queue.
    Queue(std::sync::mpsc::SyncSender<FromGateway>),
}

impl Answers {
    /// Over a pipe, which stays blocking.
    #[cfg(target_os = "linux")]
    pub fn piped(pipe: File) -> Self {
        Self::Pipe(bulkhead_ipc::channel::Sender::new(Stream(pipe)))
    }

    /// Says it.
    ///
    /// # Errors
    /// When nobody is there any more.
    pub fn say(&mut self, message: FromGateway) -> Result<(), Error> {
        match self {
            #[cfg(target_os = "linux")]
            Answers::Pipe(sender) => sender.send(&message),
            Answers::Queue(queue) => queue.send(message).map_err(|_| Error::Io(std::io::ErrorKind::BrokenPipe.into())),
        }
    }
}
