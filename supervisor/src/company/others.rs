//! `otherAgents`: what a proposal's answer says about others in the repository, and about the paths that both touch.
//! Trust: the proposal's arguments are the caller's, the rows a worker's; paths are only compared.

use super::Around;
use bulkhead_contract::results::{Agent, Unseen};
use serde::Serialize;
use serde_json::Value;

/// Paths of one proposal that are compared.
const MAX_PATHS: usize = 1_000;
/// Paths that one row names.
const MAX_OVERLAPPING: usize = 20;
/// Steps of a plan that are looked into, one inside the other.
const MAX_DEPTH: usize = 4;

const NOBODY: &str = "No other agent was seen in this repository. Where partial is true, not everything could be looked at; \
    partialReasons says what.";
const NOTE: &str = "Other agents were seen in this repository. This is informational: nothing was refused for it. Where paths \
    overlap, the person who decides should know; where overlappingPaths is null, one of both sides does not say which files it \
    touches.";

/// Member `otherAgents` of a proposal's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OtherAgents {
    /// It decides nothing.
    pub informational: bool,
    /// Rows without those that are probably the caller.
    pub agents: Vec<Other>,
    /// How many rows.
    pub agent_count: usize,
    /// How many of them touch a path of the proposal.
    pub overlapping_agent_count: usize,
    /// The proposal says which paths it is about.
    pub proposal_paths_known: bool,
    /// Rows that are left out because they are probably the caller.
    pub omitted_likely_caller: usize,
    /// Something could not be looked at.
    pub partial: bool,
    /// What, and why.
    pub partial_reasons: Vec<Unseen>,
    /// What this is.
    pub note: &'static str,
}

/// One row: as of `agents.presence`, with the paths that both touch in place of `likelyCaller`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    /// The row.
    pub agent: Agent,
    /// Files of the agent that the proposal touches; `None` where one of both does not say.
    pub overlapping_paths: Option<Vec<String>>,
}

impl Serialize for Other {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::Error as _;
        let mut row = serde_json::to_value(&self.agent).map_err(S::Error::custom)?;
        if let Some(row) = row.as_object_mut() {
            row.remove("likelyCaller");
            row.insert("overlappingPaths".to_owned(), self.overlapping_paths.clone().into());
        }
        row.serialize(serializer)
    }
}

/// Who else is there, beside a proposal with these arguments.
#[must_use]
pub fn other_agents(around: Around, arguments: &Value) -> OtherAgents {
    let root = String::from_utf8_lossy(&around.canonical).into_owned();
    let paths = proposal_paths(arguments, &root);
    let (omitted, told): (Vec<_>, Vec<_>) = around.agents.into_iter().partition(|agent| agent.likely_caller);
    let agents: Vec<Other> = told
        .into_iter()
        .map(|agent| {
            let overlapping_paths = (!paths.is_empty() && !agent.files.is_empty()).then(|| {
                let touched = agent.files.iter().filter(|file| paths.iter().any(|path| overlap(path, file)));
                touched.take(MAX_OVERLAPPING).cloned().collect::<Vec<_>>()
            });
            Other { agent, overlapping_paths }
        })
        .collect();
    let overlaps = |other: &&Other| other.overlapping_paths.as_ref().is_some_and(|paths| !paths.is_empty());
    OtherAgents {
        informational: true,
        agent_count: agents.len(),
        overlapping_agent_count: agents.iter().filter(overlaps).count(),
        proposal_paths_known: !paths.is_empty(),
        omitted_likely_caller: omitted.len(),
        partial: !around.unseen.is_empty(),
        partial_reasons: around.unseen,
        note: if agents.is_empty() { NOBODY } else { NOTE },
        agents,
    }
}

/// The paths that a proposal is about, relative to the repository at `root`; `.` is all of it.
#[must_use]
pub fn proposal_paths(arguments: &Value, root: &str) -> Vec<String> {
    let mut paths = Vec::new();
    collect(arguments, root, MAX_DEPTH, &mut paths);
    paths
}

fn collect(arguments: &Value, root: &str, depth: usize, paths: &mut Vec<String>) {
    let mut add = |path: &str| {
        let path = plain(path, root);
        if paths.len() < MAX_PATHS && !paths.contains(&path) {
            paths.push(path);
        }
    };
    for path in arguments["paths"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        add(path);
    }
    if let Some(relative) = arguments["relativePath"].as_str() {
        let parent = arguments["parentPath"].as_str().unwrap_or_default();
        let parent = plain(parent, root);
        if parent == "." { add(relative) } else { add(&format!("{parent}/{relative}")) }
    }
    for line in arguments["patchContent"].as_str().unwrap_or_default().lines() {
        let named = if let Some(rest) = line.strip_prefix("diff --git ") {
            rest.rsplit_once(" b/").map(|(_, path)| path)
        } else {
            line.strip_prefix("--- a/").or_else(|| line.strip_prefix("+++ b/"))
        };
        if let Some(path) = named {
            add(path.trim_end_matches('\t').trim_end_matches('"'));
        }
    }
    if depth > 0 {
        for step in arguments["steps"].as_array().into_iter().flatten().take(MAX_PATHS) {
            collect(step, root, depth - 1, paths);
        }
    }
}

/// A path without the repository's own, `./` before it and `/` behind it; nothing is `.`.
fn plain(path: &str, root: &str) -> String {
    let path = path.replace('\\', "/");
    let root = root.replace('\\', "/");
    let below = path.strip_prefix(root.trim_end_matches('/')).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let mut path = below.map_or(path.as_str(), |rest| rest.trim_start_matches('/'));
    while let Some(rest) = path.strip_prefix("./") {
        path = rest;
    }
    match path.trim_end_matches('/') {
        "" => ".".to_owned(),
        path => path.to_owned(),
    }
}

/// Two paths are the same, or one holds the other.
fn overlap(one: &str, other: &str) -> bool {
    let holds = |dir: &str, path: &str| path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'));
    one == other || one == "." || other == "." || holds(one, other) || holds(other, one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_contract::results::{AgentSource, AgentState};
    use serde_json::json;

    fn agent(id: &str, files: &[&str], likely_caller: bool) -> Agent {
        Agent {
            agent: id.to_owned(),
            state: AgentState::Working,
            sources: vec![AgentSource::Session],
            pid: None,
            last_activity_ms: Some(1_796_027_909_946),
            branch: None,
            last_tool: Some("apply_patch".to_owned()),
            files: files.iter().map(|file| (*file).to_owned()).collect(),
            mcp_client: None,
            same_agent_as_caller: likely_caller,
            likely_caller,
        }
    }

    fn around(agents: Vec<Agent>) -> Around {
        Around { canonical: b"/w/ag/repo".to_vec(), total: agents.len(), agents, unseen: Vec::new() }
    }

    /// The recorded answers of the contract, case by case.
    #[test]
    fn recorded_proposals_are_answered_so() {
        let text = include_str!("../../tests/recorded/other_agents.json");
        let cases: Vec<Value> = serde_json::from_str(text).expect("the recording is JSON");
        assert_eq!(cases.len(), 9);
        for case in cases {
            let codex = agent("codex", &["src/m.rs", "new.md", "gone.txt"], false);
            let mut own = serde_json::to_value(other_agents(around(vec![codex]), &case["args"])).expect("JSON");
            let mut recorded = case["otherAgents"].clone();
            // prose is ours, and what could not be looked at is an addition
            for value in [&mut own, &mut recorded] {
                for name in ["note", "partial", "partialReasons"] {
                    value.as_object_mut().expect("an object").remove(name);
                }
            }
            assert_eq!(own, recorded, "{}", case["op"]);
        }
    }

    #[test]
    fn whoever_is_probably_the_caller_is_counted_and_not_told() {
        let agents = vec![agent("claude-code", &["a"], true), agent("codex", &[], false)];
        let others = other_agents(around(agents), &json!({"paths": ["a"]}));
        assert_eq!((others.agent_count, others.omitted_likely_caller), (1, 1));
        assert_eq!((others.overlapping_agent_count, &others.agents[0].overlapping_paths), (0, &None));
        assert!(others.proposal_paths_known);
    }

    #[test]
    fn paths_are_compared_as_paths() {
        for (one, other, wanted) in [
            ("src", "src/a", true),
            ("src/a", "src", true),
            ("src", "srcs/a", false),
            (".", "x", true),
            ("a", "a", true),
            ("a", "b", false),
        ] {
            assert_eq!(overlap(one, other), wanted, "{one} {other}");
        }
        let paths = |arguments: Value| proposal_paths(&arguments, "/w/ag/repo");
        assert_eq!(
            paths(json!({"paths": ["./src/", "/w/ag/repo/a", "/w/ag/repo", "b\\c", "/w/ag/repository"]})),
            ["src", "a", ".", "b/c", "/w/ag/repository"]
        );
        assert_eq!(paths(json!({"parentPath": "sub", "relativePath": "x"})), ["sub/x"]);
        assert_eq!(
            paths(json!({"patchContent": "diff --git a/x b/y\n--- a/x\n+++ b/y\n+ +++ b/z\n--- /dev/null\n"})),
            ["y", "x"]
        );
        assert_eq!(paths(json!({"steps": [{"paths": ["a"]}, {"steps": [{"paths": ["b"]}]}]})), ["a", "b"]);
        assert_eq!(paths(json!({"message": "m", "paths": [1, null]})), [""; 0]);
        let many: Vec<String> = (0..5_000).map(|n| n.to_string()).collect();
        assert_eq!(paths(json!({ "paths": many })).len(), MAX_PATHS);
    }

    #[test]
    fn a_row_names_twenty_paths_at_most() {
        let files: Vec<String> = (0..8).map(|n| format!("d/{n}")).collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let others = other_agents(around(vec![agent("codex", &files, false)]), &json!({"paths": ["d"]}));
        assert_eq!(others.agents[0].overlapping_paths.as_ref().map(Vec::len), Some(8));
    }
}
