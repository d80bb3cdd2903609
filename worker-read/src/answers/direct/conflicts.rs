//! repo_conflicts and repo_conflict_regions.
//! Trust: see the module above; the file is opened beneath the working tree without following a link, and never waited for.

use super::{bad, files::Rows};
use crate::{
    changes::normalised,
    diff::{contents, lines::too_many},
    files::NoContents,
    open_beneath,
    pace::Pace,
    renames::is_file,
    repo::Repo,
    unmerged::{self, File, Markers, Stage, sections},
};
use bulkhead_contract::{
    direct::conflict_path,
    failure::{ReadFailure, Reason},
    limits::{CONFLICT_FILE_BYTES, DIRECT_TEXT_BYTES},
    results::{ConflictRegions, MarkedRegion, PathList},
};
use bulkhead_ipc::edge::asks;

const REGIONS: &str = "conflictRegions";
/// Lines of all regions of a file at most; each is a text of its own in the answer.
const MAX_LINES: usize = 200_000;

/// `repo_conflicts`: unmerged paths in the order of the index.
pub(in crate::answers) fn unmerged(repo: &Repo, chars: u32) -> Result<PathList, ReadFailure> {
    if repo.is_bare() {
        return Err(unmerged::bare());
    }
    let mut rows = Rows::new(chars);
    unmerged::files(&*repo.index()?).iter().for_each(|file| rows.add(&file.path));
    Ok(rows.list)
}

/// `repo_conflict_regions`.
pub(in crate::answers) fn regions(
    repo: &Repo,
    ask: &asks::ConflictRegions,
    pace: &Pace,
) -> Result<ConflictRegions, ReadFailure> {
    if let Some(fault) = conflict_path::fault(&ask.path) {
        return Err(bad(REGIONS, fault));
    }
    let path = ask.path.trim_end_matches('/').as_bytes();
    let text = file(repo, path, u64::from(ask.bytes.min(DIRECT_TEXT_BYTES)))?;
    let index = repo.index()?;
    let size = Markers::new(repo, &index).size(path);
    let stages = unmerged::files(&index).into_iter().find(|file| file.path == path);
    let texts = match stages.filter(|_| text.contains("<<<<<<<")) {
        Some(file) => stages_of(repo, &file),
        None => [None, None, None],
    };
    if too_many(text.as_bytes()) {
        return Err(ReadFailure::new(Reason::TooLarge, REGIONS, "The file has too many lines.").at(path));
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let found = sections::find(&lines, size, texts.each_ref().map(Option::as_deref), pace);
    let found = found.map_err(|_| {
        let details = "The regions were not told apart in time. Start the server with a larger --deadline.";
        ReadFailure::new(Reason::TooLarge, REGIONS, details).at(path)
    })?;
    if found.iter().map(|found| found.lines()).sum::<usize>() > MAX_LINES {
        let details = format!("The conflicts in it have more than {MAX_LINES} lines.");
        return Err(ReadFailure::new(Reason::TooLarge, REGIONS, details).at(path));
    }
    let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    let region = |found: &sections::Section<'_>| MarkedRegion {
        ours_label: found.labels[0].to_owned(),
        base_label: found.base.map(|_| found.labels[1].to_owned()),
        theirs_label: found.labels[2].to_owned(),
        ours: owned(found.ours),
        base: found.base.map(owned),
        theirs: owned(found.theirs),
        marker_len: u32::try_from(found.size).unwrap_or(u32::MAX),
    };
    Ok(ConflictRegions { regions: found.iter().map(region).collect() })
}

/// The text of the file at `path` in the working tree, at most `most` bytes.
fn file(repo: &Repo, path: &[u8], most: u64) -> Result<String, ReadFailure> {
    let Some(top) = repo.found.worktree.as_deref().filter(|_| !repo.is_bare()) else { return Err(unmerged::bare()) };
    let refused = |details: &str| bad(REGIONS, details).at(path);
    let bytes = open_beneath::read(top, path, most).map_err(|why| match why {
        NoContents::TooLarge(_) => {
            let details = format!("The file is longer than the {most} bytes that an answer may have here.");
            ReadFailure::new(Reason::TooLarge, REGIONS, details).at(path)
        }
        NoContents::Absent if open_beneath::behind_a_link(top, path.into()) => refused(LINK),
        NoContents::Absent => {
            ReadFailure::new(Reason::NoSuchPath, REGIONS, "There is no such file in the working tree.").at(path)
        }
        NoContents::NotRegular => refused(LINK),
        why => why.failure(REGIONS, "the file"),
    })?;
    String::from_utf8(bytes).map_err(|_| refused("The file is not UTF-8 text, so that no regions can be shown."))
}

const LINK: &str = "It is a directory, a link, lies behind a link, or is no regular file; regions are in files alone.";

/// Texts of stages 1 to 3, as far as they can be had.
fn stages_of(repo: &Repo, file: &File) -> [Option<Vec<u8>>; 3] {
    let of_file = |stage: &Stage| is_file(normalised(stage.mode));
    file.stages.map(|stage| contents::blob(repo, &stage.filter(of_file)?.id, CONFLICT_FILE_BYTES).ok())
}
