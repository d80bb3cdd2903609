//! The worker of these tests: the product's own conversation and jail, around an operation of the product or a script.
//! Trust: scripts are the tests'; some of them play a Git that was taken over.

use bulkhead_ipc::{
    channel::{Stream, WorkerEnds},
    edge::write::{Allowed, Done, Operation, Outcome},
    inbox::Inbox,
};
use bulkhead_sandbox::inherited;
use bulkhead_worker_write::git::{Git, NotRun, Run};
use std::{
    ffi::OsStr,
    fs::{self, OpenOptions},
    io::{self, Write as _},
    net::{SocketAddr, TcpStream},
    process::{Command, ExitCode},
    time::Duration,
};

/// What this program does when the launcher starts it.
pub fn worker(arguments: &[String]) -> ExitCode {
    let (requests, answers) = inherited::worker_pipes().expect("the launcher put the pipes there");
    let network = arguments.get(1).is_some_and(|kind| kind == "write-net");
    let ends = WorkerEnds::new(Inbox::new(requests), Stream(answers));
    bulkhead_worker_write::run(ends, network, true, perform);
    ExitCode::SUCCESS
}

/// Another program, to be copied into a repository: says that it runs.
pub fn stand_in() -> ExitCode {
    println_to_stdout("the repository's own program runs");
    ExitCode::SUCCESS
}

fn println_to_stdout(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}

/// Carries out an operation as the product does, or a script, which travels as the paths of a commit without a message, or
/// as the name of a branch with spaces in it: the first word says what, the others with what. Every step's outcome is a note.
fn perform(operation: &Operation, allowed: &Allowed, git: &Git) -> Outcome {
    let script = match operation {
        Operation::Commit { paths, message, .. } if message.is_empty() => paths.clone(),
        Operation::Push { branch } if branch.contains(' ') => branch.split(' ').map(str::to_owned).collect(),
        _ => return bulkhead_worker_write::operations::perform(operation, allowed, git),
    };
    Outcome::Done(Box::new(Done { notes: act(&script, allowed, git), ..Done::default() }))
}

fn act(script: &[String], allowed: &Allowed, git: &Git) -> Vec<String> {
    let words: Vec<&str> = script.iter().map(String::as_str).collect();
    let did = |result: io::Result<String>| match result {
        Ok(said) => vec!["DID".to_owned(), said],
        Err(e) => vec![format!("{:?}", e.kind()), e.to_string()],
    };
    match words.as_slice() {
        ["git", arguments @ ..] => shown(git.run(arguments, None)),
        ["git<", stdin, arguments @ ..] => shown(git.run(arguments, Some(stdin.as_bytes()))),
        ["git=", name, value, arguments @ ..] => shown(git.run_with(arguments, &[(name, OsStr::new(value))], None)),
        // as much in as out: neither may wait for the other
        ["echo objects", id, times] => {
            let times: usize = times.parse().expect("a number");
            let run = git.run(["cat-file", "--batch"], Some(format!("{id}\n").repeat(times).as_bytes()));
            shown(run.map(|run| Run { stdout: run.stdout.len().to_string().into_bytes(), ..run }))
        }
        ["start", program, arguments @ ..] => did(Command::new(program)
            .args(arguments)
            .output()
            .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())),
        ["open", path] => did(fs::File::open(path).map(|_| String::new())),
        ["list", path] => did(fs::read_dir(path).map(|_| String::new())),
        ["write", path] => did(OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .and_then(|mut file| file.write_all(b"x"))
            .map(|()| String::new())),
        ["make executable and start", path] => did(make_executable(path)),
        ["connect", address] => {
            let address: SocketAddr = address.parse().expect("an address");
            did(TcpStream::connect_timeout(&address, Duration::from_secs(5)).map(|_| String::new()))
        }
        ["own", what] => vec![match *what {
            "path" => String::from_utf8_lossy(&allowed.root).into_owned(),
            _ => format!("{:?}", allowed.programs.network_files),
        }],
        other => vec![format!("no such script: {other:?}")],
    }
}

fn make_executable(path: &str) -> io::Result<String> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    Command::new(path).output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn shown(run: Result<Run, NotRun>) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(4_000)]).into_owned();
    match run {
        Ok(run) => vec![format!("{:?}", run.code), text(&run.stdout), text(&run.stderr), format!("cut {}", run.cut)],
        Err(why) => vec![format!("{why:?}"), why.to_string()],
    }
}
