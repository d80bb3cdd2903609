//! A machine that lacks a layer of the jail: this one, seen through a seccomp filter that the product inherits.
//! Trust: test code.

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};

/// `errno` values, the same on every machine that the product knows.
pub const EPERM: u32 = 1;
pub const EINVAL: u32 = 22;
pub const ENOSYS: u32 = 38;
pub const EOPNOTSUPP: u32 = 95;

/// The three calls of Landlock.
pub const LANDLOCK: &[i64] = &[444, 445, 446];
pub const CLOSE_RANGE: i64 = 436;
pub const OPENAT2: i64 = 437;
pub const PIDFD_OPEN: i64 = 434;
pub const CLONE3: i64 = 435;
pub const SECCOMP: i64 = if cfg!(target_arch = "x86_64") { 317 } else { 277 };
pub const PRCTL: i64 = if cfg!(target_arch = "x86_64") { 157 } else { 167 };
pub const UNSHARE: i64 = if cfg!(target_arch = "x86_64") { 272 } else { 97 };
/// `prctl` operation that installs a filter.
pub const PR_SET_SECCOMP: u64 = 22;

/// A filter that answers these calls with an error; `prctl` only where it would install a filter.
pub fn without(calls: &[i64], errno: u32) -> BpfProgram {
    let rules = |call: &i64| {
        if *call != PRCTL {
            return vec![];
        }
        let installs = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, PR_SET_SECCOMP);
        vec![SeccompRule::new(vec![installs.expect("argument 0 exists")]).expect("one condition")]
    };
    let arch = std::env::consts::ARCH.try_into().expect("a machine that the product knows");
    let rows = calls.iter().map(|call| (*call, rules(call))).collect();
    let filter = SeccompFilter::new(rows, SeccompAction::Allow, SeccompAction::Errno(errno), arch);
    filter.and_then(BpfProgram::try_from).expect("a small filter compiles")
}

/// Runs `start` on a thread of its own under these filters; what it starts inherits them.
pub fn under<T: Send>(filters: &[BpfProgram], start: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            filters.iter().for_each(|filter| apply_filter(filter).expect("a filter can be put on"));
            start()
        });
        thread.join().expect("it does not panic")
    })
}

/// A machine with neither of the two layers that keep a worker to its files.
pub fn without_files_layers(errno: u32) -> [BpfProgram; 2] {
    [without(LANDLOCK, errno), without(&[UNSHARE], EPERM)]
}
