//! Which system calls each kind of process may make, as reviewed data: one table for each kind, a reason in each row.
//! Trust: constant; numbers and flags come from libc, by architecture. Adding a row is a change of the jail.

pub mod agents;
pub mod audit;
pub mod base;
pub mod gateway;
pub mod launcher;
pub mod never;
pub mod note;
pub mod read;
pub mod supervisor;
pub mod syntax;
pub mod write;

/// One system call, by libc's number for this architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call(pub libc::c_long);

/// One way of using one call. Rows of the same call are alternatives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The call.
    pub call: Call,
    /// What must hold of its arguments, all of it; none means every use.
    pub when: &'static [Check],
    /// Who needs it, or, in [`mod@never`], what it would be used for.
    pub why: &'static str,
}

/// A check of one argument, by its position from 0. A filter sees numbers only, never what a pointer leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// The low 32 bits are this.
    Is(u8, Value),
    /// The low 32 bits are not this.
    IsNot(u8, Value),
    /// All 64 bits are zero.
    Null(u8),
    /// Of the low 32 bits, those of the mask are these.
    Bits {
        /// Which argument.
        argument: u8,
        /// The bits looked at.
        mask: u32,
        /// What they must be.
        are: u32,
    },
}

/// A number known now, or when the filter is put on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// This one.
    Number(u32),
    /// The process's own id.
    OwnPid,
    /// The descriptor of the socket to the launcher.
    LauncherSocket,
}

/// The numbers that only the live process knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Live {
    /// Its process id.
    pub pid: u32,
    /// Its socket to the launcher; `u32::MAX`, which is no descriptor, where it has none.
    pub launcher_socket: u32,
}

impl Live {
    /// A process without a launcher's socket.
    #[must_use]
    pub fn worker() -> Live {
        Live { pid: std::process::id(), launcher_socket: u32::MAX }
    }
}

/// Every use of a call.
const fn any(call: libc::c_long, why: &'static str) -> Row {
    Row { call: Call(call), when: &[], why }
}

/// The uses of a call that pass all checks.
const fn only(call: libc::c_long, when: &'static [Check], why: &'static str) -> Row {
    Row { call: Call(call), when, why }
}

/// None of these bits is set.
const fn without(argument: u8, mask: libc::c_int) -> Check {
    Check::Bits { argument, mask: mask.cast_unsigned(), are: 0 }
}

/// The argument is this number.
const fn is(argument: u8, number: libc::c_int) -> Check {
    Check::Is(argument, Value::Number(number.cast_unsigned()))
}

/// The argument is another number.
const fn is_not(argument: u8, number: libc::c_int) -> Check {
    Check::IsNot(argument, Value::Number(number.cast_unsigned()))
}

/// All of these bits are set.
const fn with(argument: u8, mask: libc::c_int) -> Check {
    Check::Bits { argument, mask: mask.cast_unsigned(), are: mask.cast_unsigned() }
}

/// The tables of one kind of process.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// What it may do; everything else answers ENOSYS. `None` for the launcher, whose children inherit its filters.
    pub allow: Option<&'static [&'static [Row]]>,
    /// What answers EACCES, for a process without an allow-list: calls that what it runs may try and go on without.
    pub refuse: Option<&'static [&'static [Row]]>,
    /// What ends it; `None` for a process whose allow-list refuses the same by an error.
    pub kill: Option<&'static [&'static [Row]]>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::seccomp;
    use seccompiler::TargetArch;
    use std::collections::{BTreeMap, BTreeSet};

    const KINDS: [(&str, Policy); 13] = [
        ("read", read::POLICY),
        ("audit", audit::POLICY),
        ("agents, looking", agents::LOOKING),
        ("agents, reading", agents::READING),
        ("note", note::POLICY),
        ("gateway", gateway::POLICY),
        ("syntax", syntax::POLICY),
        ("supervisor", supervisor::POLICY),
        ("launcher", launcher::POLICY),
        ("write", write::POLICY),
        ("write, hooks", write::HOOKS),
        ("write-net", write::NET),
        ("write-net, agent", write::NET_AND_AGENT),
    ];

    fn rows(tables: &'static [&'static [Row]]) -> impl Iterator<Item = &'static Row> {
        tables.iter().flat_map(|table| table.iter())
    }

    #[test]
    fn every_policy_compiles_for_every_architecture() {
        for (kind, policy) in KINDS {
            for arch in [TargetArch::x86_64, TargetArch::aarch64] {
                let live = Live { pid: 7, launcher_socket: 5 };
                assert!(policy.allow.is_some() || policy.kill.is_some(), "{kind} has no filter at all");
                if let Some(tables) = policy.kill {
                    let kill = seccomp::kill(tables, &live, arch);
                    assert!(kill.is_ok_and(|program| (10..4096).contains(&program.len())), "kill list of {kind}");
                }
                if let Some(tables) = policy.refuse {
                    let refuse = seccomp::refuse(tables, &live, arch);
                    assert!(refuse.is_ok_and(|program| (10..4096).contains(&program.len())), "refusals of {kind}");
                }
                if let Some(tables) = policy.allow {
                    let allow = seccomp::allow(tables, &live, arch);
                    assert!(allow.is_ok_and(|program| (10..4096).contains(&program.len())), "allow list of {kind}");
                }
            }
        }
    }

    #[test]
    fn no_row_is_there_twice_or_beside_one_that_covers_it() {
        for (kind, policy) in KINDS {
            let lists = [policy.allow, policy.refuse, policy.kill];
            for tables in lists.map(Option::unwrap_or_default) {
                let mut by_call: BTreeMap<Call, Vec<&[Check]>> = BTreeMap::new();
                for row in rows(tables) {
                    by_call.entry(row.call).or_default().push(row.when);
                }
                for (call, uses) in by_call {
                    let open = uses.iter().any(|checks| checks.is_empty());
                    assert!(!open || uses.len() == 1, "{kind}: {call:?} has a row that covers another");
                    let twice = uses.iter().enumerate().any(|(at, checks)| uses[..at].contains(checks));
                    assert!(!twice, "{kind}: {call:?} has the same row twice");
                }
            }
        }
    }

    #[test]
    fn every_row_says_why() {
        for (kind, policy) in KINDS {
            for row in [policy.allow, policy.refuse, policy.kill].into_iter().flatten().flat_map(rows) {
                assert!(row.why.split_whitespace().count() >= 2, "{kind}: {:?} gives no reason", row.call);
            }
        }
    }

    #[test]
    fn nothing_is_both_allowed_and_fatal() {
        for (kind, policy) in KINDS {
            let worst: &[&[Row]] = &[
                never::EVERYWHERE,
                never::NO_PROGRAMS,
                never::NO_PROGRAMS_LEGACY,
                never::CONFINED,
                never::CONFINED_LEGACY,
                never::NO_SOCKETS,
            ];
            let fatal: BTreeSet<Call> = worst.iter().flat_map(|table| table.iter()).map(|row| row.call).collect();
            for row in rows(policy.allow.unwrap_or_default()) {
                assert!(!fatal.contains(&row.call), "{kind}: {:?} is allowed and fatal", row.call);
            }
        }
    }

    #[test]
    fn the_launcher_leaves_its_children_what_their_set_up_needs() {
        let needed = [
            libc::SYS_execve,
            libc::SYS_execveat,
            libc::SYS_clone,
            libc::SYS_unshare,
            libc::SYS_mount,
            libc::SYS_umount2,
            libc::SYS_pivot_root,
            libc::SYS_open_tree,
            libc::SYS_move_mount,
            libc::SYS_mount_setattr,
            libc::SYS_capset,
            libc::SYS_prctl,
            libc::SYS_seccomp,
            libc::SYS_landlock_create_ruleset,
            libc::SYS_landlock_add_rule,
            libc::SYS_landlock_restrict_self,
        ];
        for row in rows(launcher::POLICY.kill.unwrap_or_default()) {
            assert!(!needed.contains(&row.call.0), "{:?} is inherited by workers, which need it", row.call);
        }
    }

    #[test]
    fn no_process_with_an_allow_list_may_change_its_filters_or_start_programs() {
        let never = [
            libc::SYS_seccomp,
            libc::SYS_execve,
            libc::SYS_socket,
            libc::SYS_kill,
            libc::SYS_openat2,
            libc::SYS_clone3,
        ];
        for (kind, policy) in KINDS {
            for row in rows(policy.allow.unwrap_or_default()) {
                // the one filter that another one follows: it can only take more away
                let second = kind == "agents, looking"
                    && row.call.0 == libc::SYS_seccomp
                    && row.when == [is(0, libc::SECCOMP_SET_MODE_FILTER.cast_signed())];
                assert!(!never.contains(&row.call.0) || second, "{kind}: {:?}", row.call);
            }
        }
    }
}
