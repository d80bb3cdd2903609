//! Paths of proposals: within a repository and never in its git directory, or a place for a working tree. In syntax alone.
//! Trust: paths are an agent's; nothing is opened.

use std::path::{Component, Path};

/// `path` without the repository's own path before it, where that stands there; a slash at the end is left out.
#[must_use]
pub fn relative<'a>(path: &'a str, repository: &str) -> &'a str {
    let repository = repository.trim_end_matches('/');
    let rest = path.strip_prefix(repository).filter(|_| !repository.is_empty());
    match rest {
        Some("" | "/") => ".",
        Some(rest) if rest.starts_with('/') => rest.trim_start_matches('/'),
        _ => path,
    }
}

/// Holds for a path that stays inside its repository and outside of the git directory.
///
/// # Errors
/// What is wrong, as the tail of a sentence.
pub fn inside(path: &str) -> Result<(), &'static str> {
    if path.trim().is_empty() {
        return Err("must not be blank");
    }
    if path.contains('\0') {
        return Err("must not contain a NUL character");
    }
    if path.starts_with(['/', '\\']) || has_drive(path) {
        return Err("must lie in the repository: it is absolute");
    }
    if path.starts_with(':') {
        return Err("must be a path, not a pathspec with magic; a file of that name is `./:…`");
    }
    for part in path.split(['/', '\\']) {
        if part == ".." {
            return Err("must not climb with `..`");
        }
        if is_git_dir(part) {
            return Err("must not name a git directory");
        }
    }
    Ok(())
}

/// Holds for a place where a working tree may be made; whether it lies beneath the roots is asked elsewhere.
///
/// # Errors
/// What is wrong, as the tail of a sentence.
pub fn target(path: &str) -> Result<(), &'static str> {
    let parts = Path::new(path);
    if path.contains('\0') {
        return Err("must not contain a NUL character");
    }
    if !parts.is_absolute() {
        return Err("must be absolute");
    }
    for part in parts.components() {
        match part {
            Component::ParentDir => return Err("must not climb with `..`"),
            Component::Normal(part) if part.to_str().is_some_and(is_git_dir) => {
                return Err("must not lie in a git directory");
            }
            _ => {}
        }
    }
    Ok(())
}

fn has_drive(path: &str) -> bool {
    let mut chars = path.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic()) && chars.next() == Some(':')
}

/// `.git` in every spelling that some file system takes for it (`git-update-index`, *protectHFS* and *protectNTFS*).
fn is_git_dir(part: &str) -> bool {
    let unseen = |c: &char| !matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let seen: String = part.chars().filter(unseen).collect();
    let seen = seen.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    seen.eq_ignore_ascii_case(".git") || seen.eq_ignore_ascii_case("git~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside() {
        for good in [".", "a", "a/b", "src/", "./:a", ".gitignore", "a.git", ".github/x", "-x", "a\nb", "a..b", "é"] {
            assert_eq!(inside(good), Ok(()), "{good:?}");
        }
        for bad in [
            "",
            " ",
            "a\0",
            "/a",
            "\\a",
            "C:\\a",
            "c:a",
            "..",
            "a/..",
            "a/../b",
            "a\\..\\b",
            ".git",
            ".GIT/config",
            "a/.git/hooks",
            ".git.",
            ".git ",
            ".git::$INDEX_ALLOCATION",
            "git~1",
            ".g\u{200c}it",
            ":(top)a",
            ":/",
        ] {
            assert!(inside(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_repository_s_own_path_is_taken_off() {
        for (path, rest) in [("/w", "."), ("/w/", "."), ("/w/a/b", "a/b"), ("/wx/a", "/wx/a"), ("a", "a"), ("/x", "/x")]
        {
            assert_eq!(relative(path, "/w"), rest, "{path}");
            assert_eq!(relative(path, "/w/"), rest, "{path}");
        }
        assert_eq!(relative("/a", ""), "/a");
    }

    #[cfg(unix)]
    #[test]
    fn a_place_for_a_working_tree_is_absolute_and_plain() {
        for good in ["/w/x", "/w/x/", "/w/./x"] {
            assert_eq!(target(good), Ok(()), "{good}");
        }
        for bad in ["x", "./x", "~/x", "/w/../x", "/w/.git/x", "/w\0"] {
            assert!(target(bad).is_err(), "{bad:?}");
        }
    }
}
