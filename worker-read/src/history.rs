//! Recent commits, newest first by commit date as `git log` lists them, and what is shown of each.
//! Trust: messages and names are the repository's; they are cut, made valid UTF-8, and never interpreted.

use crate::{commit::Commit, repo::Repo, walk::dates::civil};
use bulkhead_contract::{
    limits::{BRIEF_CONVENTION_WINDOW, MAX_SUBJECT_CHARS},
    results::RecentCommit,
};
use gix::{ObjectId, bstr::ByteSlice as _};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashSet},
};

/// Bytes of a commit that is shown at most.
pub(crate) const MAX_COMMIT: u64 = 4 << 20;
/// Characters of an author's name at most.
pub(crate) const MAX_NAME_CHARS: usize = 200;

/// What is shown of the newest commits.
#[derive(Debug, Clone, Default)]
pub struct Recent {
    /// At most as many as `repo.brief` may show.
    pub commits: Vec<RecentCommit>,
    /// Share of conventional subjects among the last ones, in hundredths; `None` without commits.
    pub conventional_ratio: Option<f64>,
    /// Some commit is missing or cannot be read.
    pub incomplete: bool,
}

/// The newest commits that `head` leads to, `shown` of them in full.
#[must_use]
pub fn recent(repo: &Repo, head: ObjectId, shown: usize) -> Recent {
    let mut found = Recent::default();
    let (mut conventional, mut subjects) = (0u32, 0u32);
    let mut seen = HashSet::from([head]);
    // of equal dates the one that was met first comes first
    let mut queue = BinaryHeap::from([(i64::MAX, Reverse(0usize), head)]);
    let mut met = 1usize;
    let mut buffer = Vec::new();
    let abbreviation = repo.abbreviation();
    while let Some((_, _, id)) = queue.pop() {
        if subjects as usize >= BRIEF_CONVENTION_WINDOW {
            break;
        }
        let Some(commit) = read(repo, id, &mut buffer) else {
            found.incomplete = true;
            continue;
        };
        let subject = subject(&commit);
        subjects += 1;
        conventional += u32::from(is_conventional(&subject));
        if found.commits.len() < shown {
            found
                .commits
                .push(RecentCommit { sha: abbreviation.short(&id), subject: cut(&subject, MAX_SUBJECT_CHARS) });
        }
        let parents: Vec<ObjectId> = if repo.is_shallow(&id) { Vec::new() } else { commit.parents };
        for parent in parents {
            if seen.insert(parent) {
                let time = repo.commit_time(parent).unwrap_or(i64::MIN);
                queue.push((time, Reverse(met), parent));
                met += 1;
            }
        }
    }
    if subjects > 0 {
        found.conventional_ratio = Some((f64::from(conventional) * 100.0 / f64::from(subjects)).round() / 100.0);
    }
    found
}

/// The commit, if it is there, can be read and is not too long.
pub(crate) fn read<'b>(repo: &Repo, id: ObjectId, buffer: &'b mut Vec<u8>) -> Option<Commit<'b>> {
    if !repo.is_small(&id) {
        match repo.git.find_header(id) {
            Ok(header) if header.size() > MAX_COMMIT => return None,
            Ok(_) => repo.note_small(id),
            Err(_) => {}
        }
    }
    repo.commit(id, buffer)
}

/// Git's `%s`: the first paragraph in one line.
pub(crate) fn subject(commit: &Commit<'_>) -> String {
    let mut out: Vec<u8> = Vec::new();
    let lines = commit.message.lines().map(|line| line.trim_end_with(|c| c.is_ascii_whitespace()));
    for line in lines.skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty()) {
        if !out.is_empty() {
            out.push(b' ');
        }
        out.extend_from_slice(line);
    }
    text(commit, out.as_bstr())
}

/// Text of a commit in UTF-8. Of the encodings that the header may name, Latin-1 is read; others are kept as far as they
/// are valid UTF-8.
pub(crate) fn text(commit: &Commit<'_>, bytes: &gix::bstr::BStr) -> String {
    let latin = commit.encoding.is_some_and(|name| {
        [&b"iso-8859-1"[..], b"iso8859-1", b"latin1", b"latin-1"].iter().any(|known| name.eq_ignore_ascii_case(known))
    });
    match bytes.to_str() {
        Err(_) if latin => bytes.iter().map(|&byte| char::from(byte)).collect(),
        Ok(text) => text.to_owned(),
        Err(_) => bytes.to_str_lossy().into_owned(),
    }
}

pub(crate) fn date(commit: &Commit<'_>) -> String {
    let Some(time) = commit.author().and_then(|who| who.time().ok()) else { return String::new() };
    iso(time)
}

/// A time in ISO 8601 with its offset.
pub(crate) fn iso(time: gix::date::Time) -> String {
    time.format(gix::date::time::format::ISO8601_STRICT).unwrap_or_else(|_| far(time.seconds, time.offset))
}

/// The same form for years of any number of digits, as Git has it; the library stops at 9999.
fn far(seconds: i64, offset: i32) -> String {
    const DAY: i64 = 24 * 60 * 60;
    // an offset of more than a day is none
    let offset = if i64::from(offset).abs() < DAY { i64::from(offset) } else { 0 };
    let local = seconds.saturating_add(offset);
    let (days, second) = (local.div_euclid(DAY), local.rem_euclid(DAY));
    let (year, month, day) = civil(days);
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    let (sign, away) = (if offset < 0 { '-' } else { '+' }, offset.abs() / 60);
    format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}{sign}{:02}:{:02}",
        second % 60,
        away / 60,
        away % 60
    )
}

/// The first `most` characters, with an ellipsis in place of the rest.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// `type(scope)!: text` with a lowercase type of at most twelve letters (contract `results.md`).
fn is_conventional(subject: &str) -> bool {
    let Some((head, rest)) = subject.split_once(':') else { return false };
    let head = head.strip_suffix('!').unwrap_or(head);
    let kind = match head.split_once('(') {
        Some((kind, scope)) if scope.len() > 1 && scope.ends_with(')') && scope.matches(')').count() == 1 => kind,
        Some(_) => return false,
        None => head,
    };
    (1..=12).contains(&kind.len())
        && kind.bytes().all(|byte| byte.is_ascii_lowercase())
        && rest.starts_with(' ')
        && !rest.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_year_of_many_digits_is_shown_as_git_shows_it() {
        assert_eq!(far(9_999_999_999_999, 0), "318857-05-20T17:46:39+00:00");
        assert_eq!(far(253_402_300_800, 0), "10000-01-01T00:00:00+00:00");
        assert_eq!(far(253_402_300_800, -5_400), "9999-12-31T22:30:00-01:30");
        assert_eq!(far(951_827_696, 3_600), "2000-02-29T13:34:56+01:00");
        assert_eq!(far(i64::MAX, i32::MAX).len(), "292277026596-12-04T15:30:07+00:00".len());
    }

    #[test]
    fn conventional_subjects_are_told_from_others() {
        for yes in ["feat: x", "fix(core)!: x", "chore!: y", "docs(a/b): z"] {
            assert!(is_conventional(yes), "{yes}");
        }
        for no in [
            "Merge branch 'x'",
            "Fix: x",
            "feat:x",
            "feat : x",
            "feat(): x",
            "feat(a: x",
            "averyverylongtype: x",
            ": x",
            "feat: ",
        ] {
            assert!(!is_conventional(no), "{no}");
        }
    }

    #[test]
    fn a_long_subject_is_cut_at_a_character() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 3), "äöü…");
    }
}
