//! The repository's own configuration: what of it names programs or leads elsewhere, and how that is settled.
//! Trust: written by anybody; keys and values are compared, shown and overruled, never followed.

use crate::{
    call::{self, Call},
    failure::{Step, failed, not_run, refused, shown},
    git::Begun,
    repo::{Repo, fields, lossy},
    standing,
    text::Unread,
};
use bulkhead_contract::direct::Class;
use std::{
    collections::BTreeSet,
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Component, Path, PathBuf},
};

/// Settings that change what an operation does, in ways that its caller did not ask for: what the tools promise holds in
/// every repository (contract `direct/hardening.md` §3).
const PINS: &[&str] = &[
    "rebase.backend=merge",
    "rebase.autoStash=false",
    "rebase.updateRefs=false",
    "rebase.autoSquash=false",
    "rebase.rebaseMerges=false",
    "rebase.forkPoint=false",
    "rebase.missingCommitsCheck=ignore",
    "rebase.rescheduleFailedExec=false",
    "rebase.stat=false",
    // lines of this become steps
    "rebase.instructionFormat=",
    "merge.verifySignatures=false",
    "merge.autoStash=false",
    "merge.stat=false",
    "log.showSignature=false",
    "push.gpgSign=false",
    "push.followTags=false",
    "push.recurseSubmodules=no",
    "push.useForceIfIncludes=false",
    "commit.verbose=false",
    "commit.status=false",
    "i18n.commitEncoding=UTF-8",
    "branch.autoSetupMerge=false",
    "branch.autoSetupRebase=never",
    "fetch.prune=false",
    "fetch.pruneTags=false",
    "fetch.recurseSubmodules=no",
    "fetch.writeCommitGraph=false",
    "transfer.bundleURI=false",
    "submodule.recurse=false",
    "rerere.enabled=false",
    "rerere.autoUpdate=false",
    "core.askPass=",
    "core.editor=:",
    "sequence.editor=:",
    "worktree.guessRemote=false",
    "checkout.guess=false",
];

/// What the repository says itself, in the order in which it counts; included files are among it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    own: Vec<(String, String)>,
    /// Files that were taken in, and those that would be if they were there.
    included: Vec<PathBuf>,
}

/// Settings that Git is about to tell.
pub(crate) struct Reading<'a>(Begun<'a>);

impl Reading<'_> {
    /// Waits for them.
    pub(crate) fn ended(self) -> Step<Settings> {
        let run = self.0.ended().map_err(|why| not_run(&why))?;
        call::whole(run, "The repository's configuration could not be read.").map(|listing| Settings::listed(&listing))
    }
}

impl Settings {
    /// Refuses where they would be taken from files that are not the repository's; nothing but Git's parser of single files
    /// has read them before.
    pub(crate) fn are_its_own(repo: &Repo<'_>) -> Step<()> {
        for file in [repo.common_dir.join("config"), repo.git_dir.join("config.worktree")] {
            includes_stay_inside(repo, &file)?;
        }
        Ok(())
    }

    /// Has Git begin to read them.
    pub(crate) fn begin<'a>(repo: &Repo<'a>) -> Step<Reading<'a>> {
        repo.call(["config", "--list", "-z", "--show-scope", "--show-origin", "--includes"]).begin().map(Reading)
    }

    /// Of what Git lists.
    fn listed(listing: &[u8]) -> Self {
        let (mut own, mut included) = (Vec::new(), BTreeSet::new());
        let mut all = fields(listing);
        while let (Some(scope), Some(origin), Some(setting)) = (all.next(), all.next(), all.next()) {
            if !matches!(scope, b"local" | b"worktree") {
                continue;
            }
            let (key, value) = split(setting);
            if let Some(file) = origin.strip_prefix(b"file:").map(|path| Path::new(OsStr::from_bytes(path))) {
                if is_include(&key) {
                    included.insert(taken_in(file, &value));
                }
                included.insert(file.to_owned());
            }
            own.push((key, value));
        }
        Self { own, included: included.into_iter().collect() }
    }

    /// Files that the configuration is made of, and takes in.
    pub(crate) fn included(&self) -> &[PathBuf] {
        &self.included
    }

    /// Of these settings.
    #[cfg(test)]
    pub(crate) fn of(own: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { own: own.into_iter().collect(), included: Vec::new() }
    }

    /// Values of a key, which is written as Git writes it: section and name in small letters.
    pub(crate) fn all<'s>(&'s self, key: &'s str) -> impl Iterator<Item = &'s str> {
        self.own.iter().filter(move |(found, _)| found == key).map(|(_, value)| value.as_str())
    }

    /// The value that counts.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.own.iter().rev().find(|(found, _)| found == key).map(|(_, value)| value.as_str())
    }

    /// Keys of the form `section.ANYTHING.name`, or `section.name`: each with what stands between.
    pub(crate) fn family<'s>(&'s self, section: &'s str, name: &'s str) -> impl Iterator<Item = (&'s str, &'s str)> {
        self.own.iter().filter_map(move |(key, _)| {
            let rest = key.strip_prefix(section)?.strip_prefix('.')?;
            let between = if rest == name { "" } else { rest.strip_suffix(name)?.strip_suffix('.')? };
            Some((key.as_str(), between))
        })
    }

    /// Every key of a section.
    pub(crate) fn section<'s>(&'s self, section: &'s str) -> impl Iterator<Item = (&'s str, &'s str)> {
        let of = move |key: &str| key.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'));
        self.own.iter().filter(move |(key, _)| of(key)).map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// What every operation is given: fixed settings, and the repository's filters switched off.
    pub(crate) fn pins(&self, repo: &Repo<'_>) -> Step<Vec<String>> {
        let mut pins: Vec<String> = PINS.iter().map(|pin| (*pin).to_owned()).collect();
        for name in ["clean", "smudge", "process"] {
            for (key, _) in self.family("filter", name) {
                pins.push(emptied(key, "")?);
            }
        }
        for (key, _) in self.family("filter", "required") {
            pins.push(emptied(key, "false")?);
        }
        // from 2.54 on Git also runs hooks that a configuration names; where they may, their run of Git says so again
        for (_, name) in self.family("hook", "command") {
            pins.push(emptied(&format!("hook.{name}.enabled"), "false")?);
        }
        // the operator's own come last, so that switching the repository's off does not take them along
        if repo.allowed.filters {
            let own = pinned(repo, "filter.");
            // one that fails must not have raw bytes pass in its place
            let required = own.iter().filter_map(|pin| {
                let (key, _) = pin.split_once('=')?;
                Some(format!("{}.required=true", key.rsplit_once('.')?.0))
            });
            let required: Vec<_> = required.collect();
            pins.extend(own.into_iter().chain(required));
        }
        Ok(pins)
    }

    /// Refuses where files would be merged by a program that the repository names.
    pub(crate) fn no_merge_driver(&self, repo: &Repo<'_>) -> Step<()> {
        let drivers: Vec<_> = self.family("merge", "driver").map(|(_, between)| between.to_owned()).collect();
        if drivers.is_empty() {
            return Ok(());
        }
        let paths: Vec<_> = repo.entries(false, &[])?.into_iter().map(|entry| entry.path).collect();
        let merged = repo.attributes("merge", &paths)?;
        match merged.iter().find(|(_, driver)| drivers.contains(driver)) {
            None => Ok(()),
            Some((path, driver)) => refused(
                format!(
                    "{} is merged by the program that the repository's own merge.{driver}.driver names; this server runs \
                     no programs that a repository names. Nothing was done.",
                    shown(path)
                ),
                "Do it with Git itself, or take the setting out of the repository's configuration.",
            ),
        }
    }
}

/// A setting that overrules this key.
pub(crate) fn emptied(key: &str, value: &str) -> Step<String> {
    if key.contains('=') {
        return refused(
            format!("The repository's configuration has {}, which cannot be overruled by name.", shown(key)),
            "Take the setting out of the repository's configuration.",
        );
    }
    Ok(format!("{key}={value}"))
}

/// The operator's own settings of a section.
pub(crate) fn pinned(repo: &Repo<'_>, section: &str) -> Vec<String> {
    let of = |key: &str| key.to_ascii_lowercase().starts_with(section);
    repo.allowed.pinned.iter().filter(|(key, _)| of(key)).map(|(key, value)| format!("{key}={value}")).collect()
}

/// Whether a filter of that name is the operator's own, and may run.
pub(crate) fn filter_runs(repo: &Repo<'_>, name: &str) -> bool {
    let is =
        |key: &str| ["clean", "process"].iter().any(|what| key.eq_ignore_ascii_case(&format!("filter.{name}.{what}")));
    repo.allowed.filters && repo.allowed.pinned.iter().any(|(key, _)| is(key))
}

/// The last value of one of the operator's own settings.
pub(crate) fn operators<'a>(repo: &Repo<'a>, key: &str) -> Option<&'a str> {
    repo.allowed.pinned.iter().rev().find(|(found, _)| found.eq_ignore_ascii_case(key)).map(|(_, value)| value.as_str())
}

/// Whether a value switches on, as Git reads booleans.
pub(crate) fn is_on(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "true" | "yes" | "on") || value.parse::<i64>().is_ok_and(|it| it != 0)
}

/// `key LF value`; a key alone is on.
pub(crate) fn split(setting: &[u8]) -> (String, String) {
    let text = lossy(setting);
    match text.split_once('\n') {
        Some((key, value)) => (key.to_owned(), value.to_owned()),
        None => (text, "true".to_owned()),
    }
}

/// Settings of one file or text, without what it includes.
pub(crate) fn listed(call: Call<'_, '_>) -> Step<Vec<(String, String)>> {
    Ok(fields(&call.all("The repository's configuration could not be read.")?).map(split).collect())
}

/// Refuses a configuration that takes in files outside of the repository.
fn includes_stay_inside(repo: &Repo<'_>, file: &Path) -> Step<()> {
    match standing::bounded(file) {
        Ok(None) => return Ok(()),
        Ok(Some(text)) if !text.to_ascii_lowercase().contains("[include") => return Ok(()),
        Err(why @ Unread::Failed(_)) => {
            return Err(failed(
                Class::Unusable,
                format!("{} is {why}. Nothing was done.", file.display()),
                "A person has to look at the repository.",
            ));
        }
        // a link or a long one is Git's to read to its end
        Ok(Some(_)) | Err(Unread::Long(_) | Unread::Irregular) => {}
    }
    let listing = listed(repo.call(["config", "--no-includes", "--list", "-z", "--file"]).arg(file))?;
    let paths = listing.iter().filter(|(key, _)| is_include(key));
    for (key, value) in paths {
        let path = taken_in(file, value);
        // a link inside may lead out
        let path = path.canonicalize().unwrap_or(path);
        let inside = [&repo.root, &repo.git_dir, &repo.common_dir].iter().any(|place| path.starts_with(place));
        if !inside || value.starts_with('~') || value.starts_with('%') {
            return Err(failed(
                Class::Refused,
                format!("The repository's configuration takes in {} ({key}), which is outside of it.", shown(value)),
                "Take the setting out of the repository's configuration, or put it into your own.",
            ));
        }
    }
    Ok(())
}

fn is_include(key: &str) -> bool {
    key == "include.path" || key.starts_with("includeif.") && key.ends_with(".path")
}

/// Where an include of this file leads, as Git reads it: from beside the file.
fn taken_in(file: &Path, value: &str) -> PathBuf {
    flattened(&file.parent().unwrap_or(file).join(value))
}

/// A path without `.` and `..`, by its names alone.
pub(crate) fn flattened(path: &Path) -> PathBuf {
    let mut flat = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                flat.pop();
            }
            other => flat.push(other),
        }
    }
    flat
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_found_with_dots_in_its_middle() {
        let own =
            [("filter.a.b.clean", "x"), ("filter.clean", "y"), ("filterx.c.clean", "z"), ("filter.d.cleaner", "z")];
        let settings = Settings::of(own.map(|(key, value)| (key.to_owned(), value.to_owned())));
        assert_eq!(
            settings.family("filter", "clean").collect::<Vec<_>>(),
            [("filter.a.b.clean", "a.b"), ("filter.clean", "")]
        );
        assert_eq!(settings.get("filter.a.b.clean"), Some("x"));
    }

    #[test]
    fn booleans_are_read_as_git_reads_them() {
        assert!(["true", "Yes", "on", "1", "2"].into_iter().all(is_on));
        assert!(["false", "no", "off", "0", "", "maybe"].into_iter().all(|value| !is_on(value)));
    }

    #[test]
    fn a_path_that_climbs_is_seen_to_leave() {
        assert_eq!(flattened(Path::new("/r/.git/../../x/./y")), Path::new("/x/y"));
    }
}
