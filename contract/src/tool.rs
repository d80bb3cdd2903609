//! The shape of a tool's row: everything that `tools/list`, the argument check and the documentation say about a tool.
//! Trust: rows are constants of this crate; nothing in them comes from outside.

/// One tool, as data.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    /// Contract name with a dot, for example `repo.status`; the name in results and in the audit log.
    pub name: &'static str,
    /// A few words for people (eras from 2025-06-18 on).
    pub title: &'static str,
    /// For an agent that decides what to do next; the first sentence says when to call the tool.
    pub description: &'static str,
    /// Group by which an operator narrows the list.
    pub toolset: Toolset,
    /// What the tool may do to the world.
    pub annotations: Annotations,
    /// Result field `source`.
    pub source: &'static str,
    /// Arguments in the order in which a reader wants them.
    pub arguments: &'static [Argument],
    /// Fields of the result's `data`.
    pub data: &'static [Field],
}

impl Tool {
    /// Which of the two surfaces it belongs to.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        matches!(self.toolset, Toolset::Repo | Toolset::Write)
    }

    /// The spelling for hosts that refuse dots, for example `repo_status`.
    #[must_use]
    pub fn underscored(&self) -> String {
        self.name.replace('.', "_")
    }

    /// Arguments of which a call needs at least one. Schemas do not say so, because hosts choke on unions; the check does.
    #[must_use]
    pub fn alternatives(&self) -> &'static [&'static str] {
        if self.name == "fleet.radar" { &["repoPaths", "repositories"] } else { &[] }
    }

    /// The operation that a tool proposes, as the gateway names it: `merge` of `operation.preview.merge`.
    #[must_use]
    pub fn proposes(&self) -> Option<&'static str> {
        self.name.strip_prefix("operation.preview.")
    }

    /// Members of its results beside `data` and `error`, where there are any of their own.
    #[must_use]
    pub fn beside(&self) -> &'static [Field] {
        match (self.toolset, self.proposes()) {
            (Toolset::Propose, Some(_)) => crate::catalogue::PREVIEW,
            (Toolset::Propose, None) => crate::catalogue::OF_ONE,
            _ => &[],
        }
    }

    /// The row of the argument `name`.
    #[must_use]
    pub fn argument(&self, name: &str) -> Option<&'static Argument> {
        self.arguments.iter().find(|argument| argument.name == name)
    }
}

/// How many rows these families have together.
pub(crate) const fn count(families: &[&[Tool]]) -> usize {
    let (mut count, mut at) = (0, 0);
    while at < families.len() {
        count += families[at].len();
        at += 1;
    }
    count
}

/// The rows of these families, one after the other; `N` is their [`count`].
pub(crate) const fn joined<const N: usize>(families: &[&[Tool]]) -> [Tool; N] {
    let mut all = [families[0][0]; N];
    let (mut count, mut family) = (0, 0);
    while family < families.len() {
        let mut at = 0;
        while at < families[family].len() {
            all[count] = families[family][at];
            (count, at) = (count + 1, at + 1);
        }
        family += 1;
    }
    all
}

/// Group by which an operator narrows the list (`--toolsets`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toolset {
    /// One repository, read only.
    Inspect,
    /// Many repositories at once, read only.
    Fleet,
    /// Restore points and the timeline of what happened.
    Safety,
    /// Proposals of writes, which a person decides on.
    Propose,
    /// Who else works here.
    Agents,
    /// The direct surface's reads.
    Repo,
    /// The direct surface's writes, behind the gate.
    Write,
}

impl Toolset {
    /// All of them, in the order of the documentation.
    pub const ALL: [Toolset; 7] = [
        Toolset::Inspect,
        Toolset::Fleet,
        Toolset::Safety,
        Toolset::Propose,
        Toolset::Agents,
        Toolset::Repo,
        Toolset::Write,
    ];

    /// The word on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Toolset::Inspect => "inspect",
            Toolset::Fleet => "fleet",
            Toolset::Safety => "safety",
            Toolset::Propose => "propose",
            Toolset::Agents => "agents",
            Toolset::Repo => "repo",
            Toolset::Write => "write",
        }
    }

    /// The toolset of that word.
    #[must_use]
    pub fn named(word: &str) -> Option<Toolset> {
        Toolset::ALL.into_iter().find(|toolset| toolset.name() == word)
    }
}

/// The four hints of MCP. All are stated, because the protocol's defaults call a local read destructive and open-world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Annotations {
    /// Changes nothing.
    pub read_only: bool,
    /// May destroy something.
    pub destructive: bool,
    /// Calling it twice is as good as once.
    pub idempotent: bool,
    /// Talks to something outside this machine.
    pub open_world: bool,
}

impl Annotations {
    /// A read of local files.
    pub const LOCAL_READ: Annotations =
        Annotations { read_only: true, destructive: false, idempotent: true, open_world: false };
}

/// One argument of a tool, or one member of an argument that is an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argument {
    /// Name in `arguments`.
    pub name: &'static str,
    /// What values are accepted.
    pub kind: Kind,
    /// The call is refused without it.
    pub required: bool,
    /// A few words for an agent; empty where the name says it all, and then left out of the schema.
    pub description: &'static str,
}

/// What values an argument accepts. Lengths count Unicode scalar values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An absolute path without NUL, not blank, of at most [`crate::limits::MAX_PATH_BYTES`] characters.
    Path,
    /// Text.
    Text {
        /// Least length.
        min: usize,
        /// Greatest length.
        max: usize,
    },
    /// A name of 1 to `max` ASCII letters, digits, `_` and `-`.
    Word {
        /// Greatest length.
        max: usize,
    },
    /// An integer, written as one: `3.0` is refused.
    Integer {
        /// Least value.
        min: i64,
        /// Greatest value.
        max: i64,
        /// Value when the argument is absent.
        default: Option<i64>,
    },
    /// True or false.
    Boolean {
        /// Value when the argument is absent.
        default: Option<bool>,
    },
    /// One of these words.
    OneOf {
        /// The words.
        words: &'static [&'static str],
        /// Word when the argument is absent.
        default: Option<&'static str>,
    },
    /// A list of values of one kind.
    ListOf {
        /// What each item accepts.
        item: &'static Kind,
        /// Fewest items.
        min: usize,
        /// Most items.
        max: usize,
    },
    /// An object with these members and no others.
    Object(&'static [Argument]),
}

/// One field of a result.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Name in the JSON object.
    pub name: &'static str,
    /// What stands there.
    pub shape: Shape,
    /// Absent in some answers.
    pub optional: bool,
    /// What it means; shown in full schemas.
    pub description: &'static str,
}

impl Field {
    /// A field that every answer has.
    #[must_use]
    pub const fn always(name: &'static str, shape: Shape, description: &'static str) -> Field {
        Field { name, shape, optional: false, description }
    }

    /// A field that some answers lack.
    #[must_use]
    pub const fn sometimes(name: &'static str, shape: Shape, description: &'static str) -> Field {
        Field { name, shape, optional: true, description }
    }
}

/// What a result field holds.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// A string.
    Text,
    /// An integer that is not negative.
    Count,
    /// True or false.
    Boolean,
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// A value that may be null; the word says what it is otherwise. Rendered without a type, because hosts choke on
    /// type arrays and unions.
    Nullable(&'static str),
    /// An integer that may be negative.
    Integer,
    /// Any JSON value; the word says what it usually is. Rendered without a type.
    Any(&'static str),
    /// An object with these fields, open for later ones.
    Object(&'static [Field]),
    /// Such an object, or null. Rendered without a type.
    NullableObject(&'static [Field]),
    /// A list of such values.
    List(&'static Shape),
}
