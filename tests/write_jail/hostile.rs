//! What a repository's author, or a Git that was taken over, would have run or reached.
//! Trust: test code; each attack is shown to work outside of the jail first, where that is possible.

use crate::house::{Place, found, path};
use bulkhead_ipc::edge::{WorkerKind, write::Operation};
use std::{
    fs,
    net::{Ipv4Addr, TcpListener},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::Command,
};

type Case = (&'static str, fn());

/// All of them.
pub const ALL: &[Case] = &[
    ("no_shell_no_script_and_no_program_of_the_tree_runs", programs),
    ("hooks_and_programs_of_the_configuration_do_not_run", configured),
    ("the_loader_is_no_way_to_run_a_file", loader),
    ("nothing_outside_of_the_repository_is_reached", outside),
    ("no_network_but_the_ports_of_the_remotes", network),
];

const REFUSED: &str = "PermissionDenied";

/// This very program, in the tree, with this mode.
fn planted(place: &Place, name: &str, mode: u32) -> String {
    let at = place.text(&format!("repo/{name}"));
    fs::copy("/proc/self/exe", &at).expect("room");
    fs::set_permissions(&at, fs::Permissions::from_mode(mode)).expect("ours");
    at
}

fn programs() {
    let place = Place::new();
    let tool = planted(&place, "tool", 0o755);
    let flat = planted(&place, "flat", 0o644);
    let script = place.text("repo/script");
    fs::write(&script, "#!/bin/sh\necho runs\n").expect("a file");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("ours");
    for program in [tool.as_str(), &script] {
        assert!(Command::new(program).arg("stand-in").output().is_ok(), "outside it runs: {program}");
    }
    let house = place.serve();
    for program in ["/bin/sh", "/bin/true", "/proc/self/exe", &tool, &script] {
        assert_eq!(house.run(&["start", program, "stand-in"])[0], REFUSED, "{program}");
    }
    // it may be made executable, and is not executed all the same
    assert_eq!(house.run(&["make executable and start", &flat])[0], REFUSED);
    // fetch and push have a shell, and nothing that it could start
    let words = |words: &str| Operation::Push { branch: words.to_owned() };
    let said = house.perform(WorkerKind::WriteNet, words("start /bin/sh -c echo")).1;
    assert_eq!(said[0], "DID", "{said:?}");
    for program in [tool.as_str(), &script, "/bin/true"] {
        let said = house.perform(WorkerKind::WriteNet, words(&format!("start {program}"))).1;
        assert_eq!(said[0], REFUSED, "{program}");
    }
}

fn configured() {
    let place = Place::new();
    let mark = place.at("repo/.git/mark");
    let write = format!("touch {}", mark.display());
    for hook in ["pre-commit", "commit-msg", "post-commit", "post-checkout", "post-index-change"] {
        let at = place.at("repo/.git/hooks").join(hook);
        fs::create_dir_all(at.parent().expect("it has one")).expect("a directory");
        fs::write(&at, format!("#!/bin/sh\n{write}\n")).expect("a file");
        fs::set_permissions(&at, fs::Permissions::from_mode(0o755)).expect("ours");
    }
    place.git(&["config", "core.hooksPath", &place.text("repo/.git/hooks")]);
    place.git(&["config", "core.fsmonitor", &write]);
    place.git(&["config", "core.editor", &write]);
    place.git(&["config", "core.pager", &write]);
    place.git(&["config", "gpg.program", &write]);
    place.git(&["config", "commit.gpgSign", "true"]);
    place.git(&["config", "alias.st", &format!("!{write}")]);
    place.git(&["config", "diff.external", &write]);
    place.git(&["-c", "core.fsmonitor=", "status"]);
    let _ = fs::remove_file(&mark);
    let outside = Command::new(path(&found().git)).arg("status").current_dir(place.at("repo")).output();
    assert!(outside.is_ok() && mark.exists(), "outside it runs");
    fs::remove_file(&mark).expect("ours");

    let house = place.serve();
    fs::write(place.at("repo/a.txt"), "two\n").expect("a file");
    for words in [
        &["git", "status"][..],
        &["git", "add", "a.txt"],
        &["git", "commit", "-q", "-m", "two"],
        &["git", "checkout", "-q", "-b", "other"],
    ] {
        let said = house.run(words);
        assert_eq!(said[0], "Some(0)", "{words:?}: {said:?}");
    }
    // these ask for a program by name: it is not started, whatever comes of the command
    for words in [&["git", "st"][..], &["git", "diff", "HEAD~1"], &["git", "commit", "--allow-empty"]] {
        house.run(words);
    }
    // and with a filter that is required, nothing of the file is stored
    place.git(&["config", "core.fsmonitor", "false"]);
    place.git(&["config", "filter.x.clean", &write]);
    place.git(&["config", "filter.x.required", "true"]);
    fs::write(place.at("repo/.gitattributes"), "*.x filter=x\n").expect("a file");
    fs::write(place.at("repo/f.x"), "text\n").expect("a file");
    assert_ne!(house.run(&["git", "add", "f.x"])[0], "Some(0)");
    assert!(!mark.exists(), "something ran");
}

/// The loader may be executed, since every program needs it, and it runs whatever file it is given. What keeps a
/// repository from naming it is told in `docs/isolation.md`: no place for the file that Git would hand it, and commands
/// that do not convert.
fn loader() {
    let loader = found().files.iter().map(|file| path(file)).find(|file| {
        file.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"ld-") || name == "ld.so")
    });
    let Some(loader) = loader else {
        eprintln!("SKIPPED 1: git is static here, there is no loader");
        return;
    };
    let place = Place::new();
    planted(&place, "data.elf", 0o644);
    place.git(&["config", "diff.x.textconv", loader.to_str().expect("plain")]);
    place.git(&["config", "diff.x.binary", "true"]);
    fs::write(place.at("repo/.git/info/attributes"), "*.elf diff=x\n").expect("a file");
    fs::copy("/bin/pwd", place.at("repo/data.elf")).expect("room");
    place.git(&["add", "data.elf"]);
    place.git(&["commit", "-q", "-m", "data"]);
    let here = place.text("repo");
    assert!(place.git(&["show", "HEAD"]).contains(&format!("+{here}")), "outside it runs");
    let house = place.serve();
    for words in [&["git", "show", "HEAD"][..], &["git", "show", "--no-textconv", "--no-ext-diff", "HEAD"]] {
        let said = house.run(words);
        assert!(!said[1].contains(&format!("+{here}")), "{words:?}: {said:?}");
    }
    assert_eq!(house.run(&["git", "show", "--no-textconv", "--no-ext-diff", "HEAD"])[0], "Some(0)");
}

fn outside() {
    let place = Place::new();
    let beside = place.text("beside.txt");
    let away = place.dir.parent().expect("it has one").join("away.txt");
    let away = away.to_str().expect("plain");
    for file in [beside.as_str(), away] {
        fs::write(file, "not yours\n").expect("a file");
    }
    let house = place.serve();
    for file in [beside.as_str(), away, "/etc/passwd", "/proc/self/environ", "/proc/self/status"] {
        assert_eq!(house.run(&["open", file])[0], REFUSED, "{file}");
    }
    for file in [&beside, away, &place.text("new.txt"), "/dev/full", "/tmp/bulkhead-of-this-test"] {
        assert_eq!(house.run(&["write", file])[0], REFUSED, "{file}");
    }
    for dir in ["/", "/proc", &place.text(".")] {
        assert_eq!(house.run(&["list", dir])[0], REFUSED, "{dir}");
    }
    assert_eq!(house.run(&["write", &place.text("repo/new.txt")])[0], "DID");
    assert_eq!(house.run(&["write", "/dev/null"])[0], "DID");
    assert!(!Path::new("/tmp/bulkhead-of-this-test").exists());
    // a link in the tree leads nowhere either
    std::os::unix::fs::symlink(away, place.at("repo/link")).expect("a link");
    assert_eq!(house.run(&["open", &place.text("repo/link")])[0], REFUSED);
}

fn network() {
    let place = Place::new();
    let [open, other] = [(); 2].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port"));
    let address = |listener: &TcpListener| listener.local_addr().expect("it is bound").to_string();
    let port = open.local_addr().expect("it is bound").port();
    place.git(&["remote", "add", "origin", &format!("https://127.0.0.1:{port}/a")]);
    let house = place.serve();
    assert_eq!(house.run(&["connect", &address(&open)])[0], REFUSED, "without a network");
    let connect = |listener| Operation::Push { branch: format!("connect {}", address(listener)) };
    let (report, said) = house.perform(WorkerKind::WriteNet, connect(&open));
    assert_eq!(said[0], "DID", "{said:?}");
    let row = report.rows.iter().find(|row| row.capability == "network-tcp").expect("a row").clone();
    assert!(row.evidence.contains(&port.to_string()) && row.evidence.contains("any host"), "{row:?}");
    let said = house.perform(WorkerKind::WriteNet, connect(&other)).1;
    if row.enforcer == "none" {
        eprintln!("SKIPPED 1: this kernel's Landlock knows no TCP ({said:?})");
    } else {
        assert_eq!(said[0], REFUSED, "another port");
    }
}
