//! `bulkhead audit tail` and `export`: records as they stand there, for people and for other programs.
//! Trust: records may be forged; control characters are escaped, and spreadsheets are kept from taking a cell for a formula.

use bulkhead_ledger::{
    read::{self, Row},
    verify::of_path,
};
use bulkhead_supervisor::mcp::{stdio::say, visible::visible};
use serde_json::{Map, Value};
use std::{collections::VecDeque, ops::ControlFlow, path::Path, process::ExitCode, thread, time::Duration};

/// Most lines that `tail` holds.
const MAX_TAIL: usize = 100_000;
/// Time between two looks of `tail -f`.
const LOOK: Duration = Duration::from_millis(500);
/// Columns of a table, in its order.
const COLUMNS: [&str; 14] = [
    "sequence",
    "timestamp",
    "event_type",
    "tool",
    "result",
    "approval",
    "risk",
    "repo_scope",
    "args_fingerprint",
    "session_id",
    "duration_ms",
    "summary",
    "reported",
    "entryHash",
];

/// Which records.
#[derive(Debug, Default)]
pub struct Chosen<'a> {
    /// After this sequence.
    pub since: u64,
    /// Of this tool.
    pub tool: Option<&'a str>,
    /// With this result.
    pub result: Option<&'a str>,
}

impl Chosen<'_> {
    fn fits(&self, members: &Map<String, Value>) -> bool {
        let is = |name: &str, wanted: Option<&str>| {
            wanted.is_none_or(|wanted| members.get(name).and_then(Value::as_str) == Some(wanted))
        };
        is("tool", self.tool) && is("result", self.result)
    }
}

/// Prints records.
pub fn export(ledger: &Path, json: bool, chosen: &Chosen<'_>) -> ExitCode {
    let mut broken = 0u64;
    if !json && say(&COLUMNS.join(",")).is_err() {
        return ExitCode::FAILURE;
    }
    let walked = walk(ledger, chosen.since, |row| {
        let Ok(members) = &row.members else {
            broken += 1;
            return ControlFlow::Continue(());
        };
        if !chosen.fits(members) {
            return ControlFlow::Continue(());
        }
        let line = if json {
            visible(Value::Object(members.clone()).to_string())
        } else {
            COLUMNS.map(|column| cell(members.get(column))).join(",")
        };
        // whoever reads it may have seen enough
        if say(&line).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    if broken > 0 {
        crate::complain(&format!(
            "{broken} lines are no records and were left out; `bulkhead verify-audit` says which"
        ));
    }
    ended(walked)
}

/// Prints the last records, and those that come where that is wanted.
pub fn tail(ledger: &Path, lines: usize, follow: bool) -> ExitCode {
    let lines = lines.min(MAX_TAIL);
    let mut last: VecDeque<String> = VecDeque::new();
    let mut reached = 0;
    let walked = walk(ledger, 0, |row| {
        reached = row.sequence().unwrap_or(reached);
        last.push_back(line(&row));
        if last.len() > lines {
            last.pop_front();
        }
        ControlFlow::Continue(())
    });
    if walked.is_err() && !follow {
        return ended(walked);
    }
    if last.iter().any(|line| say(line).is_err()) {
        return ExitCode::SUCCESS;
    }
    if !follow {
        return ExitCode::SUCCESS;
    }
    loop {
        thread::sleep(LOOK);
        let mut gone = false;
        // a ledger that is not there, or is being rotated, is looked for again
        let _ = walk(ledger, reached, |row| {
            // a line that has no end yet is a record at the next look
            if row.members.is_ok() && row.sequence().is_some() {
                reached = row.sequence().unwrap_or(reached);
                gone = say(&line(&row)).is_err();
            }
            if gone { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if gone {
            return ExitCode::SUCCESS;
        }
    }
}

fn walk(ledger: &Path, after: u64, visit: impl FnMut(Row) -> ControlFlow<()>) -> Result<(), String> {
    let snapshot = of_path(ledger).map_err(|why| why.to_string())?;
    read::rows(snapshot, after, visit).map_err(|why| why.to_string())
}

fn ended(walked: Result<(), String>) -> ExitCode {
    match walked {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            crate::complain(&why);
            ExitCode::FAILURE
        }
    }
}

/// One record for people: sequence, time, tool, how it ended.
fn line(row: &Row) -> String {
    let members = match &row.members {
        Ok(members) => members,
        Err(why) => return format!("line {} of file {}: no record: {why}", row.line, row.segment),
    };
    let text = |name: &str| match members.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => "-".to_owned(),
    };
    let time = members.get("timestamp").and_then(Value::as_u64).map_or_else(|| "-".to_owned(), time);
    visible(format!(
        "{:>8}  {time}  {:<12} {:<24} {:<8} {:>6} ms  {}",
        text("sequence"),
        text("event_type"),
        text("tool"),
        text("result"),
        text("duration_ms"),
        text("summary")
    ))
    .replace(|c: char| c.is_control(), " ")
}

/// A cell of a table: quoted where it must be, and never the beginning of a formula.
fn cell(value: Option<&Value>) -> String {
    let text = match value {
        None | Some(Value::Null) => return String::new(),
        Some(Value::String(text)) => visible(text.clone()),
        Some(other) => return other.to_string(),
    };
    let guarded = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("\'{text}") } else { text };
    if guarded.contains([',', '"', '\n', '\r']) { format!("\"{}\"", guarded.replace('"', "\"\"")) } else { guarded }
}

/// UTC as `2026-01-31 23:59:59.000`, from milliseconds since 1970.
fn time(ms: u64) -> String {
    let (days, rest) = (ms / 86_400_000, ms % 86_400_000);
    // the calendar by eras of 400 years, which begin on 1 March
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{:03}", rest % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (ms, text) in [
            (0, "1970-01-01 00:00:00.000"),
            (951_782_400_123, "2000-02-29 00:00:00.123"),
            (1_767_225_599_999, "2025-12-31 23:59:59.999"),
            (4_107_542_400_000, "2100-03-01 00:00:00.000"),
        ] {
            assert_eq!(time(ms), text);
        }
    }

    #[test]
    fn a_cell_is_no_formula_and_no_second_cell() {
        for (value, text) in [
            (json!("plain"), "plain"),
            (json!("a,b"), "\"a,b\""),
            (json!("say \"x\""), "\"say \"\"x\"\"\""),
            (json!("=1+1"), "'=1+1"),
            (json!(7), "7"),
            (json!(null), ""),
        ] {
            assert_eq!(cell(Some(&value)), text);
        }
    }
}
