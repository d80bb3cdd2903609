//! The only place that opens a repository with gix: formats are checked by name, and the configuration is made harmless.
//! Trust: every byte of the configuration is the repository's; nothing in it may name a program, a path or a limit.

use crate::{
    discover::{Found, Link},
    files::{self, Links, NoContents},
};
use bulkhead_contract::failure::{ReadFailure, Reason};
use gix::{bstr::ByteSlice as _, odb::pack::cache::lru::StaticLinkedList, open::Options};
use std::fs;

const OPERATION: &str = "open";
/// Bytes of `config` or `config.worktree` at most.
const MAX_CONFIG: u64 = 4 << 20;
/// Bytes of `info/grafts` at most, as the gate has it.
const MAX_GRAFTS: u64 = 1 << 20;
/// Bytes that one object may take when it is unpacked; part of the worker's `RLIMIT_DATA`.
const MAX_OBJECT: u64 = 256 << 20;
/// How much memory the caches of one repository may take. All of a worker together stay below 96 MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caches {
    /// The repository that the worker is for.
    Main,
    /// A submodule, of which there may be several.
    Nested,
}

impl Caches {
    /// Bytes for delta bases and for whole objects.
    pub(crate) fn bytes(self) -> (u64, usize) {
        match self {
            Caches::Main => (20 << 20, 12 << 20),
            Caches::Nested => (3 << 19, 512 << 10),
        }
    }

    /// Bytes for listings of directories.
    pub(crate) fn listing_bytes(self) -> usize {
        match self {
            Caches::Main => 12 << 20,
            Caches::Nested => 256 << 10,
        }
    }

    /// Directories that stay open between calls, of as many as the worker may hold.
    pub(crate) fn directories(self, of: usize) -> usize {
        match self {
            Caches::Main => of,
            Caches::Nested => 0,
        }
    }

    /// Bytes for `.gitignore` and `.gitattributes` files.
    pub(crate) fn rule_bytes(self) -> usize {
        match self {
            Caches::Main => 4 << 20,
            Caches::Nested => 256 << 10,
        }
    }
}

/// Bytes of the delta bases of one reader who passes by.
pub(crate) const PASSING_BYTES: usize = 6 << 20;

/// Extensions of the repository format that this build reads rightly (`gitrepository-layout`, *extensions*).
const EXTENSIONS: &[&str] = &[
    "noop",
    "noop-v1",
    "preciousobjects",
    "partialclone",
    "worktreeconfig",
    "objectformat",
    "refstorage",
    "relativeworktrees",
    "submodulepathconfig",
];

/// Sections that are removed whole: each names programs, other files, or other places.
const REMOVED_SECTIONS: &[&str] = &[
    "alias",
    "browser",
    "credential",
    "difftool",
    "filter",
    "gitoxide",
    "gpg",
    "http",
    "include",
    "includeif",
    "instaweb",
    "lfs",
    "man",
    "mergetool",
    "pager",
    "protocol",
    "safe",
    "sendemail",
    "ssh",
    "trace2",
    "trailer",
    "uploadpack",
    "url",
    "web",
];
/// Keys that are removed from sections that are otherwise needed.
const REMOVED_KEYS: &[(&str, &[&str])] = &[
    ("diff", &["command", "textconv", "external", "trustexitcode", "cachetextconv"]),
    ("merge", &["driver", "recursive", "tool"]),
    ("mailmap", &["file"]),
    ("submodule", &["update"]),
    ("remote", &["vcs", "uploadpack", "receivepack", "proxy"]),
    (
        "core",
        &[
            "alternaterefscommand",
            "askpass",
            "attributesfile",
            "editor",
            "excludesfile",
            "fsmonitor",
            "gitproxy",
            "hookspath",
            "pager",
            "sshcommand",
        ],
    ),
];

/// Opens what was found.
///
/// # Errors
/// [`Reason::UnsupportedFormat`] naming the format or the grafts, [`Reason::Redirected`] for a `core.worktree` that leads elsewhere,
/// or what is wrong with the configuration.
pub fn open(found: &Found, caches: Caches) -> Result<gix::Repository, ReadFailure> {
    let shared = config_file(found, false)?;
    let own = if found.common_dir == found.git_dir || boolean(&shared, "extensions.worktreeConfig") {
        config_file(found, true)?
    } else {
        gix::config::File::default()
    };
    known_format(&shared)?;
    same_worktree(found, &shared, &own)?;
    // of a submodule it is asked what is checked out, not what came before
    if caches == Caches::Main {
        no_grafts(found)?;
    }
    let options = Options::isolated()
        .open_path_as_is(true)
        // whose it is was decided before, by stricter rules
        .with(gix::sec::Trust::Full)
        .config_overrides([
            format!("gitoxide.objects.allocLimit={MAX_OBJECT}"),
            format!("core.deltaBaseCacheLimit={}", caches.bytes().0),
        ]);
    let mut repo = options
        .open(&found.git_dir)
        .map_err(|_| {
            ReadFailure::new(
                Reason::Corrupt,
                OPERATION,
                "The repository cannot be opened: its configuration, or the list of its object directories, is not as Git allows.",
            )
        })?
        .to_thread_local();
    harden(&mut repo)?;
    repo.object_cache_size(caches.bytes().1);
    Ok(repo)
}

/// The objects of `git` for a reader who passes by many and hardly ever asks for one twice: whole objects are not kept, and of
/// delta bases only the last ones, in a list that costs less than a table does.
#[must_use]
pub fn for_passing(git: &gix::Repository) -> gix::Repository {
    let mut git = git.clone();
    git.object_cache_size(None);
    git.objects.set_pack_cache(|| Box::new(StaticLinkedList::<64>::new(PASSING_BYTES)));
    git
}

fn config_file(found: &Found, of_worktree: bool) -> Result<gix::config::File, ReadFailure> {
    let (path, name) = if of_worktree {
        (found.git_dir.join("config.worktree"), ".git/config.worktree")
    } else {
        (found.common_dir.join("config"), ".git/config")
    };
    // a link inside the git directory passed the gate
    let bytes = match files::read(&path, MAX_CONFIG, Links::Follow) {
        Ok(bytes) => bytes,
        Err(NoContents::Absent) => return Ok(gix::config::File::default()),
        Err(e) => return Err(e.failure(OPERATION, name)),
    };
    let meta = gix::config::file::Metadata::from(gix::config::Source::Local);
    let options = gix::config::file::init::Options { lossy: true, ..Default::default() };
    gix::config::File::from_bytes_no_includes(&bytes, meta, options).map_err(|_| {
        ReadFailure::new(Reason::Corrupt, OPERATION, format!("{name} is not a Git configuration file."))
            .at(name.as_bytes())
    })
}

fn boolean(config: &gix::config::File, key: &str) -> bool {
    config.boolean(key).ok().flatten().unwrap_or(false)
}

fn known_format(config: &gix::config::File) -> Result<(), ReadFailure> {
    let unsupported = |details: String| ReadFailure::new(Reason::UnsupportedFormat, OPERATION, details);
    let version = config.integer("core.repositoryFormatVersion").ok().flatten().unwrap_or(0);
    if !(0..=1).contains(&version) {
        return Err(unsupported(format!("Repository format version {version} is not known to this server.")));
    }
    for section in config.sections_by_name("extensions").into_iter().flatten() {
        for name in section.value_names() {
            let name = name.to_ascii_lowercase();
            let value = section.value(&name).unwrap_or_default().to_str_lossy().to_ascii_lowercase();
            match name.as_str() {
                "refstorage" if value != "files" => {
                    let value: String = value.chars().filter(char::is_ascii_graphic).take(32).collect();
                    return Err(unsupported(format!(
                        "This server cannot read references kept as `{value}` yet; `git refs migrate --ref-format=files` changes that."
                    )));
                }
                "objectformat" if value != "sha1" && value != "sha256" => {
                    return Err(unsupported("The repository's object format is not known to this server.".into()));
                }
                known if EXTENSIONS.contains(&known) => {}
                // Git itself ignores an unknown extension of a version 0 repository
                _ if version == 0 => {}
                other => {
                    let other: String = other.chars().filter(char::is_ascii_graphic).take(64).collect();
                    return Err(unsupported(format!(
                        "The repository's extension `{other}` is not known to this server."
                    )));
                }
            }
        }
    }
    Ok(())
}

/// `core.worktree` may only say what was found anyway: the directory whose `.git` led here.
fn same_worktree(found: &Found, shared: &gix::config::File, own: &gix::config::File) -> Result<(), ReadFailure> {
    // of a linked worktree the shared value speaks of the main one
    let own = own.string("core.worktree").map(|value| (value, ".git/config.worktree"));
    let shared = || shared.string("core.worktree").filter(|_| found.link != Link::Worktree);
    let Some((value, name)) = own.or_else(|| shared().map(|value| (value, ".git/config"))) else { return Ok(()) };
    let redirected = |what: &str| {
        let details = format!("{what} This server does not read repositories whose core.worktree leads elsewhere.");
        Err(ReadFailure::new(Reason::Redirected, OPERATION, details).at(name.as_bytes()))
    };
    let named = files::bytes_path(&value).and_then(|path| fs::canonicalize(found.git_dir.join(path)).ok());
    match (&found.worktree, named) {
        (Some(worktree), Some(named)) if *worktree == named => Ok(()),
        (None, _) => {
            redirected("The repository is bare by its place, and its core.worktree names a working tree elsewhere.")
        }
        _ => redirected("core.worktree names another directory than the one that holds `.git`."),
    }
}

/// Grafts give commits other parents. They are Git's older way to say what replacements say, and the library knows those
/// alone: every answer that rests on parents would silently be another than Git's.
fn no_grafts(found: &Found) -> Result<(), ReadFailure> {
    let text = match files::read(&found.common_dir.join("info/grafts"), MAX_GRAFTS, Links::Follow) {
        Ok(text) => text,
        Err(NoContents::Absent) => return Ok(()),
        Err(e) => return Err(e.failure(OPERATION, ".git/info/grafts")),
    };
    let says_nothing = |line: &[u8]| line.trim_ascii_end().is_empty() || line.starts_with(b"#");
    if text.split(|&byte| byte == b'\n').all(says_nothing) {
        return Ok(());
    }
    let details = "This server cannot read grafts; `git replace --convert-graft-file` turns them into replacements, which it reads.";
    Err(ReadFailure::new(Reason::UnsupportedFormat, OPERATION, details).at(b".git/info/grafts"))
}

/// Takes away what could run a program, read another file, or loosen a limit, should any part of the library look.
fn harden(repo: &mut gix::Repository) -> Result<(), ReadFailure> {
    let mut config = repo.config_snapshot_mut();
    let ids: Vec<_> = config.section_ids().collect();
    for id in ids {
        let Some(mut section) = config.section_mut_by_id(id) else { continue };
        if section.meta().source == gix::config::Source::Api {
            continue;
        }
        let name = section.header().name().to_str_lossy().to_ascii_lowercase();
        if REMOVED_SECTIONS.contains(&name.as_str()) {
            config.remove_section_by_id(id);
            continue;
        }
        for key in REMOVED_KEYS.iter().filter(|(of, _)| *of == name).flat_map(|(_, keys)| *keys) {
            while section.remove(key).is_some() {}
        }
    }
    match config.commit() {
        Ok(_) => Ok(()),
        Err(_) => Err(ReadFailure::new(
            Reason::Corrupt,
            OPERATION,
            "The repository's configuration holds a value that Git does not allow.",
        )),
    }
}
