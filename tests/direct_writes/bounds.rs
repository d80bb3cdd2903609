//! No answer is longer than the operator allows, and each that is cut says so with the true number
//! (contract `direct/corrections.md` C). Trust: test code.

use crate::{World, support::direct::Served};
use serde_json::json;
use std::fmt::Write as _;

/// Bytes of an answer here.
const BUDGET: usize = 4_000;

#[test]
fn every_list_is_cut_to_the_budget_and_counted() {
    let world = World::new();
    let head = world.git(&["rev-parse", "HEAD"]);
    // names by the thousand, as a fetch of many leaves them
    let mut packed = String::from("# pack-refs with: peeled fully-peeled sorted \n");
    for kind in ["heads", "tags"] {
        for number in 0..1_500 {
            writeln!(packed, "{head} refs/{kind}/many-{number:05}").expect("memory");
        }
    }
    std::fs::write(world.repo.join(".git/packed-refs"), packed).expect("ours");
    let lines: String = (0..3_000).map(|number| format!("line {number}\n")).collect();
    world.write("long.txt", &lines);
    for number in 0..300 {
        world.write(&format!("tracked-{number:04}.txt"), "one\n");
    }
    world.git(&["add", "-A"]);
    world.git(&["commit", "-q", "-m", "much"]);
    let id = world.git(&["rev-parse", "HEAD"]);
    for number in 0..300 {
        world.write(&format!("tracked-{number:04}.txt"), "two\n");
        world.write(&format!("untracked-{number:04}.txt"), "new\n");
    }
    for number in 0..120 {
        world.git(&["commit", "-q", "--allow-empty", "-m", &format!("commit {number} with a subject of some length")]);
    }
    let branches = world.git(&["for-each-ref", "refs/heads"]).lines().count();
    let tags = world.git(&["tag"]).lines().count();
    let files = world.git(&["ls-files"]).lines().count();
    let mut served = Served::reading_with(&world.place, &world.repo, &["--output-budget", &BUDGET.to_string()]);
    for (tool, arguments, total) in [
        ("repo_status", json!({}), json!(600)),
        ("repo_diff", json!({}), json!(300)),
        ("repo_branches", json!({}), json!(branches)),
        ("repo_tags", json!({}), json!(tags)),
        ("repo_list_files", json!({}), json!(files)),
        ("repo_list_files", json!({"rev": "HEAD"}), json!(files)),
        ("repo_annotate", json!({"path": "long.txt"}), json!(3_000)),
        ("repo_annotate", json!({"path": "long.txt", "rev": id}), json!(3_000)),
        ("repo_log", json!({"revspec_or_revset": "HEAD", "max": 100}), json!(null)),
    ] {
        let answer = served.0.call(tool, arguments.clone()).message;
        let text = answer["result"]["content"][0]["text"].as_str().expect("a text");
        assert!(text.len() <= BUDGET, "{tool}: {} bytes", text.len());
        let cut: serde_json::Value = serde_json::from_str(text).expect("it is JSON");
        let shown = cut["items"].as_array().expect("a list").len();
        assert!(shown > 0 && cut["truncated"] == true && cut["shown"] == shown, "{tool} {arguments}: {text}");
        assert!(cut["total"] == total || cut["total"].is_null() && tool == "repo_log", "{tool}: {}", cut["total"]);
    }
    let text = served.value("repo_show_file", json!({"rev": "HEAD", "path": "long.txt"}));
    let text = text.as_str().expect("text");
    let (shown, end) = text.rsplit_once('\n').expect("two lines at least");
    assert_eq!(end, format!("[truncated: showing {} of {} bytes]", shown.len(), lines.len()));
    assert!(shown.len() <= BUDGET && lines.starts_with(shown));
    // what counts alone is whole
    assert_eq!(served.value("repo_diff_stat", json!({}))["files_changed"], 300);
    assert_eq!(served.value("repo_snapshot", json!({}))["change_count"], 600);
}

#[test]
fn giving_up_and_going_on_with_nothing_is_said_at_once() {
    let world = World::new();
    let mut served = Served::writing(&world.place, &world.repo, &["--log-commands"]);
    let before = world.git(&["for-each-ref"]);
    for tool in ["repo_abort_in_progress", "repo_continue_in_progress"] {
        let done = served.value(tool, json!({}));
        assert_eq!(done["operation_state"], "Clear");
        assert_eq!(done.get("restore_point"), None, "{tool}: nothing could be lost");
    }
    assert_eq!(world.git(&["for-each-ref"]), before);
}
