//! Where our answer is another than the recorded one, each with its reason (contract `direct/corrections.md`,
//! `direct/disagreements.md`). Trust: test data.

use serde_json::Value;

/// What is right instead.
#[derive(Debug, Clone, Copy)]
pub enum Corrected {
    /// This value.
    Value(&'static str),
    /// Arguments that are refused.
    Params,
}

/// Rows: session, tool, a part of the arguments, what is right.
const ROWS: &[(&str, &str, &str, Corrected)] = &[
    // A5: credentials are never given out
    (
        "git-clean-ro",
        "repo_remotes",
        "{}",
        Corrected::Value(
            r#"[{"name":"backup","url":"https://user:***@example.invalid/x/y.git"},{"name":"origin","url":"$FX/origin.git"}]"#,
        ),
    ),
    // disagreements, row 18: numbers beyond Git's are cut
    (
        "git-clean-ro",
        "repo_log",
        "18446744073709551615",
        Corrected::Value(
            r#"[{"id":"1459e0456c38a72f19d43f1550ce0ac68b5fd83f"},{"id":"fef960b0aec8d04496cfa3b0e51bded5567f6cf7"},{"id":"658405b275cc16dc556024cc5e64dbeb729c6927"}]"#,
        ),
    ),
    // no absolute path is looked for in a revision
    ("git-clean-ro", "repo_show_file", r#""path":"/a.txt""#, Corrected::Params),
    // B16: a directory is no file
    ("git-clean-ro", "repo_show_file", r#""path":"dir""#, Corrected::Params),
    // B15: a carriage return is part of its line
    (
        "git-clean-ro",
        "repo_annotate",
        "crlf.txt",
        Corrected::Value(
            r#"[{"line":1,"content":"x\r","author":"Ada Fixture","date_unix":1700003600},{"line":2,"content":"y\r","author":"Ada Fixture","date_unix":1700003600}]"#,
        ),
    ),
    // B14: an unborn branch has no commit
    (
        "git-unborn",
        "repo_worktrees",
        "{}",
        Corrected::Value(r#"[{"path":"$FX/unborn","branch":"trunk","commit":null,"is_bare":false}]"#),
    ),
    // D: tools of the other reference
    ("git-clean-ro", "repo_tags", "{}", Corrected::Value(r#"["v1","v2"]"#)),
    (
        "git-clean-ro",
        "repo_list_files",
        "{}",
        Corrected::Value(
            r#"[".gitignore","a.txt","bin.dat","crlf.txt","dir/b.txt","dir/sub/c.txt","empty.txt","gone.txt","gone2.txt","latin1.txt","link","nonl.txt","old-name.txt","run.sh","sp ace.txt","ünï.txt"]"#,
        ),
    ),
    ("git-clean-ro", "repo_merge_base", "main", Corrected::Value(r#""fef960b0aec8d04496cfa3b0e51bded5567f6cf7""#)),
];

/// How many rows there are.
pub const COUNT: usize = ROWS.len();

/// What is right instead of the recording, where that is something else.
pub fn correction(session: &str, tool: &str, arguments: &Value) -> Option<Corrected> {
    let arguments = arguments.to_string();
    let row = ROWS.iter().find(|row| row.0 == session && row.1 == tool && arguments.contains(row.2));
    row.map(|row| row.3)
}
