//! What the supervisor says: one call after the other, and a cancellation of the one that is being served.
//! Trust: the supervisor may be taken over; a message out of phase ends the worker, and too many waiting calls do.

use bulkhead_ipc::{
    channel::{Now, Receiver},
    edge::read::{Call, ToRead},
};
use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// Calls that may wait; the supervisor sends the next one only after an answer.
const WAITING: usize = 2;

/// The ears of a worker. There is no thread that listens: who works looks up now and then, so that a call costs no change of
/// threads.
pub struct Hearing {
    requests: Mutex<Requests>,
    /// Id of the call that was cancelled last; calls count from one.
    cancelled: AtomicU64,
    over: AtomicBool,
}

struct Requests {
    receiver: Option<Receiver<ToRead>>,
    calls: VecDeque<Box<Call>>,
}

impl Hearing {
    /// Hears what comes after `Init`.
    #[must_use]
    pub fn new(receiver: Receiver<ToRead>) -> Self {
        Self::of(Some(receiver))
    }

    /// Hears nothing, for work outside of a worker.
    #[must_use]
    pub fn deaf() -> Self {
        Self::of(None)
    }

    fn of(receiver: Option<Receiver<ToRead>>) -> Self {
        Self {
            requests: Mutex::new(Requests { receiver, calls: VecDeque::new() }),
            cancelled: AtomicU64::new(0),
            over: AtomicBool::new(false),
        }
    }

    /// Waits for the next call; `None` when there is none any more.
    #[must_use]
    pub fn call(&self) -> Option<Box<Call>> {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if self.is_over() {
                return None;
            }
            if let Some(call) = requests.calls.pop_front() {
                return Some(call);
            }
            match requests.receiver.as_mut()?.receive() {
                Ok(Some(message)) => self.take(message, &mut requests.calls),
                Ok(None) | Err(_) => self.end(),
            }
        }
    }

    /// Hears what is there, without waiting for it. Another thread that is at it is not waited for either.
    pub fn listen(&self) {
        let Ok(mut requests) = self.requests.try_lock() else { return };
        let Requests { receiver: Some(receiver), calls } = &mut *requests else { return };
        while !self.is_over() {
            match receiver.now() {
                Ok(Now::Said(message)) => self.take(message, calls),
                Ok(Now::Nothing) => return,
                Ok(Now::End) | Err(_) => self.end(),
            }
        }
    }

    fn take(&self, message: ToRead, calls: &mut VecDeque<Box<Call>>) {
        match message {
            ToRead::Call(call) if calls.len() < WAITING => calls.push_back(call),
            ToRead::Cancel { id } => self.cancelled.store(id, Ordering::Relaxed),
            ToRead::Init(_) | ToRead::Call(_) => self.end(),
        }
    }

    fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// True when nobody waits for answers any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Whether the call `id` is still wanted, by what was heard until now.
    #[must_use]
    pub fn wants(&self, id: u64) -> bool {
        !self.is_over() && self.cancelled.load(Ordering::Relaxed) != id
    }

    /// Cancels the call `id`, as a message would.
    pub fn cancel(&self, id: u64) {
        self.cancelled.store(id, Ordering::Relaxed);
    }
}

impl fmt::Debug for Hearing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hearing").field("over", &self.is_over()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_contract::isolation::Demand;
    use bulkhead_ipc::{
        Error,
        channel::FrameSource,
        codec,
        edge::read::{Ask, Init, OwnerTrust},
    };

    /// Frames that were said, and then nothing more.
    struct Said(VecDeque<Vec<u8>>);

    impl FrameSource for Said {
        fn next_frame(&mut self) -> Result<Option<Vec<u8>>, Error> {
            Ok(self.0.pop_front())
        }

        fn frame_now(&mut self) -> Result<Now<Vec<u8>>, Error> {
            Ok(self.0.pop_front().map_or(Now::Nothing, Now::Said))
        }
    }

    fn hearing(messages: Vec<ToRead>) -> Hearing {
        let frames = messages.iter().map(|message| codec::encode(message).expect("small"));
        Hearing::new(Receiver::new(Said(frames.collect())))
    }

    fn call(id: u64) -> ToRead {
        ToRead::Call(Box::new(Call { id, budget_ms: 1_000, place: None, ask: Ask::SelfProbe }))
    }

    #[test]
    fn a_cancellation_is_heard_at_work_and_the_next_call_kept() {
        let hearing = hearing(vec![call(1), ToRead::Cancel { id: 1 }, call(2)]);
        assert_eq!(hearing.call().expect("the first").id, 1);
        assert!(hearing.wants(1), "not heard yet");
        hearing.listen();
        assert!(!hearing.wants(1) && hearing.wants(2) && !hearing.is_over());
        assert_eq!(hearing.call().expect("the second").id, 2);
        assert!(hearing.call().is_none(), "the end");
        assert!(!hearing.wants(2));
    }

    #[test]
    fn what_is_out_of_phase_ends_it() {
        let init = || {
            ToRead::Init(Box::new(Init {
                demand: Demand::Off,
                empty_root: false,
                ceilings: Vec::new(),
                run_dirs: Vec::new(),
                path: None,
                trust: OwnerTrust::default(),
                home: None,
                xdg_config_home: None,
                memory: 1 << 30,
                threads: 1,
            }))
        };
        for messages in [vec![call(1), init()], vec![call(1), call(2), call(3), call(4)]] {
            let hearing = hearing(messages);
            assert!(hearing.call().is_some());
            hearing.listen();
            assert!(hearing.is_over() && !hearing.wants(1));
            assert!(hearing.call().is_none());
        }
    }
}
