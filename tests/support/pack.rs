//! Packs and their indexes, written byte by byte: no tool ever looks at what is in them.
//! Trust: test code; sizes, offsets and names are whatever the caller says.

use super::objects::{deflate, hex, id_of, sha1, unhex};
use flate2::Crc;
use std::{fs, path::Path};

/// Type numbers of Git's pack format.
const OFS_DELTA: u8 = 6;
const REF_DELTA: u8 = 7;

/// A pack under construction.
#[derive(Debug)]
pub struct Pack {
    bytes: Vec<u8>,
    objects: Vec<Object>,
}

#[derive(Debug)]
struct Object {
    name: [u8; 20],
    crc: u32,
    offset: u32,
}

impl Pack {
    /// An empty pack.
    pub fn new() -> Self {
        Self { bytes: b"PACK\0\0\0\x02\0\0\0\0".to_vec(), objects: Vec::new() }
    }

    /// Where the next object begins.
    pub fn position(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Adds a whole object; its id and offset.
    pub fn add(&mut self, kind: &str, body: &[u8]) -> (String, usize) {
        let number = match kind {
            "commit" => 1,
            "tree" => 2,
            "blob" => 3,
            _ => panic!("not a kind that the tests need: {kind}"),
        };
        let id = id_of(kind, body);
        (id.clone(), self.entry(&id, number, body.len(), &[], body))
    }

    /// Adds a delta against the object at `base`, which may lie anywhere, under any name.
    pub fn offset_delta(&mut self, name: &str, base: isize, delta: &[u8]) -> usize {
        let distance = usize::try_from(isize::try_from(self.position()).expect("small") - base).expect("not negative");
        self.entry(name, OFS_DELTA, delta.len(), &offset(distance), delta)
    }

    /// Adds a delta against an object by name, under any name.
    pub fn named_delta(&mut self, name: &str, base: &str, delta: &[u8]) -> usize {
        self.entry(name, REF_DELTA, delta.len(), &unhex(base), delta)
    }

    fn entry(&mut self, name: &str, kind: u8, size: usize, base: &[u8], body: &[u8]) -> usize {
        let at = self.position();
        let raw = [&header(kind, size)[..], base, &deflate(body)].concat();
        let mut crc = Crc::new();
        crc.update(&raw);
        let offset = u32::try_from(at).expect("the tests' packs are small");
        self.objects.push(Object { name: unhex(name), crc: crc.sum(), offset });
        self.bytes.extend_from_slice(&raw);
        at
    }

    /// Writes pack and index (version 2) into the repository.
    pub fn write(mut self, git_dir: &Path) {
        let count = u32::try_from(self.objects.len()).expect("the tests' packs are small");
        self.bytes[8..12].copy_from_slice(&count.to_be_bytes());
        let trailer = sha1(&self.bytes);
        self.bytes.extend_from_slice(&trailer);
        self.objects.sort_by_key(|object| object.name);
        let mut index = b"\xfftOc\0\0\0\x02".to_vec();
        let mut below = 0;
        for first in 0..=u8::MAX {
            below += u32::try_from(self.objects.iter().filter(|o| o.name[0] == first).count()).expect("small");
            index.extend_from_slice(&below.to_be_bytes());
        }
        index.extend(self.objects.iter().flat_map(|object| object.name));
        index.extend(self.objects.iter().flat_map(|object| object.crc.to_be_bytes()));
        index.extend(self.objects.iter().flat_map(|object| object.offset.to_be_bytes()));
        index.extend_from_slice(&trailer);
        let index_trailer = sha1(&index);
        index.extend_from_slice(&index_trailer);
        let directory = git_dir.join("objects/pack");
        fs::create_dir_all(&directory).expect("the place is ours");
        let name = hex(&trailer);
        fs::write(directory.join(format!("pack-{name}.pack")), &self.bytes).expect("the place is ours");
        fs::write(directory.join(format!("pack-{name}.idx")), index).expect("the place is ours");
    }
}

/// A delta that makes `copies` copies of its base of `size` bytes.
pub fn copies(size: usize, copies: usize) -> Vec<u8> {
    /// The most that one copy instruction takes.
    const MOST: usize = 0xff_ffff;
    let mut delta = [leb(size), leb(size * copies)].concat();
    for _ in 0..copies {
        let mut at = 0;
        while at < size {
            let length = (size - at).min(MOST);
            delta.extend(copy(at, length));
            at += length;
        }
    }
    delta
}

fn copy(offset: usize, length: usize) -> Vec<u8> {
    let mut op = 0x80;
    let mut bytes = vec![op];
    for (bit, byte) in offset.to_le_bytes().iter().take(4).enumerate().filter(|(_, byte)| **byte != 0) {
        op |= 1 << bit;
        bytes.push(*byte);
    }
    for (bit, byte) in length.to_le_bytes().iter().take(3).enumerate().filter(|(_, byte)| **byte != 0) {
        op |= 0x10 << bit;
        bytes.push(*byte);
    }
    bytes[0] = op;
    bytes
}

fn header(kind: u8, mut size: usize) -> Vec<u8> {
    let low = |size: usize, mask: u8| size.to_le_bytes()[0] & mask;
    let mut byte = (kind << 4) | low(size, 15);
    size >>= 4;
    let mut bytes = Vec::new();
    while size > 0 {
        bytes.push(byte | 0x80);
        byte = low(size, 0x7f);
        size >>= 7;
    }
    bytes.push(byte);
    bytes
}

fn leb(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = number.to_le_bytes()[0] & 0x7f;
        number >>= 7;
        if number == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

fn offset(mut distance: usize) -> Vec<u8> {
    let mut bytes = vec![distance.to_le_bytes()[0] & 0x7f];
    distance >>= 7;
    while distance > 0 {
        distance -= 1;
        bytes.insert(0, 0x80 | (distance.to_le_bytes()[0] & 0x7f));
        distance >>= 7;
    }
    bytes
}
