//! `repo_create_branch`, `repo_delete_branch`, `repo_rename_branch`.
//! Trust: names passed the contract's rules; Git is asked again whether they are names, and gets full ones.

use crate::{
    failure::{Step, failed, named, refused, shown},
    hooks,
    repo::Repo,
    restore,
};
use bulkhead_contract::direct::Class;
use bulkhead_ipc::edge::write::Done;

/// At HEAD, without going there.
pub(super) fn create(repo: &Repo<'_>, name: &str) -> Step<Done> {
    repo.checked_name("heads", name)?;
    let head = repo.head()?;
    let commit = head.born()?.to_owned();
    is_free(repo, name)?;
    let order = format!("create refs/heads/{name} {commit}\n");
    let call = repo.call(["update-ref", "-m", "branch: Created from HEAD", "--stdin"]).stdin(order);
    let hooked = hooks::beside(repo, &[], call)?;
    if hooked.run.code != Some(0) {
        return Err(hooked.failed(&format!("The branch {} could not be made.", shown(name))));
    }
    let mut done = Done { id: Some(commit), ..Done::default() };
    hooked.onto(&mut done);
    if name.starts_with("refs/") {
        done.notes.push(format!("The branch's full name is refs/heads/{name}."));
    }
    Ok(done)
}

fn is_free(repo: &Repo<'_>, name: &str) -> Step<()> {
    match repo.reference(&format!("refs/heads/{name}"))? {
        None => Ok(()),
        Some(_) => refused(
            format!("A branch {} is there already. Nothing was done.", shown(name)),
            "Choose another name, or check that branch out.",
        ),
    }
}

fn value(repo: &Repo<'_>, name: &str) -> Step<String> {
    repo.reference(&format!("refs/heads/{name}"))?.ok_or_else(|| {
        failed(
            Class::NotFound,
            format!("There is no branch {}. Nothing was done.", shown(name)),
            "repo_branches lists those that there are.",
        )
    })
}

/// Only a branch that no working tree holds; without `force`, only one whose commits its upstream or HEAD has.
pub(super) fn delete(repo: &Repo<'_>, name: &str, force: bool) -> Step<Done> {
    let full = format!("refs/heads/{name}");
    let tip = value(repo, name)?;
    let holders = repo.holders(name)?;
    let is_current = repo.head()?.branch.as_deref() == Some(name);
    if is_current || !holders.is_empty() {
        let place = if holders.is_empty() { "here".to_owned() } else { format!("in {}", named(&holders)) };
        return refused(
            format!("The branch {} is checked out {place}. Nothing was done.", shown(name)),
            "Check out another branch there first.",
        );
    }
    if repo.call(["symbolic-ref", "-q", &full]).line()?.is_some() {
        return refused(
            format!("The branch {} stands for another one. Nothing was done.", shown(name)),
            "Delete it with Git itself.",
        );
    }
    if !force {
        is_merged(repo, name, &full, &tip)?;
    }
    let point = restore::make(repo, "repo_delete_branch", Some((&full, &tip)))?;
    let hooked = hooks::beside(repo, &[], repo.call(["update-ref", "--no-deref", "-d", &full, &tip]))?;
    if hooked.run.code != Some(0) {
        return Err(hooked.failed(&format!("The branch {} could not be deleted.", shown(name))));
    }
    let mut done = Done { id: Some(tip.clone()), notes: point.notes, ..Done::default() };
    hooked.onto(&mut done);
    done.notes.extend(forget_settings(repo, name)?);
    Ok(done)
}

/// Whether the branch it follows has all of it, or HEAD where it follows none that is there.
fn is_merged(repo: &Repo<'_>, name: &str, full: &str, tip: &str) -> Step<()> {
    let upstream = repo.call(["for-each-ref", "--format=%(upstream)", full]).line()?;
    let upstream = match upstream {
        Some(upstream) => repo.commit(&upstream)?.map(|commit| (commit, upstream)),
        None => None,
    };
    let (into, called) = match upstream {
        Some(found) => found,
        None => match repo.head()?.commit {
            Some(head) => (head, "HEAD".to_owned()),
            None => (String::new(), "HEAD".to_owned()),
        },
    };
    let merged = !into.is_empty() && repo.call(["merge-base", "--is-ancestor", tip, &into]).output()?.is_some();
    if merged {
        return Ok(());
    }
    refused(
        format!("The branch {} has commits that {called} has not. Nothing was done.", shown(name)),
        "Merge it first, or call again with force: the restore point keeps its tip.",
    )
}

/// What the configuration says of a branch that is gone; a sentence where it could not be removed.
fn forget_settings(repo: &Repo<'_>, name: &str) -> Step<Option<String>> {
    let section = format!("branch.{name}");
    let beginning = format!("{section}.");
    let file = repo.common_dir.join("config");
    let list = repo.call(["config", "--no-includes", "--list", "--name-only", "-z", "--file"]).arg(&file).output()?;
    let list = list.unwrap_or_default();
    if !crate::repo::fields(&list).any(|key| key.starts_with(beginning.as_bytes())) {
        return Ok(None);
    }
    let run = repo.call(["config", "--file"]).arg(&file).args(["--remove-section", &section]).run()?;
    Ok((run.code != Some(0)).then(|| format!("The section {section} of the configuration is still there.")))
}

/// Not onto a name that is taken.
pub(super) fn rename(repo: &Repo<'_>, old: &str, new: &str) -> Step<Done> {
    repo.checked_name("heads", new)?;
    let tip = if repo.head()? == (crate::repo::Head { branch: Some(old.to_owned()), commit: None }) {
        None
    } else {
        Some(value(repo, old)?)
    };
    is_free(repo, new)?;
    if old.starts_with('-') {
        return refused("A branch whose name begins with - is renamed with Git itself.", "Use git branch -m.");
    }
    let hooked = hooks::beside(repo, &[], repo.call(["branch", "-m", "--", old, new]))?;
    if hooked.run.code != Some(0) {
        return Err(hooked.failed(&format!("The branch {} could not be renamed.", shown(old))));
    }
    let mut done = Done { id: tip, ..Done::default() };
    hooked.onto(&mut done);
    Ok(done)
}
