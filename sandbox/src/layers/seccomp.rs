//! seccomp: filters over the system calls of this process, from the rows of a policy.
//! Trust: a filter counts when the kernel took it; whether it bites is shown by the jail that put it on.

use super::{Missing, name, rlimits};
use crate::policy::{Check, Live, Row, Value};
use nix::errno::Errno;
use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};
use std::collections::{BTreeMap, BTreeSet};

/// Lets the rows' calls through and answers every other with ENOSYS, on which libc takes its older way or gives up; a
/// call that a new libc makes thus degrades and does not kill.
///
/// # Errors
/// The policy does not compile.
pub fn allow(tables: &[&[Row]], live: &Live, arch: TargetArch) -> Result<BpfProgram, Missing> {
    compile(tables, live, SeccompAction::Errno(libc::ENOSYS as u32), SeccompAction::Allow, arch)
}

/// Answers the rows' calls with EACCES and lets every other through: for what a program that we start may try and go on
/// without.
///
/// # Errors
/// The policy does not compile.
pub fn refuse(tables: &[&[Row]], live: &Live, arch: TargetArch) -> Result<BpfProgram, Missing> {
    compile(tables, live, SeccompAction::Allow, SeccompAction::Errno(libc::EACCES as u32), arch)
}

/// The same with ENOSYS, for calls whose arguments no filter can look at: libc then takes the older one. So it is answered at every
/// call beyond `youngest`, which a kernel that is younger than the tables may have.
///
/// # Errors
/// The policy does not compile.
pub fn hide(tables: &[&[Row]], youngest: u32, live: &Live, arch: TargetArch) -> Result<BpfProgram, Missing> {
    let unknown = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
    let mut program = from_number(youngest + 1, unknown);
    program.extend(compile(tables, live, SeccompAction::Allow, SeccompAction::Errno(libc::ENOSYS as u32), arch)?);
    Ok(program)
}

/// Ends the whole process at the rows' calls, which no library needs, and lets every other through. On x86_64 also at
/// any call by the x32 numbers, which would pass as unknown.
///
/// # Errors
/// The policy does not compile.
pub fn kill(tables: &[&[Row]], live: &Live, arch: TargetArch) -> Result<BpfProgram, Missing> {
    let mut program = match arch {
        TargetArch::x86_64 => refuse_x32(),
        _ => BpfProgram::new(),
    };
    program.extend(compile(tables, live, SeccompAction::Allow, SeccompAction::KillProcess, arch)?);
    Ok(program)
}

/// Puts a filter on every thread of this process; filters stack, and the kernel takes the strictest answer.
///
/// # Errors
/// The kernel took none; says what it answered.
pub fn install(program: &BpfProgram) -> Result<(), Missing> {
    match seccompiler::apply_filter_all_threads(program) {
        Ok(()) if rlimits::seccomp_mode() == 0 => {
            Err(Missing("seccomp: installing returned, but no filter is on".into()))
        }
        Ok(()) => Ok(()),
        Err(Error::Seccomp(error)) => Err(refused(Errno::from_raw(error.raw_os_error().unwrap_or(0)))),
        Err(Error::ThreadSync(thread)) => Err(Missing(format!("seccomp: thread {thread} has filters of its own"))),
        Err(error) => Err(Missing(format!("seccomp: {error}"))),
    }
}

/// How a policy's tables become a program: [`allow`], [`refuse`] or [`kill`].
pub type Compile = fn(&[&[Row]], &Live, TargetArch) -> Result<BpfProgram, Missing>;

/// Puts a filter on the calling thread alone. Allocates nothing and takes no lock, so a child may call it between fork
/// and exec.
///
/// # Errors
/// The kernel took none.
pub fn install_here(program: &BpfProgram) -> std::io::Result<()> {
    seccompiler::apply_filter(program).map_err(|error| match error {
        Error::Prctl(error) | Error::Seccomp(error) => error,
        _ => std::io::ErrorKind::InvalidInput.into(),
    })
}

/// Compiles tables for this machine and puts the filter on. Returns how many calls it names.
///
/// # Errors
/// As for [`install`].
pub fn install_policy(compile: Compile, tables: &[&[Row]], live: &Live) -> Result<usize, Missing> {
    install(&compile(tables, live, host()?)?)?;
    Ok(tables.iter().flat_map(|table| table.iter()).map(|row| row.call).collect::<BTreeSet<_>>().len())
}

/// The kind of machine that this program runs on.
///
/// # Errors
/// No filter can be built for it.
pub fn host() -> Result<TargetArch, Missing> {
    std::env::consts::ARCH
        .try_into()
        .map_err(|_| Missing(format!("seccomp: no filters for {}", std::env::consts::ARCH)))
}

fn refused(errno: Errno) -> Missing {
    let cause = match errno {
        Errno::EINVAL => "the kernel is built without filters, or an outer filter hides them",
        Errno::ENOSYS => "the kernel is without it, or an outer filter hides it",
        Errno::EPERM | Errno::EACCES => "blocked by an outer filter, or new privileges are possible",
        _ => "refused",
    };
    Missing(format!("seccomp: {cause} ({})", name(errno)))
}

/// Rows of one call are alternatives; a row without checks admits every use of it.
fn compile(
    tables: &[&[Row]],
    live: &Live,
    otherwise: SeccompAction,
    on_match: SeccompAction,
    arch: TargetArch,
) -> Result<BpfProgram, Missing> {
    let broken = |error: seccompiler::BackendError| Missing(format!("seccomp: policy does not compile: {error}"));
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for row in tables.iter().flat_map(|table| table.iter()) {
        let alternatives = rules.entry(row.call.0);
        if row.when.is_empty() {
            // to the library, no alternatives means every use
            alternatives.or_default().clear();
            continue;
        }
        let conditions =
            row.when.iter().map(|check| condition(*check, live)).collect::<Result<Vec<_>, _>>().map_err(broken)?;
        alternatives.or_default().push(SeccompRule::new(conditions).map_err(broken)?);
    }
    SeccompFilter::new(rules, otherwise, on_match, arch).and_then(BpfProgram::try_from).map_err(broken)
}

fn condition(check: Check, live: &Live) -> Result<SeccompCondition, seccompiler::BackendError> {
    use {
        SeccompCmpArgLen::Dword, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, SeccompCmpOp::MaskedEq, SeccompCmpOp::Ne,
    };
    let number = |value| match value {
        Value::Number(number) => u64::from(number),
        Value::OwnPid => u64::from(live.pid),
        Value::LauncherSocket => u64::from(live.launcher_socket),
    };
    match check {
        Check::Is(argument, value) => SeccompCondition::new(argument, Dword, Eq, number(value)),
        Check::IsNot(argument, value) => SeccompCondition::new(argument, Dword, Ne, number(value)),
        Check::Null(argument) => SeccompCondition::new(argument, Qword, Eq, 0),
        Check::Bits { argument, mask, are } => {
            SeccompCondition::new(argument, Dword, MaskedEq(u64::from(mask)), u64::from(are))
        }
    }
}

/// Ends the process at a call number with the x32 bit; the architecture word of those calls is that of x86_64.
fn refuse_x32() -> BpfProgram {
    const X32_BIT: u32 = 0x4000_0000;
    from_number(X32_BIT, libc::SECCOMP_RET_KILL_PROCESS)
}

/// Answers every call from this number on, and leaves the others to what follows.
fn from_number(least: u32, answer: u32) -> BpfProgram {
    let step = |code: u32, jt: u8, jf: u8, k: u32| sock_filter { code: code as u16, jt, jf, k };
    vec![
        // the first word of the kernel's record is the call number
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, least),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, answer),
    ]
}
