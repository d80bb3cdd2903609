//! The other way round: the program that was recorded, `BULKHEAD_REFERENCE="program args"`, proposes to the gateway of these
//! tests, with `BULKHEAD_SLOW=1`. So the gateway that ours is tested against is one that it is at home with, too.
//! Trust: that program is started with an empty home and the repositories of the recordings.

use crate::{World, recorded, support::unmet::unmet};
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

const OPERATIONS: [&str; 12] = [
    "merge",
    "rebase",
    "discard",
    "reset",
    "patch",
    "plan",
    "worktree",
    "commit",
    "push",
    "branch",
    "branchDelete",
    "submodulePointer",
];

struct Reference {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Reference {
    fn start(command: &str, world: &World) -> Self {
        let mut words = command.split_whitespace();
        let mut child = Command::new(words.next().expect("a program is named"))
            .args(words)
            .current_dir(world.fixture.directory())
            .env("HOME", world.fixture.place.home())
            .env("FLUXGIT_GATEWAY_ADDR", world.gateway.address())
            .env("FLUXGIT_MCP_AGENT_DETECTION_DISABLED", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the reference starts");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let mut reference = Self { child, input, output, next: 0 };
        let client = json!({"name": "probe-client", "version": "1"});
        reference
            .ask("initialize", &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}));
        writeln!(reference.input, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .expect("it reads");
        reference
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        writeln!(self.input, "{request}").expect("it reads");
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).expect("text") > 0, "the reference ended at {request}");
            let answer: Value = serde_json::from_str(&line).expect("JSON");
            if answer["id"] == json!(self.next) {
                return answer;
            }
        }
    }

    /// The result of a tool that succeeds.
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert_eq!(answer["result"]["isError"], json!(false), "{tool}: {answer}");
        let text = answer["result"]["content"][0]["text"].as_str().expect("a text block");
        serde_json::from_str(text).expect("the text is JSON")
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_reference_is_served_by_the_gateway_of_these_tests() {
    let slow = std::env::var_os("BULKHEAD_SLOW").is_some();
    let Some(command) = std::env::var("BULKHEAD_REFERENCE").ok().filter(|_| slow) else {
        unmet("BULKHEAD_SLOW=1 and BULKHEAD_REFERENCE, the reference's command");
        return;
    };
    let world = World::new();
    let mut reference = Reference::start(&command, &world);
    for operation in OPERATIONS {
        let cases = recorded(&format!("preview.{operation}"));
        let arguments = world.placed(&cases[0]["mcpRequest"]["params"]["arguments"]);
        let proposed = reference.call(&format!("operation.preview.{operation}"), &arguments);
        assert_eq!((&proposed["accepted"], &proposed["status"]), (&json!(true), &json!("pending")), "{proposed}");
        let id = json!({"previewId": proposed["previewId"]});
        let standing = reference.call("operation.status", &id);
        assert_eq!(
            (&standing["data"]["status"], &standing["data"]["operationType"]),
            (&json!("pending"), &json!(operation))
        );
        let withdrawn = reference.call("operation.cancel", &id);
        assert_eq!(withdrawn["status"], json!("cancelled"), "{withdrawn}");
        let card = world.gateway.desk().cards[id["previewId"].as_str().expect("a text")].clone();
        assert_eq!((card.status.as_str(), &card.proposal["operationType"]), ("cancelled", &json!(operation)));
    }
    let paths: Vec<String> = world.gateway.seen().iter().map(|seen| seen.path.clone()).collect();
    // a proposal, the look after it, the question, the withdrawal
    assert_eq!(paths.len(), 4 * OPERATIONS.len(), "{paths:?}");
}
