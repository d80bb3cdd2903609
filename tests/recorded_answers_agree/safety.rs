//! Corrections of the recordings of safety.*, flux.* and operation.status.
//! Trust: constants of the test.

use super::Family;

pub const FAMILY: Family = Family {
    tools: &[
        ("safety.timeline", 1),
        ("safety.eventDetails", 1),
        ("flux.latestRestorePoint", 1),
        ("flux.restorePoints", 1),
        ("flux.restorePointDetails", 1),
        ("operation.status", 4),
    ],
    corrections: Vec::new,
    additions: &[],
    answered_now: &[],
    refused_now: &[],
    failures: &[
        ("safety.timeline", "no-gateway", "10001"),
        ("safety.eventDetails", "no-gateway", "10001"),
        ("flux.latestRestorePoint", "no-gateway", "10001"),
        ("flux.restorePoints", "no-gateway", "10001"),
        ("flux.restorePointDetails", "no-gateway", "10001"),
        ("operation.status", "no-gateway", "10003"),
    ],
    varying: &[],
};
