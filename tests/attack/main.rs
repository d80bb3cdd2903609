//! Attacks on an MCP server for Git, as a black box: what is built, sent or taken away, and whether everything held.
//! Trust: the server under attack is a suspect, and so is everything that it is given (`docs/attack.md`).
//!
//! `cargo test --workspace --test attack -- --command "some-server --repo {repo}"` attacks any server; without a command,
//! both surfaces of this product, which must be safe in everything, and a careless server of its own, which must not: an attack
//! that hits nobody shows nothing. Started as root, what depends on that is done once more as an ordinary user;
//! `BULKHEAD_SLOW=1` adds full sizes, and every attack once under each missing layer.

#[cfg(target_os = "linux")]
#[path = "../support/mod.rs"]
mod support;

#[cfg(target_os = "linux")]
#[path = "."]
mod suite {
    mod careless;
    mod catalogue;
    mod client;
    mod document;
    mod options;
    mod questions;
    mod repositories;
    mod run;
    mod streams;
    mod subject;
    mod surroundings;
    mod user;
    mod verdict;
    mod watch;

    use crate::support;
    use std::process::ExitCode;

    pub fn main() -> ExitCode {
        let options = match options::Options::read(std::env::args().skip(1)) {
            Ok(options) => options,
            Err(why) => {
                eprintln!("attack: {why}");
                return ExitCode::from(2);
            }
        };
        if let Some(repo) = &options.careless {
            return careless::serve(repo);
        }
        if options.list {
            run::list();
            return ExitCode::SUCCESS;
        }
        match run::all(&options) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(why) => {
                eprintln!("attack: {why}");
                ExitCode::from(2)
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    suite::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}
