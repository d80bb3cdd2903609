//! Headings of hunks are those that `git diff` shows, for every driver, on written and on random lines.
//! Trust: the judge is the real git, in the C locale.
#![cfg(unix)]

mod support;

#[path = "../../tests/support/dice.rs"]
mod dice;

use bulkhead_worker_read::userdiff::{Driver, function_text};
use dice::Dice;
use std::{fs, path::Path};
use support::git;

/// Drivers and lines of their language, heads and others.
const LANGUAGES: &[(&str, &[&str])] = &[
    (
        "ada",
        &[
            "procedure A is",
            "  Function B return C",
            "with Ada.Text_IO;",
            "package P is new Q",
            "Task body T",
            "x renames y",
        ],
    ),
    (
        "bash",
        &[
            "f() {",
            "  f ( )",
            "function g {",
            "function h () ((",
            "function i",
            "g () ( :; )",
            "function k [[ x",
            "if x; then",
        ],
    ),
    ("bibtex", &["@article{key,", "  x @Book { k2, y", "title = {a},", "@ misc"]),
    ("cpp", &["int f(int a)", "label:", "public: // x", "::a b", "  ::a", "struct S {", "} // x", "case: x"]),
    (
        "csharp",
        &[
            "  public int F(int a)",
            "  return f(a)",
            "class A : B",
            "namespace N.M",
            "  public List<int> P { get",
            "  int[] a (",
            "x=1;",
            "  await a b c",
        ],
    ),
    ("css", &["a:hover {", "@media print {", "color: red;", "#ID", "  p {", ".x,", "a:", "[x]"]),
    ("dts", &["/ {", "  &uart0 {", "  node@1 {", "  a = <1>;", "x;", "/include/"]),
    ("elixir", &["  def f(a) do", "defmodule M do", "test \"x\" do", "default x", "defp g", "defprotocol P"]),
    (
        "fortran",
        &[
            "      SUBROUTINE F(A)",
            "C comment",
            "  ! x",
            "end module m",
            "module procedure p",
            "  integer function f(x)",
            "BLOCK  DATA x",
        ],
    ),
    ("fountain", &[".FORCED", "..no", "INT. HOUSE", "ext house", "i/e x", "INT./EXT. X", "estate"]),
    ("golang", &["func f(a int) {  ", "type T struct {", "  type I interface  ", "type X int", "var x", "func"]),
    ("html", &["<h1>Title</h1>", "  <H2 class=\"x\">y", "<h7>", "<p>"]),
    (
        "java",
        &[
            "  public void f(int a) {",
            "class A",
            "  return f(a)",
            "  static int g(a);",
            "record R ",
            "  Map<K, V> h(",
            "public enum E {",
        ],
    ),
    ("kotlin", &["fun f()", "  private fun g", "class A", "val x", "interface I {"]),
    ("markdown", &["# A", "   ### B  ", "    # C", "####### D", "#E"]),
    ("matlab", &["function y = f(x)", "classdef A", "%% part", "%%% x", "## y", "% no", "functional"]),
    (
        "objc",
        &[
            "- (void)f:(int)a",
            "+ (NSString *) g",
            "@interface A : B",
            "int f(int a)",
            "  return f(a)",
            "@end",
            "@implementation X",
        ],
    ),
    ("pascal", &["procedure A;", "class function B", "  T = class(U)", "begin", "implementation", "x = record"]),
    (
        "perl",
        &[
            "package A;",
            "sub f {",
            "sub g ($$) {",
            "sub h;",
            "BEGIN {",
            "END # x",
            "=head1 A B",
            "sub i : lvalue {",
            "sub j # x",
            "sub k'l::m(x) : a {  # y",
        ],
    ),
    (
        "php",
        &["function f()", "  public static function g", "class A", "abstract class B", "trait T", "interfaces", "$x"],
    ),
    ("python", &["class A:", "  def f():", "  async def g():", "definition", "async x"]),
    ("ruby", &["class A", "  def f", "module M", "classy"]),
    (
        "rust",
        &[
            "fn f() {",
            "  pub(crate) unsafe fn g()",
            "impl<T> A for B {",
            "fn f();",
            "extern \"C\" fn h()",
            "extern fn i()",
            "macro_rules! m {",
            "mod m;",
            "pub struct A<",
        ],
    ),
    ("scheme", &["(define (f x)", "  (define-syntax y", "(library (a)", "(let x", "(defalias x", "(class* a"]),
    ("tex", &["\\section{A}", "\\subsubsection*{B}", "\\chapter{C}", "\\part D", " \\section{E}"]),
    ("default", &["int f", " x", "$y", "_z", "é", "9", "x:"]),
    ("ini", &["[section]", "key"]),
    ("own", &["AAb one", "no AAb", "stop AAb", "x [y] zz  "]),
];

/// What the driver `own` is configured to.
const OWN: &str = "!^stop\n^([A-Z]{2}b.*)$\n\\[[]y[:digit:]]+\\] *(z+)";

/// Pieces that random lines are made of.
const PIECES: &[&str] = &[
    " ",
    " ",
    " ",
    "\t",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ";",
    ":",
    ",",
    ".",
    "=",
    "#",
    "@",
    "%",
    "\\",
    "/",
    "*",
    "-",
    "+",
    "&",
    "!",
    "\"",
    "'",
    "$",
    "_",
    "a",
    "B",
    "x1",
    "fn",
    "func",
    "function",
    "sub",
    "def",
    "class",
    "struct",
    "type",
    "interface",
    "record",
    "return",
    "static",
    "public",
    "pub",
    "is",
    "new",
    "end",
    "module",
    "procedure",
    "with",
    "h1",
    "section",
    "package",
    "BEGIN",
    "int",
    "INT",
    "::",
    "é",
    "^",
    "|",
    "~",
    "?",
];

/// The line, and a body that is no head to anybody, with one line that will be edited.
fn block(text: &mut Vec<u8>, line: &[u8], crlf: bool) {
    let end: &[u8] = if crlf { b"\r\n" } else { b"\n" };
    for piece in [line, end]
        .into_iter()
        .chain([&b"    .1\n    .2\n    .3\n    .4\n    EDIT\n    .5\n    .6\n    .7\n    .8\n"[..]])
    {
        text.extend_from_slice(piece);
    }
}

#[test]
fn headings_are_those_of_git() {
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let dir = temp.path();
    git(dir, &["init", "-q", "."]);
    git(dir, &["config", "diff.own.xfuncname", OWN]);
    let mut dice = Dice::of_run();
    let mut attributes = String::new();
    let mut olds = Vec::new();
    for (name, lines) in LANGUAGES {
        if *name != "default" {
            attributes.push_str(&format!("*.{name} diff={name}\n"));
        }
        let mut text = Vec::new();
        for line in *lines {
            block(&mut text, line.as_bytes(), false);
            block(&mut text, format!("{line}{}", "x".repeat(100)).as_bytes(), true);
            block(&mut text, &[line.as_bytes(), b" \xff\xc3 \t "].concat(), false);
        }
        for _ in 0..150 {
            // a line of the language, perhaps bent, or any line
            let mut line = if dice.below(2) == 0 { lines[dice.below(lines.len())].to_owned() } else { String::new() };
            for _ in 0..dice.below(7) {
                let at = if dice.below(2) == 0 { line.len() } else { dice.below(line.len() + 1) };
                let at = (at..).find(|at| line.is_char_boundary(*at)).expect("the end is one");
                line.insert_str(at, PIECES[dice.below(PIECES.len())]);
            }
            block(&mut text, line.as_bytes(), dice.below(5) == 0);
        }
        fs::write(dir.join(format!("f.{name}")), &text).expect("writable");
        olds.push(text);
    }
    fs::write(dir.join(".gitattributes"), attributes).expect("writable");
    git(dir, &["add", "-A"]);
    let mut faults = Vec::new();
    for ((name, _), old) in LANGUAGES.iter().zip(&olds) {
        let path = format!("f.{name}");
        let edited = String::from_utf8_lossy(old).contains("EDIT");
        assert!(edited);
        fs::write(dir.join(&path), replaced(old)).expect("writable");
        let driver = match *name {
            "own" => Driver::custom(OWN.as_bytes()).expect("Git takes it"),
            name => Driver::named(name.as_bytes()).unwrap_or(Driver::Default),
        };
        faults.extend(compared(dir, &path, old, &driver));
    }
    assert!(faults.is_empty(), "{} differences:\n{}", faults.len(), faults.join("\n"));
}

fn replaced(old: &[u8]) -> Vec<u8> {
    let mut new = Vec::new();
    for line in old.split_inclusive(|&byte| byte == b'\n') {
        new.extend_from_slice(if line == b"    EDIT\n" { b"    .edited\n" } else { line });
    }
    new
}

fn compared(dir: &Path, path: &str, old: &[u8], driver: &Driver) -> Vec<String> {
    let lines: Vec<&[u8]> = old.split_inclusive(|&byte| byte == b'\n').collect();
    let diff = git(dir, &["diff", "--no-ext-diff", "--no-color", "--", path]);
    let mut faults = Vec::new();
    let mut hunks = 0;
    for header in diff.split(|&byte| byte == b'\n').filter(|line| line.starts_with(b"@@ -")) {
        hunks += 1;
        let shown = String::from_utf8_lossy(header);
        let first: usize = shown[4..].split([',', ' ']).next().and_then(|text| text.parse().ok()).expect("a number");
        let end = header.windows(3).skip(3).position(|three| three == b" @@").expect("a header") + 6;
        let theirs = header[end..].strip_prefix(b" ").unwrap_or(&header[end..]);
        let ours = lines[..first - 1].iter().rev().find_map(|line| function_text(driver, line)).unwrap_or_default();
        if ours != theirs {
            let (ours, theirs) = (String::from_utf8_lossy(ours), String::from_utf8_lossy(theirs));
            faults.push(format!("{path}:{first}: git {theirs:?}, ours {ours:?}"));
        }
    }
    assert!(hunks > 150, "{path}: only {hunks} hunks");
    faults
}
