//! The ceiling: which directories may be read, settled once, before any message is read.
//! Trust: the operator's own words. The file system is asked for existence and canonical paths, nothing is parsed.

use crate::env;
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

/// The source where nobody named one.
const DEFAULT: &str = "default";

/// The ceiling, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ceiling {
    /// Canonical directories, none inside another.
    pub directories: Vec<PathBuf>,
    /// Where they came from: `--root`, the name of a variable, or `default`.
    pub source: String,
    /// Set when they cannot be used; every call is then refused with code -32010 and this sentence.
    pub invalid: Option<String>,
}

/// Settles the ceiling from `--root`, else the environment, else the default.
#[must_use]
pub fn settle(flags: &[PathBuf], cwd: Option<&Path>, home: Option<&OsStr>) -> Ceiling {
    if !flags.is_empty() {
        let absolute: Vec<PathBuf> = flags.iter().map(|root| cwd.map_or(root.clone(), |cwd| cwd.join(root))).collect();
        return named(absolute, "--root");
    }
    if let Some((value, name)) = env::ROOTS.read() {
        return named(std::env::split_paths(&value).collect(), name);
    }
    let around = cwd.and_then(repository_around);
    let home = home.map(PathBuf::from).filter(|home| home.is_absolute());
    let directories: Vec<PathBuf> = around.into_iter().chain(home).filter_map(|dir| usable(&dir).ok()).collect();
    let invalid = directories.is_empty().then(|| {
        "no --root is given, no repository is around the current directory, and HOME is not usable; name a directory \
         with --root"
            .to_owned()
    });
    Ceiling { directories: outermost(directories), source: DEFAULT.to_owned(), invalid }
}

impl Ceiling {
    /// With directories that are allowed whatever else is: those of the one repository that the operator has served. A default
    /// that came to nothing is none then; a list that cannot be used stays one.
    #[must_use]
    pub fn with(mut self, besides: &[PathBuf]) -> Self {
        if besides.is_empty() || self.invalid.is_some() && self.source != DEFAULT {
            return self;
        }
        self.invalid = None;
        for directory in besides {
            match usable(directory) {
                Ok(directory) => self.directories.push(directory),
                Err(why) => return Self { directories: Vec::new(), invalid: Some(why), ..self },
            }
        }
        Self { directories: outermost(self.directories), ..self }
    }
}

fn named(roots: Vec<PathBuf>, source: &str) -> Ceiling {
    let mut directories = Vec::new();
    for root in &roots {
        match usable(root) {
            Ok(directory) => directories.push(directory),
            // one bad element spoils the list: an operator who mistyped a root must not get another ceiling
            Err(why) => {
                return Ceiling { directories: Vec::new(), source: source.to_owned(), invalid: Some(why) };
            }
        }
    }
    let invalid = directories.is_empty().then(|| format!("{source} names no directory"));
    Ceiling { directories: outermost(directories), source: source.to_owned(), invalid }
}

fn usable(root: &Path) -> Result<PathBuf, String> {
    let shown = root.display();
    if !root.is_absolute() {
        return Err(format!("root {shown:?} is not an absolute path"));
    }
    let canonical = root.canonicalize().map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => format!("root {shown:?} does not exist"),
        std::io::ErrorKind::PermissionDenied => format!("root {shown:?} cannot be reached with this user's rights"),
        _ => format!("root {shown:?} cannot be resolved"),
    })?;
    if canonical.parent().is_none() {
        return Err(format!("root {shown:?} is the file system's root, which is never accepted; name the directories"));
    }
    // shared memory is a disk of everybody's, which tests and builds like for its speed
    let is_memory = canonical.starts_with("/dev/shm");
    if !is_memory && ["/proc", "/sys", "/dev"].iter().any(|kernel| canonical.starts_with(kernel)) {
        return Err(format!("root {shown:?} is the kernel's own, where no repositories are"));
    }
    if !canonical.is_dir() {
        return Err(format!("root {shown:?} is not a directory"));
    }
    Ok(canonical)
}

/// Drops directories that lie beneath another one of the list.
fn outermost(mut directories: Vec<PathBuf>) -> Vec<PathBuf> {
    directories.sort();
    directories.dedup();
    let mut kept: Vec<PathBuf> = Vec::new();
    for directory in directories {
        if !kept.iter().any(|outer| directory.starts_with(outer)) {
            kept.push(directory);
        }
    }
    kept
}

/// The nearest directory around `cwd` that holds a `.git` directory. A `.git` file (a submodule, a linked worktree) is
/// never followed here: what it says is the repository's word, and the ceiling must not rest on that. So the search
/// goes on upwards past it, and comes back to it when there is nothing above.
fn repository_around(cwd: &Path) -> Option<PathBuf> {
    let mut with_file = None;
    for directory in cwd.ancestors() {
        match directory.join(".git").symlink_metadata() {
            Ok(entry) if entry.is_dir() => return Some(directory.to_path_buf()),
            Ok(_) if with_file.is_none() => with_file = Some(directory.to_path_buf()),
            _ => {}
        }
    }
    with_file
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(dirs: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let base = temp.path().canonicalize().expect("it exists");
        for dir in dirs {
            std::fs::create_dir_all(base.join(dir)).expect("a fresh directory");
        }
        (temp, base)
    }

    #[test]
    fn the_default_is_the_repository_around_and_home() {
        let (_temp, base) = tree(&["repo/.git", "repo/deep/er", "home"]);
        let got = settle(&[], Some(&base.join("repo/deep/er")), Some(base.join("home").as_os_str()));
        assert_eq!(got.directories, [base.join("home"), base.join("repo")]);
        assert_eq!(got.invalid, None);
    }

    #[test]
    fn a_git_file_is_passed_by_for_a_git_directory_above_it() {
        let (_temp, base) = tree(&["super/.git", "super/sub", "alone/x"]);
        for file in ["super/sub/.git", "alone/.git"] {
            std::fs::write(base.join(file), "gitdir: /etc").expect("a fresh file");
        }
        assert_eq!(repository_around(&base.join("super/sub")), Some(base.join("super")));
        assert_eq!(repository_around(&base.join("alone/x")), Some(base.join("alone")));
    }

    #[test]
    fn roots_inside_others_are_dropped_and_links_resolved() {
        let (_temp, base) = tree(&["a/b"]);
        let mut named = vec![base.join("a").join("b"), PathBuf::from("a")];
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(base.join("a"), base.join("link")).expect("a fresh link");
            named.insert(1, base.join("link"));
        }
        let got = settle(&named, Some(&base), None);
        assert_eq!(got.directories, [base.join("a")]);
    }

    #[test]
    fn what_is_served_is_allowed_beside_a_list_and_beside_a_default_that_came_to_nothing() {
        let (_temp, base) = tree(&["a", "served/.git"]);
        let served = [base.join("served"), base.join("served/.git")];
        let beside = settle(&[base.join("a")], Some(&base), None).with(&served);
        assert_eq!((beside.directories, beside.invalid), (vec![base.join("a"), base.join("served")], None));
        let alone = settle(&[], Some(&base), None);
        assert!(alone.invalid.is_some() && alone.clone().with(&[]).invalid.is_some());
        let alone = alone.with(&served);
        assert_eq!((alone.directories, alone.invalid), (vec![base.join("served")], None));
        // what the operator named and cannot be used is not put right by what is served, nor the other way round
        let mistyped = settle(&[base.join("missing")], Some(&base), None).with(&served);
        assert!(mistyped.invalid.is_some() && mistyped.directories.is_empty());
        let nowhere = settle(&[base.join("a")], Some(&base), None).with(&[PathBuf::from("/proc/self")]);
        assert!(nowhere.invalid.is_some() && nowhere.directories.is_empty());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn shared_memory_is_a_place_like_others() {
        let there = tempfile::tempdir_in("/dev/shm").expect("every Linux that tests run on has it");
        let got = settle(&[there.path().to_owned()], None, None);
        assert_eq!((got.directories, got.invalid), (vec![there.path().to_owned()], None));
    }

    #[test]
    fn one_bad_root_spoils_the_list() {
        let (_temp, base) = tree(&["a"]);
        std::fs::write(base.join("file"), "").expect("a fresh file");
        for bad in [base.join("missing"), base.join("file"), PathBuf::from("/"), PathBuf::from("/proc")] {
            let got = settle(&[base.join("a"), bad.clone()], Some(&base), None);
            assert!(got.invalid.is_some() && got.directories.is_empty(), "{bad:?}");
        }
    }
}
