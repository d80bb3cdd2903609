//! The short names that people type, and what they may stand for: Git's six rules (`gitrevisions`, *refname*).
//! Trust: the name is a caller's; it is checked before it becomes a path.

use super::Refs;
use bulkhead_contract::failure::ReadFailure;
use gix::bstr::{BStr, BString, ByteSlice as _};

/// What stands before and after a short name, in the order in which Git tries them.
pub const RULES: [(&str, &str); 6] = [
    ("", ""),
    ("refs/", ""),
    ("refs/tags/", ""),
    ("refs/heads/", ""),
    ("refs/remotes/", ""),
    ("refs/remotes/", "/HEAD"),
];

/// Whether `name` is of the kind that stands directly in the git directory, such as `HEAD` or `ORIG_HEAD`.
#[must_use]
pub fn is_bare_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'-'))
}

impl Refs {
    /// Full names of the references that `short` may stand for, the one that Git takes first.
    ///
    /// # Errors
    /// Where none can be read and one is broken.
    pub fn meant(&self, short: &BStr) -> Result<Vec<BString>, ReadFailure> {
        let mut found = Vec::new();
        let mut failure = None;
        for (before, after) in RULES {
            let full = BString::from([before.as_bytes(), short, after.as_bytes()].concat());
            // any other file of the git directory is no reference
            if before.is_empty() && !full.starts_with(b"refs/") && !is_bare_name(&full) {
                continue;
            }
            match self.resolve(full.as_ref()) {
                Ok(Some(_)) => found.push(full),
                Ok(None) => {}
                Err(e) => failure = failure.or(Some(e)),
            }
        }
        match failure {
            Some(failure) if found.is_empty() => Err(failure),
            _ => Ok(found),
        }
    }

    /// The shortest of Git's usual forms of `full` that stands for nothing else.
    #[must_use]
    pub fn unambiguous(&self, full: &BStr) -> String {
        let short = super::short(full);
        let first = self.meant(BStr::new(&short)).ok().and_then(|meant| meant.into_iter().next());
        if first.is_none_or(|first| first == full) {
            return short;
        }
        full.strip_prefix(b"refs/").unwrap_or(full).to_str_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_stands_for_what_git_takes_first() {
        let temp = tempfile::tempdir().expect("a writable temporary directory");
        let dir = temp.path();
        let refs = Refs::new(dir.to_path_buf(), dir.to_path_buf());
        let set = |name: &str| {
            let path = dir.join(name);
            std::fs::create_dir_all(path.parent().expect("below the directory")).expect("writable");
            std::fs::write(path, "a".repeat(40)).expect("writable");
        };
        for name in ["refs/heads/x", "refs/tags/x", "refs/heads/y", "refs/remotes/o/HEAD", "refs/stash", "HEAD"] {
            set(name);
        }
        std::fs::write(dir.join("config"), "[core]\n").expect("writable");
        let meant = |short: &str| -> Vec<String> {
            let names = refs.meant(short.into()).expect("nothing is broken");
            names.into_iter().map(|name| name.to_string()).collect()
        };
        assert_eq!(meant("x"), ["refs/tags/x", "refs/heads/x"]);
        assert_eq!(meant("y"), ["refs/heads/y"]);
        assert_eq!(meant("o"), ["refs/remotes/o/HEAD"]);
        assert_eq!(meant("stash"), ["refs/stash"]);
        assert_eq!(meant("HEAD"), ["HEAD"]);
        assert!(meant("config").is_empty() && meant("../x").is_empty() && meant("none").is_empty());
        assert_eq!(refs.unambiguous("refs/heads/x".into()), "heads/x");
        assert_eq!(refs.unambiguous("refs/tags/x".into()), "x");
        assert_eq!(refs.unambiguous("refs/heads/y".into()), "y");
        std::fs::write(dir.join("refs/heads/bad"), "junk").expect("writable");
        assert!(refs.meant("bad".into()).is_err());
    }
}
