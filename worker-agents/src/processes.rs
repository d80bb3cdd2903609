//! Processes of the same user whose directory lies in the repository, and what started them.
//! Trust: names and command lines are other programs'. Environment, memory and descriptors are never opened, and of a process
//! of another user nothing but its owner is looked at.
//!
//! Looking comes before the jail is finished and takes nothing apart but the kernel's own numbers; what it brought is read
//! afterwards.

use crate::{inside::Root, look::Look, recognise::Program};
use bulkhead_contract::results::{AgentSource, UnseenReason};
use bulkhead_ipc::edge::agents::Finding;
use std::collections::{BTreeMap, HashMap};

#[cfg(target_os = "linux")]
mod proc;

/// Processes above one that are asked for the agent that it belongs to.
const MAX_ANCESTORS: usize = 16;
/// Processes above the supervisor that count as the caller.
const CALLERS: usize = 8;
/// A process that was started within this time works, in milliseconds.
const LATELY_MS: i64 = 10 * 60_000;

/// One process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Process {
    /// What started it.
    pub parent: u32,
    /// Milliseconds that it has run.
    pub age_ms: i64,
    /// What it runs.
    pub program: Program,
}

/// What was seen of the system's processes.
#[derive(Debug, Default)]
pub struct Processes {
    /// Those in the repository, and all above them.
    pub by_pid: HashMap<u32, Process>,
    /// Those in the repository.
    pub inside: Vec<u32>,
    /// The ones that this server was started by, the nearest first.
    pub callers: Vec<u32>,
    /// Own processes whose directory the system does not show.
    pub hidden: Vec<Program>,
    /// Processes of other people.
    pub others: u32,
    /// There are more than were looked at.
    pub more: bool,
    /// There is no list.
    pub none: bool,
}

impl Processes {
    /// Looks. `supervisor` is this server, which is no agent.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn look(root: &Root, supervisor: u32) -> Self {
        proc::look(root, supervisor)
    }

    /// Systems without `/proc` show nothing here.
    #[cfg(not(target_os = "linux"))]
    #[must_use]
    pub fn look(_root: &Root, _supervisor: u32) -> Self {
        Self { none: true, ..Self::default() }
    }

    /// What that says. `confirms` as for [`Program::agent`].
    pub fn read(&self, look: &mut Look<'_>, confirms: &dyn Fn(&str) -> bool) {
        if self.none {
            return look.miss("processes", UnseenReason::NoProcessList, 1);
        }
        if self.more {
            look.miss("processes", UnseenReason::TooMany, 1);
        }
        if self.others > 0 {
            look.miss("processes", UnseenReason::OtherUser, self.others);
        }
        for program in &self.hidden {
            if let Some(agent) = program.agent(confirms) {
                look.miss(agent, UnseenReason::HiddenDirectory, 1);
            }
        }
        let mut found: BTreeMap<u32, Finding> = BTreeMap::new();
        for pid in &self.inside {
            let Some((owner, agent)) = self.agent_of(*pid, confirms) else { continue };
            let finding = found.entry(owner).or_insert_with(|| Finding {
                agent: agent.to_owned(),
                source: AgentSource::Process,
                pid: Some(owner),
                ancestor: self.callers.iter().take(CALLERS).any(|caller| *caller == owner),
                ..Finding::default()
            });
            let child = self.by_pid.get(pid).filter(|_| *pid != owner);
            finding.busy |= child.is_some_and(|child| child.age_ms < LATELY_MS && !child.program.is_server());
        }
        for finding in found.into_values() {
            look.add(finding);
        }
    }

    /// The nearest agent among a process and those above it.
    fn agent_of(&self, pid: u32, confirms: &dyn Fn(&str) -> bool) -> Option<(u32, &'static str)> {
        let mut at = pid;
        for _ in 0..=MAX_ANCESTORS {
            let process = self.by_pid.get(&at)?;
            if let Some(agent) = process.program.agent(confirms) {
                return Some((at, agent));
            }
            at = process.parent;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn process(parent: u32, age_ms: i64, words: &[&str]) -> Process {
        let line = words.iter().flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect();
        Process { parent, age_ms, program: Program { path: Vec::new(), line } }
    }

    fn read(processes: &Processes) -> Vec<Finding> {
        let mut look = Look::new(b"/srv", &[], 0, Instant::now() + Duration::from_secs(60));
        processes.read(&mut look, &|_| false);
        look.end().0
    }

    fn of(list: &[(u32, Process)], inside: &[u32]) -> Processes {
        Processes { by_pid: list.iter().cloned().collect(), inside: inside.to_vec(), ..Processes::default() }
    }

    #[test]
    fn a_process_is_credited_to_the_nearest_agent_above_it() {
        let list = [
            (10, process(1, 999_999_999, &["claude"])),
            (11, process(10, 999_999_999, &["sh"])),
            (12, process(11, 5_000, &["codex"])),
            (13, process(12, 5_000, &["cargo", "test"])),
            (14, process(10, 5_000, &["npx", "@modelcontextprotocol/server"])),
            (15, process(10, 700_000, &["make"])),
        ];
        let busy = |found: &[Finding]| found.iter().map(|f| (f.pid, f.agent.clone(), f.busy)).collect::<Vec<_>>();
        assert_eq!(busy(&read(&of(&list, &[13]))), [(Some(12), "codex".into(), true)]);
        assert_eq!(busy(&read(&of(&list, &[10, 11, 14, 15]))), [(Some(10), "claude-code".into(), false)]);
        assert_eq!(
            busy(&read(&of(&list, &[10, 13]))),
            [(Some(10), "claude-code".into(), false), (Some(12), "codex".into(), true)]
        );
    }

    #[test]
    fn chains_that_are_long_or_lead_back_end() {
        let looped = [(7, process(8, 0, &["sh"])), (8, process(7, 0, &["sh"]))];
        assert_eq!(read(&of(&looped, &[7])), []);
        let mut long: Vec<_> = (2..30).map(|pid| (pid, process(pid - 1, 0, &["sh"]))).collect();
        long.push((1, process(0, 0, &["claude"])));
        assert_eq!(read(&of(&long, &[29])), []);
        assert_eq!(read(&of(&long, &[17])).len(), 1);
    }

    #[test]
    fn what_the_caller_was_started_by_is_marked_as_far_as_eight_up() {
        let list = [(10, process(1, 0, &["claude"]))];
        let callers = |callers: Vec<u32>| read(&Processes { callers, ..of(&list, &[10]) })[0].ancestor;
        assert!(callers(vec![9, 10]));
        assert!(!callers(vec![9]));
        assert!(!callers((20..28).chain([10]).collect()));
    }

    #[test]
    fn what_cannot_be_seen_is_said() {
        let hidden = vec![process(1, 0, &["claude"]).program, process(1, 0, &["bash"]).program];
        let processes = Processes { hidden, others: 3, more: true, ..Processes::default() };
        let mut look = Look::new(b"/srv", &[], 0, Instant::now());
        processes.read(&mut look, &|_| false);
        let unseen: Vec<_> =
            look.end().1.into_iter().map(|unseen| (unseen.what, unseen.reason, unseen.count)).collect();
        let expected = [
            ("claude-code", UnseenReason::HiddenDirectory, 1),
            ("processes", UnseenReason::OtherUser, 3),
            ("processes", UnseenReason::TooMany, 1),
        ];
        assert_eq!(unseen, expected.map(|(what, reason, count)| (what.to_owned(), reason, count)));
    }
}
