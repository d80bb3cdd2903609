//! Names of branches and remotes, and revisions, by Git's own rules (`git-check-ref-format`, `gitrevisions`), in syntax
//! alone. Trust: names are an agent's; they are only looked at.

/// What no name holds, and the words for it.
fn plain(name: &str) -> Result<(), &'static str> {
    if name.starts_with('-') {
        return Err("must not look like an option");
    }
    if name.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        return Err("must not hold spaces or control characters");
    }
    if name.bytes().any(|byte| matches!(byte, b'~' | b'^' | b':' | b'?' | b'*' | b'[' | b'\\')) {
        return Err("must be a name: `~`, `^`, `:`, `?`, `*`, `[` and `\\` stand in none");
    }
    if name.contains("..") {
        return Err("must not hold `..`");
    }
    if name.contains("@{") {
        return Err("must not hold `@{`");
    }
    if name.is_empty() || name.split('/').any(str::is_empty) {
        return Err("must have something before, between and after slashes");
    }
    if name.split('/').any(|part| part.starts_with('.') || part.ends_with(".lock")) || name.ends_with('.') {
        return Err("must have no part that begins with a dot or ends with `.lock`, and not end with a dot");
    }
    Ok(())
}

/// A branch, by its short name.
///
/// # Errors
/// What is wrong, as the tail of a sentence.
pub fn branch(name: &str) -> Result<(), &'static str> {
    plain(name)?;
    match name {
        "@" | "HEAD" => Err("must not be `HEAD` or `@`, which Git reads as something else"),
        _ => Ok(()),
    }
}

/// A remote, by its name; an address is none.
///
/// # Errors
/// What is wrong, as the tail of a sentence.
pub fn remote(name: &str) -> Result<(), &'static str> {
    plain(name).map_err(|problem| match problem {
        "must not look like an option" => problem,
        _ => "must be the name of a configured remote, not an address or a path",
    })
}

/// One revision: a name or an id, perhaps with steps such as `~2`, `^`, `^{commit}` or `@{upstream}`.
///
/// # Errors
/// What is wrong, as the tail of a sentence.
pub fn revision(text: &str) -> Result<(), &'static str> {
    let steps = [text.find(['~', '^']), text.find("@{")].into_iter().flatten().min().unwrap_or(text.len());
    let (name, mut steps) = text.split_at(steps);
    // `@{1}` and `@` are HEAD's
    if name.is_empty() && !steps.starts_with("@{") {
        return Err("must be a revision, which begins with a name");
    }
    if !matches!(name, "" | "@") {
        plain(name)?;
    }
    while !steps.is_empty() {
        steps = step(steps).ok_or("must be one revision: what follows the name is no step, or a range")?;
    }
    Ok(())
}

/// The rest behind one step.
fn step(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix("@{").or_else(|| text.strip_prefix("^{")) {
        let (inside, rest) = rest.split_once('}')?;
        let fine = !inside.contains(['{', '\\']) && !inside.chars().any(char::is_control);
        // `^{}` peels tags; `@{}` is nothing
        return (fine && !(inside.is_empty() && text.starts_with('@'))).then_some(rest);
    }
    let rest = text.strip_prefix(['~', '^'])?;
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    // `^@`, `^!` and `^-` are ranges
    (rest.is_empty() || rest.starts_with(['~', '^']) || rest.starts_with("@{")).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_keep_git_s_rules() {
        for good in ["main", "agent/x", "topic/a-b_c.d", "é", "a@b", "v1.0", "refs/heads/x", "a.lockx"] {
            assert_eq!(branch(good), Ok(()), "{good}");
        }
        for bad in [
            "", "-x", "--all", "a b", "a\nb", "a\u{7f}", "a~1", "a^", "a:b", "a?", "a*", "a[b", "a\\b", "a..b",
            "a@{1}", "/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.lock/b", "a.", "@", "HEAD",
        ] {
            assert!(branch(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn remotes_are_names() {
        for good in ["origin", "up", "team/fork"] {
            assert_eq!(remote(good), Ok(()), "{good}");
        }
        for bad in ["-o", "https://example.org/x", "git@host:x", "ext::sh -c id", "/srv/x", "../x", ""] {
            assert!(remote(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn revisions_are_one_and_no_option() {
        for good in [
            "HEAD",
            "@",
            "main",
            "HEAD~1",
            "HEAD~",
            "HEAD^^2~3",
            "v1.0^{}",
            "v1.0^{commit}",
            "main@{upstream}",
            "@{u}",
            "main@{2 days ago}",
            "@{-1}",
            "0123abc",
            "v1.0-3-gabc123",
            "HEAD^{/fix it}",
        ] {
            assert_eq!(revision(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "-x",
            "--upload-pack=x",
            "a..b",
            "a...b",
            "^a",
            "a^@",
            "a^!",
            "a^-",
            "a:b",
            ":/x",
            ":0:x",
            "a b",
            "a@{",
            "a@{}",
            "a~x",
            "a\0",
            "HEAD^{a",
            "~1",
            "a@{1}x",
        ] {
            assert!(revision(bad).is_err(), "{bad:?}");
        }
    }
}
