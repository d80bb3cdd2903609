//! What a machine gives of the jail, measured once in the supervisor's live process, and what would give more.
//! Trust: layers come from the kernel's answers; causes may be a worker's words and choose nothing but a row of a table.

use super::Demand;
use serde::Serialize;

/// One mechanism of the kernel that jails are made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Layer {
    /// `landlock` or `seccomp`; `process` where there is one process for all.
    pub layer: String,
    /// It is on, and what it should refuse was refused.
    pub on: bool,
    /// What of it there is, for example `abi 7`, or why it is missing.
    pub detail: String,
    /// The one thing to do that would bring it; `None` where it is on.
    pub step: Option<&'static str>,
}

/// What is demanded and what there is: the facts that `doctor`, the first record of the ledger and the answers to
/// `initialize` and `server/discover` all state, because all take them from here.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// `--isolation`.
    pub demand: Demand,
    /// Mechanisms, in the order in which a process takes them on; empty where nothing was measured.
    pub layers: Vec<Layer>,
    /// `--hooks run`: writes may execute the repository and the system's programs. Left out where they may not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hooks: bool,
}

impl Layer {
    /// A layer with the step that belongs to what is missing.
    #[must_use]
    pub fn new(name: &str, on: bool, detail: String) -> Layer {
        let step = if on { None } else { step(&detail) };
        Layer { layer: name.to_owned(), on, detail, step }
    }
}

impl Standing {
    /// One process for everything: no layer can stand.
    #[must_use]
    pub fn single(demand: Demand, why: &str) -> Standing {
        Standing { demand, layers: vec![Layer::new("process", false, why.to_owned())], hooks: false }
    }

    /// The layers that are missing.
    pub fn missing(&self) -> impl Iterator<Item = &Layer> {
        self.layers.iter().filter(|layer| !layer.on)
    }

    /// In words: `landlock (abi 7), seccomp (47 calls admitted)`, or with `missing: …` what is not there and why.
    #[must_use]
    pub fn text(&self) -> String {
        let told = |on: bool| {
            let layers = self.layers.iter().filter(move |layer| layer.on == on);
            layers.map(|layer| format!("{} ({})", layer.layer, layer.detail)).collect::<Vec<_>>().join(", ")
        };
        let mut text = match (told(true), told(false)) {
            (on, missing) if missing.is_empty() => on,
            (on, missing) if on.is_empty() => format!("missing: {missing}"),
            (on, missing) => format!("{on}; missing: {missing}"),
        };
        if self.hooks {
            text.push_str("; writes run hooks (--hooks run)");
        }
        text
    }
}

/// Causes, as the layers word them, and the one step against each. The first row that fits counts.
const STEPS: &[(&[&str], &str)] = &[
    (&["--isolation off"], "start it without --isolation off"),
    (&["single process"], "run it on Linux, without --isolation off"),
    (&["landlock", "EOPNOTSUPP"], "add landlock to lsm= on the kernel's command line and boot again"),
    (
        &["landlock", "ENOSYS"],
        "run Linux 5.13 or later with CONFIG_SECURITY_LANDLOCK=y; in a container, let its system-call filter admit the \
         three landlock calls",
    ),
    (&["landlock", "threads"], "start it where nothing adds threads to its processes"),
    (
        &["landlock"],
        "let the filter of system calls around it (a container's seccomp profile) admit the three landlock calls",
    ),
    (
        &["on by the kernel's word"],
        "let the filter of system calls around it pass the three landlock calls on to the kernel",
    ),
    (&["seccomp", "no filters for"], "run it on x86_64 or aarch64"),
    (
        &["seccomp"],
        "run a kernel with CONFIG_SECCOMP_FILTER=y, outside of a filter that refuses to have others beneath it",
    ),
    (
        &["namespaces"],
        "allow user namespaces (kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0, \
         user.max_user_namespaces above 0; in a container, a filter that admits unshare)",
    ),
    (&["empty root"], "allow mounts in user namespaces; in a container, by a filter that admits mount and pivot_root"),
];

/// The one thing to do that would most likely end this cause; `None` for one that no table knows.
#[must_use]
pub fn step(cause: &str) -> Option<&'static str> {
    STEPS.iter().find(|(words, _)| words.iter().all(|word| cause.contains(word))).map(|(_, step)| *step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_a_step_of_its_layer() {
        for (cause, word) in [
            ("landlock: the kernel is without it, or an outer filter hides it (ENOSYS)", "5.13"),
            ("landlock: disabled at boot (EOPNOTSUPP; see lsm= of the kernel)", "lsm="),
            ("landlock: blocked by an outer filter, such as a container profile (EPERM)", "profile"),
            ("landlock: covers one of the 2 threads that were there before it", "threads"),
            ("on by the kernel's word, but the outside file opened", "pass"),
            ("seccomp: the kernel is built without filters, or an outer filter hides them (EINVAL)", "CONFIG_SECCOMP"),
            ("seccomp: no filters for riscv64", "aarch64"),
            (
                "stat and readlink answer for any path; namespaces: refused to this user (unshare or the map of ids)",
                "user name",
            ),
            ("none (single process)", "Linux"),
        ] {
            assert!(step(cause).is_some_and(|step| step.contains(word)), "{cause}: {:?}", step(cause));
        }
        assert_eq!(step("RLIMIT_DATA unlimited"), None);
    }

    #[test]
    fn words_tell_what_there_is_from_what_is_missing() {
        let seccomp = || Layer::new("seccomp", true, "47 calls admitted".into());
        let landlock = Layer::new("landlock", false, "landlock: disabled at boot (EOPNOTSUPP)".into());
        let standing = |layers| Standing { demand: Demand::BestEffort, layers, hooks: false };
        assert_eq!(standing(vec![seccomp()]).text(), "seccomp (47 calls admitted)");
        let both = standing(vec![landlock.clone(), seccomp()]);
        let cause = "landlock (landlock: disabled at boot (EOPNOTSUPP))";
        assert_eq!(both.text(), format!("seccomp (47 calls admitted); missing: {cause}"));
        assert_eq!(both.missing().collect::<Vec<_>>(), [&landlock]);
        assert_eq!(standing(vec![landlock]).text(), format!("missing: {cause}"));
        let hooks = Standing { hooks: true, ..standing(vec![seccomp()]) };
        assert_eq!(hooks.text(), "seccomp (47 calls admitted); writes run hooks (--hooks run)");
        assert_eq!(
            Standing::single(Demand::Off, "--isolation off").layers[0].step,
            Some("start it without --isolation off")
        );
    }
}
