//! Whether a tracked file differs from its index entry: by Git's stat rules first, and by contents where those cannot say.
//! Trust: entry and file are the repository's; contents are hashed in pieces, converted by us, and never filtered.

use super::{
    attributes::{Attributes, conversions},
    disk::{Dir, Kind, Stat, now},
    verdicts::{Question, Verdicts},
};
use crate::{
    changes::Letter,
    pace::{Pace, Stopped},
    settings::Settings,
};
use gix::{
    ObjectId,
    bstr::ByteSlice as _,
    filter::plumbing::{Pipeline, pipeline::convert::ToGitOutcome},
    hash::Kind as HashKind,
    index::{Entry, entry::Mode},
    objs::FindExt as _,
};
use std::{
    fs::File,
    hash::RandomState,
    io::{self, Read},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Bytes of a file that is converted in memory before it is hashed at most; a larger one counts as changed.
const MAX_CONVERTED: u64 = 128 << 20;
/// Bytes that are read and hashed at once.
const BUFFER: usize = 64 * 1024;

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// The letter of the worktree column, if the file differs.
    pub letter: Option<Letter>,
    /// A filter applies and was not run; the letter rests on size and times.
    pub filtered: bool,
}

impl Verdict {
    const SAME: Verdict = Verdict { letter: None, filtered: false };

    fn differs(letter: Letter) -> Self {
        Verdict { letter: Some(letter), filtered: false }
    }
}

/// What a stat says without a look at the contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByStat {
    /// Nothing changed since the index was written.
    Same,
    /// It differs in this way.
    Differs(Letter),
    /// It has another length.
    Length,
    /// Only the contents can tell.
    Unknown,
}

/// Compares files with entries of one index.
pub struct Comparison<'a> {
    repo: &'a gix::Repository,
    settings: Settings,
    hash: HashKind,
    pub(super) index_time: (i64, u32),
    pub(super) verdicts: &'a Mutex<Verdicts>,
    keys: Option<RandomState>,
    /// Made for the first file that is converted.
    pipeline: Option<Pipeline>,
    /// Filled for the first file that is read.
    buffer: Vec<u8>,
}

/// One tracked file.
#[derive(Debug, Clone, Copy)]
pub struct Tracked<'a> {
    /// Its directory.
    pub dir: &'a Dir,
    /// Its name in it.
    pub name: &'a [u8],
    /// Its path from the top.
    pub path: &'a [u8],
    /// What the index says.
    pub entry: &'a Entry,
}

impl<'a> Comparison<'a> {
    /// For the index written at `index_time`.
    pub fn new(
        repo: &'a gix::Repository,
        settings: Settings,
        index_time: (i64, u32),
        verdicts: &'a Mutex<Verdicts>,
    ) -> Self {
        let hash = repo.object_hash();
        Self { repo, settings, hash, index_time, verdicts, keys: None, pipeline: None, buffer: Vec::new() }
    }

    /// The verdict on `file`, which is there and is no directory.
    ///
    /// # Errors
    /// The disk's; `Ok(Err(_))` when the time is over.
    pub fn file(
        &mut self,
        file: Tracked<'_>,
        stat: &Stat,
        attributes: &mut Attributes,
        pace: &Pace,
    ) -> io::Result<Result<Verdict, Stopped>> {
        let entry = file.entry;
        let smudged = self.is_smudged(entry);
        match self.by_stat(entry, stat) {
            ByStat::Same => return Ok(Ok(Verdict::SAME)),
            ByStat::Differs(letter) => return Ok(Ok(Verdict::differs(letter))),
            ByStat::Length => {
                let filtered = stat.kind == Kind::File && attributes.filter(file.path).is_some();
                return Ok(Ok(Verdict { letter: Some(Letter::Modified), filtered }));
            }
            ByStat::Unknown => {}
        }
        let (before, settings) = (now(), self.settings);
        let filtered = stat.kind == Kind::File && attributes.filter(file.path).is_some();
        let keys = self.keys.get_or_insert_with(|| verdicts(self.verdicts).keys());
        let attributes_digest = attributes.digest(keys);
        let question = Question {
            path: file.path,
            stat,
            id: entry.id,
            mode: entry.mode,
            attributes: attributes_digest,
            settings: &settings,
        };
        let known = verdicts(self.verdicts).get(&question);
        let same = match known {
            Some(same) => same,
            None => match self.same_contents(file, stat, attributes, pace)? {
                Ok(same) => {
                    verdicts(self.verdicts).keep(&question, same, before);
                    same
                }
                Err(stopped) => return Ok(Err(stopped)),
            },
        };
        if same {
            return Ok(Ok(Verdict::SAME));
        }
        // what the filter would make of it is unknown; times alone decide, and a racy entry has no times to speak of
        let unchanged = filtered && !smudged && self.times_match(entry, stat);
        Ok(Ok(if unchanged { Verdict::SAME } else { Verdict { letter: Some(Letter::Modified), filtered } }))
    }

    /// What the stat of a file that is there and is no directory says about it.
    pub(super) fn by_stat(&self, entry: &Entry, stat: &Stat) -> ByStat {
        let entry_is_link = entry.mode == Mode::SYMLINK;
        match (entry_is_link, stat.kind) {
            (true, Kind::Link) | (false, Kind::File) => {}
            // where links cannot be made, Git writes the target into a file
            (true, Kind::File) if !self.settings.symlinks => {}
            (false, Kind::Special) => return ByStat::Differs(Letter::Modified),
            _ => return ByStat::Differs(Letter::TypeChanged),
        }
        if stat.kind == Kind::File
            && !entry_is_link
            && self.settings.file_mode
            && stat.executable != (entry.mode == Mode::FILE_EXECUTABLE)
        {
            return ByStat::Differs(Letter::Modified);
        }
        if self.is_smudged(entry) {
            return ByStat::Unknown;
        }
        if entry.stat.size != truncated(stat.size) {
            return ByStat::Length;
        }
        if self.times_match(entry, stat) && !self.is_racy(entry) { ByStat::Same } else { ByStat::Unknown }
    }

    /// An entry of size zero that is not empty was written by Git to force a look at the contents.
    fn is_smudged(&self, entry: &Entry) -> bool {
        entry.stat.size == 0 && entry.id != ObjectId::empty_blob(self.hash)
    }

    fn times_match(&self, entry: &Entry, stat: &Stat) -> bool {
        let recorded = &entry.stat;
        let time = |recorded: &gix::index::entry::stat::Time, now: (i64, u32)| {
            // only some writers of an index know nanoseconds
            recorded.secs == truncated_time(now.0) && (recorded.nsecs == 0 || now.1 == 0 || recorded.nsecs == now.1)
        };
        time(&recorded.mtime, stat.mtime)
            && (!self.settings.check_stat
                || ((!self.settings.trust_ctime || time(&recorded.ctime, stat.ctime))
                    && recorded.ino == truncated(stat.ino)
                    && recorded.uid == stat.uid
                    && recorded.gid == stat.gid))
    }

    /// The file may have changed after its stat was taken and before the index was written, within one second.
    fn is_racy(&self, entry: &Entry) -> bool {
        truncated_time(self.index_time.0) <= entry.stat.mtime.secs
    }

    fn same_contents(
        &mut self,
        file: Tracked<'_>,
        stat: &Stat,
        attributes: &mut Attributes,
        pace: &Pace,
    ) -> io::Result<Result<bool, Stopped>> {
        let entry = file.entry;
        if stat.kind == Kind::Link {
            let target = file.dir.link(file.name)?;
            return Ok(Ok(self.hash_of(&target) == Some(entry.id)));
        }
        let open = file.dir.file(file.name)?;
        let meta = open.metadata()?;
        if !meta.is_file() {
            return Ok(Ok(false));
        }
        let plain = entry.mode == Mode::SYMLINK
            || (attributes.is_empty() && self.settings.eol.auto_crlf == gix::filter::plumbing::eol::AutoCrlf::Disabled);
        if plain {
            return stream_matches(&mut self.buffer, self.hash, open, (meta.len(), entry.id), pace);
        }
        if meta.len() > MAX_CONVERTED {
            return Ok(Ok(false));
        }
        let Some(path) = crate::files::bytes_path(file.path) else { return Ok(Ok(false)) };
        let repo = self.repo;
        let mut in_index = |buffer: &mut Vec<u8>| {
            let fits = repo.find_header(entry.id).is_ok_and(|header| header.size() <= MAX_CONVERTED);
            Ok((fits && repo.objects.find_blob(&entry.id, buffer).is_ok()).then_some(()))
        };
        let pipeline = self.pipeline.get_or_insert_with(|| conversions(self.hash, self.settings.eol));
        let converted = pipeline.convert_to_git(
            open.take(MAX_CONVERTED),
            &path,
            &mut |path, out| attributes.find(path, out),
            &mut in_index,
        );
        let hash = self.hash;
        match converted {
            Ok(ToGitOutcome::Unchanged(open)) => {
                stream_matches(&mut self.buffer, hash, open.into_inner(), (meta.len(), entry.id), pace)
            }
            Ok(ToGitOutcome::Buffer(bytes)) => {
                Ok(Ok(gix::objs::compute_hash(hash, gix::objs::Kind::Blob, bytes).ok() == Some(entry.id)))
            }
            // no driver is known, so there is no process; an encoding that fails leaves the file as changed
            Ok(ToGitOutcome::Process(_)) | Err(_) => Ok(Ok(false)),
        }
    }

    fn hash_of(&self, bytes: &[u8]) -> Option<ObjectId> {
        gix::objs::compute_hash(self.hash, gix::objs::Kind::Blob, bytes.as_bytes()).ok()
    }
}

impl std::fmt::Debug for Comparison<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Comparison").field("index_time", &self.index_time).finish_non_exhaustive()
    }
}

/// True where the rest of `open` is the blob `id` of length `len`.
fn stream_matches(
    buffer: &mut Vec<u8>,
    hash: HashKind,
    mut open: File,
    (len, id): (u64, ObjectId),
    pace: &Pace,
) -> io::Result<Result<bool, Stopped>> {
    buffer.resize(BUFFER, 0);
    let mut hasher = gix::hash::hasher(hash);
    hasher.update(format!("blob {len}\0").as_bytes());
    let mut read = 0u64;
    loop {
        let got = match open.read(buffer) {
            Ok(0) => break,
            Ok(got) => got,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        read += got as u64;
        if read > len {
            return Ok(Ok(false));
        }
        hasher.update(&buffer[..got]);
        if read > buffer.len() as u64
            && let Err(stopped) = pace.look()
        {
            return Ok(Err(stopped));
        }
    }
    Ok(Ok(read == len && hasher.try_finalize().ok() == Some(id)))
}

/// The index keeps the low 32 bits of sizes and inode numbers.
fn truncated(value: u64) -> u32 {
    (value & 0xffff_ffff) as u32
}

/// And those of times.
fn truncated_time(seconds: i64) -> u32 {
    truncated(seconds.cast_unsigned())
}

fn verdicts(of: &Mutex<Verdicts>) -> MutexGuard<'_, Verdicts> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
