//! commit.details: one commit in full, and what it changed beside its first parent.
//! Trust: see the module above.

use super::{printed_row, question::tree_of, rename_limit, style};
use crate::{
    answers::{
        budget::{self, Budget},
        cursor::foreign,
    },
    commit::Commit,
    diff::{
        attributes::Disk,
        page::{Cursor, Place},
        patch::Printer,
        paths::Paths,
        sides::{self, Item},
    },
    history,
    pace::{Pace, Stopped},
    repo::Repo,
    revision,
    staged::Unfinished,
    status,
};
use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    results::{CommitDetails, DetailedCommit},
};
use bulkhead_ipc::edge::asks;
use gix::{ObjectId, objs::FindExt as _};

/// Bytes of a commit that is shown at most.
const MAX_COMMIT: u64 = 4 << 20;
/// Characters of a message, of a name and of an address at most.
const MAX_MESSAGE_CHARS: usize = 16_000;
const MAX_NAME_CHARS: usize = 1_000;
/// Begins the cursors of this tool: a position among the files of a commit is none in a diff.
const OWN: &str = "d";
/// Parents that are listed.
const MAX_PARENTS: usize = 100;

/// `commit.details`.
pub(in crate::answers) fn details(
    repo: &Repo,
    ask: &asks::CommitDetails,
    pace: &Pace,
) -> Result<CommitDetails, ReadFailure> {
    let after = match ask.page.cursor.as_deref() {
        None => None,
        Some(text) => match Cursor::parse(text.strip_prefix(OWN).ok_or_else(foreign)?)? {
            Cursor::Row(place) => Some(place),
            Cursor::Text(..) => return Err(foreign()),
        },
    };
    let id = revision::commit(repo, &ask.commit, "commit", pace)?;
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
    let mut printer = Printer::new(repo, Disk::new(repo, index), style, pace);
    let mut room = Budget::new(ask.page.limit, u32::try_from(chars).unwrap_or(u32::MAX));
    let mut last = None;
    for pair in pairs {
        let item = Item::Pair(pair);
        let place = Place::of(&item);
        let before = after.as_ref().is_some_and(|after| place <= *after);
        if before && !printer.is_demanding() {
            continue;
        }
        if let Err(why) = pace.look() {
            answer = stopped(answer, why);
            break;
        }
        let row = printed_row(&mut printer, &item);
        // what the call's end cut short would pass for a file that is left out
        if let Some(why) = pace.stopped() {
            answer = stopped(answer, why);
            break;
        }
        let Some(row) = row.filter(|_| !before) else { continue };
        if !room.take(&row) {
            answer.truncated = true;
            break;
        }
        answer.files.push(row);
        last = Some(place);
    }
    answer.partial = answer.partial.or_else(|| status::partial(None, printer.unread()));
    answer.next_cursor = last.filter(|_| answer.truncated).map(|last| format!("{OWN}{}", Cursor::Row(last).text()));
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
        short_hash: repo.abbreviation().short(&id),
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
