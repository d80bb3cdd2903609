//! What comparing contents has shown, for files whose stat data in the index cannot say it.
//! Trust: paths, stats and ids are the repository's; who does not know this process's keys cannot make two of them alike.

use super::disk::Stat;
use crate::settings::Settings;
use gix::{
    ObjectId,
    filter::plumbing::eol::{AutoCrlf, Mode as Eol},
    index::entry::Mode,
};
use std::{
    collections::HashSet,
    hash::{BuildHasher as _, RandomState},
};

/// Verdicts of one generation at most. Two generations of a set that holds so many take 9 MiB.
const MAX_KEPT: usize = 229_000;

/// Without these, each status of a restored checkout, a bind mount or a clone made within one second hashes every file again,
/// since the index is never written. Invalidated by any change of path, stat, id, mode, attributes or settings, all of which are
/// part of the key. The change time always is, whatever `core.trustctime` says, since contents cannot change without it.
///
/// A verdict is 128 bits: a keyed hash of all that, its last bit replaced by the verdict.
#[derive(Debug, Default)]
pub struct Verdicts {
    keys: (RandomState, RandomState),
    young: HashSet<u128, Unhashed>,
    old: HashSet<u128, Unhashed>,
}

/// What a verdict is about.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The path, which decides about conversions.
    pub path: &'a [u8],
    /// The file.
    pub stat: &'a Stat,
    /// The blob.
    pub id: ObjectId,
    /// Kind of the entry.
    pub mode: Mode,
    /// Digest of the attributes.
    pub attributes: u64,
    /// `core.autocrlf` and `core.eol`.
    pub settings: &'a Settings,
}

impl Verdicts {
    /// Keys for digests that end up in a question.
    #[must_use]
    pub fn keys(&self) -> RandomState {
        self.keys.0.clone()
    }

    /// Whether the contents were found the same, if they were compared before.
    #[must_use]
    pub fn get(&self, question: &Question<'_>) -> Option<bool> {
        let key = self.key(question);
        let known = |key: u128| self.young.contains(&key) || self.old.contains(&key);
        if known(key | 1) { Some(true) } else { known(key).then_some(false) }
    }

    /// Keeps a verdict that was reached after `before`, in seconds.
    pub fn keep(&mut self, question: &Question<'_>, same: bool, before: i64) {
        // seen too soon after its last change, a file may change once more within the clock's grain
        if !question.stat.is_settled(before) {
            return;
        }
        if self.young.len() >= MAX_KEPT {
            self.old = std::mem::take(&mut self.young);
        }
        let key = self.key(question);
        self.young.insert(key | u128::from(same));
    }

    fn key(&self, question: &Question<'_>) -> u128 {
        let Question { path, stat, id, mode, attributes, settings } = question;
        let crlf = match settings.eol.auto_crlf {
            AutoCrlf::Disabled => 0u8,
            AutoCrlf::Input => 1,
            AutoCrlf::Enabled => 2,
        };
        let eol = match settings.eol.eol {
            None => 0u8,
            Some(Eol::Lf) => 1,
            Some(Eol::CrLf) => 2,
        };
        let all = (path, stat, id.as_slice(), mode.bits(), attributes, crlf, eol);
        (u128::from(self.keys.0.hash_one(all)) << 64 | u128::from(self.keys.1.hash_one(all))) & !1
    }
}

/// Keys are evenly spread already.
#[derive(Debug, Default, Clone, Copy)]
struct Unhashed;

impl std::hash::BuildHasher for Unhashed {
    type Hasher = Low;

    fn build_hasher(&self) -> Low {
        Low(0)
    }
}

#[derive(Debug)]
struct Low(u64);

impl std::hash::Hasher for Low {
    fn write(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..piece.len()].copy_from_slice(piece);
            self.0 ^= u64::from_ne_bytes(word);
        }
    }

    fn write_u128(&mut self, key: u128) {
        // the verdict's bit is in the lower half
        self.0 = (key >> 64) as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{operator_config::OperatorConfig, worktree::disk::Kind};

    fn stat(ctime: i64) -> Stat {
        Stat {
            kind: Kind::File,
            executable: false,
            size: 3,
            mtime: (5, 6),
            ctime: (ctime, 8),
            ino: 1,
            dev: 2,
            uid: 3,
            gid: 4,
        }
    }

    #[test]
    fn any_change_of_what_is_asked_invalidates() {
        let settings = Settings::resolve(&gix::config::File::default(), &OperatorConfig::default());
        let mut other = settings;
        other.eol.auto_crlf = AutoCrlf::Input;
        let id = ObjectId::empty_blob(gix::hash::Kind::Sha1);
        let (now, later) = (stat(7), stat(8));
        let question = Question { path: b"a", stat: &now, id, mode: Mode::FILE, attributes: 9, settings: &settings };
        let mut verdicts = Verdicts::default();
        assert_eq!(verdicts.get(&question), None);
        verdicts.keep(&question, true, 100);
        assert_eq!(verdicts.get(&question), Some(true));
        for changed in [
            Question { path: b"b", ..question },
            Question { stat: &later, ..question },
            Question { id: ObjectId::empty_tree(gix::hash::Kind::Sha1), ..question },
            Question { mode: Mode::SYMLINK, ..question },
            Question { attributes: 10, ..question },
            Question { settings: &other, ..question },
        ] {
            assert_eq!(verdicts.get(&changed), None, "{changed:?}");
        }
        let other = Question { path: b"other", ..question };
        verdicts.keep(&other, false, 100);
        assert_eq!((verdicts.get(&other), verdicts.get(&question)), (Some(false), Some(true)));
    }

    #[test]
    fn what_changed_just_now_is_not_kept_and_memory_is_bounded() {
        let settings = Settings::resolve(&gix::config::File::default(), &OperatorConfig::default());
        let id = ObjectId::empty_blob(gix::hash::Kind::Sha1);
        let mut verdicts = Verdicts::default();
        let stat = stat(7);
        let question = Question { path: b"a", stat: &stat, id, mode: Mode::FILE, attributes: 0, settings: &settings };
        verdicts.keep(&question, true, 8);
        assert_eq!(verdicts.get(&question), None);
        for attributes in 0..3 * MAX_KEPT as u64 {
            verdicts.keep(&Question { attributes, ..question }, true, 100);
        }
        let bytes = (verdicts.young.capacity() + verdicts.old.capacity()) * 8 / 7 * (size_of::<u128>() + 1);
        assert!(bytes <= crate::repo::VERDICT_BYTES, "{bytes}");
        assert_eq!(verdicts.get(&Question { attributes: 3 * MAX_KEPT as u64 - 1, ..question }), Some(true));
        assert_eq!(verdicts.get(&question), None, "the oldest went");
    }
}
