//! What no argument of the direct surface may be, before anything is asked (contract `direct/hardening.md` §1).
//! Trust: arguments are an agent's; they are only looked at.

use bulkhead_contract::{args::Violation, direct::conflict_path, rules};

/// Everything that is wrong with the arguments of one call.
#[derive(Debug, Default)]
pub struct Guards(Vec<Violation>);

impl Guards {
    /// A revision, range or revset: not empty, no option, no NUL.
    pub fn revision(&mut self, name: &str, text: &str) {
        let problem = match text {
            "" => "must not be empty",
            _ if text.starts_with('-') => "must not look like an option",
            _ if text.contains('\0') => "must not contain a NUL character",
            _ if text.contains('\n') => "must be one line",
            _ => return,
        };
        self.say(name, problem);
    }

    /// The name of a branch or of a tag that is to be made or changed.
    pub fn branch(&mut self, name: &str, text: &str) {
        if let Err(problem) = rules::refs::branch(text) {
            self.say(name, problem);
        }
    }

    /// A path in the repository. `.` is one; `/`-absolute ones are not. Nothing of a pathspec is meant by a colon at its beginning.
    pub fn path(&mut self, name: &str, text: &str) {
        let plain = text.trim_start_matches(':');
        if let Err(problem) = rules::paths::inside(if plain.is_empty() { text } else { plain }) {
            self.say(name, problem);
        }
    }

    /// A path of a file in the working tree that is opened: no part of it may be left to interpretation.
    pub fn file(&mut self, name: &str, text: &str) {
        match (rules::paths::inside(text), conflict_path::fault(text)) {
            (_, Some(fault)) => self.say(name, format!("cannot be looked at: {fault}")),
            (Err(problem), None) => self.say(name, problem),
            (Ok(()), None) => {}
        }
    }

    /// A path to commit: absolute ones may lie in the repository, which whoever opens it looks at.
    pub fn committed(&mut self, name: &str, text: &str) {
        if text.is_empty() || text.contains('\0') {
            self.say(name, "must be a path: not empty, without NUL");
        }
    }

    /// A place for a working tree: not empty, no option, no NUL.
    pub fn place(&mut self, name: &str, text: &str) {
        let problem = match text {
            "" => "must not be empty",
            _ if text.starts_with('-') => "must not look like an option",
            _ if text.contains('\0') => "must not contain a NUL character",
            _ => return,
        };
        self.say(name, problem);
    }

    /// A message: not blank, no NUL.
    pub fn message(&mut self, name: &str, text: &str) {
        if text.trim().is_empty() {
            self.say(name, "must not be blank");
        } else if text.contains('\0') {
            self.say(name, "must not contain a NUL character");
        }
    }

    /// Something else.
    pub fn say(&mut self, name: &str, problem: impl Into<String>) {
        self.0.push(Violation { path: format!("arguments.{name}"), problem: problem.into() });
    }

    /// All of it.
    ///
    /// # Errors
    /// What is wrong.
    pub fn end(self) -> Result<(), Vec<Violation>> {
        if self.0.is_empty() { Ok(()) } else { Err(self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(check: impl Fn(&mut Guards, &str), texts: &[&str]) -> Vec<bool> {
        let one = |text: &&str| {
            let mut guards = Guards::default();
            check(&mut guards, text);
            guards.end().is_err()
        };
        texts.iter().map(one).collect()
    }

    #[test]
    fn options_never_pass_for_names() {
        let revisions = wrong(|guards, text| guards.revision("rev", text), &["", "-p", "a\0b", "HEAD~1", "a..b", ":0"]);
        assert_eq!(revisions, [true, true, true, false, false, false]);
        let branches = wrong(|guards, text| guards.branch("name", text), &["-x", "a b", "HEAD", "a..b", "topic/x"]);
        assert_eq!(branches, [true, true, true, true, false]);
        assert_eq!(wrong(|guards, text| guards.place("path", text), &["", "-x", "../wt"]), [true, true, false]);
        assert_eq!(
            wrong(|guards, text| guards.message("message", text), &["", " \n", "a\0", "a\nb"]),
            [true, true, true, false]
        );
    }

    #[test]
    fn files_that_are_opened_are_named_plainly() {
        let refused = [
            "",
            ".",
            "./a",
            "a/./b",
            "../x",
            "a/../b",
            "/etc/passwd",
            "C:x",
            "a:b",
            "CON",
            "a/nul.txt",
            "lpt1",
            ".git/x",
        ];
        assert!(wrong(|guards, text| guards.file("path", text), &refused).into_iter().all(|wrong| wrong));
        let fine = ["a.txt", "dir/b", "ünï", "console", "com0", "lpt10", "a b"];
        assert!(!wrong(|guards, text| guards.file("path", text), &fine).into_iter().any(|wrong| wrong));
    }
}
