//! What the operator hears of the gateway and its token before anything is proposed, and that the token shows nowhere.
//! Trust: our own fixture; nobody listens at the address, and nothing is dialled.

#![cfg(target_os = "linux")]

mod support;

use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};
use support::{Place, Repo, Start};

const TOKEN: &str = "not to be found in anything that is written anywhere";

struct World {
    place: Place,
    repo: PathBuf,
}

impl World {
    fn new() -> Self {
        let place = Place::new();
        let repo = Repo::honest(&place, "repo").path().to_owned();
        Self { place, repo }
    }

    fn start(&self) -> Start<'_> {
        Start::new(&self.place).root(self.place.path()).cwd(&self.repo)
    }

    fn token(&self, text: &str, mode: u32) -> PathBuf {
        let path = self.place.at("token");
        fs::write(&path, text).expect("ours");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("ours");
        path
    }

    /// What `doctor` says to a person about the gateway.
    fn said(&self, token: &PathBuf) -> String {
        let start = self.start().arguments(&["--gateway", "127.0.0.1:9", "doctor"]);
        let output = start.environment("BULKHEAD_GATEWAY_TOKEN_FILE", token).output();
        let text = String::from_utf8(output.stdout).expect("text");
        text.lines().filter(|line| line.contains("127.0.0.1:9")).collect()
    }

    /// What `doctor --json` says with this token, and everything that it wrote.
    fn doctor(&self, token: Option<&PathBuf>) -> (Value, String) {
        let start = self.start().arguments(&["--gateway", "127.0.0.1:9", "doctor", "--json"]);
        let start = token
            .into_iter()
            .fold(start, |start, path| start.environment("BULKHEAD_GATEWAY_TOKEN_FILE", path.to_str().expect("UTF-8")));
        let output = start.output();
        let all = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (serde_json::from_slice(&output.stdout).expect("doctor --json prints JSON"), all)
    }
}

#[test]
fn the_process_that_talks_to_it_is_shown_in_its_jail() {
    let world = World::new();
    let token = world.token(&format!("{TOKEN}\n"), 0o600);
    for (token, proves) in [(None, false), (Some(&token), true)] {
        let (report, all) = world.doctor(token);
        assert_eq!(
            (&report["gateway"]["address"], &report["gateway"]["token"]),
            (&json!("127.0.0.1:9"), &json!(proves))
        );
        let processes = report["processes"].as_array().expect("a list");
        let talker = processes.iter().find(|process| process["process"] == "worker-gateway").expect("it is among them");
        let tried = talker["probe"]["rows"].as_array().expect("it tried its walls");
        assert!(!tried.is_empty() && tried.iter().all(|row| row["sufficient"] == true), "{tried:?}");
        assert!(!all.contains(TOKEN), "the token is shown");
        assert!(!report["reasons"].to_string().contains("token"), "{}", report["reasons"]);
    }
}

#[test]
fn a_token_that_cannot_be_used_is_told_with_what_to_do() {
    let world = World::new();
    for (text, mode, word) in [(TOKEN, 0o640, "640"), ("short", 0o600, "head -c 32"), ("", 0o600, "bytes")] {
        let token = world.token(text, mode);
        let (report, all) = world.doctor(Some(&token));
        let reasons = report["reasons"].to_string();
        assert!(reasons.contains("token") && reasons.contains(word), "{word}: {reasons}");
        assert_ne!(report["exitStatus"], 0, "{word}");
        assert_eq!(report["gateway"]["tokenLocked"], Value::Null, "{word}");
        let said = world.said(&token);
        assert!(said.contains("which cannot be used here") && !said.contains("swap"), "{said}");
        assert!(!all.contains(TOKEN), "the token is shown");
    }
    let (report, _) = world.doctor(Some(&world.place.at("none")));
    assert!(report["reasons"].to_string().contains("cannot be read"), "{}", report["reasons"]);
}

#[test]
fn a_server_with_a_token_holds_it_in_no_argument_variable_or_line() {
    let world = World::new();
    let token = world.token(TOKEN, 0o600);
    let start = world.start().arguments(&["--gateway", "127.0.0.1:9", "--log", "debug"]);
    let start = start.argument("--gateway-token-file").argument(token.to_str().expect("UTF-8"));
    let mut server = start.spawn();
    assert!(server.read("repo.status", &world.repo).is_ok());
    let ended = server.finish();
    assert!(ended.status.success() && !ended.said.contains(TOKEN), "{}", ended.said);
    // without a gateway there is nobody to know it
    let output = world.start().argument("--gateway-token-file").argument("token").argument("tools").output();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("no gateway"), "{said}");
}
