//! diff.text, commit.details and the texts behind diff.semantic, and what they share.
//! Trust: see the module above.

mod details;
mod question;
mod semantic;
mod text;

pub(super) use details::details;
pub(super) use semantic::sources;
pub(super) use text::text;

use crate::{
    changes::Letter,
    diff::{
        lines::Rules,
        pairs::Pair,
        patch::{Patch, Printer, Style, algorithm, percent},
        sides::{Item, Renames},
    },
    renames,
    repo::Repo,
};
use bulkhead_contract::{path::text_of, results::FileChange};
use gix::diff::blob::Algorithm;

fn printed_row(printer: &mut Printer<'_>, item: &Item) -> Option<FileChange> {
    match item {
        Item::Pair(pair) => printer.patch(pair).map(|patch| row(pair, &patch)),
        Item::Named(path) => {
            // Git asks for its driver before it sees that there is nothing to count
            printer.demand(path);
            Some(unmerged_row(path))
        }
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

/// `diff.context`, as far as it is a number of lines; more than a file of any use has are cut.
fn configured_context(repo: &Repo) -> u32 {
    const MOST: u32 = 100_000;
    let configured = repo.git.config_snapshot().integer("diff.context").filter(|lines| *lines >= 0);
    configured.map_or(3, |lines| u32::try_from(lines).unwrap_or(MOST).min(MOST))
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
