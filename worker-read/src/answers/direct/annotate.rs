//! repo_annotate: whose each line of a file is, in a commit or in the working tree.
//! Trust: see the module above; a file on disk is opened beneath the top without a link, converted by us, never filtered.

use super::{bad, either};
use crate::{
    answers::budget::{Budget, cost},
    blame::{self, MAX_MAILMAP, Mailmap, Version},
    changes::{Side, normalised},
    diff::{attributes::Disk, contents},
    history,
    index::Snapshot,
    open_beneath,
    pace::{Pace, Stopped},
    renames,
    repo::Repo,
    revision, scope,
    staged::{self, Unfinished},
    status,
    unmerged::operation,
};
use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    limits::{ANNOTATED, DIRECT_TEXT_BYTES},
    results::{Annotated, AnnotatedLine, ConflictOperation, Omission, Partial},
};
use bulkhead_ipc::edge::asks;
use gix::{ObjectId, bstr::ByteSlice as _, index::entry::Mode};
use std::{
    collections::HashMap,
    rc::Rc,
    time::{SystemTime, UNIX_EPOCH},
};

const OPERATION: &str = "annotate";
/// What Git calls the author of lines that are in no commit.
const UNCOMMITTED: &str = "Not Committed Yet";
/// Lines of one answer at most.
const MAX_LINES: u32 = 100_000;

/// `repo_annotate`.
pub(in crate::answers) fn annotate(repo: &Repo, ask: &asks::Annotate, pace: &Pace) -> Result<Annotated, ReadFailure> {
    let path = super::path(&ask.path, OPERATION)?;
    let found = match &ask.revision {
        Some(revision) => committed(repo, revision, &path, pace),
        None => on_disk(repo, &path, pace),
    };
    let found = found.map_err(|unfinished| match unfinished {
        Unfinished::Failed(failure) => failure,
        Unfinished::Stopped(stopped) => late(stopped).at(&path),
    })?;
    Ok(rows(repo, &found, ask.bytes.min(DIRECT_TEXT_BYTES)))
}

/// A file and the commits of its lines.
struct Found {
    text: Vec<u8>,
    /// None for a line that is in no commit.
    commits: Vec<Option<ObjectId>>,
    filtered: bool,
    incomplete: bool,
    /// A file of attributes that was not read: it may have said how the file is converted.
    unread: Option<Vec<u8>>,
}

/// The file in a commit.
fn committed(repo: &Repo, revision: &str, asked: &[u8], pace: &Pace) -> Result<Found, Unfinished> {
    let commit = revision::commit(repo, revision, OPERATION, pace)?;
    let tree = repo.tree_of(commit)?;
    let at =
        |path: &[u8]| Ok(scope::in_tree(repo, tree, path)?.map(|(mode, id)| Version { path: path.to_vec(), mode, id }));
    let Some(version) = either(asked, at)? else {
        let details = format!("There is no such file in `{}`.", bulkhead_contract::args::shown(revision));
        return Err(ReadFailure::new(Reason::NoSuchPath, OPERATION, details).at(asked).into());
    };
    let text = stored(repo, &version)?;
    let blamed = blame::all(repo, commit, &version, pace)?;
    let commits = (0..blame::line_count(&text)).map(|at| Some(blamed.commit(at).unwrap_or(commit))).collect();
    Ok(Found { text, commits, filtered: false, incomplete: blamed.incomplete, unread: None })
}

/// The contents of a file that lines can be found in.
fn stored(repo: &Repo, version: &Version) -> Result<Vec<u8>, ReadFailure> {
    let path = &version.path;
    match version.mode {
        Mode::DIR => return Err(bad(OPERATION, "It is a directory.").at(path)),
        Mode::COMMIT => return Err(bad(OPERATION, "It is a submodule; its files are in another repository.").at(path)),
        _ => {}
    }
    let text = contents::blob(repo, &version.id, ANNOTATED.0).map_err(|why| match why {
        Omission::TooLarge => too_large(path),
        _ => ReadFailure::new(Reason::ObjectMissing, OPERATION, "Its contents are not in this clone, or are damaged.")
            .at(path),
    })?;
    few_lines(&text, path)?;
    Ok(text)
}

fn few_lines(text: &[u8], path: &[u8]) -> Result<(), ReadFailure> {
    if blame::line_count(text) > ANNOTATED.1 { Err(too_large(path)) } else { Ok(()) }
}

fn too_large(path: &[u8]) -> ReadFailure {
    let details = format!("Files of more than {} bytes or {} lines are not annotated.", ANNOTATED.0, ANNOTATED.1);
    ReadFailure::new(Reason::TooLarge, OPERATION, details).at(path)
}

fn late(stopped: Stopped) -> ReadFailure {
    let details = match stopped {
        Stopped::Memory => {
            "The file's history needs more memory than this worker may use; a larger --worker-memory gives it."
        }
        Stopped::Deadline => {
            "The file's history was not followed to its end in time. Start the server with a larger --deadline."
        }
        Stopped::Cancelled => "The call was cancelled.",
    };
    ReadFailure::new(Reason::TooLarge, OPERATION, details)
}

/// The file in the working tree, whose commit-to-be has HEAD for a parent, and in a merge the other sides too.
fn on_disk(repo: &Repo, asked: &[u8], pace: &Pace) -> Result<Found, Unfinished> {
    if repo.is_bare() {
        let details = "A bare repository has no working tree; give a revision.";
        return Err(ReadFailure::new(Reason::Bare, OPERATION, details).into());
    }
    let Some(head) = repo.refs.head()?.id else {
        let details = "HEAD is on a branch that has no commit yet.";
        return Err(ReadFailure::new(Reason::NoSuchRevision, OPERATION, details).into());
    };
    let known = operation::read(&repo.found.git_dir);
    let merged = if known.operation == ConflictOperation::Merge { known.theirs } else { Vec::new() };
    let parents: Vec<ObjectId> = std::iter::once(head).chain(merged).collect();
    let index = repo.index()?;
    let there = |path: &[u8]| {
        for &parent in &parents {
            let found = scope::in_tree(repo, repo.tree_of(parent)?, path)?;
            if found.is_some_and(|(mode, _)| mode != Mode::DIR) {
                return Ok(Some(path.to_vec()));
            }
        }
        Ok(entry(&index, path).map(|_| path.to_vec()))
    };
    let Some(path) = either(asked, there)? else {
        let details = "There is no such file in HEAD, nor in the index.";
        return Err(ReadFailure::new(Reason::NoSuchPath, OPERATION, details).at(asked).into());
    };
    let (version, text, filtered, unread) = disk_version(repo, &index, &path)?;
    few_lines(&text, &path)?;
    let commits = vec![None; blame::line_count(&text)];
    let mut found = Found { commits, text, filtered, incomplete: false, unread };
    for (parent, theirs) in origins(repo, &index, &parents, &version, &found.text, pace)? {
        let blamed = blame::all(repo, parent, &theirs, pace)?;
        found.incomplete |= blamed.incomplete;
        if theirs.id == version.id {
            found.commits = (0..found.commits.len()).map(|at| Some(blamed.commit(at).unwrap_or(parent))).collect();
            break;
        }
        let lines = blame::unchanged(repo, &found.text, theirs.id, &found.commits, pace)?;
        for (commit, line) in found.commits.iter_mut().zip(lines) {
            if let (None, Some(line)) = (&*commit, line) {
                *commit = Some(blamed.commit(line as usize).unwrap_or(parent));
            }
        }
    }
    Ok(found)
}

/// The first entry of `path` in the index.
fn entry<'a>(index: &'a Snapshot, path: &[u8]) -> Option<&'a gix::index::Entry> {
    let entries = index.state.entries();
    let at = entries.partition_point(|entry| entry.path(&index.state) < path.as_bstr());
    entries.get(at).filter(|entry| entry.path(&index.state) == path)
}

/// A version of a file with its text, whether a filter kept it from being known, and what of the attributes was not read.
type OnDisk = (Version, Vec<u8>, bool, Option<Vec<u8>>);

/// The file on disk as Git would store it.
fn disk_version(repo: &Repo, index: &Rc<Snapshot>, path: &[u8]) -> Result<OnDisk, ReadFailure> {
    let indexed = entry(index, path);
    let mode = indexed.map(|entry| normalised(entry.mode.bits()));
    let mut disk = Disk::new(repo, Some(Rc::clone(index)));
    let Some(mode) = disk.mode(path, mode) else {
        let details = "There is no such file in the working tree; give a revision for one that was there.";
        return Err(ReadFailure::new(Reason::NoSuchPath, OPERATION, details).at(path));
    };
    if mode == Mode::COMMIT {
        return Err(bad(OPERATION, "It is a directory or a submodule.").at(path));
    }
    let version = |id| Version { path: path.to_vec(), mode, id };
    let contents = disk.contents(path, mode, ANNOTATED.0);
    let unread = disk.unread().map(<[u8]>::to_vec);
    match contents {
        Ok(text) => {
            let id = gix::objs::compute_hash(repo.git.object_hash(), gix::objs::Kind::Blob, &text);
            let id = id.map_err(|_| bad(OPERATION, "Its contents have no id.").at(path))?;
            Ok((version(id), text, false, unread))
        }
        // what a filter would make of it is not known; what it made of it last is in the index
        Err(Omission::Filtered) if indexed.is_some() => {
            let version = version(indexed.map_or_else(|| repo.git.object_hash().null(), |entry| entry.id));
            let text = stored(repo, &version)?;
            Ok((version, text, true, unread))
        }
        Err(Omission::TooLarge) => Err(too_large(path)),
        Err(_) => Err(bad(OPERATION, "It is no regular file, or cannot be read.").at(path)),
    }
}

/// The versions of the file that the commits `parents` have, in their order; one with the same contents alone.
fn origins(
    repo: &Repo,
    index: &Snapshot,
    parents: &[ObjectId],
    version: &Version,
    text: &[u8],
    pace: &Pace,
) -> Result<Vec<(ObjectId, Version)>, Unfinished> {
    let mut found: Vec<(usize, ObjectId, Version)> = Vec::new();
    let mut without = Vec::new();
    for (place, &parent) in parents.iter().enumerate() {
        let tree = repo.tree_of(parent)?;
        match scope::in_tree(repo, tree, &version.path)? {
            Some((mode, id)) if blame::same_kind(mode, version.mode) => {
                let theirs = Version { path: version.path.clone(), mode, id };
                if id == version.id {
                    return Ok(vec![(parent, theirs)]);
                }
                found.push((place, parent, theirs));
            }
            Some((mode, _)) if mode != Mode::DIR => {}
            _ => without.push((place, parent, tree)),
        }
    }
    for (place, parent, tree) in without {
        let mut deleted = staged::sides(&repo.git, index, Some(tree), pace)?.deleted;
        deleted.retain(|side| side.path != version.path);
        let added = Side { path: version.path.clone(), mode: version.mode, id: version.id };
        let contents = |side: &Side| {
            if side.path == version.path { Some(text.to_vec()) } else { renames::blob(&repo.git, side.id) }
        };
        let Some(theirs) = blame::source(deleted, added, &contents, pace)? else { continue };
        if theirs.id == version.id {
            return Ok(vec![(parent, theirs)]);
        }
        found.push((place, parent, theirs));
    }
    found.sort_by_key(|(place, ..)| *place);
    Ok(found.into_iter().map(|(_, parent, version)| (parent, version)).collect())
}

/// Who made a line.
struct Maker {
    id: String,
    author: String,
    date: i64,
    offset: i32,
    written: String,
}

fn rows(repo: &Repo, found: &Found, bytes: u32) -> Annotated {
    let mailmap = mailmap(repo);
    let mut makers: HashMap<Option<ObjectId>, Maker> = HashMap::new();
    let mut budget = Budget::new(MAX_LINES, bytes);
    let mut answer = Annotated { total: found.commits.len() as u64, filtered: found.filtered, ..Annotated::default() };
    let lines = found.text.split_inclusive(|&byte| byte == b'\n');
    for ((line, commit), number) in lines.zip(&found.commits).zip(1..) {
        let content = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(line)).into_owned();
        let maker = makers.entry(*commit).or_insert_with(|| maker(repo, &mailmap, *commit));
        let row = (number, &maker.id, &maker.author, maker.date, &content);
        if cost(&row) > budget.left() || !budget.take(&row) {
            break;
        }
        answer.lines.push(AnnotatedLine {
            id: maker.id.clone(),
            line: number,
            content,
            author: maker.author.clone(),
            date: maker.date,
            offset: maker.offset,
            written: maker.written.clone(),
        });
    }
    let incomplete = found.incomplete.then(|| Partial {
        reason: Reason::ObjectMissing.name().to_owned(),
        details:
            "Commits, trees or versions of the file are missing, damaged or too large; lines that come from there are \
                  laid to later commits."
                .to_owned(),
    });
    answer.partial = incomplete.or_else(|| status::partial(None, found.unread.as_deref()));
    answer
}

fn maker(repo: &Repo, mailmap: &Mailmap, commit: Option<ObjectId>) -> Maker {
    let Some(id) = commit else {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        return Maker {
            id: repo.git.object_hash().null().to_string(),
            author: UNCOMMITTED.to_owned(),
            date: i64::try_from(now).unwrap_or(i64::MAX),
            offset: 0,
            written: history::iso(gix::date::Time::new(i64::try_from(now).unwrap_or(i64::MAX), 0)),
        };
    };
    let mut buffer = Vec::new();
    let commit = history::read(repo, id, &mut buffer).unwrap_or_default();
    let author = commit.author();
    let name = author.map(|who| history::text(&commit, who.name.trim().as_bstr()));
    let time = author.and_then(|who| who.time().ok());
    let known = author.zip(name.as_deref()).and_then(|(who, name)| mailmap.name(name.as_bytes(), who.email.trim()));
    let known = known.map(|name| String::from_utf8_lossy(name).into_owned());
    let name = known.or(name).unwrap_or_else(|| "(unknown)".to_owned());
    Maker {
        id: id.to_string(),
        author: history::cut(&name, history::MAX_NAME_CHARS),
        date: time.map_or(0, |time| time.seconds),
        offset: time.map_or(0, |time| time.offset),
        written: time.map(history::iso).unwrap_or_default(),
    }
}

/// `.mailmap` at the top of the working tree, or of HEAD where there is none.
fn mailmap(repo: &Repo) -> Mailmap {
    const NAME: &[u8] = b".mailmap";
    let text = match repo.found.worktree.as_deref().filter(|_| !repo.is_bare()) {
        Some(top) => open_beneath::read(top, NAME, MAX_MAILMAP).ok(),
        None => (|| {
            let tree = repo.tree_of(repo.refs.head().ok()?.id?).ok()?;
            let (mode, id) = scope::in_tree(repo, tree, NAME).ok()??;
            contents::blob(repo, &id, MAX_MAILMAP).ok().filter(|_| renames::is_file(mode))
        })(),
    };
    text.map(|text| Mailmap::parse(&text)).unwrap_or_default()
}
