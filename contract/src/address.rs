//! Addresses of remotes without the secrets that they are often given, and texts without those.
//! Trust: addresses are whatever a configuration holds; what may be a secret in one is masked rather than shown.

/// What stands in the place of a secret.
const MASK: &str = "***";
/// What tokens of the forges begin with.
const TOKENS: &[&str] = &[
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "gloas-",
    "gldt-",
    "glcbt-",
    "glptt-",
    "glft-",
    "ATBB",
    "ATCTT",
    "hf_",
];
/// Characters behind such a beginning from which on it is a token.
const TOKEN_REST: usize = 8;
/// Characters from which on a user's name that nobody would choose passes for a token.
const RANDOM: usize = 20;
/// Words in the name of a query's parameter that say that its value is a secret.
const SECRET_WORDS: &[&str] = &["token", "secret", "pass", "pwd", "key", "auth", "sig", "cred", "jwt", "session"];

/// Bytes of a secret that is replaced wherever it stands; a shorter one only where an address has it.
const PLAIN: usize = 4;

/// The address without passwords and tokens, each of which is `***`.
#[must_use]
pub fn masked(url: &str) -> String {
    without_tokens(&masked_address(url))
}

/// What [`masked`] leaves out, in order; all of the address where that cannot be told.
#[must_use]
pub fn secrets(url: &str) -> Vec<String> {
    aligned(url, &masked(url)).unwrap_or_else(|| vec![url.to_owned()])
}

fn aligned(url: &str, shown: &str) -> Option<Vec<String>> {
    let mut parts = shown.split(MASK).peekable();
    let mut rest = url.strip_prefix(parts.next()?)?;
    let mut secrets = Vec::new();
    while let Some(part) = parts.next() {
        let at = if parts.peek().is_none() { rest.len().checked_sub(part.len())? } else { rest.find(part)? };
        let (secret, behind) = rest.split_at_checked(at)?;
        rest = behind.strip_prefix(part)?;
        secrets.extend((!secret.is_empty()).then(|| secret.to_owned()));
    }
    Some(secrets)
}

/// A text in which none of these secrets stands any more.
#[must_use]
pub fn without(text: &str, secrets: &[String]) -> String {
    let mut all: Vec<_> = secrets.iter().filter(|secret| !secret.is_empty()).collect();
    // one may be the beginning of another
    all.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    all.iter().fold(text.to_owned(), |text, secret| match secret.len() {
        0..PLAIN => text.replace(&format!(":{secret}@"), &format!(":{MASK}@")),
        _ => text.replace(secret.as_str(), MASK),
    })
}

fn masked_address(url: &str) -> String {
    // `transport::address` names a program that an address is handed to
    if let Some((transport, address)) = url.split_once("::")
        && !transport.is_empty()
        && transport.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    {
        return format!("{transport}::{}", masked_address(address));
    }
    let (scheme, rest) = match url.find("://") {
        // a slash too many is none to whoever sends a password there
        Some(at) => url.split_at(at + url[at + 1..].bytes().take_while(|byte| *byte == b'/').count() + 1),
        None => ("", url),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let is_drive = matches!(rest.as_bytes(), [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    let login = match (rest[..end].rfind('@'), rest[..end].split_once(':')) {
        (Some(at), _) if !is_drive => &rest[..at],
        // a password with a slash in it ends the name of a host early, and leaves no number for a port
        (None, Some((_, port))) if !scheme.is_empty() && !is_port(port) => &rest[..rest.rfind('@').unwrap_or(0)],
        _ => "",
    };
    let rest = &rest[login.len()..];
    let query = rest.find(['?', '#']).unwrap_or(rest.len());
    format!("{scheme}{}{}{}", masked_login(login), &rest[..query], masked_query(&rest[query..]))
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `user:password` or a user alone, which may be a token.
fn masked_login(login: &str) -> String {
    let colon = login.find(':').or_else(|| login.to_ascii_lowercase().find("%3a"));
    match colon {
        Some(at) => {
            let user = &login[..at];
            format!("{}:{MASK}", if is_token(user) { MASK } else { user })
        }
        None if is_token(login) => MASK.to_owned(),
        None => login.to_owned(),
    }
}

/// Whether a user's name looks like a token: as those of a forge begin, or long, and of letters and digits mixed.
fn is_token(name: &str) -> bool {
    let begins = TOKENS.iter().any(|start| name.starts_with(start) && name.len() >= start.len() + TOKEN_REST);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'~' | b'%' | b'=');
    let random = name.len() >= RANDOM
        && name.bytes().all(plain)
        && name.bytes().any(|byte| byte.is_ascii_digit())
        && name.bytes().any(|byte| byte.is_ascii_alphabetic());
    begins || random
}

/// `?a=b&c=d`, values without those of secrets.
fn masked_query(query: &str) -> String {
    let mut out = String::with_capacity(query.len());
    for part in query.split_inclusive(['?', '&', ';', '#']) {
        let (body, end) = match part.char_indices().last() {
            Some((at, '?' | '&' | ';' | '#')) => part.split_at(at),
            _ => (part, ""),
        };
        match body.split_once('=') {
            Some((name, value)) if is_secret(name) || is_token(value) => {
                out.push_str(name);
                out.push('=');
                out.push_str(MASK);
            }
            None if is_token(body) => out.push_str(MASK),
            _ => out.push_str(body),
        }
        out.push_str(end);
    }
    out
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// The text without what begins as a forge's token does, wherever it stands.
fn without_tokens(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, start)) = TOKENS.iter().filter_map(|start| Some((rest.find(start)?, start))).min() {
        let of_token = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let behind = &rest[at + start.len()..];
        let length = behind.find(|c| !of_token(c)).unwrap_or(behind.len());
        let begins = !rest[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
        out.push_str(&rest[..at]);
        if begins && length >= TOKEN_REST {
            out.push_str(MASK);
            rest = &behind[length..];
        } else {
            out.push_str(start);
            rest = behind;
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_nothing_else() {
        let token = "ghp_0123456789abcdefghij";
        for (url, shown) in [
            ("https://user:s3cret@example.invalid/x/y.git", "https://user:***@example.invalid/x/y.git"),
            ("https://user:s3/cr@t@example.invalid/x", "https://user:***@example.invalid/x"),
            ("https://user:p@ss@example.invalid/x", "https://user:***@example.invalid/x"),
            ("https://user%3As3cret@example.invalid/x", "https://user:***@example.invalid/x"),
            ("https://user:@example.invalid/x", "https://user:***@example.invalid/x"),
            (&format!("https://{token}@example.invalid/x"), "https://***@example.invalid/x"),
            (&format!("https://{token}:x-oauth-basic@example.invalid/x"), "https://***:***@example.invalid/x"),
            (
                &format!("https://x-access-token:{token}@example.invalid/x"),
                "https://x-access-token:***@example.invalid/x",
            ),
            ("https://glpat-AbCdEfGh12345@example.invalid/x", "https://***@example.invalid/x"),
            ("https://0f3c2d1e0f3c2d1e0f3c@example.invalid/x", "https://***@example.invalid/x"),
            (&format!("https://example.invalid/{token}/x"), "https://example.invalid/***/x"),
            (&format!("git@example.invalid:{token}/x.git"), "git@example.invalid:***/x.git"),
            (&format!("{token}@example.invalid:x.git"), "***@example.invalid:x.git"),
            ("user:s3cret@example.invalid:x.git", "user:***@example.invalid:x.git"),
            ("ext::ssh://u:p@example.invalid/x", "ext::ssh://u:***@example.invalid/x"),
            (
                "https://example.invalid/x?private_token=abc&ref=main&ACCESS_TOKEN=z",
                "https://example.invalid/x?private_token=***&ref=main&ACCESS_TOKEN=***",
            ),
            ("https://u:p?q@example.invalid/x", "https://u:***@example.invalid/x"),
            (
                "https://ada@example.invalid:s3cret@example.invalid/x",
                "https://ada@example.invalid:***@example.invalid/x",
            ),
            ("https:///user:s3cret@example.invalid/x", "https:///user:***@example.invalid/x"),
        ] {
            assert_eq!(masked(url), shown, "{url}");
        }
        for url in [
            "/srv/git/a@b.git",
            "../up:and@away",
            "C:\\x@y",
            "https://example.invalid/x@1.0",
            "https://example.invalid:8443/x@1.0",
            "ssh://git@example.invalid:2222/x/y.git",
            "git@example.invalid:x/y.git",
            "https://ada.lovelace@example.invalid/x",
            "https://example.invalid/x?ref=main",
            "origin",
            "",
        ] {
            assert_eq!(masked(url), url);
        }
    }

    #[test]
    fn the_secrets_of_an_address_are_what_its_mask_hides() {
        for (url, hidden) in [
            ("https://user:s3cret@example.invalid/x", &["s3cret"][..]),
            ("https://ada@example.invalid:s3cret@example.invalid/x", &["s3cret"]),
            ("https://user:s3/cret@example.invalid/x?token=abcdef", &["s3/cret", "abcdef"]),
            ("https:///user:s3cret@example.invalid/x", &["s3cret"]),
            ("https://example.invalid/x?private_token=abc", &["abc"]),
            ("https://glpat-AbCdEfGh12345@example.invalid/x", &["glpat-AbCdEfGh12345"]),
            ("https://user%3As3cret@example.invalid/x", &["https://user%3As3cret@example.invalid/x"]),
            ("https://user@example.invalid/x", &[]),
        ] {
            assert_eq!(secrets(url), hidden, "{url}");
        }
        let secrets = ["s3cret".to_owned(), "s3cret-and-more".to_owned(), "pw".to_owned()];
        let text = "at 'https://ada@example.invalid:s3cret@h/', s3cret-and-more, https://u:pw@h, and pwd";
        let shown = "at 'https://ada@example.invalid:***@h/', ***, https://u:***@h, and pwd";
        assert_eq!(without(text, &secrets), shown);
    }
}
