//! What fetch and push have in common: which remote, whether its addresses may be used, and trying again.
//! Trust: the repository's configuration names remotes and addresses and may be anybody's; an address is used only if its
//! scheme is on the list, a directory only beneath the operator's roots.

use crate::{
    failure::{Step, failed, refused, shown},
    git::Run,
    leftover::{self, Look},
    reach::{repository_at, unread_alternates},
    repo::{Repo, lossy},
    settings::{Settings, listed},
};
use bulkhead_contract::direct::Class;
use bulkhead_ipc::edge::write::Failed;
use std::{
    ffi::OsStr,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// Times that a transport failure is tried in all.
const ATTEMPTS: u32 = 3;
/// Wait before the second attempt; twice that before the third.
const PAUSE: Duration = Duration::from_millis(500);
/// No attempt begins with less time than this left.
const WORTH_TRYING: Duration = Duration::from_secs(2);
/// What Git is allowed to speak, whatever configuration says.
pub(super) const PROTOCOLS: &str = "https:ssh:file";

/// The other side of a remote that may be used.
#[derive(Debug)]
pub(super) struct Other {
    /// How Git starts it.
    pub(super) program: String,
    /// Repositories that it is, where it is on this machine.
    dirs: Vec<PathBuf>,
}

impl Other {
    /// Sentences for what a Git that was ended has left there of a push: it arrives in a directory of its own.
    pub(super) fn left(&self) -> Vec<String> {
        self.dirs.iter().filter_map(|dir| leftover::unfinished(dir, Look::Brief)).collect()
    }

    /// The failure, with what there is at the other side now.
    pub(super) fn told(&self, mut failed: Box<Failed>) -> Box<Failed> {
        for dir in &self.dirs {
            let sentences = leftover::now(dir, dir).into_iter().chain(leftover::unfinished(dir, Look::Long));
            failed.reason.extend(sentences.map(|said| format!("\n{said}")));
        }
        failed
    }
}

/// Refuses a remote that is none, or one whose settings lead elsewhere or name programs.
pub(super) fn may_be_used(repo: &Repo<'_>, settings: &Settings, remote: &str, pushing: bool) -> Step<Other> {
    let of_remote = format!("remote.{remote}.");
    if settings.section("remote").all(|(key, _)| !key.starts_with(&of_remote)) {
        return Err(failed(
            Class::NotFound,
            format!("There is no remote {}. Nothing was done.", shown(remote)),
            "repo_remotes lists those that there are.",
        ));
    }
    if remote.starts_with('-') || remote.contains(['=', '\n']) {
        return refused(format!("The remote's name {} cannot be passed to Git.", shown(remote)), "Rename the remote.");
    }
    names_no_program(repo, settings, &of_remote)?;
    let mut call = repo.call(["remote", "get-url", "--all"]);
    if pushing {
        call = call.arg("--push");
    }
    let urls = call.args(["--", remote]).all("The remote's address could not be read. Nothing was done.")?;
    let urls = lossy(&urls);
    if urls.lines().next().is_none() {
        return Err(failed(Class::NotFound, format!("The remote {} has no address.", shown(remote)), "Give it one."));
    }
    let (mut dirs, mut far) = (Vec::new(), false);
    for url in urls.lines() {
        match address(repo, url)? {
            None => far = true,
            Some(dir) => {
                if pushing {
                    has_no_hooks(repo, &dir)?;
                }
                dirs.push(dir);
            }
        }
    }
    let near = !dirs.is_empty();
    if near && far {
        return refused(
            format!("The remote {} has addresses of directories and of hosts. Nothing was done.", shown(remote)),
            "Make two remotes of them.",
        );
    }
    let program = if pushing { "git-receive-pack" } else { "git-upload-pack" };
    let program =
        if near { format!("GIT_CONFIG_PARAMETERS=\"{}\" {program}", NEAR.join(" ")) } else { program.to_owned() };
    Ok(Other { program, dirs })
}

/// What outranks the configuration of a repository on this machine while Git runs in it. Git passes nothing of ours to that
/// side, and here, in the one jail with a shell, all that it names would be run. Files there are left as they are, since
/// writing them would take its filters.
const NEAR: &[&str] = &[
    "'core.hooksPath=/dev/null'",
    "'core.alternateRefsCommand='",
    "'core.fsmonitor=false'",
    "'core.sshCommand='",
    "'gpg.program=/dev/null'",
    "'gc.auto=0'",
    "'gc.recentObjectsHook='",
    "'maintenance.auto=false'",
    "'receive.autogc=false'",
    "'receive.denyCurrentBranch=refuse'",
];
/// Hooks by which a repository decides what it takes.
const DECIDING: &[&str] = &["pre-receive", "update", "proc-receive", "reference-transaction", "push-to-checkout"];

/// A repository that decides by programs what it takes cannot be asked by a server that runs none.
fn has_no_hooks(repo: &Repo<'_>, dir: &Path) -> Step<()> {
    let config = dir.join("config");
    let elsewhere = listed(repo.call(["config", "--includes", "--list", "-z", "--file"]).arg(&config))?
        .into_iter()
        .any(|(key, _)| key == "core.hookspath");
    // a link may lead to a shell, which would read what it is told
    let there = |name: &&&str| {
        let hook = dir.join("hooks").join(name).symlink_metadata();
        hook.is_ok_and(|it| it.is_symlink() || it.permissions().mode() & 0o111 != 0)
    };
    let what = if elsewhere { Some("core.hooksPath") } else { DECIDING.iter().find(there).copied() };
    match what {
        None => Ok(()),
        Some(name) => refused(
            format!(
                "The repository at the remote decides by {name} what it takes, and this server runs no hooks. Nothing was \
                 done."
            ),
            "Push with Git itself.",
        ),
    }
}

/// Settings of the repository's own that would have Git run something, or trust or reach somebody else.
fn names_no_program(repo: &Repo<'_>, settings: &Settings, of_remote: &str) -> Step<()> {
    let no = |key: &str, why: &str| {
        refused(
            format!("The repository's own configuration has {}, {why}. Nothing was done.", shown(key)),
            "Take the setting out of the repository's configuration; your own configuration may have it.",
        )
    };
    for name in ["vcs", "proxy", "proxyauthmethod", "uploadpack", "receivepack"] {
        let key = format!("{of_remote}{name}");
        if settings.get(&key).is_some() {
            return no(&key, "which names a program or a way that this server does not take from a repository");
        }
    }
    if settings.get("core.alternaterefscommand").is_some() {
        return no("core.alternateRefsCommand", "which names a program");
    }
    if settings.get("fetch.bundleuri").is_some() {
        return no("fetch.bundleURI", "which leads to another address");
    }
    for (key, between) in settings.family("credential", "helper") {
        if !between.is_empty() {
            return no(key, "which names a program that would be given credentials");
        }
    }
    const HTTP: [&str; 9] = [
        "sslverify",
        "sslcainfo",
        "sslcapath",
        "sslcert",
        "sslkey",
        "proxy",
        "cookiefile",
        "curloptresolve",
        "savecookies",
    ];
    for (key, _) in settings.section("http") {
        let name = key.rsplit('.').next().unwrap_or_default();
        if HTTP.contains(&name) || key != "http.extraheader" && name == "extraheader" {
            return no(key, "which changes whom this server would trust or send to");
        }
    }
    let settled = repo.allowed.ssh_command.is_some() || repo.allowed.trust_repo_ssh_command;
    if !settled && settings.get("core.sshcommand").is_some() {
        return no("core.sshCommand", "which names a program (the operator can name one with --ssh-command)");
    }
    Ok(())
}

/// What an address is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Address {
    Https,
    Ssh,
    Directory(PathBuf),
    Other(String),
}

/// As Git reads it: a scheme, `host:path` where the colon comes before the first slash, or a path.
fn read(url: &str) -> Address {
    if let Some((scheme, rest)) = url.split_once("://") {
        return match scheme {
            "https" => Address::Https,
            "ssh" | "git+ssh" | "ssh+git" => Address::Ssh,
            "file" => Address::Directory(PathBuf::from(rest)),
            other => Address::Other(other.to_owned()),
        };
    }
    if let Some((helper, _)) = url.split_once("::") {
        return Address::Other(format!("{helper}::"));
    }
    match (url.find(':'), url.find('/')) {
        (Some(colon), slash) if slash.is_none_or(|slash| colon < slash) => Address::Ssh,
        _ => Address::Directory(PathBuf::from(url)),
    }
}

/// The repository, where it is a directory on this machine.
fn address(repo: &Repo<'_>, url: &str) -> Step<Option<PathBuf>> {
    match read(url) {
        Address::Https => Ok(None),
        Address::Ssh if url.starts_with('-') || url.contains("://-") => refused(
            "An address of the remote begins with an option. Nothing was done.",
            "Correct the remote's address.",
        ),
        Address::Ssh => Ok(None),
        Address::Directory(path) => directory(repo, &path).map(Some),
        Address::Other(kind) => refused(
            format!("This server speaks https, ssh and file with remotes, not {}. Nothing was done.", shown(&kind)),
            "Give the remote another address.",
        ),
    }
}

/// A repository on this machine, beneath the operator's roots.
fn directory(repo: &Repo<'_>, path: &Path) -> Step<PathBuf> {
    let Some(found) = repository_at(&repo.root.join(path)) else {
        return Err(failed(
            Class::NotFound,
            format!("The remote's directory {} is not there. Nothing was done.", shown(&path.to_string_lossy())),
            "Correct the remote's address.",
        ));
    };
    if repo.allowed.roots.iter().any(|root| found.starts_with(OsStr::from_bytes(root))) {
        return match unread_alternates(repo.allowed, &found) {
            None => Ok(found),
            Some(unfit) => Err(failed(
                Class::TooLarge,
                format!("objects/info/alternates of the remote's repository {}. Nothing was done.", unfit.said()),
                "A person has to look at that repository.",
            )),
        };
    }
    refused(
        format!(
            "The remote's directory {} is not beneath the directories that the operator allows. Nothing was done.",
            shown(&path.to_string_lossy())
        ),
        "Ask the operator to add a root, or use Git itself.",
    )
}

/// Runs something against a remote, again where the transport failed and there is time.
pub(super) fn attempt(repo: &Repo<'_>, mut run: impl FnMut() -> Step<Run>) -> Step<(Run, u32)> {
    let mut attempt = 1;
    loop {
        let last = run()?;
        let transport = last.code != Some(0)
            && crate::failure::git_failed("", &last).class == Class::Network
            // a server that answered has refused; only what was not reached is tried again
            && !String::from_utf8_lossy(&last.stdout).contains('\t');
        let pause = PAUSE * attempt;
        if !transport || attempt == ATTEMPTS || Instant::now() + pause + WORTH_TRYING >= repo.git.deadline() {
            return Ok((last, attempt));
        }
        let until = Instant::now() + pause;
        while Instant::now() < until && !repo.git.is_cancelled() {
            thread::sleep(Duration::from_millis(20));
        }
        attempt += 1;
    }
}

/// How often it was tried, as the end of a sentence.
pub(super) fn tried(attempts: u32) -> String {
    if attempts == 1 { String::new() } else { format!(" ({attempts} attempts)") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_git_reads_them() {
        let other = |kind: &str| Address::Other(kind.to_owned());
        for (url, expected) in [
            ("https://h/x", Address::Https),
            ("ssh://h/x", Address::Ssh),
            ("git@h:x", Address::Ssh),
            ("file:///srv/x", Address::Directory("/srv/x".into())),
            ("/srv/x:y", Address::Directory("/srv/x:y".into())),
            ("../x", Address::Directory("../x".into())),
            ("http://h/x", other("http")),
            ("git://h/x", other("git")),
            ("ext::sh -c x", other("ext::")),
            ("foo::https://h/x", other("foo::https")),
        ] {
            assert_eq!(read(url), expected, "{url}");
        }
    }
}
