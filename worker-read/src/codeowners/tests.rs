//! GitHub's rules as a table: the examples of its documentation, its exceptions, and what lies at the edges.
//! Trust: test code.

use super::*;

/// The example of GitHub's documentation, in our words.
const EXAMPLE: &str = "\
# a comment
*       @global-owner1 @global-owner2
*.js    @js-owner #an inline comment
*.go docs@example.com
*.txt @octo-org/octocats
/build/logs/ @doctocat
docs/* docs@example.com
apps/ @octocat
/docs/ @doctocat
/scripts/ @doctocat @octocat
**/logs @octocat
/apps/ @octocat
/apps/github
";

fn says(text: &[u8], path: &str, scope: Scope) -> Option<(String, String)> {
    let decision = decide(text, path.as_bytes(), scope).expect("cheap");
    decision.map(|line| (String::from_utf8_lossy(line.pattern).into_owned(), line.owners.join(" ")))
}

fn table(text: &str, rows: &[(&str, &str, &str)]) {
    for (path, pattern, owners) in rows {
        let (name, scope) = match path.strip_suffix('/') {
            Some(name) => (name, Scope::Directory),
            None => (*path, Scope::File),
        };
        let expected = (!pattern.is_empty()).then(|| ((*pattern).to_owned(), (*owners).to_owned()));
        assert_eq!(says(text.as_bytes(), name, scope), expected, "{path} by {text}");
    }
}

#[test]
fn the_documented_example() {
    table(
        EXAMPLE,
        &[
            ("README.md", "*", "@global-owner1 @global-owner2"),
            ("deep/in/there", "*", "@global-owner1 @global-owner2"),
            ("a.js", "*.js", "@js-owner"),
            ("lib/a.js", "*.js", "@js-owner"),
            ("a.JS", "*", "@global-owner1 @global-owner2"),
            ("cmd/main.go", "*.go", "docs@example.com"),
            ("notes.txt", "*.txt", "@octo-org/octocats"),
            ("build/logs/today", "**/logs", "@octocat"),
            ("build/logs/", "**/logs", "@octocat"),
            ("scripts/logs/x", "**/logs", "@octocat"),
            ("deeply/nested/logs/x/y", "**/logs", "@octocat"),
            ("docs/getting-started.md", "/docs/", "@doctocat"),
            ("docs/build-app/troubleshooting.md", "/docs/", "@doctocat"),
            ("other/docs/x", "*", "@global-owner1 @global-owner2"),
            ("lib/apps/x.js", "apps/", "@octocat"),
            ("apps/x", "/apps/", "@octocat"),
            ("apps/github", "/apps/github", ""),
            ("apps/github/", "/apps/github", ""),
            ("apps/github/deep/x.go", "/apps/github", ""),
            ("scripts/", "/scripts/", "@doctocat @octocat"),
            ("apps", "*", "@global-owner1 @global-owner2"),
            ("/", "*", "@global-owner1 @global-owner2"),
        ],
    );
}

/// One pattern: what it owns, and what it does not. A directory ends in a slash.
const PATTERNS: &[(&str, &[&str], &[&str])] = &[
    ("*", &["a", "a/b", "a/b/c", "a/", "/"], &[]),
    ("**", &["a", "a/b", "a/b/c", "a/", "/"], &[]),
    ("*.md", &["a.md", "x/y/a.md", ".md", "x.md/below"], &["a.mdx", "md", "x/", "/"]),
    ("/*.md", &["a.md"], &["x/a.md"]),
    ("/*", &["a"], &["a/b", "a/", "/"]),
    ("docs/*", &["docs/a"], &["docs/a/b", "docs", "docs/", "x/docs/a"]),
    ("docs/**", &["docs/a", "docs/a/b", "docs/"], &["docs", "x/docs/a"]),
    ("docs/**/*", &["docs/a", "docs/a/b", "docs/"], &["docs"]),
    ("docs/*.md", &["docs/a.md"], &["docs/x/a.md", "docs/a", "docs/"]),
    ("docs/", &["docs/a", "docs/a/b", "docs/", "x/docs/a", "x/docs/"], &["docs", "mydocs/a", "docsy/a"]),
    ("/docs/", &["docs/a", "docs/a/b", "docs/"], &["x/docs/a", "docs"]),
    ("docs", &["docs", "docs/a", "docs/", "x/docs", "x/docs/a"], &["docs.md", "adocs"]),
    ("/docs", &["docs", "docs/a", "docs/"], &["x/docs"]),
    ("a/b", &["a/b", "a/b/c", "a/b/"], &["x/a/b", "a", "a/"]),
    ("/a/b/", &["a/b/c", "a/b/"], &["a/b", "x/a/b/c"]),
    ("**/logs", &["logs", "logs/a", "x/logs", "x/y/logs/a", "x/logs/"], &["x/logs.txt", "x/"]),
    ("**/logs/", &["logs/a", "x/y/logs/a", "logs/"], &["logs", "x/logs"]),
    ("a/**/b", &["a/b", "a/x/b", "a/x/y/b", "a/x/b/below"], &["a/", "a/bx", "x/a/b"]),
    ("**/a/**/b/*.c", &["a/b/x.c", "q/a/w/b/x.c"], &["a/b/y/x.c", "b/x.c"]),
    ("foo**bar", &["foobar", "fooxbar", "x/fooxbar/y"], &["foo/bar"]),
    ("a?c", &["abc", "aéc", "x/abc"], &["ac", "a/c", "abbc"]),
    ("?", &["a", "é", "a/b", "a/"], &["ab", "/"]),
    ("*/", &["a/b", "a/"], &["a", "/"]),
    ("/*/", &["a/b", "a/b/c", "a/"], &["a", "/"]),
    ("**/", &["a/b", "a/"], &["a"]),
    ("a/*/c", &["a/b/c", "a/b/c/d"], &["a/c", "a/b/x/c"]),
    ("a/*/", &["a/b/c", "a/b/"], &["a/b", "a/"]),
    ("with\\ space", &["with space", "with space/a"], &["with", "with\\ space"]),
    ("star\\*", &["star*"], &["stars", "star"]),
    ("back\\\\slash", &["back\\slash"], &["backslash"]),
    ("Case", &["Case"], &["case", "CASE"]),
    ("/", &[], &["a", "/", "a/"]),
    ("//", &[], &["a", "/", "a/"]),
    ("a//b", &[], &["a/b"]),
    (".github/", &[".github/CODEOWNERS", ".github/"], &["github/x"]),
    ("café", &["café"], &["cafe"]),
    ("a+b(c)|{d}", &["a+b(c)|{d}"], &["ab"]),
    ("c#", &["c#"], &["c"]),
    ("@scope/pkg", &["@scope/pkg/index.js"], &["scope/pkg/index.js"]),
];

#[test]
fn patterns_own_what_they_should_and_nothing_else() {
    for (pattern, owned, others) in PATTERNS {
        let text = format!("{pattern} @owner\n");
        for (paths, expected) in [(owned, true), (others, false)] {
            for path in *paths {
                let (name, scope) = match path.strip_suffix('/') {
                    Some(name) => (name, Scope::Directory),
                    None => (*path, Scope::File),
                };
                assert_eq!(says(text.as_bytes(), name, scope).is_some(), expected, "{pattern} and {path}");
            }
        }
    }
}

#[test]
fn lines_with_invalid_syntax_are_as_if_they_were_not_there() {
    let valid =
        ["@a", "@a-b", "@org/team", "@org/team-x.y_z", "a@b.co", "a.b+c@d-e.example.org", "@user_corp", "@a @b"];
    for owners in valid {
        assert_eq!(says(format!("f {owners}").as_bytes(), "f", Scope::File), Some(("f".into(), owners.into())));
    }
    let invalid = [
        "f owner",
        "f @",
        "f @a/",
        "f @/b",
        "f @a/b/c",
        "f a@b",
        "f docs@",
        "f @a,@b",
        "f @a b@c.org x",
        "f @é",
        "f a@b.c0",
        "f @@a",
        "!f @a",
        "f[o] @a",
        "[f] @a",
        "[Section]",
        "\\#f @a",
        "***/f @a",
        "f***",
        "f\\",
        "#f @a",
        "  # f @a",
        "f \u{a0}@a",
    ];
    for line in invalid {
        let text = format!("* @before\n{line}\n");
        for path in ["f", "#f", "fo", "[f]"] {
            assert_eq!(says(text.as_bytes(), path, Scope::File), Some(("*".into(), "@before".into())), "{line}");
        }
    }
    let long = format!("* @before\n{}f @a\n", "x*".repeat(20_000));
    assert_eq!(says(long.as_bytes(), "f", Scope::File), Some(("*".into(), "@before".into())));
}

#[test]
fn spaces_comments_line_ends_and_a_mark_at_the_start() {
    let owned = |text: &[u8]| says(text, "f", Scope::File).map(|(_, owners)| owners);
    assert_eq!(owned(b"\xef\xbb\xbff @a"), Some("@a".into()));
    assert_eq!(owned(b"f @a\r\n"), Some("@a".into()));
    assert_eq!(owned(b"  f\t@a   @b \n\n\n"), Some("@a @b".into()));
    assert_eq!(owned(b"f @a # @b\n"), Some("@a".into()));
    assert_eq!(owned(b"f @a #@b\n"), Some("@a".into()));
    assert_eq!(owned(b"f # nobody\n"), Some(String::new()));
    assert_eq!(owned(b"f @a\nf\n"), Some(String::new()));
    assert_eq!(owned(b"f @a\nf\nf @b"), Some("@b".into()));
    assert_eq!(owned(b""), None);
    assert!(says(b"f\\ \r\n", "f ", Scope::File).is_some(), "a space at the end that belongs to the pattern");
    assert_eq!(owned(b"\xff @a\nf @b"), Some("@b".into()));
}

#[test]
fn a_file_of_wildcards_costs_a_bounded_number_of_steps() {
    let text = format!("*{}b @a\n", "a".repeat(15_000)).repeat(200);
    assert!(text.len() as u64 <= MAX_FILE);
    assert_eq!(decide(text.as_bytes(), &b"a".repeat(30_000), Scope::File), Err(TooCostly));
    // what people write is far below the limit
    let text = "packages/some-name/**/*.config.js @org/team\n".repeat(60_000);
    assert_eq!(decide(text.as_bytes(), b"packages/other-name/src/deep/in/there/file.config.js", Scope::File), Ok(None));
}

#[cfg(unix)]
#[test]
fn only_a_regular_file_at_one_of_three_places_is_read() {
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let top = temp.path().canonicalize().expect("it was just made");
    let place = || on_disk(&top).map(|found| found.map(|(place, _)| place)).map_err(|failure| failure.reason);
    std::fs::create_dir_all(top.join("docs")).expect("writable");
    std::fs::create_dir_all(top.join(".github")).expect("writable");
    assert_eq!(place(), Ok(None));
    std::fs::write(top.join("docs/CODEOWNERS"), "* @a").expect("writable");
    assert_eq!(place(), Ok(Some("docs/CODEOWNERS")));
    std::fs::create_dir(top.join("CODEOWNERS")).expect("writable");
    assert_eq!(place(), Ok(Some("docs/CODEOWNERS")), "a directory is no such file");
    std::fs::remove_dir(top.join("CODEOWNERS")).expect("it is empty");
    std::os::unix::fs::symlink("/etc/passwd", top.join("CODEOWNERS")).expect("links are possible here");
    assert_eq!(place(), Err(Reason::SpecialFile));
    let fifo = top.join(".github/CODEOWNERS");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).expect("FIFOs are possible here");
    assert_eq!(place(), Err(Reason::SpecialFile));
    std::fs::remove_file(&fifo).expect("it is there");
    let file = std::fs::File::create(&fifo).expect("writable");
    file.set_len(MAX_FILE + 1).expect("sparse");
    assert_eq!(place(), Err(Reason::TooLarge));
    file.set_len(MAX_FILE).expect("sparse");
    assert_eq!(place(), Ok(Some(".github/CODEOWNERS")));
    // behind a link nothing is found, as GitHub finds nothing there
    std::fs::rename(top.join(".github"), top.join("elsewhere")).expect("writable");
    std::os::unix::fs::symlink("elsewhere", top.join(".github")).expect("links are possible here");
    std::fs::remove_file(top.join("CODEOWNERS")).expect("it is there");
    assert_eq!(place(), Ok(Some("docs/CODEOWNERS")));
}
