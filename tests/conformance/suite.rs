//! Runs the suite, one scenario after the other, and holds what it found against what is expected of it.
//! Trust: the suite's own words; a check that fails and is not expected to, and one that passes and is, both fail the test.

use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Command, Stdio},
};

/// The revisions that are judged.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];
/// Checks that do not pass, each with its reason.
const EXPECTED: &str = include_str!("expected.json");

/// The suite's command.
pub struct Suite(Vec<String>);

/// Revision, scenario, check.
type Place = (String, String, String);

/// What came of all scenarios.
#[derive(Default)]
pub struct Verdict {
    scenarios: usize,
    passed: usize,
    skipped: usize,
    failed: BTreeMap<Place, String>,
    /// Scenarios that said nothing that could be read.
    unheard: Vec<String>,
}

impl Suite {
    /// The command that `BULKHEAD_CONFORMANCE` holds, words parted by blanks.
    pub fn named() -> Option<Suite> {
        let words = std::env::var("BULKHEAD_CONFORMANCE").ok()?;
        let words: Vec<_> = words.split_whitespace().map(str::to_owned).collect();
        (!words.is_empty()).then_some(Suite(words))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.0[0]);
        command.args(&self.0[1..]).args(arguments).stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Scenarios for servers, with the revisions that they belong to; those of extensions belong to none.
    fn scenarios(&self) -> Vec<(String, String)> {
        let output = self.command(&["list", "--server"]).output().expect("the suite can be started");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let rows = text.lines().filter_map(|line| line.trim().strip_prefix("- ")?.split_once(" ["));
        let found: Vec<_> = REVISIONS
            .iter()
            .flat_map(|revision| {
                let of = rows.clone().filter(move |(_, revisions)| revisions.contains(revision));
                of.map(|(name, _)| ((*revision).to_owned(), name.to_owned()))
            })
            .collect();
        assert!(!found.is_empty(), "the suite lists scenarios: {text}");
        found
    }

    /// Runs every scenario against `url`; results are written beneath `directory`.
    pub fn judge(&self, url: &str, directory: &Path) -> Verdict {
        let mut verdict = Verdict::default();
        for (revision, scenario) in self.scenarios() {
            let results = directory.join(format!("results/{revision}/{scenario}"));
            let to = results.to_str().expect("places have UTF-8 paths");
            let arguments = ["server", "--url", url, "--scenario", &scenario, "--spec-version", &revision];
            let ended = self
                .command(&arguments)
                .args(["--timeout", "60000", "-o", to])
                .stdout(Stdio::null())
                .status()
                .expect("the suite can be started");
            match checks(&results) {
                Some(checks) => verdict.take(&revision, &scenario, &checks),
                None => verdict.unheard.push(format!("{revision} {scenario} ({ended})")),
            }
        }
        verdict
    }
}

/// The checks of the one run whose results are beneath the directory.
fn checks(results: &Path) -> Option<Vec<Value>> {
    let run = fs::read_dir(results).ok()?.flatten().next()?.path().join("checks.json");
    serde_json::from_slice(&fs::read(run).ok()?).ok()
}

impl Verdict {
    fn take(&mut self, revision: &str, scenario: &str, checks: &[Value]) {
        self.scenarios += 1;
        for check in checks {
            let text = |member: &str| check[member].as_str().unwrap_or_default().to_owned();
            match text("status").as_str() {
                "SUCCESS" => self.passed += 1,
                "INFO" | "SKIPPED" => self.skipped += 1,
                _ => {
                    _ = self.failed.insert((revision.to_owned(), scenario.to_owned(), text("id")), text("errorMessage"))
                }
            }
        }
    }

    /// Checks that passed.
    pub fn passed(&self) -> usize {
        self.passed
    }

    /// One line of figures.
    pub fn summary(&self) -> String {
        let Self { scenarios, passed, skipped, failed, .. } = self;
        let failed = failed.len();
        format!(
            "conformance: {scenarios} scenarios, {passed} checks pass, {failed} fail as expected or not, {skipped} not for us"
        )
    }

    /// Fails where anything is other than `expected.json` says.
    pub fn assert_as_expected(&self) {
        let rows: Vec<Value> = serde_json::from_str(EXPECTED).expect("expected.json is JSON");
        let expected: Vec<Place> = rows
            .iter()
            .map(|row| {
                let text = |member: &str| row[member].as_str().expect("every row is complete").to_owned();
                assert!(text("reason").len() > 20, "every row has its reason: {row}");
                (text("revision"), text("scenario"), text("check"))
            })
            .collect();
        let unexpected: Vec<_> = self.failed.iter().filter(|(place, _)| !expected.contains(place)).collect();
        let stale: Vec<_> = expected.iter().filter(|place| !self.failed.contains_key(*place)).collect();
        assert!(self.unheard.is_empty(), "scenarios without a result: {:?}", self.unheard);
        assert!(unexpected.is_empty(), "checks that fail: {unexpected:#?}");
        assert!(stale.is_empty(), "checks that are expected to fail and do not: {stale:#?}");
    }
}
