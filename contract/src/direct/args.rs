//! Arguments as callers of the direct surface may write them, brought into the form of the rows (contract
//! `direct/disagreements.md`, rows 5, 6 and 16 to 18). Trust: nothing; what is wrong stays wrong for [`crate::args`] to name.

use crate::tool::{Argument, Kind, Tool};
use serde_json::{Map, Value};

/// Second names of arguments: the tool's name, the second name, the row's.
const ALIASES: [(&str, &str, &str); 4] = [
    ("repo_rename_branch", "old", "old_name"),
    ("repo_rename_branch", "new", "new_name"),
    ("repo_op_log", "limit", "max"),
    ("repo_restore_points", "limit", "max"),
];

/// The arguments by the names of the rows: what the rows do not know is left out, as is null where an argument may be; words
/// are in lower case, and numbers beyond the greatest are that one. No object at all is none, as absence is.
#[must_use]
pub fn settled(tool: &Tool, arguments: &Value) -> Value {
    let given = match arguments {
        Value::Object(given) => given,
        Value::Null => &Map::new(),
        other => return other.clone(),
    };
    let mut settled = Map::new();
    for row in tool.arguments {
        let second = ALIASES.iter().find(|(name, _, meant)| (*name, *meant) == (tool.name, row.name));
        let value = given.get(row.name).or_else(|| given.get(second?.1));
        if let Some(value) = value.and_then(|value| one(row, value)) {
            settled.insert(row.name.to_owned(), value);
        }
    }
    Value::Object(settled)
}

fn one(row: &Argument, value: &Value) -> Option<Value> {
    match (row.kind, value) {
        (_, Value::Null) if !row.required => None,
        (Kind::OneOf { .. }, Value::String(word)) => Some(word.to_lowercase().into()),
        (Kind::Integer { max, .. }, Value::Number(number)) => {
            let over = number.as_i64().map_or_else(|| number.is_u64(), |number| number > max);
            Some(if over { max.into() } else { value.clone() })
        }
        _ => Some(value.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{args::check, direct::TOOLS};
    use serde_json::json;

    fn tool(name: &str) -> &'static Tool {
        TOOLS.iter().find(|tool| tool.name == name).expect("it has a row")
    }

    fn settles(name: &str, arguments: Value) -> Result<Value, String> {
        let settled = settled(tool(name), &arguments);
        match check(tool(name), &settled) {
            Ok(_) => Ok(settled),
            Err(violations) => Err(violations.iter().map(|v| v.path.clone()).collect::<Vec<_>>().join(" ")),
        }
    }

    #[test]
    fn both_spellings_of_an_argument_are_taken() {
        let both = json!({"old_name": "a", "new_name": "b"});
        assert_eq!(settles("repo_rename_branch", json!({"old": "a", "new": "b"})), Ok(both.clone()));
        assert_eq!(settles("repo_rename_branch", both.clone()), Ok(both));
        assert_eq!(settles("repo_op_log", json!({"limit": 3})), Ok(json!({"max": 3})));
    }

    #[test]
    fn unknown_members_and_null_are_as_good_as_absent() {
        for none in [json!(null), json!({}), json!({"extra": true})] {
            assert_eq!(settles("repo_status", none), Ok(json!({})));
        }
        let fine = json!({"name": "x", "force": null});
        assert_eq!(settles("repo_delete_branch", fine), Ok(json!({"name": "x"})));
        assert_eq!(settles("repo_delete_branch", json!({"name": null})), Err("arguments.name".into()));
        assert_eq!(settles("repo_status", json!([])), Err("arguments".into()));
    }

    #[test]
    fn numbers_are_cut_and_words_folded() {
        let log = |max: Value| settles("repo_log", json!({"revspec_or_revset": "HEAD", "max": max}));
        for (given, kept) in [(json!(2), 2), (json!(u64::MAX), 2_147_483_647), (json!(i64::MAX), 2_147_483_647)] {
            assert_eq!(log(given).map(|settled| settled["max"].clone()), Ok(json!(kept)));
        }
        for bad in [json!(-1), json!(2.0), json!("2"), json!(1e30), json!(null)] {
            assert_eq!(log(bad), Err("arguments.max".into()));
        }
        let side = |word: &str| settles("repo_resolve_conflict", json!({"path": "a", "side": word}));
        assert_eq!(side("OURS").map(|settled| settled["side"].clone()), Ok(json!("ours")));
        assert_eq!(side("bogus"), Err("arguments.side".into()));
    }
}
