//! Which files are neither tracked nor ignored, and whether a restore point can hold them.
//! Trust: Git says which, by the repository's own rules; names are bytes.

use super::{MAX_UNTRACKED, MAX_UNTRACKED_BYTES, disk::Disk};
use crate::{
    call::Call,
    failure::{Step, git_failed, not_run},
    repo::{Repo, fields},
};

/// Untracked files of a working tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Untracked {
    /// Their paths in order; or why a point does not hold them, as a part of a sentence.
    pub(super) paths: Result<Vec<Vec<u8>>, String>,
    /// Repositories inside of this one.
    pub(super) nested: Vec<Vec<u8>>,
}

/// Begins to list them while other things are asked; nothing that can be said of a repository's filters changes the answer.
pub(crate) fn begin(repo: &Repo<'_>) -> Step<()> {
    let begun = call(repo).begin()?;
    repo.untracked.replace(Some(begun));
    Ok(())
}

fn call<'r, 'a>(repo: &'r Repo<'a>) -> Call<'r, 'a> {
    repo.call(["ls-files", "--others", "--exclude-standard", "-z"])
}

pub(super) fn list(repo: &Repo<'_>) -> Step<Untracked> {
    let run = match repo.untracked.take() {
        Some(begun) => begun.ended().map_err(|why| not_run(&why))?,
        None => call(repo).run()?,
    };
    if run.code != Some(0) {
        return Err(git_failed("Untracked files could not be listed. Nothing was done.", &run));
    }
    // a repository inside of this one is listed as a directory
    let (nested, mut paths): (Vec<_>, Vec<_>) =
        fields(&run.stdout).map(<[u8]>::to_vec).partition(|path| path.ends_with(b"/"));
    let nested = nested.into_iter().map(|path| path[..path.len() - 1].to_vec()).collect();
    if run.cut || paths.len() > MAX_UNTRACKED {
        let more = if run.cut { "more than " } else { "" };
        let why = format!("there are {more}{} of them, and it holds at most {MAX_UNTRACKED}", paths.len());
        return Ok(Untracked { paths: Err(why), nested });
    }
    let mut disk = Disk::of(&repo.root);
    let bytes: u64 = paths.iter().filter_map(|path| disk.stands(path)).map(|found| found.len()).sum();
    if bytes > MAX_UNTRACKED_BYTES {
        let why = format!("they have {bytes} bytes, and it holds at most {MAX_UNTRACKED_BYTES}");
        return Ok(Untracked { paths: Err(why), nested });
    }
    paths.sort_unstable();
    Ok(Untracked { paths: Ok(paths), nested })
}
