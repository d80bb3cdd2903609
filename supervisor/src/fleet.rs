//! STUB fleet
//! Trust: STUB

use crate::{control::Control, outcome::CallError, reads::Reads, settings::Settings, work::Done};
use bulkhead_contract::args::Checked;

/// STUB
#[derive(Debug, Clone)]
pub struct Fleet {}

impl Fleet {
    /// STUB
    #[must_use]
    pub fn plan(_tool: &str, _checked: &Checked<'_>, _fingerprint: [u8; 32]) -> Option<Self> {
        None
    }

    /// STUB
    ///
    /// # Errors
    /// STUB
    pub async fn done<R: Reads>(self, _reads: &R, _settings: &Settings, _control: Control) -> Result<Done, CallError> {
        Err(CallError::Stopping)
    }
}
