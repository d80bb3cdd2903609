//! The operator's own Git configuration, of which a list of keys is passed on to every run of Git.
//! Trust: files of the operator's, read by the operator's git before anything of a repository was; the rest is dropped.

use crate::{
    asked::ask,
    git::{YIELDING, path},
};
use bulkhead_ipc::edge::write::Programs;
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Keys that are passed on as they are, besides those that a repository's own outrank ([`YIELDING`]).
const PASSED: &[&str] = &["merge.renames", "diff.renames", "init.defaultbranch", "user.useconfigonly"];
/// Sections that fetch and push are told besides: by whom, and by which rules, a remote is asked for.
const NETWORK_SECTIONS: &[&str] = &["credential", "http", "url"];
/// Bytes of a value at most; a longer one is dropped.
const MAX_VALUE: usize = 1_024;
/// Files that are included for one repository at most.
const MAX_INCLUDED: usize = 8;
/// Settings at most.
const MAX_SETTINGS: usize = 200;

/// Of the operator's own configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Own {
    /// What Git is told, in `-c` form.
    pub pinned: Vec<(String, String)>,
    /// The operator's commits are to be signed (`commit.gpgSign`).
    pub signs: bool,
    /// `core.sshCommand`.
    pub ssh_command: Option<String>,
    /// `core.hooksPath`, `~/` resolved; where it is relative, to the working tree.
    pub hooks_path: Option<PathBuf>,
    /// `filter.*`, for `--filters user`: see [`crate::programs::with_filters`].
    pub filters: Vec<(String, String)>,
    /// Files that every Git reads because of what is pinned: ignored and attributed paths.
    pub files: Vec<Vec<u8>>,
    /// Files that fetch and push read besides: stored credentials, certificates.
    pub network_files: Vec<Vec<u8>>,
    /// The port of a proxy that `http.proxy` names.
    pub proxy_port: Option<u16>,
}

/// Where the operator's configuration is: what its own git would look at.
#[derive(Debug, Clone, Default)]
pub struct Home {
    /// `HOME`.
    pub home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`.
    pub xdg_config_home: Option<PathBuf>,
    /// Further variables by which the operator moves it: `GIT_CONFIG_GLOBAL`, `GIT_CONFIG_SYSTEM`, `GIT_CONFIG_NOSYSTEM`.
    pub moved: Vec<(String, OsString)>,
}

/// Reads what the operator's own git says of the operator's scopes, system and global; the repository's are not looked at,
/// and neither are files that are included for certain repositories only.
///
/// # Errors
/// Why git does not say.
pub fn read(programs: &Programs, home: &Home) -> Result<Own, String> {
    read_for(programs, home, None)
}

/// The same with files that are included for the repository whose canonical git directory this is (`includeIf.gitdir`). Other
/// conditions are about what stands in the repository, and never hold here.
///
/// # Errors
/// Why git does not say.
pub fn read_for(programs: &Programs, home: &Home, git_dir: Option<&Path>) -> Result<Own, String> {
    let mut environment: Vec<(OsString, OsString)> = Vec::new();
    let mut set = |name: &str, value: OsString| environment.push((name.into(), value));
    set("HOME", home.home.clone().unwrap_or_else(|| "/nonexistent".into()).into());
    if let Some(xdg) = &home.xdg_config_home {
        set("XDG_CONFIG_HOME", xdg.into());
    }
    for (name, value) in &home.moved {
        set(name, value.clone());
    }
    // no repository is looked for: the root directory may be one
    set("GIT_DIR", "/nonexistent".into());
    let git = path(&programs.git);
    let listed = |more: &[&str]| -> Result<Vec<Entry>, String> {
        let words = ["config", "--list", "--null", "--show-scope", "--show-origin", "--includes"];
        Ok(entries(&ask(&git, &[&words, more].concat(), &environment)?))
    };
    let mut all = Vec::new();
    let mut included = 0;
    for entry in listed(&[])?.into_iter().filter(|entry| matches!(entry.scope.as_str(), "system" | "global")) {
        let file = git_dir.and_then(|git_dir| entry.included_for(git_dir, home));
        all.push(entry);
        // a file that is not there counts as an empty one, as to git
        if let Some(file) = file.filter(|file| file.is_file()).filter(|_| included < MAX_INCLUDED) {
            included += 1;
            all.extend(listed(&["--file", file.to_str().unwrap_or_default()])?);
        }
    }
    Ok(Own::of(&all, home))
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    scope: String,
    /// The file that it stands in, where it stands in one.
    file: Option<PathBuf>,
    /// As git shows it, with section and last part in lower case.
    key: String,
    value: String,
}

impl Entry {
    /// The file that this includes, where it includes one for a git directory.
    fn included_for(&self, git_dir: &Path, home: &Home) -> Option<PathBuf> {
        let condition = self.key.strip_prefix("includeif.")?.strip_suffix(".path")?;
        let (pattern, fold) = match condition.split_once(':')? {
            ("gitdir", pattern) => (pattern, false),
            ("gitdir/i", pattern) => (pattern, true),
            _ => return None,
        };
        let beside = self.file.as_ref()?.parent()?;
        let mut pattern = match (pattern.strip_prefix("~/"), pattern.strip_prefix("./")) {
            (Some(rest), _) => home.home.as_ref()?.join(rest).to_str()?.to_owned(),
            (_, Some(rest)) => beside.join(rest).to_str()?.to_owned(),
            _ if pattern.starts_with('/') => pattern.to_owned(),
            _ => format!("**/{pattern}"),
        };
        if pattern.ends_with('/') {
            pattern.push_str("**");
        }
        let mut name = git_dir.to_str()?.to_owned();
        if fold {
            (pattern, name) = (pattern.to_lowercase(), name.to_lowercase());
        }
        if !matches(pattern.as_bytes(), name.as_bytes()) {
            return None;
        }
        match self.value.strip_prefix("~/") {
            Some(rest) => Some(home.home.as_ref()?.join(rest)),
            None => Some(beside.join(&self.value)),
        }
    }
}

/// Whether a path matches as in `.gitignore`: `*` and `?` stay within a name, `**` crosses names. Brackets match nothing.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    // where the latest star stands that may take in more, whether it crosses names, and how far it has
    let (mut at, mut from, mut star) = (0, 0, None::<(usize, bool, usize)>);
    let mut crossing = None::<(usize, bool, usize)>;
    loop {
        let rest = &pattern[at..];
        if let Some(after) = rest.strip_prefix(b"**") {
            // `**/` also matches no name at all
            let after = after.strip_prefix(b"/").unwrap_or(after);
            at = pattern.len() - after.len();
            crossing = Some((at, true, from));
            star = None;
            continue;
        }
        match (rest.first(), name.get(from)) {
            (Some(b'*'), _) => {
                at += 1;
                star = Some((at, false, from));
                continue;
            }
            (None, None) => return true,
            (Some(b'?'), Some(byte)) if *byte != b'/' => (at, from) = (at + 1, from + 1),
            (Some(wanted), Some(byte)) if wanted == byte && *wanted != b'[' => (at, from) = (at + 1, from + 1),
            _ => {
                // the nearest star takes in one more
                let inner = star.filter(|(_, _, taken)| name.get(*taken).is_some_and(|byte| *byte != b'/'));
                let Some((after, crosses, taken)) = inner.or(crossing) else { return false };
                if taken >= name.len() {
                    return false;
                }
                (at, from) = (after, taken + 1);
                if crosses {
                    (crossing, star) = (Some((after, true, taken + 1)), None);
                } else {
                    star = Some((after, false, taken + 1));
                }
            }
        }
    }
}

/// Settings as they are listed: scope, origin, key and value, each ended by a null byte.
fn entries(said: &[u8]) -> Vec<Entry> {
    let mut fields = said.split(|byte| *byte == 0).map(|field| String::from_utf8_lossy(field).into_owned());
    let mut entries = Vec::new();
    while let (Some(scope), Some(origin), Some(entry)) = (fields.next(), fields.next(), fields.next()) {
        // a key without a value means true
        let (key, value) = entry.split_once('\n').unwrap_or((&entry, "true"));
        let file = origin.strip_prefix("file:").map(PathBuf::from);
        entries.push(Entry { scope, file, key: key.to_owned(), value: value.to_owned() });
    }
    entries
}

impl Own {
    fn of(entries: &[Entry], home: &Home) -> Self {
        let mut own = Self::default();
        let (mut excludes, mut attributes) = (None, None);
        for Entry { key, value, .. } in entries {
            if value.len() > MAX_VALUE || value.contains(char::is_control) {
                continue;
            }
            let section = key.split('.').next().unwrap_or_default();
            match key.as_str() {
                "commit.gpgsign" => own.signs = is_true(value),
                "core.sshcommand" => own.ssh_command = Some(value.clone()).filter(|value| !value.is_empty()),
                "core.hookspath" => own.hooks_path = of_hooks(value, home),
                "core.excludesfile" => excludes = Some(value.clone()),
                "core.attributesfile" => attributes = Some(value.clone()),
                "credential.helper" => own.helper(value, home),
                key if section == "filter" => own.filters.push((key.to_owned(), value.clone())),
                key if YIELDING.contains(&key) || PASSED.contains(&key) => own.pin(key, value),
                key if NETWORK_SECTIONS.contains(&section) => own.of_network(key, value, home),
                _ => {}
            }
        }
        own.named("core.excludesFile", excludes, "ignore", home);
        own.named("core.attributesFile", attributes, "attributes", home);
        own.pinned.truncate(MAX_SETTINGS);
        own.filters.truncate(MAX_SETTINGS);
        own
    }

    fn pin(&mut self, key: &str, value: &str) {
        self.pinned.push((key.to_owned(), value.to_owned()));
    }

    /// What is said of remotes. No program is among it, and nothing that writes a file.
    fn of_network(&mut self, key: &str, value: &str, home: &Home) {
        let last = key.rsplit('.').next().unwrap_or_default();
        if matches!(last, "helper" | "cookiefile" | "savecookies") {
            return;
        }
        if last == "proxy" {
            let host = value.split_once("://").map_or(value, |(_, rest)| rest);
            let number = host.trim_end_matches('/').rsplit_once(':').map(|(_, port)| port.parse());
            // the port of a proxy that names none, to curl
            self.proxy_port = number.map_or(Some(1080), Result::ok);
        }
        if matches!(last, "sslcainfo" | "sslcapath" | "sslcert" | "sslkey" | "proxysslcainfo") {
            let file = expanded(value, home).and_then(|file| file.canonicalize().ok());
            self.network_files.extend(file.map(|file| file.as_os_str().as_encoded_bytes().to_vec()));
        }
        self.pin(key, value);
    }

    /// A file that is named by a key, or has a usual place, if it is there; else an empty one, lest Git look for it.
    fn named(&mut self, key: &str, value: Option<String>, usual: &str, home: &Home) {
        let usual = || {
            let xdg = home.xdg_config_home.clone().or_else(|| Some(home.home.clone()?.join(".config")));
            xdg.map(|dir| dir.join("git").join(usual))
        };
        let file = value.map_or_else(usual, |value| expanded(&value, home));
        match file.and_then(|file| file.canonicalize().ok()).filter(|file| file.is_file()) {
            Some(file) if file.to_str().is_some() => {
                self.pin(key, &file.display().to_string());
                self.files.push(file.as_os_str().as_encoded_bytes().to_vec());
            }
            _ => self.pin(key, "/dev/null"),
        }
    }

    /// Helpers that are part of Git: one that reads a file of the operator's. Others are programs, which the jail does not
    /// start.
    fn helper(&mut self, value: &str, home: &Home) {
        let words: Vec<&str> = value.split_whitespace().collect();
        let file = match words.as_slice() {
            // an empty value forgets those before it
            [] => return self.pinned.retain(|(key, _)| key != "credential.helper"),
            ["store"] => home.home.as_ref().map(|home| home.join(".git-credentials")),
            ["store", "--file", file] => expanded(file, home),
            ["store", option] => option.strip_prefix("--file=").and_then(|file| expanded(file, home)),
            _ => None,
        };
        let file = file.and_then(|file| file.canonicalize().ok()).filter(|file| file.is_file());
        let plain = |file: &PathBuf| {
            file.to_str().is_some_and(|file| file.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c)))
        };
        if let Some(file) = file.filter(plain) {
            self.pin("credential.helper", &format!("store --file={}", file.display()));
            self.network_files.push(file.as_os_str().as_encoded_bytes().to_vec());
        }
    }
}

/// `~/` is the operator's home; a relative path means another file in every place.
fn expanded(value: &str, home: &Home) -> Option<PathBuf> {
    match value.strip_prefix("~/") {
        Some(rest) => Some(home.home.as_ref()?.join(rest)),
        None => Some(Path::new(value)).filter(|path| path.is_absolute()).map(Path::to_owned),
    }
}

/// Where hooks lie: also beneath the working tree, wherever that is.
fn of_hooks(value: &str, home: &Home) -> Option<PathBuf> {
    match value {
        "" => None,
        value if value.starts_with('~') => expanded(value, home),
        value => Some(value.into()),
    }
}

/// As Git reads a truth value.
fn is_true(value: &str) -> bool {
    ["true", "yes", "on", "1"].iter().any(|word| value.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::{Surroundings, find};
    use std::fs;

    fn own(config: &str, more: &[(&str, &str)]) -> Own {
        let keep = tempfile::tempdir().expect("a directory");
        let dir = keep.path().canonicalize().expect("it is there");
        fs::write(dir.join(".gitconfig"), config.replace("DIR", &dir.display().to_string())).expect("a file");
        for (name, text) in more {
            let file = dir.join(name);
            fs::create_dir_all(file.parent().expect("it has one")).expect("a directory");
            fs::write(file, text).expect("a file");
        }
        let programs = find(&Surroundings { path: std::env::var_os("PATH"), ..Surroundings::default() });
        let moved = vec![("GIT_CONFIG_NOSYSTEM".to_owned(), "1".into())];
        let home = Home { home: Some(dir.clone()), xdg_config_home: None, moved };
        let mut own = read(&programs.expect("a git"), &home).expect("git says");
        let short = |text: &str| text.replace(&dir.display().to_string(), "DIR");
        own.pinned.iter_mut().for_each(|(_, value)| *value = short(value));
        own.files
            .iter_mut()
            .chain(&mut own.network_files)
            .for_each(|file| *file = short(&String::from_utf8_lossy(file)).into_bytes());
        own
    }

    fn pinned(own: &Own) -> Vec<String> {
        own.pinned.iter().map(|(key, value)| format!("{key}={value}")).collect()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn identity_and_line_endings_are_passed_on_and_nothing_that_names_a_program() {
        let config = "[user]\n name = A B\n email = a@b.c\n signingkey = x\n[core]\n autocrlf\n editor = evil\n \
                      pager = evil\n fsmonitor = evil\n hooksPath = /evil\n sshCommand = ssh -i key\n\
                      [alias]\n x = !evil\n[filter \"x\"]\n clean = evil\n[diff \"x\"]\n textconv = evil\n\
                      [commit]\n gpgSign = yes\n[gpg]\n program = evil\n[include]\n path = DIR/more\n";
        let own = own(config, &[("more", "[committer]\n email = c@d.e\n")]);
        let wanted = [
            "user.name=A B",
            "user.email=a@b.c",
            "core.autocrlf=true",
            "committer.email=c@d.e",
            "core.excludesFile=/dev/null",
            "core.attributesFile=/dev/null",
        ];
        assert_eq!(pinned(&own), wanted);
        assert_eq!(own.filters, [("filter.x.clean".to_owned(), "evil".to_owned())], "kept apart");
        assert!(own.signs && own.ssh_command.as_deref() == Some("ssh -i key") && own.files.is_empty());
    }

    #[test]
    fn patterns_match_as_git_matches_them() {
        for (pattern, name, wanted) in [
            ("/srv/jobs/**", "/srv/jobs/a/.git", true),
            ("/srv/jobs/**", "/srv/jobsx/a/.git", false),
            ("/srv/jobs/a/.git", "/srv/jobs/a/.git", true),
            ("/srv/*/.git", "/srv/a/.git", true),
            ("/srv/*/.git", "/srv/a/b/.git", false),
            ("**/jobs/**", "/srv/jobs/a/b/.git", true),
            ("**/jobs/**", "/srv/jobsite/a/.git", false),
            ("**/a?c/**", "/x/abc/.git", true),
            ("**/a?c/**", "/x/a/c/.git", false),
            ("/srv/**/x/.git", "/srv/x/.git", true),
            ("/srv/**/x/.git", "/srv/a/b/x/.git", true),
            ("/s*v/w*k/**", "/srv/weak/x", true),
            ("/[s]rv/**", "/srv/x", false),
            ("", "/srv", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), wanted, "{pattern} {name}");
        }
        // many stars are tried one after the other, never all ways at once
        assert!(!matches("*a".repeat(500).as_bytes(), "b".repeat(500).as_bytes()));
        assert!(matches("*a".repeat(500).as_bytes(), "a".repeat(1_000).as_bytes()));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_included_for_the_repository_counts_and_for_another_does_not() {
        let keep = tempfile::tempdir().expect("a directory");
        let dir = keep.path().canonicalize().expect("it is there");
        let config = "[user]\n name = A\n email = private@x.y\n[includeIf \"gitdir:~/jobs/\"]\n path = of-jobs\n\
                      [includeIf \"gitdir:play/\"]\n path = ~/of-play\n[includeIf \"onbranch:main\"]\n path = of-main\n";
        let files =
            [(".gitconfig", config), ("of-jobs", "[user]\n email = jobs@x.y\n"), ("of-play", "[user]\n name = B\n")];
        for (name, text) in files {
            fs::write(dir.join(name), text).expect("a file");
        }
        let programs = find(&Surroundings { path: std::env::var_os("PATH"), ..Surroundings::default() });
        let programs = programs.expect("a git");
        let moved = vec![("GIT_CONFIG_NOSYSTEM".to_owned(), "1".into())];
        let home = Home { home: Some(dir.clone()), xdg_config_home: None, moved };
        let last = |git_dir: Option<PathBuf>, key: &str| {
            let own = read_for(&programs, &home, git_dir.as_deref()).expect("git says");
            own.pinned.into_iter().rfind(|(found, _)| found == key).map(|(_, value)| value)
        };
        for (git_dir, name, email) in [
            (None, "A", "private@x.y"),
            (Some(dir.join("jobs/a/.git")), "A", "jobs@x.y"),
            (Some(dir.join("play/a/.git")), "B", "private@x.y"),
            (Some(dir.join("else/.git")), "A", "private@x.y"),
        ] {
            assert_eq!(last(git_dir.clone(), "user.name").as_deref(), Some(name), "{git_dir:?}");
            assert_eq!(last(git_dir.clone(), "user.email").as_deref(), Some(email), "{git_dir:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn files_that_are_named_or_usual_are_passed_on_with_the_right_to_read_them() {
        let config = "[core]\n excludesFile = ~/ignored\n[credential]\n helper = cache\n helper = store\n helper = !evil\n\
                      [http]\n sslCAInfo = /etc/passwd\n proxy = http://p:3128/\n saveCookies\n[credential \"https://a\"]\n username = u\n helper = evil\n";
        let files = [("ignored", "x\n"), (".config/git/attributes", "* -text\n"), (".git-credentials", "")];
        let own = own(config, &files);
        let wanted = [
            "credential.helper=store --file=DIR/.git-credentials",
            "http.sslcainfo=/etc/passwd",
            "http.proxy=http://p:3128/",
            "credential.https://a.username=u",
            "core.excludesFile=DIR/ignored",
            "core.attributesFile=DIR/.config/git/attributes",
        ];
        assert_eq!(pinned(&own), wanted);
        let text = |files: &[Vec<u8>]| -> Vec<String> {
            files.iter().map(|file| String::from_utf8_lossy(file).into_owned()).collect()
        };
        assert_eq!(text(&own.files), ["DIR/ignored", "DIR/.config/git/attributes"]);
        assert_eq!(text(&own.network_files), ["DIR/.git-credentials", "/etc/passwd"]);
        assert_eq!(own.proxy_port, Some(3128));
    }
}
