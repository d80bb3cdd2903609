//! Signatures as text: base64url without padding (RFC 4648 §5), in its one canonical spelling.
//! Trust: texts may be anybody's; stray bits in the last character are refused, or a changed bit would go unseen.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Bytes of an Ed25519 signature.
const LENGTH: usize = 64;
/// Characters that 64 bytes take.
const CHARACTERS: usize = 86;

/// The text of a signature, 86 characters.
pub(crate) fn encode(bytes: &[u8; LENGTH]) -> String {
    let mut out = String::with_capacity(CHARACTERS);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0_u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            out.push(char::from(ALPHABET[(group >> (18 - 6 * place) & 63) as usize]));
        }
    }
    out
}

/// The signature that `text` spells; `None` for another length, another alphabet, padding or stray bits.
pub(crate) fn decode(text: &str) -> Option<[u8; LENGTH]> {
    if text.len() != CHARACTERS {
        return None;
    }
    let mut bytes = [0; LENGTH];
    for (out, chunk) in bytes.chunks_mut(3).zip(text.as_bytes().chunks(4)) {
        let mut group = 0;
        for place in 0..4 {
            group = group << 6 | chunk.get(place).map_or(Some(0), |digit| sextet(*digit))?;
        }
        let [_, whole @ ..] = group.to_be_bytes();
        out.copy_from_slice(&whole[..out.len()]);
        if whole[out.len()..].iter().any(|stray| *stray != 0) {
            return None;
        }
    }
    Some(bytes)
}

fn sextet(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'-' => 62,
        b'_' => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives_and_no_second_spelling_is_read() {
        for start in 0..=255_u8 {
            let bytes: [u8; LENGTH] = std::array::from_fn(|at| start.wrapping_add((at * 37) as u8));
            let text = encode(&bytes);
            assert_eq!(decode(&text), Some(bytes));
            for last in ALPHABET.iter().map(|digit| char::from(*digit)).filter(|digit| !text.ends_with(*digit)) {
                let other = decode(&format!("{}{last}", &text[..CHARACTERS - 1]));
                assert_ne!(other, Some(bytes), "{text}: {last}");
            }
        }
        let text = encode(&[0xfb; LENGTH]);
        assert_eq!(&text[..8], "-_v7-_v7");
        for other in [text.replace('-', "+"), format!("{text}=="), text[1..].to_owned(), format!("{}é", &text[..84])] {
            assert_eq!(decode(&other), None);
        }
    }
}
