//! `bulkhead tools`: the catalogue, for people and for programs, without speaking MCP.
//! Trust: constants of this build alone.

use crate::options::Options;
use bulkhead_supervisor::mcp::{list, stdio};
use std::process::ExitCode;

/// Prints the listed tools.
pub fn run(options: &Options, json: bool) -> ExitCode {
    let text = if json { list::tools_json(&options.settings) } else { list::tools_text(&options.settings) };
    match stdio::say(text.trim_end()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
