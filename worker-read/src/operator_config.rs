//! Stage 0: the operator's own Git configuration, read through an allow-list before any repository is looked at.
//! Trust: the files are the operator's; still only regular ones of bounded size are read, and no value that names a
//! program is kept.

use crate::files::{self, Links};
use bulkhead_ipc::edge::read::Init;
use gix::bstr::{BString, ByteSlice as _};
use std::path::{Path, PathBuf};

/// Bytes of one configuration, ignore or attributes file at most.
const MAX_FILE: u64 = 1 << 20;
/// Deepest `include.path` that is followed, as in Git.
const MAX_INCLUDES: usize = 10;
/// Configuration files read in all; an operator with more has a generator that went wrong.
const MAX_FILES: usize = 64;

/// What is kept of the operator's system and user configuration. Repository configuration wins over the single values.
#[derive(Debug, Clone, Default)]
pub struct OperatorConfig {
    /// Contents of `core.excludesFile`, or of its default place.
    pub excludes: Option<Vec<u8>>,
    /// Contents of `core.attributesFile`, or of its default place.
    pub attributes: Option<Vec<u8>>,
    /// `core.autocrlf`, as written.
    pub autocrlf: Option<BString>,
    /// `core.eol`, as written.
    pub eol: Option<BString>,
    /// `safe.directory`, in order; an empty value clears what came before it.
    pub safe_directories: Vec<BString>,
}

struct Reader {
    home: Option<PathBuf>,
    kept: OperatorConfig,
    excludes_file: Option<PathBuf>,
    attributes_file: Option<PathBuf>,
    files_left: usize,
}

impl OperatorConfig {
    /// Reads it from the system's and the operator's places. A file that is missing or cannot be read counts as empty,
    /// as it does for Git.
    #[must_use]
    pub fn read(init: &Init) -> Self {
        let directory =
            |bytes: &Option<Vec<u8>>| bytes.as_deref().and_then(files::bytes_path).filter(|path| path.is_absolute());
        let home = directory(&init.home);
        let xdg = directory(&init.xdg_config_home).or_else(|| home.as_ref().map(|home| home.join(".config")));
        let mut reader = Reader {
            home: home.clone(),
            kept: OperatorConfig::default(),
            excludes_file: xdg.as_ref().map(|xdg| xdg.join("git/ignore")),
            attributes_file: xdg.as_ref().map(|xdg| xdg.join("git/attributes")),
            files_left: MAX_FILES,
        };
        reader.file(Path::new("/etc/gitconfig"), 0);
        if let Some(xdg) = &xdg {
            reader.file(&xdg.join("git/config"), 0);
        }
        if let Some(home) = &home {
            reader.file(&home.join(".gitconfig"), 0);
        }
        let contents =
            |path: &Option<PathBuf>| path.as_ref().and_then(|p| files::read(p, MAX_FILE, Links::Follow).ok());
        reader.kept.excludes = contents(&reader.excludes_file);
        reader.kept.attributes = contents(&reader.attributes_file);
        reader.kept
    }
}

impl Reader {
    fn file(&mut self, path: &Path, depth: usize) {
        if depth > MAX_INCLUDES || self.files_left == 0 {
            return;
        }
        self.files_left -= 1;
        let Ok(bytes) = files::read(path, MAX_FILE, Links::Follow) else { return };
        let meta = gix::config::file::Metadata::from(gix::config::Source::User);
        let options = gix::config::file::init::Options { lossy: true, ..Default::default() };
        let Ok(file) = gix::config::File::from_bytes_no_includes(&bytes, meta, options) else { return };
        for section in file.sections() {
            let header = section.header();
            let name = header.name().to_str_lossy().to_ascii_lowercase();
            match (name.as_str(), header.subsection_name()) {
                ("include", None) => {
                    for value in section.values("path") {
                        if let Some(included) = self.resolve(&value, path.parent()) {
                            self.file(&included, depth + 1);
                        }
                    }
                }
                ("safe", None) => {
                    for value in section.values("directory") {
                        self.kept.safe_directories.push(value);
                    }
                }
                ("core", None) => {
                    let boolean = |key| section.value_implicit(key).map(|value| value.unwrap_or_else(|| "true".into()));
                    self.kept.autocrlf = boolean("autocrlf").or(self.kept.autocrlf.take());
                    self.kept.eol = section.value("eol").or(self.kept.eol.take());
                    if let Some(value) = section.value("excludesFile") {
                        self.excludes_file = self.resolve(&value, None);
                    }
                    if let Some(value) = section.value("attributesFile") {
                        self.attributes_file = self.resolve(&value, None);
                    }
                }
                _ => {}
            }
        }
    }

    /// The path that a value names: absolute, beneath `~/`, or beneath `base`. Other users' homes are not looked up.
    fn resolve(&self, value: &BString, base: Option<&Path>) -> Option<PathBuf> {
        if let Some(rest) = value.strip_prefix(b"~/") {
            return Some(self.home.as_ref()?.join(files::bytes_path(rest)?));
        }
        let path = files::bytes_path(value)?;
        if path.is_absolute() { Some(path) } else { Some(base?.join(path)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_contract::isolation::Demand;
    use std::fs;

    fn read(home: &Path) -> OperatorConfig {
        OperatorConfig::read(&Init {
            demand: Demand::Off,
            empty_root: false,
            ceilings: Vec::new(),
            run_dirs: Vec::new(),
            path: None,
            trust: Default::default(),
            home: Some(files::path_bytes(home)),
            xdg_config_home: None,
            memory: 0,
            threads: 1,
        })
    }

    #[test]
    fn the_allow_list_is_read_through_includes_and_the_last_value_wins() {
        let home = tempfile::tempdir().expect("a writable temporary directory");
        fs::create_dir_all(home.path().join(".config/git")).expect("writable");
        fs::write(home.path().join(".config/git/ignore"), "default\n").expect("writable");
        fs::write(home.path().join(".config/git/config"), "[core]\n\tautocrlf = input\n").expect("writable");
        fs::write(
            home.path().join(".gitconfig"),
            "[core]\n\tautocrlf\n[include]\n\tpath = more\n[safe]\n\tdirectory = /a\n[filter \"x\"]\n\tclean = run me\n",
        )
        .expect("writable");
        fs::write(home.path().join("more"), "[core]\n\texcludesFile = ~/mine\n[include]\n\tpath = more\n")
            .expect("writable");
        fs::write(home.path().join("mine"), "*.mine\n").expect("writable");
        let kept = read(home.path());
        assert_eq!(kept.autocrlf.as_deref().map(|v| &**v), Some(&b"true"[..]));
        assert_eq!(kept.excludes.as_deref(), Some(&b"*.mine\n"[..]));
        assert_eq!(kept.safe_directories, ["/a"]);
        assert!(!format!("{kept:?}").contains("run me"), "no program may be kept");
    }

    #[test]
    fn the_default_ignore_file_is_used_where_none_is_named() {
        let home = tempfile::tempdir().expect("a writable temporary directory");
        fs::create_dir_all(home.path().join(".config/git")).expect("writable");
        fs::write(home.path().join(".config/git/ignore"), "default\n").expect("writable");
        assert_eq!(read(home.path()).excludes.as_deref(), Some(&b"default\n"[..]));
    }
}
