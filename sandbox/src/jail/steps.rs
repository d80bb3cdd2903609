//! Steps that several jails have in common, each with the try that shows whether it holds.
//! Trust: no input; the kernel's answers are read, and its word alone is not believed.

use super::seen::{Seen, Step};
use super::{no_socket, out_of_reach};
use crate::layers::landlock::{self, Readable};
use crate::layers::{Missing, rlimits, seccomp};
use crate::policy::{Live, Policy};
use std::path::Path;

impl Seen {
    /// Enters a Landlock domain without a rule, and tries the root directory.
    pub(super) fn leave_all_files(&mut self) {
        self.enter(landlock::restrict(Readable::default()));
        if self.landlock.on().is_some() {
            match out_of_reach(Path::new("/")) {
                Ok(answer) => self.tries.push(format!("root directory answers {answer}")),
                Err(text) => {
                    self.landlock =
                        Step::Failed(Missing(format!("on by the kernel's word, but the root directory {text}")));
                }
            }
        }
    }

    /// Notes flags and limits while they can be asked for, installs the policy's allow-list, and tries to make a socket.
    pub(super) fn admit_only(&mut self, policy: &Policy, live: &Live) {
        self.standing = rlimits::standing();
        self.allow = seccomp::install_policy(seccomp::allow, policy.allow.unwrap_or_default(), live).into();
        if self.allow.on().is_some() {
            match no_socket() {
                Ok(bite) => self.bite = bite,
                Err(text) => self.allow = Step::Failed(Missing(format!("seccomp: filter is on, but {text}"))),
            }
        }
    }
}
