//! STUB gateway
//! Trust: STUB

use crate::{outcome::CallError, settings::Settings, work::Done};
use bulkhead_contract::args::Checked;

/// STUB
#[derive(Debug, Clone)]
pub struct Gateway {}

impl Gateway {
    /// STUB
    #[must_use]
    pub fn plan(_tool: &str, _checked: &Checked<'_>) -> Option<Self> {
        None
    }

    /// STUB
    ///
    /// # Errors
    /// STUB
    pub fn done(self, _settings: &Settings) -> Result<Done, CallError> {
        Err(CallError::Stopping)
    }
}
