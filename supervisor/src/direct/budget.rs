//! How long an answer may be: lists lose whole items, texts their end, and both say so (contract `direct/results.md` §4).
//! Trust: values come from workers that may be taken over; they are only measured.

use serde::Serialize;
use serde_json::{Value, json};

/// Bytes of an answer at most, whatever the operator says: it travels twice in one line.
pub const MOST: usize = 2 << 20;

/// Bytes that `value` takes as the text of a result.
#[must_use]
pub fn size(value: &Value) -> usize {
    pretty(value).len()
}

/// The text of a result: JSON with two spaces a level, as both references write it.
#[must_use]
pub fn pretty(value: &impl Serialize) -> String {
    // values of ours have string keys and no map that could fail
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// `items` where they fit, else as many of the first as do in an envelope. `total` is how many there are, where there are more
/// than these; `None`: more, and nobody counted.
#[must_use]
pub fn list(mut items: Vec<Value>, total: Option<u64>, budget: usize) -> Value {
    let here = items.len() as u64;
    if total == Some(here) {
        let whole = Value::Array(items);
        if size(&whole) <= budget {
            return whole;
        }
        let Value::Array(taken) = whole else { return Value::Null };
        items = taken;
        // at least one is left out, as the envelope says
        items.pop();
    }
    // as deep as it will stand: four more spaces on each of its lines, a comma, an end of line
    let grown = |item: &Value| {
        let text = pretty(item);
        text.len() + 4 * (1 + text.matches('\n').count()) + 2
    };
    // a list with items ends on a line of its own, and its last item has no comma
    const AROUND: usize = 2;
    let empty = size(&envelope(Vec::new(), 0, total));
    let (mut taken, mut shown) = (0, 0);
    for (at, item) in items.iter().enumerate() {
        taken += grown(item);
        let digits = (at + 1).to_string().len() - 1;
        if empty + digits + taken + AROUND > budget {
            break;
        }
        shown = at + 1;
    }
    items.truncate(shown);
    envelope(items, shown as u64, total)
}

fn envelope(items: Vec<Value>, shown: u64, total: Option<u64>) -> Value {
    json!({ "items": items, "truncated": true, "shown": shown, "total": total })
}

/// `text` where it is all, else with the sentence about its end. `whole` is how many bytes there are.
#[must_use]
pub fn text(mut text: String, whole: u64, budget: usize) -> String {
    if whole == text.len() as u64 && text.len() <= budget {
        return text;
    }
    let mut end = budget.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text += &format!("\n[truncated: showing {end} of {whole} bytes]");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(count: usize) -> Vec<Value> {
        (0..count).map(|n| json!({ "path": format!("file-{n}"), "kind": "Added", "deep": [[1], {}] })).collect()
    }

    #[test]
    fn the_largest_prefix_whose_envelope_fits() {
        for budget in 0..3_000 {
            let cut = list(items(20), Some(20), budget);
            let Some(shown) = cut.get("shown").and_then(Value::as_u64) else {
                assert!(size(&cut) <= budget && cut.as_array().is_some_and(|all| all.len() == 20));
                continue;
            };
            let held = cut["items"].as_array().expect("a list");
            assert_eq!((held.len() as u64, &cut["total"], &cut["truncated"]), (shown, &json!(20), &json!(true)));
            assert!(shown < 20 && (shown == 0 || size(&cut) <= budget), "{shown} in {budget}");
            let next = envelope(items(shown as usize + 1), shown + 1, Some(20));
            assert!(shown == 19 || size(&next) > budget, "{shown} in {budget}");
        }
    }

    #[test]
    fn what_was_cut_before_is_told_too() {
        let cut = list(items(3), Some(90), 100_000);
        assert_eq!((&cut["shown"], &cut["total"]), (&json!(3), &json!(90)));
        assert_eq!(list(items(2), None, 100_000)["total"], json!(null));
        assert_eq!(list(items(2), Some(2), 100_000).as_array().map(Vec::len), Some(2));
        assert_eq!(list(Vec::new(), Some(0), 0), json!({"items": [], "truncated": true, "shown": 0, "total": 0}));
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(text("aé".into(), 3, 3), "aé");
        assert_eq!(text("aé".into(), 3, 2), "a\n[truncated: showing 1 of 3 bytes]");
        assert_eq!(text("abc".into(), 70, 90), "abc\n[truncated: showing 3 of 70 bytes]");
    }
}
