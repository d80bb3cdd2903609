//! repo_remotes: names and addresses, without the secrets that addresses are often given.
//! Trust: addresses are whatever the configuration holds; what may be a secret in one is masked rather than shown.

use crate::repo::Repo;
use bulkhead_contract::{
    limits::DIRECT_REMOTES,
    path::text_of,
    results::{Remote, Remotes},
};
use gix::bstr::ByteSlice as _;

/// What stands in the place of a secret.
const MASK: &str = "***";
/// Characters of an address at most; a longer one is cut.
const MAX_URL: usize = 4_000;
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

/// `repo_remotes`. Rewritten addresses (`url.*.insteadOf`) are not shown: the repository's own rules for that are left out
/// when it is opened.
pub(in crate::answers) fn remotes(repo: &Repo) -> Remotes {
    let names = repo.git.remote_names();
    let config = repo.git.config_snapshot();
    let row = |name: &gix::bstr::BStr| {
        let all = config.plumbing().raw_values_by("remote", Some(name), "url").unwrap_or_default();
        // an empty value takes back those before it
        let after = all.iter().rposition(|url| url.is_empty()).map_or(0, |at| at + 1);
        Remote { name: text_of(name).0, url: all.get(after).map(|url| masked(&url.to_str_lossy())) }
    };
    let remotes = names.iter().take(DIRECT_REMOTES).map(|name| row(name.as_bstr())).collect();
    Remotes { remotes, total: names.len() as u64 }
}

/// The address without passwords and tokens.
fn masked(url: &str) -> String {
    without_tokens(&masked_address(&crate::history::cut(url, MAX_URL)))
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
        Some(at) => url.split_at(at + 3),
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
}
