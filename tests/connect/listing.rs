//! `bulkhead connect` without a host: what is here, and what would be done.
//! Trust: test code.

use crate::world::World;
use std::fs;

#[test]
fn hosts_that_are_here_are_listed_and_nothing_is_changed() {
    let world = World::new();
    world.connect(&["gemini"]).done();
    world.write(&world.home(".cursor/mcp.json"), "{");
    world.write(&world.home(".codex/config.toml"), "[mcp_servers.bulkhead]\ncommand = 'old'\n");
    fs::create_dir_all(world.home(".claude")).expect("ours");
    let before = world.files();
    let text = world.connect(&[]).done();
    let says = |host: &str, would: &str| {
        let at = text.find(&format!("\n  {host} ")).unwrap_or_else(|| panic!("{host} is not listed in\n{text}"));
        let line = text[at..].lines().nth(2).unwrap_or_default();
        assert!(line.contains(would), "{host}: {line}");
    };
    says("claude-code", "would add");
    says("gemini", "nothing to do");
    says("codex", "would change");
    says("cursor", "it is not JSON");
    let missing = text.lines().find_map(|line| line.strip_prefix("Not found: ")).expect("hosts that are not here");
    assert!(missing.contains("zed") && !missing.contains("gemini"), "{missing}");
    assert!(text.ends_with("Nothing was changed.\n"), "{text}");
    let removing = world.connect(&["--remove"]).done();
    assert!(removing.contains("would take \"bulkhead\" out"), "{removing}");
    assert_eq!(world.files(), before);
}

#[test]
fn a_project_is_listed_by_its_files() {
    let world = World::new();
    assert!(world.connect(&["--scope", "project"]).done().starts_with("No host has its configuration in this project"));
    world.connect(&["zed", "--scope", "project"]).done();
    let text = world.connect(&["--scope", "project"]).done();
    assert!(text.contains(".zed/settings.json") && text.contains("nothing to do"), "{text}");
}

#[test]
fn a_hostile_name_cannot_steer_the_terminal() {
    let world = World::new();
    let project = world.at("a\u{1b}[2K\u{202e}b");
    fs::create_dir_all(project.join(".git")).expect("ours");
    fs::create_dir(project.join(".zed")).expect("ours");
    fs::write(project.join(".zed/settings.json"), "{ // \u{1b}]0;x\u{7}\n}").expect("ours");
    for words in [&["--scope", "project"][..], &["zed", "--scope", "project", "--dry-run"]] {
        let output = world.command(words).current_dir(&project).output().expect("it starts");
        let text = String::from_utf8([output.stdout, output.stderr].concat()).expect("it speaks UTF-8");
        assert!(text.contains(".zed") && !text.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{text:?}");
    }
}

#[test]
fn without_a_home_it_says_so() {
    let world = World::new();
    let output = world.command(&[]).env_remove("HOME").output().expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("HOME"));
}
