//! The command line of the direct surface on the real binary, under both of its names: what it takes, what ends it with which
//! status, and what it says (contract `direct/flags.md`). Trust: test code.
#![cfg(target_os = "linux")]

#[path = "support/mod.rs"]
mod support;

use serde_json::{Value, json};
use std::{
    fs,
    io::{Read as _, Write as _},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};
use support::{Place, Repo};

/// The longest that a program may take that has nothing to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// One of the two names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    /// The program's own, with `--surface direct`.
    Own,
    /// The reference's, through a link.
    Reference,
}

const NAMES: [Name; 2] = [Name::Own, Name::Reference];

impl Name {
    /// What begins its lines on standard error.
    fn prefix(self) -> &'static str {
        match self {
            Name::Own => "bulkhead: ",
            Name::Reference => "vcs-mcp: ",
        }
    }
}

struct World {
    place: Place,
    repo: PathBuf,
    link: PathBuf,
}

impl World {
    fn new() -> Self {
        let place = Place::new();
        let repo = Repo::honest(&place, "repo").path().to_owned();
        let link = place.at("vcs-mcp");
        symlink(env!("CARGO_BIN_EXE_bulkhead"), &link).expect("the place is ours");
        Self { place, repo, link }
    }

    fn command(&self, name: Name, words: &[&str]) -> Command {
        let mut command = match name {
            Name::Own => self.place.command(env!("CARGO_BIN_EXE_bulkhead")),
            Name::Reference => self.place.command(&self.link),
        };
        if name == Name::Own {
            command.args(["--surface", "direct"]);
        }
        command.args(words).current_dir(&self.repo);
        command
    }

    /// What comes of it with this on standard input, which is closed then.
    fn run(&self, name: Name, words: &[&str], input: &str) -> Output {
        let mut command = self.command(name, words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("it is piped");
        // it may have ended without reading
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        output(child, words)
    }

    /// One line on standard error, nothing on standard output, status 1; the line without its prefix.
    fn refused(&self, name: Name, words: &[&str]) -> String {
        let output = self.run(name, words, "");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{name:?} {words:?}: {said}");
        assert!(output.stdout.is_empty(), "{name:?} {words:?}");
        assert_eq!(said.lines().count(), 1, "{name:?} {words:?}: {said}");
        let line = said.strip_prefix(name.prefix()).unwrap_or_else(|| panic!("{name:?} {words:?}: {said}"));
        line.trim_end().to_owned()
    }

    /// The result of a request, asked in a conversation of two requests that ends well.
    fn answered(&self, name: Name, words: &[&str], method: &str, params: &Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": params});
        let output = self.run(name, words, &format!("{}\n{request}\n", initialize()));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{name:?} {words:?}: {said}");
        let lines = String::from_utf8(output.stdout).expect("JSON is UTF-8");
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line is JSON"));
        let answer = lines.into_iter().find(|line| line["id"] == 2);
        answer.unwrap_or_else(|| panic!("{name:?} {words:?}: no answer; {said}"))
    }

    fn call(&self, words: &[&str], tool: &str, arguments: &Value) -> Value {
        self.answered(Name::Reference, words, "tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    fn tools(&self, name: Name, words: &[&str]) -> Vec<String> {
        let listed = self.answered(name, words, "tools/list", &json!({}));
        let tools = listed["result"]["tools"].as_array().expect("a list").clone();
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }
}

fn output(mut child: Child, words: &[&str]) -> Output {
    let (mut stdout, mut stderr) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let said = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stderr.read_to_end(&mut bytes).map(|_| bytes).unwrap_or_default()
    });
    let told = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stdout.read_to_end(&mut bytes).map(|_| bytes).unwrap_or_default()
    });
    let since = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("it is our child") {
            break status;
        }
        if since.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("{words:?}: it does not end");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let (stdout, stderr) = (told.join().expect("no panic"), said.join().expect("no panic"));
    Output { status, stdout, stderr }
}

fn initialize() -> Value {
    let client = json!({"name": "bulkhead-tests", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

/// Command lines that end the program before it looks at a repository, and a part of what it says.
const REFUSED: &[(&[&str], &str)] = &[
    (&["--bogus"], "unknown argument"),
    (&["--bogus", "--help"], "unknown argument"),
    (&["positional"], "unknown argument"),
    (&[""], "unknown argument"),
    (&["--"], "unknown argument"),
    (&["--repo=X"], "unknown argument"),
    (&["--allow-write=true"], "unknown argument"),
    (&["-v"], "unknown argument"),
    (&["--repo"], "--repo needs a value"),
    (&["--forge"], "--forge needs a value"),
    (&["--forge", "bitbucket", "--help"], "bitbucket"),
    (&["--forge", "GitHub"], "GitHub"),
    (&["--forge", ""], "--forge"),
    (&["--timeout"], "--timeout needs a value"),
    (&["--timeout", "-1"], "-1"),
    (&["--timeout", "1.5"], "1.5"),
    (&["--timeout", ""], "--timeout"),
    (&["--timeout", "99999999999999999999"], "99999999999999999999"),
    (&["--timeout", "18446744073709551616"], "18446744073709551616"),
    (&["--output-budget", "x"], "--output-budget"),
    (&["--output-budget"], "--output-budget needs a value"),
    (&["--max-output-bytes", "x"], "--max-output-bytes"),
    (&["--max-output-bytes"], "--max-output-bytes needs a value"),
    (&["--allow-tools"], "--allow-tools needs a value"),
    (&["--allow-tools", "nope", "--help"], "repo_tag_create"),
    (&["--allow-tools", "repo_status"], "forge_pr_review"),
    (&["--allow-tools", "REPO_COMMIT"], "repo_commit"),
    (&["--allow-tools", ""], "names no tools"),
    (&["--allow-tools", ","], "names no tools"),
    (&["--allow-write", "--allow-tools", "nope"], "nope"),
    (&["--ssh-command"], "--ssh-command needs a value"),
    (&["--ssh-command", ""], "must not be empty"),
    (&["--gh-account", "a", "--gh-token-env", "B"], "exclude each other"),
    (&["--gh-token-env", "A=B"], "A=B"),
    (&["--gh-token-env", "A B"], "A B"),
    (&["--gh-token-env", ""], "--gh-token-env"),
    (&["--forge", "gitlab", "--gh-account", "a"], "GitHub"),
    (&["--gh-account", "a"], "need --forge github"),
    (&["--gh-token-env", "TOKEN"], "need --forge github"),
    (&["--json-case", "kebab"], "snake or camel"),
    (&["--hooks", "x"], "--hooks"),
    (&["--filters", "x"], "--filters"),
    (&["--surface", "review"], "--surface"),
    (&["--surface", "both"], "--toolsets"),
    (&["--log-commands", "/nonexistent/log"], "/nonexistent/log"),
    (&["--repo", "--help"], "--help"),
    (&["--repo", ""], "must not be empty"),
    (&["--repo", "/nonexistent"], "/nonexistent"),
    (&["--root", "/nonexistent"], "--root /nonexistent"),
];

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let world = World::new();
    for (words, part) in REFUSED {
        for name in NAMES {
            let line = world.refused(name, words);
            assert!(line.contains(part), "{name:?} {words:?}: {line}");
        }
    }
}

#[test]
fn help_and_version_come_before_everything_behind_them() {
    let world = World::new();
    for name in NAMES {
        for words in [&["--help"][..], &["-h"], &["--help", "--bogus"], &["--repo", "/nonexistent", "--help"]] {
            let output = world.run(name, words, "");
            assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{name:?} {words:?}");
            let text = String::from_utf8(output.stdout).expect("help is UTF-8");
            let program = name.prefix().trim_end_matches(": ");
            assert!(text.contains("--allow-tools") && text.contains(program), "{name:?}: {text}");
        }
        for words in [&["--version"][..], &["-V"], &["--version", "--bogus"]] {
            let output = world.run(name, words, "");
            let wanted = format!("{} {}\n", name.prefix().trim_end_matches(": "), env!("CARGO_PKG_VERSION"));
            assert_eq!(String::from_utf8_lossy(&output.stdout), wanted, "{name:?} {words:?}");
            assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{name:?} {words:?}");
        }
    }
}

/// Command lines that serve.
const SERVED: &[&[&str]] = &[
    &[],
    &["--repo", "/nonexistent", "--repo", "."],
    &["--forge", "github", "--forge", "gitea"],
    &["--allow-write"],
    &["--allow-tools", " repo_commit,,repo_push ", "--allow-tools", "forge_pr_review,forge_pr_approve,repo_try_merge"],
    &["--timeout", "0"],
    &["--timeout", "+5", "--timeout", "18446744073709551615"],
    &["--output-budget", "0", "--max-output-bytes", "0"],
    &["--log-commands", "--allow-write"],
    &["--log-commands", "stderr"],
    &["--log-commands", "../commands.log"],
    &["--ssh-command", "ssh -p 22", "--trust-repo-ssh-command"],
    &["--forge", "github", "--gh-account", "a", "--gh-account", "b"],
    &["--forge", "github", "--gh-token-env", "TOKEN"],
    &["--hide-gated", "--json-case", "camel", "--hooks", "off", "--filters", "off", "--allow-unsigned"],
    &["--surface", "both", "--toolsets", "repo"],
    &["--hooks", "run"],
    &["--hooks", "run", "--filters", "user", "--allow-write"],
];

#[test]
fn what_the_contract_names_is_taken() {
    let world = World::new();
    for words in SERVED {
        for name in NAMES {
            let answer = world.answered(name, words, "ping", &json!({}));
            assert_eq!(answer["result"], json!({}), "{name:?} {words:?}");
        }
    }
    assert!(world.place.at("commands.log").is_file());
}

#[test]
fn an_end_before_the_first_message_is_a_failure_and_after_it_is_none() {
    let world = World::new();
    for name in NAMES {
        let output = world.run(name, &[], "");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{name:?}");
        assert!(output.stderr.starts_with(name.prefix().as_bytes()), "{}", String::from_utf8_lossy(&output.stderr));
        let output = world.run(name, &[], &format!("{}\n", initialize()));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{name:?}");
    }
}

/// What is no repository that can be served: how it is made, what is named, and a part of what is said.
type Startup = (fn(&Place), &'static str, &'static str);

const STARTUPS: &[Startup] = &[
    (|place| drop(place.directory("plain/inner")), "plain/inner", "not in a Git repository"),
    (|place| drop(Repo::init_with(place, "bare.git", &["--bare"])), "bare.git", "bare"),
    (|place| drop(place.directory("stray/.jj")), "stray", "not in a Git repository"),
    (|place| write(place, "text/.git", "hello\n"), "text", "gitdir:"),
    (|place| write(place, "nowhere/.git", "gitdir: ../gone\n"), "nowhere", "not there"),
    (|place| drop(place.directory("repo/inner/.git")), "repo/inner", "lacks HEAD"),
    (|_| (), "repo/a.txt", "not a directory"),
    (|place| write(place, "thief/.git", "gitdir: ../repo/.git\n"), "thief", "lead back"),
];

fn write(place: &Place, path: &str, text: &str) {
    let path = place.at(path);
    fs::create_dir_all(path.parent().expect("it is beneath the place")).expect("the place is ours");
    fs::write(path, text).expect("the place is ours");
}

#[test]
fn what_cannot_be_served_is_refused_at_the_start() {
    let world = World::new();
    for (make, named, part) in STARTUPS {
        make(&world.place);
        let path = world.place.at(named);
        let path = path.to_str().expect("places have UTF-8 paths");
        for name in NAMES {
            let line = world.refused(name, &["--repo", path]);
            assert!(line.contains(part), "{name:?} {named}: {line}");
        }
    }
}

#[test]
fn a_repository_is_found_from_a_directory_in_it_and_both_are_told() {
    let world = World::new();
    fs::create_dir(world.repo.join("deep")).expect("the place is ours");
    let info = value(&world.call(&["--repo", "deep"], "repo_info", &json!({})));
    let text = |path: &Path| path.to_str().expect("places have UTF-8 paths").to_owned();
    assert_eq!(info["root"], text(&world.repo));
    assert_eq!(info["cwd"], text(&world.repo.join("deep")));
    let forced = value(&world.call(&["--forge", "gitea"], "repo_info", &json!({})));
    assert_eq!(forced["forge"], "gitea");
}

#[test]
fn gated_tools_are_listed_unless_they_are_hidden() {
    let world = World::new();
    for name in NAMES {
        let all = world.tools(name, &[]);
        assert!(all.iter().any(|tool| tool == "repo_push") && all.iter().any(|tool| tool == "repo_log"));
        assert!(all.iter().all(|tool| tool.starts_with("repo_") || tool.starts_with("forge_")), "{all:?}");
        let hidden = world.tools(name, &["--hide-gated", "--allow-tools", "repo_commit"]);
        let has = |tool: &str| hidden.iter().any(|name| name == tool);
        assert!(has("repo_commit") && has("repo_log") && has("repo_try_merge") && !has("repo_push"), "{hidden:?}");
        assert_eq!(world.tools(name, &["--hide-gated", "--allow-write"]), all);
    }
}

#[test]
fn both_surfaces_share_a_name_only_where_toolsets_ask_for_them() {
    let world = World::new();
    for name in NAMES {
        let both = world.tools(name, &["--surface", "both", "--toolsets", "repo,write,inspect"]);
        assert!(both.iter().any(|tool| tool == "repo_snapshot"), "{both:?}");
        let reviewed = |tool: &String| tool == "repo.brief" || tool == "repo_brief" || tool == "review_repo_brief";
        assert!(both.iter().any(reviewed), "{both:?}");
        let mut names = both.clone();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), both.len(), "a name stands for one tool");
    }
}

#[test]
fn members_are_spelt_as_the_operator_says() {
    let world = World::new();
    let snake = value(&world.call(&[], "repo_snapshot", &json!({})));
    let camel = value(&world.call(&["--json-case", "camel"], "repo_snapshot", &json!({})));
    assert_eq!(snake["change_count"], camel["changeCount"]);
    assert!(snake["change_count"].is_u64() && camel.get("change_count").is_none());
    let last = value(&world.call(&["--json-case", "camel", "--json-case", "snake"], "repo_snapshot", &json!({})));
    assert_eq!(last, snake);
}

#[test]
fn answers_are_cut_to_the_budget_and_end_at_the_ceiling() {
    let world = World::new();
    let line = "a line of some length, so that there is something to be cut\n";
    fs::write(world.repo.join("long.txt"), line.repeat(200)).expect("the place is ours");
    Repo::open(&world.place, world.repo.clone()).commit("a long file");
    let arguments = json!({"rev": "HEAD", "path": "long.txt"});
    let shown = |words: &[&str]| world.call(words, "repo_show_file", &arguments);
    assert_eq!(value(&shown(&[])), line.repeat(200));
    let cut = value(&shown(&["--output-budget", "500"]));
    let cut = cut.as_str().expect("a text");
    assert!(cut.ends_with(&format!("of {} bytes]", line.len() * 200)) && cut.len() < 700, "{cut}");
    assert_eq!(value(&shown(&["--output-budget", "0"])), line.repeat(200));
    let listed = value(&world.call(&["--output-budget", "500"], "repo_annotate", &json!({"path": "long.txt"})));
    assert_eq!((&listed["truncated"], &listed["total"]), (&json!(true), &json!(200)));
    let over = shown(&["--max-output-bytes", "500"]);
    assert_eq!(over["result"]["isError"], true, "{over}");
    assert_eq!(value(&over)["class"], "too_large");
    assert_eq!(value(&shown(&["--max-output-bytes", "0"])), line.repeat(200));
}

/// The JSON in the text of a result.
fn value(answer: &Value) -> Value {
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {answer}"));
    serde_json::from_str(text).expect("it is JSON")
}

#[test]
fn commands_are_logged_under_the_name_that_the_program_has() {
    let world = World::new();
    for name in NAMES {
        let log = world.place.at(format!("{name:?}.log"));
        let words = ["--allow-write", "--log-commands", log.to_str().expect("places have UTF-8 paths")];
        let params = json!({"name": "repo_create_branch", "arguments": {"name": format!("{name:?}")}});
        let answer = world.answered(name, &words, "tools/call", &params);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        let text = fs::read_to_string(&log).expect("it was made");
        let begins = |line: &str| line.starts_with(&format!("{}git ", name.prefix()));
        assert!(text.lines().count() > 0 && text.lines().all(begins), "{text}");
    }
}
