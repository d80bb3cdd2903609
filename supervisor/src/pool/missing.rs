//! What the operator is told, once for each capability, of jails of workers that fall short without being refused.
//! Trust: reports are a worker's words, who may be taken over: they are told, bounded in number, and decide nothing.

use super::Shared;
use crate::{log, settings::Settings};
use bulkhead_contract::isolation::{Demand, Report};
use std::collections::BTreeSet;

/// Capabilities that are told of at most; the sandbox knows half as many.
const MOST: usize = 32;
/// The row by which an empty root shows.
const EMPTY_ROOT: &str = "metadata-outside-roots";
/// What a row names where nothing takes the capability away.
const NONE: &str = "none";

impl Shared {
    /// Warns of what the jail of a read worker lacks and no warning has named yet.
    pub(super) fn tell_what_is_missing(&self, report: &Report) {
        let state = &mut *self.state.borrow_mut();
        untold(&self.settings, report, &mut state.told_missing).iter().for_each(|text| log::warn(text));
    }
}

/// The warnings that `report` calls for; `told` grows by what they are about.
fn untold(settings: &Settings, report: &Report, told: &mut BTreeSet<String>) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut once = |about: &str, text: String| {
        if told.len() < MOST && told.insert(about.to_owned()) {
            warnings.push(text);
        }
    };
    let no_root = report.rows.iter().find(|row| row.capability == EMPTY_ROOT && row.enforcer == NONE);
    if let Some(row) = no_root.filter(|_| settings.empty_root) {
        once(EMPTY_ROOT, format!("the empty root that --empty-root asks for is not there: {}", row.evidence));
    }
    if settings.demand == Demand::BestEffort {
        for row in report.missing() {
            let text = format!("isolation of the read worker: {} is missing: {}", row.capability, row.evidence);
            once(&row.capability, text);
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp;
    use bulkhead_contract::isolation::Row;

    fn row(capability: &str, sufficient: bool) -> Row {
        let (capability, enforcer) = (capability.to_owned(), NONE.to_owned());
        Row { capability, enforcer, sufficient, evidence: "seen".to_owned() }
    }

    fn report(rows: Vec<Row>) -> Report {
        Report { process: "worker-read".to_owned(), rows }
    }

    #[test]
    fn each_capability_is_told_of_once() {
        let settings = Settings { demand: Demand::BestEffort, ..mcp::tests::settings() };
        let mut told = BTreeSet::new();
        let first = untold(&settings, &report(vec![row("writes", false), row("exec", true)]), &mut told);
        assert_eq!(first, ["isolation of the read worker: writes is missing: seen"]);
        let then = untold(&settings, &report(vec![row("writes", false), row("exec", false)]), &mut told);
        assert_eq!(then, ["isolation of the read worker: exec is missing: seen"]);
        let strict = Settings { demand: Demand::Required, ..settings.clone() };
        assert!(untold(&strict, &report(vec![row("network-tcp", false)]), &mut told).is_empty(), "those are refused");
        let many = (0..1_000).map(|n| row(&n.to_string(), false)).collect();
        assert!(untold(&settings, &report(many), &mut told).len() < MOST, "a liar is heard for a while");
    }

    #[test]
    fn an_empty_root_that_is_not_there_is_told_to_who_asked_for_it() {
        let rows = report(vec![row(EMPTY_ROOT, true)]);
        for (empty_root, expected) in
            [(false, None), (true, Some("the empty root that --empty-root asks for is not there: seen"))]
        {
            for demand in [Demand::BestEffort, Demand::Required] {
                let settings = Settings { demand, empty_root, ..mcp::tests::settings() };
                let mut told = BTreeSet::new();
                assert_eq!(untold(&settings, &rows, &mut told).first().map(String::as_str), expected);
                assert!(untold(&settings, &rows, &mut told).is_empty(), "once");
            }
        }
    }
}
