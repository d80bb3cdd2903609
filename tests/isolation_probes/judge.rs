//! Compares what came of the probes with the golden tables.
//! Trust: the tables are reviewed; they are part of what the project promises.

use crate::collect::{COLUMNS, Collected};
use bulkhead_sandbox::probe::{self, Outcome};
use std::{collections::BTreeMap, fmt::Write, fs, io, path::Path};

/// What the jailed processes answer. It is the same for root and for an ordinary user: in the jail there is no root.
const GOLDEN: &str = include_str!("../golden/probes.tsv");
/// Probes whose outcome is the same without a jail, in which columns, and why that is in order.
const SAME: &str = include_str!("../golden/same-without-jail.tsv");
/// All that a finished jail lets through, whatever the tables say.
const MAY: [(&str, &[&str]); 11] = [
    ("read", &["fs.read-root", "fs.stat-outside", "fs.readlink-outside"]),
    ("read+empty-root", &["fs.read-root"]),
    ("audit", &[]),
    ("agents", &["fs.read-root", "fs.stat-outside"]),
    ("note", &["fs.stat-outside"]),
    ("gateway", &[]),
    ("syntax", &[]),
    ("write", WRITES),
    ("write+hooks", WRITES),
    ("write-net", WRITES),
    ("supervisor", &[]),
];
/// What a process may do that runs Git in one repository: change that, start processes in its own domain, look at names
/// elsewhere. The flags and limits that it may loosen are its own; whatever it leaves behind the launcher ends.
const WRITES: &[&str] = &[
    "fs.read-root",
    "fs.write-repo",
    "fs.create-repo",
    "fs.trunc-repo",
    "fs.unlink-repo",
    "fs.rename-repo",
    "fs.chmod-repo",
    "fs.utimes-repo",
    "fs.symlink-repo",
    "fs.stat-outside",
    "fs.readlink-outside",
    "fs.opath-outside",
    "fs.chdir-outside",
    "fs.statfs-outside",
    "fs.dev-null-write",
    "ex.fork",
    "ex.mmap-wx",
    "ex.mprotect-exec",
    "k.seccomp-again",
    "k.dumpable-on",
    "k.pdeathsig-off",
    "k.rlimit-up",
];
/// What one may do besides that runs hooks: start the system's programs and those of the repository, and have them talk.
const HOOKS: &[&str] = &["ex.exec-true", "net.socketpair"];
/// What one may do besides that has a network.
const NETWORK: &[&str] = &["net.tcp-gw", "net.tcp-ext-gwport", "net.socketpair"];

/// The count, and what is wrong.
#[derive(Default)]
pub struct Verdict {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Verdict {
    /// Judges one run, `who` being `root` or `user`.
    pub fn judge(&mut self, who: &str, collected: &Collected) {
        let golden = rows(GOLDEN);
        let same = rows(SAME);
        for name in golden.keys().chain(same.keys()) {
            if probe::all().all(|probe| probe.name != name) {
                self.fail(&format!("the tables name {name}, which is no probe"));
            }
        }
        for (column, why) in &collected.skipped {
            self.skip(&format!("{column} as {who}"), why, probe::all().count());
        }
        let get = |probe: &str, column: &str| {
            collected.outcomes.get(&(probe.to_owned(), column.to_owned())).map(String::as_str)
        };
        for probe in probe::all().map(|probe| probe.name) {
            let bare = get(probe, COLUMNS[0]);
            for (at, column) in COLUMNS.iter().enumerate().skip(1) {
                if collected.skipped.iter().any(|(skipped, _)| skipped == column) {
                    continue;
                }
                let Some(found) = get(probe, column) else {
                    self.fail(&format!("{column} as {who}: {probe} was not run"));
                    continue;
                };
                if let Outcome::Skipped(why) = Outcome::by_name(found) {
                    self.skip(&format!("{probe} in {column} as {who}"), &why, 1);
                    continue;
                }
                let wanted = golden.get(probe).and_then(|row| row.get(at - 1)).map_or("nothing", String::as_str);
                let may = MAY.iter().any(|(name, probes)| name == column && probes.contains(&probe))
                    || *column == "write-net" && NETWORK.contains(&probe)
                    || *column == "write+hooks" && HOOKS.contains(&probe);
                let listed =
                    same.get(probe).is_some_and(|row| row.first().is_some_and(|l| l.split(',').any(|c| c == *column)));
                if found != wanted {
                    self.fail(&format!("{column} as {who}: {probe} gives {found}, not {wanted}"));
                } else if found == "DID" && !may {
                    self.fail(&format!("{column} as {who}: {probe} succeeds"));
                } else if bare == Some(found) && found == "ENOSYS" {
                    // what a process without a jail cannot call either shows nothing about the jail
                    self.skip(&format!("{probe} in {column} as {who}"), "this kernel has no such call", 1);
                } else if bare == Some(found) && !listed {
                    self.fail(&format!(
                        "{column} as {who}: {probe} gives {found} without a jail too, so it tests nothing"
                    ));
                } else {
                    self.passed += 1;
                }
            }
        }
        self.passed += collected.held.len();
        for what in &collected.broken {
            self.fail(&format!("as {who}: {what}"));
        }
        let not_done: Vec<_> = probe::all()
            .filter_map(|probe| {
                get(probe.name, COLUMNS[0]).filter(|o| *o != "DID").map(|o| format!("{} {o}", probe.name))
            })
            .collect();
        eprintln!(
            "as {who}: without a jail {} of {} probes succeed; not: {}",
            probe::all().count() - not_done.len(),
            probe::all().count(),
            not_done.join(", ")
        );
    }

    fn fail(&mut self, what: &str) {
        eprintln!("FAILED {what}");
        self.failed += 1;
    }

    /// Counts what this machine cannot show.
    pub fn skip(&mut self, what: &str, why: &str, count: usize) {
        eprintln!("SKIP {what}: {why}");
        self.skipped += count;
    }

    /// The closing line; true when nothing failed.
    pub fn close(&self) -> bool {
        eprintln!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped);
        self.failed == 0
    }
}

/// Rows by their first field.
fn rows(table: &str) -> BTreeMap<String, Vec<String>> {
    let rows = table.lines().skip(1).map(|line| line.split('\t').map(str::to_owned));
    rows.filter_map(|mut fields| Some((fields.next()?, fields.collect()))).collect()
}

/// Writes the table of this run, to be read before it is committed; it counts from the next build on.
pub fn bless(collected: &Collected) -> io::Result<()> {
    let mut table = format!("probe\t{}\n", COLUMNS[1..].join("\t"));
    for probe in probe::all().map(|probe| probe.name) {
        let found = COLUMNS[1..].iter().map(|column| {
            collected.outcomes.get(&(probe.to_owned(), (*column).to_owned())).cloned().unwrap_or_default()
        });
        let _ = writeln!(table, "{probe}\t{}", found.collect::<Vec<String>>().join("\t"));
    }
    fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/probes.tsv"), table)
}
