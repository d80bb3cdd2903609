//! How an operation fails: the kind, all of the reason, what to do next.
//! Trust: what Git said may hold anything that a repository or a remote put there; it is shown, bounded, never obeyed.

use crate::bounded::both_ends;
pub(crate) use crate::bounded::bounded;
use crate::git::{NotRun, Run};
use bulkhead_contract::direct::Class;
use bulkhead_ipc::edge::write::{Failed, MAX_REASON};

/// A step of an operation.
pub(crate) type Step<T> = Result<T, Box<Failed>>;

/// Characters of what Git said that are shown; the rest of a reason is ours, and stands in full.
const MAX_SAID: usize = 6_000;
/// Names in one sentence at most.
const MAX_NAMED: usize = 20;

/// A failure; where the repository stands is filled in at the end.
pub(crate) fn failed(class: Class, reason: impl Into<String>, next: impl Into<String>) -> Box<Failed> {
    Box::new(Failed {
        class,
        reason: bounded(reason.into(), MAX_REASON),
        next: next.into(),
        state: None,
        restore_point: None,
        unmerged: Vec::new(),
        ran: Vec::new(),
    })
}

/// What the repository's owner, the operator or Git does not allow.
pub(crate) fn refused<T>(reason: impl Into<String>, next: impl Into<String>) -> Step<T> {
    Err(failed(Class::Refused, reason, next))
}

/// Git did not run to its end.
pub(crate) fn not_run(why: &NotRun) -> Box<Failed> {
    match why {
        NotRun::Deadline => failed(
            Class::Timeout,
            "The time of the call passed while Git was running; it was ended.",
            "Look at the state of the repository, then try again with more time.",
        ),
        NotRun::Cancelled => failed(
            Class::Cancelled,
            "The call was cancelled while Git was running; it was ended.",
            "Look at the state of the repository before the next write.",
        ),
        NotRun::Spawn(why) => failed(
            Class::Failed,
            format!("Git could not be started: {why}"),
            "Ask the operator to look at the server's isolation report.",
        ),
    }
}

/// Git ran and failed: our sentence, what it said, and its kind where that can be told.
pub(crate) fn git_failed(sentence: &str, run: &Run) -> Box<Failed> {
    let said = said(run);
    let mut reason = sentence.to_owned();
    // what it had said by then does not say why it ended
    let (class, next) = match run.signal {
        Some(_) => {
            (Class::Failed, "Look at the state of the repository, then try again; the machine may be short of memory.")
        }
        None => kind(&said),
    };
    if let Some(signal) = run.signal {
        reason.push_str(&format!("\nGit was ended by signal {signal}."));
    } else if said.is_empty() {
        let code = run.code.unwrap_or_default();
        reason.push_str(&format!("\nGit said nothing and ended with status {code}."));
    }
    if !said.is_empty() {
        reason.push_str("\nGit said:\n");
        reason.push_str(&said);
    }
    failed(class, reason, next)
}

/// What Git said on standard error, without hints, progress and control characters.
pub(crate) fn said(run: &Run) -> String {
    let text = String::from_utf8_lossy(&run.stderr);
    let mut kept = String::new();
    for line in text.lines() {
        // progress overwrites itself
        let line = line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default();
        if line.trim().is_empty() || line.starts_with("hint:") || line.starts_with("remote: hint:") {
            continue;
        }
        kept.extend(line.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }));
        kept.push('\n');
    }
    kept.truncate(kept.trim_end().len());
    both_ends(&kept, MAX_SAID, run.cut)
}

/// Names for a sentence: the first few, and how many there are.
pub(crate) fn named<S: AsRef<str>>(names: &[S]) -> String {
    let mut text = names.iter().take(MAX_NAMED).map(|name| shown(name.as_ref())).collect::<Vec<_>>().join(", ");
    if names.len() > MAX_NAMED {
        text.push_str(&format!(" and {} more ({} in all)", names.len() - MAX_NAMED, names.len()));
    }
    text
}

/// A name as it may stand in a sentence: no control characters, bounded.
pub(crate) fn shown(name: &str) -> String {
    let safe = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    match name.chars().count() {
        0..=200 => name.chars().map(safe).collect(),
        total => format!("{}… [{total} characters]", name.chars().take(180).map(safe).collect::<String>()),
    }
}

/// Words of Git that tell a kind of failure; the first row that fits counts. They are the untranslated ones, as Git is
/// always run with `LC_ALL=C`.
const KINDS: &[(&[&str], Class, &str)] = &[
    (
        &[
            ".lock': File exists",
            "Unable to create '",
            "unable to lock",
            "could not lock",
            "packed-refs.new: File exists",
            "is locked by another",
        ],
        Class::Locked,
        "Wait until the other Git has ended; if none runs, delete the lock file that is named, then try again.",
    ),
    (
        &[
            "Authentication failed",
            "could not read Username",
            "could not read Password",
            "Permission denied (",
            "HTTP 401",
            "HTTP 403",
            "error: 401",
            "error: 403",
            "terminal prompts disabled",
            "Host key verification failed",
        ],
        Class::Auth,
        "Ask the operator to give the server credentials for that remote.",
    ),
    (
        &[
            "does not appear to be a git repository",
            "Repository not found",
            "repository not found",
            "' not found",
            "error: 404",
            "couldn't find remote ref",
            "does not exist",
        ],
        Class::NotFound,
        "Check the remote's URL and the names.",
    ),
    (
        &["cannot run ssh", "unable to fork", "is not a git command"],
        Class::Failed,
        "Ask the operator which programs for remotes the server has.",
    ),
    (
        &[
            "Could not resolve host",
            "Could not resolve hostname",
            "Connection refused",
            "Connection timed out",
            "Connection reset",
            "Failed to connect",
            "Couldn't connect",
            "No route to host",
            "Network is unreachable",
            // of a file Git says the same, with a path
            "unable to access 'http",
            "early EOF",
            "hung up unexpectedly",
            "unexpected disconnect",
            "RPC failed",
            "Operation timed out",
            "Could not read from remote repository",
        ],
        Class::Network,
        "Try again later; if it stays so, ask the operator whether the server may reach that host.",
    ),
    (
        &["Please tell me who you are", "empty ident name", "unable to auto-detect email", "identity unknown"],
        Class::Refused,
        "Ask the operator to set user.name and user.email in their own Git configuration.",
    ),
    (
        &[
            "would be overwritten by",
            "cannot rebase: You have unstaged changes",
            "Please commit your changes or stash them",
            "contains modified or untracked files",
            "uncommitted changes",
            "not uptodate. Cannot",
        ],
        Class::Dirty,
        "Commit the changes, or have them moved away, then try again.",
    ),
    (
        &[
            "unmerged",
            "need to resolve your current index first",
            "CONFLICT (",
            "could not apply",
            "Automatic merge failed",
        ],
        Class::Conflict,
        "Resolve the unmerged paths with repo_resolve_conflict, then repo_continue_in_progress, or repo_abort_in_progress.",
    ),
    (
        &[
            "bad object",
            "is corrupt",
            "object file",
            "loose object",
            "missing blob",
            "missing tree",
            "unable to read tree",
            "index file corrupt",
            "bad index file",
            "index file smaller",
            "not a git repository",
            "unknown error occurred while reading the configuration",
            "error processing config",
            "exceeded maximum include depth",
        ],
        Class::Unusable,
        "The repository is damaged or incomplete; have it checked with git fsck.",
    ),
    (
        &["exceeded maximum allowed tree depth"],
        Class::TooLarge,
        "Git takes no tree of so many levels; name another commit.",
    ),
    (
        &["No space left on device", "Read-only file system", "Disk quota exceeded"],
        Class::Failed,
        "Make room where the repository is, then try again.",
    ),
    (
        &["already used by worktree", "already checked out at", "is locked", "refusing to", "cannot lock ref"],
        Class::Refused,
        "Look at repo_worktrees and repo_branches for what is in the way.",
    ),
];

/// Why a lock file could not be made other than that it is there already.
const NOT_LOCKED: &[&str] =
    &[": Permission denied", ": Read-only file system", ": No space left", ": Disk quota exceeded"];

fn kind(said: &str) -> (Class, &'static str) {
    let fits = |words: &[&str]| words.iter().any(|word| said.contains(word));
    match KINDS.iter().find(|(words, _, _)| fits(words)) {
        Some((_, Class::Locked, _)) if fits(NOT_LOCKED) => {
            (Class::Failed, "Make room, or give the server's user the right to write there, then try again.")
        }
        Some((_, class, next)) => (*class, *next),
        None => (Class::Failed, "Read what Git said, and look at the state of the repository."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(stderr: &str) -> Run {
        Run { code: Some(1), signal: None, stdout: Vec::new(), stderr: stderr.into(), cut: false }
    }

    #[test]
    fn all_that_git_said_is_told_but_its_hints_and_its_progress() {
        let failed = git_failed(
            "The push was refused.",
            &run("Counting: 1%\rCounting: 100%\nhint: do this\nfatal: a\x1b[31m\nand more\n"),
        );
        assert_eq!(failed.reason, "The push was refused.\nGit said:\nCounting: 100%\nfatal: a\u{fffd}[31m\nand more");
    }

    #[test]
    fn what_git_said_stays_within_its_limit_and_says_how_long_it_was() {
        let failed = git_failed("It failed.", &run(&"é".repeat(20_000)));
        assert!(failed.reason.chars().count() <= MAX_SAID + 100);
        assert!(failed.reason.contains("… [20000 characters in all] …"), "{}", failed.reason.len());
        let said = format!("first{}\nlast", "x".repeat(20_000));
        let failed = git_failed("It failed.", &Run { cut: true, ..run(&said) });
        assert!(failed.reason.contains("first") && failed.reason.ends_with("last"), "{}", failed.reason);
        assert!(failed.reason.contains("[at least 20010 characters in all]"), "{}", failed.reason);
        assert_eq!(bounded("x".repeat(90), 40), format!("{}… [90 characters in all]", "x".repeat(16)));
    }

    #[test]
    fn a_signal_is_told_as_one_whatever_git_had_said() {
        for said in ["", "error: bad object 1234\n"] {
            let run = Run { code: None, signal: Some(9), ..run(said) };
            let failed = git_failed("It did not end well.", &run);
            assert_eq!(failed.class, Class::Failed);
            assert!(failed.reason.contains("ended by signal 9.") && failed.reason.contains(said.trim()), "{failed:?}");
        }
    }

    #[test]
    fn the_kind_is_told_by_what_git_says() {
        for (said, class) in [
            ("fatal: Unable to create '/r/.git/index.lock': File exists.", Class::Locked),
            ("error: could not lock '.git/MERGE_MSG': File exists", Class::Locked),
            ("fatal: Unable to create '/r/.git/index.lock': Permission denied", Class::Failed),
            ("error: could not lock config file .git/config: Read-only file system", Class::Failed),
            ("fatal: unable to access 'https://h/': Could not resolve host: h", Class::Network),
            (
                "warning: unable to access '/r/config': Permission denied\nfatal: error processing config",
                Class::Unusable,
            ),
            ("fatal: Authentication failed for 'https://h/'", Class::Auth),
            ("fatal: unable to access 'https://h/': The requested URL returned error: 403", Class::Auth),
            ("fatal: '/x' does not appear to be a git repository", Class::NotFound),
            ("Author identity unknown", Class::Refused),
            ("fatal: something new", Class::Failed),
        ] {
            assert_eq!(git_failed("x", &run(said)).class, class, "{said}");
        }
    }
}
