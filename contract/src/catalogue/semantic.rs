//! Rows of diff.semantic and diff.semanticFallbacks (contract `tools.json`, `results.md`, corrected by `corrections.md`).
//! Trust: constants.

use super::{
    diff::{BASE, HEAD, PATH},
    shared::*,
};
use crate::tool::{Annotations, Argument, Field, Shape, Tool, Toolset};

/// This family.
pub(super) const TOOLS: &[Tool] = &[SEMANTIC, FALLBACKS];

/// As in `diff.text`, which says what it is.
const fn plain(argument: Argument) -> Argument {
    Argument { description: "", ..argument }
}

/// `diff.semantic`.
pub const SEMANTIC: Tool = Tool {
    name: "diff.semantic",
    title: "Semantic diff",
    description: "Call this to review code by definition: paired lines, changed tokens, moves. For what cannot be parsed: \
        diff.text.",
    toolset: Toolset::Inspect,
    annotations: Annotations::LOCAL_READ,
    source: "local-git",
    arguments: &[REPO_PATH, BASE, plain(HEAD), plain(PATH), CURSOR, REPO_ID],
    data: &[
        field("supported", Shape::Boolean, "Some file was compared by its structure, or nothing differs."),
        sometimes("engine", ENGINE, "What compared; absent where nothing was."),
        sometimes("base", Shape::Nullable("string"), "As it was asked."),
        sometimes("head", Shape::Nullable("string"), "As it was asked."),
        sometimes("path", Shape::Nullable("string"), "As it was asked; null where it does not narrow."),
        sometimes("files", Shape::List(&Shape::Object(FILE)), "This page of changed files, by path."),
        sometimes("changedFiles", Shape::Count, "True number of changed files."),
        sometimes("filesTruncated", Shape::Boolean, "Files, or lines of the last one here, follow after this page."),
        sometimes("nextCursor", Shape::Text, "Pass it back as `cursor` to go on."),
        sometimes("partial", Shape::Object(PARTIAL), "Set when the scan stopped early: the number is a lower bound."),
        sometimes("fallback", Shape::OneOf(&["diff.text"]), "Where no file was compared: the tool to call instead."),
        sometimes("reason", Shape::Text, "Why."),
        sometimes("textDiffArguments", Shape::Object(ARGUMENTS), "Arguments for it."),
    ],
};

/// `diff.semanticFallbacks`.
pub const FALLBACKS: Tool = Tool {
    name: "diff.semanticFallbacks",
    title: "Semantic diff fallbacks",
    description: "Call this to learn which files diff.semantic leaves to diff.text, and why.",
    toolset: Toolset::Inspect,
    annotations: Annotations::LOCAL_READ,
    source: "local-git",
    arguments: &[REPO_PATH, plain(BASE), plain(HEAD), plain(PATH), CURSOR, REPO_ID],
    data: &[
        field("engine", ENGINE, "What compares."),
        field("analyzedFiles", Shape::Count, "Files of this page."),
        field("changedFiles", Shape::Count, "True number of changed files."),
        field("filesTruncated", Shape::Boolean, "Files follow after this page."),
        field("fallbacks", Shape::List(&Shape::Object(FALLBACK)), "One row for each file that is left to text."),
        sometimes("nextCursor", Shape::Text, "Pass it back as `cursor` to go on."),
        sometimes("partial", Shape::Object(PARTIAL), "Set when the scan stopped early."),
    ],
};

const ENGINE: Shape = Shape::OneOf(&["tree-sitter", "none", "fluxgit-diff-engine"]);

const REASON: Shape = Shape::OneOf(&[
    "unsupported-language",
    "too-large",
    "too-many-errors",
    "too-deep",
    "time",
    "not-utf8",
    "binary",
    "parser-crashed",
    "engine-unavailable",
    "not-a-file",
    "unmerged",
    "filtered",
    "unreadable",
    "missing",
    "no-grammars",
    "left-by-gateway",
]);

const FILE: &[Field] = &[
    field("path", Shape::Text, "Repository-relative path; the new one of a rename."),
    sometimes("pathEncoding", ESCAPED, "Set where `path` is escaped."),
    sometimes("oldPath", Shape::Text, "Old path of a rename."),
    sometimes("oldPathEncoding", ESCAPED, "Set where `oldPath` is escaped."),
    sometimes("language", Shape::Text, "The language it was parsed as."),
    field("fallbackToText", Shape::Boolean, "It was not compared by its structure."),
    field("hunks", Shape::List(&Shape::Object(HUNK)), "What changed, by definition, in the order of the file."),
    sometimes("changedLines", Shape::Count, "Lines that changed, shown or not; a pair counts once."),
    sometimes("linesTruncated", Shape::Boolean, "Some of them stand on another page."),
    sometimes("reason", REASON, "Why it was not compared."),
    sometimes("details", Shape::Text, "The same in a sentence."),
    sometimes("textDiffArguments", Shape::Object(ARGUMENTS), "Arguments of diff.text that show it."),
];

const HUNK: &[Field] = &[
    field("header", Shape::Text, "The innermost definition around the lines; empty outside of any."),
    sometimes("within", Shape::List(&Shape::Text), "Definitions around that one, outermost first."),
    sometimes("change", Shape::OneOf(&["whitespace", "reordered", "moved"]), "Set where it is no edit."),
    sometimes("moved", Shape::Object(MOVED), "Where a moved definition was and is."),
    field("lines", Shape::List(&Shape::Object(LINE)), "The lines."),
];

const MOVED: &[Field] = &[
    field("oldLine", Shape::Count, "Its first line in the old file."),
    field("newLine", Shape::Count, "Its first line in the new file."),
    sometimes("oldWithin", Shape::List(&Shape::Text), "Definitions around it before, where they are others now."),
];

const LINE: &[Field] = &[
    field("type", Shape::OneOf(&["added", "deleted", "modified", "unchanged"]), "What became of it."),
    sometimes("oldLine", Shape::Count, "Number in the old file."),
    sometimes("newLine", Shape::Count, "Number in the new file."),
    field("content", Shape::Text, "Its text; the new one of a pair."),
    sometimes("oldContent", Shape::Text, "The old text of a pair."),
    sometimes("changedTokens", Shape::List(&Shape::Text), "Tokens of the new text that the old one lacks."),
    sometimes("oldChangedTokens", Shape::List(&Shape::Text), "Tokens of the old text that the new one lacks."),
    sometimes("cut", Shape::Boolean, "The line is too long to be shown whole."),
];

const ARGUMENTS: &[Field] = &[
    field("repoPath", Shape::Text, "Canonical path of the repository."),
    sometimes("base", Shape::Text, "As it was asked."),
    sometimes("head", Shape::Text, "As it was asked."),
    sometimes("path", Shape::Text, "As it was asked, or the file's own."),
];

const FALLBACK: &[Field] = &[
    field("from", Shape::OneOf(&["diff.semantic"]), "What was asked."),
    field("to", Shape::OneOf(&["diff.text"]), "What answers."),
    field("supported", Shape::Boolean, "Always false."),
    field("reason", REASON, "Why."),
    field("details", Shape::Text, "The same in a sentence."),
    field("repoPath", Shape::Text, "Canonical path of the repository."),
    field("path", Shape::Nullable("string"), "The file; null for all that was asked about."),
    sometimes("pathEncoding", ESCAPED, "Set where `path` is escaped."),
];

#[cfg(test)]
mod tests {
    use super::{
        super::agreement::{both, partial},
        *,
    };
    use crate::{path::PathEncoding, results::*};
    use serde_json::{Value, json};

    const REASONS: &[FallbackReason] = &[
        FallbackReason::UnsupportedLanguage,
        FallbackReason::TooLarge,
        FallbackReason::TooManyErrors,
        FallbackReason::TooDeep,
        FallbackReason::Time,
        FallbackReason::NotUtf8,
        FallbackReason::Binary,
        FallbackReason::ParserCrashed,
        FallbackReason::EngineUnavailable,
        FallbackReason::NotAFile,
        FallbackReason::Unmerged,
        FallbackReason::Filtered,
        FallbackReason::Unreadable,
        FallbackReason::Missing,
        FallbackReason::NoGrammars,
        FallbackReason::LeftByGateway,
    ];

    fn arguments(some: Option<&str>) -> TextDiffArguments {
        let some = some.map(str::to_owned);
        TextDiffArguments { repo_path: "/r".into(), base: some.clone(), head: some.clone(), path: some }
    }

    fn file() -> SemanticFile {
        let line = SemanticLine {
            kind: LineKind::Modified,
            old_line: Some(1),
            new_line: Some(1),
            content: "b".into(),
            old_content: Some("a".into()),
            changed_tokens: Some(vec!["b".into()]),
            old_changed_tokens: Some(vec!["a".into()]),
            cut: true,
        };
        let moved = Moved { old_line: 1, new_line: 2, old_within: Some(vec!["impl A".into()]) };
        let hunk = SemanticHunk {
            header: "fn a".into(),
            within: vec!["impl B".into()],
            change: Some(HunkChange::Moved),
            moved: Some(moved),
            lines: vec![line],
        };
        SemanticFile {
            path: "p".into(),
            path_encoding: Some(PathEncoding::Escaped),
            old_path: Some("o".into()),
            old_path_encoding: Some(PathEncoding::Escaped),
            language: Some("rust".into()),
            fallback_to_text: false,
            hunks: vec![hunk],
            changed_lines: Some(1),
            lines_truncated: Some(false),
            reason: Some(FallbackReason::Time),
            details: Some("d".into()),
            text_diff_arguments: Some(arguments(Some("x"))),
        }
    }

    fn bare_file() -> SemanticFile {
        let mut file = file();
        let hunk = &mut file.hunks[0];
        let line = SemanticLine {
            kind: LineKind::Added,
            old_line: None,
            new_line: None,
            old_content: None,
            changed_tokens: None,
            old_changed_tokens: None,
            cut: false,
            ..hunk.lines[0].clone()
        };
        *hunk =
            SemanticHunk { within: Vec::new(), change: None, moved: None, header: String::new(), lines: vec![line] };
        SemanticFile {
            path_encoding: None,
            old_path: None,
            old_path_encoding: None,
            language: None,
            changed_lines: None,
            lines_truncated: None,
            reason: None,
            details: None,
            text_diff_arguments: None,
            ..file
        }
    }

    fn extent() -> SemanticExtent {
        let end = SemanticEnd { next_cursor: Some("c".into()), partial: partial() };
        SemanticExtent { changed_files: 1, files_truncated: true, end }
    }

    fn members(value: &impl serde::Serialize) -> Value {
        serde_json::to_value(value).expect("results serialise")
    }

    #[test]
    fn both_forms_of_the_answer_agree_with_the_rows() {
        let diff = SemanticDiff {
            supported: true,
            engine: "tree-sitter".into(),
            base: Some("b".into()),
            head: None,
            path: None,
            files: vec![file()],
            extent: extent(),
        };
        let text = SemanticAsText {
            supported: false,
            fallback: "diff.text".into(),
            reason: "r".into(),
            text_diff_arguments: arguments(Some("x")),
            end: SemanticEnd::default(),
        };
        let mut rich = members(&Semantic::Text(text));
        let diff = members(&Semantic::Diff(diff));
        for (key, value) in diff.as_object().expect("an object") {
            rich[key] = value.clone();
        }
        both(&SEMANTIC, &rich, &json!({"supported": true}));
        let file_rows = Tool { data: FILE, ..SEMANTIC };
        both(&file_rows, &file(), &bare_file());
        let argument_rows = Tool { data: ARGUMENTS, ..SEMANTIC };
        both(&argument_rows, &arguments(Some("x")), &arguments(None));
        let moved_rows = Tool { data: MOVED, ..SEMANTIC };
        let moved = Moved { old_line: 1, new_line: 2, old_within: Some(vec!["a".into()]) };
        both(&moved_rows, &moved, &Moved { old_within: None, ..moved.clone() });
    }

    #[test]
    fn fallbacks_agree_with_their_rows() {
        let row = SemanticFallback {
            from: "diff.semantic".into(),
            to: "diff.text".into(),
            supported: false,
            reason: FallbackReason::Binary,
            details: "d".into(),
            repo_path: "/r".into(),
            path: None,
            path_encoding: Some(PathEncoding::Escaped),
        };
        let rich = SemanticFallbacks {
            engine: "tree-sitter".into(),
            analyzed_files: 1,
            fallbacks: vec![row.clone()],
            extent: extent(),
        };
        let poor = SemanticFallbacks {
            fallbacks: vec![SemanticFallback { path_encoding: None, ..row }],
            extent: SemanticExtent { end: SemanticEnd::default(), ..extent() },
            ..rich.clone()
        };
        both(&FALLBACKS, &Semantic::Fallbacks(rich), &Semantic::Fallbacks(poor));
    }

    #[test]
    fn every_reason_has_its_word_and_its_sentence() {
        let Shape::OneOf(words) = REASON else { panic!("reasons are words") };
        let said: Vec<Value> = REASONS.iter().map(members).collect();
        assert_eq!(said, words.iter().map(|word| json!(word)).collect::<Vec<_>>());
        assert!(REASONS.iter().all(|reason| reason.sentence().ends_with('.')));
    }
}
