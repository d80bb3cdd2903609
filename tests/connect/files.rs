//! Files as people keep them: with comments, links, rights and mistakes.
//! Trust: test code.

use crate::{support::unmet, world::World};
use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
};

/// A file of VS Code as somebody keeps it.
const KEPT: &str = "{\n\t// what I use\n\t\"inputs\": [],\n\t\"servers\": {\n\t\t\"web\": {\n\t\t\t\"url\": \"https://example.org\", // \
                    theirs\n\t\t\t\"headers\": { \"X-Token\": \"hunter2\" },\n\t\t},\n\t},\n}\n";

#[test]
fn what_others_wrote_stays_and_the_old_text_is_kept() {
    let world = World::new();
    let file = world.home(".config/Code/User/mcp.json");
    world.write(&file, KEPT);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("ours");
    let text = world.connect(&["vscode"]).done();
    assert!(text.contains("+\t\t\"bulkhead\": {"), "{text}");
    assert!(!text.contains("hunter2"), "a secret of another server is shown: {text}");
    let after = world.read(&file);
    let ours = after.lines().filter(|line| !KEPT.lines().any(|kept| kept == *line)).count();
    assert!(KEPT.lines().all(|line| after.contains(line)) && ours < 12, "{after}");
    let backup = world.home(".config/Code/User/mcp.json.bulkhead-backup");
    assert_eq!(world.read(&backup), KEPT);
    for path in [&file, &backup] {
        assert_eq!(fs::metadata(path).expect("it is there").mode() & 0o7777, 0o600, "{}", path.display());
    }
    let others = fs::read_dir(file.parent().expect("it has one")).expect("ours").count();
    assert_eq!(others, 2, "no other file is left beside it");

    world.connect(&["vscode", "--remove"]).done();
    assert_eq!(world.read(&file), KEPT);
    assert_eq!(world.read(&backup), after, "the copy is what the file said before the last change");
}

#[test]
fn a_byte_order_mark_and_line_ends_stay() {
    let world = World::new();
    for (host, file, text) in [
        (
            "cursor",
            ".cursor/mcp.json",
            "\u{feff}{\r\n  \"mcpServers\": {\r\n    \"a\": {\r\n      \"command\": \"x\"\r\n    }\r\n  }\r\n}",
        ),
        ("codex", ".codex/config.toml", "\u{feff}# mine\r\n[mcp_servers.a]\r\ncommand = \"x\"\r\n"),
    ] {
        let file = world.home(file);
        world.write(&file, text);
        world.connect(&[host]).done();
        let after = world.read(&file);
        assert!(after.starts_with('\u{feff}') && after.contains("bulkhead"), "{host}: {after:?}");
        assert_eq!(after.matches('\n').count(), after.matches("\r\n").count(), "{host}: {after:?}");
        world.connect(&[host, "--remove"]).done();
        assert_eq!(world.read(&file), text, "{host}");
    }
}

#[test]
fn an_entry_that_is_there_is_brought_up_to_date() {
    let world = World::new();
    let file = world.home(".codeium/windsurf/mcp_config.json");
    world.write(&file, "{\"mcpServers\": {\"bulkhead\": {\"command\": \"gone\", \"args\": [], \"disabled\": true}}}\n");
    world.connect(&["windsurf"]).done();
    let after = world.read(&file);
    assert!(after.contains("\"disabled\": true") && !after.contains("gone"), "{after}");
    assert!(world.connect(&["windsurf"]).done().starts_with("nothing to do"));
}

#[test]
fn a_dry_run_changes_nothing_and_shows_everything() {
    let world = World::new();
    world.write(&world.home(".cursor/mcp.json"), "{}\n");
    let before = world.files();
    for words in [&["cursor", "--dry-run"][..], &["codex", "--dry-run"], &["gemini", "--scope", "project", "--dry-run"]]
    {
        let text = world.connect(words).done();
        assert!(text.contains("\n+") && text.contains("\nnothing was written\n"), "{words:?}: {text}");
    }
    assert!(!world.home(".codex").exists() && !world.project(".gemini").exists());
    assert_eq!(world.files(), before);
}

#[test]
fn a_file_that_does_not_parse_is_not_touched() {
    let world = World::new();
    for (host, file, text, place) in [
        ("cursor", ".cursor/mcp.json", &b"{\n  \"mcpServers\": {\n"[..], "line 2"),
        ("codex", ".codex/config.toml", b"[a]\nb = \n", "line 2"),
        ("zed", ".config/zed/settings.json", b"\xff\xfe{\0}\0", "UTF-8"),
        ("gemini", ".gemini/settings.json", b"[]", "not an object"),
    ] {
        world.write(&world.home(file), text);
        let before = world.files();
        for words in [&[host][..], &[host, "--remove"], &[host, "--dry-run"]] {
            let said = world.connect(words).refused();
            assert!(said.contains(place) && said.contains(file), "{host}: {said}");
        }
        assert_eq!(world.files(), before, "{host}");
    }
}

#[test]
fn a_link_of_the_user_stays_and_what_it_leads_to_is_changed() {
    let world = World::new();
    let dotfiles = world.home("dotfiles/zed.json");
    world.write(&dotfiles, "{ \"theme\": \"One\" } // dotfiles\n");
    fs::create_dir_all(world.home(".config/zed")).expect("ours");
    symlink("../../dotfiles/zed.json", world.home(".config/zed/settings.json")).expect("ours");
    let text = world.connect(&["zed"]).done();
    assert!(text.contains("is a link to") && text.contains("dotfiles/zed.json"), "{text}");
    assert!(world.home(".config/zed/settings.json").is_symlink());
    let after = world.read(&dotfiles);
    assert!(after.contains("bulkhead") && after.contains("// dotfiles"), "{after}");
    assert!(world.home("dotfiles/zed.json.bulkhead-backup").is_file());

    fs::remove_file(&dotfiles).expect("ours");
    let said = world.connect(&["zed"]).refused();
    assert!(said.contains("leads nowhere"), "{said}");
}

#[test]
fn links_of_a_project_are_not_followed() {
    let world = World::new();
    let own = world.home(".cursor/mcp.json");
    world.write(&own, "{}\n");
    world.write(&world.home("elsewhere/mcp.json"), "{}\n");
    fs::create_dir(world.project(".cursor")).expect("ours");
    symlink(&own, world.project(".cursor/mcp.json")).expect("ours");
    symlink(world.home("elsewhere"), world.project(".vscode")).expect("ours");
    let before = world.files();
    for host in ["cursor", "vscode"] {
        for more in [&[][..], &["--remove"], &["--dry-run"]] {
            let said = world.connect(&[&[host, "--scope", "project"], more].concat()).refused();
            assert!(said.contains("links of a project are not followed"), "{host}: {said}");
        }
    }
    assert_eq!(world.files(), before);
}

#[test]
fn a_directory_that_may_not_be_written_is_told() {
    let world = World::new();
    let file = world.home(".cursor/mcp.json");
    world.write(&file, "{}\n");
    fs::set_permissions(world.home(".cursor"), fs::Permissions::from_mode(0o555)).expect("ours");
    let reached = world.connect_as_user(&["--dry-run"]);
    if reached.code == 0 {
        let said = world.connect_as_user(&["cursor"]).refused();
        assert!(said.contains("cannot be written") && said.contains("nothing was changed"), "{said}");
    } else {
        unmet::unmet("a program that an ordinary user can start");
    }
    assert_eq!(world.read(&file), "{}\n");
    fs::set_permissions(world.home(".cursor"), fs::Permissions::from_mode(0o755)).expect("ours");
}

#[test]
fn a_read_only_file_and_one_with_two_names_are_left_alone() {
    let world = World::new();
    let file = world.home(".cursor/mcp.json");
    world.write(&file, "{}\n");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).expect("ours");
    assert!(world.connect(&["cursor"]).refused().contains("read-only"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("ours");
    fs::hard_link(&file, world.home("second")).expect("ours");
    assert!(world.connect(&["cursor"]).refused().contains("hard links"));
    assert_eq!((world.read(&file), world.read(&world.home("second"))), ("{}\n".to_owned(), "{}\n".to_owned()));
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let world = World::new();
    fs::create_dir_all(world.home(".cursor/mcp.json")).expect("ours");
    assert!(world.connect(&["cursor"]).refused().contains("not a regular file"));
    fs::create_dir(world.project(".cursor")).expect("ours");
    let fifo = world.project(".cursor/mcp.json");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).expect("ours");
    assert!(world.connect(&["cursor", "--scope", "project"]).refused().contains("not a regular file"));
    let long = fs::File::create(world.home(".claude.json")).expect("ours");
    long.set_len(33 << 20).expect("a sparse file");
    assert!(world.connect(&["claude-code"]).refused().contains("longer than"));
}

#[test]
fn a_file_of_another_user_is_left_to_that_user() {
    if !unmet::has_root() {
        return;
    }
    let world = World::new();
    let file = world.home(".cursor/mcp.json");
    world.write(&file, "{}\n");
    std::os::unix::fs::chown(&file, Some(12_347), None).expect("root may");
    let said = world.connect(&["cursor"]).refused();
    assert!(said.contains("user 12347"), "{said}");
    assert_eq!(world.read(&file), "{}\n");
    assert_eq!(fs::read_dir(world.home(".cursor")).expect("ours").count(), 1, "nothing is left beside it");
    std::os::unix::fs::chown(world.home(""), Some(12_347), None).expect("root may");
    let said = world.connect(&["gemini"]).refused();
    assert!(said.contains("user 12347"), "{said}");
    assert!(!world.home(".gemini").exists(), "no directory is made in another's home");
}

#[test]
fn a_path_that_a_host_would_expand_is_refused() {
    let world = World::new();
    fs::create_dir(world.at("a${HOME}")).expect("ours");
    let root = world.at("a${HOME}");
    let said = world.connect(&["gemini", "--root", root.to_str().expect("plain")]).refused();
    assert!(said.contains("variable"), "{said}");
    assert!(!world.home(".gemini").exists());
}
