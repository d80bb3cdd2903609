//! Reflogs from their newest line backwards, in bounded memory.
//! Trust: every byte is the repository's; a line that does not parse is passed over and hides no other.

use crate::{files::NoContents, open_beneath, repo::Repo};
use bulkhead_contract::failure::{ReadFailure, Reason};
use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice as _},
    hash,
};
use std::{
    fs,
    io::{self, SeekFrom},
    ops::ControlFlow,
};

const OPERATION: &str = "reflog";
/// Bytes that are read at once.
const BLOCK: usize = 64 * 1024;
/// Bytes of a line that are kept; of a longer one the end of the message is cut off.
const MAX_LINE: usize = 64 * 1024;

/// One line of a reflog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Where the reference was; null where it was nowhere.
    pub old: ObjectId,
    /// Where it went; null where it was deleted.
    pub new: ObjectId,
    /// Name of who moved it.
    pub name: BString,
    /// Their address.
    pub email: BString,
    /// Seconds since 1970.
    pub time: i64,
    /// What was done.
    pub message: BString,
}

/// Gives the lines of the reflog of `name`, a full reference name or `HEAD`, newest first, with their index `n` of
/// `name@{n}`, until `each` breaks. At most the last `max_bytes` of the file are read; gives whether older ones were left
/// out for that. `None` where there is no reflog.
///
/// # Errors
/// Where the disk fails or something else than a file stands there.
pub fn backwards(
    repo: &Repo,
    name: &BStr,
    max_bytes: u64,
    each: impl FnMut(usize, Line) -> ControlFlow<()>,
) -> Result<Option<bool>, ReadFailure> {
    let Some(mut log) = open(repo, name)? else { return Ok(None) };
    let left = read(&mut log, repo.git.object_hash(), max_bytes, each);
    left.map(Some).map_err(|e| NoContents::of(&e).failure(OPERATION, &shown(name)))
}

/// The open reflog of `name`; `None` where there is none.
///
/// # Errors
/// As [`backwards`].
pub fn open(repo: &Repo, name: &BStr) -> Result<Option<fs::File>, ReadFailure> {
    if gix::validate::reference::name(name).is_err() {
        return Ok(None);
    }
    let dir = repo.refs.dir_of(name);
    let path = [b"logs/", name.as_bytes()].concat();
    let failure = |e: &NoContents| e.failure(OPERATION, &shown(name));
    match open_beneath::open(dir, &path) {
        Ok(file) => match file.metadata().map_err(|e| failure(&NoContents::of(&e)))? {
            meta if meta.is_file() => Ok(Some(file)),
            // logs of references below this one
            meta if meta.is_dir() => Ok(None),
            _ => Err(failure(&NoContents::NotRegular)),
        },
        Err(NoContents::Absent) if open_beneath::behind_a_link(dir, path.as_bstr()) => {
            let details = "A reflog lies behind a link, which is not followed.";
            Err(ReadFailure::new(Reason::Redirected, OPERATION, details).at(shown(name).as_bytes()))
        }
        Err(NoContents::Absent) => Ok(None),
        Err(e) => Err(failure(&e)),
    }
}

/// Full name of the reference that `short` means where a reflog is asked for: of several, Git takes the first that has a
/// log; one without may lead to one that has.
///
/// # Errors
/// Where references or logs cannot be read.
pub fn meant(repo: &Repo, short: &BStr) -> Result<Option<BString>, ReadFailure> {
    let all = repo.refs.meant(short)?;
    let mut logged = Vec::new();
    for full in &all {
        if open(repo, full.as_ref())?.is_some() {
            return Ok(Some(full.clone()));
        }
        if let Some(target) = repo.refs.target(full.as_ref())?
            && open(repo, target.as_ref())?.is_some()
        {
            logged.push(target);
        }
    }
    Ok(logged.into_iter().chain(all).next())
}

fn shown(name: &BStr) -> String {
    format!(".git/logs/{}", name.to_str_lossy())
}

/// The lines of `log` from its end; whether the limit left older ones out.
fn read(
    log: &mut (impl io::Read + io::Seek),
    kind: hash::Kind,
    max_bytes: u64,
    mut each: impl FnMut(usize, Line) -> ControlFlow<()>,
) -> io::Result<bool> {
    let end = log.seek(SeekFrom::End(0))?;
    let start = end.saturating_sub(max_bytes);
    let mut at = end;
    let mut index = 0;
    let mut block = vec![0; BLOCK];
    // what follows the block of a line that begins before it
    let mut tail: Vec<u8> = Vec::new();
    // a last line without its end is still being written, or was cut off; Git does not count it either
    let mut ended = false;
    let mut give = |line: &[u8], ended: bool| match parse(line, kind).filter(|_| ended) {
        Some(line) => {
            index += 1;
            each(index - 1, line)
        }
        None => ControlFlow::Continue(()),
    };
    while at > start {
        let size = usize::try_from(at - start).unwrap_or(BLOCK).min(BLOCK);
        at -= size as u64;
        log.seek(SeekFrom::Start(at))?;
        let read = &mut block[..size];
        log.read_exact(read)?;
        let mut rest = &*read;
        while let Some(newline) = rest.rfind_byte(b'\n') {
            let line = &rest[newline + 1..];
            let flow = if tail.is_empty() {
                give(&line[..line.len().min(MAX_LINE)], ended)
            } else {
                extend_front(&mut tail, line);
                let flow = give(&tail, ended);
                tail.clear();
                flow
            };
            if flow.is_break() {
                return Ok(false);
            }
            ended = true;
            rest = &rest[..newline];
        }
        extend_front(&mut tail, rest);
    }
    // a line that the limit cut through is none of those that were read
    if start == 0 && give(&tail, ended).is_break() {
        return Ok(false);
    }
    Ok(start > 0)
}

fn extend_front(tail: &mut Vec<u8>, front: &[u8]) {
    tail.truncate(MAX_LINE.saturating_sub(front.len()));
    tail.splice(..0, front[..front.len().min(MAX_LINE)].iter().copied());
}

/// A line without its end, by the rules that decide in Git what counts as one: two ids, something that ends in `>`, a time
/// that is not zero, and a zone.
fn parse(line: &[u8], kind: hash::Kind) -> Option<Line> {
    let hex = kind.len_in_hex();
    let id = |at: usize| {
        let id = line.get(at..at + hex)?;
        (line.get(at + hex) == Some(&b' ')).then(|| ObjectId::from_hex(id).ok())?
    };
    let (old, new) = (id(0)?, id(hex + 1)?);
    // Git reads the rest as a text that a NUL ends
    let rest = line.get(2 * (hex + 1)..)?;
    let rest = &rest[..rest.find_byte(0).unwrap_or(rest.len())];
    let close = rest.find_byte(b'>')?;
    let (who, after) = (&rest[..close], rest[close + 1..].strip_prefix(b" ")?);
    let (time, after) = time(after)?;
    let zone = after.strip_prefix(b" +").or_else(|| after.strip_prefix(b" -"))?;
    if zone.len() < 4 || !zone[..4].iter().all(u8::is_ascii_digit) {
        return None;
    }
    let message = &zone[4..];
    let (name, email) = who.split_once_str("<").unwrap_or((who, b""));
    Some(Line {
        old,
        new,
        name: name.trim().into(),
        email: email.trim().into(),
        time,
        message: message.strip_prefix(b"\t").unwrap_or(message).into(),
    })
}

/// Seconds at the beginning of `text`, as C reads a number, and what follows them.
fn time(text: &[u8]) -> Option<(i64, &[u8])> {
    let text = text.trim_start();
    let digits = text.strip_prefix(b"+").unwrap_or(text);
    let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    let number = std::str::from_utf8(&digits[..end]).ok().filter(|number| !number.is_empty())?;
    let seconds = number.parse().unwrap_or(i64::MAX);
    (seconds != 0).then(|| (seconds, &digits[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    const SHA1: hash::Kind = hash::Kind::Sha1;

    fn line(n: usize, message: &str) -> String {
        format!("{:040x} {:040x} A B <a@b> {} +0100\t{message}\n", n, n + 1, 1_700_000_000 + n)
    }

    fn all(log: &[u8], max_bytes: u64) -> (Vec<(usize, String)>, bool) {
        let mut lines = Vec::new();
        let left = read(&mut Cursor::new(log), SHA1, max_bytes, |index, line| {
            lines.push((index, line.message.to_string()));
            ControlFlow::Continue(())
        });
        (lines, left.expect("memory is readable"))
    }

    #[test]
    fn lines_come_newest_first_whatever_block_they_end_in() {
        // lines of many lengths, some longer than a block
        let mut log = String::new();
        let mut expected = Vec::new();
        for n in 0..400 {
            let message = format!("{n} {}", "x".repeat((n * 7919) % 3_000 + if n % 97 == 0 { 70_000 } else { 0 }));
            log += &line(n, &message);
            expected.insert(0, message);
        }
        let (lines, left) = all(log.as_bytes(), u64::MAX);
        assert!(!left);
        assert_eq!(lines.len(), 400);
        for ((index, message), (at, expected)) in lines.iter().zip(expected.iter().enumerate()) {
            assert_eq!(*index, at);
            assert!(expected.starts_with(message) && (message == expected || message.len() > 60_000), "{at}");
        }
    }

    #[test]
    fn all_fields_are_there() {
        let log = line(7, "commit: m");
        let mut seen = None;
        read(&mut Cursor::new(log), SHA1, 1_000, |_, line| {
            seen = Some(line);
            ControlFlow::Break(())
        })
        .expect("memory is readable");
        let seen = seen.expect("one line");
        assert_eq!(seen.old.to_string(), format!("{:040x}", 7));
        assert_eq!(seen.new.to_string(), format!("{:040x}", 8));
        assert_eq!((seen.name.to_string(), seen.email.to_string()), ("A B".to_owned(), "a@b".to_owned()));
        assert_eq!((seen.time, seen.message.to_string()), (1_700_000_007, "commit: m".to_owned()));
    }

    #[test]
    fn what_git_passes_over_has_no_index() {
        let ids = format!("{:040x} {:040x}", 1, 2);
        for bad in [
            String::new(),
            "junk".to_owned(),
            ids.clone(),
            format!("{ids} A <a@b>"),
            format!("{ids} A <a@b> 0 +0000\tzero"),
            format!("{ids} A <a@b> 17 0000\tno sign"),
            format!("{ids} A <a@b> 17 +00x0\tno zone"),
            format!("{ids} A <a@b>17 +0000\tno space"),
            format!("{ids} A <a@b\0> 17 +0000\tNUL"),
            format!("{:039x} {:040x} A <a@b> 17 +0000\tshort", 1, 2),
        ] {
            let log = format!("{}{bad}\n{}", line(0, "old"), line(1, "new"));
            let (lines, _) = all(log.as_bytes(), u64::MAX);
            assert_eq!(lines, [(0, "new".to_owned()), (1, "old".to_owned())], "{bad:?}");
        }
        let (lines, _) = all(format!("{}{}", line(0, "old"), line(1, "cut").trim_end()).as_bytes(), u64::MAX);
        assert_eq!(lines, [(0, "old".to_owned())], "a line without its end");
        let (lines, _) = all(format!("{ids} A <a@b> 17 +0000no tab\n{ids} nobody> 17 +0000\n").as_bytes(), u64::MAX);
        assert_eq!(lines, [(0, String::new()), (1, "no tab".to_owned())]);
        assert_eq!(all(b"", u64::MAX), (vec![], false));
        assert_eq!(all(b"\n", u64::MAX), (vec![], false));
    }

    #[test]
    fn the_limit_leaves_whole_lines() {
        let log = (0..10).map(|n| line(n, &n.to_string())).collect::<String>();
        let size = line(0, "0").len() as u64;
        let (lines, left) = all(log.as_bytes(), 3 * size + 5);
        assert_eq!(lines.len(), 3);
        assert!(left);
        assert_eq!(all(log.as_bytes(), 10 * size).0.len(), 10);
        assert!(!all(log.as_bytes(), 10 * size).1);
    }
}
