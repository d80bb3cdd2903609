//! Which paths a diff is narrowed to: files, and directories with all that is in them, never patterns.
//! Trust: paths are a caller's; what leads out of the repository is refused and never looked at.

use crate::{files, repo::Repo};
use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    path::{PathEncoding, bytes_of},
};

const OPERATION: &str = "path";

/// Paths to narrow to; none narrows nothing.
#[derive(Debug, Default)]
pub struct Paths(Vec<One>);

#[derive(Debug)]
struct One {
    path: Vec<u8>,
    /// Written with a `/` at the end.
    directory: bool,
}

impl Paths {
    /// Adds the caller's `text`; false where it means the whole repository. `asked` is the caller's spelling of that.
    ///
    /// # Errors
    /// [`Reason::BadArgument`] for a path that is blank or leads out.
    pub fn add(&mut self, text: &str, repo: &Repo, asked: &str) -> Result<bool, ReadFailure> {
        let bad = |what: &str| {
            let shown = bulkhead_contract::args::shown(text);
            Err(ReadFailure::new(Reason::BadArgument, OPERATION, format!("`{shown}` {what}")))
        };
        if text.is_empty() || text.contains('\0') {
            return bad("is no path. Leave it out, or give `.`, to mean the whole repository.");
        }
        let relative = if std::path::Path::new(text).is_absolute() {
            let top = repo.found.worktree.as_deref().map(files::path_bytes).unwrap_or_default();
            let beneath = |top: &[u8]| {
                let rest = text.as_bytes().strip_prefix(top).filter(|_| !top.is_empty())?;
                (rest.is_empty() || rest.starts_with(b"/") || top.ends_with(b"/")).then(|| rest.to_vec())
            };
            match beneath(&top).or_else(|| beneath(asked.trim_end_matches('/').as_bytes())) {
                Some(rest) => rest,
                None => return bad("is not in this repository."),
            }
        } else {
            text.as_bytes().to_vec()
        };
        let mut names: Vec<&[u8]> = Vec::new();
        for name in relative.split(|&byte| byte == b'/') {
            match name {
                b"" | b"." => {}
                b".." => {
                    if names.pop().is_none() {
                        return bad("is not in this repository.");
                    }
                }
                name => names.push(name),
            }
        }
        if names.is_empty() {
            return Ok(false);
        }
        let path = names.join(&b'/');
        let directory = relative.ends_with(b"/");
        // an answer may have given the path in its escaped form
        let raw = std::str::from_utf8(&path).ok().filter(|text| text.contains("\\x"));
        if let Some(bytes) = raw.and_then(|text| bytes_of(text, Some(PathEncoding::Escaped))) {
            self.0.push(One { path: bytes, directory });
        }
        self.0.push(One { path, directory });
        Ok(true)
    }

    /// True where everything is meant.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the file at `path` is meant.
    #[must_use]
    pub fn holds(&self, path: &[u8]) -> bool {
        self.0.is_empty()
            || self.0.iter().any(|one| match path.strip_prefix(&one.path[..]) {
                Some([]) => !one.directory,
                Some(rest) => rest.starts_with(b"/"),
                None => false,
            })
    }

    /// Whether something beneath the directory `prefix`, which ends in `/`, may be meant.
    #[must_use]
    pub fn reach_into(&self, prefix: &[u8]) -> bool {
        let name = prefix.strip_suffix(b"/").unwrap_or(prefix);
        self.0.is_empty()
            || self.0.iter().any(|one| one.path.starts_with(prefix) || one.path == name)
            || self.holds(prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_hold_what_is_in_them() {
        let paths = Paths(vec![
            One { path: b"src".to_vec(), directory: false },
            One { path: b"a/b".to_vec(), directory: true },
        ]);
        for yes in [&b"src"[..], b"src/x", b"a/b/c"] {
            assert!(paths.holds(yes), "{}", String::from_utf8_lossy(yes));
        }
        for no in [&b"srcs"[..], b"a/b", b"a/bc", b"b"] {
            assert!(!paths.holds(no), "{}", String::from_utf8_lossy(no));
        }
        for yes in [&b"src/"[..], b"src/deep/", b"a/", b"a/b/"] {
            assert!(paths.reach_into(yes), "{}", String::from_utf8_lossy(yes));
        }
        assert!(!paths.reach_into(b"b/") && !paths.reach_into(b"a/c/"));
    }
}
