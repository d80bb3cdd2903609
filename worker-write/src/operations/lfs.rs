//! Pointers of LFS: a push that sends them without what they point at leaves everybody else with files that are none.
//! Trust: attributes and names are the repository's; a pointer is recognised by its first bytes.

use crate::{
    failure::{Step, failed, named, refused},
    repo::{Repo, fields, lossy},
    settings::filter_runs,
};
use bulkhead_contract::direct::Class;
use std::collections::BTreeSet;

/// Paths that are looked at in one push; beyond them nothing is known of pointers, and the push is refused.
const MAX_PATHS: usize = 200_000;
/// How a pointer begins.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// Refuses a tip that brings new pointers, unless the operator's own filter runs.
pub(super) fn has_no_pointers(repo: &Repo<'_>, tip: &str, remote: &str) -> Step<()> {
    if filter_runs(repo, "lfs") {
        return Ok(());
    }
    let listing = repo
        .call(["log", "-z", "--format=", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "-m"])
        .args(["--no-show-signature", "--diff-filter=AMT", tip, "--not"])
        .arg(format!("--remotes={remote}"))
        .arg("--")
        .all("What would be pushed could not be listed. Nothing was done.")?;
    let paths: Vec<_> = fields(&listing).map(<[u8]>::to_vec).collect::<BTreeSet<_>>().into_iter().collect();
    if paths.is_empty() {
        return Ok(());
    }
    if paths.len() > MAX_PATHS {
        return Err(failed(
            Class::TooLarge,
            format!(
                "The push brings {} paths, more than the {MAX_PATHS} that are looked through for LFS pointers.",
                paths.len()
            ),
            "Push with Git itself.",
        ));
    }
    let mut input = paths.join(&0);
    input.push(0);
    let listing = repo
        .call(["check-attr", "-z", "--stdin"])
        .arg(format!("--source={tip}"))
        .arg("filter")
        .stdin(input)
        .all("Attributes could not be read. Nothing was done.")?;
    let all: Vec<_> = fields(&listing).collect();
    let filtered: Vec<_> = all.chunks_exact(3).filter(|row| row[2] == b"lfs").map(|row| row[0]).collect();
    let mut pointers = Vec::new();
    for path in filtered {
        let object = [tip.as_bytes(), b":", path].concat();
        let id = repo.call(["rev-parse", "--verify", "-q", "--end-of-options"]).paths(&[object]).line()?;
        // a path that the tip has no more was in a commit before it
        let Some(id) = id else { continue };
        let size = repo.call(["cat-file", "-s", &id]).line()?.and_then(|size| size.parse::<u64>().ok());
        if size.is_some_and(|size| size <= 1_024)
            && repo.call(["cat-file", "blob", &id]).output()?.is_some_and(|bytes| bytes.starts_with(POINTER))
        {
            pointers.push(lossy(path));
        }
        if pointers.len() > 20 {
            break;
        }
    }
    if pointers.is_empty() {
        return Ok(());
    }
    refused(
        format!(
            "The push would bring LFS pointers without what they point at: {}. Nothing was done.",
            named(&pointers)
        ),
        "Push with Git and git-lfs themselves.",
    )
}
