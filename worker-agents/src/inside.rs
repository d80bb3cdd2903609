//! Whether a path that another program wrote down lies in the repository, and what it is called there.
//! Trust: paths may lie; they are only ever compared, byte by byte, and never opened.

use bulkhead_ipc::edge::agents::MAX_TEXT;

/// The repository, as it is compared with.
#[derive(Debug, Clone)]
pub struct Root(Vec<u8>);

impl Root {
    /// Of a canonical path.
    #[must_use]
    pub fn new(path: &[u8]) -> Self {
        Self(trimmed(path).to_vec())
    }

    /// Its bytes, without a separator at the end.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether an absolute path is the repository or lies in it.
    #[must_use]
    pub fn holds(&self, path: &[u8]) -> bool {
        self.below(path).is_some()
    }

    /// The same for text.
    #[must_use]
    pub fn holds_text(&self, path: &str) -> bool {
        self.holds(path.as_bytes())
    }

    /// What an absolute path of a file in the repository is called there, if it can be shown.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<String> {
        let below = self.below(path.as_bytes()).filter(|below| !below.is_empty())?;
        relative(std::str::from_utf8(below).ok()?)
    }

    /// What follows the repository's own path; a path with `.` or `..` in it says nothing about where it leads.
    fn below<'a>(&self, path: &'a [u8]) -> Option<&'a [u8]> {
        let path = trimmed(path);
        let rest = match self.0.as_slice() {
            b"/" => path.strip_prefix(b"/")?,
            root => match path.strip_prefix(root)? {
                [] => &[],
                [separator, rest @ ..] if is_separator(*separator) => rest,
                _ => return None,
            },
        };
        let steps = |part: &[u8]| matches!(part, b"." | b"..");
        (!rest.split(|byte| is_separator(*byte)).any(steps)).then_some(rest)
    }
}

/// A relative path that can be shown: forward separators, no steps up, nothing invisible.
#[must_use]
pub fn relative(path: &str) -> Option<String> {
    let path = if cfg!(windows) { path.replace('\\', "/") } else { path.to_owned() };
    let path = path.trim_start_matches("./").trim_end_matches('/');
    let fine = !path.is_empty()
        && !path.starts_with('/')
        && path.chars().count() <= MAX_TEXT
        && !path.chars().any(char::is_control)
        && !path.split('/').any(|part| matches!(part, "" | "." | ".."));
    fine.then(|| path.to_owned())
}

/// The path in a `file:` URI, percent-decoded, or a plain absolute path; `None` for other places.
#[must_use]
pub fn local(text: &str) -> Option<Vec<u8>> {
    let Some(rest) = text.strip_prefix("file://") else {
        return (text.starts_with('/') || (cfg!(windows) && text.get(1..2) == Some(":")))
            .then(|| text.as_bytes().to_vec());
    };
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return None;
    }
    let mut bytes = path.bytes();
    let mut out = Vec::with_capacity(path.len());
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
            let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
            out.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            out.push(byte);
        }
    }
    // `/c:/x` of Windows is `c:/x`
    if cfg!(windows) && out.get(2) == Some(&b':') {
        out.remove(0);
    }
    (!out.contains(&0)).then_some(out)
}

/// A name of a tool that can be shown; anything else than a plain word may be text that was meant for somebody.
#[must_use]
pub fn word(text: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/');
    (!text.is_empty() && text.len() <= 64 && text.chars().all(plain)).then(|| text.to_owned())
}

/// A branch's name that can be shown: what Git itself allows, of bounded length.
#[must_use]
pub fn branch(text: &str) -> Option<String> {
    let odd = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '~' | '^' | ':' | '?' | '*' | '[' | '\\');
    let fine =
        !text.is_empty() && text.len() <= 255 && !text.contains("..") && !text.starts_with('-') && text != "HEAD";
    (fine && !text.chars().any(odd)).then(|| text.to_owned())
}

fn trimmed(path: &[u8]) -> &[u8] {
    let mut path = path;
    while let [rest @ .., last] = path
        && is_separator(*last)
        && !rest.is_empty()
    {
        path = rest;
    }
    path
}

fn is_separator(byte: u8) -> bool {
    byte == b'/' || (cfg!(windows) && byte == b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_in_the_repository_is_in_it() {
        let root = Root::new(b"/srv/repo/");
        for inside in ["/srv/repo", "/srv/repo/", "/srv/repo/a", "/srv/repo//"] {
            assert!(root.holds_text(inside), "{inside}");
        }
        for outside in ["/srv/repository", "/srv", "", "/", "srv/repo", "/srv/repo/../x", "/srv/repo/./a", "/srv/Repo"]
        {
            assert!(!root.holds_text(outside), "{outside}");
        }
        assert!(Root::new(b"/").holds_text("/a") && Root::new(b"/").holds_text("/"));
    }

    #[test]
    fn files_are_named_from_the_repository_on_or_not_at_all() {
        let root = Root::new(b"/srv/repo");
        assert_eq!(root.file("/srv/repo/src/a.rs").as_deref(), Some("src/a.rs"));
        for odd in ["/srv/repo", "/srv/repo/a\nb", "/srv/repo/../../etc/passwd", "/etc/passwd", "src/a.rs"] {
            assert_eq!(root.file(odd), None, "{odd}");
        }
        assert_eq!(root.file(&format!("/srv/repo/{}", "x".repeat(MAX_TEXT + 1))), None);
    }

    #[test]
    fn uris_are_decoded_and_remote_ones_are_none() {
        assert_eq!(local("file:///srv/a%20b").as_deref(), Some(&b"/srv/a b"[..]));
        assert_eq!(local("/srv/a%20b").as_deref(), Some(&b"/srv/a%20b"[..]));
        for odd in
            ["vscode-remote://ssh/srv", "file://host/srv", "file:///a%2", "file:///a%zz", "file:///a%00", "a", ""]
        {
            assert_eq!(local(odd), None, "{odd}");
        }
    }

    #[test]
    fn texts_that_are_no_names_are_not_shown() {
        assert_eq!(word("apply_patch").as_deref(), Some("apply_patch"));
        assert_eq!(word("mcp__x.y:z/w").as_deref(), Some("mcp__x.y:z/w"));
        for odd in ["", "rm -rf", "a\u{202e}b", &"x".repeat(65), "ignore all previous instructions"] {
            assert_eq!(word(odd), None, "{odd}");
        }
        assert_eq!(branch("feat/x").as_deref(), Some("feat/x"));
        for odd in ["", "a b", "a..b", "-x", "HEAD", "a\u{7}"] {
            assert_eq!(branch(odd), None, "{odd}");
        }
    }
}
