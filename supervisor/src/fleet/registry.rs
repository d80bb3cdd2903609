//! The repositories that fleet.digest asks when a call names none: those of the application's run directory.
//! Trust: paths from there are as unchecked as a caller's; each worker resolves its own against the allowed roots.

use crate::{control::Control, outcome::CallError, reads::Reads, safety, settings::Settings};

/// The registry's paths, in its order.
///
/// # Errors
/// [`CallError::Incomplete`] naming what is missing; what the question to a run directory ends in.
pub(super) async fn paths<R: Reads>(
    reads: &R,
    settings: &Settings,
    control: &Control,
) -> Result<Vec<String>, CallError> {
    let registered = safety::registry(reads, settings, control).await?;
    if registered.paths.is_empty() {
        let why = match registered.problems.first() {
            Some(problem) => format!("its registry cannot be used ({problem})"),
            None => "it has no run directory with a registry of repositories".to_owned(),
        };
        return Err(CallError::Incomplete {
            details: format!("name repositories in `repoPaths`: this server was given none, and {why}."),
        });
    }
    Ok(registered.paths)
}
