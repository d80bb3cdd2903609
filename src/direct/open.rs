//! From `--repo` to the one repository that is served, before anything of it is parsed (contract `direct/flags.md`, *Startup
//! failures*). Trust: the directory is the operator's word, everything in it the repository's; of that, only where a `.git` file,
//! `commondir` and `gitdir` lead is read, and whatever leads out must lead back.

use std::{
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
};

/// Longest file that names a directory.
const MAX_POINTER: u64 = 8 * 1024;

/// The repository that is served. All paths but `cwd` are canonical.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// Its working tree.
    pub root: PathBuf,
    /// What the operator named, made absolute.
    pub cwd: PathBuf,
    /// Its git directory.
    pub git_dir: PathBuf,
    /// The directory that it shares with other working trees; `git_dir` where there are none.
    pub common_dir: PathBuf,
}

/// Finds the repository around `named`. `roots` are what the operator allows besides.
///
/// # Errors
/// One sentence: what is wrong, and where.
pub fn open(named: &Path, roots: &[PathBuf]) -> Result<Served, String> {
    if named.as_os_str().is_empty() {
        return Err("--repo must not be empty".to_owned());
    }
    let shown = named.display();
    let cwd = std::path::absolute(named).map_err(|e| format!("--repo {shown}: {}", e.kind()))?;
    let start = cwd.canonicalize().map_err(|e| format!("--repo {shown}: {}", e.kind()))?;
    if !start.is_dir() {
        return Err(format!("--repo {shown} is not a directory"));
    }
    for root in start.ancestors() {
        let marker = root.join(".git");
        let found = marker.symlink_metadata();
        if root.join(".jj/repo").exists() && found.is_err() {
            return Err(format!(
                "{} is a repository of Jujutsu without Git's beside it, which this build does not serve",
                root.display()
            ));
        }
        match found {
            Ok(_) => {
                let git_dir = git_dir(&marker)?;
                let common_dir = common_dir(&git_dir)?;
                whole(&git_dir, &common_dir)?;
                leads_back(root, &marker, &git_dir, &common_dir, roots)?;
                return Ok(Served { root: root.to_owned(), cwd, git_dir, common_dir });
            }
            Err(_) if is_bare(root) => {
                return Err(format!("{} is a bare repository, which has no working tree to serve", root.display()));
            }
            Err(_) => {}
        }
    }
    Err(format!("{} is not in a Git repository", cwd.display()))
}

/// Where `.git` leads.
fn git_dir(marker: &Path) -> Result<PathBuf, String> {
    let shown = marker.display();
    let resolved = |path: &Path| {
        path.canonicalize().map_err(|_| format!("{shown} leads to {}, which is not there", path.display()))
    };
    let there = resolved(marker)?;
    if there.is_dir() {
        return Ok(there);
    }
    let text = pointer(&there)?;
    let path = text.strip_prefix("gitdir:").map(str::trim);
    let path =
        path.ok_or_else(|| format!("{shown} is a file that does not begin with `gitdir:`, so it is no repository"))?;
    let beside = marker.parent().unwrap_or(Path::new("/"));
    resolved(&beside.join(path))
}

fn common_dir(git_dir: &Path) -> Result<PathBuf, String> {
    let file = git_dir.join("commondir");
    if file.symlink_metadata().is_err() {
        return Ok(git_dir.to_owned());
    }
    let text = pointer(&file)?;
    let path = git_dir.join(text.trim());
    path.canonicalize().map_err(|_| format!("{} leads to {}, which is not there", file.display(), path.display()))
}

/// Both are what Git takes for such directories; an empty `.git` is not, and nothing else is looked for in its place.
fn whole(git_dir: &Path, common_dir: &Path) -> Result<(), String> {
    let head = git_dir.join("HEAD").symlink_metadata().is_ok();
    let stores = ["objects", "refs"].iter().all(|name| common_dir.join(name).is_dir());
    if head && stores {
        return Ok(());
    }
    Err(format!("{} is not a Git directory: it lacks HEAD, objects or refs", git_dir.display()))
}

/// A git directory outside of the working tree is the repository's own word, and would let it choose what is read. It counts
/// where it names this working tree itself, where it lies in a repository around it, as a submodule's does, and where the
/// operator allowed it.
fn leads_back(root: &Path, marker: &Path, git_dir: &Path, common_dir: &Path, roots: &[PathBuf]) -> Result<(), String> {
    let allowed = |dir: &Path| dir.starts_with(root) || roots.iter().any(|allowed| dir.starts_with(allowed));
    let linked = || {
        let back = pointer(&git_dir.join("gitdir")).ok()?;
        let back = git_dir.join(back.trim()).canonicalize().ok()?;
        (back == marker.canonicalize().ok()? && git_dir.parent()? == common_dir.join("worktrees")).then_some(())
    };
    let submodule = || {
        let around = root.ancestors().skip(1).map(|outer| outer.join(".git/modules"));
        common_dir == git_dir && around.into_iter().any(|modules| git_dir.starts_with(modules))
    };
    let is_link = marker.symlink_metadata().is_ok_and(|found| found.is_symlink());
    if allowed(git_dir) && allowed(common_dir) || !is_link && (linked().is_some() || submodule()) {
        return Ok(());
    }
    Err(format!(
        "{} leads to {}, outside of the working tree, and that does not lead back; allow it with --root if it should be read",
        marker.display(),
        if allowed(git_dir) { common_dir.display() } else { git_dir.display() }
    ))
}

fn is_bare(dir: &Path) -> bool {
    dir.join("HEAD").is_file() && dir.join("objects").is_dir() && dir.join("refs").is_dir()
}

/// A small regular file.
fn pointer(path: &Path) -> Result<String, String> {
    let shown = path.display();
    // opened only when it is a file: a FIFO would be waited for
    let kind = fs::metadata(path).map_err(|e| format!("{shown}: {}", e.kind()))?;
    if !kind.is_file() {
        return Err(format!("{shown} is not a regular file"));
    }
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MAX_POINTER + 1).read_to_string(&mut text));
    match read {
        Ok(length) if length as u64 <= MAX_POINTER => Ok(text.trim_end_matches(['\n', '\r']).to_owned()),
        Ok(_) => Err(format!("{shown} is longer than a path")),
        Err(e) => Err(format!("{shown}: {}", e.kind())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place {
        _temp: tempfile::TempDir,
        base: PathBuf,
    }

    impl Place {
        fn new() -> Place {
            let temp = tempfile::tempdir().expect("a temporary directory");
            let base = temp.path().canonicalize().expect("it exists");
            Place { _temp: temp, base }
        }

        fn git_dir(&self, at: &str) -> PathBuf {
            let dir = self.base.join(at);
            for name in ["objects", "refs"] {
                fs::create_dir_all(dir.join(name)).expect("a fresh directory");
            }
            fs::write(dir.join("HEAD"), "ref: refs/heads/main\n").expect("a fresh file");
            dir
        }

        fn write(&self, at: &str, text: &str) {
            let path = self.base.join(at);
            fs::create_dir_all(path.parent().expect("beneath the base")).expect("a directory");
            fs::write(path, text).expect("a fresh file");
        }

        fn open(&self, at: &str) -> Result<Served, String> {
            open(&self.base.join(at), &[])
        }
    }

    #[test]
    fn the_nearest_repository_around_is_served() {
        let place = Place::new();
        let git_dir = place.git_dir("r/.git");
        fs::create_dir_all(place.base.join("r/deep/er")).expect("a fresh directory");
        let served = place.open("r/deep/er").expect("a repository");
        assert_eq!((served.root, served.cwd), (place.base.join("r"), place.base.join("r/deep/er")));
        assert_eq!((served.git_dir, served.common_dir), (git_dir.clone(), git_dir));
    }

    #[test]
    fn what_is_no_repository_is_refused_at_the_start() {
        let place = Place::new();
        place.git_dir("bare.git");
        place.git_dir("outer/.git");
        fs::create_dir_all(place.base.join("outer/inner/.git")).expect("a fresh directory");
        place.write("nowhere/.git", "gitdir: ../gone\n");
        place.write("text/.git", "hello\n");
        place.write("outer/file", "");
        fs::create_dir_all(place.base.join("jj/.jj/repo")).expect("a fresh directory");
        fs::create_dir_all(place.base.join("stray/.jj")).expect("a fresh directory");
        for (at, words) in [
            ("bare.git", "bare"),
            ("outer/inner", "lacks HEAD"),
            ("nowhere", "not there"),
            ("text", "gitdir:"),
            ("outer/file", "not a directory"),
            ("jj", "Jujutsu"),
            ("stray", "not in a Git repository"),
            ("gone", "not found"),
        ] {
            let error = place.open(at).expect_err("nothing to serve");
            assert!(error.contains(words), "{at}: {error}");
        }
        assert!(open(Path::new(""), &[]).is_err());
    }

    #[test]
    fn what_leads_out_has_to_lead_back() {
        let place = Place::new();
        place.git_dir("secret/.git");
        place.git_dir("main/.git");
        place.write("thief/.git", "gitdir: ../secret/.git\n");
        assert!(place.open("thief").expect_err("it leads out").contains("lead back"));
        let allowed = open(&place.base.join("thief"), &[place.base.join("secret")]).expect("the operator allowed it");
        assert_eq!(allowed.git_dir, place.base.join("secret/.git"));

        place.write("main/.git/worktrees/linked/commondir", "../..\n");
        place.write("main/.git/worktrees/linked/HEAD", "ref: refs/heads/x\n");
        place.write("main/.git/worktrees/linked/gitdir", &format!("{}\n", place.base.join("linked/.git").display()));
        place.write("linked/.git", "gitdir: ../main/.git/worktrees/linked\n");
        place.write("twin/.git", "gitdir: ../main/.git/worktrees/linked\n");
        assert_eq!(place.open("linked").expect("it leads back").common_dir, place.base.join("main/.git"));
        assert!(place.open("twin").is_err());

        place.git_dir("main/.git/modules/sub");
        place.write("main/sub/.git", "gitdir: ../.git/modules/sub\n");
        assert_eq!(place.open("main/sub").expect("a submodule").git_dir, place.base.join("main/.git/modules/sub"));
        place.git_dir("away");
        place.write("own/.git/commondir", "../../away\n");
        place.write("own/.git/HEAD", "ref: refs/heads/x\n");
        assert!(place.open("own").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed_out() {
        let place = Place::new();
        place.git_dir("secret/.git");
        fs::create_dir_all(place.base.join("thief")).expect("a fresh directory");
        std::os::unix::fs::symlink("../secret/.git", place.base.join("thief/.git")).expect("a fresh link");
        assert!(place.open("thief").expect_err("it leads out").contains("lead back"));
    }
}
