//! What must hold of CODEOWNERS for every input: the fuzz target `codeowners` and a test share it.
//! Trust: the input is the fuzzer's.

use bulkhead_worker_read::codeowners::{Scope, decide};

/// The first line is a path, the rest the file.
pub fn trial(bytes: &[u8]) {
    let at = bytes.iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len());
    let (path, text) = (&bytes[..at], bytes.get(at + 1..).unwrap_or_default());
    for scope in [Scope::File, Scope::Directory] {
        let Ok(decision) = decide(text, path, scope) else { continue };
        let Some(line) = decision else { continue };
        assert!(!line.pattern.is_empty() && line.owners.iter().all(|owner| owner.contains('@')));
        // lines after the one that decides are of no consequence for it, and lines before it neither
        let alone = [b"\n", line.pattern, b" ", line.owners.join(" ").as_bytes()].concat();
        assert_eq!(decide(&alone, path, scope), Ok(Some(line.clone())), "alone");
        let cleared = [text, b"\n", line.pattern].concat();
        let cleared = decide(&cleared, path, scope).map(|line| line.map(|line| line.owners.len()));
        assert!(cleared.is_err() || cleared == Ok(Some(0)), "a last line without owners takes them away");
    }
}
