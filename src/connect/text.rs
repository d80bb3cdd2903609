//! A configuration file's text: what stands around its meaning is put back as it was.
//! Trust: a file of the user's, or of a project, which may be hostile; it is bounded before it is parsed.

/// Longest configuration file that is edited, in bytes. Claude Code keeps histories in its own.
pub const LONGEST: u64 = 32 << 20;

/// A file's text, and how it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<'a> {
    /// Without a byte order mark.
    pub body: &'a str,
    mark: bool,
}

const MARK: char = '\u{feff}';

impl<'a> Text<'a> {
    /// Reads a file's bytes.
    ///
    /// # Errors
    /// They are not UTF-8: some editors write UTF-16, which no host here reads.
    pub fn read(bytes: &'a [u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes)
            .map_err(|e| format!("it is not UTF-8 from byte {} on; save it as UTF-8 and try again", e.valid_up_to()))?;
        let body = text.strip_prefix(MARK);
        Ok(Self { body: body.unwrap_or(text), mark: body.is_some() })
    }

    /// The bytes of a file with this text in place of the old one, and with its byte order mark where it had one.
    #[must_use]
    pub fn write(&self, body: &str) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(body.len() + MARK.len_utf8());
        if self.mark {
            bytes.extend(MARK.to_string().into_bytes());
        }
        bytes.extend(body.as_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_kept_and_not_parsed() {
        let text = Text::read(b"\xef\xbb\xbf{}").expect("UTF-8");
        assert_eq!(text.body, "{}");
        assert_eq!(text.write("{ }"), b"\xef\xbb\xbf{ }");
        assert_eq!(Text::read(b"{}").expect("UTF-8").write("x"), b"x");
    }

    #[test]
    fn other_encodings_are_refused() {
        let error = Text::read(b"\xff\xfe{\0}\0").expect_err("UTF-16");
        assert!(error.contains("UTF-8"), "{error}");
    }
}
