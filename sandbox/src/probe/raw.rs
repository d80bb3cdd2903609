//! System calls by number, as an attacker makes them: no libc wrapper chooses the call or refuses it first.
//! Trust: numbers and arguments are written in the probes.

use nix::errno::Errno;
use std::ffi::CStr;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// One argument; a pointer among them borrows what it points to until the call is over.
#[derive(Clone, Copy)]
pub struct Argument<'a>(usize, PhantomData<&'a ()>);

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl From<$number> for Argument<'_> {
            fn from(number: $number) -> Self {
                // sign-extended, as the kernel takes it
                Argument(number as usize, PhantomData)
            }
        }
    )*};
}
numbers!(i32 u32 i64 u64 usize);

impl<'a> From<&'a CStr> for Argument<'a> {
    fn from(text: &'a CStr) -> Self {
        Argument(text.as_ptr() as usize, PhantomData)
    }
}

impl<'a, T: Copy, const N: usize> From<&'a [T; N]> for Argument<'a> {
    fn from(input: &'a [T; N]) -> Self {
        Argument(input.as_ptr() as usize, PhantomData)
    }
}

impl<'a, T: Copy, const N: usize> From<&'a mut [T; N]> for Argument<'a> {
    fn from(output: &'a mut [T; N]) -> Self {
        Argument(output.as_mut_ptr() as usize, PhantomData)
    }
}

impl<'a> From<&'a OwnedFd> for Argument<'a> {
    fn from(fd: &'a OwnedFd) -> Self {
        fd.as_raw_fd().into()
    }
}

/// Makes the call. Every probe passes lengths that its buffers have, and unmaps nothing.
pub fn call(number: libc::c_long, arguments: &[Argument<'_>]) -> Result<usize, Errno> {
    let mut words = [0usize; 6];
    for (word, argument) in words.iter_mut().zip(arguments) {
        *word = argument.0;
    }
    let [a, b, c, d, e, f] = words;
    // SAFETY: pointers among the arguments come from references that live until the call is over, exclusive ones where
    // the kernel writes; the probes pass the true lengths.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if result == -1 { Err(Errno::last()) } else { Ok(result as usize) }
}

/// The argument list of [`call`], from anything that can be one.
macro_rules! sys {
    ($number:expr $(, $argument:expr)*) => {
        $crate::probe::raw::call($number as libc::c_long, &[$($crate::probe::raw::Argument::from($argument)),*])
    };
}
/// A second way to the same thing, by a call that newer architectures do not have.
macro_rules! legacy {
    ($number:ident $(, $argument:expr)*) => {{
        #[cfg(target_arch = "x86_64")]
        { $crate::probe::raw::sys!(libc::$number $(, $argument)*) }
        #[cfg(not(target_arch = "x86_64"))]
        { $(let _ = $argument;)* Err::<usize, _>(nix::errno::Errno::ENOSYS) }
    }};
}
pub(crate) use {legacy, sys};

/// Tries another way where the first is refused; the refusal is the first one's.
pub fn either<T>(first: Result<T, Errno>, second: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
    first.or_else(|errno| second().map_err(|_| errno))
}

/// Takes the new descriptor that a call returned.
pub fn descriptor(result: Result<usize, Errno>) -> Result<OwnedFd, Errno> {
    let fd = RawFd::try_from(result?).map_err(|_| Errno::EBADF)?;
    // SAFETY: the kernel has just returned it as new, so nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A call that returns twice: the new process leaves at once.
pub fn process(result: Result<usize, Errno>) -> Result<usize, Errno> {
    if let Ok(0) = result {
        // SAFETY: in the new process; nothing is unwound and no handler runs.
        unsafe { libc::_exit(0) }
    }
    result
}

/// Opens, by either call that there is.
pub fn open(path: &CStr, flags: i32) -> Result<OwnedFd, Errno> {
    let flags = flags | libc::O_CLOEXEC;
    descriptor(either(sys!(libc::SYS_openat, libc::AT_FDCWD, path, flags, 0o600), || {
        legacy!(SYS_open, path, flags, 0o600)
    }))
}

/// Opens and reads the first bytes.
pub fn read(path: &CStr) -> Result<usize, Errno> {
    let file = open(path, libc::O_RDONLY)?;
    let mut bytes = [0u8; 16];
    sys!(libc::SYS_read, &file, &mut bytes, 16)
}
