//! diff.text, commit.details, diff.semantic and diff.semanticFallbacks.
//! Trust: see the module above.

use super::budget::{self, Budget};
use crate::{
    changes::Letter,
    commit::Commit,
    diff::{
        abbreviate::Abbreviation,
        attributes::Disk,
        lines::Rules,
        page::{Cursor, Page, Place},
        pairs::Pair,
        patch::{Patch, Printer, Style, algorithm, percent},
        paths::Paths,
        sides::{self, Found, Item, Renames},
    },
    files, history,
    pace::{Pace, Stopped},
    renames,
    repo::Repo,
    revision,
    staged::Unfinished,
    status,
};
use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    path::text_of,
    results::{
        CommitDetails, DetailedCommit, DiffFormat, FileChange, OmittedFile, Partial, Semantic, SemanticDiff,
        SemanticFallback, SemanticFallbacks, TextDiff, TextDiffArguments,
    },
};
use bulkhead_ipc::edge::asks;
use gix::{ObjectId, diff::blob::Algorithm, objs::FindExt as _};

const OPERATION: &str = "diff";
/// Bytes of text that are counted after a page is full.
const MAX_SCAN: u64 = 16 << 20;
/// Omitted files that are listed.
const MAX_OMITTED: usize = 100;
/// Bytes of a commit that is shown at most.
const MAX_COMMIT: u64 = 4 << 20;
/// Characters of a message, of a name and of an address at most.
const MAX_MESSAGE_CHARS: usize = 16_000;
const MAX_NAME_CHARS: usize = 1_000;
/// Parents that are listed.
const MAX_PARENTS: usize = 100;

/// `diff.text`.
pub(super) fn text(repo: &Repo, ask: &asks::TextDiff, pace: &Pace) -> Result<TextDiff, ReadFailure> {
    let cursor = ask.page.cursor.as_deref().map(Cursor::parse).transpose()?;
    let (what, paths, path) = question(repo, &ask.compared, &ask.paths, &ask.repo_path, ask.staged)?;
    let mut style = style(repo, ask.context, ask.ignore_whitespace);
    style.0.counts_only = ask.stat;
    let (style, algorithm) = style;
    let mut answer = TextDiff {
        format: DiffFormat::Text,
        base: ask.compared.base.clone(),
        head: ask.compared.head.clone(),
        path,
        diff: String::new(),
        truncated: false,
        total_bytes: 0,
        total_lines: 0,
        max_bytes: ask.max_bytes,
        total_files: 0,
        files: ask.stat.then(Vec::new),
        omitted: Vec::new(),
        omitted_total: None,
        algorithm: algorithm.map(str::to_owned),
        lossy: false,
        next_cursor: None,
        partial: None,
    };
    let found = match find(repo, &what, &paths, pace) {
        Ok(found) => found,
        Err(Unfinished::Failed(failure)) => return Err(failure),
        Err(Unfinished::Stopped(why)) => {
            answer.truncated = true;
            answer.partial = status::partial(Some(why), None);
            return Ok(answer);
        }
    };
    answer.partial = found.partial;
    let index = if repo.is_bare() { None } else { Some(repo.index()?) };
    let mut printer = Printer::new(repo, Disk::new(repo, index), style);
    match ask.stat {
        true => rows(&mut answer, &mut printer, &found.items, cursor.as_ref(), ask, pace),
        false => pages(&mut answer, &mut printer, &found.items, cursor.as_ref(), ask, pace),
    }
    Ok(answer)
}

/// The text of `items` from `cursor` on.
fn pages(
    answer: &mut TextDiff,
    printer: &mut Printer<'_>,
    items: &[Item],
    cursor: Option<&Cursor>,
    ask: &asks::TextDiff,
    pace: &Pace,
) {
    let lines = ask.max_lines.map_or(usize::MAX, |lines| lines as usize);
    let mut page = Page::new(ask.max_bytes as usize, lines);
    let mut omitted = 0;
    for item in items {
        let place = Place::of(item);
        let start = match cursor {
            Some(Cursor::Text(at, hunk, line)) if *at == place => (*hunk, *line),
            Some(Cursor::Text(at, ..) | Cursor::Row(at)) if place < *at => continue,
            Some(Cursor::Row(at)) if *at == place => continue,
            _ => (0, 0),
        };
        if let Err(why) = pace.look() {
            answer.partial = status::partial(Some(why), None);
            page.next.get_or_insert(Cursor::Text(place, start.0, start.1));
            break;
        }
        if page.next.is_some() && page.bytes > MAX_SCAN {
            answer.partial = Some(Partial {
                reason: "scan-limit".to_owned(),
                details:
                    "The diff is larger than what is counted, so totals are lower bounds. Narrow it by `path`, or \
                          call with `stat` for the files."
                        .to_owned(),
            });
            break;
        }
        let Some(patch) = printed(printer, item) else { continue };
        answer.total_files += u64::from(!matches!(item, Item::Named(_)));
        if let Some(reason) = patch.omitted {
            omitted += 1;
            if answer.omitted.len() < MAX_OMITTED {
                let (path, path_encoding) = text_of(item.path());
                answer.omitted.push(OmittedFile { path, path_encoding, reason });
            }
        }
        page.offer(&place, &patch, start);
    }
    if page.skipped && answer.partial.is_none() {
        answer.partial = Some(Partial {
            reason: "long-line".to_owned(),
            details: "A line is longer than `maxBytes`; `nextCursor` goes on after it.".to_owned(),
        });
    }
    answer.omitted_total = (omitted > 0).then_some(omitted);
    answer.total_bytes = page.bytes;
    answer.total_lines = page.lines;
    answer.truncated = page.next.is_some();
    answer.next_cursor = page.next.map(|next| next.text());
    answer.diff = match String::from_utf8(page.text) {
        Ok(text) => text,
        Err(bytes) => {
            answer.lossy = true;
            String::from_utf8_lossy(bytes.as_bytes()).into_owned()
        }
    };
}

fn printed(printer: &mut Printer<'_>, item: &Item) -> Option<Patch> {
    match item {
        Item::Pair(pair) => printer.patch(pair),
        Item::Combined(unmerged) => Some(printer.combined(unmerged)),
        Item::Named(path) => Some(Patch { text: [b"* Unmerged path ", &path[..], b"\n"].concat(), ..Patch::default() }),
    }
}

/// The rows of `items` from `cursor` on.
fn rows(
    answer: &mut TextDiff,
    printer: &mut Printer<'_>,
    items: &[Item],
    cursor: Option<&Cursor>,
    ask: &asks::TextDiff,
    pace: &Pace,
) {
    let mut budget = Budget::new(ask.page.limit, ask.page.chars);
    let mut last: Option<Place> = None;
    let mut files = Vec::new();
    answer.total_files = items.len() as u64;
    for item in items {
        let place = Place::of(item);
        let before = match cursor {
            Some(Cursor::Row(at)) => place <= *at,
            Some(Cursor::Text(at, ..)) => place < *at,
            None => false,
        };
        if before {
            continue;
        }
        let stopped = pace.look().err();
        let row = if stopped.is_some() { None } else { printed_row(printer, item) };
        if let Some(row) = &row
            && budget.take(row)
        {
            files.push(row.clone());
            last = Some(place);
        } else if row.is_some() || stopped.is_some() {
            answer.truncated = true;
            answer.next_cursor = last.map(|last| Cursor::Row(last).text());
            answer.partial = answer.partial.take().or_else(|| status::partial(stopped, None));
            break;
        } else {
            answer.total_files -= 1;
        }
    }
    answer.files = Some(files);
}

fn printed_row(printer: &mut Printer<'_>, item: &Item) -> Option<FileChange> {
    match item {
        Item::Pair(pair) => printer.patch(pair).map(|patch| row(pair, &patch)),
        Item::Named(path) => Some(unmerged_row(path)),
        Item::Combined(unmerged) => Some(unmerged_row(&unmerged.sides[0].path)),
    }
}

fn unmerged_row(path: &[u8]) -> FileChange {
    let (path, path_encoding) = text_of(path);
    FileChange {
        status: "U".to_owned(),
        path,
        path_encoding,
        old_path: None,
        old_path_encoding: None,
        similarity: None,
        added: None,
        removed: None,
        binary: false,
        omitted: None,
    }
}

fn row(pair: &Pair, patch: &Patch) -> FileChange {
    let from = pair.old.as_ref().filter(|_| pair.letter() == Letter::Renamed).map(|old| text_of(&old.path));
    let counts = patch.counts.filter(|_| !patch.binary && patch.omitted.is_none());
    FileChange {
        status: char::from(pair.letter().byte()).to_string(),
        old_path_encoding: from.as_ref().and_then(|(_, encoding)| *encoding),
        old_path: from.map(|(path, _)| path),
        similarity: pair.likeness.map(|likeness| u32::try_from(percent(likeness)).unwrap_or(100)),
        added: counts.map(|counts| counts.0),
        removed: counts.map(|counts| counts.1),
        binary: patch.binary,
        omitted: patch.omitted,
        ..unmerged_row(pair.path())
    }
}

/// What a caller wants compared.
enum What {
    /// Two trees; `None` is the empty one.
    Trees(Option<ObjectId>, Option<ObjectId>),
    /// The index against a tree.
    Staged(Option<ObjectId>),
    /// The working tree against the index.
    Worktree,
    /// The working tree against a tree.
    WorktreeAndTree(ObjectId),
}

type Question = (What, Paths, Option<String>);

fn question(
    repo: &Repo,
    compared: &asks::Compared,
    more: &[String],
    asked: &str,
    staged: bool,
) -> Result<Question, ReadFailure> {
    let mut paths = Paths::default();
    let mut path: Option<String> = None;
    if let Some(text) = &compared.path
        && paths.add(text, repo, asked)?
    {
        path = Some(text.to_owned());
    }
    let mut all = false;
    for text in more {
        all |= !paths.add(text, repo, asked)?;
    }
    if all && path.is_none() {
        paths = Paths::default();
    }
    let bad = |details: &str| ReadFailure::new(Reason::BadArgument, OPERATION, details);
    let range = compared.base.as_deref().filter(|base| base.contains("..")).and_then(|base| base.split_once(".."));
    let what = match (&compared.base, &compared.head, range) {
        (_, head, Some((from, to))) => {
            if head.is_some() || staged {
                return Err(bad("A range in `base` names both sides; leave out `head` and `staged`."));
            }
            let (from, to, symmetric) = match to.strip_prefix('.') {
                Some(to) => (from, to, true),
                None => (from, to, false),
            };
            let or_head = |text: &'_ str| if text.is_empty() { "HEAD".to_owned() } else { text.to_owned() };
            let (from, to) = (or_head(from), or_head(to));
            if symmetric {
                let ours = revision::commit(repo, &from, OPERATION)?;
                let theirs = revision::commit(repo, &to, OPERATION)?;
                let base = repo.git.merge_base(ours, theirs).ok().flatten();
                let base = base.ok_or_else(|| bad("The two sides of the range have no common ancestor."))?.detach();
                What::Trees(Some(tree_of(repo, base)?), Some(tree_of(repo, theirs)?))
            } else {
                What::Trees(Some(tree(repo, &from)?), Some(tree(repo, &to)?))
            }
        }
        (Some(_), Some(_), None) if staged => return Err(bad("With `staged`, leave out `head`.")),
        (Some(base), Some(head), None) => What::Trees(Some(tree(repo, base)?), Some(tree(repo, head)?)),
        (Some(one), None, None) | (None, Some(one), None) => {
            let tree = tree(repo, one)?;
            if staged { What::Staged(Some(tree)) } else { What::WorktreeAndTree(tree) }
        }
        (None, None, None) if staged => {
            let head = repo.refs.head()?.id;
            What::Staged(head.map(|head| repo.tree_of(head)).transpose()?)
        }
        (None, None, None) => What::Worktree,
    };
    if repo.is_bare() && !matches!(what, What::Trees(..)) {
        let details = "A bare repository has no working tree and no index; give `base` and `head`.";
        return Err(ReadFailure::new(Reason::Bare, OPERATION, details));
    }
    Ok((what, paths, path))
}

/// The tree that `expression` leads to.
fn tree(repo: &Repo, expression: &str) -> Result<ObjectId, ReadFailure> {
    let shown = bulkhead_contract::args::shown(expression);
    let mut id = revision::object(repo, expression, OPERATION)?;
    for _ in 0..32 {
        let Ok(object) = repo.git.find_header(id) else { break };
        match object.kind() {
            gix::objs::Kind::Tree => return Ok(id),
            gix::objs::Kind::Commit => return tree_of(repo, id),
            gix::objs::Kind::Tag => match repo.git.find_tag(id).ok().and_then(|tag| tag.target_id().ok()) {
                Some(target) => id = target.detach(),
                None => break,
            },
            gix::objs::Kind::Blob => {
                let details = format!("`{shown}` names a file, not a commit or a directory.");
                return Err(ReadFailure::new(Reason::BadArgument, OPERATION, details));
            }
        }
    }
    repo.doubt();
    let details = format!("The object that `{shown}` names is not in this clone, or is damaged.");
    Err(ReadFailure::new(Reason::ObjectMissing, OPERATION, details))
}

/// The tree of a commit.
fn tree_of(repo: &Repo, commit: ObjectId) -> Result<ObjectId, ReadFailure> {
    let tree = repo.git.find_commit(commit).ok().and_then(|commit| commit.tree_id().ok()).map(gix::Id::detach);
    tree.ok_or_else(|| {
        repo.doubt();
        ReadFailure::new(
            Reason::ObjectMissing,
            OPERATION,
            format!("Commit {commit} is not in this clone, or is damaged."),
        )
    })
}

fn find(repo: &Repo, what: &What, paths: &Paths, pace: &Pace) -> Result<Found, Unfinished> {
    let renames = rename_limit(repo);
    match what {
        What::Trees(old, new) => {
            let pairs = sides::trees(repo, *old, *new, paths, renames, pace)?;
            Ok(Found { items: pairs.into_iter().map(Item::Pair).collect(), partial: None })
        }
        What::Staged(base) => {
            let index = repo.index().map_err(Unfinished::Failed)?;
            sides::staged(repo, &index, *base, paths, renames, pace)
        }
        What::Worktree => sides::worktree(repo, paths, renames, pace),
        What::WorktreeAndTree(base) => sides::worktree_and_tree(repo, Some(*base), paths, renames, pace),
    }
}

/// `diff.renames` and `diff.renameLimit`, the latter no larger than Git's default.
fn rename_limit(repo: &Repo) -> Renames {
    let config = repo.git.config_snapshot();
    if config.boolean("diff.renames") == Some(false) {
        return None;
    }
    let limit =
        config.integer("diff.renameLimit").filter(|limit| *limit > 0).and_then(|limit| usize::try_from(limit).ok());
    Some(limit.unwrap_or(renames::LIMIT).min(renames::LIMIT))
}

fn style(repo: &Repo, context: u32, ignore_whitespace: bool) -> (Style, Option<&'static str>) {
    let config = repo.git.config_snapshot();
    let configured = config.string("diff.algorithm");
    let (algorithm, said) = configured.as_deref().and_then(|name| algorithm(name)).unwrap_or((Algorithm::Myers, None));
    let style = Style {
        rules: Rules { algorithm, ignore_whitespace, context },
        quote: config.boolean("core.quotePath").unwrap_or(true),
        big: config.integer("core.bigFileThreshold").and_then(|size| u64::try_from(size).ok()).unwrap_or(512 << 20),
        counts_only: false,
    };
    (style, said)
}

/// `commit.details`.
pub(super) fn details(repo: &Repo, ask: &asks::CommitDetails, pace: &Pace) -> Result<CommitDetails, ReadFailure> {
    let after = match ask.page.cursor.as_deref().map(Cursor::parse).transpose()? {
        Some(Cursor::Row(place)) => Some(place),
        Some(Cursor::Text(..)) => {
            return Err(ReadFailure::new(
                Reason::BadArgument,
                "cursor",
                "The cursor is not one that this tool gave out.",
            ));
        }
        None => None,
    };
    let id = revision::commit(repo, &ask.commit, "commit")?;
    let mut buffer = Vec::new();
    let (commit, first) = commit_of(repo, id, &mut buffer)?;
    let old = first.map(|parent| tree_of(repo, parent)).transpose()?;
    let new = tree_of(repo, id)?;
    let chars = (ask.page.chars as usize).saturating_sub(budget::cost(&commit)).max(4_000);
    let mut answer = CommitDetails {
        commit,
        files: Vec::new(),
        total_files: 0,
        compared_with: first.map(|parent| parent.to_string()),
        truncated: false,
        next_cursor: None,
        partial: None,
    };
    let pairs = match sides::trees(repo, old, Some(new), &Paths::default(), rename_limit(repo), pace) {
        Ok(pairs) => pairs,
        Err(Unfinished::Failed(failure)) => return Err(failure),
        Err(Unfinished::Stopped(why)) => return Ok(stopped(answer, why)),
    };
    answer.total_files = pairs.len() as u64;
    let index = if repo.is_bare() { None } else { repo.index().ok() };
    let (mut style, _) = style(repo, 3, false);
    style.counts_only = true;
    let mut printer = Printer::new(repo, Disk::new(repo, index), style);
    let mut room = Budget::new(ask.page.limit, u32::try_from(chars).unwrap_or(u32::MAX));
    let mut last = None;
    for pair in pairs {
        let item = Item::Pair(pair);
        let place = Place::of(&item);
        if after.as_ref().is_some_and(|after| place <= *after) {
            continue;
        }
        if let Err(why) = pace.look() {
            answer = stopped(answer, why);
            break;
        }
        let Some(row) = printed_row(&mut printer, &item) else { continue };
        if !room.take(&row) {
            answer.truncated = true;
            break;
        }
        answer.files.push(row);
        last = Some(place);
    }
    answer.next_cursor = last.filter(|_| answer.truncated).map(|last| Cursor::Row(last).text());
    Ok(answer)
}

fn stopped(answer: CommitDetails, why: Stopped) -> CommitDetails {
    CommitDetails { truncated: true, partial: status::partial(Some(why), None), ..answer }
}

/// The commit `id` in full, and its first parent in this clone.
fn commit_of(
    repo: &Repo,
    id: ObjectId,
    buffer: &mut Vec<u8>,
) -> Result<(DetailedCommit, Option<ObjectId>), ReadFailure> {
    let failed = |reason, details: &str| ReadFailure::new(reason, "commit", details);
    if repo.git.find_header(id).is_ok_and(|header| header.size() > MAX_COMMIT) {
        return Err(failed(Reason::TooLarge, "The commit is larger than 4 MiB."));
    }
    let damaged = || {
        repo.doubt();
        failed(Reason::Corrupt, "The commit cannot be read.")
    };
    let found = repo.git.objects.find(&id, buffer).map_err(|_| damaged())?;
    let commit = Commit::parse(found.data).ok_or_else(damaged)?;
    let text = |bytes: &[u8], most: usize| history::cut(&history::text(&commit, bytes.into()), most);
    let who = |who: Option<gix::actor::SignatureRef<'_>>| match who {
        Some(who) => (
            text(who.name, MAX_NAME_CHARS),
            text(who.email, MAX_NAME_CHARS),
            who.time().map(|time| time.seconds).unwrap_or_default(),
        ),
        None => Default::default(),
    };
    let (author_name, author_email, author_time) = who(commit.author());
    let (committer_name, committer_email, committer_time) = who(commit.committer());
    let message = history::text(&commit, commit.message);
    let message = message.trim_end();
    let shallow = repo.is_shallow(&id);
    let parents = if shallow { &[][..] } else { &commit.parents };
    let detailed = DetailedCommit {
        hash: id.to_string(),
        short_hash: Abbreviation::of(&repo.git).short(&id),
        author_name,
        author_email,
        author_time,
        committer_name,
        committer_email,
        committer_time,
        parents: parents.iter().take(MAX_PARENTS).map(ToString::to_string).collect(),
        parents_total: parents.len() as u64,
        message_truncated: message.chars().nth(MAX_MESSAGE_CHARS).is_some(),
        message: history::cut(message, MAX_MESSAGE_CHARS),
        signed: commit.signed,
        shallow,
    };
    Ok((detailed, parents.first().copied()))
}

/// `diff.semantic` and `diff.semanticFallbacks`.
pub(super) fn semantic(repo: &Repo, ask: &asks::Semantic, _pace: &Pace) -> Result<Semantic, ReadFailure> {
    let compared = &ask.compared;
    let (repo_path, _) = text_of(&files::path_bytes(repo.found.canonical()));
    // arguments that diff.text would refuse are refused here, too
    let (_, _, path) = question(repo, compared, &[], &repo_path, false)?;
    let reason =
        "No semantic diff engine is connected to this server, so changed lines are compared as text.".to_owned();
    Ok(if ask.fallbacks {
        Semantic::Fallbacks(SemanticFallbacks {
            fallbacks: vec![SemanticFallback {
                from: "diff.semantic".to_owned(),
                to: "diff.text".to_owned(),
                supported: false,
                reason,
                repo_path,
                path,
            }],
        })
    } else {
        Semantic::Diff(SemanticDiff {
            supported: false,
            fallback: "diff.text".to_owned(),
            reason,
            text_diff_arguments: TextDiffArguments {
                repo_path,
                base: compared.base.clone(),
                head: compared.head.clone(),
                path,
            },
        })
    })
}
