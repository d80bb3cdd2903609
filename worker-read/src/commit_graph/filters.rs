//! Changed-path Bloom filters of the commit-graph: which commits certainly leave a path as their first parent has it.
//! Trust: the file is the repository's: every offset is checked, and a filter that lies costs what it would cost Git.

use super::murmur3::{Bytes, murmur3};
use crate::{files::NoContents, open_beneath};
use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::Path,
};

/// Bytes of the filters of one layer that are held in memory; larger ones are read one by one.
const HELD: u64 = 8 << 20;
/// Hashes of one path at most; Git writes 7.
const MAX_HASHES: u32 = 32;
/// Layers of a chain at most, as in Git's own limit of a byte.
const MAX_LAYERS: usize = 255;
/// Bytes of `commit-graph-chain` at most.
const MAX_CHAIN: u64 = 64 << 10;
/// Bytes of one filter at most; Git writes none above 640.
const MAX_FILTER: usize = 64 << 10;

/// The filters of all layers of a commit-graph, base first.
#[derive(Debug)]
pub(crate) struct Filters {
    layers: Vec<Layer>,
}

#[derive(Debug)]
struct Layer {
    commits: u32,
    data: Option<Data>,
}

#[derive(Debug)]
struct Data {
    bytes: Bytes,
    hashes: u32,
    index: Chunk,
    filters: Chunk,
}

/// What is asked of filters: a path and all directories above it, hashed.
#[derive(Debug)]
pub(crate) struct Keys {
    signed: Vec<[u32; 2]>,
    unsigned: Vec<[u32; 2]>,
}

impl Keys {
    /// Of `path`, which is relative to the top and has no empty component; `None` for the top itself.
    pub(crate) fn of(path: &[u8]) -> Option<Self> {
        if path.is_empty() {
            return None;
        }
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at).chain([path.len()]);
        let ends: Vec<usize> = ends.collect();
        let hashed = |bytes| {
            let both = |end: &usize| [0x293a_e76f, 0x7e64_6e2c].map(|seed| murmur3(seed, &path[..*end], bytes));
            ends.iter().map(both).collect()
        };
        Some(Self { signed: hashed(Bytes::Signed), unsigned: hashed(Bytes::Unsigned) })
    }
}

impl Filters {
    /// Those of the commit-graph in the directory `objects`, which has `commits` commits in all. `version` is the value
    /// of `commitGraph.changedPathsVersion`. `None` where there are none that may be used.
    pub(crate) fn read(objects: &Path, hash_len: usize, commits: u32, version: i64) -> Option<Self> {
        if !matches!(version, -1 | 1 | 2) {
            return None;
        }
        let layers = match open_beneath::open(objects, b"info/commit-graph") {
            Ok(file) => vec![Layer::read(file, hash_len, version)?],
            Err(NoContents::Absent) => chain(objects, hash_len, version)?,
            Err(_) => return None,
        };
        // positions are counted through all layers: they must be the very layers that the walk uses
        let total = layers.iter().try_fold(0u32, |sum, layer| sum.checked_add(layer.commits))?;
        (total == commits && layers.iter().any(|layer| layer.data.is_some())).then_some(Self { layers })
    }

    /// False where the commit at `position` certainly leaves the path as its first parent has it; `None` where there is
    /// no filter for it.
    pub(crate) fn may_change(&self, position: u32, keys: &Keys) -> Option<bool> {
        let mut position = position;
        for layer in &self.layers {
            if position >= layer.commits {
                position -= layer.commits;
                continue;
            }
            return layer.data.as_ref()?.may_change(position, keys);
        }
        None
    }
}

fn chain(objects: &Path, hash_len: usize, version: i64) -> Option<Vec<Layer>> {
    let text = open_beneath::read(objects, b"info/commit-graphs/commit-graph-chain", MAX_CHAIN).ok()?;
    let names = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).filter(|name| !name.is_empty());
    let mut layers = Vec::new();
    for name in names {
        if layers.len() >= MAX_LAYERS || !name.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        let path = [b"info/commit-graphs/graph-", name, b".graph"].concat();
        layers.push(Layer::read(open_beneath::open(objects, &path).ok()?, hash_len, version)?);
    }
    Some(layers)
}

impl Layer {
    /// The layer in `file`; `None` where it is no commit-graph of this repository's kind.
    fn read(mut file: File, hash_len: usize, version: i64) -> Option<Self> {
        let meta = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let length = meta.len();
        let mut header = [0; 8];
        file.read_exact(&mut header).ok()?;
        let hash_version = if hash_len == 32 { 2 } else { 1 };
        if header[..4] != *b"CGPH" || header[4] != 1 || header[5] != hash_version {
            return None;
        }
        let mut table = vec![0; (usize::from(header[6]) + 1) * 12];
        file.read_exact(&mut table).ok()?;
        let chunk = |name: &[u8; 4]| {
            let row = table.chunks_exact(12).position(|row| row[..4] == *name)?;
            let offset =
                |row: usize| Some(u64::from_be_bytes(table.get(row * 12 + 4..row * 12 + 12)?.try_into().ok()?));
            let (start, end) = (offset(row)?, offset(row + 1)?);
            (start <= end && end <= length).then(|| (start, end - start))
        };
        let (fanout, fanout_length) = chunk(b"OIDF")?;
        if fanout_length != 256 * 4 {
            return None;
        }
        let mut last = [0; 4];
        file.seek(SeekFrom::Start(fanout + 255 * 4)).ok()?;
        file.read_exact(&mut last).ok()?;
        let commits = u32::from_be_bytes(last);
        let data = chunk(b"BIDX")
            .zip(chunk(b"BDAT"))
            .and_then(|(index, filters)| Data::read(file, index, filters, commits, version));
        Some(Self { commits, data })
    }
}

impl Data {
    fn read(mut file: File, index: (u64, u64), filters: (u64, u64), commits: u32, version: i64) -> Option<Self> {
        const HEADER: u64 = 12;
        if index.1 != u64::from(commits) * 4 || filters.1 < HEADER {
            return None;
        }
        let mut header = [0; HEADER as usize];
        file.seek(SeekFrom::Start(filters.0)).ok()?;
        file.read_exact(&mut header).ok()?;
        let number = |at: usize| header.get(at..at + 4).and_then(|n| n.try_into().ok()).map(u32::from_be_bytes);
        let (written, hashes) = (number(0)?, number(4)?);
        let bytes = match written {
            1 => Bytes::Signed,
            2 => Bytes::Unsigned,
            _ => return None,
        };
        if (version != -1 && version != i64::from(written)) || hashes == 0 || hashes > MAX_HASHES {
            return None;
        }
        let filters = (filters.0 + HEADER, filters.1 - HEADER);
        let held = index.1 + filters.1 <= HELD;
        let index = Chunk::read(&mut file, index, held)?;
        let filters = Chunk::read(&mut file, filters, held)?;
        Some(Self { bytes, hashes, index, filters })
    }

    fn may_change(&self, position: u32, keys: &Keys) -> Option<bool> {
        let at = u64::from(position) * 4;
        let mut ends = [0; 8];
        let ends = if position == 0 { &mut ends[4..] } else { &mut ends[..] };
        self.index.copy(if position == 0 { 0 } else { at - 4 }, ends)?;
        let mut ends = ends.rchunks_exact(4).map(|n| n.try_into().map_or(0, u32::from_be_bytes));
        let (end, start) = (ends.next()?, ends.next().unwrap_or(0));
        // an empty filter was not computed
        let length = end.checked_sub(start).filter(|length| *length > 0)? as usize;
        if length > MAX_FILTER {
            return None;
        }
        match &self.filters {
            Chunk::Held(all) => Some(self.holds(all.get(start as usize..)?.get(..length)?, keys)),
            on_disk @ Chunk::OnDisk { .. } => {
                let mut filter = vec![0; length];
                on_disk.copy(u64::from(start), &mut filter)?;
                Some(self.holds(&filter, keys))
            }
        }
    }

    fn holds(&self, filter: &[u8], keys: &Keys) -> bool {
        let bits = filter.len() as u64 * 8;
        let keys = if self.bytes == Bytes::Signed { &keys.signed } else { &keys.unsigned };
        keys.iter().all(|[first, second]| {
            (0..self.hashes).all(|n| {
                let bit = u64::from(first.wrapping_add(n.wrapping_mul(*second))) % bits;
                filter.get((bit / 8) as usize).is_some_and(|byte| byte & (1 << (bit % 8)) != 0)
            })
        })
    }
}

/// Bytes of the file.
#[derive(Debug)]
enum Chunk {
    Held(Vec<u8>),
    OnDisk {
        #[cfg_attr(not(unix), allow(dead_code, reason = "only read where reads have a position"))]
        file: File,
        start: u64,
        length: u64,
    },
}

impl Chunk {
    fn read(file: &mut File, (start, length): (u64, u64), held: bool) -> Option<Self> {
        if !held {
            return Some(Chunk::OnDisk { file: file.try_clone().ok()?, start, length });
        }
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        file.seek(SeekFrom::Start(start)).ok()?;
        file.read_exact(&mut bytes).ok()?;
        Some(Chunk::Held(bytes))
    }

    fn copy(&self, at: u64, into: &mut [u8]) -> Option<()> {
        match self {
            Chunk::Held(bytes) => {
                let at = usize::try_from(at).ok()?;
                into.copy_from_slice(bytes.get(at..)?.get(..into.len())?);
                Some(())
            }
            Chunk::OnDisk { file, start, length } => {
                let end = at.checked_add(into.len() as u64)?;
                if end > *length { None } else { read_at(file, into, start + at).ok() }
            }
        }
    }
}

#[cfg(unix)]
fn read_at(file: &File, into: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, into, at)
}

#[cfg(not(unix))]
fn read_at(_file: &File, _into: &mut [u8], _at: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A commit-graph of two commits, of which the first has a filter of `filter` and the second none.
    fn graph(filter: &[u8], version: u32) -> Vec<u8> {
        let chunks: [(&[u8; 4], Vec<u8>); 3] = [
            (b"OIDF", [2u32.to_be_bytes(); 256].concat()),
            (b"BIDX", [filter.len() as u32; 2].map(u32::to_be_bytes).concat()),
            (b"BDAT", [&[version, 7, 10].map(u32::to_be_bytes).concat(), filter].concat()),
        ];
        let mut out = [&b"CGPH"[..], &[1, 1, 3, 0]].concat();
        let mut at = 8 + 4 * 12;
        for (name, bytes) in &chunks {
            out.extend_from_slice(*name);
            out.extend((at as u64).to_be_bytes());
            at += bytes.len();
        }
        out.extend([0; 4]);
        out.extend((at as u64).to_be_bytes());
        chunks.iter().for_each(|(_, bytes)| out.extend(bytes));
        out
    }

    fn written(bytes: &[u8], version: i64) -> Option<Filters> {
        let dir = tempfile::tempdir().expect("a writable temporary directory");
        std::fs::create_dir(dir.path().join("info")).expect("writable");
        std::fs::write(dir.path().join("info/commit-graph"), bytes).expect("writable");
        Filters::read(dir.path(), 20, 2, version)
    }

    #[test]
    fn a_filter_says_no_and_maybe() {
        let keys = Keys::of(b"a/b").expect("a path");
        let no = written(&graph(&[0], 1), -1).expect("filters");
        assert_eq!(no.may_change(0, &keys), Some(false));
        assert_eq!(no.may_change(1, &keys), None, "not computed");
        assert_eq!(no.may_change(2, &keys), None, "not there");
        let maybe = written(&graph(&[0xff], 2), 2).expect("filters");
        assert_eq!(maybe.may_change(0, &keys), Some(true));
        assert!(written(&graph(&[0xff], 2), 1).is_none(), "another version than the configured one");
        assert!(written(&graph(&[0xff], 1), 0).is_none(), "switched off");
        assert!(Keys::of(b"").is_none());
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let keys = Keys::of(b"a/b/c").expect("a path");
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed
        };
        let whole = graph(&[0x5a; 40], 1);
        for _ in 0..3_000 {
            let mut bytes = whole.clone();
            for _ in 0..=random() % 4 {
                // the fan-out is long and dull
                let at = (random() as usize) % 1_200;
                let at = if at < 600 { at % 56 } else { 1_080 + at % (whole.len() - 1_080) };
                bytes[at] = match random() % 4 {
                    0 => 0,
                    1 => 0xff,
                    _ => random() as u8,
                };
            }
            if random() % 3 == 0 {
                bytes.truncate(random() as usize % (bytes.len() + 1));
            }
            if let Some(filters) = written(&bytes, -1) {
                for position in 0..4 {
                    let _ = filters.may_change(position, &keys);
                }
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn filters_on_disk_say_the_same_as_held_ones() {
        let dir = tempfile::tempdir().expect("a writable temporary directory");
        let path = dir.path().join("f");
        std::fs::write(&path, b"0123456789").expect("writable");
        let mut file = File::open(&path).expect("there");
        for held in [true, false] {
            let chunk = Chunk::read(&mut file, (2, 6), held).expect("within the file");
            let mut two = [0; 2];
            assert_eq!(chunk.copy(4, &mut two), Some(()));
            assert_eq!(two, *b"67");
            assert_eq!(chunk.copy(5, &mut two), None);
            assert_eq!(chunk.copy(u64::MAX, &mut two), None);
        }
    }
}
