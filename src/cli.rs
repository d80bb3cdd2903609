//! The command line as data: flags, commands and their help texts.
//! Trust: the operator's own words; clap refuses what does not parse, `options.rs` what does not hold together.

use crate::env;
use bulkhead_contract::limits;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

const ABOUT: &str = "Git for AI coding agents, without the keys";

const LONG_ABOUT: &str = "\
Git for AI coding agents, without the keys.

Without a command, bulkhead is an MCP server on standard input and output: an MCP host starts it as a subprocess. \
A supervisor speaks the protocol and can do nothing else; every repository is read by a worker process of its own, \
which cannot write, run programs, open sockets or leave the repository. The same stack answers single calls from a \
shell (bulkhead call), and shows what confines it on this machine (bulkhead doctor).";

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "bulkhead", version, about = ABOUT, long_about = LONG_ABOUT, after_long_help = after_help(),
          max_term_width = 100)]
pub struct Cli {
    /// Flags that every command takes.
    #[command(flatten)]
    pub flags: Flags,
    /// What to do; without it, serve MCP.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Flags that every command takes.
#[derive(Debug, Args)]
#[command(next_display_order = 10)]
pub struct Flags {
    /// Allow reading beneath this directory (repeatable)
    ///
    /// The ceiling of everything that can be read; no MCP message can widen it. Without any: the repository around
    /// the current directory, and the home directory. The file system's root is never accepted.
    #[arg(long = "root", value_name = "DIR", global = true)]
    pub roots: Vec<PathBuf>,

    /// Read repositories owned by this user too (repeatable)
    ///
    /// Repositories are read when they are owned by the user who runs bulkhead (for root also by the user in
    /// SUDO_UID), or listed under safe.directory in that user's Git configuration. Containers and WSL mounts often
    /// need one more user, or any.
    #[arg(long = "trust-owner", value_name = "UID|any", global = true)]
    pub trust_owner: Vec<String>,

    /// What to demand of the machine
    ///
    /// required: every call is refused while a layer that must hold is missing. best-effort: go on with what there
    /// is, and say what is missing. off: one process, no layers, for debugging and for systems without them.
    #[arg(long, value_name = "DEMAND", value_enum, global = true)]
    pub isolation: Option<Isolation>,

    /// Show workers an empty file system with nothing but the roots in it
    ///
    /// Hides names, sizes and times of files outside the roots as well. Needs user namespaces, which many machines
    /// forbid; where they are missing, the worker starts without, and `doctor` says so. Adds about a millisecond to
    /// the start of a worker.
    #[arg(long, global = true)]
    pub empty_root: bool,

    /// Seconds one call may take, 1 to 3600 [default: 30]
    #[arg(long, value_name = "SECONDS", global = true, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub deadline: Option<u64>,

    /// MiB of private memory one worker may use, 64 or more [default: 1024]
    #[arg(long, value_name = "MIB", global = true, value_parser = clap::value_parser!(u64).range(64..=1_048_576))]
    pub worker_memory: Option<u64>,

    /// Which tools there are: review, direct or both [default: review]
    ///
    /// review: dotted tools on every repository beneath the roots, and proposals. direct: `repo_*` tools on one repository, reads
    /// always and writes behind a gate; it has flags of its own, `bulkhead --surface direct --help` shows them, and stands
    /// before any command. both: all of them.
    #[arg(long, value_name = "SURFACE", value_parser = ["review"])]
    pub surface: Option<String>,

    /// Spelling of tool names in the list [default: auto]
    ///
    /// Every tool can be called under both spellings. auto lists underscores for clients that are known to refuse
    /// dots, and dots for all others.
    #[arg(long, value_name = "SPELLING", value_enum, global = true)]
    pub tool_names: Option<ToolNames>,

    /// Groups of tools to serve, separated by commas [default: all]
    ///
    /// Together with --tools: those groups and those tools. What is not served is neither listed nor callable.
    #[arg(long, value_name = "SET,…", value_delimiter = ',', global = true)]
    pub toolsets: Vec<String>,

    /// Tools to serve, separated by commas [default: all]
    #[arg(long, value_name = "TOOL,…", value_delimiter = ',', global = true)]
    pub tools: Vec<String>,

    /// How much of the output schemas to list [default: brief]
    #[arg(long, value_name = "HOW", value_enum, global = true)]
    pub output_schemas: Option<OutputSchemas>,

    /// Directory for what outlives a session [default: $XDG_STATE_HOME/bulkhead]
    ///
    /// Also where restore points and the list of known repositories are read from; the place where FluxGit keeps its own
    /// is looked at too, where it exists.
    #[arg(long, value_name = "DIR", global = true)]
    pub run_dir: Option<PathBuf>,

    /// Loopback address of the gateway, where a person decides on proposals
    ///
    /// A literal loopback address or localhost with a port, for example 127.0.0.1:7777.
    #[arg(long, value_name = "ADDRESS", global = true)]
    pub gateway: Option<String>,

    /// File with the token that the gateway must know too
    ///
    /// With it, nothing is proposed before whoever listens at the address has shown that it knows the token, which itself is
    /// never sent. A regular file of your own with mode 600 and at least 32 characters, as `head -c 32 /dev/urandom | base64`
    /// prints them.
    #[arg(long, value_name = "FILE", global = true)]
    pub gateway_token_file: Option<PathBuf>,

    /// Whether calls are recorded in the ledger [default: best-effort]
    ///
    /// best-effort: every call is recorded where that is possible, and answers say where it is not. required: a call that
    /// cannot be recorded is refused. off: nothing is recorded. No read waits for the disk.
    #[arg(long, value_name = "HOW", value_enum, global = true)]
    pub audit: Option<Audit>,

    /// The ledger [default: audit/mcp.jsonl in the run directory]
    #[arg(long, value_name = "FILE", global = true)]
    pub audit_ledger: Option<PathBuf>,

    /// Ed25519 key that signs records, as unencrypted PKCS#8 PEM [default: the one that `audit init` made, if it did]
    #[arg(long, value_name = "FILE", global = true)]
    pub audit_sign_key: Option<PathBuf>,

    /// Write records with the contract's unkeyed fingerprints and without members of our own
    ///
    /// Whoever can read the ledger can then try out which arguments stood there.
    #[arg(long, global = true)]
    pub audit_compat: bool,

    /// Least severity of lines on standard error [default: warn]
    #[arg(long, value_name = "LEVEL", value_enum, global = true)]
    pub log: Option<Log>,

    /// Form of lines on standard error [default: text]
    #[arg(long, value_name = "FORM", value_enum, global = true)]
    pub log_format: Option<LogFormat>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// With settings.
    #[command(flatten)]
    Settled(Settled),
    /// Without any.
    #[command(flatten)]
    Aside(Aside),
}

/// What needs all that a server needs, settled.
#[derive(Debug, Subcommand)]
pub enum Settled {
    /// Call one tool and print its result
    ///
    /// Arguments are one JSON object, or key=value pairs whose values are taken as the tool wants them: text as it is
    /// written, everything else as JSON. A tool that needs repoPath gets the current directory when none is given.
    /// Prints indented JSON on a terminal and one line otherwise.
    #[command(
        after_long_help = "`bulkhead tools` lists them with their arguments.\n\nEXAMPLES\n  bulkhead call repo.brief\n  bulkhead call repo.status repoPath=~/src/app \
        limit=20\n  bulkhead call worktree.changes '{\"repoPath\": \"/srv/app\"}'\n\nEXIT STATUS\n  0  the tool \
        answered\n  1  it answered with an error, or the call was refused\n  2  the command line is not well-formed"
    )]
    Call {
        /// Name of the tool, in either spelling
        tool: String,
        /// One JSON object, or key=value pairs
        #[arg(value_name = "JSON | KEY=VALUE…")]
        arguments: Vec<String>,
    },
    /// List the tools with their arguments
    Tools {
        /// Print the entries as MCP's tools/list has them
        #[arg(long)]
        json: bool,
    },
    /// Verify a ledger: every record, the chain, the signatures
    ///
    /// Changes nothing and needs no more than the right to read. Without --require-signed, unsigned records are counted
    /// and accepted; without --since and --expect-sequence, a ledger whose end was cut off looks whole.
    #[command(
        after_long_help = "EXIT STATUS\n  0  nothing is wrong\n  2  the command line is not well-formed, or a key \
        or head cannot be read\n  3  the ledger is cut, forked, replaced, altered, or not signed as it should be; \
        standard error says which and where"
    )]
    VerifyAudit {
        /// The ledger's active file; rotated segments and checkpoints lie beside it
        ledger: PathBuf,
        /// Public key (SPKI PEM) that signatures are checked with (repeatable)
        #[arg(long, value_name = "PEM")]
        pubkey: Vec<PathBuf>,
        /// Every record and every checkpoint must be signed
        #[arg(long, requires = "pubkey")]
        require_signed: bool,
        /// The ledger must contain what this head states (a file that `audit head` printed)
        #[arg(long, value_name = "HEAD")]
        since: Option<PathBuf>,
        /// The ledger must reach this sequence
        #[arg(long, value_name = "N")]
        expect_sequence: Option<u64>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// The ledger that calls are recorded in: its key, its end, its records
    Audit {
        /// What to do
        #[command(subcommand)]
        command: AuditCommand,
    },
    /// Show what confines each process on this machine, measured in live processes
    #[command(after_long_help = "EXIT STATUS\n  0  what --isolation demands is met\n  1  bulkhead works, with less \
        isolation than it can have, or the current directory cannot be read\n  2  --isolation required is not met: \
        every call is refused")]
    Doctor {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// What needs nothing of what a server needs: it writes a host's file, or describes this program.
#[derive(Debug, Subcommand)]
pub enum Aside {
    Connect(Connect),
    /// Print a script that completes this command line in a shell
    ///
    /// The flags of --surface direct, which `bulkhead --surface direct --help` shows, are not in it.
    #[command(
        after_long_help = "EXAMPLES\n  bulkhead completions bash > ~/.local/share/bash-completion/completions/bulkhead\n  \
        bulkhead completions fish > ~/.config/fish/completions/bulkhead.fish"
    )]
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write the pages of all commands
    Man {
        /// Directory for the pages; it must be there
        directory: Option<PathBuf>,
    },
}

/// Write this server into the configuration of an MCP host
///
/// Shows what changes, keeps a copy of the file beside it, and leaves everything else in it as it is written. Without a host:
/// says which hosts are here and what would be done, and changes nothing. The server gets the flags that stand here, such as
/// --root, and what stands behind `--`. docs/hosts.md says which file that is.
#[derive(Debug, Args)]
#[command(
    after_long_help = "EXAMPLES\n  bulkhead connect                                  which hosts are here\n  bulkhead connect \
    claude-code --root ~/src         for every project of this user\n  bulkhead connect vscode --scope project           \
    for whoever opens this project\n  bulkhead connect cursor --dry-run                 what would change\n  bulkhead \
    connect codex --surface direct --repo . -- --allow-tools repo_commit\n  bulkhead connect zed --remove\n\nEXIT \
    STATUS\n  0  it is done, or nothing had to be\n  1  nothing was changed, and standard error says why\n  2  the \
    command line is not well-formed"
)]
pub struct Connect {
    /// Which host
    #[arg(value_name = "HOST", value_parser = clap::builder::PossibleValuesParser::new(crate::connect::host_names()))]
    pub host: Option<String>,
    /// Whose configuration: this user's, or that of the project around the current directory
    #[arg(long, value_enum, default_value_t = Scope::User)]
    pub scope: Scope,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Take the server out again
    #[arg(long, conflicts_with_all = ["surface", "repo", "program", "further"])]
    pub remove: bool,
    /// Which tools the server has
    #[arg(long, value_enum, default_value_t = ServedSurface::Review)]
    pub surface: ServedSurface,
    /// The repository of --surface direct or both [default: the project, with --scope project]
    #[arg(long, value_name = "DIR")]
    pub repo: Option<PathBuf>,
    /// What the server is called in the host's file
    #[arg(long, value_name = "NAME", default_value = "bulkhead", value_parser = crate::connect::server_name)]
    pub name: String,
    /// What the host starts: a path, or a name that it looks for in PATH [default: this program's own path]
    #[arg(long = "command", value_name = "PROGRAM")]
    pub program: Option<PathBuf>,
    /// Further flags of the server
    #[arg(last = true, value_name = "FLAGS")]
    pub further: Vec<String>,
}

/// `connect --scope`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Scope {
    /// Every project of this user
    User,
    /// The project around the current directory
    Project,
}

/// `connect --surface`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ServedSurface {
    /// Dotted tools on every repository beneath the roots
    Review,
    /// `repo_*` tools on one repository
    Direct,
    /// Both
    Both,
}

/// What to do with the ledger.
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Make the signing key, once; servers that start afterwards sign with it
    Init,
    /// Print a signed statement of where the ledger ends, to be kept outside the machine
    ///
    /// `verify-audit --since` fails on a ledger that does not contain what it states. Takes the key that signs records.
    Head,
    /// Show the last records, one a line; they are not verified
    Tail {
        /// Go on as records come
        #[arg(short, long)]
        follow: bool,
        /// How many
        #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
        lines: usize,
    },
    /// Print records for other programs; they are not verified
    Export {
        /// Comma-separated values with a header (default)
        #[arg(long, conflicts_with = "json")]
        csv: bool,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
        /// Only records after this sequence
        #[arg(long, value_name = "SEQUENCE", default_value_t = 0)]
        since: u64,
        /// Only records of this tool
        #[arg(long, value_name = "TOOL")]
        tool: Option<String>,
        /// Only records with this result: success, error or blocked
        #[arg(long, value_name = "RESULT", value_parser = ["success", "error", "blocked"])]
        result: Option<String>,
    },
}

/// `--isolation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Isolation {
    /// Refuse calls while a layer is missing.
    Required,
    /// Go on and say what is missing.
    BestEffort,
    /// One process, no layers.
    Off,
}

/// `--audit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Audit {
    /// Refuse calls that cannot be recorded.
    Required,
    /// Go on, and say so.
    BestEffort,
    /// Record nothing.
    Off,
}

/// `--tool-names`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ToolNames {
    /// By the client.
    Auto,
    /// repo.status
    Dotted,
    /// repo_status
    Underscore,
}

/// `--output-schemas`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputSchemas {
    /// Everything.
    Full,
    /// The members of data, one level deep.
    Brief,
    /// None.
    None,
}

/// `--log`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Log {
    /// What the operator should act on.
    Warn,
    /// Starts and ends of workers.
    Info,
    /// Everything.
    Debug,
}

/// `--log-format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines of text.
    Text,
    /// Lines of JSON.
    Json,
}

fn after_help() -> String {
    format!(
        "{}\nEXIT STATUS\n  0  the client closed standard input, or the server was told to stop\n  1  the server could \
         not start\n  2  the command line is not well-formed\n\nLIMITS\n  a request  {} MiB\n  a result   {} characters \
         unless more is asked for\n  requests   {} open at a time, then busy\n  workers    {} live at a time\n\nEXAMPLES\n  \
         bulkhead --root ~/src                  serve every repository beneath ~/src\n  bulkhead call repo.brief        \
                the brief of the repository here\n  bulkhead doctor                        what confines it here\n  bulkhead connect                       which MCP hosts can be told of it",
        env::help(),
        limits::MAX_REQUEST_BYTES >> 20,
        limits::DEFAULT_ANSWER_CHARS,
        limits::MAX_OPEN_REQUESTS,
        limits::MAX_READ_WORKERS,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_variable_names_an_existing_flag() {
        let command = Cli::command();
        for variable in env::ALL {
            let flag = variable.flag.trim_start_matches("--");
            let shared = command.get_arguments().any(|a| a.get_long() == Some(flag));
            // of the direct surface's own flags one has a variable
            assert!(shared || flag == "git", "{}", variable.flag);
        }
    }
}
