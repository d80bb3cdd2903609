//! POSIX extended regular expressions in the words of the `regex` crate.
//! Trust: the expression is a repository's; what has no counterpart of linear time is refused.

/// The same expression for the `regex` crate, or `None` where it has a back-reference or is not well-formed.
pub(super) fn translate(expression: &[u8]) -> Option<String> {
    let mut out = String::with_capacity(expression.len() * 2);
    let mut rest = expression;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = match byte {
            b'[' => bracket(tail, &mut out)?,
            b'\\' => {
                let (&escaped, tail) = tail.split_first()?;
                match escaped {
                    b'0'..=b'9' => return None,
                    // the GNU extensions that Git's users have on most systems
                    b'w' | b'W' | b's' | b'S' | b'b' | b'B' => out.extend(['\\', char::from(escaped)]),
                    b'<' => out.push_str("\\b{start}"),
                    b'>' => out.push_str("\\b{end}"),
                    b'`' => out.push_str("\\A"),
                    b'\'' => out.push_str("\\z"),
                    other => literal(other, &mut out),
                }
                tail
            }
            b'.' => {
                out.push_str("[^\\x00]");
                tail
            }
            b'(' | b')' | b'*' | b'+' | b'?' | b'|' | b'^' | b'$' | b'{' | b'}' => {
                out.push(char::from(byte));
                // the crate would take `(?` and `*?` for something else than POSIX does
                if (byte != b'|' && byte != b'^') && tail.first() == Some(&b'?') {
                    return None;
                }
                tail
            }
            other => {
                literal(other, &mut out);
                tail
            }
        };
    }
    Some(out)
}

/// What follows a `[`, up to its end.
fn bracket<'e>(mut rest: &'e [u8], out: &mut String) -> Option<&'e [u8]> {
    out.push('[');
    if let Some(tail) = rest.strip_prefix(b"^") {
        out.push('^');
        rest = tail;
    }
    let mut first = true;
    loop {
        let (&byte, tail) = rest.split_first()?;
        rest = match byte {
            b']' if !first => {
                out.push(']');
                return Some(tail);
            }
            b'[' if tail.first() == Some(&b':') => {
                let end = tail.windows(2).skip(1).position(|two| two == b":]")? + 1;
                let name = std::str::from_utf8(&tail[1..end]).ok().filter(|name| CLASSES.contains(name))?;
                out.push_str(&format!("[:{name}:]"));
                &tail[end + 2..]
            }
            // collating symbols and equivalence classes
            b'[' if matches!(tail.first(), Some(b'.' | b'=')) => return None,
            // a range, unless it stands first or last
            b'-' if !first && tail.first() != Some(&b']') => {
                out.push('-');
                tail
            }
            other => {
                literal(other, out);
                tail
            }
        };
        first = false;
    }
}

const CLASSES: &[&str] =
    &["alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit"];

fn literal(byte: u8, out: &mut String) {
    if byte.is_ascii_alphanumeric()
        || matches!(byte, b' ' | b'_' | b'"' | b'\'' | b'/' | b',' | b':' | b';' | b'<' | b'>' | b'=' | b'@')
    {
        out.push(char::from(byte));
    } else {
        out.push_str(&format!("\\x{byte:02X}"));
    }
}
