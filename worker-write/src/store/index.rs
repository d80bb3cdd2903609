//! The index as a file: its entries, what they know of the files on disk, and the trees that it remembers.
//! Trust: anybody's bytes. Checked whole before anything is taken from them; offsets never leave them, nothing is allocated
//! by a number that they say.

use super::{Answer, Elsewhere, Store, whole};
use gix::hash::{Kind, ObjectId};
use std::{collections::HashMap, fs::Metadata, ops::Range, os::unix::fs::MetadataExt, path::Path};

/// Bytes of an index that is read here at most; Git takes over beyond.
const MAX_INDEX: u64 = 64 << 20;
/// Bytes of all paths together at most: the fourth version of the format says them by their ends alone.
const MAX_PATHS: usize = 128 << 20;
/// Bytes of one path at most, as of the system.
const MAX_PATH: usize = 4_096;
/// Signature, version, number of entries.
const HEADER: usize = 12;
/// What stands of a file before the id of an entry.
const STAT: usize = 40;
/// Where in it these stand.
const MODE: usize = 24;
const SIZE: usize = 36;

const EXTENDED: u16 = 0x4000;
const SKIP_WORKTREE: u16 = 0x4000;
const INTENT_TO_ADD: u16 = 0x2000;

/// Modes of entries.
pub(crate) const GITLINK: u32 = 0o160_000;
pub(crate) const LINK: u32 = 0o120_000;
pub(crate) const FILE: u32 = 0o100_644;
pub(crate) const EXECUTABLE: u32 = 0o100_755;

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Where it begins in the file.
    at: usize,
    path: Range<usize>,
    pub(crate) mode: u32,
    pub(crate) id: ObjectId,
    /// 0 where it is merged.
    pub(crate) stage: u8,
    /// Looked at only where something is there.
    pub(crate) skip_worktree: bool,
    /// To be added, with contents that no object has yet.
    pub(crate) intent_to_add: bool,
}

/// All of an index.
#[derive(Debug)]
pub(crate) struct Index {
    bytes: Vec<u8>,
    paths: Vec<u8>,
    pub(crate) entries: Vec<Entry>,
    /// Trees that it remembers, by directory: their ids, and how many entries each stands for.
    trees: HashMap<Vec<u8>, (ObjectId, usize)>,
    /// When it was written, in seconds and nanoseconds.
    written: (i64, i64),
    kind: Kind,
}

impl Index {
    /// The index of a git directory; `None` where there is none.
    pub(crate) fn read(store: &Store, git_dir: &Path) -> Answer<Option<Self>> {
        let path = git_dir.join("index");
        // taken before the bytes: one that is replaced in between seems older than it is, and then more is compared
        let Ok(found) = path.symlink_metadata() else { return whole(&path, 0).map(|_| None) };
        let Some(bytes) = whole(&path, MAX_INDEX)? else { return Ok(None) };
        Self::parse(bytes, store.kind(), (found.mtime(), found.mtime_nsec())).map(Some)
    }

    fn parse(bytes: Vec<u8>, kind: Kind, written: (i64, i64)) -> Answer<Self> {
        let hash = kind.len_in_bytes();
        let end = bytes.len().checked_sub(hash).filter(|end| *end >= HEADER).ok_or(Elsewhere)?;
        let sum = digest(kind, &bytes[..end])?;
        // all zero where `index.skipHash` is on
        if bytes[end..] != *sum && bytes[end..].iter().any(|byte| *byte != 0) {
            return Err(Elsewhere);
        }
        let version = number(&bytes, 4)?;
        if !bytes.starts_with(b"DIRC") || !(2..=4).contains(&version) {
            return Err(Elsewhere);
        }
        let mut index = Self { paths: Vec::new(), entries: Vec::new(), trees: HashMap::new(), written, kind, bytes };
        let mut at = HEADER;
        for _ in 0..number(&index.bytes, 8)? {
            at = index.entry(at, end, version)?;
        }
        while at < end {
            let name = index.bytes.get(at..at + 4).ok_or(Elsewhere)?;
            let length = number(&index.bytes, at + 4)? as usize;
            let from = at + 8;
            at = from.checked_add(length).filter(|at| *at <= end).ok_or(Elsewhere)?;
            match name {
                b"TREE" => index.trees = trees(&index.bytes[from..at], kind)?,
                // what a monitor saw does not hold for a copy
                b"FSMN" => return Err(Elsewhere),
                // of no other extension that is optional is anything needed
                [b'A'..=b'Z', ..] => {}
                // split, or sparse
                _ => return Err(Elsewhere),
            }
        }
        Ok(index)
    }

    /// Takes in the entry at `at`, and says where the next one begins.
    fn entry(&mut self, at: usize, end: usize, version: u32) -> Answer<usize> {
        let hash = self.kind.len_in_bytes();
        let flags_at = at + STAT + hash;
        let word =
            |at: usize| self.bytes.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]])).ok_or(Elsewhere);
        let flags = word(flags_at)?;
        let (more, name_at) =
            if flags & EXTENDED == 0 { (0, flags_at + 2) } else { (word(flags_at + 2)?, flags_at + 4) };
        if more != 0 && version < 3 || more & !(SKIP_WORKTREE | INTENT_TO_ADD) != 0 {
            return Err(Elsewhere);
        }
        let last = self.entries.last().map_or(0..0, |entry| entry.path.clone());
        let (kept, from) = if version == 4 { backwards(&self.bytes, name_at, last.len())? } else { (0, name_at) };
        let rest = self.bytes.get(from..end).ok_or(Elsewhere)?;
        let rest = &rest[..rest.iter().take(MAX_PATH).position(|byte| *byte == 0).ok_or(Elsewhere)?];
        let next = if version == 4 { from + rest.len() + 1 } else { at + ((from + rest.len() - at) / 8 + 1) * 8 };

        let start = self.paths.len();
        if start + kept + rest.len() > MAX_PATHS {
            return Err(Elsewhere);
        }
        self.paths.extend_from_within(last.start..last.start + kept);
        self.paths.extend_from_slice(rest);
        let id = ObjectId::try_from(&self.bytes[at + STAT..flags_at]).map_err(|_| Elsewhere)?;
        let stage = u8::try_from(flags >> 12 & 3).map_err(|_| Elsewhere)?;
        let mode = number(&self.bytes, at + MODE)?;
        let entry = Entry {
            at,
            path: start..self.paths.len(),
            mode,
            id,
            stage,
            skip_worktree: more & SKIP_WORKTREE != 0,
            intent_to_add: more & INTENT_TO_ADD != 0,
        };
        // in any other order, files and directories of a tree would not stand together; any other mode is no file's
        let in_order =
            self.entries.last().is_none_or(|last| (self.path(last), last.stage) < (self.path(&entry), stage));
        let is_file = matches!(mode, FILE | EXECUTABLE | LINK | GITLINK);
        if !in_order || !is_file || !is_safe(self.path(&entry)) || next > end {
            return Err(Elsewhere);
        }
        self.entries.push(entry);
        Ok(next)
    }

    /// The path of one of its entries.
    pub(crate) fn path(&self, entry: &Entry) -> &[u8] {
        &self.paths[entry.path.clone()]
    }

    /// Paths of its unmerged entries, one for each stage.
    pub(crate) fn unmerged(&self) -> impl Iterator<Item = &[u8]> {
        self.entries.iter().filter(|entry| entry.stage != 0).map(|entry| self.path(entry))
    }

    /// Whether there is a merged entry of this path.
    pub(crate) fn has(&self, path: &[u8]) -> bool {
        self.entries.binary_search_by(|entry| (self.path(entry), entry.stage).cmp(&(path, 0))).is_ok()
    }

    /// The tree that it remembers of a directory, where that stands for so many entries. The top has an empty name.
    pub(crate) fn tree(&self, directory: &[u8], entries: usize) -> Option<ObjectId> {
        self.trees.get(directory).filter(|(_, count)| *count == entries).map(|(id, _)| *id)
    }

    /// Whether a file certainly is what it was when the entry was made. Times must agree to the nanosecond, and be older
    /// than the index: what was written since within the same moment cannot be told by its times.
    pub(crate) fn is_unchanged(&self, entry: &Entry, found: &Metadata) -> bool {
        let stat = |at: usize| number(&self.bytes, entry.at + at).unwrap_or_default();
        let (changed, modified) = ((stat(0), stat(4)), (stat(8), stat(12)));
        let size = stat(SIZE);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the index keeps the lowest 32 bits"
        )]
        let same = (found.ctime() as u32, found.ctime_nsec() as u32) == changed
            && (found.mtime() as u32, found.mtime_nsec() as u32) == modified
            && found.ino() as u32 == stat(20)
            && found.size() as u32 == size;
        // a size that was struck out, since its times prove nothing
        let struck = size == 0 && entry.id != ObjectId::empty_blob(self.kind);
        let (seconds, nanoseconds) = self.written;
        let older = match (i64::from(modified.0), i64::from(modified.1)) {
            // where one of them counts in seconds alone
            (then, fraction) if fraction == 0 || nanoseconds == 0 => then < seconds,
            then => then < (seconds, nanoseconds),
        };
        same && !struck && older
    }

    /// The file itself, with the sizes of these entries struck out: their files are other than the entries say, which no time
    /// will tell once the index has been written again.
    pub(crate) fn with_struck_sizes(&self, entries: &[&Entry]) -> Answer<Vec<u8>> {
        let mut bytes = self.bytes.clone();
        for entry in entries {
            bytes[entry.at + SIZE..entry.at + STAT].fill(0);
        }
        let end = bytes.len() - self.kind.len_in_bytes();
        if bytes[end..].iter().any(|byte| *byte != 0) {
            let sum = digest(self.kind, &bytes[..end])?;
            bytes[end..].copy_from_slice(&sum);
        }
        Ok(bytes)
    }

    /// Whether an entry's size is that of a file, so that its times alone would tell them apart.
    pub(crate) fn has_size(&self, entry: &Entry, found: &Metadata) -> bool {
        #[expect(clippy::cast_possible_truncation, reason = "the index keeps the lowest 32 bits")]
        let size = found.size() as u32;
        number(&self.bytes, entry.at + SIZE) == Ok(size)
    }
}

fn number(bytes: &[u8], at: usize) -> Answer<u32> {
    let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).ok_or(Elsewhere)?;
    Ok(u32::from_be_bytes(four))
}

fn digest(kind: Kind, bytes: &[u8]) -> Answer<Vec<u8>> {
    let mut hasher = gix::hash::hasher(kind);
    hasher.update(bytes);
    hasher.try_finalize().map(|id| id.as_slice().to_vec()).map_err(|_| Elsewhere)
}

/// How much of the last path, which is so long, the next one begins with, and where the rest of it stands.
fn backwards(bytes: &[u8], at: usize, last: usize) -> Answer<(usize, usize)> {
    let mut at = at;
    let mut cut = 0_usize;
    loop {
        let byte = *bytes.get(at).ok_or(Elsewhere)?;
        at += 1;
        cut = cut << 7 | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            break;
        }
        cut += 1;
        if cut > MAX_PATH {
            return Err(Elsewhere);
        }
    }
    Ok((last.checked_sub(cut).ok_or(Elsewhere)?, at))
}

/// Whether a path names something beneath the working tree, and nothing of a git directory.
fn is_safe(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/')
        .all(|name| !name.is_empty() && name != b"." && name != b".." && !name.eq_ignore_ascii_case(b".git"))
}

/// Trees that are remembered: `path NUL entries SP subtrees LF id`, those of subtrees after their own. What is not valid any
/// more has a negative number and no id.
fn trees(bytes: &[u8], kind: Kind) -> Answer<HashMap<Vec<u8>, (ObjectId, usize)>> {
    let mut trees = HashMap::new();
    // a directory's name with a slash at its end, and how many of its subtrees are still to come
    let mut open: Vec<(Vec<u8>, usize)> = vec![(Vec::new(), 1)];
    let mut rest = bytes;
    let mut total = 0;
    while let Some((above, left)) = open.last_mut() {
        if *left == 0 {
            open.pop();
            continue;
        }
        *left -= 1;
        let (name, after) = cut(rest, 0)?;
        let (entries, after) = cut(after, b' ')?;
        let (subtrees, after) = cut(after, b'\n')?;
        let mut path = [above.as_slice(), name].concat();
        rest = after;
        total += path.len();
        if path.len() > MAX_PATH || total > MAX_PATHS || open.len() > MAX_PATH {
            return Err(Elsewhere);
        }
        if !entries.starts_with(b"-") {
            let id = rest.get(..kind.len_in_bytes()).ok_or(Elsewhere)?;
            rest = &rest[id.len()..];
            let id = ObjectId::try_from(id).map_err(|_| Elsewhere)?;
            trees.insert(path.clone(), (id, decimal(entries)?));
        }
        if !path.is_empty() {
            path.push(b'/');
        }
        open.push((path, decimal(subtrees)?));
    }
    Ok(trees)
}

fn cut(bytes: &[u8], at: u8) -> Answer<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == at).ok_or(Elsewhere)?;
    Ok((&bytes[..end], &bytes[end + 1..]))
}

fn decimal(digits: &[u8]) -> Answer<usize> {
    std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).ok_or(Elsewhere)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index with a remembered tree, as Git writes it: `a`, `dir/b` (skipped), `dir/c` in two stages.
    fn written(version: u32, kind: Kind) -> Vec<u8> {
        let hash = kind.len_in_bytes();
        let mut bytes = [b"DIRC".as_slice(), &version.to_be_bytes(), &4_u32.to_be_bytes()].concat();
        let mut last: &str = "";
        for (path, stage, more) in [("a", 0, 0), ("dir/b", 0, SKIP_WORKTREE), ("dir/c", 1, 0), ("dir/c", 2, 0)] {
            let from = bytes.len();
            for word in [1, 2, 3, 4, 5, 6, FILE, 8, 9, 10_u32] {
                bytes.extend(word.to_be_bytes());
            }
            bytes.extend(vec![7; hash]);
            let extended = more != 0 && version > 2;
            let flags = stage << 12 | if extended { EXTENDED } else { 0 } | path.len() as u16;
            bytes.extend(flags.to_be_bytes());
            bytes.extend(extended.then(|| more.to_be_bytes()).into_iter().flatten());
            if version == 4 {
                let same = path.bytes().zip(last.bytes()).take_while(|(a, b)| a == b).count();
                bytes.push(u8::try_from(last.len() - same).expect("short"));
                bytes.extend(&path.as_bytes()[same..]);
                bytes.push(0);
            } else {
                bytes.extend(path.as_bytes());
                bytes.extend(vec![0; 8 - (bytes.len() - from) % 8]);
            }
            last = path;
        }
        let tree = [b"\x001 1\n".as_slice(), &vec![1; hash], b"dir\0-1 0\n"].concat();
        bytes.extend(b"TREE");
        bytes.extend(u32::try_from(tree.len()).expect("short").to_be_bytes());
        bytes.extend(tree);
        bytes.extend(digest(kind, &bytes).expect("it can be hashed"));
        bytes
    }

    #[test]
    fn every_version_is_read_and_only_sizes_are_struck_out() {
        for (version, kind) in [2, 3, 4].into_iter().flat_map(|it| [(it, Kind::Sha1), (it, Kind::Sha256)]) {
            let bytes = written(version, kind);
            let index = Index::parse(bytes.clone(), kind, (0, 0)).expect("it is whole");
            let paths: Vec<_> = index.entries.iter().map(|entry| (index.path(entry), entry.stage)).collect();
            assert_eq!(paths, [(&b"a"[..], 0), (b"dir/b", 0), (b"dir/c", 1), (b"dir/c", 2)], "{version}");
            assert_eq!(index.entries[1].skip_worktree, version > 2);
            assert_eq!((index.unmerged().count(), index.has(b"a"), index.has(b"dir/c")), (2, true, false));
            assert!(index.tree(b"", 1).is_some() && index.tree(b"", 2).is_none() && index.tree(b"dir", 1).is_none());
            let struck = index.with_struck_sizes(&[&index.entries[1]]).expect("it can be hashed");
            let end = bytes.len() - kind.len_in_bytes();
            let differing: Vec<_> = (0..end).filter(|at| bytes[*at] != struck[*at]).collect();
            assert_eq!(differing, [index.entries[1].at + STAT - 1], "{version}");
            assert!(Index::parse(struck, kind, (0, 0)).is_ok());
        }
    }

    #[test]
    fn damage_is_left_to_git_and_never_followed() {
        for version in [2, 3, 4] {
            let whole = written(version, Kind::Sha1);
            let end = whole.len() - 20;
            assert_eq!(Index::parse([&whole[..end], &[1; 20]].concat(), Kind::Sha1, (0, 0)).err(), Some(Elsewhere));
            let mut read = 0;
            for at in 0..end {
                for value in [0, 1, 0x2f, 0x7f, 0xff] {
                    let mut bytes = whole.clone();
                    bytes[at] = value;
                    // without a checksum, so that damage is met and not only found out
                    bytes[end..].fill(0);
                    read += u32::from(Index::parse(bytes, Kind::Sha1, (0, 0)).is_ok());
                }
                let cut = [&whole[..at], &[0; 20]].concat();
                let _ = Index::parse(cut, Kind::Sha1, (0, 0));
            }
            // a changed time or id is as good as another
            assert!(read > 100, "{read}");
        }
    }

    #[test]
    fn a_file_is_unchanged_only_where_its_times_prove_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("a");
        std::fs::write(&file, "content").expect("ours");
        let found = file.symlink_metadata().expect("it is there");
        let low = |number: i64| u32::try_from(number & 0xffff_ffff).expect("32 bits");
        let ino = u32::try_from(found.ino() & 0xffff_ffff).expect("32 bits");
        let (seconds, fraction) = (found.mtime(), found.mtime_nsec());
        let is = |written_at: (i64, i64), change: &dyn Fn(&mut [u32; 10])| {
            let mut stat =
                [low(found.ctime()), low(found.ctime_nsec()), low(seconds), low(fraction), 0, ino, FILE, 0, 0, 7];
            change(&mut stat);
            let mut bytes = written(2, Kind::Sha1);
            let stat: Vec<u8> = stat.into_iter().flat_map(u32::to_be_bytes).collect();
            bytes[HEADER..HEADER + STAT].copy_from_slice(&stat);
            let end = bytes.len() - 20;
            bytes[end..].fill(0);
            let index = Index::parse(bytes, Kind::Sha1, written_at).expect("it is whole");
            index.is_unchanged(&index.entries[0], &found)
        };
        let later = (seconds + 1, 0);
        assert!(is((seconds + 1, 1), &|_| ()) && is((seconds + 2, 0), &|_| ()));
        // within one moment with the index, or where either counts in seconds alone
        for written_at in [(seconds, fraction), (seconds - 1, 999_999_999), (seconds, 0)] {
            assert!(!is(written_at, &|_| ()), "{written_at:?}");
        }
        for field in [0, 1, 2, 3, 5] {
            assert!(!is(later, &|stat| stat[field] ^= 1), "{field}");
        }
        // other sizes, and one that was struck out
        assert!(!is(later, &|stat| stat[9] = 8) && !is(later, &|stat| stat[9] = 0));
    }

    #[test]
    fn names_that_lead_elsewhere_are_none() {
        for path in ["", "/a", "a/", "a//b", ".", "..", "a/../b", ".git", "a/.GIT/b"] {
            assert!(!is_safe(path.as_bytes()), "{path}");
        }
        assert!(is_safe(b"a/.gitignore") && is_safe(b"...") && is_safe(b"a b/\xff"));
    }
}
