//! The fields of a commit, read as forgivingly as Git does: a bad author hides neither the commit nor its parents.
//! Trust: every byte is the repository's; what does not parse is absent.

use gix::{
    ObjectId,
    bstr::{BStr, ByteSlice as _},
};

/// A commit as it is stored.
#[derive(Debug, Default)]
pub(crate) struct Commit<'a> {
    /// Its tree; always there in a commit that was parsed.
    pub(crate) tree: Option<ObjectId>,
    /// Parents, in order.
    pub(crate) parents: Vec<ObjectId>,
    author: &'a [u8],
    committer: &'a [u8],
    /// The encoding that the header names.
    pub(crate) encoding: Option<&'a [u8]>,
    /// A signature is there.
    pub(crate) signed: bool,
    /// Everything after the header.
    pub(crate) message: &'a BStr,
}

impl<'a> Commit<'a> {
    /// Reads the commit in `data`; `None` where it does not begin with a tree.
    pub(crate) fn parse(data: &'a [u8]) -> Option<Self> {
        let (tree, mut rest) = line(data);
        let mut commit = Self { tree: Some(id(tree.strip_prefix(b"tree ")?)?), ..Self::default() };
        while let Some(parent) = line(rest).0.strip_prefix(b"parent ") {
            commit.parents.push(id(parent)?);
            rest = line(rest).1;
        }
        while !rest.is_empty() {
            let (field, after) = line(rest);
            rest = after;
            if field.is_empty() {
                break;
            } else if let Some(author) = field.strip_prefix(b"author ").filter(|_| commit.author.is_empty()) {
                commit.author = author;
            } else if let Some(committer) = field.strip_prefix(b"committer ").filter(|_| commit.committer.is_empty()) {
                commit.committer = committer;
            } else if let Some(name) = field.strip_prefix(b"encoding ") {
                commit.encoding = Some(name);
            } else if field.starts_with(b"gpgsig ") || field.starts_with(b"gpgsig-sha256 ") {
                commit.signed = true;
            }
        }
        commit.message = rest.as_bstr();
        Some(commit)
    }

    /// Who wrote it, if that can be read.
    pub(crate) fn author(&self) -> Option<gix::actor::SignatureRef<'a>> {
        gix::actor::SignatureRef::from_bytes(self.author).ok()
    }

    /// Who committed it, if that can be read.
    pub(crate) fn committer(&self) -> Option<gix::actor::SignatureRef<'a>> {
        gix::actor::SignatureRef::from_bytes(self.committer).ok()
    }

    /// Name and mail of the author as they are stored, without the time: what `git log --author` matches.
    pub(crate) fn author_ident(&self) -> &'a [u8] {
        let end = self.author.iter().rposition(|&byte| byte == b'>').map_or(self.author.len(), |at| at + 1);
        &self.author[..end]
    }

    /// Seconds of the committer's time; zero where there are none, as in Git (`parse_commit_date`).
    pub(crate) fn time(&self) -> i64 {
        let after = self.committer.rsplit(|&byte| byte == b'>').next().filter(|after| *after != self.committer);
        let digits = after.unwrap_or_default().trim_ascii_start();
        let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
        let digits = std::str::from_utf8(&digits[..end]).unwrap_or_default();
        if digits.is_empty() { 0 } else { digits.parse().unwrap_or(i64::MAX) }
    }
}

fn line(data: &[u8]) -> (&[u8], &[u8]) {
    match data.iter().position(|&byte| byte == b'\n') {
        Some(at) => (&data[..at], &data[at + 1..]),
        None => (data, &[]),
    }
}

fn id(hex: &[u8]) -> Option<ObjectId> {
    ObjectId::from_hex(hex).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_author_or_committer_leaves_the_rest_readable() {
        let hex = "1".repeat(40);
        for (who, time) in [
            ("a <a@b> 1700000000 +0000", 1_700_000_000),
            ("a <a@b> 17 NaN", 17),
            ("a <a@b>", 0),
            ("nobody 1700000000 +0000", 0),
            ("a <a@b> -1 +0000", 0),
            ("a <a@b> 99999999999999999999 +0000", i64::MAX),
            ("", 0),
        ] {
            let text = format!("tree {hex}\nparent {hex}\nauthor {who}\ncommitter {who}\nencoding x\n\nsubject\n");
            let commit = Commit::parse(text.as_bytes()).expect("a commit");
            assert_eq!(
                (commit.parents.len(), commit.time(), commit.message),
                (1, time, b"subject\n".as_bstr()),
                "{who}"
            );
            assert_eq!(commit.encoding, Some(&b"x"[..]));
        }
        let none = format!("tree {hex}\n\nsubject\n");
        assert_eq!(Commit::parse(none.as_bytes()).expect("a commit").message, "subject\n");
        assert!(Commit::parse(b"tree x\n\nm").is_none());
    }
}
