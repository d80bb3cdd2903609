//! What `.gitmodules` says of submodules: their names and addresses. Nothing is ever done with either but to show them.
//! Trust: the file is the repository's: bounded, never through a link; addresses are shown without what could be a secret.

use crate::{open_beneath, repo::Repo};
use gix::bstr::{BStr, BString, ByteSlice as _};
use std::{collections::BTreeMap, path::Path};

/// Bytes of `.gitmodules` at most.
const MAX_FILE: u64 = 1 << 20;
/// Bytes of a name or an address that is shown, at most.
const MAX_SHOWN: usize = 2 << 10;

/// What one `.gitmodules` says, by path.
#[derive(Debug, Default)]
pub struct Declared(BTreeMap<Vec<u8>, Entry>);

/// One submodule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: BString,
    /// Its address, as it is written.
    url: Option<BString>,
}

impl Entry {
    /// Its name, unless it is too long to be one.
    #[must_use]
    pub fn shown_name(&self) -> Option<String> {
        (self.name.len() <= MAX_SHOWN).then(|| self.name.to_str_lossy().into_owned())
    }

    /// Its address without user, password, query and fragment, unless it is too long to be one.
    #[must_use]
    pub fn shown_url(&self) -> Option<String> {
        self.url.as_ref().filter(|url| url.len() <= MAX_SHOWN).map(|url| masked(&url.to_str_lossy()))
    }
}

impl Declared {
    /// Reads the file in the working tree at `top`; one that is missing or broken says nothing.
    #[must_use]
    pub fn read(top: &Path) -> Self {
        let text = open_beneath::read(top, b".gitmodules", MAX_FILE);
        text.map(|text| Self::parse(&text)).unwrap_or_default()
    }

    /// From the contents of the file.
    #[must_use]
    pub fn parse(text: &[u8]) -> Self {
        let meta = gix::config::file::Metadata::from(gix::config::Source::Local);
        let options = gix::config::file::init::Options { lossy: true, ..Default::default() };
        let Ok(file) = gix::config::File::from_bytes_no_includes(text, meta, options) else { return Self::default() };
        let mut by_name: BTreeMap<BString, (Option<BString>, Option<BString>)> = BTreeMap::new();
        for section in file.sections_by_name("submodule").into_iter().flatten() {
            let Some(name) = section.header().subsection_name() else { continue };
            let (path, url) = by_name.entry(name.to_owned()).or_default();
            *path = section.value("path").or(path.take());
            *url = section.value("url").or(url.take());
        }
        let with_path = |(name, (path, url)): (BString, (Option<BString>, Option<BString>))| {
            Some((path?.trim_end_with(|c| c == '/').to_vec(), Entry { name, url }))
        };
        Self(by_name.into_iter().filter_map(with_path).collect())
    }

    /// What it says of the submodule at `path`.
    #[must_use]
    pub fn at(&self, path: &[u8]) -> Option<&Entry> {
        self.0.get(path)
    }

    /// Whether Git has `repo` take part in the submodule at `path`. One without a name takes part, since Git cannot tell.
    #[must_use]
    pub fn is_active(&self, repo: &Repo, path: &[u8]) -> bool {
        let Some(entry) = self.at(path) else { return true };
        let snapshot = repo.git.config_snapshot();
        let config = snapshot.plumbing();
        let name: &BStr = entry.name.as_ref();
        if let Ok(Some(active)) = config.boolean_by("submodule", Some(name), "active") {
            return active;
        }
        // pathspecs that choose submodules are not read: what is checked out was chosen
        config.string("submodule.active").is_some() || config.string_by("submodule", Some(name), "url").is_some()
    }
}

/// `url` without what may be a secret.
fn masked(url: &str) -> String {
    let mut out = String::with_capacity(url.len());
    let mut rest = url.split(['?', '#']).next().unwrap_or_default();
    while let Some(at) = rest.find("://") {
        let (scheme, after) = rest.split_at(at + 3);
        out.push_str(scheme);
        rest = without_user(after);
    }
    if !out.is_empty() {
        return out + rest;
    }
    // `user@host:path`
    let host = rest.split('/').next().unwrap_or_default();
    match host.rfind('@') {
        Some(at) if host.contains(':') => rest[at + 1..].to_owned(),
        _ => rest.to_owned(),
    }
}

/// What follows the user and the password. A password may hold a slash that nobody wrote as `%2F`.
fn without_user(after: &str) -> &str {
    let authority = after.split('/').next().unwrap_or_default();
    let port = authority.split_once(':').map(|(_, port)| port);
    let cut = match authority.rfind('@') {
        None if port.is_some_and(|port| !port.bytes().all(|byte| byte.is_ascii_digit())) => after.rfind('@'),
        at => at,
    };
    cut.map_or(after, |at| &after[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_of_an_address_is_shown() {
        for (url, shown) in [
            ("https://example.org/a.git", "https://example.org/a.git"),
            ("https://user:secret@example.org:8443/a.git", "https://example.org:8443/a.git"),
            ("https://secret@example.org/a@b", "https://example.org/a@b"),
            ("https://user:se/cret@example.org/a", "https://example.org/a"),
            ("https://example.org/a?token=secret", "https://example.org/a"),
            ("https://example.org/a#secret", "https://example.org/a"),
            ("https://u@x:secret@example.org/a", "https://example.org/a"),
            ("git@example.org:org/a.git", "example.org:org/a.git"),
            ("user:secret@example.org:org/a", "example.org:org/a"),
            ("ext::curl https://u:secret@h/x", "ext::curl https://h/x"),
            ("https://a://u:secret@h/x", "https://a://h/x"),
            ("../sub", "../sub"),
            ("./a@b/c", "./a@b/c"),
            ("", ""),
        ] {
            assert_eq!(masked(url), shown, "{url}");
        }
    }

    #[test]
    fn the_file_is_read_as_git_reads_it() {
        let text = "[submodule \"n\"]\n\tpath = a/b/\n\turl = ../x\n[submodule \"n\"]\n\turl = ../y\n[submodule \"o\"]\n\turl = z\n";
        let declared = Declared::parse(text.as_bytes());
        let entry = declared.at(b"a/b").expect("it has a path");
        assert_eq!((entry.shown_name().as_deref(), entry.shown_url().as_deref()), (Some("n"), Some("../y")));
        assert!(declared.at(b"o").is_none());
        assert!(Declared::parse(b"[submodule").at(b"").is_none());
    }
}
