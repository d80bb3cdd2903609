//! The table of attacks: `docs/attack.md` says the same, row by row, and a test holds them together.
//! Trust: data alone.

use super::support::hostile::{Build, formats, graph, objects, outside, programs, refs, special_files, texts};
use super::{
    streams::{self, Begin, Stream},
    surroundings::{self, Surround},
};

/// How an attack is made.
#[derive(Clone, Copy)]
pub enum How {
    /// With these repositories.
    Repositories(Build),
    /// With this stream.
    Stream(Begin, Stream),
    /// In these surroundings.
    Surroundings(Surround),
}

/// One kind of attack.
#[derive(Clone, Copy)]
pub struct Attack {
    /// Its name in lists: a letter for the family, a number, and a further letter for a second builder of a kind.
    pub id: &'static str,
    /// What it attacks, in a word or two.
    pub kind: &'static str,
    /// How.
    pub how: How,
}

impl Attack {
    /// Whether it matters who the server's user is: root may open and own everything.
    pub fn depends_on_user(&self) -> bool {
        ["R03", "R06", "R10", "R25c", "R33", "P01", "P03", "P13"].iter().any(|kind| self.id.starts_with(kind))
    }
}

const fn repositories(id: &'static str, kind: &'static str, build: Build) -> Attack {
    Attack { id, kind, how: How::Repositories(build) }
}

const fn stream(id: &'static str, kind: &'static str, stream: Stream) -> Attack {
    Attack { id, kind, how: How::Stream(Begin::Open, stream) }
}

const fn surround(id: &'static str, kind: &'static str, surround: Surround) -> Attack {
    Attack { id, kind, how: How::Surroundings(surround) }
}

/// Attacks that hit whoever takes no care, and are over soon.
pub const HIT_THE_CARELESS: [&str; 17] = [
    "R02", "R02b", "R02c", "R04", "R06", "R07", "R08", "R09", "R10", "R10b", "R11", "R24b", "R25d", "R30", "M05",
    "M10", "M14",
];

/// Every attack, in the order of lists.
pub const ATTACKS: &[Attack] = &[
    repositories("R01", "hooks", programs::every_hook),
    repositories("R01b", "hooks elsewhere", programs::hooks_elsewhere),
    repositories("R02", "programs in configuration", programs::every_key),
    repositories("R02b", "one program in configuration", programs::one_key_each),
    repositories("R02c", "programs that verify", programs::signatures),
    repositories("R03", "includes", outside::includes),
    repositories("R04", "alternates out", outside::alternates_out),
    repositories("R05", "alternates without end", outside::alternates_without_end),
    repositories("R06", "git files out", outside::git_files),
    repositories("R07", "common directory out", outside::common_directory),
    repositories("R08", "worktree elsewhere", outside::worktree_elsewhere),
    repositories("R09", "git directory is a link", outside::git_directory_is_a_link),
    repositories("R09b", "repository is a link", outside::repository_is_a_link),
    repositories("R10", "parts are links", outside::parts_are_links),
    repositories("R10b", "files are links", outside::files_are_links),
    repositories("R11", "many packed refs", refs::many_packed),
    repositories("R12", "many loose refs", refs::many_loose),
    repositories("R13", "long ref names", refs::long_names),
    repositories("R14", "ref names and targets", refs::names_and_targets),
    repositories("R14b", "upstreams", refs::upstreams),
    repositories("R15", "index files", formats::indexes),
    repositories("R16", "delta bomb", objects::delta_bomb),
    repositories("R16b", "commit is a delta bomb", objects::commit_bomb),
    repositories("R16c", "deltas in a circle", objects::delta_circle),
    repositories("R17", "streams without end", objects::streams_without_end),
    repositories("R18", "trees without end", objects::trees_without_end),
    repositories("R19", "tree entries", objects::bad_trees),
    repositories("R20", "commits", objects::bad_commits),
    repositories("R21", "objects that are gone", graph::missing_objects),
    repositories("R22", "injection by text", texts::injection),
    repositories("R23", "comparisons without end", texts::comparisons),
    repositories("R24", "modules", formats::modules),
    repositories("R24b", "modules' own settings", programs::submodules_own),
    repositories("R25", "fifo for a file of Git", special_files::in_place_of_files),
    repositories("R25b", "fifo for an object", special_files::in_place_of_objects),
    repositories("R25c", "fifos in the worktree", special_files::in_the_worktree),
    repositories("R25d", "one fifo in the worktree", special_files::one_in_the_worktree),
    repositories("R25e", "links for patterns", special_files::links_for_patterns),
    repositories("R26", "graph, midx and pack index", graph::wrong_offsets),
    repositories("R27", "reflogs", refs::logs),
    repositories("R28", "attributes and patterns", formats::attributes),
    repositories("R29", "tags, replacements, grafts", refs::tags_and_replacements),
    repositories("R30", "promisor remote", programs::promisor),
    repositories("R31", "formats", formats::unknown),
    repositories("R32", "sizes", texts::sizes),
    repositories("R33", "owner, hidden bare one", programs::hidden_bare),
    repositories("R34", "path bytes", texts::names),
    stream("M01", "endless line", streams::endless_line),
    stream("M02", "deep JSON", streams::deep_json),
    stream("M03", "big arguments", streams::big_arguments),
    stream("M04", "bytes that are no text", streams::bad_text),
    stream("M05", "ids", streams::ids),
    stream("M06", "batch", streams::batch),
    stream("M07", "flood", streams::flood),
    Attack { id: "M08", kind: "before the opening", how: How::Stream(Begin::Cold, streams::before_opening) },
    stream("M09", "cancel what is unknown", streams::cancel_unknown),
    stream("M10", "cancel against answer", streams::cancel_race),
    stream("M11", "end in the middle", streams::end_midway),
    stream("M12", "byte by byte", streams::slowly),
    stream("M13", "two readings", streams::smuggling),
    stream("M14", "arguments", streams::arguments),
    Attack { id: "M15", kind: "nobody reads", how: How::Stream(Begin::Deaf, streams::never_reads) },
    surround("P01", "no Landlock", surroundings::without_landlock),
    surround("P02", "Landlock forbidden", surroundings::landlock_forbidden),
    surround("P03", "no other layer", surroundings::without_others),
    surround("P08", "server killed", surroundings::killed),
    surround("P09", "launcher killed", surroundings::launcher_killed),
    surround("P10", "limits", surroundings::limits),
    surround("P13", "roots", surroundings::roots),
];
