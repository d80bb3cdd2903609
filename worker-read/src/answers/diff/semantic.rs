//! Both texts of changed files, a page at a time, for diff.semantic and diff.semanticFallbacks; another process compares.
//! Trust: see the module above; a cursor is the caller's and is only compared.

use super::{
    question::{find, question},
    style,
};
use crate::{
    answers::cursor::foreign,
    diff::{attributes::Disk, patch::Printer, sides::Item},
    files,
    pace::Pace,
    repo::Repo,
    staged::Unfinished,
    status,
};
use bulkhead_contract::{
    cursor::SemanticCursor,
    failure::ReadFailure,
    limits::{DIFF_CONTEXT, MAX_SEMANTIC_PAGE},
    path::text_of,
    results::{FallbackReason, SemanticSources, SourcePair, Sources},
};
use bulkhead_ipc::edge::asks;

/// Both texts of changed files.
pub(in crate::answers) fn sources(
    repo: &Repo,
    ask: &asks::Sources,
    pace: &Pace,
) -> Result<SemanticSources, ReadFailure> {
    let cursor = match &ask.cursor {
        Some(text) => Some(SemanticCursor::parse(text).ok_or_else(foreign)?),
        None => None,
    };
    let (repo_path, _) = text_of(&files::path_bytes(repo.found.canonical()));
    let (what, paths, path) = question(repo, &ask.compared, &[], &repo_path, false, pace)?;
    let mut page =
        SemanticSources { repo_path, path, files: Vec::new(), changed_files: 0, more: false, skip: 0, partial: None };
    let found = match find(repo, &what, &paths, pace) {
        Ok(found) => found,
        Err(Unfinished::Failed(failure)) => return Err(failure),
        Err(Unfinished::Stopped(why)) => {
            page.partial = status::partial(Some(why), None);
            return Ok(page);
        }
    };
    page.partial = found.partial;
    let mut items = found.items;
    // an unmerged path may be there twice, named and compared: once is enough
    items.sort_by(|a, b| (a.path(), !is_unmerged(a)).cmp(&(b.path(), !is_unmerged(b))));
    items.dedup_by(|b, a| a.path() == b.path());
    page.changed_files = items.len() as u64;
    let index = if repo.is_bare() { None } else { Some(repo.index()?) };
    let (style, _) = style(repo, DIFF_CONTEXT.0, false);
    let mut printer = Printer::new(repo, Disk::new(repo, index), style, pace);
    let mut bytes = 0;
    for item in &items {
        match &cursor {
            Some(cursor) if item.path() < &cursor.path[..] => {
                // what was on a page before decides how what follows is compared
                printer.demand(item.path());
                continue;
            }
            Some(SemanticCursor { path, lines }) if item.path() == path => match lines {
                Some(lines) => page.skip = *lines,
                None => {
                    printer.demand(item.path());
                    continue;
                }
            },
            _ => {}
        }
        if page.files.len() >= ask.files as usize {
            page.more = true;
            break;
        }
        let (old_path, sources) = match item {
            Item::Pair(pair) => {
                let from = pair.likeness.and(pair.old.as_ref()).map(|old| old.path.clone());
                (from, if pace.look().is_ok() { printer.texts(pair) } else { Sources::None(FallbackReason::Time) })
            }
            Item::Named(_) | Item::Combined(_) => (None, Sources::None(FallbackReason::Unmerged)),
        };
        // what the call's end cut short would pass for a file that is left out
        if let Some(why) = pace.stopped() {
            page.more = true;
            page.partial = page.partial.or_else(|| status::partial(Some(why), None));
            break;
        }
        let file = SourcePair { path: item.path().to_vec(), old_path, sources };
        bytes += file.weight();
        if bytes > MAX_SEMANTIC_PAGE && !page.files.is_empty() {
            page.more = true;
            break;
        }
        page.files.push(file);
    }
    page.partial = page.partial.or_else(|| status::partial(None, printer.unread()));
    Ok(page)
}

fn is_unmerged(item: &Item) -> bool {
    !matches!(item, Item::Pair(_))
}
