//! Which git, and which single files it needs to run: found once at start, before anything of a repository was read.
//! Trust: the operator's flags, variables, `PATH` and system; nothing that lies beneath a root is taken for a program.
//!
//! Files and not directories: with a directory of programs come shells and interpreters, and with those whatever a
//! repository's configuration names.

mod of_hooks;

use crate::asked::ask;
use bulkhead_ipc::edge::write::Programs;
pub use of_hooks::for_hooks;
use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

/// The oldest version that answers as this program expects.
pub const OLDEST: (u32, u32) = (2, 41);
/// Where a git is looked for besides `PATH`.
const USUAL: &[&str] =
    &["/usr/bin/git", "/usr/local/bin/git", "/opt/git/bin/git", "/opt/homebrew/bin/git", "/usr/local/git/bin/git"];
/// Entries of `PATH` that are looked at.
const MAX_PATH: usize = 64;
/// Where ssh is looked for.
const SSH: &[&str] = &["/usr/bin/ssh", "/usr/local/bin/ssh", "/bin/ssh"];
/// The shell by which Git starts the other side of a `file` remote, and an `--ssh-command`.
const SHELL: &str = "/bin/sh";
/// Bytes of a configuration of ssh that are looked at.
const MAX_CONFIG: u64 = 1 << 20;
/// Different ports that it may name.
const MAX_PORTS: usize = 64;

/// What the operator's system says of time and names; all of it is read, none executed.
const SHARED: &[&str] = &["/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo"];
/// What looking up names and users, checking certificates and ssh read besides.
const NETWORK_SHARED: &[&str] = &[
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/passwd",
    "/etc/group",
    "/etc/ssl/openssl.cnf",
    "/etc/ssl/certs",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
    "/etc/crypto-policies",
    "/usr/share/crypto-policies",
    "/etc/gnutls/config",
    "/etc/ssh/ssh_config",
    "/etc/ssh/ssh_config.d",
    "/etc/ssh/ssh_known_hosts",
];

/// Why there is no git to write with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// None was found.
    #[error("no git: --git names none, and there is none in the usual places or in PATH")]
    None,
    /// The one that was named cannot be used, or none of those that were found.
    #[error("no git that can be used: {0}")]
    Unusable(String),
}

/// What is known of the operator's surroundings.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The git that was named, if one was.
    pub named: Option<PathBuf>,
    /// `PATH`.
    pub path: Option<OsString>,
    /// The home directory.
    pub home: Option<PathBuf>,
    /// Nothing beneath these is a program.
    pub roots: Vec<PathBuf>,
    /// `SSH_AUTH_SOCK`.
    pub agent: Option<PathBuf>,
    /// `TZ`.
    pub time_zone: Option<String>,
}

/// A version by its first two numbers, and where it lies, links resolved.
type Candidate = ((u32, u32), PathBuf);

/// Finds git and all that it needs. Starts git, and the loader of the system, to ask them.
///
/// # Errors
/// [`Unfit`] with the reason for each git that was looked at.
pub fn find(around: &Surroundings) -> Result<Programs, Unfit> {
    let (version, git) = git(around)?;
    let unusable = |why: String| Unfit::Unusable(why);
    let exec_path = ask(&git, &["--exec-path"], &[]).map_err(unusable)?;
    let exec_path = trimmed(&exec_path).canonicalize().map_err(|e| Unfit::Unusable(format!("its exec path: {e}")))?;
    let mut files = BTreeSet::new();
    // the one that Git starts for its own commands; mostly the same file
    for program in [git.clone(), exec_path.join("git")] {
        add(&mut files, &program)?;
    }
    let mut network_files = BTreeSet::new();
    let shell = Path::new(SHELL);
    let ssh = SSH.iter().map(Path::new).find_map(|ssh| ssh.canonicalize().ok());
    let remote = ["git-remote-http", "git-remote-https", "git-upload-pack", "git-receive-pack"];
    let remote = remote.map(|name| exec_path.join(name));
    for program in remote.iter().map(PathBuf::as_path).chain(ssh.as_deref()).chain([shell]) {
        if program.exists() {
            add(&mut network_files, program)?;
        }
    }
    network_files.extend(name_services(&files));
    let network_files: Vec<_> = network_files.difference(&files).map(bytes).collect();
    let (mut shared, mut network_shared) = (there(SHARED), there(NETWORK_SHARED));
    shared.sort();
    let mut configs = vec![PathBuf::from("/etc/ssh/ssh_config")];
    if let Some(ssh) = around.home.as_ref().map(|home| home.join(".ssh")) {
        network_shared.extend(ssh.canonicalize().ok().filter(|dir| dir.is_dir()).map(|dir| bytes(&dir)));
        configs.push(ssh.join("config"));
    }
    let (network_ports, ports_left_out) = ports(&configs);
    let agent = around.agent.as_ref().and_then(|socket| socket.canonicalize().ok());
    let time_zone = around
        .time_zone
        .clone()
        .filter(|zone| !zone.is_empty() && zone.len() <= 100 && zone.chars().all(|c| c.is_ascii_graphic()));
    Ok(Programs {
        git: bytes(&git),
        version,
        exec_path: bytes(&exec_path),
        files: files.iter().map(bytes).collect(),
        network_files,
        shared,
        network_shared,
        ssh_agent: agent.map(|socket| bytes(&socket)),
        network_ports,
        ports_left_out,
        time_zone,
    })
}

/// Adds what the operator's own filters run, and the shell by which Git starts them, to what every Git may execute; gives the
/// filters with each program by its absolute path, since `PATH` leads nowhere there. For `--filters user`.
///
/// # Errors
/// [`Unfit::Unusable`] with the filter whose program is not found, or whose command is more than a program and its words.
pub fn with_filters(
    programs: &mut Programs,
    filters: &[(String, String)],
    around: &Surroundings,
) -> Result<Vec<(String, String)>, Unfit> {
    let mut files: BTreeSet<PathBuf> = programs.files.iter().map(|file| from_bytes(file)).collect();
    let mut settled = Vec::new();
    for (key, value) in filters {
        let runs = ["clean", "smudge", "process"].contains(&key.rsplit('.').next().unwrap_or_default());
        if !runs || value.trim().is_empty() {
            settled.push((key.clone(), value.clone()));
            continue;
        }
        let failed = |why: &str| Unfit::Unusable(format!("{key} of your own configuration: {why}"));
        let (program, words) = value.trim().split_once(' ').unwrap_or((value.trim(), ""));
        let plain = |word: &str| word.chars().all(|c| c.is_alphanumeric() || "/._+-%=, ".contains(c));
        if !plain(program) || !plain(words) {
            return Err(failed("only a program and plain words are run"));
        }
        let real = which(program, around).ok_or_else(|| failed("its program is not found"))?;
        if around.roots.iter().any(|root| real.starts_with(root)) {
            return Err(failed("its program lies beneath a root, where an agent may have put it"));
        }
        let named =
            real.to_str().filter(|path| plain(path) && !path.contains(' ')).ok_or_else(|| failed("its path"))?;
        add(&mut files, &real)?;
        add(&mut files, Path::new(SHELL))?;
        settled.push((key.clone(), format!("{named} {words}").trim_end().to_owned()));
    }
    programs.files = files.iter().map(bytes).collect();
    Ok(settled)
}

/// Where a program lies, links resolved.
fn which(program: &str, around: &Surroundings) -> Option<PathBuf> {
    if program.contains('/') {
        return Path::new(program).is_absolute().then(|| Path::new(program).canonicalize().ok())?;
    }
    let path = around.path.clone().unwrap_or_default();
    let dirs = std::env::split_paths(&path).filter(|dir| dir.is_absolute()).take(MAX_PATH);
    let all = dirs.filter_map(|dir| dir.join(program).canonicalize().ok());
    all.into_iter().find(|file| file.is_file())
}

/// The git that was named, else the newest.
fn git(around: &Surroundings) -> Result<Candidate, Unfit> {
    if let Some(named) = &around.named {
        return candidate(named, &around.roots).map_err(Unfit::Unusable);
    }
    let path = around.path.clone().unwrap_or_default();
    // a relative entry means another directory in every place
    let entries = std::env::split_paths(&path).filter(|dir| dir.is_absolute()).take(MAX_PATH);
    let all = USUAL.iter().map(PathBuf::from).chain(entries.map(|dir| dir.join("git")));
    let mut looked_at = BTreeSet::new();
    let (mut best, mut reasons) = (None::<Candidate>, Vec::new());
    for place in all {
        let Ok(real) = place.canonicalize() else { continue };
        if !looked_at.insert(real) {
            continue;
        }
        match candidate(&place, &around.roots) {
            // the first of equals: the usual places come before PATH
            Ok(found) if best.as_ref().is_none_or(|best| found.0 > best.0) => best = Some(found),
            Ok(_) => {}
            Err(why) => reasons.push(why),
        }
    }
    best.ok_or_else(|| if reasons.is_empty() { Unfit::None } else { Unfit::Unusable(reasons.join("; ")) })
}

/// That git, if it is one that can be used.
fn candidate(place: &Path, roots: &[PathBuf]) -> Result<Candidate, String> {
    let failed = |why: &str| format!("{}: {why}", place.display());
    if !place.is_absolute() {
        return Err(failed("not an absolute path"));
    }
    let real = place.canonicalize().map_err(|e| failed(&e.to_string()))?;
    if roots.iter().any(|root| real.starts_with(root)) {
        return Err(failed("it lies beneath a root, where an agent may have put it"));
    }
    if !real.is_file() {
        return Err(failed("no file"));
    }
    let version = String::from_utf8_lossy(&ask(&real, &["--version"], &[])?).into_owned();
    let version = version_of(&version).ok_or_else(|| failed("it does not say a version as git does"))?;
    if version < OLDEST {
        let ((major, minor), (least, least_minor)) = (version, OLDEST);
        return Err(failed(&format!("version {major}.{minor}, and {least}.{least_minor} is needed")));
    }
    Ok((version, real))
}

/// `git version 2.47.3` and what vendors add to it.
fn version_of(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.strip_prefix("git version ")?.split(['.', ' ', '-', '\n']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Adds a program, its loader, and the libraries that the loader would map for it.
fn add(files: &mut BTreeSet<PathBuf>, program: &Path) -> Result<(), Unfit> {
    let failed = |why: &str| Unfit::Unusable(format!("{}: {why}", program.display()));
    let real = program.canonicalize().map_err(|e| failed(&e.to_string()))?;
    if !files.insert(real.clone()) {
        return Ok(());
    }
    // a static program has no loader, and a script is none of Git's own
    let Some(loader) = interpreter(&real) else { return Ok(()) };
    let list = ask(&loader, &[OsStr::new("--list"), real.as_os_str()], &[]).map_err(|why| failed(&why))?;
    files.insert(loader.canonicalize().map_err(|e| failed(&e.to_string()))?);
    for library in libraries(&String::from_utf8_lossy(&list)) {
        files.insert(library.canonicalize().map_err(|e| failed(&format!("{}: {e}", library.display())))?);
    }
    Ok(())
}

/// The paths in a loader's list: `name => /path (0x…)`, or `/path (0x…)` for the loader itself.
fn libraries(list: &str) -> impl Iterator<Item = PathBuf> + '_ {
    list.lines().filter_map(|line| {
        let line = line.trim();
        let line = line.split_once("=> ").map_or(line, |(_, path)| path);
        let path = line.rsplit_once(" (0x").map_or(line, |(path, _)| path);
        path.starts_with('/').then(|| PathBuf::from(path))
    })
}

/// The loader that an ELF program names; `None` for a static one, and for what is no such program.
fn interpreter(program: &Path) -> Option<PathBuf> {
    /// Headers stand at the beginning of every program that a linker made.
    const HEAD: u64 = 64 << 10;
    const PT_INTERP: u32 = 3;
    let mut head = Vec::new();
    fs::File::open(program).ok()?.take(HEAD).read_to_end(&mut head).ok()?;
    let part = |at: usize, length: usize| head.get(at..at.checked_add(length)?);
    // 64 bit, in this machine's order
    if part(0, 4)? != b"\x7fELF" || part(4, 1)? != [2] {
        return None;
    }
    let short = |at: usize| Some(usize::from(u16::from_ne_bytes(part(at, 2)?.try_into().ok()?)));
    let long = |at: usize| usize::try_from(u64::from_ne_bytes(part(at, 8)?.try_into().ok()?)).ok();
    let (table, size, count) = (long(0x20)?, short(0x36)?, short(0x38)?);
    for at in (0..count).map(|index| table + index * size) {
        if u32::from_ne_bytes(part(at, 4)?.try_into().ok()?) == PT_INTERP {
            let name = part(long(at + 0x08)?, long(at + 0x20)?)?;
            return Some(from_bytes(name.strip_suffix(b"\0")?));
        }
    }
    None
}

/// Libraries that libc maps when names or users are looked up, beside libc itself.
fn name_services(files: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let libc = files.iter().find(|file| {
        file.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"libc.so") || name == "libc-2.31.so")
    });
    let Some(dir) = libc.and_then(|libc| libc.parent()) else { return Vec::new() };
    let text = fs::read_to_string("/etc/nsswitch.conf").unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let wanted = lines.filter(|(what, _)| ["hosts", "passwd", "group", "services"].contains(&what.trim()));
    let words: BTreeSet<&str> = wanted.flat_map(|(_, services)| services.split_whitespace()).collect();
    let named = words.into_iter().filter(|word| word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
    named.filter_map(|word| dir.join(format!("libnss_{word}.so.2")).canonicalize().ok()).collect()
}

/// The ports that configurations of ssh name, and whether there may be others.
fn ports(configs: &[PathBuf]) -> (Vec<u16>, bool) {
    let (mut ports, mut more) = (BTreeSet::new(), false);
    for config in configs {
        let mut text = Vec::new();
        let _ = fs::File::open(config).map(|file| file.take(MAX_CONFIG + 1).read_to_end(&mut text));
        more |= text.len() as u64 > MAX_CONFIG;
        let text = String::from_utf8_lossy(&text);
        let words = text.lines().filter_map(|line| line.trim().split_once([' ', '\t', '=']));
        let named = words.filter(|(key, _)| key.eq_ignore_ascii_case("port"));
        ports.extend(named.filter_map(|(_, value)| value.trim_matches([' ', '\t', '=', '"']).parse::<u16>().ok()));
    }
    more |= ports.len() > MAX_PORTS;
    (ports.into_iter().take(MAX_PORTS).collect(), more)
}

/// Those that are there, links resolved.
fn there(places: &[&str]) -> Vec<Vec<u8>> {
    places.iter().filter_map(|place| Path::new(place).canonicalize().ok()).map(|path| bytes(&path)).collect()
}

fn trimmed(line: &[u8]) -> PathBuf {
    from_bytes(line.strip_suffix(b"\n").unwrap_or(line))
}

fn from_bytes(bytes: &[u8]) -> PathBuf {
    crate::git::path(bytes)
}

/// A path as it goes over the edge.
fn bytes(path: impl AsRef<Path>) -> Vec<u8> {
    path.as_ref().as_os_str().as_encoded_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told_apart_as_numbers() {
        for (text, wanted) in [
            ("git version 2.47.3\n", Some((2, 47))),
            ("git version 2.9.5\n", Some((2, 9))),
            ("git version 2.39.5 (Apple Git-154)\n", Some((2, 39))),
            ("git version 2.50.0.windows.1\n", Some((2, 50))),
            ("git version 3.0-rc1\n", Some((3, 0))),
            ("jj 0.45.1\n", None),
            ("git version next\n", None),
        ] {
            assert_eq!(version_of(text), wanted, "{text}");
        }
        assert!((2, 9) < OLDEST && OLDEST <= (2, 41));
    }

    #[test]
    fn a_loaders_list_gives_paths_alone() {
        let list = "\tlinux-vdso.so.1 (0x00007ffe)\n\tlibz.so.1 => /lib/x/libz.so.1 (0x00007f)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n\tlibgone.so => not found\n";
        let found: Vec<_> = libraries(list).collect();
        assert_eq!(found, ["/lib/x/libz.so.1", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from));
        let musl = "\t/lib/ld-musl-x86_64.so.1 (0x7f)\n\tlibz.so.1 => /usr/lib/libz.so.1 (0x7f)\n";
        assert_eq!(libraries(musl).count(), 2);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_systems_git_is_found_with_its_libraries_and_no_shell() {
        let found = find(&Surroundings { path: std::env::var_os("PATH"), ..Surroundings::default() }).expect("a git");
        let git = from_bytes(&found.git);
        assert!(found.files.contains(&found.git), "git itself");
        if let Some(loader) = interpreter(&git) {
            let loader = bytes(loader.canonicalize().expect("it is there"));
            assert!(found.files.contains(&loader), "its loader");
            assert!(found.files.len() >= 3, "libc at least: {:?}", found.files.len());
        }
        let shell = bytes(Path::new(SHELL).canonicalize().expect("a shell"));
        assert!(!found.files.contains(&shell), "a shell");
        assert!(found.network_files.contains(&shell), "fetch and push have one");
        assert!(found.files.iter().chain(&found.network_files).all(|file| from_bytes(file).is_file()));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_git_that_an_agent_may_have_put_there_or_that_is_old_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let keep = tempfile::tempdir().expect("a directory");
        let dir = keep.path().canonicalize().expect("it is there");
        let fake = |name: &str, says: &str| {
            let path = dir.join(name).join("git");
            fs::create_dir_all(path.parent().expect("it has one")).expect("a directory");
            fs::write(&path, format!("#!/bin/sh\necho '{says}'\n")).expect("a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
            path
        };
        let old = fake("old", "git version 2.40.9");
        let new = fake("new", "git version 99.0");
        let refused = |named: &Path, roots: &[PathBuf]| candidate(named, roots).expect_err("refused");
        assert!(refused(&old, &[]).contains("2.40, and 2.41 is needed"));
        assert!(refused(&new, std::slice::from_ref(&dir)).contains("beneath a root"));
        assert!(refused(Path::new("git"), &[]).contains("not an absolute path"));
        assert_eq!(candidate(&new, &[]), Ok(((99, 0), new.clone())));
        // a link in PATH to it is the same
        let bin = dir.join("bin");
        fs::create_dir(&bin).expect("a directory");
        std::os::unix::fs::symlink(&new, bin.join("git")).expect("a link");
        let path = std::env::join_paths([Path::new("relative"), &bin]).expect("no colon in it");
        let around = Surroundings { path: Some(path), ..Surroundings::default() };
        assert_eq!(git(&around), Ok(((99, 0), new)), "the newest, its link resolved");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn filters_name_their_programs_by_path_or_are_refused() {
        let mut programs = Programs::default();
        let around = Surroundings { path: Some("/usr/bin:/bin".into()), ..Surroundings::default() };
        let of = |key: &str, value: &str| (format!("filter.x.{key}"), value.to_owned());
        let asked = [of("clean", "tr a-z A-Z"), of("required", "true"), of("smudge", "")];
        let settled = with_filters(&mut programs, &asked, &around).expect("it is there");
        let tr = which("tr", &around).expect("every system has it");
        assert_eq!(settled[0].1, format!("{} a-z A-Z", tr.display()));
        assert_eq!(settled[1..], asked[1..]);
        let shell = bytes(Path::new(SHELL).canonicalize().expect("a shell"));
        assert!(programs.files.contains(&bytes(&tr)) && programs.files.contains(&shell));
        for value in ["tr a b; evil", "$(evil)", "no-such-program-here", "./tr"] {
            let refused = with_filters(&mut Programs::default(), &[of("clean", value)], &around);
            assert!(matches!(refused, Err(Unfit::Unusable(_))), "{value}");
        }
        let around = Surroundings { roots: vec!["/usr".into()], ..around };
        assert!(with_filters(&mut Programs::default(), &asked, &around).is_err(), "beneath a root");
    }

    #[test]
    fn ports_of_ssh_are_those_that_are_numbers() {
        let keep = tempfile::tempdir().expect("a directory");
        let config = keep.path().join("config");
        fs::write(&config, "Host a\n  Port 2222\nHost b\n  port=\"443\"\n  PortX 9\nPort none\n").expect("a file");
        let none = keep.path().join("none");
        assert_eq!(ports(&[config.clone(), none.clone()]), (vec![443, 2222], false));
        assert_eq!(ports(&[none]), (Vec::new(), false));
        let cut = |text: String| {
            fs::write(&config, text).expect("a file");
            ports(std::slice::from_ref(&config)).1
        };
        let long = usize::try_from(MAX_CONFIG).expect("memory");
        assert!(!cut("#".repeat(long)) && cut("#".repeat(long + 1)));
        let many = |count: usize| (0..count).map(|number| format!("Port {}\n", 1_000 + number)).collect();
        assert!(!cut(many(MAX_PORTS)) && cut(many(MAX_PORTS + 1)));
    }
}
