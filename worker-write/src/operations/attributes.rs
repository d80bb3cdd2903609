//! Whether an attribute can be set for a path at all: where no file that could set it has its name, nobody has to ask Git.
//! Trust: files of attributes are anybody's; they are searched for one word, and any doubt is a yes.

use crate::{
    repo::Repo,
    settings::{Settings, operators},
    text,
};
use std::{collections::BTreeSet, ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};

/// Bytes of one file that are searched.
const MAX_FILE: u64 = 1 << 20;
/// Files that are searched.
const MAX_FILES: usize = 1_000;
const NAME: &[u8] = b".gitattributes";

/// What a file has to say of an attribute.
enum Said {
    /// There is no such file.
    Absent,
    No,
    /// Its name, in whichever sense, or it cannot be told.
    Maybe,
}

/// False only where certainly none of these paths has the attribute.
pub(super) fn may_say(repo: &Repo<'_>, settings: &Settings, attribute: &str, paths: &[Vec<u8>]) -> bool {
    // other places that they may be taken from
    let elsewhere = ["core.attributesfile", "attr.tree"].iter().any(|key| settings.get(key).is_some())
        || operators(repo, "core.attributesfile").is_some_and(|file| file != "/dev/null");
    let Some(index) = repo.index().filter(|_| !elsewhere) else { return true };
    if matches!(said(&repo.common_dir.join("info/attributes"), attribute), Said::Maybe) {
        return true;
    }
    let mut directories: BTreeSet<&[u8]> = BTreeSet::new();
    for path in paths {
        directories.insert(b"");
        directories.extend((0..path.len()).filter(|at| path[*at] == b'/').map(|end| &path[..=end]));
        if directories.len() > MAX_FILES {
            return true;
        }
    }
    directories.into_iter().any(|directory| {
        let name = [directory, NAME].concat();
        match said(&repo.root.join(OsStr::from_bytes(&name)), attribute) {
            Said::No => false,
            Said::Maybe => true,
            // Git takes what the index has in place of a file that is not there
            Said::Absent => index.as_ref().is_some_and(|index| index.has(&name)),
        }
    })
}

fn said(path: &Path, attribute: &str) -> Said {
    match text::bytes(path, MAX_FILE) {
        Ok(None) => Said::Absent,
        Ok(Some(bytes)) if !bytes.windows(attribute.len()).any(|piece| piece == attribute.as_bytes()) => Said::No,
        Ok(Some(_)) | Err(_) => Said::Maybe,
    }
}
