//! One restore record: a JSON file to typed members.
//! Trust: the file is hostile; a member of another kind than expected spoils the record, because a guess might call an
//! operation undoable that is not.

use crate::{
    files::{self, NoContents},
    worktree::disk::Dir,
};
use bulkhead_contract::{path::text_of, results::RestoreRecord};
use serde_json::{Map, Value};
use std::path::Path;

/// Bytes of one record at most.
const MAX_FILE: u64 = 1 << 20;
/// Characters of a member at most; references and ids are shorter.
const MAX_MEMBER: usize = 1_024;
/// Characters of the plan that is handed over whole; a longer one is left out.
const MAX_PLAN: usize = 12_000;
/// Levels of the plan: around it there are some more, and readers of JSON stop at 128.
const MAX_PLAN_DEPTH: usize = 64;

/// The record of `id` in the directory `rebase`; `None` where there is none.
///
/// # Errors
/// What is wrong with it, as the end of a sentence.
pub(super) fn read(rebase: &Path, id: &str) -> Result<Option<RestoreRecord>, String> {
    let name = format!("{id}.json");
    let file = Dir::open(rebase).and_then(|dir| dir.file(name.as_bytes())).map_err(|e| NoContents::of(&e));
    let file = match file {
        Ok(file) => file,
        Err(NoContents::Absent) => return Ok(None),
        Err(why) => return Err(format!("{why}.")),
    };
    let written = file.metadata().ok().and_then(|meta| meta.modified().ok());
    let written = written.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    let bytes = files::read_open(file, MAX_FILE).map_err(|why| format!("{why}."))?;
    let path = text_of(&files::path_bytes(&rebase.join(&name))).0;
    let written = written.and_then(|since| i64::try_from(since.as_secs()).ok()).unwrap_or_default();
    parse(&bytes, id, path, written).map(Some)
}

fn parse(bytes: &[u8], id: &str, checkpoint_path: String, written: i64) -> Result<RestoreRecord, String> {
    let members = match serde_json::from_slice(bytes) {
        Ok(Value::Object(members)) => members,
        Ok(_) => return Err("it is no JSON object.".to_owned()),
        Err(_) => return Err("it is not JSON.".to_owned()),
    };
    let text = |name| text(&members, name);
    let mut record = RestoreRecord {
        repo_id: id.to_owned(),
        checkpoint_path,
        written,
        operation: text("operation")?,
        before_commit: text("before_commit")?,
        after_commit: text("after_commit")?,
        branch_ref: text("branch_ref")?,
        undone: match members.get("undone") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(undone)) => *undone,
            Some(_) => return Err(other_kind("undone")),
        },
        created_at: match members.get("created_at") {
            None | Some(Value::Null) => None,
            Some(value) => Some(value.as_i64().ok_or_else(|| other_kind("created_at"))?),
        },
        before_ref: text("before_ref")?,
        after_ref: text("after_ref")?,
        upstream_ref: text("upstream_ref")?,
        reset_mode: text("reset_mode")?,
        plan: None,
        plan_characters: None,
    };
    if let Some(plan) = members.get("plan").filter(|plan| !plan.is_null()) {
        let text = plan.to_string();
        let length = text.chars().count();
        if length > MAX_PLAN || depth(plan) > MAX_PLAN_DEPTH {
            record.plan_characters = Some(length as u64);
        } else {
            record.plan = Some(text);
        }
    }
    Ok(record)
}

fn text(members: &Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.chars().count() <= MAX_MEMBER => Ok(Some(text.clone())),
        Some(Value::String(_)) => Err(format!("its member {name} is longer than {MAX_MEMBER} characters.")),
        Some(_) => Err(other_kind(name)),
    }
}

fn other_kind(name: &str) -> String {
    format!("its member {name} is of another kind than expected.")
}

/// Levels of nesting; the parser has refused more than 128.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<RestoreRecord, String> {
        parse(text.as_bytes(), "id", "/r/rebase/id.json".to_owned(), 5)
    }

    #[test]
    fn members_are_taken_as_they_are_and_absent_ones_are_null() {
        let record =
            of(r#"{"operation":"rebase","undone":true,"created_at":7,"plan":{"steps":[1]},"x":1}"#).expect("fine");
        assert_eq!((record.operation.as_deref(), record.undone, record.created_at), (Some("rebase"), true, Some(7)));
        assert_eq!((record.plan.as_deref(), record.before_commit), (Some(r#"{"steps":[1]}"#), None));
        assert_eq!(of("{}").expect("fine").time(), 5, "the file's own time stands in");
    }

    #[test]
    fn what_is_not_understood_spoils_the_record() {
        let long = format!(r#"{{"operation":"{}"}}"#, "x".repeat(2_000));
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        for text in
            ["", "[]", "{", "null", r#"{"undone":"no"}"#, r#"{"created_at":1.5}"#, r#"{"branch_ref":1}"#, &long, &deep]
        {
            assert!(of(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_plan_that_no_answer_holds_is_left_out_and_counted() {
        let long = of(&format!(r#"{{"plan":"{}"}}"#, "x".repeat(20_000))).expect("fine");
        assert_eq!((long.plan, long.plan_characters), (None, Some(20_002)));
        let deep = of(&format!(r#"{{"plan":{}{}}}"#, "[".repeat(100), "]".repeat(100))).expect("fine");
        assert_eq!((deep.plan, deep.plan_characters), (None, Some(200)));
    }
}
