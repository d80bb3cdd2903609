//! JSON text whose every character can be seen: what hides, reorders or ends a line is written as `\uXXXX`.
//! Trust: the text is JSON that we rendered; its strings come from repositories and agents.

use crate::hiding::hides;
use std::fmt::Write as _;

/// The same JSON value, with no character of the categories Cc, Cf, Zl and Zp outside ASCII white space in its text.
/// `json` must be JSON: there, such characters can only stand inside strings.
#[must_use]
pub fn visible(json: String) -> String {
    if !json.chars().any(hides) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + json.len() / 8);
    let mut units = [0; 2];
    for c in json.chars() {
        if !hides(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut units) {
            // writing to a string cannot fail
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn what_hides_is_escaped_and_the_value_stays() {
        let hidden = "\u{7f}\u{80}\u{85}\u{9f}\u{ad}\u{61c}\u{180e}\u{200b}\u{200f}\u{2028}\u{2029}\u{202e}\u{2060}\u{206f}\
                      \u{feff}\u{fff9}\u{fffb}\u{e0000}\u{e0001}\u{e007f}";
        for c in hidden.chars() {
            let value = json!({ format!("k{c}"): [format!("a\n\"{c}\\é")] });
            let text = visible(value.to_string());
            assert!(!text.contains(c), "{c:?}");
            assert_eq!(serde_json::from_str::<Value>(&text).expect("still JSON"), value);
        }
        assert_eq!(visible("\"\u{202e}\u{9b}\u{e0041}\"".into()), r#""\u202e\u009b\udb40\udc41""#);
    }

    #[test]
    fn what_can_be_seen_is_left_alone() {
        let text = "{\n  \"é\": \"\u{a0}\u{2027}漢字 🙂 \\u202e \\\\\"\n}";
        assert_eq!(visible(text.to_owned()), text);
    }
}
