//! STUB safety
//! Trust: STUB

use crate::{
    control::Control,
    outcome::CallError,
    reads::{Question, Reads},
    settings::Settings,
    work::Done,
};

/// STUB
#[derive(Debug, Clone)]
pub struct Safety {
    /// The repository's question; the record is added to it.
    pub question: Question,
    /// Argument `runDir`.
    pub run_dir: Option<String>,
}

impl Safety {
    /// STUB
    ///
    /// # Errors
    /// STUB
    pub async fn done<R: Reads>(self, _reads: &R, _settings: &Settings, _control: Control) -> Result<Done, CallError> {
        Err(CallError::Stopping)
    }
}
