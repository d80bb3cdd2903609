//! What is put into JSON files of every look, and taken out again.
//! Trust: test code.

use super::*;

const PATHS: &[&[&str]] = &[&["mcpServers"]];
const OPENCODE: &[&[&str]] = &[&["mcp", "servers"], &["mcp"]];

fn entry() -> Entry {
    Entry { command: "/bin/bulkhead".to_owned(), args: vec!["--root".to_owned(), "/src".to_owned()] }
}

fn put(text: &str) -> String {
    super::put(text, PATHS, "bulkhead", Form::Plain, &entry()).expect(text)
}

/// Puts the server in, once more, and takes it out again; the text is then the first one.
fn there_and_back(before: &str, with: &str) {
    assert_eq!(put(before), with);
    assert_eq!(put(with), with, "a second time nothing is to be done");
    assert_eq!(take(with, PATHS, "bulkhead").expect(with).expect("it is there"), before);
}

#[test]
fn a_file_that_is_not_there_is_made() {
    let made = "{\n  \"mcpServers\": {\n    \"bulkhead\": {\n      \"command\": \"/bin/bulkhead\",\n      \"args\": [\"--root\", \
                \"/src\"]\n    }\n  }\n}\n";
    for nothing in ["", "\n", "  \r\n", "{}\n"] {
        assert_eq!(put(nothing), made, "{nothing:?}");
    }
    assert_eq!(take(made, PATHS, "bulkhead"), Ok(Some("{\n  \"mcpServers\": {}\n}\n".to_owned())));
    assert_eq!(take("", PATHS, "bulkhead"), Ok(None));
    assert_eq!(take("{}", PATHS, "bulkhead"), Ok(None));
}

#[test]
fn servers_comments_and_order_stay() {
    let before = "// of the user\n{\n    \"theme\": \"dark\", // theme\n    /* servers */\n    \"mcpServers\": {\n        // files\n        \
                  \"files\": { \"command\": \"npx\", \"args\": [\"-y\", \"x\"] }, // behind files\n        // the last\n        \
                  \"web\": {\n            \"url\": \"http://x\",\n        }\n        // at the end\n    },\n    \"zoom\": 1.50e0\n}\n// \
                  end";
    let with = put(before);
    for kept in before.lines() {
        let kept = kept.trim().trim_end_matches(',');
        assert!(with.contains(kept), "{kept:?} is gone from\n{with}");
    }
    assert!(with.contains("        \"bulkhead\": {\n            \"command\": \"/bin/bulkhead\",\n"), "{with}");
    assert_eq!(put(&with), with);
    let without = take(&with, PATHS, "bulkhead").expect("it parses").expect("it is there");
    for kept in ["// files", "// behind files", "// the last", "// at the end", "/* servers */", "1.50e0", "// end"] {
        assert!(without.contains(kept), "{kept:?} is gone from\n{without}");
    }
}

#[test]
fn tabs_stay_tabs() {
    there_and_back(
        "{\n\t\"mcpServers\": {\n\t\t\"a\": {\n\t\t\t\"command\": \"x\"\n\t\t}\n\t}\n}\n",
        "{\n\t\"mcpServers\": {\n\t\t\"a\": {\n\t\t\t\"command\": \"x\"\n\t\t},\n\t\t\"bulkhead\": {\n\t\t\t\"command\": \
         \"/bin/bulkhead\",\n\t\t\t\"args\": [\"--root\", \"/src\"]\n\t\t}\n\t}\n}\n",
    );
}

#[test]
fn carriage_returns_stay() {
    let before = "{\r\n  \"mcpServers\": {\r\n    \"a\": {\r\n      \"command\": \"x\"\r\n    }\r\n  }\r\n}\r\n";
    let with = put(before);
    assert_eq!(with.matches('\n').count(), with.matches("\r\n").count(), "{with:?}");
    assert_eq!(put(&with), with);
    assert_eq!(take(&with, PATHS, "bulkhead").expect("it parses").as_deref(), Some(before));
}

#[test]
fn one_line_and_no_line_end_at_the_end() {
    let with = put(r#"{"mcpServers":{"a":{"command":"x"}},"b":[1,2]}"#);
    assert!(
        with.contains(r#""a":{"command":"x"}"#) && with.ends_with(r#""b":[1,2]}"#) || with.ends_with("\n}"),
        "{with}"
    );
    assert_eq!(put(&with), with);
}

#[test]
fn of_our_server_only_what_is_ours_is_changed() {
    let before = "{\n  \"mcpServers\": {\n    \"bulkhead\": {\n      \"disabled\": true, // for now\n      \"command\": \"old\", // \
                  where\n      \"env\": { \"BULKHEAD_LOG\": \"info\" },\n      \"args\": []\n    }\n  }\n}\n";
    let after = put(before);
    let expected = before.replace("\"old\"", "\"/bin/bulkhead\"").replace("[]", "[\"--root\", \"/src\"]");
    assert_eq!(after, expected);
    assert_eq!(put(&after), after);
}

#[test]
fn a_value_that_is_written_in_another_way_is_the_same() {
    let text = "{\"mcpServers\": {\"bulkh\\u0065ad\": {\"command\": \"\\/bin/bulkhead\", \"args\": [ \"--root\" , \"/src\" ]}}}";
    assert_eq!(put(text), text);
}

#[test]
fn what_does_not_parse_is_left_alone_and_the_place_is_told() {
    for (text, place) in [
        ("{\n  \"a\": 1\n  \"b\": 2\n}", "line 2 column 9"),
        ("{\n  'a': 1\n}", "line 2"),
        ("{\n  a: 1\n}", "line 2"),
        ("{", "line 1"),
        ("{} {}", "line 1"),
        ("{\"a\": }", "line 1"),
        ("{\"a\": 0x10}", "line 1"),
    ] {
        for error in
            [super::put(text, PATHS, "b", Form::Plain, &entry()), take(text, PATHS, "b").map(Option::unwrap_or_default)]
        {
            let error = error.expect_err(text);
            assert!(error.contains(place) && error.contains("repair it"), "{text:?}: {error}");
        }
    }
    let deep = "[".repeat(100_000);
    assert!(take(&deep, PATHS, "b").is_err());
}

#[test]
fn what_is_not_of_the_form_is_left_alone() {
    for (text, words) in [
        ("[]", "not an object"),
        ("{\"mcpServers\": []}", "\"mcpServers\""),
        ("{\"mcpServers\": {\"bulkhead\": 1}}", "\"bulkhead\""),
        ("{\"mcpServers\": {}, \"mcpServers\": {}}", "twice"),
        ("{\"mcpServers\": {\"bulkhead\": {}, \"bulkhead\": {}}}", "twice"),
        ("{\"mcpServers\": {\"bulkhead\": {\"args\": [], \"args\": []}}}", "twice"),
    ] {
        let error = super::put(text, PATHS, "bulkhead", Form::Plain, &entry()).expect_err(text);
        assert!(error.contains(words), "{text}: {error}");
    }
}

#[test]
fn forms_have_their_members() {
    let of = |form| super::put("", PATHS, "bulkhead", form, &entry()).expect("an empty file");
    assert!(of(Form::Stdio).contains("\"type\": \"stdio\",\n      \"command\": \"/bin/bulkhead\""));
    assert!(of(Form::Local).contains("\"type\": \"local\"") && of(Form::Local).contains("\"tools\": [\"*\"]"));
    let list = of(Form::OneList);
    assert!(
        list.contains("\"command\": [\"/bin/bulkhead\", \"--root\", \"/src\"]") && !list.contains("args"),
        "{list}"
    );
    // what is set once is the operator's afterwards
    let fewer = of(Form::Local).replace("\"*\"", "\"repo_status\"");
    assert_eq!(super::put(&fewer, PATHS, "bulkhead", Form::Local, &entry()).as_deref(), Ok(fewer.as_str()));
}

#[test]
fn both_forms_of_a_file_are_known_by_what_is_in_it() {
    let put = |text: &str| super::put(text, OPENCODE, "bulkhead", Form::OneList, &entry()).expect(text);
    let first = put("{\n  \"mcp\": {\n    \"a\": { \"type\": \"remote\" }\n  }\n}\n");
    assert!(first.contains("\n    \"bulkhead\""), "{first}");
    let second = put("{\n  \"mcp\": {\n    \"servers\": {\n      \"a\": { \"type\": \"remote\" }\n    }\n  }\n}\n");
    assert!(second.contains("\n      \"bulkhead\""), "{second}");
    // a server that is called so is none of servers
    let named = put("{\n  \"mcp\": {\n    \"servers\": { \"type\": \"local\", \"command\": [\"x\"] }\n  }\n}\n");
    assert!(named.contains("\n    \"bulkhead\""), "{named}");
    assert!(put("").contains("{\n  \"mcp\": {\n    \"bulkhead\""));
}
