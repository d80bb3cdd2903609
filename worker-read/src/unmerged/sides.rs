//! The sides of an unmerged path: what is in each stage, cut to what the caller wants to see.
//! Trust: contents are the repository's; a size is read before a body, and a commit of a submodule is never looked up.

use crate::{diff::contents::is_binary, repo::Repo};
use bulkhead_contract::results::ConflictSide;
use gix::{ObjectId, objs::FindExt as _};

/// Bytes of a blob that is read at all.
const MAX_READ: u64 = 64 << 20;

/// One stage of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stage {
    pub(crate) id: ObjectId,
    pub(crate) mode: u32,
}

/// An unmerged path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) path: Vec<u8>,
    /// Base, ours, theirs.
    pub(crate) stages: [Option<Stage>; 3],
}

/// What is in `stage`, at most `most` bytes of it.
pub(crate) fn side(repo: &Repo, stage: Stage, most: usize) -> ConflictSide {
    let mut side = ConflictSide {
        sha: stage.id.to_string(),
        mode: format!("{:06o}", stage.mode),
        size: None,
        truncated: None,
        content: None,
        lossy: false,
        binary: false,
        submodule: false,
        error: None,
    };
    if stage.mode == 0o160_000 {
        side.submodule = true;
        let line = format!("Subproject commit {}\n", stage.id);
        put(&mut side, line.as_bytes(), most);
        return side;
    }
    let missing = || {
        repo.doubt();
        Some("The object is not in this clone, or is damaged.".to_owned())
    };
    let Ok(header) = repo.git.find_header(stage.id) else {
        side.error = missing();
        return side;
    };
    side.size = Some(header.size());
    if header.size() > MAX_READ {
        side.error = Some(format!("Not read: files of more than {MAX_READ} bytes are not shown."));
        return side;
    }
    let mut buffer = Vec::new();
    match repo.git.objects.find_blob(&stage.id, &mut buffer) {
        Ok(blob) if is_binary(blob.data) => side.binary = true,
        Ok(blob) => put(&mut side, blob.data, most),
        Err(_) => side.error = missing(),
    }
    side
}

fn put(side: &mut ConflictSide, bytes: &[u8], most: usize) {
    let shown = cut(bytes, most);
    side.size = Some(bytes.len() as u64);
    side.truncated = Some(shown.len() < bytes.len());
    side.lossy = std::str::from_utf8(shown).is_err();
    side.content = Some(String::from_utf8_lossy(shown).into_owned());
}

/// The first `most` bytes, or up to three fewer where that would split a character.
pub(crate) fn cut(bytes: &[u8], most: usize) -> &[u8] {
    if bytes.len() <= most {
        return bytes;
    }
    for back in 0..4.min(most + 1) {
        let at = most - back;
        let length = match bytes[at] {
            0x80..=0xbf => continue,
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => 1,
        };
        // only a character that really goes on past the cut is left out
        let whole = bytes.get(at..at + length).is_some_and(|one| std::str::from_utf8(one).is_ok());
        return if back > 0 && !(whole && at + length > most) { &bytes[..most] } else { &bytes[..at] };
    }
    &bytes[..most]
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn a_cut_splits_no_character() {
        let text = "aé€😀z".as_bytes();
        for most in 0..=text.len() {
            let shown = cut(text, most);
            assert!(std::str::from_utf8(shown).is_ok(), "{most}");
            assert!(shown.len() <= most && shown.len() + 4 > most.min(text.len()), "{most}");
        }
        assert_eq!(cut(b"\xff\xff\xff\xff", 2), b"\xff\xff", "what is no text is cut where asked");
        assert_eq!(cut(b"\x80\x80\x80\x80\x80\x80", 5).len(), 5);
        assert_eq!(cut(b"a\xe2\x82", 2), b"a\xe2", "nothing whole was split");
    }
}
