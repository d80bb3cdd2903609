//! diff.text: pages of a patch, or its files.
//! Trust: see the module above.

use super::{
    configured_context, printed_row,
    question::{find, question},
    style,
};
use crate::{
    answers::budget::Budget,
    diff::{
        attributes::Disk,
        page::{Cursor, Page, Place},
        patch::{Patch, Printer},
        sides::Item,
    },
    pace::Pace,
    repo::Repo,
    staged::Unfinished,
    status,
};
use bulkhead_contract::{
    failure::ReadFailure,
    path::text_of,
    results::{DiffFormat, OmittedFile, Partial, TextDiff},
};
use bulkhead_ipc::edge::asks;

/// Bytes of text that are counted after a page is full.
const MAX_SCAN: u64 = 16 << 20;
/// Omitted files that are listed.
const MAX_OMITTED: usize = 100;

/// `diff.text`.
pub(in crate::answers) fn text(repo: &Repo, ask: &asks::TextDiff, pace: &Pace) -> Result<TextDiff, ReadFailure> {
    let cursor = ask.page.cursor.as_deref().map(Cursor::parse).transpose()?;
    let (what, paths, path) = question(repo, &ask.compared, &ask.paths, &ask.repo_path, ask.staged, pace)?;
    let context = ask.context.unwrap_or_else(|| configured_context(repo));
    let mut style = style(repo, context, ask.ignore_whitespace);
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
    let mut printer = Printer::new(repo, Disk::new(repo, index), style, pace);
    match ask.stat {
        true => rows(&mut answer, &mut printer, &found.items, cursor.as_ref(), ask, pace),
        false => pages(&mut answer, &mut printer, &found.items, cursor.as_ref(), ask, pace),
    }
    answer.partial = answer.partial.or_else(|| status::partial(None, printer.unread()));
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
            Some(Cursor::Text(at, hunk, line)) if *at == place => Some((*hunk, *line)),
            Some(Cursor::Text(at, ..)) if place < *at => None,
            Some(Cursor::Row(at)) if place <= *at => None,
            _ => Some((0, 0)),
        };
        if start.is_none() && !printer.is_demanding() {
            continue;
        }
        let stopped = |answer: &mut TextDiff, page: &mut Page, why| {
            answer.partial = status::partial(Some(why), None);
            let again = cursor.filter(|_| start.is_none()).cloned();
            let (hunk, line) = start.unwrap_or_default();
            page.next.get_or_insert(again.unwrap_or(Cursor::Text(place.clone(), hunk, line)));
        };
        if let Err(why) = pace.look() {
            stopped(answer, &mut page, why);
            break;
        }
        let Some(start) = start else {
            // what was on a page before decides how what follows is compared
            printed(printer, item);
            continue;
        };
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
        let patch = printed(printer, item);
        // what the call's end cut short would pass for a file that is left out
        if let Some(why) = pace.stopped() {
            stopped(answer, &mut page, why);
            break;
        }
        let Some(patch) = patch else { continue };
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
        if before && !printer.is_demanding() {
            continue;
        }
        let row = if pace.look().is_err() { None } else { printed_row(printer, item) };
        let stopped = pace.stopped();
        // what the call's end cut short would pass for a file that is left out
        let row = row.filter(|_| stopped.is_none());
        if before && stopped.is_none() {
            continue;
        }
        if let Some(row) = &row
            && budget.take(row)
        {
            files.push(row.clone());
            last = Some(place);
        } else if row.is_some() || stopped.is_some() {
            answer.truncated = true;
            let next = last.map(Cursor::Row).or_else(|| cursor.filter(|_| before).cloned());
            answer.next_cursor = next.map(|next| next.text());
            answer.partial = answer.partial.take().or_else(|| status::partial(stopped, None));
            break;
        } else {
            answer.total_files -= 1;
        }
    }
    answer.files = Some(files);
}
