//! What counts as the head of a function, a class or a chapter in each language that Git 2.47 knows.
//! Trust: constants. `␣` stands for a space or a tab, `…` for any text.

/// A driver that Git brings along.
#[derive(Debug)]
pub(super) struct Language {
    /// Its name in `.gitattributes`.
    pub(super) name: &'static str,
    /// Upper and lower case are the same to it.
    pub(super) folds_case: bool,
    /// In order; true for one that says that the line is no head.
    pub(super) rules: &'static [(bool, &'static str)],
}

/// A rule for heads.
const fn head(text: &'static str) -> (bool, &'static str) {
    (false, text)
}

/// A rule for lines that look like heads and are none.
const fn none(text: &'static str) -> (bool, &'static str) {
    (true, text)
}

const fn language(name: &'static str, rules: &'static [(bool, &'static str)]) -> Language {
    Language { name, folds_case: false, rules }
}

const fn in_any_case(name: &'static str, rules: &'static [(bool, &'static str)]) -> Language {
    Language { name, folds_case: true, rules }
}

/// `text` with its shorthands written out.
pub(super) fn written_out(text: &str) -> String {
    text.replace('␣', "[ \\t]").replace('…', "[^\\x00]*")
}

/// One or more names with type parameters, as C# writes them before a method's or a property's own.
macro_rules! csharp_words {
    () => {
        r"(?:[\w@.\[\]](?:<[\w@,\[\]<> \t]+>)?)+(?:␣+(?:[\w@.\[\]](?:<[\w@,\[\]<> \t]+>)?)+)+"
    };
}

/// By name.
pub(super) const LANGUAGES: &[Language] = &[
    in_any_case(
        "ada",
        &[
            none(r"^(?:…␣)?(?:renames|is␣+(?:new|separate))(?:␣…)?$"),
            none(r"^␣*with␣"),
            head(r"^␣*((?:function|package|procedure|protected|task)␣+…)$"),
        ],
    ),
    language("bash", &[head(r"^␣*([A-Za-z_]\w*␣*\(␣*\)|function␣+[A-Za-z_]\w*(?:␣*\(␣*\)|␣+)␣*(?:\{|\[\[|\(\(?))")]),
    language("bibtex", &[head(r##"(@[A-Za-z]+␣*\{?␣*[^ \t"',@#%~{}\\]*)…$"##)]),
    language("cpp", &[none(r"^␣*[A-Za-z_]\w*:[[:space:]]*(?:/[*/]|$)"), head(r"^((?:::[[:space:]]*)?[A-Za-z_]…)$")]),
    language(
        "csharp",
        &[
            none(concat!(
                r"(?:^|␣)(?:case|catch|default|do|else|fixed|for|foreach|if|lock|new|return|switch|throw|using|while)",
                r"(?:[ \t(]|$)"
            )),
            head(concat!(r"^␣*(", csharp_words!(), r"␣*\([^;]*)$")),
            head(concat!(r"^␣*(", csharp_words!(), r"[^;=:,()]*)$")),
            head(concat!(
                r"^␣*((?:(?:abstract|internal|new|partial|private|protected|public|sealed|static|unsafe)␣+)*",
                r"(?:class|enum|interface|record|struct)␣+…)$"
            )),
            head(r"^␣*(namespace␣+…)$"),
        ],
    ),
    in_any_case("css", &[none(r"[:;][[:space:]]*$"), head(r"^[.#@:\[]?[a-z0-9_]…$")]),
    language("dts", &[none("[;=]"), head(r"^␣*((?:&?[A-Za-z_]|/␣*\{)…)")]),
    language("elixir", &[head(r"^␣*((?:test|def(?:impl|macro|module|p|protocol)?)␣…)$")]),
    in_any_case(
        "fortran",
        &[
            none(r"^(?:[C*]|␣*!)"),
            none(r"^␣*module␣+procedure␣"),
            head(concat!(
                r"^␣*((?:end␣+)?(?:program|module|block␣+data|",
                r#"(?:[^!'" \t]+␣+)*(?:function|subroutine))␣+[A-Z]…)$"#
            )),
        ],
    ),
    in_any_case("fountain", &[head(r"^((?:\.[^.]|(?:int|ext|est|int\.?/ext|i/e)[ .])…)$")]),
    language("golang", &[head(r"^␣*(func…)"), head(r"^␣*(type␣…(?:interface|struct)␣*(?:\{␣*)?)")]),
    language("html", &[head(r"^␣*(<[Hh][1-6](?:␣…)?>…)$")]),
    language(
        "java",
        &[
            none(r"^␣*(?:catch|do|for|if|instanceof|new|return|switch|throw|while)"),
            head(r"^␣*((?:[a-z-]+␣+)*(?:class|enum|interface|record)␣+…)$"),
            head(r"^␣*((?:[A-Za-z_<>&][\w.,?&<>\[\]]*␣+)+[A-Za-z_]\w*␣*\([^;]*)$"),
        ],
    ),
    language("kotlin", &[head(r"^␣*((?:[a-z]+␣+)*(?:class|fun|interface)␣+…)$")]),
    language("markdown", &[head(r"^ {0,3}#{1,6}␣…")]),
    language(
        "matlab",
        &[head(r"^[[:space:]]*((?:classdef|function)[[:space:]]…)$"), head(r"^(?:##|%%%?)[[:space:]]…$")],
    ),
    language(
        "objc",
        &[
            none(r"^␣*(?:do|else|for|if|return|switch|while)"),
            head(r"^␣*([+-]␣*\(␣*[A-Za-z_][\w* \t]*\)␣*[A-Za-z_]…)$"),
            head(r"^␣*((?:[A-Za-z_]\w*␣+)+[A-Za-z_]\w*␣*\([^;]*)$"),
            head(r"^(@(?:implementation|interface|protocol)␣…)$"),
        ],
    ),
    language(
        "pascal",
        &[
            head(concat!(
                r"^((?:(?:class␣+)?(?:function|procedure)|constructor|destructor|interface|implementation|",
                r"initialization|finalization)…)$"
            )),
            head(r"^(…=␣*(?:class|record)…)$"),
        ],
    ),
    language(
        "perl",
        &[
            head("^package …"),
            // the prototype, where there is one, is what Git shows
            head(r"^sub [\w':]+␣*(\([^)]*\)␣*)?(?::[^#;]*)?(?:\{␣*)?(?:#…)?$"),
            head(r"^(AUTOLOAD|BEGIN|CHECK|DESTROY|END|INIT|UNITCHECK)␣*(?:\{␣*)?(?:#…)?$"),
            head("^=head[0-9] …"),
        ],
    ),
    language(
        "php",
        &[
            head(r"^␣*((?:(?:abstract|final|private|protected|public|static)␣+)*function…)$"),
            head(r"^␣*((?:(?:(?:abstract|final)␣+)?class|enum|interface|trait)…)$"),
        ],
    ),
    language("python", &[head(r"^␣*((?:class|(?:async␣+)?def)␣…)$")]),
    language("ruby", &[head(r"^␣*((?:class|def|module)␣…)$")]),
    language(
        "rust",
        &[head(concat!(
            r#"^␣*((?:pub(?:\([^)\\]+\))?␣+)?(?:(?:async|const|unsafe|extern␣+"[^"]+")␣+)?"#,
            r"(?:enum|fn|impl|macro_rules!|mod|struct|trait|union)[< \t]+[^;]*)$"
        ))],
    ),
    language(
        "scheme",
        &[head(concat!(
            r"^␣*(\((?:def(?:ine|alias|class|method|proto|record|rules|struct|syntax)?[*/ \t-]|",
            r"(?:class|library|module|struct)[*+ \t])…)$"
        ))],
    ),
    language("tex", &[head(r"^(\\(?:chapter|part|(?:sub)*section)\*?\{…)$")]),
];
