//! On which processors the threads of one process run.
//! Trust: the kernel's word.

/// Some of the processors that this process may run on, none of which is in another share of the same split.
#[derive(Debug, Clone, Copy)]
pub struct Share {
    #[cfg(target_os = "linux")]
    processors: nix::sched::CpuSet,
    #[cfg(not(target_os = "linux"))]
    first: bool,
}

#[cfg(target_os = "linux")]
impl Share {
    /// Splits the processors that this process may run on into at most `count` shares of at least one.
    ///
    /// A thread that starts or wakes belongs on an idle processor. In a virtual machine the kernel takes one that the host
    /// has put to sleep for a busy one and leaves the thread where its waker runs, so that both take turns on one processor.
    #[must_use]
    pub fn split(count: usize) -> Vec<Self> {
        use nix::sched::{CpuSet, sched_getaffinity};
        let all = sched_getaffinity(nix::unistd::Pid::from_raw(0)).unwrap_or_default();
        let mut shares = vec![CpuSet::new(); count];
        let ours = (0..CpuSet::count()).filter(|&processor| all.is_set(processor).unwrap_or(false));
        for (at, processor) in ours.enumerate() {
            let Some(share) = at.checked_rem(count).and_then(|at| shares.get_mut(at)) else { break };
            // a set refuses only what is beyond its end
            let _ = share.set(processor);
        }
        let some = |set: &CpuSet| (0..CpuSet::count()).any(|processor| set.is_set(processor).unwrap_or(false));
        shares.into_iter().filter(some).map(|processors| Self { processors }).collect()
    }

    /// True where the calling thread runs on one of them now.
    #[must_use]
    pub fn is_here(&self) -> bool {
        nix::sched::sched_getcpu().is_ok_and(|here| self.processors.is_set(here).unwrap_or(false))
    }

    /// Has the calling thread run on these alone from now on. Where the kernel does not want that, it stays as it is.
    pub fn stay(&self) {
        let _ = nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &self.processors);
    }
}

/// Without a way to tell the scheduler, shares are only counted.
#[cfg(not(target_os = "linux"))]
impl Share {
    /// `count` shares, or as many as there are processors.
    #[must_use]
    pub fn split(count: usize) -> Vec<Self> {
        (0..count.min(crate::identity::processors())).map(|at| Self { first: at == 0 }).collect()
    }

    /// True for the first.
    #[must_use]
    pub fn is_here(&self) -> bool {
        self.first
    }

    /// Changes nothing.
    pub fn stay(&self) {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use nix::{sched::sched_getaffinity, unistd::Pid};

    #[test]
    fn shares_are_apart_and_hold_a_thread() {
        let processors = crate::identity::processors();
        for count in 0..4 {
            let shares = Share::split(count);
            assert_eq!(shares.len(), count.min(processors));
            for share in shares {
                std::thread::spawn(move || {
                    share.stay();
                    assert!(share.is_here());
                    assert_eq!(sched_getaffinity(Pid::from_raw(0)).expect("it is ours"), share.processors);
                    let others = Share::split(count);
                    assert_eq!(others.len(), processors.div_ceil(count).min(count), "{others:?}");
                })
                .join()
                .expect("a share holds");
            }
        }
        let here = Share::split(processors).into_iter().filter(Share::is_here).count();
        assert!(here <= 1, "one processor is in one share");
    }
}
