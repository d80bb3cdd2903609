//! Workers as processes: the supervisor's side of the edge to the launcher.
//! Trust: the launcher is more trusted than we are, but a message that does not fit ends the edge all the same.

use super::{
    Carrier, Ended, LastWords, Link, Local, StartError, pipes::Pipes, stderr, watched::watch, words::printable,
};
use crate::log;
use bulkhead_ipc::{
    codec::{decode, encode},
    edge::{
        WorkerKind,
        launcher::{End, FromLauncher, MAX_PACKET, MAX_SPAWN_PATH, StatusOf, TOO_FAST, ToLauncher},
    },
};
use bulkhead_sandbox::handover::{self, Received};
use std::{
    cell::RefCell,
    collections::{HashMap, VecDeque},
    io::{self, ErrorKind},
    os::fd::{AsFd, OwnedFd},
    rc::Rc,
    time::Duration,
};
use tokio::{
    io::{Interest, unix::AsyncFd},
    sync::{Notify, mpsc, oneshot},
    task::{AbortHandle, spawn_local},
    time::sleep,
};

/// Workers from request to end. The launcher takes one more than its own limit of 32 for an attack and ends.
const MAX_LIVE: usize = 30;
/// Time after which a worker is asked for again that the launcher would not start so soon: it saves up for three.
const AGAIN: Duration = Duration::from_millis(50);
/// What every request is told once the launcher is gone.
pub const GONE: &str = "the launcher ended; restart the server";

/// The launcher. Its socket belongs to a task, which ends with this value.
#[derive(Debug)]
pub struct Launcher {
    edge: Rc<Edge>,
    task: AbortHandle,
}

#[derive(Debug, Default)]
struct Edge {
    open: RefCell<Open>,
    /// Something was put into `unsent`.
    posted: Notify,
    /// A child ended, or the launcher did.
    ended: Notify,
}

/// What is open on the edge.
#[derive(Debug, Default)]
struct Open {
    tickets: u32,
    unsent: VecDeque<Vec<u8>>,
    spawns: HashMap<u32, oneshot::Sender<Result<Started, StartError>>>,
    statuses: HashMap<u32, oneshot::Sender<String>>,
    live: HashMap<i32, Live>,
    gone: bool,
}

/// A child of the launcher that has not ended.
#[derive(Debug)]
struct Live {
    ended: mpsc::Sender<Ended>,
    killed: bool,
}

/// A process as it was handed over: its end, its three descriptors.
#[derive(Debug)]
struct Started {
    pid: i32,
    /// How it ends, and its requests, answers and standard error. Still here when this is dropped: nobody took it,
    /// and it must not live on.
    ends: Option<(mpsc::Receiver<Ended>, [OwnedFd; 3])>,
    edge: Rc<Edge>,
}

impl Launcher {
    /// Takes over the socket, which must be non-blocking. Needs a runtime with a `LocalSet`.
    ///
    /// # Errors
    /// When the runtime cannot watch the socket.
    pub fn new(socket: OwnedFd) -> io::Result<Self> {
        let socket = watch(socket, Interest::READABLE | Interest::WRITABLE)?;
        let edge = Rc::new(Edge::default());
        let served = Rc::clone(&edge);
        let task = spawn_local(async move {
            // the socket is closed with that, which ends the launcher and all workers if they still live
            let why = served.serve(socket).await;
            log::warn(&format!("{GONE} ({why})"));
            served.close();
        });
        Ok(Self { edge, task: task.abort_handle() })
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        self.task.abort();
        self.edge.close();
    }
}

impl Carrier for Launcher {
    fn start(&self, kind: WorkerKind, path: Option<Vec<u8>>) -> Local<Result<Link, StartError>> {
        let edge = Rc::clone(&self.edge);
        Box::pin(async move {
            if path.as_ref().is_some_and(|path| path.len() > MAX_SPAWN_PATH) {
                return Err(StartError::new("the path is too long for a worker"));
            }
            loop {
                let answer = edge.request_spawn(kind, path.clone())?;
                match answer.await.unwrap_or_else(|_| Err(StartError::for_good(GONE))) {
                    // whoever waits has a deadline and drops this at it
                    Err(e) if e.too_fast => sleep(AGAIN).await,
                    started => return started?.into_link(kind),
                }
            }
        })
    }

    fn status(&self, of: StatusOf) -> Local<Result<String, String>> {
        let edge = Rc::clone(&self.edge);
        Box::pin(async move {
            let answer = edge.request_status(of).map_err(|e| e.why)?;
            let text = answer.await.map_err(|_| GONE.to_owned())?;
            if text.is_empty() { Err("its /proc status cannot be read".to_owned()) } else { Ok(text) }
        })
    }

    fn close(&self) -> Local<()> {
        let edge = Rc::clone(&self.edge);
        Box::pin(async move {
            loop {
                let live: Vec<i32> = edge.open.borrow().live.keys().copied().collect();
                // one that is only being started is killed when it is handed over, since nobody takes it
                if live.is_empty() && edge.open.borrow().spawns.is_empty() {
                    return;
                }
                live.into_iter().for_each(|pid| edge.kill(pid));
                edge.ended.notified().await;
            }
        })
    }
}

impl Edge {
    fn request_spawn(
        &self,
        kind: WorkerKind,
        path: Option<Vec<u8>>,
    ) -> Result<oneshot::Receiver<Result<Started, StartError>>, StartError> {
        let mut open = self.open.borrow_mut();
        if open.spawns.len() + open.live.len() >= MAX_LIVE {
            return Err(StartError::new(format!("{MAX_LIVE} workers live or refuse to die")));
        }
        let ticket = open.ticket();
        self.post(&mut open, &ToLauncher::Spawn { ticket, kind, path })?;
        let (sender, answer) = oneshot::channel();
        open.spawns.insert(ticket, sender);
        Ok(answer)
    }

    fn request_status(&self, of: StatusOf) -> Result<oneshot::Receiver<String>, StartError> {
        let mut open = self.open.borrow_mut();
        let ticket = open.ticket();
        self.post(&mut open, &ToLauncher::Status { ticket, of })?;
        let (sender, answer) = oneshot::channel();
        open.statuses.insert(ticket, sender);
        Ok(answer)
    }

    /// Asks for the end of a child; nothing happens where it has ended, so that no later process of that id is hit.
    fn kill(&self, pid: i32) {
        let mut open = self.open.borrow_mut();
        if let Some(live) = open.live.get_mut(&pid)
            && !std::mem::replace(&mut live.killed, true)
        {
            // where this fails the launcher is gone, and the kernel ends its children
            let _ = self.post(&mut open, &ToLauncher::Kill { pid });
        }
    }

    fn post(&self, open: &mut Open, message: &ToLauncher) -> Result<(), StartError> {
        if open.gone {
            return Err(StartError::for_good(GONE));
        }
        let packet = encode(message).map_err(|e| StartError::new(e.to_string()))?;
        open.unsent.push_back(packet);
        self.posted.notify_one();
        Ok(())
    }

    /// Sends and hears until the edge is over; says why it is.
    async fn serve(self: &Rc<Self>, socket: AsyncFd<OwnedFd>) -> String {
        let mut packet = vec![0u8; MAX_PACKET];
        loop {
            let waiting = !self.open.borrow().unsent.is_empty();
            let step = tokio::select! {
                guard = socket.readable() => guard.and_then(|mut guard| {
                    match guard.try_io(|socket| handover::receive_or_cut(socket.as_fd(), &mut packet, 3)) {
                        Ok(Ok((0, _))) => Err(io::Error::new(ErrorKind::UnexpectedEof, "it closed its end")),
                        Ok(Ok((len, received))) => self.hear(&packet[..len], received).map_err(io::Error::other),
                        Ok(Err(e)) => Err(e),
                        Err(_empty) => Ok(()),
                    }
                }),
                guard = socket.writable(), if waiting => guard.and_then(|mut guard| {
                    let mut open = self.open.borrow_mut();
                    let Some(packet) = open.unsent.front() else { return Ok(()) };
                    match guard.try_io(|socket| handover::send(socket.as_fd(), packet, &[])) {
                        Ok(sent) => sent.map(|()| drop(open.unsent.pop_front())),
                        Err(_full) => Ok(()),
                    }
                }),
                () = self.posted.notified() => Ok(()),
            };
            match step {
                Err(e) if e.kind() != ErrorKind::Interrupted => return e.to_string(),
                _ => {}
            }
        }
    }

    fn hear(self: &Rc<Self>, packet: &[u8], received: Received) -> Result<(), String> {
        let message: FromLauncher = decode(packet).map_err(|e| e.to_string())?;
        let spawned = matches!(message, FromLauncher::Spawned { .. });
        let ends = match received {
            Received::Whole(fds) if spawned => Some(<[OwnedFd; 3]>::try_from(fds).map_err(|fds| misplaced(fds.len()))?),
            Received::Whole(fds) if !fds.is_empty() => return Err(misplaced(fds.len())),
            Received::Cut if !spawned => return Err("descriptors with a message that has none".to_owned()),
            Received::Whole(_) | Received::Cut => None,
        };
        const UNASKED: &str = "it answered what nobody asked";
        match message {
            FromLauncher::Spawned { ticket, pid } => {
                let (ended, endings) = mpsc::channel(1);
                let asker = {
                    let mut open = self.open.borrow_mut();
                    if pid <= 0 || open.live.insert(pid, Live { ended, killed: false }).is_some() {
                        return Err(format!("it names process {pid} for a new worker"));
                    }
                    open.spawns.remove(&ticket).ok_or(UNASKED)?
                };
                // where nobody asks any more, dropping it ends the worker
                let _ = asker.send(match ends {
                    Some(ends) => Ok(Started { pid, ends: Some((endings, ends)), edge: Rc::clone(self) }),
                    None => {
                        // a worker that nobody can speak to; only this spawn failed, its end is still reported
                        self.kill(pid);
                        Err(StartError::new("the supervisor has no descriptors left for its pipes (`ulimit -n`)"))
                    }
                });
            }
            FromLauncher::SpawnFailed { ticket, errno, step } => {
                let asker = self.open.borrow_mut().spawns.remove(&ticket).ok_or(UNASKED)?;
                let reason = io::Error::from_raw_os_error(errno);
                let why = match step.as_str() {
                    TOO_FAST => "too many were started just before; it will be tried again".to_owned(),
                    "first frame" => format!("it ended before it could be told anything: {reason}"),
                    step => format!("{} failed: {reason}", printable(step.as_bytes())),
                };
                let _ = asker.send(Err(StartError { too_fast: step == TOO_FAST, ..StartError::new(why) }));
                self.ended.notify_one();
            }
            FromLauncher::Ended { pid, end } => {
                let live = self.open.borrow_mut().live.remove(&pid);
                let ended = match end {
                    End::Exit(code) => Ended::Exit(code),
                    End::Signal(signal) => Ended::Signal(signal),
                };
                let _ = live.ok_or("it reports the end of a process that is none of ours")?.ended.try_send(ended);
                self.ended.notify_one();
            }
            FromLauncher::Status { ticket, text } => {
                let asker = self.open.borrow_mut().statuses.remove(&ticket).ok_or(UNASKED)?;
                let _ = asker.send(String::from_utf8_lossy(&text).into_owned());
            }
        }
        Ok(())
    }

    /// Answers everything that is open with the launcher's end, and all that comes later too.
    fn close(&self) {
        let open = std::mem::take(&mut *self.open.borrow_mut());
        self.open.borrow_mut().gone = true;
        drop(open);
        self.ended.notify_one();
    }
}

fn misplaced(count: usize) -> String {
    format!("{count} descriptors are not what belongs to its message")
}

impl Open {
    fn ticket(&mut self) -> u32 {
        self.tickets = self.tickets.wrapping_add(1);
        self.tickets
    }
}

impl Started {
    fn into_link(mut self, kind: WorkerKind) -> Result<Link, StartError> {
        let (endings, [requests, answers, errors]) = self.ends.take().expect("made with them, taken here alone");
        let (pid, edge) = (self.pid, Rc::clone(&self.edge));
        let name = format!("worker-{} {pid}", kind.name());
        let words = Rc::new(LastWords::default());
        let wire = match Pipes::new(requests, answers) {
            Ok(wire) => wire,
            Err(e) => {
                edge.kill(pid);
                return Err(StartError::new(format!("its pipes cannot be watched: {e}")));
            }
        };
        let (speaker, kept) = (name.clone(), Rc::clone(&words));
        spawn_local(async move {
            let log = |line: &str| log::debug(&format!("{speaker} says: {line}"));
            if let Err(e) = stderr::follow(errors, kept, log).await {
                log::debug(&format!("{speaker}: its standard error cannot be read: {e}"));
            }
        });
        Ok(Link::new(name, Some(pid), wire, endings, move |_| edge.kill(pid), words))
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if self.ends.is_some() {
            self.edge.kill(self.pid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(edge: &Rc<Edge>, message: &FromLauncher, received: Received) -> Result<(), String> {
        edge.hear(&encode(message).expect("small"), received)
    }

    fn posted(edge: &Edge) -> Option<ToLauncher> {
        edge.open.borrow_mut().unsent.pop_front().map(|packet| decode(&packet).expect("our own"))
    }

    #[test]
    fn a_worker_whose_descriptors_were_cut_is_one_failed_spawn() {
        let edge = Rc::new(Edge::default());
        let mut cut = edge.request_spawn(WorkerKind::Read, None).expect("there is room");
        let mut other = edge.request_spawn(WorkerKind::Read, None).expect("there is room");
        while posted(&edge).is_some() {}
        assert_eq!(heard(&edge, &FromLauncher::Spawned { ticket: 1, pid: 7 }, Received::Cut), Ok(()));
        let why = cut.try_recv().expect("it is answered").expect_err("there is nothing to speak through").why;
        assert!(why.contains("descriptors"), "{why}");
        assert_eq!((posted(&edge), posted(&edge)), (Some(ToLauncher::Kill { pid: 7 }), None));
        assert_eq!(heard(&edge, &FromLauncher::Ended { pid: 7, end: End::Signal(9) }, Received::Whole(vec![])), Ok(()));
        assert!(edge.open.borrow().live.is_empty());
        let fds = [(); 3].map(|()| io::pipe().expect("a pipe").0.into());
        assert_eq!(heard(&edge, &FromLauncher::Spawned { ticket: 2, pid: 8 }, Received::Whole(fds.into())), Ok(()));
        assert!(matches!(other.try_recv(), Ok(Ok(Started { pid: 8, .. }))));
    }

    #[test]
    fn descriptors_cut_from_a_message_that_has_none_end_the_edge() {
        let edge = Rc::new(Edge::default());
        let message = FromLauncher::SpawnFailed { ticket: 1, errno: 11, step: "fork".into() };
        let _answer = edge.request_spawn(WorkerKind::Read, None).expect("there is room");
        assert!(heard(&edge, &message, Received::Cut).is_err());
    }
}
