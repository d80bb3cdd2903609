//! Which gateway is configured: a loopback address, spelled out (contract `gateway.md`, corrected by `corrections.md`).
//! Trust: the operator's own words. Nothing is resolved and nothing is dialled.

use crate::env;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// What an address must be.
const EXPECTED: &str = "a loopback address with a port, for example 127.0.0.1:7777 or http://[::1]:7777";

/// Settles `--gateway`, else our variable, else the first variable of the contract that holds a usable address; those of
/// the contract that hold none are passed over and complained about.
///
/// # Errors
/// One sentence for a flag or a variable of ours that is not usable.
pub fn settle(flag: Option<&str>, complaints: &mut Vec<String>) -> Result<Option<SocketAddr>, String> {
    if let Some(text) = flag {
        return address(text).map(Some).ok_or_else(|| format!("--gateway {text:?}: {EXPECTED}"));
    }
    if let Some(text) = std::env::var_os(env::GATEWAY.name) {
        // set and empty: no gateway, whatever the other variables say
        if text.is_empty() {
            return Ok(None);
        }
        let found = text.to_str().and_then(address);
        return found.map(Some).ok_or_else(|| format!("{}={text:?}: {EXPECTED}", env::GATEWAY.name));
    }
    for name in env::GATEWAY.aliases {
        let Some(text) = std::env::var_os(name) else { continue };
        if let Some(found) = text.to_str().and_then(address) {
            return Ok(Some(found));
        }
        if !text.to_str().is_some_and(|text| text.trim().is_empty()) {
            complaints.push(format!("{name}={text:?} is passed over: {EXPECTED}"));
        }
    }
    Ok(None)
}

/// The address that `text` spells: a literal loopback host and a port, perhaps as an `http` URL without anything more.
fn address(text: &str) -> Option<SocketAddr> {
    let text = text.trim();
    let rest = match text.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
        Some(_) => return None,
        None => text,
    };
    let (host, port) = rest.strip_suffix('/').unwrap_or(rest).rsplit_once(':')?;
    if port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let ip = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(six) => IpAddr::V6(six.parse::<Ipv6Addr>().ok()?),
        None if host.eq_ignore_ascii_case("localhost") => IpAddr::V4(Ipv4Addr::LOCALHOST),
        // four decimal numbers alone: other spellings hide where they lead
        None => IpAddr::V4(host.parse::<Ipv4Addr>().ok()?),
    };
    ip.is_loopback().then_some(SocketAddr::new(ip, port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_addresses_that_are_spelled_out_are_accepted() {
        for (text, right) in [
            ("127.0.0.1:7777", "127.0.0.1:7777"),
            ("http://127.0.0.1:7777", "127.0.0.1:7777"),
            ("HTTP://127.0.0.1:7777/", "127.0.0.1:7777"),
            ("  127.0.0.1:7777 \n", "127.0.0.1:7777"),
            ("127.9.9.9:1", "127.9.9.9:1"),
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("[::1]:7777", "[::1]:7777"),
            ("localhost:7777", "127.0.0.1:7777"),
        ] {
            assert_eq!(address(text), Some(right.parse().expect("an address")), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "",
            "  ",
            "https://127.0.0.1:7777",
            "ws://127.0.0.1:7777",
            "127.0.0.1",
            "127.0.0.1:",
            "127.0.0.1:+80",
            "127.0.0.1:65536",
            "0.0.0.0:7777",
            "10.0.0.1:7777",
            "example.org:7777",
            "localhost.example.org:7777",
            "http://u:p@127.0.0.1:7777",
            "http://u@127.0.0.1:7777",
            "http://127.0.0.1:7777/x",
            "http://127.0.0.1:7777//",
            "http://127.0.0.1:7777/?a",
            "http://127.0.0.1:7777?a",
            "http://127.0.0.1:7777/#a",
            "[::ffff:127.0.0.1]:7777",
            "::1:7777",
            "2130706433:7777",
            "0177.0.0.1:7777",
            "127.1:7777",
        ] {
            assert_eq!(address(text), None, "{text}");
        }
    }
}
