//! Which gateway is configured: a loopback address, spelled out (contract `gateway.md`, corrected by `corrections.md`).
//! Trust: the operator's own words. No name is looked up but `localhost`, in the one file that says what it is here.

use crate::{env, options};
use bulkhead_contract::isolation::Demand;
use bulkhead_ipc::edge::gateway::Init;
use std::{
    ffi::OsString,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::{Path, PathBuf},
};

/// What an address must be.
const EXPECTED: &str = "a loopback address with a port, for example 127.0.0.1:7777 or http://[::1]:7777";
/// MiB of private memory at most: as many bodies as may be open at once, each as long as it may be.
const MEMORY: u64 = 512;
/// Where a system says what `localhost` is.
const HOSTS: &str = "/etc/hosts";
/// Bytes of that file that are looked at.
const MAX_HOSTS: u64 = 1 << 20;

/// What the launcher's table says of worker-gateway.
///
/// # Errors
/// One sentence for a flag or a variable of ours that is not usable.
pub fn settle(
    flags: (Option<&str>, Option<&Path>),
    demand: Demand,
    cwd: Option<&Path>,
    megabytes: u64,
    complaints: &mut Vec<String>,
) -> Result<Init, String> {
    let (gateway, token) = flags;
    let address = chosen(gateway, complaints)?;
    let token = self::token(token, cwd)?;
    if address.is_none() && token.is_some() {
        complaints.push("a token for the gateway is named, and no gateway: nothing will be asked".to_owned());
    }
    let token = token.filter(|_| address.is_some()).map(|path| options::bytes(path.into_os_string()));
    Ok(Init { demand, address, token, memory: megabytes.min(MEMORY) << 20 })
}

/// The file that `--gateway-token-file`, else our variable, names; it is looked at by the process that keeps the token.
fn token(flag: Option<&Path>, cwd: Option<&Path>) -> Result<Option<PathBuf>, String> {
    let variable = || env::GATEWAY_TOKEN_FILE.read().map(|(value, _)| value).filter(|value| !value.is_empty());
    let Some(path) = flag.map(|path| path.as_os_str().to_owned()).or_else(variable) else { return Ok(None) };
    let absolute = |path: OsString| match cwd {
        _ if Path::new(&path).is_absolute() => Some(PathBuf::from(path)),
        Some(cwd) => Some(cwd.join(path)),
        None => None,
    };
    let why = "a relative path, and the current directory cannot be named";
    absolute(path).map(Some).ok_or_else(|| format!("{}: {why}", env::GATEWAY_TOKEN_FILE.flag))
}

/// The address of `--gateway`, else of our variable, else of the first variable of the contract that holds a usable one;
/// those of the contract that hold none are passed over and complained about.
fn chosen(flag: Option<&str>, complaints: &mut Vec<String>) -> Result<Option<SocketAddr>, String> {
    let hosts = || {
        use std::io::Read as _;
        let mut text = String::new();
        let read = std::fs::File::open(HOSTS).and_then(|file| file.take(MAX_HOSTS).read_to_string(&mut text));
        read.map(|_| text).unwrap_or_default()
    };
    if let Some(text) = flag {
        return address(text, hosts).map(Some).map_err(|why| format!("--gateway {text:?}: {why}"));
    }
    if let Some(text) = std::env::var_os(env::GATEWAY.name) {
        // set and empty: no gateway, whatever the other variables say
        if text.is_empty() {
            return Ok(None);
        }
        let found = text.to_str().ok_or(EXPECTED.to_owned()).and_then(|text| address(text, hosts));
        return found.map(Some).map_err(|why| format!("{}={text:?}: {why}", env::GATEWAY.name));
    }
    for name in env::GATEWAY.aliases {
        let Some(text) = std::env::var_os(name) else { continue };
        match text.to_str().ok_or(EXPECTED.to_owned()).and_then(|text| address(text, hosts)) {
            Ok(found) => return Ok(Some(found)),
            Err(_) if text.to_str().is_some_and(|text| text.trim().is_empty()) => {}
            Err(why) => complaints.push(format!("{name}={text:?} is passed over: {why}")),
        }
    }
    Ok(None)
}

/// The address that `text` spells: a literal loopback host, or `localhost`, and a port, perhaps as an `http` URL without
/// anything more. `hosts` is the text of the file that says what `localhost` is.
fn address(text: &str, hosts: impl FnOnce() -> String) -> Result<SocketAddr, String> {
    let expected = || EXPECTED.to_owned();
    let text = text.trim();
    let rest = match text.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
        Some(_) => return Err(expected()),
        None => text,
    };
    let (host, port) = rest.strip_suffix('/').unwrap_or(rest).rsplit_once(':').ok_or_else(expected)?;
    if port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(expected());
    }
    let port = port.parse().map_err(|_| expected())?;
    let ip = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(six) => IpAddr::V6(six.parse::<Ipv6Addr>().map_err(|_| expected())?),
        None if host.eq_ignore_ascii_case("localhost") => localhost(&hosts())?,
        None => IpAddr::V4(ipv4(host).ok_or_else(expected)?),
    };
    if ip.is_loopback() { Ok(SocketAddr::new(ip, port)) } else { Err(expected()) }
}

/// What `localhost` is here: an IPv4 address where there is one. A file that does not name it leaves it what it always is;
/// one that leads elsewhere with it is not followed.
fn localhost(hosts: &str) -> Result<IpAddr, String> {
    let named = hosts.lines().filter_map(|line| {
        let mut words = line.split('#').next()?.split_ascii_whitespace();
        let address = words.next()?.parse::<IpAddr>().ok()?;
        words.any(|name| name.eq_ignore_ascii_case("localhost")).then_some(address)
    });
    let named: Vec<IpAddr> = named.collect();
    match named.iter().find(|address| !address.is_loopback()) {
        Some(elsewhere) => Err(format!("{HOSTS} says that localhost is {elsewhere}, which is no loopback address")),
        None => Ok(named
            .iter()
            .find(|address| address.is_ipv4())
            .or(named.first())
            .copied()
            .unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))),
    }
}

/// An IPv4 address as URLs spell it: one to four numbers, decimal, octal or hexadecimal, of which the last fills what is
/// left. Percent-encoding and other scripts' digits, which a URL folds too, hide where an address leads and are refused.
fn ipv4(host: &str) -> Option<Ipv4Addr> {
    let parts: Vec<&str> = host.split('.').collect();
    let number = |text: &str| -> Option<u64> {
        let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(hexadecimal) => (hexadecimal, 16),
            None if text.len() > 1 && text.starts_with('0') => (&text[1..], 8),
            None => (text, 10),
        };
        let fine = !text.is_empty() && digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !fine {
            return None;
        }
        if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, radix).ok() }
    };
    let (last, first) = parts.split_last().filter(|_| parts.len() <= 4)?;
    let last = number(last).filter(|last| *last < 1 << (8 * (4 - first.len())))?;
    let mut address = u32::try_from(last).ok()?;
    for (part, shift) in first.iter().zip([24, 16, 8]) {
        address |= u32::from(u8::try_from(number(part)?).ok()?) << shift;
    }
    Some(Ipv4Addr::from(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(text: &str) -> Option<SocketAddr> {
        address(text, String::new).ok()
    }

    #[test]
    fn loopback_addresses_that_are_spelled_out_are_accepted() {
        for (text, right) in [
            ("127.0.0.1:7777", "127.0.0.1:7777"),
            ("http://127.0.0.1:7777", "127.0.0.1:7777"),
            ("HTTP://127.0.0.1:7777/", "127.0.0.1:7777"),
            ("  127.0.0.1:7777 \n", "127.0.0.1:7777"),
            ("127.9.9.9:1", "127.9.9.9:1"),
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("[::1]:7777", "[::1]:7777"),
            ("localhost:7777", "127.0.0.1:7777"),
            ("http://LocalHost:80/", "127.0.0.1:80"),
            ("2130706433:7777", "127.0.0.1:7777"),
            ("0177.0.0.1:7777", "127.0.0.1:7777"),
            ("0x7f.1:7777", "127.0.0.1:7777"),
            ("127.1:7777", "127.0.0.1:7777"),
        ] {
            assert_eq!(settled(text), Some(right.parse().expect("an address")), "{text}");
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
            "0:7777",
            "10.0.0.1:7777",
            "example.org:7777",
            "localhost.example.org:7777",
            "127.0.0.1.evil.com:7777",
            "http://127.0.0.1:7777\\@evil",
            "http://u:p@127.0.0.1:7777",
            "http://u@127.0.0.1:7777",
            "http://127.0.0.1:7777/x",
            "http://127.0.0.1:7777//",
            "http://127.0.0.1:7777/?a",
            "http://127.0.0.1:7777?a",
            "http://127.0.0.1:7777/#a",
            "[::ffff:127.0.0.1]:7777",
            "::1:7777",
            "127.0.0.256:7777",
            "127.0.0.0.1:7777",
            "127..1:7777",
            "0x7g.1:7777",
            "08.0.0.1:7777",
            "+127.0.0.1:7777",
            "4294967296:7777",
        ] {
            assert_eq!(settled(text), None, "{text}");
        }
    }

    #[test]
    fn localhost_is_what_the_system_says_as_long_as_it_is_here() {
        let of = |hosts: &str| address("localhost:1", || hosts.to_owned());
        let four = "127.0.0.1:1".parse().expect("an address");
        assert_eq!(of("# none\n10.0.0.1 other localhost.example\n"), Ok(four));
        assert_eq!(of("::1 localhost ip6-localhost\n127.0.0.1\tlocalhost # usual\n"), Ok(four));
        assert_eq!(of("127.0.1.1 box\n::1 LOCALHOST\n"), Ok("[::1]:1".parse().expect("an address")));
        let why = of("127.0.0.1 localhost\n192.0.2.7 localhost\n").expect_err("it leads elsewhere");
        assert!(why.contains("192.0.2.7"), "{why}");
    }
}
