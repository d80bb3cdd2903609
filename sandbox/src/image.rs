//! This program's own file, held open so that workers start from the same one after an upgrade on disk.
//! Trust: the kernel's link to the running image.

use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The running program, by descriptor.
#[derive(Debug)]
pub struct Image(OwnedFd);

impl Image {
    /// Takes hold of `/proc/self/exe`; nothing can be read through it, only started.
    ///
    /// # Errors
    /// When there is no `/proc`.
    pub fn hold() -> io::Result<Image> {
        let file = open(c"/proc/self/exe", OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty())?;
        Ok(Image(file))
    }
}

impl AsFd for Image {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
