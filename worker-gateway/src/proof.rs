//! What shows that somebody knows the token: HMAC-SHA256 over texts that no two uses share (`docs/gateway.md`).
//! Trust: proofs of the other side are compared without saying where they differ.

use bulkhead_sandbox::secret;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use zeroize::Zeroizing;

/// Path of the greeting.
pub const HELLO: &str = "/v1/mcp/hello";
/// Field of a request with the nonce of its connection.
pub const NONCE: &str = "bulkhead-nonce";
/// Field with a proof.
pub const MAC: &str = "bulkhead-mac";
/// Bytes of one block of SHA-256.
const BLOCK: usize = 64;

/// One connection's own number, chosen by us.
pub type Nonce = [u8; 16];
/// A proof.
pub type Mac = [u8; 32];

/// Of a greeting's answer: `"bulkhead-hello-1" 0 nonce`.
#[must_use]
pub fn of_hello(token: &[u8], nonce: &Nonce) -> Mac {
    hmac(token, &[b"bulkhead-hello-1\0", nonce])
}

/// Of a request: `"bulkhead-request-1" 0 nonce method 0 path 0 SHA-256(body)`. A request without a body has an empty one.
#[must_use]
pub fn of_request(token: &[u8], nonce: &Nonce, method: &str, path: &str, body: &[u8]) -> Mac {
    let digest = Sha256::digest(body);
    hmac(token, &[b"bulkhead-request-1\0", nonce, method.as_bytes(), b"\0", path.as_bytes(), b"\0", &digest])
}

/// Of an answer: `"bulkhead-answer-1" 0 nonce status 0 path 0 SHA-256(body)`, the status as three digits.
#[must_use]
pub fn of_answer(token: &[u8], nonce: &Nonce, status: u16, path: &str, body: &[u8]) -> Mac {
    let (status, digest) = (status.to_string(), Sha256::digest(body));
    hmac(token, &[b"bulkhead-answer-1\0", nonce, status.as_bytes(), b"\0", path.as_bytes(), b"\0", &digest])
}

/// Whether a field's value is this proof, in 64 lower-case hex digits. Takes the same time wherever the two differ.
#[must_use]
pub fn holds(value: Option<&[u8]>, mac: &Mac) -> bool {
    let Some(value) = value else { return false };
    let wanted = hex(mac);
    value.len() == wanted.len() && wanted.bytes().zip(value).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

/// Lower-case hex digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// HMAC-SHA256 (RFC 2104) over the parts, one after the other. Nothing of the key is left where it was computed.
fn hmac(key: &[u8], parts: &[&[u8]]) -> Mac {
    let mac = computed(key, parts);
    secret::wipe_stack();
    mac
}

#[inline(never)]
fn computed(key: &[u8], parts: &[&[u8]]) -> Mac {
    let mut padded = Zeroizing::new([0u8; BLOCK]);
    if key.len() > BLOCK {
        padded[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        padded[..key.len()].copy_from_slice(key);
    }
    let with = |byte: u8| {
        let mut block = Zeroizing::new([byte; BLOCK]);
        block.iter_mut().zip(padded.iter()).for_each(|(block, key)| *block ^= key);
        block
    };
    let inner = parts.iter().fold(Sha256::new().chain_update(&with(0x36)[..]), |hash, part| hash.chain_update(part));
    Sha256::new().chain_update(&with(0x5c)[..]).chain_update(inner.finalize()).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_is_the_rfcs() {
        // RFC 4231, test cases 1, 2 and 6
        let one = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
        assert_eq!(hex(&hmac(&[0x0b; 20], &[b"Hi ", b"There"])), one);
        let two = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(hex(&hmac(b"Jefe", &[b"what do ya want for nothing?"])), two);
        let six = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54";
        assert_eq!(hex(&hmac(&[0xaa; 131], &[b"Test Using Larger Than Block-Size Key - Hash Key First"])), six);
    }

    #[test]
    fn the_published_vectors_hold() {
        let page = include_str!("../../docs/gateway.md");
        let (token, nonce): (&[u8], Nonce) =
            (b"correct horse battery staple 1234567", std::array::from_fn(|at| u8::try_from(at).expect("small")));
        let (merge, status) = ("/v1/mcp/operation/preview/merge", "/v1/mcp/operation/status/p-1");
        let answered = br#"{"previewId":"p-1","status":"pending"}"#;
        let all = [
            of_hello(token, &nonce),
            of_request(token, &nonce, "POST", merge, br#"{"a":1}"#),
            of_request(token, &nonce, "GET", status, b""),
            of_answer(token, &nonce, 202, merge, answered),
        ];
        for mac in all {
            assert!(page.contains(&format!("| `{}` |", hex(&mac))), "{}", hex(&mac));
        }
    }

    #[test]
    fn a_proof_holds_as_it_is_and_no_other_way() {
        let mac = of_hello(&[7; 32], &[1; 16]);
        let text = hex(&mac);
        assert!(holds(Some(text.as_bytes()), &mac));
        assert!(!holds(None, &mac) && !holds(Some(b""), &mac) && !holds(Some(&text.as_bytes()[1..]), &mac));
        assert!(!holds(Some(text.to_uppercase().as_bytes()), &mac) || text == text.to_uppercase());
        assert_ne!(mac, of_hello(&[7; 32], &[2; 16]));
        let all = [
            of_request(&[7; 32], &[1; 16], "GET", "/v1/mcp/hello", b""),
            of_request(&[7; 32], &[1; 16], "POST", "/v1/mcp/hello", b""),
            of_request(&[7; 32], &[1; 16], "POST", "/v1/mcp/hello", b"{}"),
            of_answer(&[7; 32], &[1; 16], 200, "/v1/mcp/hello", b""),
            of_answer(&[7; 32], &[1; 16], 201, "/v1/mcp/hello", b""),
            mac,
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(all[..at].iter().all(|other| other != one), "{at}");
        }
    }
}
