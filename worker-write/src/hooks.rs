//! Hooks of the repository: run by the one Git of an operation that they belong to, where the operator said so; else named.
//! Trust: hooks are programs of the repository's, and of whoever writes there; what they say is data, and where they lie is
//! taken from its configuration only within the repository.
//!
//! Every other run of Git, those of restore points among them, has no hooks.

use crate::{
    bounded::both_ends,
    call::Call,
    failure::{Step, git_failed, refused, said, shown},
    git::{Run, path},
    guard,
    leftover::Scratch,
    repo::Repo,
    settings::{Settings, flattened, is_on},
    text,
};
use bulkhead_contract::direct::Class;
use bulkhead_ipc::edge::write::{Done, Failed, MAX_LIST};
use std::{
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// The first version of Git that runs hooks which the configuration names (git-hook(1)).
const CONFIGURED_SINCE: (u32, u32) = (2, 54);
/// What an operation comes upon besides its own: Git asks it about every change of a ref (githooks(5)).
const ALWAYS: &str = "reference-transaction";
/// Hooks by which Git is kept from going on.
const REFUSING: &[&str] =
    &["pre-commit", "prepare-commit-msg", "commit-msg", "pre-merge-commit", "pre-rebase", "pre-applypatch", ALWAYS];
/// Characters of what hooks and Git said that a result shows.
const MAX_SAID: usize = 2_000;
/// Bytes of Git's own record of what it started that are looked at.
const MAX_RECORD: u64 = 8 << 20;

/// The hooks that a repository has, and whether they run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hooks {
    /// Where they lie; `None` where that leads nowhere.
    directory: Option<PathBuf>,
    /// Those that the configuration names.
    configured: Vec<Configured>,
    run: bool,
}

/// A hook of the configuration: `hook.NAME.command`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Configured {
    name: String,
    events: Vec<String>,
}

impl Hooks {
    /// Those that Git itself would find, and whether they run where the operation `may` have some.
    ///
    /// # Errors
    /// They are to run, and the repository's configuration says that they lie outside of it.
    pub(crate) fn of(repo: &Repo<'_>, settings: &Settings, may: bool) -> Step<Self> {
        let run = may && repo.allowed.hooks.is_some();
        let directory = match (settings.get("core.hookspath"), &repo.allowed.hooks_path) {
            (Some(named), _) => {
                let directory = own(repo, named);
                if run && directory.is_none() {
                    return refused(
                        format!(
                            "The repository's core.hooksPath ({}) leads out of it, and this server runs no hooks of a \
                             repository that lie elsewhere. Nothing was done.",
                            shown(named)
                        ),
                        "Take the setting out of the repository's configuration, or put it into your own.",
                    );
                }
                directory
            }
            (None, Some(operators)) => Some(repo.root.join(path(operators))),
            (None, None) => Some(repo.common_dir.join("hooks")),
        };
        let configured =
            if repo.allowed.programs.version < CONFIGURED_SINCE { Vec::new() } else { configured(settings) };
        Ok(Self { directory, configured, run })
    }

    /// What has Git pass hooks over where they are not to run.
    pub(crate) fn unverified(&self) -> Option<&'static str> {
        (!self.run).then_some("--no-verify")
    }

    /// Those of these that there are, by name.
    pub(crate) fn present(&self, names: &[&str]) -> Vec<String> {
        let runs = |path: PathBuf| path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0);
        let mut present = Vec::new();
        for name in names.iter().chain([&ALWAYS]) {
            if self.directory.as_ref().is_some_and(|directory| runs(directory.join(name))) {
                present.push((*name).to_owned());
            }
            let configured = self.configured.iter().filter(|it| it.events.iter().any(|event| event == name));
            present.extend(configured.map(|it| format!("{name} (hook.{})", shown(&it.name))));
        }
        present.truncate(MAX_LIST);
        present
    }
}

/// Where the repository's own configuration has them, links resolved where that is there; `None` where it is outside.
fn own(repo: &Repo<'_>, named: &str) -> Option<PathBuf> {
    // a home is nobody's here
    if named.is_empty() || named.starts_with('~') || named.starts_with('%') {
        return None;
    }
    let directory = flattened(&repo.root.join(named));
    let real = directory.canonicalize().unwrap_or(directory);
    [&repo.root, &repo.git_dir, &repo.common_dir].iter().any(|place| real.starts_with(place)).then_some(real)
}

fn configured(settings: &Settings) -> Vec<Configured> {
    let mut all: Vec<Configured> = Vec::new();
    for (_, name) in settings.family("hook", "command") {
        let value = |key: &str| settings.get(&format!("hook.{name}.{key}")).map(is_on);
        if value("enabled") == Some(false) || all.iter().any(|it| it.name == name) {
            continue;
        }
        let mut events: Vec<String> = Vec::new();
        for event in settings.all(&format!("hook.{name}.event")) {
            // an empty one forgets those before it
            if event.is_empty() { events.clear() } else { events.push(event.to_owned()) }
        }
        all.push(Configured { name: name.to_owned(), events });
    }
    all
}

/// What came of a run of Git that hooks belong to.
#[derive(Debug)]
pub(crate) struct Hooked {
    /// How Git ended.
    pub(crate) run: Run,
    skipped: Vec<String>,
    /// Those that Git says it ran; all that there are, where it does not say.
    ran: Option<Vec<String>>,
    /// Git's record is gone, or too long.
    unknown: bool,
}

/// Runs Git for an operation to which these hooks belong.
pub(crate) fn beside(repo: &Repo<'_>, names: &[&str], call: Call<'_, '_>) -> Step<Hooked> {
    let hooks = &repo.hooks;
    let present = hooks.present(names);
    let (Some(allowed), true) = (&repo.allowed.hooks, hooks.run) else {
        return Ok(Hooked { run: call.run()?, skipped: present, ran: None, unknown: false });
    };
    if present.is_empty() {
        return Ok(Hooked { run: call.run()?, skipped: Vec::new(), ran: Some(Vec::new()), unknown: false });
    }
    let scratch = Scratch::of_hooks(&repo.git_dir)?;
    let (record, temporary) = (scratch.path("record"), scratch.path("tmp"));
    // what cannot be made is missed by the hook that wants it
    let _ = fs::create_dir(&temporary);
    let mut call = call.env("PATH", path(&allowed.path)).env("TMPDIR", &temporary).env("GIT_TRACE2_EVENT", &record);
    if let Some(directory) = &hooks.directory {
        let mut setting = OsString::from("core.hooksPath=");
        setting.push(directory);
        call = call.global("-c").global(setting);
    }
    for Configured { name, .. } in &hooks.configured {
        call = call.global("-c").global(format!("hook.{name}.enabled=true"));
    }
    let run = call.run()?;
    let ran = started(&record);
    let unknown = ran.is_none();
    Ok(Hooked { run, skipped: Vec::new(), ran: Some(ran.unwrap_or(present)), unknown })
}

/// Hooks that Git says to have started (its `trace2` events), in the order of their first; `None` where it does not say.
fn started(record: &Path) -> Option<Vec<String>> {
    let bytes = match text::bytes(record, MAX_RECORD) {
        Ok(bytes) => bytes?,
        Err(_) => return None,
    };
    let mut ran: Vec<String> = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(event) = serde_json::from_slice::<serde_json::Value>(line) else { continue };
        let is = |key: &str, value: &str| event.get(key).and_then(serde_json::Value::as_str) == Some(value);
        if !is("event", "child_start") || !is("child_class", "hook") {
            continue;
        }
        let name = event.get("hook_name").and_then(serde_json::Value::as_str);
        // a hook can write there too
        let known = name.and_then(|name| guard::HOOKS.iter().find(|known| **known == name));
        ran.extend(known.filter(|known| !ran.iter().any(|name| name == **known)).map(|known| (*known).to_owned()));
    }
    Some(ran)
}

impl Hooked {
    /// Whether Git started any.
    pub(crate) fn had_any(&self) -> bool {
        self.ran.iter().flatten().next().is_some()
    }

    /// Whether Git started this one.
    pub(crate) fn has_run(&self, name: &str) -> bool {
        self.ran.iter().flatten().any(|ran| ran == name)
    }

    /// What a result says of it.
    pub(crate) fn onto(self, done: &mut Done) {
        if self.run.code != Some(0) {
            done.notes.push("A hook that comes last failed, which takes nothing back.".to_owned());
        }
        let Self { run, skipped, mut ran, unknown } = self;
        if ran.as_ref().is_some_and(|ran| !ran.is_empty()) {
            let said = both_ends(&said(&run), MAX_SAID, false);
            done.notes.extend((!said.is_empty()).then(|| format!("Hooks, and Git beside them, said:\n{said}")));
        }
        if unknown {
            done.notes.push(format!(
                "Which hooks ran is not known, since Git's record of it is gone or too long; there are {}.",
                ran.take().unwrap_or_default().join(", ")
            ));
        }
        done.hooks_skipped = skipped;
        done.hooks_run = ran;
    }

    /// Git did not do it: our sentence, what was said, and which hooks had a say.
    pub(crate) fn failed(&self, sentence: &str) -> Box<Failed> {
        let mut failed = git_failed(sentence, &self.run);
        let ran = self.ran.as_deref().unwrap_or_default();
        if ran.is_empty() {
            return failed;
        }
        let known = if self.unknown { "may have run, whose record is gone or too long," } else { "had run" };
        failed.reason.push_str(&format!("\nGit {known} these hooks of the repository: {}.", ran.join(", ")));
        // what a hook says has no kind of ours, whatever words it uses
        if self.run.code == Some(1) && ran.iter().any(|name| REFUSING.contains(&name.as_str())) {
            failed.class = Class::Refused;
            failed.next = "Read what the hook says, and mend that; hooks run because the operator wants it \
                           (--hooks run), without a network, without a home, and with the programs of the system alone."
                .to_owned();
        }
        failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(lines: &[(&str, &str)]) -> Settings {
        Settings::of(lines.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn hooks_of_the_configuration_are_those_that_git_would_run() {
        let own = settings(&[
            ("hook.lint.command", "lint"),
            ("hook.lint.event", "pre-push"),
            ("hook.lint.event", ""),
            ("hook.lint.event", "pre-commit"),
            ("hook.lint.event", "commit-msg"),
            ("hook.off.command", "off"),
            ("hook.off.event", "pre-commit"),
            ("hook.off.enabled", "false"),
            ("hook.no-program.event", "pre-commit"),
        ]);
        let hooks = Hooks { configured: configured(&own), ..Hooks::default() };
        assert_eq!(hooks.present(&["pre-commit", "commit-msg"]), ["pre-commit (hook.lint)", "commit-msg (hook.lint)"]);
        assert!(hooks.present(&["pre-push"]).is_empty());
    }

    #[test]
    fn what_ran_is_what_git_says_it_started() {
        let keep = tempfile::tempdir().expect("a directory");
        let record = keep.path().join("record");
        assert_eq!(started(&record), None);
        let started_by = |class: &str, name: &str| {
            format!("{{\"event\":\"child_start\",\"child_class\":\"{class}\",\"hook_name\":\"{name}\"}}\n")
        };
        let lines = [
            started_by("hook", "pre-commit"),
            "no JSON\n{\"event\":\"exit\"}\n".to_owned(),
            started_by("?", "post-commit"),
            started_by("hook", "made-up\\u0007"),
            started_by("hook", "commit-msg"),
            started_by("hook", "pre-commit"),
        ];
        fs::write(&record, lines.concat()).expect("ours");
        assert_eq!(started(&record), Some(vec!["pre-commit".to_owned(), "commit-msg".to_owned()]));
        fs::remove_file(&record).expect("ours");
        std::os::unix::fs::symlink("/dev/zero", &record).expect("ours");
        assert_eq!(started(&record), None);
    }
}
