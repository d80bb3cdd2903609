//! `--log-commands`: every command of Git, one a line, on standard error or at the end of a file.
//! Trust: words of a command hold an agent's texts, which were quoted; what would begin a line or hide is taken out here again.

use crate::hiding::hides;
use std::{
    fs::File,
    io::Write as _,
    sync::{Arc, Mutex},
};

/// Where commands are logged.
#[derive(Debug, Clone)]
pub enum CommandLog {
    /// Standard error.
    Stderr,
    /// A file that was opened for appending before this process was confined.
    File(Arc<Mutex<File>>),
}

impl CommandLog {
    /// Writes them down, each behind the name that the program was started under. A log that cannot be written stops nothing.
    pub fn take(&self, program: &str, commands: &[String]) {
        let text: String = commands.iter().map(|command| line(program, command)).collect();
        let _ = match self {
            CommandLog::Stderr => std::io::stderr().write_all(text.as_bytes()),
            CommandLog::File(file) => match file.lock() {
                Ok(mut file) => file.write_all(text.as_bytes()),
                Err(_) => Ok(()),
            },
        };
    }
}

fn line(program: &str, command: &str) -> String {
    let shown = |c: char| if c.is_control() || hides(c) { '\u{fffd}' } else { c };
    format!("{program}: {}\n", command.chars().map(shown).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_command_begins_a_line_of_its_own() {
        let line = line("vcs-mcp", "git commit -m a\nvcs-mcp: git push --force \u{202e}x");
        assert_eq!((line.matches('\n').count(), line.ends_with('\n')), (1, true), "{line}");
        assert!(line.starts_with("vcs-mcp: git ") && !line.contains('\u{202e}'), "{line}");
    }
}
