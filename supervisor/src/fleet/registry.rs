//! The repositories that fleet.digest asks when a call names none: those of the application's run directory.
//! Trust: paths from there are as unchecked as a caller's; each worker resolves its own against the allowed roots.

use crate::{control::Control, outcome::CallError, reads::Reads, settings::Settings};

/// The registry's paths, in its order.
///
/// # Errors
/// [`CallError::Incomplete`] naming what is missing.
pub(super) async fn paths<R: Reads>(
    _reads: &R,
    _settings: &Settings,
    _control: &Control,
) -> Result<Vec<String>, CallError> {
    Err(CallError::Incomplete {
        details: "name repositories in `repoPaths`: this server was given no run directory with a registry of \
                  repositories."
            .to_owned(),
    })
}
