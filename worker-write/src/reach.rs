//! Which paths and ports one question needs: the repository, and what it names outside of it that lies beneath the roots.
//! Trust: addresses of remotes come from the repository's configuration, paths of worktrees from an agent; both only choose
//! among what the operator allows.

use crate::{
    git::{Git, NotRun, path},
    text::{self, Unread},
};
use bulkhead_contract::address;
use bulkhead_ipc::edge::write::{Allowed, Operation};
use std::path::{Component, Path, PathBuf};

/// Alternates of a repository that are looked at.
const MAX_PLACES: usize = 16;
/// Different directories and different ports of its remotes that are opened, of each; with more, nothing is fetched or pushed.
pub const MAX_REMOTES: usize = 64;
/// Bytes of a file of alternates at most, as in reads; one that is longer is refused.
const MAX_ALTERNATES: u64 = 64 << 10;
/// Keys that addresses stand in.
const ADDRESSES: &str = r"^(remote\..*\.(url|pushurl)|url\..*\.(insteadof|pushinsteadof))$";
/// Where names are asked for.
const NAMES: u16 = 53;

/// What a process may reach, as [`bulkhead_sandbox`]'s jail takes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    /// Directories beneath which files are changed.
    pub changed: Vec<PathBuf>,
    /// Directories, files and sockets that are read, or connected to.
    pub read: Vec<PathBuf>,
    /// Files that are executed.
    pub executed: Vec<PathBuf>,
    /// Directories beneath which everything may be read and executed: for hooks, where the operator has them run.
    pub programs: Vec<PathBuf>,
    /// Ports that may be connected to.
    pub ports: Vec<u16>,
}

/// Where the repository's remotes are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remotes {
    /// Directories, as they are written down.
    pub paths: Vec<PathBuf>,
    /// TCP ports of those that are reached over a network.
    pub ports: Vec<u16>,
    /// There are more than [`MAX_REMOTES`] of either: the address that is left out first, by its key, and how many are.
    pub left_out: Option<(String, usize)>,
    /// There are more addresses than were listed.
    pub cut: bool,
    /// What in these addresses is nobody's to be shown.
    pub secrets: Vec<String>,
}

/// All that the operator allows: what the process is confined to before it looks at anything.
#[must_use]
pub fn ceiling(allowed: &Allowed, network: bool) -> Reach {
    let mut reach = repository(allowed, network);
    reach.changed.extend(paths(&allowed.roots));
    reach
}

/// What this question needs of it.
#[must_use]
pub fn of(allowed: &Allowed, operation: &Operation, network: bool, remotes: &Remotes) -> Reach {
    let mut reach = repository(allowed, network);
    let roots: Vec<PathBuf> = paths(&allowed.roots).collect();
    let held = |dir: &Path| roots.iter().any(|root| dir.starts_with(root));
    let own = [path(&allowed.git_dir), path(&allowed.common_dir)];
    reach.read.extend(lent(allowed).found);
    match operation {
        Operation::CreateWorktree { path: named, .. } | Operation::RemoveWorktree { path: named, .. } => {
            // hooks are not to have what lies beside the new working tree
            reach.programs.clear();
            let parent = parent(&path(&allowed.root).join(named));
            reach.changed.extend(parent.filter(|dir| held(dir) && !own.iter().any(|own| dir.starts_with(own))));
        }
        Operation::Fetch | Operation::Push { .. } => {
            let dirs: Vec<PathBuf> =
                remotes.paths.iter().filter_map(|dir| repository_at(&path(&allowed.root).join(dir))).collect();
            for dir in dirs.into_iter().filter(|dir| held(dir)) {
                reach.read.extend(alternates(&dir, &held).found);
                if matches!(operation, Operation::Fetch) { &mut reach.read } else { &mut reach.changed }.push(dir);
            }
            reach.ports.extend(&remotes.ports);
            reach.ports.extend(&allowed.programs.network_ports);
            if !reach.ports.is_empty() {
                reach.ports.push(NAMES);
            }
            reach.ports.sort_unstable();
            reach.ports.dedup();
        }
        _ => {}
    }
    reach
}

/// What every question needs.
fn repository(allowed: &Allowed, network: bool) -> Reach {
    let programs = &allowed.programs;
    let mut reach = Reach {
        changed: vec![path(&allowed.root), path(&allowed.git_dir), path(&allowed.common_dir)],
        read: paths(&programs.shared).collect(),
        executed: paths(&programs.files).collect(),
        ..Reach::default()
    };
    // a hook's programs may be anywhere in the repository, and hooks of it in its git directory
    if let (Some(hooks), false) = (&allowed.hooks, network) {
        reach.programs = reach.changed.clone();
        reach.programs.extend(paths(&hooks.programs));
        reach.read.extend(paths(&hooks.shared));
    }
    if network {
        reach.executed.extend(paths(&programs.network_files));
        reach.read.extend(paths(&programs.network_shared));
        reach.read.extend(programs.ssh_agent.as_deref().map(path));
    }
    reach
}

fn paths(list: &[Vec<u8>]) -> impl Iterator<Item = PathBuf> + '_ {
    list.iter().map(|bytes| path(bytes))
}

/// The nearest directory above a path that is there, canonical; what is between the two is made beneath it.
fn parent(named: &Path) -> Option<PathBuf> {
    if named.components().any(|part| part == Component::ParentDir) {
        // resolved as a whole or not at all: a step up from what is not there leads anywhere
        return named.parent()?.canonicalize().ok();
    }
    named.ancestors().skip(1).find_map(|dir| dir.canonicalize().ok()).filter(|dir| dir.is_dir())
}

/// Where the repository of a `file` remote lies, as Git looks for it: the git directory, or the bare repository itself.
pub(crate) fn repository_at(dir: &Path) -> Option<PathBuf> {
    let with_suffix = |dir: &Path| {
        let mut name = dir.as_os_str().to_owned();
        name.push(".git");
        PathBuf::from(name)
    };
    let candidates = [dir.join(".git"), dir.to_owned(), with_suffix(dir)];
    candidates.into_iter().filter_map(|dir| dir.canonicalize().ok()).find(|dir| dir.join("objects").is_dir())
}

/// Object directories that a repository borrows from, and the ones that these borrow from.
#[derive(Debug, Default)]
pub(crate) struct Lent {
    /// Those that lie where they may.
    found: Vec<PathBuf>,
    /// Why there are others; the first reason that was met.
    pub(crate) unfit: Option<Unlent>,
}

/// Why not all that a repository borrows from is known, or may be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unlent {
    /// One lies where nothing may be read, or stands in quotes.
    Elsewhere,
    /// There are more than [`MAX_PLACES`].
    Many,
    /// One of the files that name them was not read.
    Unread(Unread),
}

impl Unlent {
    /// What is the matter with `objects/info/alternates`, as the rest of a sentence.
    pub(crate) fn said(&self) -> String {
        match self {
            Self::Elsewhere => "names an object directory outside the allowed roots".to_owned(),
            Self::Many => "names too many object directories".to_owned(),
            Self::Unread(why) => format!("is {why}"),
        }
    }
}

/// What the served repository borrows from. It may lie in the repository, or where the operator said; reads refuse the rest by
/// the same rule, and to them a write may show no more.
pub(crate) fn lent(allowed: &Allowed) -> Lent {
    let mut may: Vec<PathBuf> = paths(&allowed.lenders).collect();
    may.extend([path(&allowed.root), path(&allowed.git_dir), path(&allowed.common_dir)]);
    alternates(&path(&allowed.common_dir), &|dir| may.iter().any(|may| dir.starts_with(may)))
}

/// Why not all is known that a repository at the other side of a `file` remote borrows from, if so. What lies beyond the
/// roots is left to the walls around the Git that reads there.
pub(crate) fn unread_alternates(allowed: &Allowed, common_dir: &Path) -> Option<Unlent> {
    let roots: Vec<PathBuf> = paths(&allowed.roots).collect();
    let lent = alternates(common_dir, &|dir| roots.iter().any(|root| dir.starts_with(root)));
    lent.unfit.filter(|unfit| *unfit != Unlent::Elsewhere)
}

/// Those of the repository at `common_dir`, by whether they are held; what is not there is passed over, as Git does.
fn alternates(common_dir: &Path, held: &impl Fn(&Path) -> bool) -> Lent {
    let mut lent = Lent::default();
    let mut open = vec![common_dir.join("objects")];
    while let Some(objects) = open.pop() {
        let text = match text::whole(&objects.join("info/alternates"), MAX_ALTERNATES) {
            Ok(text) => text.unwrap_or_default(),
            Err(why) => {
                lent.unfit.get_or_insert(Unlent::Unread(why));
                continue;
            }
        };
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            // one in quotes is of a form that nobody writes, and could be read in two ways
            if line.starts_with('"') {
                lent.unfit.get_or_insert(Unlent::Elsewhere);
                continue;
            }
            let Ok(dir) = objects.join(line).canonicalize() else { continue };
            if lent.found.contains(&dir) {
                continue;
            }
            if !held(&dir) {
                lent.unfit.get_or_insert(Unlent::Elsewhere);
                continue;
            }
            if lent.found.len() == MAX_PLACES {
                lent.unfit.get_or_insert(Unlent::Many);
                return lent;
            }
            open.push(dir.clone());
            lent.found.push(dir);
        }
    }
    lent
}

impl Remotes {
    /// Those that the repository's own configuration names.
    ///
    /// # Errors
    /// Those of [`Git::run`].
    pub fn read(git: &Git, allowed: &Allowed) -> Result<Self, NotRun> {
        let mut remotes = Self::default();
        for (dir, name) in [(&allowed.common_dir, "config"), (&allowed.git_dir, "config.worktree")] {
            let file = path(dir).join(name);
            // Git would wait for a pipe, and a link leads out
            if !matches!(text::there(&file), Ok(Some(found)) if found.is_file()) {
                continue;
            }
            let file = file.into_os_string();
            let words = ["config".as_ref(), "--null".as_ref(), "--file".as_ref(), file.as_os_str()];
            let pattern = ["--get-regexp".as_ref(), ADDRESSES.as_ref()];
            let run = git.run(words.into_iter().chain(pattern), None)?;
            for entry in run.stdout.split(|byte| *byte == 0) {
                let entry = String::from_utf8_lossy(entry);
                let Some((key, url)) = entry.split_once('\n') else { continue };
                if let Some(other) = key.strip_prefix("url.") {
                    // what another address is to begin with
                    let base = other.rsplit_once('.').map_or(other, |(base, _)| base);
                    remotes.secrets.extend(address::secrets(base));
                } else {
                    remotes.add(key, url);
                    remotes.secrets.extend(address::secrets(url));
                }
            }
            remotes.cut |= run.cut;
        }
        Ok(remotes)
    }

    /// Adds what the address at a key of the configuration leads to. Addresses of other kinds lead nowhere: Git is told not to
    /// follow them.
    pub fn add(&mut self, key: &str, url: &str) {
        let (path, port) = match url.split_once("://") {
            Some(("https", rest)) => (None, port(rest, 443)),
            Some(("ssh" | "git+ssh" | "ssh+git", rest)) => (None, port(rest, 22)),
            Some(("file", rest)) => (Some(rest), None),
            Some(_) => (None, None),
            // a colon before the first slash: host and path
            None => match url.split('/').next() {
                Some(first) if first.contains(':') => (None, Some(22)),
                _ => (Some(url), None),
            },
        };
        let path = path.map(PathBuf::from).filter(|path| !self.paths.contains(path));
        let port = port.filter(|port| !self.ports.contains(port));
        let full =
            path.is_some() && self.paths.len() == MAX_REMOTES || port.is_some() && self.ports.len() == MAX_REMOTES;
        if full {
            self.left_out.get_or_insert_with(|| (key.to_owned(), 0)).1 += 1;
        } else {
            self.paths.extend(path);
            self.ports.extend(port);
        }
    }

    /// Why not all of them can be opened, if so.
    #[must_use]
    pub fn too_many(&self) -> Option<String> {
        let said = match &self.left_out {
            Some((key, count)) => format!(
                "{} {count} more, of which {} is the first.",
                if self.cut { "There are at least" } else { "There are" },
                key.escape_debug().take(200).collect::<String>()
            ),
            None if self.cut => "There are more than can be listed.".to_owned(),
            None => return None,
        };
        Some(format!(
            "The repository's remotes name more than {MAX_REMOTES} directories or ports, and no more are opened for a fetch or a \
             push. {said} Nothing was done."
        ))
    }
}

/// The port of `[user@]host[:port]/path`; `None` where it is no number.
fn port(rest: &str, usual: u16) -> Option<u16> {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    // colons of an address in brackets belong to it
    let after = host.rsplit(']').next().unwrap_or_default();
    match after.rsplit_once(':') {
        Some((_, "")) | None => Some(usual),
        Some((_, number)) => number.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(unix)]
    use std::fs;

    #[test]
    fn an_address_gives_a_port_or_a_path_or_nothing() {
        let of = |url: &str| {
            let mut remotes = Remotes::default();
            remotes.add("remote.x.url", url);
            (remotes.paths.pop(), remotes.ports.pop())
        };
        let path = |text: &str| (Some(PathBuf::from(text)), None);
        for (url, wanted) in [
            ("https://example.org/a.git", (None, Some(443))),
            ("https://user:word@example.org:8443/a", (None, Some(8443))),
            ("https://[2001:db8::1]/a", (None, Some(443))),
            ("https://[2001:db8::1]:99/a", (None, Some(99))),
            ("https://example.org:/a", (None, Some(443))),
            ("https://example.org:99999/a", (None, None)),
            ("ssh://git@example.org:2222/a", (None, Some(2222))),
            ("git@example.org:a/b.git", (None, Some(22))),
            ("http://example.org/a", (None, None)),
            ("ext::sh -c x", (None, Some(22))),
            ("file:///srv/a", path("/srv/a")),
            ("/srv/a", path("/srv/a")),
            ("../a", path("../a")),
            ("./a:b", path("./a:b")),
        ] {
            assert_eq!(of(url), wanted, "{url}");
        }
    }

    #[test]
    fn remotes_are_counted_once_each_and_never_left_out_in_silence() {
        let mut remotes = Remotes::default();
        for number in 0..MAX_REMOTES {
            remotes.add("remote.a.url", &format!("/srv/{number}"));
            remotes.add("remote.b.url", &format!("https://host{number}.example/x"));
            remotes.add("remote.c.url", "git@example.org:x");
        }
        assert_eq!((remotes.paths.len(), &remotes.ports[..], remotes.too_many()), (MAX_REMOTES, &[443, 22][..], None));
        remotes.add("remote.d.url", "/srv/0");
        assert_eq!(remotes.too_many(), None);
        remotes.add("remote.e.url", "/srv/one/more");
        remotes.add("remote.f.pushurl", "/srv/two/more");
        // there is room for what is of the other kind
        remotes.add("remote.g.url", "ssh://h:2222/x");
        assert_eq!((remotes.paths.len(), &remotes.ports[..]), (MAX_REMOTES, &[443, 22, 2222][..]));
        let said = remotes.too_many().expect("there are more");
        assert!(said.contains("There are 2 more, of which remote.e.url is the first."), "{said}");
        remotes.cut = true;
        assert!(remotes.too_many().is_some_and(|said| said.contains("at least 2 more")));
        remotes.left_out = None;
        assert!(remotes.too_many().is_some_and(|said| said.contains("more than can be listed")));
    }

    #[cfg(unix)]
    #[test]
    fn only_what_lies_beneath_the_roots_is_added() {
        use std::os::unix::ffi::OsStrExt as _;
        let keep = tempfile::tempdir().expect("a directory");
        let base = keep.path().canonicalize().expect("it is there");
        for dir in ["in/repo/.git/objects/info", "in/bare.git/objects", "out/bare.git/objects", "in/borrowed/objects"] {
            fs::create_dir_all(base.join(dir)).expect("a directory");
        }
        std::os::unix::fs::symlink(base.join("out"), base.join("in/way-out")).expect("a link");
        let lines = format!("{0}/in/borrowed/objects\n{0}/out/bare.git/objects\n", base.display());
        fs::write(base.join("in/repo/.git/objects/info/alternates"), lines).expect("a file");
        let bytes = |name: &str| base.join(name).as_os_str().as_bytes().to_vec();
        let allowed = Allowed {
            root: bytes("in/repo"),
            git_dir: bytes("in/repo/.git"),
            common_dir: bytes("in/repo/.git"),
            roots: vec![bytes("in")],
            lenders: vec![bytes("in")],
            locks: None,
            programs: Default::default(),
            pinned: Vec::new(),
            hooks_path: None,
            hooks: None,
            filters: false,
            allow_unsigned: false,
            ssh_command: None,
            trust_repo_ssh_command: false,
            log_commands: false,
        };
        let added = |operation: &Operation, remotes: &Remotes| {
            let reach = of(&allowed, operation, operation.is_remote(), remotes);
            (reach.changed[3..].to_vec(), reach.read, reach.ports)
        };
        let borrowed = vec![base.join("in/borrowed/objects")];
        let elsewhere = |allowed: &Allowed| lent(allowed).unfit == Some(Unlent::Elsewhere);
        assert!(elsewhere(&allowed), "one of the two lies beyond the roots");
        let worktree = |path: &str| Operation::RemoveWorktree { path: path.to_owned(), force: false };
        for (path, granted) in [
            ("../wt", Some("in")),
            ("../a/b/wt", None),
            ("wt", Some("in/repo")),
            ("../../out/wt", None),
            (".git/evil", None),
            ("../way-out/wt", None),
        ] {
            let wanted: Vec<PathBuf> = granted.map(|dir| base.join(dir)).into_iter().collect();
            assert_eq!(added(&worktree(path), &Remotes::default()), (wanted, borrowed.clone(), vec![]), "{path}");
        }
        let remotes = Remotes {
            paths: ["../bare", "../../out/bare.git", "../way-out/bare.git", "../none"].map(PathBuf::from).to_vec(),
            ports: vec![443],
            ..Remotes::default()
        };
        let bare = base.join("in/bare.git");
        let (changed, read, ports) = added(&Operation::Fetch, &remotes);
        assert_eq!((changed, read, ports), (vec![], [borrowed.clone(), vec![bare.clone()]].concat(), vec![53, 443]));
        let (changed, read, _) = added(&Operation::Push { branch: "main".to_owned() }, &remotes);
        assert_eq!((changed, read), (vec![bare], borrowed.clone()));

        // what lies beside the repository lends nothing, unless the operator names it; what lies inside always may
        let lines = |lines: &str| {
            fs::write(base.join("in/repo/.git/objects/info/alternates"), lines).expect("a file");
        };
        let beside = format!("{}/in/borrowed/objects\n", base.display());
        let unnamed = Allowed { lenders: Vec::new(), ..allowed.clone() };
        lines(&beside);
        assert!(elsewhere(&unnamed) && lent(&unnamed).found.is_empty());
        assert!(lent(&allowed).unfit.is_none() && lent(&allowed).found == borrowed);
        fs::create_dir_all(base.join("in/repo/.git/lent/info")).expect("a directory");
        lines("# a comment\n\n../lent\n/nowhere/objects\n");
        assert!(lent(&unnamed).unfit.is_none() && lent(&unnamed).found == [base.join("in/repo/.git/lent")]);
        fs::write(base.join("in/repo/.git/lent/info/alternates"), &beside).expect("a file");
        assert!(elsewhere(&unnamed), "over one that lies inside");
        lines("\"../lent\"\n");
        assert!(elsewhere(&allowed), "in quotes");

        // by a part of it, nobody knows what it names
        let comment = |length: u64| format!("#{}\n", "x".repeat(usize::try_from(length).expect("memory") - 2));
        lines(&(comment(MAX_ALTERNATES - beside.len() as u64) + &beside));
        assert!(lent(&allowed).unfit.is_none() && lent(&allowed).found == borrowed, "as long as one may be");
        lines(&(comment(MAX_ALTERNATES) + &beside));
        assert_eq!(lent(&allowed).unfit, Some(Unlent::Unread(Unread::Long(MAX_ALTERNATES))));
        lines(&(0..=MAX_PLACES).map(|number| format!("../many/{number}\n")).collect::<String>());
        (0..=MAX_PLACES).for_each(|number| {
            fs::create_dir_all(base.join(format!("in/repo/.git/many/{number}"))).expect("a directory");
        });
        assert_eq!(lent(&allowed).unfit, Some(Unlent::Many));
    }
}
