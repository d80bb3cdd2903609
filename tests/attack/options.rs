//! The command line of the suite.
//! Trust: the operator's words; words of the test harness are let pass.

use super::{catalogue::ATTACKS, subject::DEADLINE};
use std::path::PathBuf;

/// How it is used.
pub const USAGE: &str = "\
attack: hostile repositories, protocol streams and surroundings against an MCP server on standard input and output

  --command 'SERVER ARG…'  attack this server: {repo} stands for a repository, {root} for the directory around it;
                           words are told apart by blanks. Without it, both surfaces of bulkhead are attacked
  --list                   every attack, and nothing else
  --only ID,ID…            these attacks alone (R14 is R14, R14b, …)
  --deadline SECONDS       what a call may take (10); the verdict allows twice that for a loaded machine
  --without LAYER          seen through a filter that takes this layer away; 'each' for one after another
  --isolation LEVEL        with --without, for bulkhead: required or best-effort (both)
  --jobs N                 attacks at the same time (one more than processors, four at most)

exit status: 0 all safe, 1 something is not, 2 the command line is wrong. BULKHEAD_SLOW=1: full sizes
";

/// The settled command line.
#[derive(Debug, Clone)]
pub struct Options {
    pub command: Option<String>,
    pub list: bool,
    pub only: Vec<String>,
    pub deadline: u64,
    pub without: Option<String>,
    pub isolation: Option<String>,
    pub jobs: usize,
    /// The product, where it is not where it was built.
    pub product: PathBuf,
    /// Whether this is the second run, as an ordinary user.
    pub as_user: bool,
    /// Whether this is the careless server, and of which repository.
    pub careless: Option<String>,
}

impl Options {
    /// Reads the command line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(words: impl Iterator<Item = String>) -> Result<Self, String> {
        // one more than there are processors: some attacks do little but wait
        let jobs = std::thread::available_parallelism().map_or(1, usize::from).min(3) + 1;
        let mut options = Self {
            command: None,
            list: false,
            only: Vec::new(),
            deadline: DEADLINE,
            without: None,
            isolation: None,
            jobs,
            product: env!("CARGO_BIN_EXE_bulkhead").into(),
            as_user: false,
            careless: None,
        };
        let mut words = words.peekable();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} wants a value"));
            let number = |text: String| text.parse::<u64>().map_err(|_| format!("{word} wants a number, not {text:?}"));
            match word.as_str() {
                "--command" => options.command = Some(value()?),
                "--list" => options.list = true,
                "--only" => options.only.extend(value()?.split(',').map(str::to_owned)),
                "--deadline" => options.deadline = number(value()?)?.max(1),
                "--without" => options.without = Some(value()?),
                "--isolation" => options.isolation = Some(value()?),
                "--jobs" => options.jobs = usize::try_from(number(value()?)?).unwrap_or(jobs).max(1),
                "--product" => options.product = value()?.into(),
                "as-user" => options.as_user = true,
                "--careless" => options.careless = Some(value()?),
                "--test-threads" | "--format" | "--color" | "--skip" => drop(value()?),
                "--nocapture" | "--no-capture" | "--show-output" | "--quiet" | "-q" | "--include-ignored"
                | "--exact" => {}
                other if other.starts_with("--test-threads=") => {}
                other if other.starts_with('-') => return Err(format!("{other} is not known\n\n{USAGE}")),
                // the filter of a test run: it chooses among attacks as it would among tests
                filter => options.only.extend(matching(filter)),
            }
        }
        for id in &options.only {
            if !id.is_empty() && !ATTACKS.iter().any(|attack| attack.id.starts_with(id.as_str())) {
                return Err(format!("there is no attack {id:?}; --list shows all"));
            }
        }
        Ok(options)
    }

    /// Whether this attack was asked for.
    pub fn chooses(&self, id: &str) -> bool {
        let of_kind = |only: &String| {
            id.strip_prefix(only.as_str()).is_some_and(|rest| rest.chars().all(|c| c.is_ascii_lowercase()))
                && !only.is_empty()
        };
        self.only.is_empty() || self.only.iter().any(of_kind)
    }
}

/// Attacks that a word of a test run chooses; where there are none, none are run.
fn matching(filter: &str) -> Vec<String> {
    let found = ATTACKS.iter().filter(|it| it.id == filter || it.kind.contains(filter) || "attack".contains(filter));
    let mut ids: Vec<String> = found.map(|attack| attack.id.to_owned()).collect();
    if ids.is_empty() {
        ids.push(String::new());
    }
    ids
}
