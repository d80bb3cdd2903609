//! Names as Git prints them: in double quotes and with C escapes where a plain form would be ambiguous.
//! Trust: names are the repository's; nothing but bytes is made of them.

/// Appends `prefix` and `name` to `out`, quoted as one where Git would. `fully` is `core.quotePath`.
pub fn append(out: &mut Vec<u8>, prefix: &[u8], name: &[u8], fully: bool) {
    let quoted =
        |byte: &u8| *byte < 0x20 || *byte == 0x7f || *byte == b'"' || *byte == b'\\' || (fully && *byte >= 0x80);
    if !name.iter().any(quoted) {
        out.extend_from_slice(prefix);
        out.extend_from_slice(name);
        return;
    }
    out.push(b'"');
    out.extend_from_slice(prefix);
    for byte in name {
        if !quoted(byte) {
            out.push(*byte);
            continue;
        }
        out.push(b'\\');
        match *byte {
            b'"' | b'\\' => out.push(*byte),
            0x07 => out.push(b'a'),
            0x08 => out.push(b'b'),
            b'\t' => out.push(b't'),
            b'\n' => out.push(b'n'),
            0x0b => out.push(b'v'),
            0x0c => out.push(b'f'),
            b'\r' => out.push(b'r'),
            byte => out.extend([byte >> 6, (byte >> 3) & 7, byte & 7].map(|digit| b'0' + digit)),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(name: &[u8], fully: bool) -> String {
        let mut out = Vec::new();
        append(&mut out, b"a/", name, fully);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn only_what_needs_it_is_quoted() {
        assert_eq!(quoted(b"with space", true), "a/with space");
        assert_eq!(quoted(b"tab\there\"\\", true), r#""a/tab\there\"\\""#);
        assert_eq!(quoted(b"\x01\x7f", true), r#""a/\001\177""#);
        assert_eq!(quoted("caf\u{e9}".as_bytes(), true), r#""a/caf\303\251""#);
        assert_eq!(quoted("caf\u{e9}".as_bytes(), false), "a/caf\u{e9}");
    }
}
