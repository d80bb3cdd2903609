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
    /// A failure of this class.
    Failure(&'static str),
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

const CLASH: Corrected = Corrected::Value(r#"{"outcome":"Conflicts","files":["a.txt","dir/b.txt"]}"#);
const CLEAN: Corrected = Corrected::Value(r#"{"outcome":"Clean"}"#);

/// Of writes: session, number of the call in it, what is right.
pub const WRITES: &[(&str, usize, Corrected)] = &[
    // a branch of that name could not be told from HEAD itself, so it is refused as a name
    ("git-branches", 4, Corrected::Params),
    ("git-push", 15, Corrected::Params),
    ("git-rw", 54, Corrected::Params),
    // disagreements, row 17: null is no value
    ("git-branches", 24, Corrected::Failure("refused")),
    ("git-rw", 63, Corrected::Failure("refused")),
    // disagreements, row 5: both spellings
    ("git-branches", 32, Corrected::Value(r#"{"renamed":{"old":"mo2","new":"x"}}"#)),
    ("git-rw", 70, Corrected::Value(r#"{"renamed":{"old":"mo2","new":"x"}}"#)),
    // B8: only local branches are pushed, by their names
    ("git-push", 13, Corrected::Failure("not_found")),
    ("git-push", 14, Corrected::Failure("not_found")),
    // decisions: a merge is tried in memory, so that neither changes nor an operation are in its way
    ("git-rebase", 16, CLEAN),
    ("git-rw", 12, CLASH),
    ("git-rw", 15, CLEAN),
    ("git-rw", 16, CLEAN),
    ("git-rw", 17, CLASH),
    // decisions: what no repository could make a success of is an invalid argument
    ("git-rw", 23, Corrected::Params),
    ("git-rw", 24, Corrected::Params),
];

/// Which class a failure has that is recorded as one, where it is another than `not_found`: session, and numbers of calls.
const CLASSES: &[(&str, &[(usize, &str)])] = &[
    ("git-branches", &[(1, "refused"), (6, "refused"), (20, "refused"), (22, "refused"), (28, "refused")]),
    (
        "git-worktrees",
        &[
            (2, "refused"),
            (3, "refused"),
            (4, "refused"),
            (13, "dirty"),
            (16, "refused"),
            (17, "refused"),
            (23, "refused"),
        ],
    ),
    ("git-push", &[(4, "rejected_non_fast_forward"), (7, "rejected_non_fast_forward")]),
    ("git-rebase", &[(5, "dirty"), (6, "conflict"), (15, "conflict")]),
    ("git-rebase-diff3", &[(0, "conflict")]),
    ("git-rw", &[(4, "refused"), (21, "refused"), (27, "refused"), (28, "refused"), (32, "refused")]),
    ("git-rw", &[(36, "dirty"), (37, "dirty"), (42, "dirty"), (43, "dirty"), (45, "dirty")]),
    ("git-rw", &[(51, "refused"), (56, "refused"), (61, "refused"), (66, "refused")]),
];

/// What is right instead of a recorded write.
pub fn write(session: &str, at: usize) -> Option<Corrected> {
    WRITES.iter().find(|row| row.0 == session && row.1 == at).map(|row| row.2)
}

/// The class of a failure.
pub fn class(session: &str, at: usize) -> Option<&'static str> {
    let mut of = CLASSES.iter().filter(|row| row.0 == session).flat_map(|row| row.1);
    of.find(|row| row.0 == at).map(|row| row.1)
}

/// How many classes there are.
pub fn classes() -> usize {
    CLASSES.iter().map(|row| row.1.len()).sum()
}
