//! The help text of the direct surface.
//! Trust: constants.

use bulkhead_contract::direct::gate::GATED;

/// What `--help` prints.
#[must_use]
pub fn text(program: &str) -> String {
    let call = if program == "bulkhead" { "bulkhead --surface direct" } else { program };
    // the other program's command line has no such word
    let once = match program {
        "bulkhead" => format!("  {call} [FLAGS] call TOOL …  call one tool and print its result\n"),
        _ => String::new(),
    };
    let mut tools = String::new();
    for names in GATED.chunks(3) {
        tools.push_str(&format!(
            "  {}\n",
            names.iter().map(|name| format!("{name:<28}")).collect::<String>().trim_end()
        ));
    }
    format!(
        "Git for AI coding agents on one repository, without the keys: typed tools over MCP on standard input and output.\n\n\
         USAGE\n  {call} [FLAGS]            serve MCP\n{once}\n\
         FLAGS\n\
         \x20 --repo PATH               The repository, or a directory in it [default: .]\n\
         \x20 --allow-write             Open the gate for all tools that write\n\
         \x20 --allow-tools A,B         Open it for these (repeatable)\n\
         \x20 --hide-gated              Do not list tools that the gate is closed for\n\
         \x20 --timeout SECONDS         Time of one call, 0 for none [default: 120]\n\
         \x20 --output-budget BYTES     Lists and texts are cut to this, 0 for no budget [default: 200000]\n\
         \x20 --max-output-bytes BYTES  A longer answer is an error, 0 for no ceiling [default: 10485760]\n\
         \x20 --json-case CASE          snake or camel [default: snake]\n\
         \x20 --forge NAME              github, gitlab or gitea, whatever the remote looks like\n\
         \x20 --git PATH                The git that writes [default: the newest that is found]\n\
         \x20 --hooks off|run           Whether hooks of the repository run; results say which did, and which not [default: off]\n\
         \x20 --filters off|user        Whether filters of your own configuration run [default: off]\n\
         \x20 --allow-unsigned          Commit although your configuration wants signatures\n\
         \x20 --ssh-command COMMAND     What ssh remotes are reached with\n\
         \x20 --trust-repo-ssh-command  Take the repository's own word for that\n\
         \x20 --log-commands [stderr|FILE]  Log every command of Git\n\
         \x20 --gh-account LOGIN, --gh-token-env VAR  Beside --forge github; for later, as this build has no forge tools\n\
         \x20 --surface both            Serve the review surface's tools as well; needs --toolsets\n\
         \x20 -h, --help                This text\n\
         \x20 -V, --version             The version\n\n\
         Flags of every surface, such as --isolation, --audit or --log, are taken too: `bulkhead --help` has them.\n\n\
         TOOLS THAT WRITE\n{tools}\n\
         EXIT STATUS\n  0  the client closed standard input\n  1  a word that is wrong, a repository that cannot be served, \
         or an end before the first message\n"
    )
}
