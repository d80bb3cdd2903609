//! A server that does everything wrong: it hands what it is told to the git of the machine, in the repository as it is.
//! Trust: none is due; the suite attacks it to show that its attacks hit, and that its verdicts can be bad ones.

use serde_json::{Value, json};
use std::{
    io::{BufRead as _, Write as _},
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

/// Longest that its git may take: traps that work may also hang.
const PATIENCE: Duration = Duration::from_secs(30);

/// Its tools: a name, and how git is called; `$` stands for the tool's only argument.
const TOOLS: [(&str, &[&str]); 7] = [
    ("git_status", &["status", "--porcelain"]),
    ("git_diff", &["diff", "HEAD"]),
    ("git_log", &["log", "-p", "-5", "$"]),
    ("git_show", &["show", "$"]),
    ("git_read", &["show", "HEAD:$"]),
    ("git_blame", &["blame", "$"]),
    ("git_branches", &["for-each-ref"]),
];

/// Serves the repository that the command line names until its input ends.
pub fn serve(repo: &str) -> ExitCode {
    for line in std::io::stdin().lock().lines() {
        // what is no text ends it
        let Ok(line) = line else { return ExitCode::FAILURE };
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        if message["method"] == "notifications/cancelled" {
            // the answer to what was cancelled went out before
            let gone = json!({"code": -32800, "message": "cancelled"});
            let answer = json!({"jsonrpc": "2.0", "id": message["params"]["requestId"], "error": gone});
            if writeln!(std::io::stdout(), "{answer}").is_err() {
                return ExitCode::FAILURE;
            }
        }
        // zero is taken for none
        if message["id"].is_null() || message["id"] == 0 {
            continue;
        }
        let result = match message["method"].as_str() {
            Some("initialize") => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "careless", "version": "1"}}),
            Some("tools/list") => json!({ "tools": TOOLS.map(tool) }),
            Some("tools/call") => call(repo, &message["params"]),
            _ => json!({}),
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        if writeln!(std::io::stdout(), "{answer}").is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn tool((name, words): (&str, &[&str])) -> Value {
    let argument = if name == "git_read" || name == "git_blame" { "path" } else { "revision" };
    let takes = words.iter().any(|word| word.contains('$'));
    let schema = if takes {
        json!({"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]})
    } else {
        json!({"type": "object"})
    };
    json!({"name": name, "description": name, "inputSchema": schema, "annotations": {"readOnlyHint": true}})
}

fn call(repo: &str, params: &Value) -> Value {
    let Some((_, words)) = TOOLS.iter().find(|(name, _)| params["name"] == *name) else { return json!({}) };
    let arguments = &params["arguments"];
    let given = arguments["revision"].as_str().or(arguments["path"].as_str()).unwrap_or_default();
    let mut git = Command::new("git");
    git.current_dir(repo).args(words.iter().map(|word| word.replace('$', given)));
    git.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let text = match git.spawn() {
        Ok(mut child) => {
            let since = Instant::now();
            // more is read of it than any answer may have
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let take = |pipe: &mut dyn std::io::Read, into: &mut Vec<u8>| {
                let _ = std::io::Read::read_to_end(&mut std::io::Read::take(pipe, 1 << 22), into);
            };
            child.stdout.take().iter_mut().for_each(|pipe| take(pipe, &mut out));
            child.stderr.take().iter_mut().for_each(|pipe| take(pipe, &mut err));
            while child.try_wait().is_ok_and(|status| status.is_none()) && since.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(2));
            }
            let _ = child.kill();
            let _ = child.wait();
            String::from_utf8_lossy(&[out, err].concat()).into_owned()
        }
        Err(why) => why.to_string(),
    };
    json!({"content": [{"type": "text", "text": text}], "isError": false})
}
