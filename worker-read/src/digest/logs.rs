//! The names of the references that have a reflog.
//! Trust: directories and names are the repository's; no link is followed, and depth and number are bounded.

use super::Scope;
use crate::{
    files::NoContents,
    pace::Pace,
    worktree::disk::{Dir, Kind, Listing},
};
use bulkhead_contract::{failure::ReadFailure, limits::DIGEST_REFLOGS};
use gix::bstr::BString;
use std::{io, path::Path};

/// Names of references.
#[derive(Debug, Default)]
pub struct Listed {
    /// Full names, sorted.
    pub names: Vec<BString>,
    /// There are more, or some lie too deep.
    pub cut: bool,
}

/// The references under `common_dir` that have a reflog.
///
/// # Errors
/// Where a directory is there and cannot be read.
pub fn names(common_dir: &Path, scope: Scope, pace: &Pace) -> Result<Listed, ReadFailure> {
    let mut listed = Listed::default();
    let below: &[&[u8]] = match scope {
        Scope::Branches => &[b"logs", b"refs", b"heads"],
        Scope::AllRefs => &[b"logs", b"refs"],
    };
    let failed = |e: &io::Error| NoContents::of(e).failure("reflog", ".git/logs");
    let mut dir = Dir::open(common_dir).map_err(|e| failed(&e))?;
    for name in below {
        dir = match dir.child(name) {
            Ok(dir) => dir,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(listed),
            Err(e) => return Err(failed(&e)),
        };
    }
    let top: BString = below[1..].join(&b'/').into();
    walk(dir, &top, 0, &mut listed, pace).map_err(|e| failed(&e))?;
    listed.names.sort_unstable();
    Ok(listed)
}

fn walk(dir: Dir, name: &BString, depth: usize, listed: &mut Listed, pace: &Pace) -> io::Result<()> {
    let (most, deepest) = DIGEST_REFLOGS;
    let mut listing = Listing::default();
    if dir.list(&mut listing, pace)?.is_err() {
        listed.cut = true;
        return Ok(());
    }
    for (entry, kind) in (0..listing.len()).filter_map(|at| listing.get(at)) {
        if listed.names.len() >= most {
            listed.cut = true;
            return Ok(());
        }
        let path = BString::from([name, &b"/"[..], entry].concat());
        match kind {
            Kind::Dir if depth >= deepest => listed.cut = true,
            Kind::Dir => match dir.child(entry) {
                Ok(child) => walk(child, &path, depth + 1, listed, pace)?,
                // it went away in between
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(e),
            },
            // what is no file says so when it is read
            _ => listed.names.push(path),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn pace() -> Pace {
        Pace::alone(60_000)
    }

    #[test]
    fn names_are_found_in_bounds_and_not_through_links() {
        let temp = tempfile::tempdir().expect("a writable temporary directory");
        assert!(names(temp.path(), Scope::Branches, &pace()).expect("there are none").names.is_empty());
        let logs = temp.path().join("logs/refs");
        let write = |name: &str| {
            let path = logs.join(name);
            fs::create_dir_all(path.parent().expect("it has one")).expect("writable");
            fs::write(path, "").expect("writable");
        };
        for name in ["heads/main", "heads/a/b", "tags/v1", "stash"] {
            write(name);
        }
        let listed = |scope| {
            let listed = names(temp.path(), scope, &pace()).expect("readable");
            (listed.names.iter().map(ToString::to_string).collect::<Vec<_>>(), listed.cut)
        };
        assert_eq!(listed(Scope::Branches), (vec!["refs/heads/a/b".into(), "refs/heads/main".into()], false));
        assert_eq!(listed(Scope::AllRefs).0.len(), 4);
        let outside = tempfile::tempdir().expect("a writable temporary directory");
        fs::write(outside.path().join("secret"), "").expect("writable");
        #[cfg(unix)]
        std::os::unix::fs::symlink(outside.path(), logs.join("heads/linked")).expect("writable");
        assert!(listed(Scope::Branches).0.iter().all(|name| !name.contains("secret")));
        write(&format!("heads/{}x", "d/".repeat(DIGEST_REFLOGS.1 + 1)));
        assert!(listed(Scope::Branches).1, "too deep");
    }

    #[test]
    fn more_logs_than_are_read_are_declared() {
        let temp = tempfile::tempdir().expect("a writable temporary directory");
        let heads = temp.path().join("logs/refs/heads");
        fs::create_dir_all(&heads).expect("writable");
        for n in 0..=DIGEST_REFLOGS.0 {
            fs::write(heads.join(n.to_string()), "").expect("writable");
        }
        let listed = names(temp.path(), Scope::Branches, &pace()).expect("readable");
        assert_eq!((listed.names.len(), listed.cut), (DIGEST_REFLOGS.0, true));
    }
}
