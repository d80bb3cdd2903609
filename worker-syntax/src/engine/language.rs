//! The table of grammars: one row per language, by which a file's name finds its grammar and what defines something there.
//! Trust: constants; a file's name is the repository's, is compared with the table and never used otherwise.

use tree_sitter::Language;
use tree_sitter_language::LanguageFn;

/// One language. Adding one is a row here, its crate in `Cargo.toml`, and its pairs in `tests/golden`
/// (`docs/adding-a-language.md`).
pub struct Grammar {
    /// Field `language` of an answer.
    pub name: &'static str,
    /// Endings of file names, without the dot, in lower case.
    pub endings: &'static [&'static str],
    /// Whole names of files, as they are written.
    pub names: &'static [&'static str],
    /// The grammar itself.
    grammar: LanguageFn,
    /// What defines something that a hunk can be in.
    pub definitions: &'static [Definition],
    /// Kinds around one definition that belong to it: decorators, `export`, `template <…>`.
    pub wrappers: &'static [&'static str],
    /// Name of the row that is tried where this one finds errors; the one that finds less of them is taken.
    pub second: Option<&'static str>,
}

/// A kind of node that defines something.
#[derive(Debug)]
pub struct Definition {
    /// The node's kind in the grammar.
    pub kind: &'static str,
    /// What such a node must have to be a definition.
    pub needs: Needs,
    /// Written before the header, where the node's own text leaves it out.
    pub prefix: &'static str,
}

/// What makes a node of a kind a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing more.
    Nothing,
    /// A child in the field `body`; without it, the node only mentions what is defined elsewhere.
    Body,
    /// A child of one of these kinds, in whatever place.
    Child(&'static [&'static str]),
}

const fn plain(kind: &'static str) -> Definition {
    Definition { kind, needs: Needs::Nothing, prefix: "" }
}

const fn with_body(kind: &'static str) -> Definition {
    Definition { kind, needs: Needs::Body, prefix: "" }
}

const fn holding(kind: &'static str, kinds: &'static [&'static str]) -> Definition {
    Definition { kind, needs: Needs::Child(kinds), prefix: "" }
}

const fn named(kind: &'static str, prefix: &'static str) -> Definition {
    Definition { kind, needs: Needs::Nothing, prefix }
}

/// What makes a name of JavaScript a function.
const FUNCTIONS: &[&str] = &["arrow_function", "function_expression", "generator_function", "class"];

const JAVASCRIPT: &[Definition] = &[
    plain("function_declaration"),
    plain("generator_function_declaration"),
    plain("class_declaration"),
    plain("method_definition"),
    holding("variable_declarator", FUNCTIONS),
    holding("field_definition", FUNCTIONS),
    holding("pair", FUNCTIONS),
];

const TYPESCRIPT: &[Definition] = &[
    plain("function_declaration"),
    plain("generator_function_declaration"),
    plain("function_signature"),
    plain("class_declaration"),
    plain("abstract_class_declaration"),
    plain("interface_declaration"),
    plain("enum_declaration"),
    plain("type_alias_declaration"),
    plain("internal_module"),
    plain("module"),
    plain("method_definition"),
    holding("variable_declarator", FUNCTIONS),
    holding("public_field_definition", FUNCTIONS),
    holding("pair", FUNCTIONS),
];

const C: &[Definition] = &[
    plain("function_definition"),
    with_body("struct_specifier"),
    with_body("union_specifier"),
    with_body("enum_specifier"),
    plain("preproc_function_def"),
];

const CPP: &[Definition] = &[
    plain("function_definition"),
    with_body("class_specifier"),
    with_body("struct_specifier"),
    with_body("union_specifier"),
    with_body("enum_specifier"),
    plain("namespace_definition"),
    plain("concept_definition"),
    plain("preproc_function_def"),
];

/// All languages. A name that two rows claim belongs to the first.
pub const GRAMMARS: &[Grammar] = &[
    Grammar {
        name: "rust",
        endings: &["rs"],
        names: &[],
        grammar: tree_sitter_rust::LANGUAGE,
        definitions: &[
            plain("function_item"),
            plain("function_signature_item"),
            plain("impl_item"),
            plain("trait_item"),
            plain("struct_item"),
            plain("enum_item"),
            plain("union_item"),
            with_body("mod_item"),
            plain("foreign_mod_item"),
            plain("const_item"),
            plain("static_item"),
            plain("type_item"),
            plain("macro_definition"),
        ],
        wrappers: &[],
        second: None,
    },
    Grammar {
        name: "python",
        endings: &["py", "pyi", "pyw"],
        names: &["SConstruct", "SConscript"],
        grammar: tree_sitter_python::LANGUAGE,
        definitions: &[plain("function_definition"), plain("class_definition")],
        wrappers: &["decorated_definition"],
        second: None,
    },
    Grammar {
        name: "javascript",
        endings: &["js", "mjs", "cjs", "jsx"],
        names: &[],
        grammar: tree_sitter_javascript::LANGUAGE,
        definitions: JAVASCRIPT,
        wrappers: &["export_statement", "lexical_declaration"],
        second: None,
    },
    Grammar {
        name: "typescript",
        endings: &["ts", "mts", "cts"],
        names: &[],
        grammar: tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
        definitions: TYPESCRIPT,
        wrappers: &["export_statement", "lexical_declaration"],
        second: None,
    },
    Grammar {
        name: "tsx",
        endings: &["tsx"],
        names: &[],
        grammar: tree_sitter_typescript::LANGUAGE_TSX,
        definitions: TYPESCRIPT,
        wrappers: &["export_statement", "lexical_declaration"],
        second: None,
    },
    Grammar {
        name: "go",
        endings: &["go"],
        names: &[],
        grammar: tree_sitter_go::LANGUAGE,
        definitions: &[
            plain("function_declaration"),
            plain("method_declaration"),
            named("type_spec", "type "),
            named("type_alias", "type "),
        ],
        wrappers: &[],
        second: None,
    },
    Grammar {
        name: "java",
        endings: &["java"],
        names: &[],
        grammar: tree_sitter_java::LANGUAGE,
        definitions: &[
            plain("class_declaration"),
            plain("interface_declaration"),
            plain("enum_declaration"),
            plain("record_declaration"),
            plain("annotation_type_declaration"),
            plain("method_declaration"),
            plain("constructor_declaration"),
            plain("compact_constructor_declaration"),
        ],
        wrappers: &[],
        second: None,
    },
    Grammar {
        name: "c",
        endings: &["c"],
        names: &[],
        grammar: tree_sitter_c::LANGUAGE,
        definitions: C,
        wrappers: &[],
        second: None,
    },
    // a header may be one of C++
    Grammar {
        name: "c",
        endings: &["h"],
        names: &[],
        grammar: tree_sitter_c::LANGUAGE,
        definitions: C,
        wrappers: &[],
        second: Some("cpp"),
    },
    Grammar {
        name: "cpp",
        endings: &["cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "h++", "ipp", "tpp"],
        names: &[],
        grammar: tree_sitter_cpp::LANGUAGE,
        definitions: CPP,
        wrappers: &["template_declaration"],
        second: None,
    },
    Grammar {
        name: "json",
        endings: &["json", "jsonc", "webmanifest"],
        names: &[],
        grammar: tree_sitter_json::LANGUAGE,
        definitions: &[holding("pair", &["object", "array"])],
        wrappers: &[],
        second: None,
    },
    Grammar {
        name: "toml",
        endings: &["toml"],
        names: &["Cargo.lock", "poetry.lock", "uv.lock"],
        grammar: tree_sitter_toml_ng::LANGUAGE,
        definitions: &[plain("table"), plain("table_array_element"), holding("pair", &["array", "inline_table"])],
        wrappers: &[],
        second: None,
    },
    Grammar {
        name: "yaml",
        endings: &["yml", "yaml"],
        names: &[],
        grammar: tree_sitter_yaml::LANGUAGE,
        definitions: &[holding("block_mapping_pair", &["block_node"])],
        wrappers: &[],
        second: None,
    },
    Grammar {
        name: "markdown",
        endings: &["md", "markdown"],
        names: &[],
        grammar: tree_sitter_md::LANGUAGE,
        definitions: &[holding("section", &["atx_heading", "setext_heading"])],
        wrappers: &[],
        second: None,
    },
    Grammar {
        name: "bash",
        endings: &["sh", "bash"],
        names: &[".bashrc", ".bash_profile", ".profile", "PKGBUILD"],
        grammar: tree_sitter_bash::LANGUAGE,
        definitions: &[plain("function_definition")],
        wrappers: &[],
        second: None,
    },
];

impl Grammar {
    /// The grammar, as the parser takes it.
    #[must_use]
    pub fn language(&self) -> Language {
        self.grammar.into()
    }

    /// The row of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Grammar> {
        GRAMMARS.iter().find(|grammar| grammar.name == name)
    }

    /// The row for a file of this path, or of this name.
    #[must_use]
    pub fn of(path: &[u8]) -> Option<&'static Grammar> {
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        let whole = |grammar: &&Grammar| grammar.names.iter().any(|known| known.as_bytes() == name);
        let dot = name.iter().rposition(|&byte| byte == b'.').filter(|&at| at > 0);
        let ending = dot.map(|at| name[at + 1..].to_ascii_lowercase());
        let by_ending = |grammar: &&Grammar| {
            ending.as_ref().is_some_and(|ending| grammar.endings.iter().any(|known| known.as_bytes() == ending))
        };
        GRAMMARS.iter().find(whole).or_else(|| GRAMMARS.iter().find(by_ending))
    }
}

impl std::fmt::Debug for Grammar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Grammar").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn name_of(path: &str) -> Option<&'static str> {
        Grammar::of(path.as_bytes()).map(|grammar| grammar.name)
    }

    #[test]
    fn names_find_their_language() {
        assert_eq!(name_of("src/a/main.rs"), Some("rust"));
        assert_eq!(name_of("A.PY"), Some("python"));
        assert_eq!(name_of("x/Cargo.lock"), Some("toml"));
        assert_eq!(name_of(".bashrc"), Some("bash"));
        for none in ["rs", ".rs", "a.rs/", "a.", "", "main.rs.orig", "a.unknown", "\u{fffd}.x"] {
            assert_eq!(name_of(none), None, "{none}");
        }
    }

    #[test]
    fn no_name_belongs_to_two_rows() {
        let mut seen = BTreeSet::new();
        for grammar in GRAMMARS {
            for name in grammar.endings.iter().chain(grammar.names) {
                assert!(seen.insert(name), "{name} is claimed twice");
            }
            assert!(grammar.endings.iter().all(|ending| ending.to_ascii_lowercase() == *ending));
        }
    }

    #[test]
    fn every_kind_in_the_table_is_one_of_its_grammar() {
        for grammar in GRAMMARS {
            let language = grammar.language();
            let known = |kind: &str| language.id_for_node_kind(kind, true) != 0;
            let kinds = grammar.definitions.iter().flat_map(|definition| {
                let more = match definition.needs {
                    Needs::Child(kinds) => kinds,
                    Needs::Nothing | Needs::Body => &[],
                };
                more.iter().copied().chain([definition.kind])
            });
            for kind in kinds.chain(grammar.wrappers.iter().copied()) {
                assert!(known(kind), "{}: {kind}", grammar.name);
            }
        }
    }
}
