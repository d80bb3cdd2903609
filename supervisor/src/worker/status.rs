//! The lines of `/proc/PID/status` that say what a process may still do.
//! Trust: the kernel's text about a process, read by the launcher; the process itself has no say in it.

use serde::Serialize;

/// Those lines; `None` where the kernel does not print one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcStatus {
    /// `1`: exec gives no new rights.
    pub no_new_privs: Option<u64>,
    /// `2`: a filter is on.
    pub seccomp: Option<u64>,
    /// Filters that are stacked.
    pub seccomp_filters: Option<u64>,
    /// Effective capabilities as a set of bits.
    pub cap_eff: Option<u64>,
    /// Bounding set of capabilities.
    pub cap_bnd: Option<u64>,
}

impl ProcStatus {
    /// Reads the text of `/proc/PID/status`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let field = |name: &str, radix| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            u64::from_str_radix(line.trim(), radix).ok()
        };
        Self {
            no_new_privs: field("NoNewPrivs", 10),
            seccomp: field("Seccomp", 10),
            seccomp_filters: field("Seccomp_filters", 10),
            cap_eff: field("CapEff", 16),
            cap_bnd: field("CapBnd", 16),
        }
    }

    /// The first capability that the kernel says is not taken away, and what the line said.
    #[must_use]
    pub fn shortfall(&self) -> Option<(String, String)> {
        let rows = [
            ("new-privileges", "NoNewPrivs", self.no_new_privs, 1),
            ("kernel-surface", "Seccomp", self.seccomp, 2),
            ("capabilities", "CapEff", self.cap_eff, 0),
        ];
        let (capability, line, seen, wanted) = rows.into_iter().find(|(_, _, seen, wanted)| *seen != Some(*wanted))?;
        let seen = seen.map_or_else(|| "no such line".to_owned(), |value| format!("{value:x}"));
        Some((capability.to_owned(), format!("/proc status, {line}: {seen}, wanted {wanted}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JAILED: &str = "Name:\tbulkhead-read\nCapInh:\t0000000000000000\nCapEff:\t0000000000000000\n\
        CapBnd:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t2\n";

    #[test]
    fn a_jailed_process_passes_and_each_missing_line_is_named() {
        let status = ProcStatus::parse(JAILED);
        assert_eq!((status.seccomp_filters, status.cap_bnd), (Some(2), Some(0)));
        assert_eq!(status.shortfall(), None);
        for (from, to, capability) in [
            ("NoNewPrivs:\t1", "NoNewPrivs:\t0", "new-privileges"),
            ("Seccomp:\t2", "Seccomp:\t0", "kernel-surface"),
            ("Seccomp:\t2\n", "", "kernel-surface"),
            ("CapEff:\t0000000000000000", "CapEff:\t000001ffffffffff", "capabilities"),
        ] {
            let (named, _) = ProcStatus::parse(&JAILED.replace(from, to)).shortfall().expect("falls short");
            assert_eq!(named, capability);
        }
        assert!(ProcStatus::parse("").shortfall().is_some());
    }
}
