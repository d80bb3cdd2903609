//! Whether the repository still is the one that the server was started for, and nothing in it holds up who opens it.
//! Trust: kinds of files and one short file of the git directory, which may have been changed since; nothing is followed out.

use crate::{
    failure::{Step, failed},
    reach::{self, Unlent},
    repo::Repo,
    standing,
    text::Unread,
};
use bulkhead_contract::direct::Class;
use std::path::Path;

/// What to do where nobody but a person can help.
const LOOK: &str = "A person has to look at the repository.";

/// What Git opens in a git directory, whatever it does.
const OF_GIT_DIR: &[&str] = &["HEAD", "index", "config.worktree", "commondir", "gitdir"];
/// The same in a common directory.
const OF_COMMON_DIR: &[&str] =
    &["config", "packed-refs", "shallow", "info/attributes", "info/exclude", "info/grafts", "objects/info/alternates"];
/// The same at the top of the working tree.
const OF_ROOT: &[&str] = &[".gitattributes", ".gitignore", ".gitmodules"];

/// Refuses where it is another by now, or where a pipe or device stands where Git keeps a file: it would be waited for.
pub(crate) fn as_it_was(repo: &Repo<'_>) -> Step<()> {
    let common = match standing::bounded(&repo.git_dir.join("commondir")) {
        Ok(Some(text)) => repo.git_dir.join(text.trim_end()).canonicalize().ok(),
        Ok(None) => Some(repo.git_dir.clone()),
        Err(why) => return Err(unusable(&format!("commondir is {why}."))),
    };
    if common.as_deref() != Some(repo.common_dir.as_path()) {
        return Err(unusable("The git directory names another common directory than when this server was started."));
    }
    if let Some(unfit) = reach::lent(repo.allowed).unfit {
        let (class, next) = match unfit {
            Unlent::Elsewhere => (
                Class::Unusable,
                "If it is meant, the operator allows its directory with --root; else a person has to look at the repository.",
            ),
            // as reads have it
            Unlent::Many | Unlent::Unread(Unread::Long(_)) => (Class::TooLarge, LOOK),
            Unlent::Unread(_) => (Class::Unusable, LOOK),
        };
        return Err(failed(class, format!("objects/info/alternates {}. Nothing was done.", unfit.said()), next));
    }
    let of = |dir: &Path, names: &'static [&'static str]| {
        let special = |name: &&&str| dir.join(name).metadata().is_ok_and(|found| !found.is_file() && !found.is_dir());
        names.iter().find(special).copied()
    };
    let special = of(&repo.git_dir, OF_GIT_DIR).or_else(|| of(&repo.common_dir, OF_COMMON_DIR));
    match special.or_else(|| of(&repo.root, OF_ROOT)) {
        Some(name) => Err(unusable(&format!("{name} is a pipe, a socket or a device, for which Git would wait."))),
        None => Ok(()),
    }
}

fn unusable(why: &str) -> Box<bulkhead_ipc::edge::write::Failed> {
    failed(Class::Unusable, format!("{why} Nothing was done."), LOOK)
}
