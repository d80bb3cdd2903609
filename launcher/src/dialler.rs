//! Connections for a jailed worker-gateway that may dial nothing: to one address, handed over when they are made.
//! Trust: the worker may be taken over. It names no address, waits for its turn, and is ended where it does not keep to
//! the edge. No connection is waited for: each is looked at when it is ready, or given up when its time is over.

use crate::rate::Rate;
use bulkhead_ipc::{
    codec,
    edge::{
        dialler::{FromDialler, MAX_DIALS, MAX_PACKET, NoStream, ToDialler},
        gateway::CONNECT_MS,
    },
};
use bulkhead_sandbox::{
    dial::{self, Dialling},
    handover, spawn,
};
use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::{Duration, Instant},
};

/// Connections in a row, after half a second of rest.
pub const BURST: u32 = 128;
/// The lasting rate in a second.
pub const PER_SECOND: u32 = 256;
/// Time that a connection has to come about.
const PATIENCE: Duration = Duration::from_millis(CONNECT_MS as u64);

/// The launcher's end.
#[derive(Debug)]
pub struct Dialler {
    socket: OwnedFd,
    address: Option<SocketAddr>,
    rate: Rate,
    /// Under way, oldest first: all have the same time, so that is also the order in which it ends.
    dials: VecDeque<Dial>,
    /// What is told and not yet sent. Nothing more is heard while something waits here.
    outbox: VecDeque<(Vec<u8>, Option<OwnedFd>)>,
    packet: Vec<u8>,
}

#[derive(Debug)]
struct Dial {
    ticket: u64,
    until: Instant,
    dialling: Dialling,
}

/// Why nothing more is dialled for it.
#[derive(Debug, PartialEq, Eq)]
pub enum Over {
    /// The worker closed its end: it is leaving.
    Closed,
    /// It does not keep to the edge: it is to be ended.
    Broken,
}

/// What the loop waits for on behalf of a dialler.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// The socket; requests are to be heard.
    pub requests: Option<BorrowedFd<'a>>,
    /// The socket; answers are to be sent.
    pub answers: Option<BorrowedFd<'a>>,
    /// Connections that are under way.
    pub dials: Vec<BorrowedFd<'a>>,
    /// When the oldest of them has had its time.
    pub until: Option<Instant>,
}

impl Dialler {
    /// For `address`; `socket` is our end.
    ///
    /// # Errors
    /// When the socket cannot be made non-blocking.
    pub fn new(socket: OwnedFd, address: Option<SocketAddr>, now: Instant) -> io::Result<Self> {
        spawn::set_nonblocking(&socket)?;
        let (dials, outbox) = (VecDeque::new(), VecDeque::new());
        Ok(Self { socket, address, rate: Rate::of(BURST, PER_SECOND, now), dials, outbox, packet: vec![0; MAX_PACKET] })
    }

    /// What is to be waited for before [`Dialler::turn`].
    pub fn wanted(&self) -> Wanted<'_> {
        let socket = self.socket.as_fd();
        let dials = self.dials.iter().map(|dial| dial.dialling.fd()).collect();
        let until = self.dials.front().map(|dial| dial.until);
        let idle = self.outbox.is_empty();
        Wanted { requests: idle.then_some(socket), answers: (!idle).then_some(socket), dials, until }
    }

    /// Hears what is there, where `heard`; tells of the connections that are `ready`, by their place in [`Wanted::dials`],
    /// and of those whose time is over.
    ///
    /// # Errors
    /// [`Over`].
    pub fn turn(&mut self, heard: bool, ready: &[bool], now: Instant) -> Result<(), Over> {
        // those that come by a request of this turn were not waited for, and stand behind
        for (at, dial) in std::mem::take(&mut self.dials).into_iter().enumerate() {
            if ready.get(at).copied().unwrap_or(false) {
                match dial.dialling.connected() {
                    Ok(stream) => self.tell(&FromDialler::Stream { ticket: dial.ticket }, Some(stream))?,
                    Err(fault) => self.fail(dial.ticket, refused(&fault))?,
                }
            } else if now >= dial.until {
                self.fail(dial.ticket, NoStream::Late)?;
            } else {
                self.dials.push_back(dial);
            }
        }
        if heard && self.outbox.is_empty() {
            self.hear(now)?;
        }
        self.flush()
    }

    fn hear(&mut self, now: Instant) -> Result<(), Over> {
        match handover::receive(self.socket.as_fd(), &mut self.packet, 0) {
            Ok((0, _)) => Err(Over::Closed),
            Ok((length, _)) => match codec::decode(&self.packet[..length]) {
                Ok(ToDialler::Dial { ticket }) => self.dial(ticket, now),
                Err(_) => Err(Over::Broken),
            },
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(()),
            Err(e) if matches!(e.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => {
                Err(Over::Closed)
            }
            Err(_) => Err(Over::Broken),
        }
    }

    fn dial(&mut self, ticket: u64, now: Instant) -> Result<(), Over> {
        let Some(address) = self.address else { return self.fail(ticket, NoStream::Nowhere) };
        if self.dials.len() >= MAX_DIALS || !self.rate.take(now) {
            return self.fail(ticket, NoStream::Busy);
        }
        match dial::begin(address) {
            Ok(dialling) => {
                self.dials.push_back(Dial { ticket, until: now + PATIENCE, dialling });
                Ok(())
            }
            Err(fault) => self.fail(ticket, refused(&fault)),
        }
    }

    fn fail(&mut self, ticket: u64, why: NoStream) -> Result<(), Over> {
        self.tell(&FromDialler::Failed { ticket, why }, None)
    }

    fn tell(&mut self, answer: &FromDialler, stream: Option<OwnedFd>) -> Result<(), Over> {
        let packet = codec::encode(answer).map_err(|_| Over::Broken)?;
        self.outbox.push_back((packet, stream));
        Ok(())
    }

    /// Sends as much as the socket takes now; a stream that was sent is kept by nobody here.
    fn flush(&mut self) -> Result<(), Over> {
        while let Some((packet, stream)) = self.outbox.front() {
            let stream: Vec<_> = stream.iter().map(AsFd::as_fd).collect();
            match handover::send(self.socket.as_fd(), packet, &stream) {
                Ok(()) => self.outbox.pop_front(),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) if matches!(e.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => {
                    return Err(Over::Closed);
                }
                Err(_) => return Err(Over::Broken),
            };
        }
        Ok(())
    }
}

fn refused(fault: &io::Error) -> NoStream {
    NoStream::Refused { errno: fault.raw_os_error().unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::{
        io::{Read, Write},
        net::{Ipv4Addr, TcpListener, TcpStream},
    };

    /// The worker's end, taken over.
    struct Attack {
        theirs: OwnedFd,
        dialler: Dialler,
        now: Instant,
    }

    impl Attack {
        fn at(address: Option<SocketAddr>) -> Self {
            let (ours, theirs) = handover::pair().expect("a pair");
            let now = Instant::now();
            let dialler = Dialler::new(ours, address, now).expect("a socket");
            spawn::set_nonblocking(&theirs).expect("a socket");
            Self { theirs, dialler, now }
        }

        fn ask(&mut self, ticket: u64) {
            let packet = codec::encode(&ToDialler::Dial { ticket }).expect("small");
            handover::send(self.theirs.as_fd(), &packet, &[]).expect("there is room");
            self.dialler.turn(true, &[], self.now).expect("it keeps to the edge");
        }

        /// Waits until one connection is decided and passes it on.
        fn settle(&mut self) {
            let fds: Vec<_> =
                self.dialler.wanted().dials.iter().map(|fd| fd.try_clone_to_owned().expect("a descriptor")).collect();
            let mut polled: Vec<_> = fds.iter().map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLOUT)).collect();
            poll(&mut polled, PollTimeout::NONE).expect("descriptors");
            let ready: Vec<_> = polled.iter().map(|fd| fd.any().unwrap_or(true)).collect();
            self.dialler.turn(false, &ready, self.now).expect("it keeps to the edge");
        }

        fn heard(&self) -> Option<(FromDialler, Vec<OwnedFd>)> {
            let mut packet = [0; MAX_PACKET];
            let (length, fds) = handover::receive(self.theirs.as_fd(), &mut packet, 1).ok()?;
            Some((codec::decode(&packet[..length]).expect("honest"), fds))
        }
    }

    fn listening() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("its address");
        (listener, address)
    }

    #[test]
    fn a_stream_is_handed_over_connected_and_not_kept() {
        let (listener, address) = listening();
        let mut attack = Attack::at(Some(address));
        attack.ask(7);
        attack.settle();
        let Some((FromDialler::Stream { ticket: 7 }, fds)) = attack.heard() else { panic!("no stream") };
        let mut ours = TcpStream::from(fds.into_iter().next().expect("one"));
        let (mut theirs, _) = listener.accept().expect("a connection");
        theirs.write_all(b"x").expect("room");
        let mut byte = [0];
        while ours.read(&mut byte).is_err_and(|e| e.kind() == io::ErrorKind::WouldBlock) {}
        assert_eq!(&byte, b"x");
        drop(ours);
        // nobody else holds it, so it ends
        assert_eq!(theirs.read(&mut byte).expect("the end"), 0);
    }

    #[test]
    fn who_refuses_and_who_never_accepts_are_told_apart() {
        let (listener, address) = listening();
        drop(listener);
        let mut attack = Attack::at(Some(address));
        attack.ask(1);
        attack.settle();
        let refused = attack.heard().map(|(heard, _)| heard);
        assert!(
            matches!(refused, Some(FromDialler::Failed { ticket: 1, why: NoStream::Refused { errno } }) if errno > 0),
            "{refused:?}"
        );
        let mut late = Attack::at(Some(listening().1));
        late.ask(2);
        assert!(late.dialler.wanted().until.is_some_and(|until| until == late.now + PATIENCE));
        late.dialler.turn(false, &[], late.now + PATIENCE).expect("it keeps to the edge");
        let heard = late.heard().map(|(heard, _)| heard);
        assert_eq!(heard, Some(FromDialler::Failed { ticket: 2, why: NoStream::Late }));
        assert!(late.dialler.wanted().dials.is_empty());
        let mut nowhere = Attack::at(None);
        nowhere.ask(3);
        let heard = nowhere.heard().map(|(heard, _)| heard);
        assert_eq!(heard, Some(FromDialler::Failed { ticket: 3, why: NoStream::Nowhere }));
    }

    #[test]
    fn how_many_are_under_way_and_how_often_is_bounded() {
        let (_listener, address) = listening();
        let mut attack = Attack::at(Some(address));
        let mut busy = 0;
        for ticket in 0..3 * u64::from(BURST) {
            attack.ask(ticket);
            busy += usize::from(matches!(attack.heard(), Some((FromDialler::Failed { why: NoStream::Busy, .. }, _))));
        }
        assert!(attack.dialler.dials.len() <= MAX_DIALS);
        assert_eq!(busy, 2 * BURST as usize, "no more than a burst, however long it asks in one moment");
    }

    #[test]
    fn what_is_no_request_ends_it_and_who_does_not_listen_is_not_heard() {
        let mut attack = Attack::at(None);
        handover::send(attack.theirs.as_fd(), &[250, 1, 2], &[]).expect("there is room");
        assert_eq!(attack.dialler.turn(true, &[], attack.now), Err(Over::Broken));
        let Attack { mut dialler, theirs, now } = Attack::at(None);
        drop(theirs);
        assert_eq!(dialler.turn(true, &[], now), Err(Over::Closed));
        let mut deaf = Attack::at(None);
        let packet = codec::encode(&ToDialler::Dial { ticket: 1 }).expect("small");
        let mut asked = 0;
        while handover::send(deaf.theirs.as_fd(), &packet, &[]).is_ok() {
            deaf.dialler.turn(deaf.dialler.wanted().requests.is_some(), &[], deaf.now).expect("it keeps to the edge");
            asked += 1;
            assert!(asked < 100_000, "answers pile up");
        }
        assert_eq!(deaf.dialler.outbox.len(), 1, "one answer waits, and nothing is heard before it is sent");
    }
}
