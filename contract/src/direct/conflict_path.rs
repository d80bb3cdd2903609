//! Which paths the conflict tools take at all (contract `direct/disagreements.md`, row 24).
//! Trust: the path is a caller's; whether anything is there is not looked at here.

/// Names that stand for devices on some system, whatever follows their first dot.
const DEVICES: &[&str] = &["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];

/// What is wrong with `path`; nothing where it may be looked for. A backslash parts names here as a slash does, because it
/// does so where other clients run.
#[must_use]
pub fn fault(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("The path must not be empty.");
    }
    if path.contains('\0') {
        return Some("The path must not contain a NUL character.");
    }
    if path.contains(':') {
        return Some("The path must not contain a colon.");
    }
    if path.starts_with(['/', '\\']) {
        return Some("The path must be relative to the top of the repository.");
    }
    let names = path.trim_end_matches('/').split(['/', '\\']);
    for name in names {
        if matches!(name, "" | "." | "..") {
            return Some("The path must not have empty parts, `.` or `..`.");
        }
        if name.eq_ignore_ascii_case(".git") {
            return Some("The path must not lead into a git directory.");
        }
        if is_device(name) {
            return Some("The path must not name a device.");
        }
    }
    None
}

/// Whether `name` stands for a device, with or without an extension, dots and spaces at its end aside.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).trim_end_matches(' ').to_ascii_uppercase();
    let numbered = |kind: &str| {
        let number = stem.strip_prefix(kind).unwrap_or_default();
        matches!(number, "\u{b9}" | "\u{b2}" | "\u{b3}")
            || (number.len() == 1 && number.bytes().all(|byte| (b'1'..=b'9').contains(&byte)))
    };
    DEVICES.contains(&stem.as_str()) || numbered("COM") || numbered("LPT")
}

#[cfg(test)]
mod tests {
    use super::fault;

    #[test]
    fn paths_that_no_system_should_open_are_refused() {
        for path in [
            "",
            "/",
            "/etc/passwd",
            ".",
            "..",
            "../x",
            "dir/../a.txt",
            "./a.txt",
            "a//b",
            "a\0b",
            "a:b",
            "C:\\x",
            "\\x",
            "a\\..\\b",
            "CON",
            "dir/con",
            "nul.txt",
            "aux .c",
            "COM1",
            "lpt9.log",
            "com\u{b9}",
            ".git/config",
            "sub/.GIT",
        ] {
            assert!(fault(path).is_some(), "{path:?}");
        }
        for path in [
            "a.txt",
            "dir/",
            "dir/b.txt",
            "a\\b",
            "console",
            "com0",
            "COM10",
            "..a",
            ".gitignore",
            "a..",
            "\u{fc}n\u{ef}.txt",
        ] {
            assert_eq!(fault(path), None, "{path:?}");
        }
    }
}
