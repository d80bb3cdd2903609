//! The bytes of an index file before the library decodes them: what would exhaust its stack or its memory is refused.
//! Trust: none; sizes, counts, lengths and nesting are the repository's claims, and are followed without recursion.

use crate::{
    files::NoContents,
    index::{OPERATION, corrupt},
    memory, open_beneath,
};
use bulkhead_contract::failure::{ReadFailure, Reason};
use gix::ObjectId;
use std::{
    fs,
    io::{self, BufRead as _, BufReader, Read as _},
    path::Path,
};

/// Bytes of an index file at most; some three million entries.
pub(crate) const MAX_INDEX: u64 = 384 << 20;
/// Bytes of a path at most: the longest that Linux opens. From here on formats 2 and 3 do not tell the length, too.
pub(crate) const MAX_PATH: usize = 4094;
/// Bytes of all paths at most; format 4 shares prefixes, so that a small file may hold endless ones.
pub(crate) const MAX_PATHS: u64 = 384 << 20;
/// Levels of directories in an extension at most; the library follows them by recursion.
const MAX_NESTING: usize = 4096;
/// Bytes of one nested extension at most.
const MAX_EXTENSION: usize = 128 << 20;
/// Bytes of memory that an entry takes while the library reads it, besides its path.
const IN_MEMORY: u64 = 240;
/// Stat, of every entry.
const STAT: usize = 40;

/// Checks the index at `path`, and the shared one that it may be split from, whose name it gives.
///
/// # Errors
/// [`Reason::TooLarge`] over one of the limits, [`Reason::Corrupt`] where it is no index, or the disk's.
pub(crate) fn check(git_dir: &Path, path: &Path, hash: gix::hash::Kind) -> Result<Option<String>, ReadFailure> {
    let failed = |e: &io::Error| NoContents::of(e).failure(OPERATION, ".git/index");
    let meta = fs::metadata(path).map_err(|e| failed(&e))?;
    if !meta.is_file() {
        return Err(NoContents::NotRegular.failure(OPERATION, ".git/index"));
    }
    let file = fs::File::open(path).map_err(|e| failed(&e))?;
    if let Some(shared) = one(&file, hash)? {
        let name = format!("sharedindex.{shared}");
        let file =
            open_beneath::open(git_dir, name.as_bytes()).map_err(|e| e.failure(OPERATION, &format!(".git/{name}")))?;
        if one(&file, hash)?.is_some() {
            return Err(corrupt("The shared index is itself split."));
        }
        return Ok(Some(name));
    }
    Ok(None)
}

/// Checks one file; gives the id of the shared index that it needs.
fn one(file: &fs::File, hash: gix::hash::Kind) -> Result<Option<ObjectId>, ReadFailure> {
    let meta = file.metadata().map_err(|e| NoContents::of(&e).failure(OPERATION, ".git/index"))?;
    if !meta.is_file() {
        return Err(NoContents::NotRegular.failure(OPERATION, ".git/index"));
    }
    if meta.len() > MAX_INDEX {
        return Err(NoContents::TooLarge(MAX_INDEX).failure(OPERATION, ".git/index"));
    }
    let hash_len = hash.len_in_bytes();
    let body = meta.len().saturating_sub(hash_len as u64);
    let mut scan = Scan { from: BufReader::with_capacity(64 << 10, file.take(body)), left: body, hash_len };
    match scan.whole() {
        Ok(shared) => Ok(shared),
        Err(Bad::TooLarge(details)) => Err(ReadFailure::new(Reason::TooLarge, OPERATION, details).at(b".git/index")),
        Err(Bad::Corrupt(details)) => Err(corrupt(details)),
    }
}

enum Bad {
    TooLarge(&'static str),
    Corrupt(&'static str),
}

const CUT: Bad = Bad::Corrupt("The index is shorter than it claims; `git fsck` and `git read-tree` can tell more.");
const TOO_DEEP: Bad = Bad::TooLarge("The index holds directories that are nested too deeply.");
const TOO_LONG: Bad = Bad::TooLarge("The index holds a path that is too long.");

struct Scan<R> {
    from: BufReader<io::Take<R>>,
    left: u64,
    hash_len: usize,
}

impl<R: io::Read> Scan<R> {
    fn whole(&mut self) -> Result<Option<ObjectId>, Bad> {
        let (signature, version, count) = (self.bytes::<4>()?, self.number()?, self.number()?);
        if &signature != b"DIRC" || !(2..=4).contains(&version) {
            return Err(Bad::Corrupt("The index is none, or has a version that Git does not know."));
        }
        // stat, id, flags, and a byte of path; before the library reserves memory for so many
        if u64::from(count) * (STAT + self.hash_len + 3) as u64 > self.left {
            return Err(Bad::Corrupt("The index claims more entries than it can hold."));
        }
        let (mut length, mut all) = (0, 0u64);
        for _ in 0..count {
            length = if version == 4 { self.entry_of_4(length)? } else { self.entry()? };
            all += length as u64;
            if all > MAX_PATHS {
                return Err(Bad::TooLarge("The paths of the index are too long together."));
            }
        }
        // an allocation that fails ends the process
        let needed = u64::from(count) * IN_MEMORY + 2 * all;
        if !memory::is_there(usize::try_from(needed).unwrap_or(usize::MAX)) {
            return Err(Bad::TooLarge(
                "The index holds more than this worker's memory has room for. Start the server with a larger \
                 --worker-memory.",
            ));
        }
        self.extensions()
    }

    /// An entry of format 2 or 3; gives the length of its path.
    fn entry(&mut self) -> Result<usize, Bad> {
        let (flags, fixed) = self.fixed()?;
        let length = usize::from(flags & 0x0fff);
        if length > MAX_PATH {
            return Err(TOO_LONG);
        }
        let padded = (fixed + length + 8) & !7;
        self.skip(padded - fixed)?;
        Ok(length)
    }

    /// An entry of format 4, which cuts bytes off the path before it and appends to it.
    fn entry_of_4(&mut self, before: usize) -> Result<usize, Bad> {
        self.fixed()?;
        let cut = self.varint()?;
        let mut suffix = Vec::new();
        self.until_nul(&mut suffix)?;
        // the first entry has nothing before it to cut
        let length = before.saturating_sub(usize::try_from(cut).unwrap_or(usize::MAX)) + suffix.len();
        if length > MAX_PATH { Err(TOO_LONG) } else { Ok(length) }
    }

    /// The part of an entry before its path: the flags, and the length of the part.
    fn fixed(&mut self) -> Result<(u16, usize), Bad> {
        self.skip(STAT + self.hash_len)?;
        let flags = u16::from_be_bytes(self.bytes()?);
        let extended = flags & 0x4000 != 0;
        if extended {
            self.skip(2)?;
        }
        Ok((flags, STAT + self.hash_len + 2 + if extended { 2 } else { 0 }))
    }

    fn extensions(&mut self) -> Result<Option<ObjectId>, Bad> {
        let mut shared = None;
        while self.left >= 8 {
            let (signature, size) = (self.bytes::<4>()?, self.number()? as usize);
            if size as u64 > self.left {
                break;
            }
            match &signature {
                b"TREE" | b"UNTR" => {
                    if size > MAX_EXTENSION {
                        return Err(Bad::TooLarge("An extension of the index is too large."));
                    }
                    let mut data = vec![0; size];
                    self.fill(&mut data)?;
                    let deepest = if &signature == b"TREE" {
                        tree(&data, self.hash_len)
                    } else {
                        untracked(&data, self.hash_len)
                    };
                    if deepest > MAX_NESTING {
                        return Err(TOO_DEEP);
                    }
                }
                b"link" if size >= self.hash_len => {
                    let mut id = vec![0; self.hash_len];
                    self.fill(&mut id)?;
                    shared = ObjectId::try_from(&id[..]).ok();
                    self.skip(size - self.hash_len)?;
                }
                _ => self.skip(size)?,
            }
        }
        Ok(shared)
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<(), Bad> {
        self.from.read_exact(into).map_err(|_| CUT)?;
        self.left -= into.len() as u64;
        Ok(())
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Bad> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn number(&mut self) -> Result<u32, Bad> {
        self.bytes().map(u32::from_be_bytes)
    }

    fn skip(&mut self, mut count: usize) -> Result<(), Bad> {
        while count > 0 {
            let have = self.from.fill_buf().map_err(|_| CUT)?.len().min(count);
            if have == 0 {
                return Err(CUT);
            }
            self.from.consume(have);
            self.left -= have as u64;
            count -= have;
        }
        Ok(())
    }

    fn until_nul(&mut self, into: &mut Vec<u8>) -> Result<(), Bad> {
        let most = MAX_PATH as u64 + 1;
        let got = (&mut self.from).take(most).read_until(0, into).map_err(|_| CUT)?;
        self.left -= got as u64;
        match into.pop() {
            Some(0) => Ok(()),
            _ if got as u64 == most => Err(TOO_LONG),
            _ => Err(CUT),
        }
    }

    fn varint(&mut self) -> Result<u64, Bad> {
        let mut value = 0u64;
        loop {
            let [byte] = self.bytes()?;
            value = value.checked_shl(7).filter(|_| value < 1 << 48).ok_or(CUT)? | u64::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
            value += 1;
        }
    }
}

/// How deeply the cache-tree in `data` is nested, as far as it can be read.
fn tree(mut data: &[u8], hash_len: usize) -> usize {
    deepest(|| {
        until(&mut data, 0)?;
        let entries = until(&mut data, b' ')?;
        let below = std::str::from_utf8(until(&mut data, b'\n')?).ok()?.parse().ok()?;
        if !entries.starts_with(b"-") {
            data = data.get(hash_len..)?;
        }
        Some(below)
    })
}

/// The same of the untracked cache.
fn untracked(mut data: &[u8], hash_len: usize) -> usize {
    let data = &mut data;
    let mut head = || {
        let identifier = usize::try_from(varint(data)?).ok()?;
        *data = data.get(identifier..)?.get(36 + 36 + 4 + 2 * hash_len..)?;
        until(data, 0)?;
        varint(data)
    };
    if head().is_none() {
        return 0;
    }
    deepest(|| {
        let (names, below) = (varint(data)?, varint(data)?);
        until(data, 0)?;
        for _ in 0..names {
            until(data, 0)?;
        }
        Some(below)
    })
}

/// Deepest level of a tree whose nodes `next` reads in depth-first order, each with the number of those below it.
fn deepest(mut next: impl FnMut() -> Option<u64>) -> usize {
    let mut open: Vec<u64> = vec![1];
    let mut deepest = 0;
    while let Some(left) = open.last_mut() {
        if *left == 0 {
            open.pop();
            continue;
        }
        *left -= 1;
        let Some(below) = next() else { break };
        if below > 0 {
            open.push(below);
        }
        deepest = deepest.max(open.len());
        if deepest > MAX_NESTING {
            break;
        }
    }
    deepest
}

fn until<'a>(data: &mut &'a [u8], end: u8) -> Option<&'a [u8]> {
    let at = data.iter().position(|&byte| byte == end)?;
    let (before, after) = data.split_at(at);
    *data = &after[1..];
    Some(before)
}

fn varint(data: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    loop {
        let (&byte, rest) = data.split_first()?;
        *data = rest;
        value = value.checked_mul(128)? | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some(value);
        }
        value = value.checked_add(1)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: gix::hash::Kind = gix::hash::Kind::Sha1;

    /// An index of format 2 with these paths and extensions, and no checksum.
    fn index(paths: &[Vec<u8>], extensions: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
        let mut bytes = [b"DIRC".as_slice(), &2u32.to_be_bytes(), &(paths.len() as u32).to_be_bytes()].concat();
        for path in paths {
            bytes.extend([0; 60]);
            bytes.extend((path.len().min(0xfff) as u16).to_be_bytes());
            bytes.extend(path);
            bytes.resize(bytes.len() + 8 - (62 + path.len()) % 8, 0);
        }
        for (signature, data) in extensions {
            bytes.extend(*signature);
            bytes.extend((data.len() as u32).to_be_bytes());
            bytes.extend(data);
        }
        bytes.extend([0; 20]);
        bytes
    }

    fn checked(bytes: &[u8]) -> Result<(), Reason> {
        let temp = tempfile::tempdir().expect("a writable temporary directory");
        let path = temp.path().join("index");
        fs::write(&path, bytes).expect("writable");
        check(temp.path(), &path, HASH).map(|_| ()).map_err(|failure| failure.reason)
    }

    #[test]
    fn a_cache_tree_or_untracked_cache_that_would_exhaust_the_stack_is_refused() {
        let trees = |levels: usize| b"a\x00-1 1\n".repeat(levels);
        let plain = index(&[b"a".to_vec()], &[(b"ZZZZ", vec![7; 9]), (b"TREE", trees(4000))]);
        assert_eq!(checked(&plain), Ok(()));
        let wide = [b"\x00-1 60000\n".to_vec(), b"a\x001 0\n01234567890123456789".repeat(60_000)].concat();
        assert_eq!(checked(&index(&[], &[(b"TREE", wide)])), Ok(()));
        assert_eq!(checked(&index(&[b"a".to_vec()], &[(b"TREE", trees(200_000))])), Err(Reason::TooLarge));
        let cache = [vec![0u8; 1 + 76 + 40], b".gitignore\0\x01".to_vec(), b"\x00\x01d\0".repeat(200_000)].concat();
        assert_eq!(checked(&index(&[b"a".to_vec()], &[(b"UNTR", cache)])), Err(Reason::TooLarge));
    }

    #[test]
    fn long_paths_are_refused_also_where_they_grow_from_one_to_the_next() {
        assert_eq!(checked(&index(&[b"a/".repeat(2000)], &[])), Ok(()));
        assert_eq!(checked(&index(&[b"a/".repeat(30_000)], &[])), Err(Reason::TooLarge));
        let mut growing = [b"DIRC".as_slice(), &4u32.to_be_bytes(), &9u32.to_be_bytes()].concat();
        for _ in 0..9 {
            growing.extend([0; 63]);
            growing.extend([b'x'; 500]);
            growing.push(0);
        }
        growing.extend([0; 20]);
        assert_eq!(checked(&growing), Err(Reason::TooLarge));
    }

    #[test]
    fn a_shared_index_is_checked_and_leads_no_further() {
        let temp = tempfile::tempdir().expect("a writable temporary directory");
        let path = temp.path().join("index");
        fs::write(&path, index(&[], &[(b"link", vec![0x11; 20])])).expect("writable");
        let shared = temp.path().join(format!("sharedindex.{}", "11".repeat(20)));
        for (bytes, reason) in [
            (index(&[], &[(b"link", vec![0x11; 20])]), Reason::Corrupt),
            (index(&[b"a/".repeat(30_000)], &[]), Reason::TooLarge),
        ] {
            fs::write(&shared, bytes).expect("writable");
            assert_eq!(check(temp.path(), &path, HASH).expect_err("refused").reason, reason);
        }
        fs::write(&shared, index(&[b"a".to_vec()], &[])).expect("writable");
        assert!(check(temp.path(), &path, HASH).is_ok());
    }
}
