//! Going back to a restore point, after another one was made of what is there now.
//! Trust: the point is data of the repository; Git checks the names in its trees as it does those of a checkout.

use super::{Message, NOTHING, PREFIX, by_git, make, points};
use crate::{
    failure::{Step, failed, named, refused, shown},
    leftover::Scratch,
    repo::{Head, Repo, lossy},
    standing,
};
use bulkhead_contract::direct::{Class, OperationState};
use bulkhead_ipc::edge::write::Done;
use std::{
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// Brings branch, index, working tree and untracked files back to what they were. What is untracked now and was not then
/// stays; a file of the point overwrites what is in its place, which the new point holds.
pub(crate) fn back(repo: &Repo<'_>, id: &str) -> Step<Done> {
    let message = find(repo, id)?;
    let head = repo.head()?;
    may_go(repo, &message, &head)?;
    let name = |what: &str| format!("{PREFIX}{id}/{what}");
    let worktree = repo.commit(&name("worktree"))?.ok_or_else(|| damaged(id))?;

    // what would be lost of the branch that moves, if it is not the one that HEAD is on
    let moved = message.branch.as_ref().map(|branch| format!("refs/heads/{branch}"));
    let tip = match &moved {
        Some(full) => repo.reference(full)?,
        None => None,
    };
    let mut overwritten = repo.in_the_way(&worktree)?;
    super::nothing_lost(repo, &overwritten, &worktree)?;
    if let Some(untracked) = repo.commit(&name("untracked"))? {
        let further = repo.in_the_way(&untracked)?;
        super::nothing_lost(repo, &further, &untracked)?;
        overwritten.extend(further);
    }
    let kept = moved.as_deref().zip(tip.as_deref());
    let point = make(repo, "repo_restore", kept)?;
    super::all_kept(&point, &overwritten)?;
    let done = Done { notes: point.notes, ..Done::default() };
    let way = Way { repo, id, empty: repo.empty_tree()?, scratch: Scratch::new(&repo.git_dir)? };
    way.files(&worktree)?;
    way.head(&message, &head, tip.as_deref())?;
    way.index()?;
    Ok(Done { id: message.head.clone(), ..noted(done, &message) })
}

/// What the way back cannot bring.
fn noted(mut done: Done, message: &Message) -> Done {
    if message.during != NOTHING {
        let head = if message.branch.is_some() { "" } else { ", and HEAD is on no branch" };
        done.notes.push(format!(
            "The point was made in the middle of {}; files and index are as they were{head}, the operation itself is not open \
             again.",
            message.during
        ));
    }
    if message.untracked != "all" {
        done.notes.push(format!("The point holds no untracked files: {}.", message.untracked));
    }
    if let Some(tip) = &message.tip {
        done.notes.push(format!("{tip} was not made again; the point still keeps what it named."));
    }
    done
}

fn find(repo: &Repo<'_>, id: &str) -> Step<Message> {
    let known = points(repo)?;
    let found = known.into_iter().find(|(known, _)| known == id).map(|(_, message)| message);
    found.ok_or_else(|| {
        failed(
            Class::NotFound,
            format!("There is no restore point {}. Nothing was done.", shown(id)),
            "repo_restore_points lists those that there are.",
        )
    })
}

fn may_go(repo: &Repo<'_>, message: &Message, head: &Head) -> Step<()> {
    let root = lossy(repo.root.as_os_str().as_bytes());
    if message.root != root {
        return refused(
            format!("That restore point belongs to the working tree {}. Nothing was done.", shown(&message.root)),
            "Take one of this working tree; files of the other can be shown by the names of its refs.",
        );
    }
    let state = repo.state();
    if !matches!(state, OperationState::Clear | OperationState::Bisect) {
        return refused(
            format!("The repository is in the middle of {}. Nothing was done.", standing::word(state)),
            "repo_abort_in_progress first, then go back.",
        );
    }
    if let Some(branch) = message.branch.as_ref().filter(|branch| head.branch.as_ref() != Some(branch)) {
        let others: Vec<_> = repo.holders(branch)?.into_iter().filter(|path| *path != root).collect();
        if !others.is_empty() {
            return refused(
                format!("The branch {branch} is checked out in {}. Nothing was done.", named(&others)),
                "Check out another branch there first.",
            );
        }
    }
    Ok(())
}

struct Way<'r, 'a> {
    repo: &'r Repo<'a>,
    id: &'r str,
    empty: String,
    scratch: Scratch,
}

impl Way<'_, '_> {
    /// Tracked files, then untracked ones.
    fn files(&self, worktree: &str) -> Step<()> {
        let index = self.scratch.path("index");
        match by_git::copy(&self.repo.git_dir.join("index"), &index) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unwritten(&error)),
            _ => {}
        }
        if index.exists() {
            by_git::unflag(self.repo, &self.empty, &index)?;
        }
        by_git::raw(self.repo, &self.empty, ["read-tree", "--reset", "-u", "--no-recurse-submodules", worktree])
            .env("GIT_INDEX_FILE", &index)
            .all("The working tree could not be brought back; it may be in between.")?;
        if let Some(untracked) = self.repo.commit(&format!("{PREFIX}{}/untracked", self.id))? {
            self.out_of_tree(&untracked, &self.repo.root)?;
        }
        self.verify(&index)
    }

    /// Writes the files of a tree beneath a directory.
    fn out_of_tree(&self, tree: &str, below: &Path) -> Step<()> {
        let index = self.scratch.path("out");
        let call = |arguments: &[&str]| by_git::raw(self.repo, &self.empty, arguments).env("GIT_INDEX_FILE", &index);
        call(&["read-tree", "--reset", tree]).all("A restore point could not be read.")?;
        let mut prefix = std::ffi::OsString::from("--prefix=");
        if below != self.repo.root {
            prefix.push(below);
            prefix.push("/");
        }
        call(&["checkout-index", "--force", "--quiet", "--all"])
            .arg(prefix)
            .all("Files of a restore point could not be written.")
            .map(drop)
    }

    /// That tracked files have the point's bytes: attributes of `info/attributes` cannot be switched off for Git.
    fn verify(&self, index: &Path) -> Step<()> {
        let attributes = standing::bounded(&self.repo.common_dir.join("info/attributes"));
        let says_nothing = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
        // what was not read may say anything
        if attributes.is_ok_and(|text| text.unwrap_or_default().lines().all(says_nothing)) {
            return Ok(());
        }
        let listing = by_git::raw(self.repo, &self.empty, ["ls-files", "--stage", "-z"])
            .env("GIT_INDEX_FILE", index)
            .all("The index could not be read.")?;
        let entries = crate::repo::fields(&listing).filter_map(crate::repo::Entry::read);
        let files: Vec<_> = entries.filter(|entry| entry.mode.starts_with("100")).collect();
        let input: Vec<u8> = files.iter().flat_map(|entry| by_git::quoted(&entry.path)).collect();
        let ids = self
            .repo
            .call(["hash-object", "--no-filters", "--stdin-paths"])
            .stdin(input)
            .all("Files could not be compared with the restore point.")?;
        let ids = lossy(&ids);
        let wrong: Vec<_> = files
            .iter()
            .zip(ids.lines())
            .filter(|(entry, id)| entry.id != *id)
            .map(|(it, _)| lossy(&it.path))
            .collect();
        if wrong.is_empty() {
            return Ok(());
        }
        refused(
            format!("info/attributes of this repository has Git convert files as it writes them: {}.", named(&wrong)),
            "Take the conversion out of info/attributes, then go back once more.",
        )
    }

    /// HEAD and its branch.
    fn head(&self, message: &Message, now: &Head, tip: Option<&str>) -> Step<()> {
        let log = format!("bulkhead: back to restore point {}", self.id);
        let update = |arguments: &[&str]| {
            self.repo
                .call(["update-ref", "-m", &log])
                .args(arguments)
                .all("HEAD could not be moved; the files are those of the restore point.")
                .map(drop)
        };
        match (&message.branch, &message.head) {
            (Some(branch), Some(head)) => {
                let full = format!("refs/heads/{branch}");
                let old = tip.map_or_else(|| "0".repeat(head.len()), str::to_owned);
                update(&["--no-deref", &full, head, &old])?;
                self.stand_on(&full, now)
            }
            (Some(branch), None) => {
                let full = format!("refs/heads/{branch}");
                if let Some(old) = tip {
                    update(&["-d", &full, old])?;
                }
                self.stand_on(&full, now)
            }
            (None, Some(head)) => update(&["--no-deref", "HEAD", head]),
            (None, None) => Err(damaged(self.id)),
        }
    }

    fn stand_on(&self, full: &str, now: &Head) -> Step<()> {
        if now.branch.as_ref().is_some_and(|branch| full == format!("refs/heads/{branch}")) {
            return Ok(());
        }
        let log = format!("bulkhead: back to restore point {}", self.id);
        self.repo
            .call(["symbolic-ref", "-m", &log, "HEAD", full])
            .all("HEAD could not be moved; the files are those of the restore point.")
            .map(drop)
    }

    /// The index, as the file that it was.
    fn index(&self) -> Step<()> {
        let kept = self.repo.commit(&format!("{PREFIX}{}/index", self.id))?.ok_or_else(|| damaged(self.id))?;
        let target = self.repo.git_dir.join("index");
        let has = self.repo.call(["rev-parse", "--verify", "-q"]).arg(format!("{kept}:index")).line()?;
        let Some(blob) = has else {
            return match fs::remove_file(&target) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unwritten(&error)),
                _ => Ok(()),
            };
        };
        let below = self.scratch.path("file");
        fs::create_dir(&below).map_err(|error| unwritten(&error))?;
        self.out_of_tree(&self.only_index(&blob)?, &below)?;
        let lock: PathBuf = self.repo.git_dir.join("index.lock");
        let mut file =
            fs::OpenOptions::new().write(true).create_new(true).open(&lock).map_err(|error| unwritten(&error))?;
        let copied = fs::File::open(below.join("index"))
            .and_then(|mut from| io::copy(&mut from, &mut file))
            .and_then(|_| file.sync_all())
            .and_then(|()| fs::rename(&lock, &target));
        if let Err(error) = copied {
            let _ = fs::remove_file(&lock);
            return Err(unwritten(&error));
        }
        // times of files that were just written are not those that the file says
        self.repo.refresh()
    }

    /// A tree with the index's file and nothing else.
    fn only_index(&self, blob: &str) -> Step<String> {
        let made = self.repo.call(["mktree", "-z"]).stdin(format!("100644 blob {blob}\tindex\0"));
        Ok(lossy(&made.all("A restore point could not be read.")?).trim().to_owned())
    }
}

fn damaged(id: &str) -> Box<bulkhead_ipc::edge::write::Failed> {
    failed(
        Class::Unusable,
        format!("The restore point {} is not whole.", shown(id)),
        "Take another one from repo_restore_points.",
    )
}

fn unwritten(error: &io::Error) -> Box<bulkhead_ipc::edge::write::Failed> {
    failed(
        Class::Failed,
        format!("The index could not be brought back: {error}. Files and branch are those of the restore point."),
        "Go back once more; the new restore point holds what was there before.",
    )
}
