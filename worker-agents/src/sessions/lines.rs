//! Stores that are lists of lines, each a JSON object: Claude Code, Qwen Code, Codex, goose before its database, Copilot.
//! Trust: hostile text; a last line may be half-written, the first one of a tail is cut.

use super::{TAIL, Text};
use crate::{
    inside::{branch, relative, word},
    look::{Look, session},
    stores::Held,
    when,
};
use bulkhead_contract::results::UnseenReason;
use bulkhead_ipc::edge::agents::{Finding, MAX_FILES};
use serde_json::Value;

/// Lines that one list is looked through, from its end.
const MAX_LINES: usize = 2_000;
/// Words without which a line of Claude Code and its kin speaks of no tool: none of their programs escapes a letter.
const USES: [&str; 2] = ["\"tool_use\"", "\"functionCall\""];
/// Names of inputs in which tools of Claude Code and its kin name files.
const FILE_KEYS: [&str; 3] = ["file_path", "notebook_path", "absolute_path"];

/// The objects in the lines, the last one first. What is no object is no line.
fn backwards(text: &Text<'_>) -> impl Iterator<Item = Value> {
    raw_backwards(text).filter_map(object)
}

fn object(line: &[u8]) -> Option<Value> {
    serde_json::from_slice::<Value>(line).ok().filter(Value::is_object)
}

/// The lines themselves, the last one first.
fn raw_backwards<'t>(text: &Text<'t>) -> impl Iterator<Item = &'t [u8]> {
    let bytes = if text.whole {
        text.bytes
    } else {
        // the first line of a tail begins somewhere
        text.bytes.iter().position(|byte| *byte == b'\n').map_or(&[][..], |at| &text.bytes[at + 1..])
    };
    bytes.rsplit(|byte| *byte == b'\n').filter(|line| line.len() > 1).take(MAX_LINES)
}

/// Lines, but not one of them is an object.
fn is_damaged(text: &Text<'_>) -> bool {
    text.bytes.iter().filter(|byte| **byte == b'\n').count() > 1 && backwards(text).next().is_none()
}

fn time(line: &Value) -> Option<i64> {
    line["timestamp"].as_str().and_then(when::text)
}

fn note_file(files: &mut Vec<String>, file: Option<String>) {
    if let Some(file) = file
        && files.len() < MAX_FILES
        && !files.contains(&file)
    {
        files.push(file);
    }
}

/// Claude Code.
pub fn claude(text: &Text<'_>, look: &Look<'_>) -> Result<Vec<Finding>, UnseenReason> {
    of_tools("claude-code", text, look)
}

/// Qwen Code.
pub fn qwen(text: &Text<'_>, look: &Look<'_>) -> Result<Vec<Finding>, UnseenReason> {
    of_tools("qwen-code", text, look)
}

/// The newest line that names a directory decides which repository the session works in now.
fn of_tools(agent: &str, text: &Text<'_>, look: &Look<'_>) -> Result<Vec<Finding>, UnseenReason> {
    let mut found = session(agent, text.modified_ms);
    let (mut decided, mut at) = (false, None);
    for line in raw_backwards(text) {
        // where, when and on which branch stands in almost every line; once they are known, most lines say nothing more
        let settled = decided && at.is_some() && found.branch.is_some();
        if settled && !std::str::from_utf8(line).is_ok_and(|line| USES.iter().any(|word| line.contains(word))) {
            continue;
        }
        let Some(line) = object(line) else { continue };
        if !decided && let Some(cwd) = line["cwd"].as_str() {
            if !look.root.holds_text(cwd) {
                return Ok(Vec::new());
            }
            decided = true;
        }
        at = at.or_else(|| time(&line));
        found.branch = found.branch.take().or_else(|| line["gitBranch"].as_str().and_then(branch));
        let content = line["message"]["content"].as_array().into_iter().flatten();
        let uses = content.filter(|part| part["type"] == "tool_use").map(|part| (&part["name"], &part["input"]));
        let parts = line["message"]["parts"].as_array().into_iter().flatten();
        let calls = parts.map(|part| &part["functionCall"]).map(|call| (&call["name"], &call["args"]));
        let mut used: Vec<_> = uses.chain(calls).filter(|(name, _)| name.is_string()).collect();
        // of several in one line the last is the newest
        used.reverse();
        for (name, input) in used {
            found.last_tool = found.last_tool.take().or_else(|| name.as_str().and_then(word));
            for key in FILE_KEYS {
                note_file(&mut found.files, input[key].as_str().and_then(|path| look.root.file(path)));
            }
        }
        if decided && at.is_some() && found.files.len() >= MAX_FILES {
            break;
        }
    }
    if !decided {
        return if is_damaged(text) { Err(UnseenReason::Damaged) } else { Ok(Vec::new()) };
    }
    found.last_activity_ms = Some(at.unwrap_or(text.modified_ms));
    Ok(vec![found])
}

/// Codex: the first line says where, the last ones what.
pub fn codex(text: &Text<'_>, look: &Look<'_>) -> Result<Vec<Finding>, UnseenReason> {
    let mut heads = text.head.split(|byte| *byte == b'\n').filter(|line| line.len() > 1);
    let Some(first) = heads.next() else { return Ok(Vec::new()) };
    let Ok(first) = serde_json::from_slice::<Value>(first) else {
        // the one line may still be being written
        return if heads.next().is_some() { Err(UnseenReason::Damaged) } else { Ok(Vec::new()) };
    };
    let cwd = (first["type"] == "session_meta").then(|| first["payload"]["cwd"].as_str()).flatten();
    let Some(cwd) = cwd else { return Err(UnseenReason::UnknownSchema) };
    if !look.root.holds_text(cwd) {
        return Ok(Vec::new());
    }
    let mut found = session("codex", text.modified_ms);
    let (mut at, mut idle) = (None, None);
    for line in backwards(text) {
        at = at.or_else(|| time(&line));
        let payload = &line["payload"];
        let kind = payload["type"].as_str().unwrap_or_default();
        let working = matches!(kind, "task_started" | "function_call" | "custom_tool_call" | "exec_command_begin");
        if idle.is_none() && (working || kind == "task_complete") {
            idle = Some(!working);
        }
        if matches!(kind, "function_call" | "custom_tool_call") {
            found.last_tool = found.last_tool.take().or_else(|| payload["name"].as_str().and_then(word));
            for text in [&payload["input"], &payload["arguments"]] {
                for file in patched(text.as_str().unwrap_or_default()) {
                    let named = if file.starts_with('/') { look.root.file(&file) } else { relative(&file) };
                    note_file(&mut found.files, named);
                }
            }
        }
    }
    found.idle = idle.unwrap_or(false);
    found.last_activity_ms = Some(at.unwrap_or(text.modified_ms));
    Ok(vec![found])
}

/// The files that a patch of Codex names; in arguments that are JSON, its line ends are escaped.
fn patched(text: &str) -> Vec<String> {
    let text = text.replace("\\n", "\n");
    let file = |line: &str| {
        let rest = line.strip_prefix("*** ")?;
        let (kind, file) = rest.split_once(" File: ")?;
        matches!(kind, "Update" | "Add" | "Delete").then(|| file.trim().to_owned())
    };
    text.lines().filter_map(file).take(MAX_FILES).collect()
}

/// goose before it had a database: the first line says where.
pub fn goose(text: &Text<'_>, look: &Look<'_>) -> Result<Vec<Finding>, UnseenReason> {
    let first = text.head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let Ok(first) = serde_json::from_slice::<Value>(first) else {
        return if text.head.contains(&b'\n') { Err(UnseenReason::Damaged) } else { Ok(Vec::new()) };
    };
    let Some(dir) = first["working_dir"].as_str() else { return Err(UnseenReason::UnknownSchema) };
    let here = look.root.holds_text(dir);
    Ok(here.then(|| session("goose", text.modified_ms)).into_iter().collect())
}

/// Copilot: a flat YAML file says where, a list of lines beside it what.
pub fn copilot(held: &Held, look: &mut Look<'_>) {
    const AGENT: &str = "copilot-cli";
    let way = held.store as u32;
    for recent in look.recent(AGENT, &held.dir, 1, &|name| matches!(name, b"workspace.yaml" | b"events.jsonl")) {
        let Some(session_dir) = recent.way.first() else { continue };
        let Ok(dir) = held.dir.readable_child(session_dir) else { continue };
        // one of the two may have been modified alone; each is read once, through the second one's name
        if recent.name == b"events.jsonl"
            && dir.facts(b"workspace.yaml").is_ok_and(|yaml| look.is_recent(yaml.modified_ms()))
        {
            continue;
        }
        // what one says depends on the other, so neither is kept for the next look
        let yaml = dir.open(b"workspace.yaml");
        let events = dir.open(b"events.jsonl").ok();
        let Ok((file, facts)) = yaml else { continue };
        let opened = crate::look::Opened::of(file, facts);
        let Ok(yaml) = opened.whole(64 * 1024) else { continue };
        let events = events.map(|(file, facts)| crate::look::Opened::of(file, facts));
        let tail = events.as_ref().and_then(|events| events.tail(TAIL).ok());
        let modified_ms = events.as_ref().map_or(0, |e| e.facts.modified_ms()).max(opened.facts.modified_ms());
        let (bytes, whole) = tail.unwrap_or_default();
        let text = Text { bytes: &bytes, head: &[], whole, modified_ms };
        let said = of_copilot(&yaml, &text, look);
        let stamp = bulkhead_ipc::edge::agents::Stamp { way, ..opened.facts.stamp };
        let known = match said {
            Ok(said) => bulkhead_ipc::edge::agents::Known { stamp, said, unseen: None },
            Err(reason) => {
                look.miss(AGENT, reason, 1);
                continue;
            }
        };
        for finding in known.said {
            if finding.last_activity_ms.is_some_and(|at| look.is_recent(at)) {
                look.add(finding);
            }
        }
    }
}

/// Both texts in one, for tests and fuzzing.
pub fn judge_copilot(bytes: &[u8], look: &Look<'_>) -> Vec<Finding> {
    let text = Text { bytes, head: &[], whole: true, modified_ms: look.now_ms };
    of_copilot(bytes, &text, look).unwrap_or_default()
}

fn of_copilot(yaml: &[u8], text: &Text<'_>, look: &Look<'_>) -> Result<Vec<Finding>, UnseenReason> {
    let yaml = std::str::from_utf8(yaml).map_err(|_| UnseenReason::Damaged)?;
    let scalar = |key: &str| {
        let value = yaml.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?.trim();
        let quoted = ['"', '\''].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
        Some(quoted.unwrap_or(value)).filter(|value| !value.is_empty())
    };
    let Some(dir) = scalar("cwd").or_else(|| scalar("git_root")) else { return Err(UnseenReason::UnknownSchema) };
    if !look.root.holds_text(dir) {
        return Ok(Vec::new());
    }
    let mut found = session("copilot-cli", text.modified_ms);
    found.branch = scalar("branch").and_then(branch);
    let (mut at, mut idle) = (None, None);
    for line in backwards(text) {
        at = at.or_else(|| time(&line));
        let kind = line["type"].as_str().unwrap_or_default();
        if idle.is_none()
            && (kind == "assistant.turn_end" || kind.starts_with("assistant.") || kind.starts_with("tool."))
        {
            idle = Some(kind == "assistant.turn_end");
        }
        if kind == "tool.execution_start" {
            found.last_tool = found.last_tool.take().or_else(|| line["data"]["toolName"].as_str().and_then(word));
        }
    }
    found.idle = idle.unwrap_or(false);
    let updated = scalar("updated_at").and_then(when::text);
    found.last_activity_ms = at.max(updated).or(Some(text.modified_ms));
    Ok(vec![found])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn of(lines: &str) -> Vec<Finding> {
        let look = Look::new(b"/srv", &[], 1_760_000_000_000, Instant::now() + Duration::from_secs(60));
        let bytes = lines.as_bytes();
        claude(&Text { bytes, head: bytes, whole: true, modified_ms: 7 }, &look).expect("they are objects")
    }

    #[test]
    fn tools_are_found_behind_lines_that_say_nothing_new() {
        let plain = "{\"cwd\":\"/srv\",\"gitBranch\":\"main\",\"timestamp\":\"2025-10-09T08:53:20Z\",\"message\":{}}\n";
        let used = |file: &str| {
            let part =
                format!("{{\"type\":\"tool_use\",\"name\":\"Edit\",\"input\":{{\"file_path\":\"/srv/{file}\"}}}}");
            format!("{{\"cwd\":\"/elsewhere\",\"gitBranch\":\"old\",\"message\":{{\"content\":[{part}]}}}}\n")
        };
        let call =
            "{\"message\":{\"parts\":[{\"functionCall\":{\"name\":\"x\",\"args\":{\"absolute_path\":\"/srv/c\"}}}]}}\n";
        let lines = [&used("a"), call, &used("b"), &plain.repeat(1_000), "{\"half\":"].concat();
        let found = of(&lines);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].files, ["b", "c", "a"]);
        assert_eq!(found[0].branch.as_deref(), Some("main"));
        assert_eq!(found[0].last_tool.as_deref(), Some("Edit"));
        assert_eq!(found[0].last_activity_ms, Some(1_760_000_000_000));
    }
}
