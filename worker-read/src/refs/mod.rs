//! References read on our own terms: bounded, never through a link, and one bad line does not hide the rest.
//! Trust: names and contents are the repository's; a name passes Git's own check before it becomes a path.

mod list;
mod names;
mod packed;

pub use list::{Entry, Kind, Listed, Target};
pub use names::{RULES, is_bare_name};

use crate::{
    files::{self, NoContents, Version},
    open_beneath,
};
use bulkhead_contract::failure::{ReadFailure, Reason};
use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice as _},
};
use std::{
    cell::RefCell,
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    rc::Rc,
};

const OPERATION: &str = "refs";
/// Bytes of a loose reference that are read, within which its first line must end.
const MAX_LOOSE: u64 = 4 * 1024;
/// Bytes of `packed-refs` at most; some two million references.
pub(crate) const MAX_PACKED: u64 = 160 << 20;
/// References that lead to references, at most (Git: 5).
const MAX_SYMREFS: usize = 5;

/// Where HEAD is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Full name of the branch; `None` when detached.
    pub branch: Option<BString>,
    /// The commit; `None` on an unborn branch.
    pub id: Option<ObjectId>,
}

/// The reference that a branch follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Full name of the local reference.
    pub name: BString,
    /// Where it is; `None` when it is gone.
    pub id: Option<ObjectId>,
    /// It is there and cannot be read, which Git calls gone as well.
    pub broken: bool,
}

/// The references of one repository.
#[derive(Debug)]
pub struct Refs {
    git_dir: PathBuf,
    common_dir: PathBuf,
    /// Invalidated by the version of the file.
    packed: RefCell<Option<(Version, Rc<packed::Packed>)>>,
}

enum Value {
    Id(ObjectId),
    Name(BString),
}

impl Refs {
    /// The references of the repository with these two directories.
    #[must_use]
    pub fn new(git_dir: PathBuf, common_dir: PathBuf) -> Self {
        Self { git_dir, common_dir, packed: RefCell::new(None) }
    }

    /// Where HEAD is.
    ///
    /// # Errors
    /// [`Reason::Corrupt`] where HEAD is no reference.
    pub fn head(&self) -> Result<Head, ReadFailure> {
        match self.value(b"HEAD".as_bstr())? {
            Some(Value::Id(id)) => Ok(Head { branch: None, id: Some(id) }),
            Some(Value::Name(branch)) => {
                let id = self.resolve(branch.as_ref())?;
                Ok(Head { branch: Some(branch), id })
            }
            None => Err(corrupt("HEAD is missing or names no valid reference.")),
        }
    }

    /// The object that the reference called `name` leads to, if it exists.
    ///
    /// # Errors
    /// Where the disk fails, or references lead in circles.
    pub fn resolve(&self, name: &BStr) -> Result<Option<ObjectId>, ReadFailure> {
        let mut name = name.to_owned();
        for _ in 0..=MAX_SYMREFS {
            match self.value(name.as_ref())? {
                None => return Ok(None),
                Some(Value::Id(id)) => return Ok(Some(id)),
                Some(Value::Name(next)) => name = next,
            }
        }
        Err(corrupt("A reference leads through too many others."))
    }

    /// The name that the symbolic reference called `name` holds, if it is one.
    ///
    /// # Errors
    /// Where the disk fails.
    pub fn target(&self, name: &BStr) -> Result<Option<BString>, ReadFailure> {
        Ok(match self.value(name)? {
            Some(Value::Name(target)) => Some(target),
            _ => None,
        })
    }

    /// The reference that `branch`, a full name, follows by `config`.
    ///
    /// # Errors
    /// Where the disk fails.
    pub fn upstream(&self, branch: &BStr, config: &gix::config::File) -> Result<Option<Upstream>, ReadFailure> {
        let Some(name) = self.upstream_name(branch, config) else { return Ok(None) };
        let found = unless_broken(self.resolve(name.as_ref()))?;
        Ok(Some(Upstream { name, id: found.flatten(), broken: found.is_none() }))
    }

    /// Full name of the local reference that `branch`, a full name, follows by `config`.
    #[must_use]
    pub fn upstream_name(&self, branch: &BStr, config: &gix::config::File) -> Option<BString> {
        let short = branch.strip_prefix(b"refs/heads/")?;
        let key = |name: &str| config.string_by("branch", Some(short.as_bstr()), name);
        let (remote, merge) = (key("remote")?, key("merge")?);
        if remote == "." {
            return Some(merge);
        }
        let specs = config.raw_values_by("remote", Some(remote.as_bstr()), "fetch").unwrap_or_default();
        specs.iter().find_map(|spec| mapped(spec, merge.as_ref()))
    }

    /// What `packed-refs` and the common directory's loose references look like now, for caches of answers.
    #[must_use]
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// The directory that holds the reference called `name`, and, below `logs`, its reflog: every worktree has some of its
    /// own.
    #[must_use]
    pub fn dir_of(&self, name: &BStr) -> &Path {
        let own = !name.starts_with(b"refs/")
            || [&b"refs/bisect/"[..], b"refs/worktree/", b"refs/rewritten/"].iter().any(|own| name.starts_with(own));
        if own { &self.git_dir } else { &self.common_dir }
    }

    fn value(&self, name: &BStr) -> Result<Option<Value>, ReadFailure> {
        if gix::validate::reference::name(name).is_err() {
            return Ok(None);
        }
        let dir = self.dir_of(name);
        match beginning(dir, name) {
            // one that is broken must not pass for one that is not there
            Ok(text) => return parse(&text).map(Some).ok_or_else(|| broken(name)),
            Err(NoContents::Absent) if !open_beneath::behind_a_link(dir, name) => {}
            Err(NoContents::Absent | NoContents::NotRegular) => {
                if let Some(linked) = irregular(dir, name)? {
                    return Ok(Some(Value::Name(linked)));
                }
            }
            Err(e) => return Err(e.failure(OPERATION, &format!(".git/{}", name.to_str_lossy()))),
        }
        if name == "HEAD" {
            return Ok(None);
        }
        match self.packed()?.find(name) {
            Some(packed::Line { id: None, .. }) => Err(broken(name)),
            found => Ok(found.and_then(|line| line.id).map(Value::Id)),
        }
    }

    fn packed(&self) -> Result<Rc<packed::Packed>, ReadFailure> {
        let version = files::version(&self.common_dir.join("packed-refs"));
        let mut held = self.packed.borrow_mut();
        if let Some((of, bytes)) = &*held
            && *of == version
        {
            return Ok(Rc::clone(bytes));
        }
        let bytes = match open_beneath::read(&self.common_dir, b"packed-refs", MAX_PACKED) {
            Ok(bytes) => bytes,
            Err(NoContents::Absent) => Vec::new(),
            Err(e) => return Err(e.failure(OPERATION, ".git/packed-refs")),
        };
        let bytes = Rc::new(packed::Packed::new(bytes));
        *held = Some((version, Rc::clone(&bytes)));
        Ok(bytes)
    }
}

/// What stands in place of a loose reference: a directory of further ones is none, and very old Git wrote symbolic
/// references as links whose text is the name. Anything else would block, or lead out of the repository, and must not
/// pass for a reference that is not there.
fn irregular(dir: &Path, name: &BStr) -> Result<Option<BString>, ReadFailure> {
    let Some(path) = files::bytes_path(name).map(|name| dir.join(name)) else { return Ok(None) };
    let Ok(kind) = std::fs::symlink_metadata(&path).map(|meta| meta.file_type()) else { return Ok(None) };
    let shown = [b".git/", name.as_bytes()].concat();
    if kind.is_dir() {
        return Ok(None);
    }
    if kind.is_symlink()
        && let Some(text) = std::fs::read_link(&path).ok().map(|text| files::path_bytes(&text))
        && is_ref(&text)
    {
        return Ok(Some(text.into()));
    }
    // a regular file that could not be opened beneath `dir` lies behind a link
    let (reason, details) = if kind.is_symlink() || kind.is_file() {
        (Reason::Redirected, "A reference is a link, or lies behind one, that is no symbolic reference.")
    } else {
        (Reason::SpecialFile, "A FIFO, a socket or a device stands where Git keeps a reference.")
    };
    Err(ReadFailure::new(reason, OPERATION, details).at(&shown))
}

/// The short form in which people name `name`, a full name.
#[must_use]
pub fn short(name: &BStr) -> String {
    let short = [&b"refs/heads/"[..], b"refs/remotes/", b"refs/tags/", b"refs/"]
        .iter()
        .find_map(|prefix| name.strip_prefix(*prefix))
        .unwrap_or(name);
    short.to_str_lossy().into_owned()
}

fn is_ref(name: &[u8]) -> bool {
    name.starts_with(b"refs/") && gix::validate::reference::name(name.as_bstr()).is_ok()
}

fn parse(text: &[u8]) -> Option<Value> {
    if let Some(name) = text.strip_prefix(b"ref:") {
        let name = name.trim();
        return is_ref(name).then(|| Value::Name(name.into()));
    }
    let hex = text.split(|byte| byte.is_ascii_whitespace()).next()?;
    ObjectId::from_hex(hex).ok().filter(|id| !id.is_null()).map(Value::Id)
}

/// The first bytes of the loose reference called `name`: all of it, or at least its first line.
fn beginning(dir: &Path, name: &BStr) -> Result<Vec<u8>, NoContents> {
    first_line(open_beneath::open(dir, name)?)
}

fn first_line(file: fs::File) -> Result<Vec<u8>, NoContents> {
    if !file.metadata().map_err(|e| NoContents::of(&e))?.is_file() {
        return Err(NoContents::NotRegular);
    }
    let mut text = Vec::new();
    file.take(MAX_LOOSE + 1).read_to_end(&mut text).map_err(|e| NoContents::of(&e))?;
    if text.len() as u64 > MAX_LOOSE && !text.contains(&b'\n') {
        return Err(NoContents::TooLarge(MAX_LOOSE));
    }
    Ok(text)
}

fn broken(name: &BStr) -> ReadFailure {
    corrupt("A reference is broken: it holds neither an object's id nor the name of another reference.").at(&[
        b".git/",
        name.as_bytes(),
    ]
    .concat())
}

/// What the fetch specification `spec` makes of the remote's reference `name`.
fn mapped(spec: &[u8], name: &BStr) -> Option<BString> {
    let spec = spec.strip_prefix(b"+").unwrap_or(spec);
    let (from, to) = spec.split_once_str(":")?;
    if from.starts_with(b"^") || to.is_empty() {
        return None;
    }
    match (from.find_byte(b'*'), to.find_byte(b'*')) {
        (None, None) if from == name.as_bytes() => Some(to.into()),
        (Some(at), Some(into)) => {
            let middle = name.strip_prefix(&from[..at])?.strip_suffix(&from[at + 1..])?;
            Some([&to[..into], middle, &to[into + 1..]].concat().into())
        }
        _ => None,
    }
}

/// What was `read` of a reference beside HEAD's; `None` where that very reference is broken, since Git warns of such a one
/// and goes on without it.
///
/// # Errors
/// Where the disk fails.
pub fn unless_broken<T>(read: Result<T, ReadFailure>) -> Result<Option<T>, ReadFailure> {
    match read {
        Err(failure) if matches!(failure.reason, Reason::Corrupt | Reason::SpecialFile | Reason::TooLarge) => Ok(None),
        other => other.map(Some),
    }
}

fn corrupt(details: &str) -> ReadFailure {
    ReadFailure::new(Reason::Corrupt, OPERATION, details)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: char) -> String {
        digit.to_string().repeat(40)
    }

    #[test]
    fn a_broken_reference_does_not_pass_for_an_unborn_branch() {
        let temp = tempfile::tempdir().expect("a writable temporary directory");
        let refs = Refs::new(temp.path().to_path_buf(), temp.path().to_path_buf());
        std::fs::write(temp.path().join("HEAD"), "ref: refs/heads/main\n").expect("writable");
        assert_eq!(refs.head().expect("unborn").id, None);
        std::fs::create_dir_all(temp.path().join("refs/heads")).expect("writable");
        let set = |text: &str| std::fs::write(temp.path().join("refs/heads/main"), text).expect("writable");
        set(&format!("{}\n{}", id('a'), "junk".repeat(100_000)));
        assert_eq!(refs.head().expect("its first line counts").id.map(|id| id.to_string()), Some(id('a')));
        let long = "a".repeat(5000);
        for (text, reason) in [
            (id('0'), Reason::Corrupt),
            (String::new(), Reason::Corrupt),
            ("rubbish\n".to_owned(), Reason::Corrupt),
            ("ref: ../../x\n".to_owned(), Reason::Corrupt),
            (long, Reason::TooLarge),
        ] {
            set(&text);
            assert_eq!(refs.head().expect_err("broken").reason, reason, "{}", &text[..text.len().min(40)]);
            assert_eq!(refs.resolve("refs/heads/main".into()).expect_err("broken").reason, reason);
        }
        std::fs::remove_file(temp.path().join("refs/heads/main")).expect("there");
        std::fs::write(temp.path().join("packed-refs"), format!("{} refs/heads/main\n", id('0'))).expect("writable");
        assert_eq!(refs.head().expect_err("broken").reason, Reason::Corrupt);
    }

    #[test]
    fn a_name_that_climbs_is_no_reference() {
        let temp = tempfile::tempdir().expect("a writable temporary directory");
        std::fs::write(temp.path().join("HEAD"), "ref: refs/heads/../../../etc/passwd\n").expect("writable");
        let refs = Refs::new(temp.path().to_path_buf(), temp.path().to_path_buf());
        assert_eq!(refs.head().expect_err("not a reference").reason, Reason::Corrupt);
    }

    #[test]
    fn fetch_specifications_map_as_git_maps_them() {
        let map = |spec: &str, name: &str| mapped(spec.as_bytes(), name.into()).map(|name| name.to_string());
        assert_eq!(map("+refs/heads/*:refs/remotes/o/*", "refs/heads/a/b").as_deref(), Some("refs/remotes/o/a/b"));
        assert_eq!(map("refs/heads/a:refs/x", "refs/heads/a").as_deref(), Some("refs/x"));
        assert_eq!(map("refs/heads/a:refs/x", "refs/heads/b"), None);
        assert_eq!(map("^refs/heads/a", "refs/heads/a"), None);
    }
}
