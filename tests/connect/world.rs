//! A home, a project, and the program in both.
//! Trust: test code.

use crate::support::Place;
use std::{
    fs,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Nobody that a system has by default.
const USER: u32 = 12_347;

/// What a run said.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Said {
    /// That it went well, and what it said.
    #[track_caller]
    pub fn done(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{self:?}");
        self.out
    }

    /// That it was refused, and why.
    #[track_caller]
    pub fn refused(self) -> String {
        assert_eq!((self.code, self.out.as_str()), (1, ""), "{self:?}");
        self.err
    }
}

/// A place with a home and a project.
pub struct World {
    place: Place,
}

impl World {
    pub fn new() -> Self {
        let world = Self { place: Place::new() };
        fs::create_dir_all(world.project(".git")).expect("the place is ours");
        fs::create_dir_all(world.project("deep/er")).expect("the place is ours");
        world
    }

    pub fn home(&self, relative: &str) -> PathBuf {
        self.place.home().join(relative)
    }

    pub fn project(&self, relative: &str) -> PathBuf {
        self.place.at("project").join(relative)
    }

    pub fn at(&self, relative: &str) -> PathBuf {
        self.place.at(relative)
    }

    /// Writes a file with its directories.
    pub fn write(&self, path: &Path, text: impl AsRef<[u8]>) {
        fs::create_dir_all(path.parent().expect("it is in the place")).expect("the place is ours");
        fs::write(path, text).expect("the place is ours");
    }

    pub fn read(&self, path: &Path) -> String {
        String::from_utf8(fs::read(path).expect("it is there")).expect("it is text")
    }

    /// `bulkhead connect WORDS`, in a directory of the project.
    pub fn connect(&self, words: &[&str]) -> Said {
        said(self.command(words))
    }

    /// The same, as an ordinary user to whom the whole place is given.
    pub fn connect_as_user(&self, words: &[&str]) -> Said {
        let mut command = self.command(words);
        if crate::support::is_root() {
            give(self.place.path(), USER);
            command.uid(USER).gid(USER);
        }
        said(command)
    }

    /// The program as it is, in a directory of the project.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = self.place.command(env!("CARGO_BIN_EXE_bulkhead"));
        command.arg("connect").args(words).current_dir(self.project("deep/er"));
        command
    }

    /// That a host which starts these words gets a server with these tools. It is started in `cwd`.
    #[track_caller]
    pub fn starts(&self, command: &str, args: &[String], cwd: &Path) -> String {
        let mut server = self.place.command(command);
        let said = said({
            server.args(args).arg("tools").current_dir(cwd);
            server
        });
        assert_eq!(said.code, 0, "{command} {args:?}: {said:?}");
        said.out
    }

    /// Every file of home and project, and what it says.
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        let mut open = vec![self.place.path().to_owned()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory).expect("the place is ours").flatten() {
                match entry.file_type().expect("it is there") {
                    kind if kind.is_dir() => open.push(entry.path()),
                    _ => files.push((entry.path(), fs::read(entry.path()).unwrap_or_default())),
                }
            }
        }
        files.sort();
        files
    }
}

fn said(mut command: Command) -> Said {
    let output = command.stdin(Stdio::null()).output().expect("the program starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it speaks UTF-8");
    Said { code: output.status.code().expect("it ends by itself"), out: text(output.stdout), err: text(output.stderr) }
}

fn give(path: &Path, user: u32) {
    if path.is_dir() && !path.is_symlink() {
        fs::read_dir(path).expect("ours").flatten().for_each(|entry| give(&entry.path(), user));
    }
    std::os::unix::fs::lchown(path, Some(user), Some(user)).expect("root may");
}
