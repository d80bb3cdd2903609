//! From findings to rows: one for each agent, in which state, and whether it is the caller.
//! Trust: findings were read by a worker from other programs' files; here they are only compared and put together.

use super::MAX_AGENTS;
use bulkhead_contract::{
    agents::{client_name, of_client},
    results::{Agent, AgentSource, AgentState},
};
use bulkhead_ipc::edge::agents::{Finding, MAX_FILES};
use std::{cmp::Reverse, collections::BTreeMap};

/// Something done within this time is work, in milliseconds (contract `agents.md`).
pub const WORKING_MS: i64 = 120_000;
/// Something done within this time counts at all.
pub const RECENT_MS: i64 = 15 * 60_000;
/// Clocks may differ by this much.
const SLACK_MS: i64 = 60_000;

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asker {
    /// Name that the client gave, as it is shown.
    pub client: Option<String>,
    /// The agent that it is taken for.
    pub agent: Option<String>,
}

impl Asker {
    /// Of a client that gave this name.
    #[must_use]
    pub fn of(client: Option<&str>) -> Self {
        let client = client.and_then(client_name);
        let agent = client.as_deref().map(|client| of_client(Some(client)));
        Self { client, agent }
    }
}

/// What is known of one agent.
#[derive(Default)]
struct Merged {
    sources: Vec<AgentSource>,
    /// Processes, with whether this server was started by them.
    processes: Vec<(u32, bool)>,
    busy: bool,
    /// The newest thing done, and whether work went on after it.
    newest: Option<(i64, bool)>,
    about: Vec<(i64, Finding)>,
}

/// The rows, at most [`MAX_AGENTS`], and how many agents there are.
pub fn rows(findings: impl IntoIterator<Item = Finding>, asker: &Asker, now_ms: i64) -> (Vec<Agent>, usize) {
    let mut agents: BTreeMap<String, Merged> = BTreeMap::new();
    for finding in findings {
        let counts = |at: i64| at >= now_ms - RECENT_MS && at <= now_ms + SLACK_MS;
        let at = finding.last_activity_ms.filter(|at| counts(*at));
        if at.is_none() && finding.pid.is_none() {
            continue;
        }
        let merged = agents.entry(finding.agent.clone()).or_default();
        if !merged.sources.contains(&finding.source) {
            merged.sources.push(finding.source);
        }
        merged.processes.extend(finding.pid.map(|pid| (pid, finding.ancestor)));
        merged.busy |= finding.busy;
        if let Some(at) = at {
            // an open editor writes its state without anybody working there
            let works = !finding.idle && finding.source != AgentSource::Ide;
            merged.newest = merged.newest.max(Some((at, works)));
        }
        merged.about.push((at.unwrap_or(i64::MIN), finding));
    }
    let mut rows: Vec<Agent> = agents.into_iter().map(|(agent, merged)| merged.row(agent, asker, now_ms)).collect();
    rows.sort_by_key(|row| (row.state, Reverse(row.last_activity_ms), row.agent.clone()));
    let total = rows.len();
    rows.truncate(MAX_AGENTS);
    (rows, total)
}

impl Merged {
    fn row(mut self, agent: String, asker: &Asker, now_ms: i64) -> Agent {
        self.sources.sort_unstable();
        // another process than the caller's own is the one worth telling
        self.processes.sort_unstable_by_key(|(pid, ancestor)| (*ancestor, *pid));
        let process = self.processes.first().copied();
        let pid = process.map(|(pid, _)| pid);
        let lately = self.newest.is_some_and(|(at, works)| works && now_ms - at <= WORKING_MS);
        let state = match () {
            () if self.busy || lately => AgentState::Working,
            () if pid.is_some() => AgentState::Open,
            () => AgentState::Recent,
        };
        self.about.sort_by_key(|(at, _)| Reverse(*at));
        let mut row = Agent {
            same_agent_as_caller: asker.agent.as_deref() == Some(agent.as_str()),
            agent,
            state,
            sources: self.sources,
            pid,
            last_activity_ms: self.newest.map(|(at, _)| at),
            branch: None,
            last_tool: None,
            files: Vec::new(),
            mcp_client: None,
            likely_caller: false,
        };
        // no process but those that this server was started by
        let own = process.is_none_or(|(_, ancestor)| ancestor);
        row.likely_caller = row.same_agent_as_caller && own;
        // the newest that says a thing says it
        for (_, finding) in self.about {
            row.branch = row.branch.or(finding.branch);
            row.last_tool = row.last_tool.or(finding.last_tool);
            row.mcp_client = row.mcp_client.or(finding.mcp_client);
            for file in finding.files {
                if row.files.len() < MAX_FILES && !row.files.contains(&file) {
                    row.files.push(file);
                }
            }
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_796_027_909_946;

    fn seen(agent: &str, source: AgentSource, age_ms: i64) -> Finding {
        Finding { agent: agent.into(), source, last_activity_ms: Some(NOW - age_ms), ..Finding::default() }
    }

    fn process(agent: &str, pid: u32, ancestor: bool) -> Finding {
        Finding { agent: agent.into(), pid: Some(pid), ancestor, ..Finding::default() }
    }

    fn one(findings: Vec<Finding>, asker: &Asker) -> Agent {
        let (mut rows, total) = rows(findings, asker, NOW);
        assert_eq!((rows.len(), total), (1, 1), "{rows:?}");
        rows.remove(0)
    }

    #[test]
    fn states_are_as_the_contract_has_them() {
        let nobody = Asker::default();
        let state = |finding| one(vec![finding], &nobody).state;
        assert_eq!(state(seen("codex", AgentSource::Session, 118_000)), AgentState::Working);
        assert_eq!(state(seen("codex", AgentSource::Session, 121_000)), AgentState::Recent);
        assert_eq!(state(Finding { idle: true, ..seen("codex", AgentSource::Session, 1_000) }), AgentState::Recent);
        assert_eq!(state(process("claude-code", 7, false)), AgentState::Open);
        assert_eq!(state(Finding { busy: true, ..process("claude-code", 7, false) }), AgentState::Working);
        // a window that is open is not somebody who works
        assert_eq!(state(seen("cursor", AgentSource::Ide, 50)), AgentState::Recent);
        let odd = vec![seen("a", AgentSource::Session, RECENT_MS + 1), seen("b", AgentSource::Mcp, -SLACK_MS - 1)];
        assert_eq!(rows(odd, &nobody, NOW), (Vec::new(), 0));
    }

    #[test]
    fn findings_of_one_agent_are_one_row_and_the_newest_speaks() {
        let old = Finding {
            branch: Some("old".into()),
            files: vec!["a".into()],
            ..seen("codex", AgentSource::Session, 5_000)
        };
        let new = Finding {
            branch: Some("new".into()),
            files: vec!["b".into(), "a".into()],
            ..seen("codex", AgentSource::Session, 9)
        };
        let row = one(vec![old, process("codex", 9, false), new], &Asker::default());
        assert_eq!((row.branch.as_deref(), row.pid, row.last_activity_ms), (Some("new"), Some(9), Some(NOW - 9)));
        assert_eq!(
            (row.files, row.sources),
            (vec!["b".into(), "a".into()], vec![AgentSource::Process, AgentSource::Session])
        );
    }

    #[test]
    fn the_caller_is_known_by_its_kind_and_its_process() {
        let asker = Asker::of(Some("claude-code"));
        let likely = |findings: Vec<Finding>| {
            let row = one(findings, &asker);
            (row.same_agent_as_caller, row.likely_caller)
        };
        assert_eq!(likely(vec![seen("claude-code", AgentSource::Session, 1)]), (true, true));
        assert_eq!(likely(vec![seen("codex", AgentSource::Session, 1)]), (false, false));
        assert_eq!(likely(vec![process("claude-code", 7, true)]), (true, true));
        assert_eq!(likely(vec![process("claude-code", 7, false)]), (true, false));
        // another one of the same kind must not hide behind the caller's own process
        let both = one(vec![process("claude-code", 7, true), process("claude-code", 9, false)], &asker);
        assert_eq!((both.pid, both.likely_caller), (Some(9), false));
    }

    #[test]
    fn rows_are_in_order_and_cut_with_the_true_number() {
        let mut findings: Vec<_> =
            (0..50).map(|n| seen(&format!("agent-{n}"), AgentSource::Mcp, 200_000 + i64::from(n))).collect();
        findings.push(process("open", 7, false));
        findings.push(seen("working", AgentSource::Session, 60_000));
        findings.push(seen("busier", AgentSource::Session, 1));
        let (rows, total) = rows(findings, &Asker::default(), NOW);
        assert_eq!((rows.len(), total), (MAX_AGENTS, 53));
        let first: Vec<_> = rows.iter().take(4).map(|row| row.agent.as_str()).collect();
        assert_eq!(first, ["busier", "working", "open", "agent-0"]);
    }
}
