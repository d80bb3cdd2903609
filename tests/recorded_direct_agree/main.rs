//! Every recorded read and write of the direct surface comes out again, field by field, but for the corrections named in one table.
//! Trust: recordings are data; what was prose in them was never kept.

mod corrections;
#[path = "../support/mod.rs"]
mod support;
#[cfg(target_os = "linux")]
mod writes;

use corrections::{Corrected, correction};
use serde_json::Value;
use std::{path::PathBuf, process::Command};
use support::{
    Place,
    direct::{Came, Served},
    direct_repository,
};

const RECORDED: &str = include_str!("../fixtures/recorded_direct/git_reads.json");

struct World {
    place: Place,
    repo: PathBuf,
}

impl World {
    fn new() -> Self {
        let place = Place::new();
        let repo = direct_repository::build(place.path());
        Self { place, repo }
    }

    fn git(&self, dir: &str, arguments: &[&str]) {
        let dir = self.place.path().join(dir);
        let mut git = Command::new("git");
        git.current_dir(dir).args(arguments).env("HOME", self.place.home());
        assert!(git.status().expect("git is there").success(), "{arguments:?}");
    }

    /// What the recordings' session was about, as it stood then.
    fn server(&self, session: &str) -> Served {
        let served = match session {
            "git-clean-ro" => self.repo.clone(),
            "git-detached" => {
                self.git("repo", &["checkout", "-q", "--detach", "HEAD~1"]);
                for name in ["one", "two"] {
                    std::fs::write(self.repo.join(name), "").expect("the place is ours");
                }
                self.repo.clone()
            }
            "git-unborn" => {
                self.git(".", &["init", "-q", "-b", "trunk", "unborn"]);
                let unborn = self.place.at("unborn");
                std::fs::write(unborn.join("f"), "x\ny\n").expect("the place is ours");
                self.git("unborn", &["add", "f"]);
                std::fs::write(unborn.join("u"), "").expect("the place is ours");
                unborn
            }
            other => panic!("no such session: {other}"),
        };
        Served::reading(&self.place, &served)
    }
}

impl Corrected {
    fn wanted(self, directory: &str) -> Came {
        match self {
            Corrected::Value(text) => {
                Came::Value(serde_json::from_str(&text.replace("$FX", directory)).expect("a table's JSON"))
            }
            Corrected::Params => Came::Params(String::new()),
            Corrected::Failure(class) => Came::Failure(class.to_owned(), Value::Null),
        }
    }
}

/// What the contract makes of a recording: values stay, and errors go where the adopted reference puts them.
fn expected(case: &Value, directory: &str) -> Came {
    if let Some(result) = case.get("result") {
        let mut text = result.to_string().replace("$FX", directory);
        // disagreements, row 23: a date is a text, and the number stands beside it
        if case["tool"] == "repo_annotate" {
            text = text.replace("\"date\":", "\"date_unix\":");
        }
        return Came::Value(serde_json::from_str(&text).expect("it was JSON"));
    }
    match case["rpc_error"].as_i64() {
        Some(-32603) => Came::Failure("not_found".to_owned(), Value::Null),
        _ => Came::Params(String::new()),
    }
}

/// Whether a call came to what is wanted; `class` stands for the wanted failure's own, where a table has another one.
fn is_as(came: &Came, wanted: &Came, class: Option<&str>) -> bool {
    match (came, wanted) {
        (Came::Value(came), Came::Value(wanted)) => agrees(came, wanted),
        (Came::Failure(came, _), Came::Failure(wanted, _)) => came == class.unwrap_or(wanted),
        (Came::Params(_), Came::Params(_)) => true,
        _ => false,
    }
}

#[test]
fn recorded_reads_come_out_again() {
    let world = World::new();
    let directory = world.place.path().to_str().expect("places have UTF-8 paths");
    let cases: Vec<Value> = serde_json::from_str(RECORDED).expect("recordings are JSON");
    assert_eq!(cases.len(), 95);
    let mut session = String::new();
    let mut server = None;
    let mut faults = Vec::new();
    let mut corrected = 0;
    for case in &cases {
        let (tool, arguments) = (case["tool"].as_str().expect("a tool"), &case["args"]);
        if case["session"] != session.as_str() {
            session = case["session"].as_str().expect("a session").to_owned();
            server = Some(world.server(&session));
        }
        let server = server.as_mut().expect("the first case starts one");
        let came = server.call(tool, arguments.clone());
        let wanted = match correction(&session, tool, arguments) {
            Some(correction) => {
                corrected += 1;
                correction.wanted(directory)
            }
            None => expected(case, directory),
        };
        if !is_as(&came, &wanted, None) {
            faults.push(format!("{session} {tool} {arguments}\n  came   {came:?}\n  wanted {wanted:?}"));
        }
    }
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), cases.len(), faults.join("\n"));
    assert_eq!(corrected, corrections::COUNT, "a row of the table is not needed any more");
}

/// Ours has every member of the recording with its value, and perhaps more.
fn agrees(came: &Value, wanted: &Value) -> bool {
    match (came, wanted) {
        (Value::Object(came), Value::Object(wanted)) => {
            wanted.iter().all(|(name, wanted)| came.get(name).is_some_and(|came| agrees(came, wanted)))
        }
        (Value::Array(came), Value::Array(wanted)) => {
            came.len() == wanted.len() && came.iter().zip(wanted).all(|(came, wanted)| agrees(came, wanted))
        }
        (came, wanted) => came == wanted,
    }
}
