//! All references in the order of their names: loose ones and packed ones merged, read only where they are looked at.
//! Trust: directories are walked in bounded depth and number and never through a link; a broken reference hides no other.

use super::{
    Refs, Value, broken, first_line, packed,
    packed::{MAX_NAME, Packed},
    parse,
};
use crate::{
    pace::{Pace, Stopped},
    worktree::disk::{Dir, Kind as DiskKind, Listing},
};
use bulkhead_contract::failure::ReadFailure;
use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice as _},
};
use std::{cell::RefCell, cmp::Ordering, rc::Rc};

/// Directories inside one another at most; a name has at most 4 096 bytes in all.
const MAX_DEPTH: usize = 256;
/// Bytes of the names of loose references at most, together; some half a million of them.
const MAX_LOOSE_BYTES: usize = 32 << 20;
/// Directories whose references belong to one worktree each.
const OWN: [&[u8]; 3] = [b"bisect", b"worktree", b"rewritten"];

/// What kind of reference a full name says that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `refs/heads/…`.
    Local,
    /// `refs/remotes/…`.
    Remote,
    /// `refs/tags/…`.
    Tag,
    /// Any other.
    Other,
}

impl Kind {
    /// The kind of `name` and its short form.
    #[must_use]
    pub fn of(name: &BStr) -> (Kind, &BStr) {
        for (prefix, kind) in
            [(&b"refs/heads/"[..], Kind::Local), (b"refs/remotes/", Kind::Remote), (b"refs/tags/", Kind::Tag)]
        {
            if let Some(short) = name.strip_prefix(prefix) {
                return (kind, short.as_bstr());
            }
        }
        (Kind::Other, name.strip_prefix(b"refs/").map_or(name, |rest| rest.as_bstr()))
    }
}

/// One reference by name; where it leads is read when it is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Its full name.
    pub name: &'a BStr,
    /// Its place in `packed-refs`, unless a loose one stands before it.
    packed: Option<usize>,
}

/// Where a reference leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The object; `None` for a symbolic reference to something that is not there.
    pub id: Option<ObjectId>,
    /// The full name that a symbolic reference holds.
    pub symbolic: Option<BString>,
    /// `Some` where it is known whether the object is a tag, and then what it leads to.
    pub peeled: Option<Option<ObjectId>>,
}

/// The references of one moment.
#[derive(Debug)]
pub struct Listed<'r> {
    refs: &'r Refs,
    /// Names of loose references, one after the other.
    bytes: Vec<u8>,
    /// Where each begins and ends, in the order of names.
    loose: Vec<(u32, u32)>,
    packed: Rc<Packed>,
    /// Names of the packed references that a loose one hides, by their place.
    hidden: Vec<usize>,
    /// The directory that was read from last.
    dir: RefCell<Option<(Vec<u8>, Dir)>>,
    /// There were more references than are listed: too many loose ones, or packed ones with names beyond measure.
    pub cut: bool,
}

impl Refs {
    /// All references of now.
    ///
    /// # Errors
    /// Where `packed-refs` cannot be read.
    pub fn list(&self, pace: &Pace) -> Result<Listed<'_>, ReadFailure> {
        let packed = self.packed()?;
        let mut listed = Listed {
            refs: self,
            bytes: Vec::new(),
            loose: Vec::new(),
            packed,
            hidden: Vec::new(),
            dir: RefCell::default(),
            cut: false,
        };
        listed.cut = listed.packed.is_cut();
        let linked = self.git_dir != self.common_dir;
        if let Ok(dir) = open_refs(&self.common_dir) {
            listed.cut |= listed.walk(dir, &mut b"refs/".to_vec(), linked, 0, pace).is_err();
        }
        if linked && let Ok(dir) = open_refs(&self.git_dir) {
            for own in OWN {
                let mut prefix = [b"refs/", own, b"/"].concat();
                let child = dir.child(own);
                listed.cut |= child.is_ok_and(|child| listed.walk(child, &mut prefix, false, 0, pace).is_err());
            }
        }
        let Listed { bytes, loose, .. } = &mut listed;
        let name = |&(start, end): &(u32, u32)| &bytes[start as usize..end as usize];
        if !loose.is_sorted_by(|a, b| name(a) <= name(b)) {
            loose.sort_by(|a, b| name(a).cmp(name(b)));
        }
        if listed.packed.len() > 0 {
            let at = |name: &[u8]| {
                Some(listed.packed.at_or_after(name))
                    .filter(|&at| listed.packed.line(at).is_some_and(|line| line.name == name))
            };
            listed.hidden = (0..listed.loose.len()).filter_map(|loose| at(listed.loose(loose))).collect();
        }
        Ok(listed)
    }
}

fn open_refs(dir: &std::path::Path) -> std::io::Result<Dir> {
    Dir::open(dir)?.child(b"refs")
}

impl Listed<'_> {
    /// Every reference after the one called `after`, in the order of names.
    pub fn after<'s>(&'s self, after: &[u8]) -> impl Iterator<Item = Entry<'s>> {
        let mut loose = self.loose_from(after, true);
        let mut packed = self.packed.at_or_after(after);
        if packed < self.packed.len() && self.packed.name(packed) == after {
            packed += 1;
        }
        std::iter::from_fn(move || {
            let one = (loose < self.loose.len()).then(|| self.loose(loose));
            let two = (packed < self.packed.len()).then(|| self.packed.name(packed));
            let order = match (one, two) {
                (None, None) => return None,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(one), Some(two)) => one.cmp(two),
            };
            if order.is_le() {
                loose += 1;
                packed += usize::from(order.is_eq());
                return one.map(|name| Entry { name: name.as_bstr(), packed: None });
            }
            packed += 1;
            two.map(|name| Entry { name: name.as_bstr(), packed: Some(packed - 1) })
        })
    }

    /// Every reference whose name begins with `prefix`, which ends in a slash.
    pub fn beneath<'s>(&'s self, prefix: &'s [u8]) -> impl Iterator<Item = Entry<'s>> {
        self.after(prefix).take_while(move |entry| entry.name.starts_with(prefix))
    }

    /// How many names begin with `prefix`, which ends in a slash.
    #[must_use]
    pub fn count(&self, prefix: &[u8]) -> u64 {
        // the byte after the slash ends the range of names
        let mut end = prefix.to_vec();
        if let Some(last) = end.last_mut() {
            *last += 1;
        }
        let loose = self.loose_from(&end, false) - self.loose_from(prefix, false);
        let (from, to) = (self.packed.at_or_after(prefix), self.packed.at_or_after(&end));
        let hidden = self.hidden.partition_point(|&at| at < to) - self.hidden.partition_point(|&at| at < from);
        (loose + (to - from) - hidden) as u64
    }

    /// Whether there is a reference of that full name, broken or not.
    #[must_use]
    pub fn holds(&self, name: &[u8]) -> bool {
        let at = self.loose_from(name, false);
        (at < self.loose.len() && self.loose(at) == name) || self.packed.holds(name)
    }

    /// Where `entry` leads.
    ///
    /// # Errors
    /// Where it is broken.
    pub fn target(&self, entry: &Entry<'_>) -> Result<Target, ReadFailure> {
        if let Some(at) = entry.packed {
            let id = self.packed.line(at).and_then(|line| line.id).ok_or_else(|| broken(entry.name))?;
            let peeled = match self.packed.peeled(at) {
                packed::Peeled::Unknown => None,
                packed::Peeled::NoTag => Some(None),
                packed::Peeled::To(id) => Some(Some(id)),
            };
            return Ok(Target { id: Some(id), symbolic: None, peeled });
        }
        match self.value(entry.name)? {
            Value::Id(id) => Ok(Target { id: Some(id), symbolic: None, peeled: None }),
            Value::Name(name) => {
                Ok(Target { id: self.refs.resolve(name.as_ref())?, symbolic: Some(name), peeled: None })
            }
        }
    }

    /// What a loose reference holds, read beside the one before it where both stand in one directory.
    fn value(&self, name: &BStr) -> Result<Value, ReadFailure> {
        let quick = || {
            let (parent, last) = name.rsplit_once_str("/")?;
            let mut held = self.dir.borrow_mut();
            if held.as_ref().is_none_or(|(of, _)| of != parent) {
                let mut dir = Dir::open(self.refs.dir_of(name)).ok()?;
                for name in parent.split_str("/") {
                    dir = dir.child(name).ok()?;
                }
                *held = Some((parent.to_vec(), dir));
            }
            let (_, dir) = held.as_ref()?;
            parse(&first_line(dir.file(last).ok()?).ok()?)
        };
        match quick() {
            Some(value) => Ok(value),
            // a link, packed meanwhile, or broken, which the slow way tells apart
            None => self.refs.value(name)?.ok_or_else(|| broken(name)),
        }
    }

    fn loose(&self, at: usize) -> &[u8] {
        self.loose.get(at).map_or(&[], |&(start, end)| &self.bytes[start as usize..end as usize])
    }

    /// Where the first loose name stands that is not below `name`, or that is above it.
    fn loose_from(&self, name: &[u8], above: bool) -> usize {
        self.loose.partition_point(|&(start, end)| {
            let theirs = &self.bytes[start as usize..end as usize];
            theirs < name || (above && theirs == name)
        })
    }

    fn walk(&mut self, dir: Dir, prefix: &mut Vec<u8>, skip_own: bool, depth: usize, pace: &Pace) -> Result<(), Cut> {
        // a directory that cannot be listed holds no references that Git would see, either
        let mut names = Listing::default();
        match dir.list(&mut names, pace) {
            Ok(listed) => listed?,
            Err(_) => return Ok(()),
        }
        for at in 0..names.len() {
            pace.step(1)?;
            let Some((name, kind)) = names.get(at) else { break };
            if prefix.len() + name.len() > MAX_NAME {
                continue;
            }
            let length = prefix.len();
            if kind == DiskKind::Dir {
                if depth >= MAX_DEPTH {
                    return Err(Cut);
                }
                if !(skip_own && OWN.contains(&name))
                    && let Ok(child) = dir.child(name)
                {
                    prefix.extend_from_slice(name);
                    prefix.push(b'/');
                    let walked = self.walk(child, prefix, false, depth + 1, pace);
                    prefix.truncate(length);
                    walked?;
                }
                continue;
            }
            prefix.extend_from_slice(name);
            let valid = gix::validate::reference::name(prefix.as_bstr()).is_ok();
            let start = self.bytes.len();
            if valid && start + prefix.len() > MAX_LOOSE_BYTES {
                return Err(Cut);
            }
            if valid && let (Ok(from), Ok(to)) = (u32::try_from(start), u32::try_from(start + prefix.len())) {
                self.bytes.extend_from_slice(prefix);
                self.loose.push((from, to));
            }
            prefix.truncate(length);
        }
        Ok(())
    }
}

/// The walk ended early.
struct Cut;

impl From<Stopped> for Cut {
    fn from(_: Stopped) -> Self {
        Cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeMap, fs, path::Path};

    fn pace() -> Pace {
        Pace::alone(60_000)
    }

    fn write(dir: &Path, name: &str, text: &str) {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().expect("below the directory")).expect("writable");
        fs::write(path, text).expect("writable");
    }

    fn id(digit: char) -> String {
        digit.to_string().repeat(40)
    }

    fn all(refs: &Refs) -> BTreeMap<String, Option<String>> {
        let listed = refs.list(&pace()).expect("readable");
        let mut last = Vec::new();
        let mut found = BTreeMap::new();
        for entry in listed.after(b"") {
            assert!(entry.name.as_bytes() > &last[..], "{} stands in order", entry.name);
            last = entry.name.to_vec();
            let target = listed.target(&entry).ok().and_then(|target| target.id).map(|id| id.to_string());
            found.insert(entry.name.to_string(), target);
            assert!(listed.holds(entry.name));
        }
        found
    }

    #[test]
    fn loose_ones_stand_before_packed_ones_and_a_broken_one_hides_no_other() {
        let temp = tempfile::tempdir().expect("a writable temporary directory");
        let dir = temp.path();
        let a = id('a');
        write(dir, "packed-refs", &format!("{a} refs/heads/a\n{a} refs/heads/m/x\nrubbish\n{a} refs/tags/t\n"));
        write(dir, "refs/heads/a", &id('b'));
        write(dir, "refs/heads/a-b", &id('c'));
        write(dir, "refs/heads/m/y", "junk");
        write(dir, "refs/heads/x.lock", &id('c'));
        write(dir, "refs/remotes/o/HEAD", "ref: refs/heads/a\n");
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(dir.join("refs/heads"), dir.join("refs/linked")).expect("links are possible");
            std::os::unix::fs::symlink("refs/heads/a", dir.join("refs/heads/old")).expect("links are possible");
            let mode = nix::sys::stat::Mode::S_IRUSR | nix::sys::stat::Mode::S_IWUSR;
            nix::unistd::mkfifo(&dir.join("refs/heads/fifo"), mode).expect("FIFOs are possible here");
        }
        let refs = Refs::new(dir.to_path_buf(), dir.to_path_buf());
        let found = all(&refs);
        let of = |name: &str| found.get(name).cloned();
        assert_eq!(of("refs/heads/a"), Some(Some(id('b'))));
        assert_eq!(of("refs/heads/a-b"), Some(Some(id('c'))));
        assert_eq!(of("refs/heads/m/x"), Some(Some(a.clone())));
        assert_eq!(of("refs/heads/m/y"), Some(None), "broken");
        assert_eq!(of("refs/remotes/o/HEAD"), Some(Some(id('b'))));
        assert_eq!(of("refs/tags/t"), Some(Some(a)));
        assert_eq!(of("refs/heads/x.lock"), None);
        let listed = refs.list(&pace()).expect("readable");
        let heads = listed.beneath(b"refs/heads/").count() as u64;
        assert_eq!(listed.count(b"refs/heads/"), heads);
        assert_eq!(listed.count(b"refs/"), found.len() as u64);
        if cfg!(unix) {
            assert_eq!(of("refs/heads/old"), Some(Some(id('b'))), "a link of very old Git");
            assert_eq!(of("refs/heads/fifo"), Some(None));
            assert_eq!(of("refs/linked"), Some(None), "a link to a directory is not followed");
        }
    }

    #[test]
    fn a_page_starts_after_any_name() {
        let temp = tempfile::tempdir().expect("a writable temporary directory");
        let mut seed = 7u32;
        let mut names = Vec::new();
        for _ in 0..200 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            names.push(format!("refs/heads/{}{}", ["a", "a-", "a/b", "b.", "c/"][seed as usize >> 8 & 3], seed >> 20));
        }
        let mut packed = String::new();
        for (at, name) in names.iter().enumerate() {
            if at % 3 != 0 {
                packed += &format!("{} {name}\n", id('a'));
            }
            if at % 3 != 1 {
                write(temp.path(), name, &id('b'));
            }
        }
        write(temp.path(), "packed-refs", &packed);
        let refs = Refs::new(temp.path().to_path_buf(), temp.path().to_path_buf());
        let found: Vec<_> = all(&refs).into_keys().collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(found, names);
        let listed = refs.list(&pace()).expect("readable");
        for (at, name) in found.iter().enumerate() {
            let next = listed.after(name.as_bytes()).next().map(|entry| entry.name.to_string());
            assert_eq!(next.as_ref(), found.get(at + 1));
        }
    }

    #[test]
    fn a_linked_worktree_has_its_own_bisection_and_shares_the_rest() {
        let temp = tempfile::tempdir().expect("a writable temporary directory");
        let (common, own) = (temp.path().join("c"), temp.path().join("o"));
        write(&common, "refs/heads/a", &id('a'));
        write(&common, "refs/bisect/bad", &id('b'));
        write(&own, "refs/bisect/good-1", &id('c'));
        write(&own, "refs/heads/not", &id('c'));
        let found: Vec<_> = all(&Refs::new(own, common)).into_keys().collect();
        assert_eq!(found, ["refs/bisect/good-1", "refs/heads/a"]);
    }
}
