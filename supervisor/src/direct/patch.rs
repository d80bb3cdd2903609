//! A patch as files and hunks, for `repo_diff` (contract `direct/results.md` §3).
//! Trust: the text comes from a worker that may be taken over; it is only cut at its own lines.

use bulkhead_contract::path::text_of;
use serde_json::{Map, Value, json};

/// Every whole file of `patch`, in its order.
#[must_use]
pub fn files(patch: &str) -> Vec<Value> {
    sections(patch).map(file).collect()
}

/// Each from its first line to before the next one's.
fn sections(patch: &str) -> impl Iterator<Item = &str> {
    const HEAD: &str = "diff --";
    let mut rest = patch;
    std::iter::from_fn(move || {
        // lines of hunks begin with a character of their own, so this can only be a head
        let end = rest.match_indices("\ndiff --").next().map_or(rest.len(), |(at, _)| at + 1);
        let (section, later) = rest.split_at(end);
        rest = later;
        (!section.is_empty()).then_some(section)
    })
    .filter(|section| section.starts_with(HEAD))
}

fn file(section: &str) -> Value {
    let mut lines = section.split_inclusive('\n').peekable();
    let mut change = "Modified";
    let (mut old, mut new) = (None, None);
    let (mut renamed_from, mut renamed_to) = (None, None);
    let first = lines.next().unwrap_or_default();
    while let Some(line) = lines.next_if(|line| !line.starts_with("@@")) {
        let line = line.trim_end_matches('\n');
        if line.starts_with("new file mode") {
            change = "Added";
        } else if line.starts_with("deleted file mode") {
            change = "Deleted";
        } else if let Some(name) = line.strip_prefix("rename from ") {
            (change, renamed_from) = ("Renamed", Some(unquoted(name)));
        } else if let Some(name) = line.strip_prefix("rename to ") {
            renamed_to = Some(unquoted(name));
        } else if let Some(name) = line.strip_prefix("--- ") {
            old = named(name);
        } else if let Some(name) = line.strip_prefix("+++ ") {
            new = named(name);
        }
    }
    let path = renamed_to.or(new).or(old).or_else(|| same(first)).unwrap_or_default();
    let mut row = Map::new();
    let (text, encoding) = text_of(&path);
    row.insert("change".into(), change.into());
    row.insert("path".into(), text.into());
    row.insert("old_path".into(), renamed_from.map_or(Value::Null, |name| text_of(&name).0.into()));
    if encoding.is_some() {
        row.insert("path_encoding".into(), "escaped".into());
    }
    row.insert("hunks".into(), hunks(lines).into());
    row.insert("raw".into(), section.into());
    Value::Object(row)
}

fn hunks<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Value> {
    let mut hunks: Vec<Map<String, Value>> = Vec::new();
    let mut body: Vec<Value> = Vec::new();
    let close = |hunks: &mut Vec<Map<String, Value>>, body: &mut Vec<Value>| {
        if let Some(hunk) = hunks.last_mut() {
            hunk.insert("lines".into(), std::mem::take(body).into());
        }
    };
    for line in lines {
        let line = line.strip_suffix('\n').unwrap_or(line);
        if let Some(head) = line.strip_prefix("@@ ").and_then(head) {
            close(&mut hunks, &mut body);
            hunks.push(head);
            continue;
        }
        // a CR belongs to the line: without it a change of line ends alone would show two lines that are the same
        let (kind, text) = match line.split_at_checked(1) {
            Some(("+", text)) => ("Added", text),
            Some(("-", text)) => ("Removed", text),
            Some((" ", text)) => ("Context", text),
            _ => continue,
        };
        body.push(json!({ kind: text }));
    }
    close(&mut hunks, &mut body);
    hunks.into_iter().map(Value::Object).collect()
}

/// `-1,5 +1,6 @@ section`, behind the first marker.
fn head(line: &str) -> Option<Map<String, Value>> {
    let (ranges, section) = line.split_once(" @@")?;
    let (old, new) = ranges.split_once(' ')?;
    let range = |text: &str, sign| -> Option<(u64, u64)> {
        let text: &str = text.strip_prefix(sign)?;
        let (start, lines) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, lines.parse().ok()?))
    };
    let ((old_start, old_lines), (new_start, new_lines)) = (range(old, '-')?, range(new, '+')?);
    let mut hunk = Map::new();
    for (name, number) in
        [("old_start", old_start), ("old_lines", old_lines), ("new_start", new_start), ("new_lines", new_lines)]
    {
        hunk.insert(name.into(), number.into());
    }
    hunk.insert("section".into(), section.strip_prefix(' ').unwrap_or(section).into());
    Some(hunk)
}

/// The name behind `--- ` or `+++ `; `None` for `/dev/null`.
fn named(text: &str) -> Option<Vec<u8>> {
    let name = unquoted(text.strip_suffix('\t').unwrap_or(text));
    (name != b"/dev/null").then(|| name.get(2..).unwrap_or_default().to_vec())
}

/// The name in `diff --git a/NAME b/NAME`, where nothing else says it: both are the same then.
fn same(line: &str) -> Option<Vec<u8>> {
    let line = line.trim_end_matches('\n');
    let Some(both) = line.strip_prefix("diff --git ") else {
        // of a path that is unmerged: one name alone
        let name = line.strip_prefix("diff --cc ").or_else(|| line.strip_prefix("diff --combined "));
        return name.map(unquoted);
    };
    if both.starts_with('"') {
        let end = both.match_indices('"').find(|(at, _)| *at > 0 && !escaped(&both[..*at]))?.0;
        return Some(unquoted(&both[..=end]).get(2..)?.to_vec());
    }
    let half = both.len().checked_sub(1)? / 2;
    let (one, other) = (both.get(..half)?, both.get(half + 1..)?);
    (one.get(2..) == other.get(2..)).then(|| one.as_bytes().get(2..).unwrap_or_default().to_vec())
}

/// An odd number of backslashes stands at the end.
fn escaped(text: &str) -> bool {
    text.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// A name as Git quotes it, without that.
fn unquoted(text: &str) -> Vec<u8> {
    let Some(inner) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) else {
        return text.as_bytes().to_vec();
    };
    let mut out = Vec::with_capacity(inner.len());
    let mut bytes = inner.bytes().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(first @ b'0'..=b'3') => {
                let mut value = first - b'0';
                for _ in 0..2 {
                    if let Some(digit) = bytes.next_if(|digit| matches!(digit, b'0'..=b'7')) {
                        value = value * 8 + (digit - b'0');
                    }
                }
                out.push(value);
            }
            Some(b'a') => out.push(0x07),
            Some(b'b') => out.push(0x08),
            Some(b't') => out.push(b'\t'),
            Some(b'n') => out.push(b'\n'),
            Some(b'v') => out.push(0x0b),
            Some(b'f') => out.push(0x0c),
            Some(b'r') => out.push(b'\r'),
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "diff --git a/f b/f\nnew file mode 100644\nindex 0000000..b77b4eb\n--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+x\n+y\n\
        diff --git a/old name b/new name\nsimilarity index 90%\nrename from old name\nrename to new name\nindex 1..2 100644\n--- a/old name\t\n+++ b/new name\t\n\
        @@ -1,2 +1,2 @@ fn it() {\n same\n-was\r\n+diff --git a/no b/no\n\\ No newline at end of file\n@@ -9 +9 @@\n-a\n+b\n\
        diff --git a/run me b/run me\nold mode 100644\nnew mode 100755\n\
        diff --git \"a/q\\\"\\303\\274\" \"b/q\\\"\\303\\274\"\ndeleted file mode 100644\nBinary files \"a/q\\\"\\303\\274\" and /dev/null differ\n";

    #[test]
    fn files_and_hunks_of_every_kind() {
        let files = files(PATCH);
        let heads: Vec<_> =
            files.iter().map(|file| (file["change"].clone(), file["path"].clone(), file["old_path"].clone())).collect();
        assert_eq!(
            json!(heads),
            json!([
                ["Added", "f", null],
                ["Renamed", "new name", "old name"],
                ["Modified", "run me", null],
                ["Deleted", "q\"ü", null],
            ])
        );
        assert_eq!(
            files[0]["hunks"],
            json!([{"old_start": 0, "old_lines": 0, "new_start": 1, "new_lines": 2, "section": "", "lines": [{"Added": "x"}, {"Added": "y"}]}])
        );
        let renamed = &files[1]["hunks"];
        assert_eq!((&renamed[0]["section"], &renamed[1]["old_lines"]), (&json!("fn it() {"), &json!(1)));
        assert_eq!(
            renamed[0]["lines"],
            json!([{"Context": "same"}, {"Removed": "was\r"}, {"Added": "diff --git a/no b/no"}])
        );
        assert_eq!((&files[2]["hunks"], &files[3]["hunks"]), (&json!([]), &json!([])));
        let whole: String = files.iter().filter_map(|file| file["raw"].as_str()).collect();
        assert_eq!(whole, PATCH);
    }

    #[test]
    fn nothing_breaks_on_what_is_no_patch() {
        for odd in
            ["", "x", "diff --git", "diff --git \"a/", "diff --git a/x b/y\n@@ -x +y @@\n@@ -1", "diff --cc u\n@@@ x"]
        {
            let _ = files(odd);
        }
        assert_eq!(files("diff --cc u\nindex 1,2..0\n")[0]["path"], "u");
    }
}
