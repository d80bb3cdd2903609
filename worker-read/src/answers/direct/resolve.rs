//! The reading half of repo_resolve_conflict: what an unmerged path becomes when one side decides.
//! Trust: see the module above; the file in the working tree, with whatever somebody made of its markers, is not looked at.

use crate::{
    aside,
    changes::normalised,
    diff::{
        contents::{self, is_binary},
        lines::{AT_ONCE, MAX_LINES},
    },
    merge::text::{Decided, Take, decide},
    pace::Pace,
    renames::is_file,
    repo::Repo,
    unmerged::{self, File, Markers, Stage},
};
use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    limits::CONFLICT_FILE_BYTES,
    path::{PathEncoding, bytes_of},
    results::Omission,
};
use bulkhead_ipc::edge::{
    asks::{self, ConflictChoice, Resolution},
    write::Resolved,
};

const OPERATION: &str = "resolve";

/// What the path becomes.
pub(in crate::answers) fn resolve(repo: &Repo, ask: &asks::Resolve, pace: &Pace) -> Result<Resolution, ReadFailure> {
    if repo.is_bare() {
        return Err(unmerged::bare());
    }
    let asked = super::path(&ask.path, OPERATION)?;
    let index = repo.index()?;
    let files = unmerged::files(&index);
    let at = |path: &[u8]| files.iter().find(|file| file.path == path);
    let escaped = || at(&bytes_of(&ask.path, Some(PathEncoding::Escaped))?);
    let Some(file) = at(&asked).or_else(escaped) else {
        let details = "It is not unmerged; repo_conflicts lists the paths that are.";
        return Err(ReadFailure::new(Reason::NoSuchPath, OPERATION, details).at(&asked));
    };
    let stages = file.stages.map(|stage| stage.map(|stage| stage.id.to_string()));
    let number = ask.side.stage();
    let becomes = match (file.stages[usize::from(number) - 1], ask.side) {
        (None, ConflictChoice::Base) => {
            let details = "There is no base: the path has no version that both sides come from.";
            return Err(super::bad(OPERATION, details).at(&file.path));
        }
        (None, _) => Resolved::Deleted,
        (Some(chosen), side) => match texts(repo, file, &mut Markers::new(repo, &index))? {
            Some(texts) => content(file, texts, side, pace)?,
            None => whole(repo, file, chosen, number)?,
        },
    };
    Ok(Resolution { becomes, stages })
}

/// The stage as it is.
fn whole(repo: &Repo, file: &File, chosen: Stage, number: u8) -> Result<Resolved, ReadFailure> {
    // the commit of a submodule is in another repository
    if chosen.mode != 0o160_000 && !repo.git.has_object(chosen.id) {
        return Err(missing(repo, file));
    }
    Ok(Resolved::Stage(number))
}

/// Base, ours and theirs, where all that are there are texts that are merged line by line.
fn texts(repo: &Repo, file: &File, markers: &mut Markers<'_>) -> Result<Option<[Vec<u8>; 3]>, ReadFailure> {
    let [base, Some(ours), Some(theirs)] = file.stages else { return Ok(None) };
    let of_file = |stage: &Stage| is_file(normalised(stage.mode));
    if ![ours, theirs].iter().all(of_file) || markers.merges_whole(&file.path) {
        return Ok(None);
    }
    let mut texts = [const { Vec::new() }; 3];
    // a version of another kind is none to merge over
    for (stage, text) in [base.filter(of_file), Some(ours), Some(theirs)].into_iter().zip(&mut texts) {
        let Some(stage) = stage else { continue };
        *text = contents::blob(repo, &stage.id, CONFLICT_FILE_BYTES).map_err(|why| match why {
            Omission::TooLarge => too_large(file),
            _ => missing(repo, file),
        })?;
    }
    Ok(Some(texts).filter(|texts| !texts.iter().any(|text| is_binary(text))))
}

fn content(file: &File, texts: [Vec<u8>; 3], side: ConflictChoice, pace: &Pace) -> Result<Resolved, ReadFailure> {
    let take = match side {
        ConflictChoice::Base => Take::Base,
        ConflictChoice::Ours => Take::Ours,
        ConflictChoice::Theirs => Take::Theirs,
    };
    let lines: usize = texts.iter().map(|text| text.iter().filter(|&&byte| byte == b'\n').count()).sum();
    if lines > 2 * MAX_LINES {
        return Err(too_large(file));
    }
    let work = move || decide(&texts[0], &texts[1], &texts[2], take);
    let Decided { text, conflicts } = if lines <= AT_ONCE {
        work()
    } else {
        aside::run(pace, work).map_err(|_| {
            let details = "It was not merged in time. Start the server with a larger --deadline.";
            ReadFailure::new(Reason::TooLarge, OPERATION, details).at(&file.path)
        })?
    };
    if text.len() as u64 > CONFLICT_FILE_BYTES {
        return Err(too_large(file));
    }
    let conflicts = u32::try_from(conflicts).unwrap_or(u32::MAX);
    Ok(Resolved::Content { bytes: text, mode_of: mode_of(file, side), conflicts })
}

/// The stage whose mode the merge has: that of the side which changed it, and of the chosen one where both did.
fn mode_of(file: &File, side: ConflictChoice) -> u8 {
    let [base, ours, theirs] = file.stages.map(|stage| stage.map(|stage| stage.mode));
    let chosen = if side == ConflictChoice::Theirs { 3 } else { 2 };
    match (ours == base, theirs == base) {
        (true, false) => 3,
        (false, true) => 2,
        _ => chosen,
    }
}

fn too_large(file: &File) -> ReadFailure {
    let details = format!(
        "A version of it, or what would become of it, has more than {CONFLICT_FILE_BYTES} bytes or too many lines. Resolve \
         it in the working tree."
    );
    ReadFailure::new(Reason::TooLarge, OPERATION, details).at(&file.path)
}

fn missing(repo: &Repo, file: &File) -> ReadFailure {
    repo.doubt();
    let details = "A version of it is not in this clone, or is damaged.";
    ReadFailure::new(Reason::ObjectMissing, OPERATION, details).at(&file.path)
}
