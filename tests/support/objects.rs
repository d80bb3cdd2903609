//! Loose objects and refs, written byte by byte so that they can be wrong in chosen ways.
//! Trust: test code; nothing is checked here, that is the point.

use flate2::{Compression, write::ZlibEncoder};
use sha1::{Digest as _, Sha1};
use std::{fs, io::Write as _, path::Path};

/// The tree without entries.
pub const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
/// The blob without bytes.
pub const EMPTY_BLOB: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

/// SHA-1 of some bytes.
pub fn sha1(bytes: &[u8]) -> [u8; 20] {
    Sha1::digest(bytes).into()
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of an object id.
pub fn unhex(id: &str) -> [u8; 20] {
    let byte = |at: usize| u8::from_str_radix(&id[at * 2..at * 2 + 2], 16).expect("an object id");
    std::array::from_fn(byte)
}

/// A zlib stream.
pub fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory does not fail")
}

/// A zlib stream of `head` and then `count` times `piece`, without holding what it inflates to.
pub fn deflate_repeated(head: &[u8], piece: &[u8], count: usize) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(head).expect("memory does not fail");
    for _ in 0..count {
        encoder.write_all(piece).expect("memory does not fail");
    }
    encoder.finish().expect("memory does not fail")
}

/// The header of an object and its body.
pub fn framed(kind: &str, body: &[u8]) -> Vec<u8> {
    [format!("{kind} {}\0", body.len()).as_bytes(), body].concat()
}

/// The id of an object.
pub fn id_of(kind: &str, body: &[u8]) -> String {
    hex(&sha1(&framed(kind, body)))
}

/// Writes an object under its own name.
pub fn put(git_dir: &Path, kind: &str, body: &[u8]) -> String {
    put_as(git_dir, &id_of(kind, body), &deflate(&framed(kind, body)))
}

/// Writes any bytes under any name.
pub fn put_as(git_dir: &Path, id: &str, bytes: &[u8]) -> String {
    let directory = git_dir.join("objects").join(&id[..2]);
    fs::create_dir_all(&directory).expect("the place is ours");
    let path = directory.join(&id[2..]);
    // git writes its own read-only
    let _ = fs::remove_file(&path);
    fs::write(path, bytes).expect("the place is ours");
    id.to_owned()
}

/// One entry of a tree: mode, name, id.
pub type Entry<'a> = (&'a str, &'a [u8], &'a str);

/// The body of a tree with these entries in this order.
pub fn tree(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut body = Vec::new();
    for (mode, name, id) in entries {
        body.extend_from_slice(mode.as_bytes());
        body.push(b' ');
        body.extend_from_slice(name);
        body.push(0);
        body.extend_from_slice(&unhex(id));
    }
    body
}

/// The body of a commit.
pub fn commit(tree: &str, parents: &[&str], message: &[u8]) -> Vec<u8> {
    let mut text = format!("tree {tree}\n");
    for parent in parents {
        text.push_str(&format!("parent {parent}\n"));
    }
    let who = "a <a@example.org> 1700000000 +0000";
    text.push_str(&format!("author {who}\ncommitter {who}\n\n"));
    [text.as_bytes(), message].concat()
}

/// Makes the branch `main` a commit of that tree; the commit.
pub fn set_main(git_dir: &Path, tree: &str) -> String {
    let id = put(git_dir, "commit", &commit(tree, &[], b"made by hand\n"));
    set_ref(git_dir, "refs/heads/main", format!("{id}\n"));
    id
}

/// Writes a loose ref of any name and content.
pub fn set_ref(git_dir: &Path, name: &str, content: impl AsRef<[u8]>) {
    let path = git_dir.join(name);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).expect("the place is ours");
    }
    fs::write(path, content).expect("the place is ours");
}
