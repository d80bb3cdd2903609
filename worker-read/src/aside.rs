//! Work of the library that nothing can interrupt, on a thread of its own, so that the call can end without it.
//! Trust: how long the work takes is the repository's to choose; a worker that left some of it behind serves no further call.

use crate::pace::{Pace, Stopped};
use std::{
    panic::resume_unwind,
    sync::mpsc::{RecvTimeoutError, sync_channel},
    thread,
    time::Duration,
};

/// Stack of the thread, as that of the one that serves.
const STACK: usize = 8 << 20;
/// Between two looks at the clock.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What `work` gives, unless the call ends first. The thread then goes on until it is done or the process ends, and
/// [`Pace::left_behind`] says so meanwhile.
///
/// # Errors
/// [`Stopped`].
pub fn run<T: Send + 'static>(pace: &Pace, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Stopped> {
    pace.look()?;
    let (done, result) = sync_channel(1);
    let busy = pace.aside();
    let thread = thread::Builder::new().name("aside".into()).stack_size(STACK).spawn(move || {
        let _busy = busy;
        // nobody listens any more where the call has ended
        let _ = done.send(work());
    });
    // without a thread there is no answer in time either
    let Ok(thread) = thread else { return Err(pace.end()) };
    loop {
        match result.recv_timeout(LOOK_EVERY) {
            Ok(result) => {
                // it has nothing left to do but to count itself out, without which the worker would pass for a busy one
                let _ = thread.join();
                return Ok(result);
            }
            Err(RecvTimeoutError::Timeout) => pace.look()?,
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => return Err(pace.end()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hearing::Hearing;
    use std::sync::{Arc, mpsc::channel};

    #[test]
    fn a_call_that_is_cancelled_leaves_the_work_behind_until_it_is_done() {
        let hearing = Arc::new(Hearing::deaf());
        let pace = Pace::new(7, Arc::clone(&hearing), 600_000, |_| {});
        assert_eq!(run(&pace, || 3), Ok(3));
        assert!(!pace.left_behind().any());
        let (go_on, wait) = channel::<()>();
        let canceller = Arc::clone(&hearing);
        let stopped = run(&pace, move || {
            canceller.cancel(7);
            let _ = wait.recv();
        });
        assert_eq!(stopped, Err(Stopped::Cancelled));
        let left = pace.left_behind();
        assert!(left.any());
        drop(go_on);
        while left.any() {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(run(&pace, || 3), Err(Stopped::Cancelled), "none is begun after the end");
    }

    #[test]
    fn a_panic_of_the_work_is_one_of_the_call() {
        let pace = Pace::alone(600_000);
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&pace, || panic!("on purpose"))));
        assert!(caught.is_err());
        assert!(!pace.left_behind().any());
    }
}
