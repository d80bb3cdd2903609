//! What is put into TOML files of every look, and taken out again.
//! Trust: test code.

use super::*;

fn entry() -> Entry {
    Entry { command: "/bin/bulkhead".to_owned(), args: vec!["--root".to_owned(), "/src".to_owned()] }
}

fn put(text: &str) -> String {
    super::put(text, "bulkhead", &entry()).expect(text)
}

const OURS: &str = "[mcp_servers.bulkhead]\ncommand = \"/bin/bulkhead\"\nargs = [\"--root\", \"/src\"]\n";

#[test]
fn a_file_that_is_not_there_is_made() {
    assert_eq!(put(""), OURS);
    assert_eq!(put(OURS), OURS);
    assert_eq!(take(OURS, "bulkhead"), Ok(Some(String::new())));
    assert_eq!(take("", "bulkhead"), Ok(None));
    assert_eq!(take("[mcp_servers.a]\n", "bulkhead"), Ok(None));
}

#[test]
fn everything_else_stays_as_it_is_written() {
    let before = "# mine\nmodel   =  'o5' # which\n\n[profiles.x] # a profile\nk = \"\"\"\n[mcp_servers.bulkhead]\n\"\"\"\n\n# \
                  servers\n[mcp_servers.files]\ncommand = \"npx\"\nargs = [ \"-y\", \"x\", ] # those\n\n[[list]]\na = \
                  0x1F\n\n# the end\n";
    let with = put(before);
    assert!(with.contains(OURS), "{with}");
    let mut rest = with.replace(&format!("\n{OURS}"), "");
    if rest == with {
        rest = with.replace(OURS, "");
    }
    assert_eq!(rest, before);
    assert_eq!(put(&with), with);
    assert_eq!(take(&with, "bulkhead").expect("it parses").as_deref(), Some(before));
}

#[test]
fn comments_above_our_table_stay_when_it_goes() {
    let text = format!(
        "a = 1\n\n# about servers\n# and others\n{OURS}\n[mcp_servers.bulkhead.env]\nX = \"1\"\n\n# next\n[b]\n"
    );
    let without = take(&text, "bulkhead").expect("it parses").expect("it is there");
    for kept in ["a = 1", "# about servers\n# and others\n", "# next\n[b]\n"] {
        assert!(without.contains(kept), "{kept:?} is gone from\n{without}");
    }
    assert!(!without.contains("bulkhead") && !without.contains("X ="), "{without}");
    let last = take(&format!("a = 1\n# above\n{OURS}# below\n"), "bulkhead").expect("it parses").expect("it is there");
    assert!(last.contains("# above\n") && last.contains("# below\n"), "{last}");
}

#[test]
fn of_our_server_only_what_is_ours_is_changed() {
    let before = "[mcp_servers.bulkhead]\n# where\ncommand = 'old' # it was\nstartup_timeout_sec = 5\nargs = []\nenv = { A = \
                  \"b\" }\n";
    let expected = before.replace("'old'", "\"/bin/bulkhead\"").replace("[]", "[\"--root\", \"/src\"]");
    assert_eq!(put(before), expected);
    assert_eq!(put(&expected), expected);
    let other = "[mcp_servers.bulkhead]\ncommand = '/bin/bulkhead'\nargs = [\n  '--root',\n  '/src', # all\n]\n";
    assert_eq!(put(other), other, "the same words, written in another way");
}

#[test]
fn inline_tables_are_tables() {
    let before = "mcp_servers = { files = { command = \"x\" } }\n";
    let with = put(before);
    assert!(with.starts_with("mcp_servers = { files = { command = \"x\" }") && with.contains("bulkhead"), "{with}");
    assert_eq!(put(&with), with);
    assert_eq!(take(&with, "bulkhead").expect("it parses").as_deref(), Some(before));
}

#[test]
fn line_ends_stay() {
    let before = "a = 1\r\n\r\n[mcp_servers.x]\r\ncommand = \"y\"\r\n";
    let with = put(before);
    assert_eq!(with.matches('\n').count(), with.matches("\r\n").count(), "{with:?}");
    assert_eq!(take(&with, "bulkhead").expect("it parses").as_deref(), Some(before));
    assert!(super::put("a = 1\r\nb = 2\n", "bulkhead", &entry()).expect_err("mixed").contains("CRLF"));
}

#[test]
fn what_does_not_parse_is_left_alone_and_the_place_is_told() {
    for (text, place) in
        [("a = 1\nb = \n", "line 2"), ("[a\n", "line 1"), ("a = 1\n\na = 2\n", "line 3"), ("x", "line 1")]
    {
        let error = super::put(text, "bulkhead", &entry()).expect_err(text);
        assert!(error.contains(place) && error.contains("repair it"), "{text:?}: {error}");
        assert!(take(text, "bulkhead").is_err());
    }
    assert!(take(&format!("a = {}", "[".repeat(100_000)), "bulkhead").is_err());
}

#[test]
fn what_is_not_of_the_form_is_left_alone() {
    for text in ["mcp_servers = 1\n", "[[mcp_servers]]\n", "[mcp_servers]\nbulkhead = 1\n"] {
        let error = super::put(text, "bulkhead", &entry()).expect_err(text);
        assert!(error.contains("not a table"), "{text}: {error}");
    }
}
