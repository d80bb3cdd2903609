//! Index files of version 2 with any entries, any count, any extension and any end.
//! Trust: test code.

use super::objects::{EMPTY_BLOB, sha1, unhex};
use std::{fs, path::Path};

/// An index under construction.
#[derive(Debug, Default)]
pub struct Index {
    entries: Vec<Vec<u8>>,
    count: Option<u32>,
    extensions: Vec<u8>,
    cut: usize,
}

impl Index {
    /// Adds an entry for an empty regular file.
    pub fn entry(mut self, path: &[u8]) -> Self {
        let mut bytes = [0u32, 0, 0, 0, 0, 0, 0o100_644, 0, 0, 0].map(u32::to_be_bytes).concat();
        bytes.extend_from_slice(&unhex(EMPTY_BLOB));
        let length = u16::try_from(path.len().min(0xfff)).expect("just bounded");
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(path);
        bytes.resize((bytes.len() / 8 + 1) * 8, 0);
        self.entries.push(bytes);
        self
    }

    /// Claims another number of entries.
    pub fn count(mut self, count: u32) -> Self {
        self.count = Some(count);
        self
    }

    /// Adds an extension whose header claims `size` bytes.
    pub fn extension(mut self, name: &[u8; 4], size: u32, bytes: &[u8]) -> Self {
        self.extensions.extend_from_slice(name);
        self.extensions.extend_from_slice(&size.to_be_bytes());
        self.extensions.extend_from_slice(bytes);
        self
    }

    /// Leaves out that many bytes at the end.
    pub fn cut(mut self, bytes: usize) -> Self {
        self.cut = bytes;
        self
    }

    /// Writes it.
    pub fn write(self, git_dir: &Path) {
        let count = self.count.unwrap_or_else(|| u32::try_from(self.entries.len()).expect("a handful"));
        let mut bytes =
            [b"DIRC\0\0\0\x02", &count.to_be_bytes()[..], &self.entries.concat(), &self.extensions].concat();
        let trailer = sha1(&bytes);
        bytes.extend_from_slice(&trailer);
        bytes.truncate(bytes.len() - self.cut);
        fs::write(git_dir.join("index"), bytes).expect("the place is ours");
    }
}
