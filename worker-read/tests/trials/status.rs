//! What must hold of a status for any index file: the fuzz target `status` and a test share it.
//! Trust: the input is the fuzzer's; it stands in the place of the index of a repository that the caller made.

use bulkhead_contract::failure::ReadFailure;
use bulkhead_worker_read::{
    discover::{self, Bounds},
    open::Caches,
    pace::Pace,
    repo::{Operator, Repo},
    status::{self, Sides},
    worktree::Untracked,
};
use std::{collections::BTreeSet, fs, os::unix::ffi::OsStrExt as _, path::Path};

/// Puts `bytes` in the place of the index of the repository at `top`, with a checksum that is not looked at.
pub fn trial(top: &Path, bytes: &[u8]) -> Result<Sides, ReadFailure> {
    let mut index = bytes.to_vec();
    index.extend([0; 20]);
    fs::write(top.join(".git/index"), &index).expect("the place is ours");
    let operator = Operator::default();
    let ceilings = [top.to_path_buf()];
    let bounds = Bounds { ceilings: &ceilings, trust: &operator.trust };
    let found = discover::discover(top.as_os_str().as_bytes(), bounds).expect("a repository");
    let repo = Repo::open(found, operator, Caches::Main).expect("it can be read");
    let pace = Pace::alone(60_000);
    let sides = status::read(&repo, Untracked::page(1_000, None), &pace, 0)?;
    let staged: Vec<&[u8]> = sides.staged.iter().map(|change| &change.path[..]).collect();
    let differing: Vec<&[u8]> = sides.differs.iter().map(|found| sides.index.path(found.at)).collect();
    let untracked: Vec<&[u8]> = sides.untracked.kept.iter().map(|path| &path[..]).collect();
    for column in [&staged, &differing, &untracked] {
        assert!(column.is_sorted(), "{column:?}");
        assert_eq!(column.iter().collect::<BTreeSet<_>>().len(), column.len(), "a path is listed twice");
        assert!(column.iter().all(|path| !path.is_empty() && !path.starts_with(b"/")), "{column:?}");
        let outside = |path: &&[u8]| path.split(|&byte| byte == b'/').any(|name| name == b".." || name == b".git");
        assert!(!column.iter().any(outside), "{column:?}");
    }
    assert!(sides.untracked.total >= untracked.len() as u64);
    let _ = sides.dirt();
    Ok(sides)
}
