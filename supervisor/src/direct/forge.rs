//! Which forge a remote's address belongs to (contract `direct/forge.md` §3).
//! Trust: the address is the repository's; whatever two readers could read differently belongs to none.

/// Where changes are reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forge {
    /// github.com.
    GitHub,
    /// gitlab.com.
    GitLab,
    /// Gitea and Forgejo: gitea.com, codeberg.org.
    Gitea,
}

const HOSTS: [(&str, Forge); 4] = [
    ("github.com", Forge::GitHub),
    ("gitlab.com", Forge::GitLab),
    ("codeberg.org", Forge::Gitea),
    ("gitea.com", Forge::Gitea),
];

impl Forge {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Forge::GitHub => "github",
            Forge::GitLab => "gitlab",
            Forge::Gitea => "gitea",
        }
    }

    /// The forge of that word.
    #[must_use]
    pub fn named(word: &str) -> Option<Forge> {
        [Forge::GitHub, Forge::GitLab, Forge::Gitea].into_iter().find(|forge| forge.name() == word)
    }

    /// The forge that this address leads to.
    #[must_use]
    pub fn of(url: &str) -> Option<Forge> {
        let host = host(url)?.to_ascii_lowercase();
        let of = |known: &str| host.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        HOSTS.iter().find(|(known, _)| of(known)).map(|(_, forge)| *forge)
    }
}

/// The host of a network address, or of `[user@]host:path`, or of `host/path`.
fn host(url: &str) -> Option<&str> {
    if !url.is_ascii() || url.contains(['\\', ' ', '%', '[', ']']) || url.bytes().any(|byte| byte.is_ascii_control()) {
        return None;
    }
    let host = if let Some((scheme, rest)) = url.split_once("://") {
        if !["http", "https", "ssh", "git"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
            return None;
        }
        let authority = rest.split(['/', '?', '#']).next()?;
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        match host.split_once(':') {
            None => host,
            Some((host, port)) => port.parse::<u16>().ok().map(|_| host)?,
        }
    } else {
        // what stands before the first colon or slash is all that a user and a host can be in
        let authority = url.split([':', '/']).next()?;
        authority.rsplit_once('@').map_or(authority, |(_, host)| host)
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    (!host.is_empty() && !host.starts_with('.') && host.bytes().all(plain) && !host.contains("..")).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_told_from_what_looks_like_them() {
        let github = [
            "https://github.com/o/r.git",
            "HTTPS://GITHUB.COM/o/r",
            "http://github.com/o/r",
            "git://github.com/o/r",
            "ssh://git@github.com:22/o/r.git",
            "ssh://git@ssh.github.com:443/o/r.git",
            "git@github.com:o/r.git",
            "github.com:o/r.git",
            "git@GITHUB.COM:o/r",
            "org-123@github.com:o/r.git",
            "https://a.b.github.com/o/r",
            "https://user:pass@github.com/o/r",
            "https://evil.example@github.com/o/r",
            "https://github.com:443/o/r",
            "github.com/o/r",
            "https://github.com",
            "https://github.com/",
        ];
        for url in github {
            assert_eq!(Forge::of(url), Some(Forge::GitHub), "{url}");
        }
        for (url, forge) in [
            ("https://GITLAB.COM/g/r", Forge::GitLab),
            ("https://codeberg.org/o/r", Forge::Gitea),
            ("git@codeberg.org:o/r", Forge::Gitea),
            ("https://pages.codeberg.org/o/r", Forge::Gitea),
            ("https://gitea.com/o/r", Forge::Gitea),
        ] {
            assert_eq!(Forge::of(url), Some(forge), "{url}");
        }
        let none = [
            "https://github.com.attacker.net/o/r",
            "https://notgithub.com/o/r",
            "https://github.comx/o/r",
            "https://gitHub.co/o/r",
            "https://github.com@evil.example/o/r",
            "https://github.com:x@evil.example/o/r",
            "https://evil.example/@github.com/o/r",
            "https://evil.example?x@github.com/o/r",
            "https://evil.example#@github.com/o/r",
            "https://evil.example\\@github.com/o/r",
            "https://github.com:99999/o/r",
            "https://[::1]:443/o/r",
            "https://[github.com]/o/r",
            "https://[a:b.github.com]/o/r",
            "https://[::1%25x.github.com]/o/r",
            "git@[github.com]:o/r.git",
            "[git@github.com:22]:o/r.git",
            "evil.example:x@github.com",
            "evil.example:x@github.com:o/r",
            "evil.example/x@github.com:o/r",
            "git@evil.example:github.com/o/r",
            "https://g\u{130}thub.com/o/r",
            "https://gitlab\u{3002}com/g/r",
            "https://\u{212a}ithub.com/o/r",
            "https://gitlab.example.com/g/r",
            "https://git.sr.ht/~o/r",
            "/srv/github.com/o/r",
            "./github.com/o/r",
            "file:///github.com/o/r",
            "file://github.com/o/r",
            "C:\\github.com\\r",
            "ext::sh -c github.com",
            "foo://github.com/o/r",
            "https://.github.com/o/r",
            "",
        ];
        for url in none {
            assert_eq!(Forge::of(url), None, "{url}");
        }
    }

    #[test]
    fn words_are_exact() {
        assert_eq!((Forge::named("github"), Forge::named("GitHub")), (Some(Forge::GitHub), None));
    }
}
