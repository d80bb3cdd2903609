//! Corrections of this family's recordings.
//! Trust: constants of the test.

use super::Family;

pub const FAMILY: Family = Family {
    tools: &[],
    corrections: Vec::new,
    additions: &[],
    answered_now: &[],
    refused_now: &[],
    failures: &[],
    varying: &[],
};
