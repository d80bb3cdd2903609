//! The gateway's half of the authentic wire (`docs/gateway.md`), written from its text and not from the product's code.
//! Trust: test code.

use super::Seen;
use sha2::{Digest as _, Sha256};

/// Field with the connection's number.
pub const NONCE: &str = "bulkhead-nonce";
const MAC: &str = "bulkhead-mac";
const HELLO: &str = "/v1/mcp/hello";

/// The proof that answers a greeting; `None` where it is none.
pub fn greeted(token: &[u8], seen: &Seen) -> Option<String> {
    let nonce = bytes(seen.header(NONCE)?)?;
    (seen.method == "GET" && seen.path == HELLO && nonce.len() == 16)
        .then(|| hex(&hmac(token, &[&b"bulkhead-hello-1\0"[..], &nonce].concat())))
}

/// Whether a request is proved under the number of its connection's greeting.
pub fn holds(token: &[u8], hello: &Seen, seen: &Seen) -> bool {
    let Some(nonce) = hello.header(NONCE).and_then(bytes) else { return false };
    let text = [
        b"bulkhead-request-1\0",
        &nonce[..],
        seen.method.as_bytes(),
        b"\0",
        seen.path.as_bytes(),
        b"\0",
        &Sha256::digest(&seen.body),
    ]
    .concat();
    seen.header(NONCE) == hello.header(NONCE) && seen.header(MAC) == Some(&hex(&hmac(token, &text)))
}

/// The proof of an answer.
pub fn of_answer(token: &[u8], nonce: &str, status: u16, path: &str, body: &[u8]) -> String {
    let nonce = bytes(nonce).expect("it was read before");
    let status = status.to_string();
    let text =
        [b"bulkhead-answer-1\0", &nonce[..], status.as_bytes(), b"\0", path.as_bytes(), b"\0", &Sha256::digest(body)]
            .concat();
    hex(&hmac(token, &text))
}

fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut block = if key.len() > 64 { Sha256::digest(key).to_vec() } else { key.to_vec() };
    block.resize(64, 0);
    let with = |byte: u8| block.iter().map(|key| key ^ byte).collect::<Vec<_>>();
    let inner = Sha256::digest([with(0x36), text.to_vec()].concat());
    Sha256::digest([with(0x5c), inner.to_vec()].concat()).to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let pairs = hex.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}
