//! `.mailmap`: the names that people go by now, for the names and addresses that commits hold.
//! Trust: the file is the repository's; bounded, and a line that is none is left out.

use std::collections::HashMap;

/// Bytes of the file at most.
pub(crate) const MAX_MAILMAP: u64 = 4 << 20;

/// By address, without regard to case.
#[derive(Debug, Default)]
pub(crate) struct Mailmap(HashMap<Vec<u8>, Person>);

/// What is said of an address: names, none where a line gives another address alone.
#[derive(Debug, Default)]
struct Person {
    /// Whatever name stands beside it.
    any: Option<Vec<u8>>,
    /// Where this name stands beside it, without regard to case.
    by_name: HashMap<Vec<u8>, Option<Vec<u8>>>,
}

impl Mailmap {
    /// Reads the file (Git's `read_mailmap_line`): a later line takes precedence.
    pub(crate) fn parse(text: &[u8]) -> Self {
        let mut map = Self::default();
        for line in text.split(|&byte| byte == b'\n').filter(|line| !line.starts_with(b"#")) {
            let Some((name, address, rest)) = ident(line, false) else { continue };
            let (old_name, old_address) = match ident(rest, true) {
                Some((name, address, _)) => (name, Some(address)),
                None => (None, None),
            };
            let name = name.map(<[u8]>::to_vec);
            let person = map.0.entry(old_address.unwrap_or(address).to_ascii_lowercase()).or_default();
            match old_name {
                Some(old) => drop(person.by_name.insert(old.to_ascii_lowercase(), name)),
                None => person.any = name.or(person.any.take()),
            }
        }
        map
    }

    /// The name that whoever is called `name` in commits, with that address, goes by, if another is known.
    pub(crate) fn name(&self, name: &[u8], address: &[u8]) -> Option<&[u8]> {
        let person = self.0.get(&address.to_ascii_lowercase())?;
        person.by_name.get(&name.to_ascii_lowercase()).unwrap_or(&person.any).as_deref()
    }
}

/// A name, which may be missing, an address, and what follows them.
type Ident<'a> = (Option<&'a [u8]>, &'a [u8], &'a [u8]);

/// `Name <address>` at the beginning of `text`.
fn ident(text: &[u8], empty_address: bool) -> Option<Ident<'_>> {
    let left = text.iter().position(|&byte| byte == b'<')?;
    let right = left + 1 + text[left + 1..].iter().position(|&byte| byte == b'>')?;
    if right == left + 1 && !empty_address {
        return None;
    }
    let name = Some(text[..left].trim_ascii()).filter(|name| !name.is_empty());
    Some((name, &text[left + 1..right], &text[right + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_as_git_finds_them() {
        let map = Mailmap::parse(
            b"# <no@one>\nAda Now <ada@now>\nAda Now <ada@now> <ada@then>\nBob <bob@x> Robert <shared@x>\n<cy@now> <cy@then>\n\
              Eve <> <eve@x>\nnobody\nFay <fay@x>\nFay Now <fay@x>\n",
        );
        for (name, address, right) in [
            ("ada", "ADA@now", Some("Ada Now")),
            ("whoever", "ada@then", Some("Ada Now")),
            ("ROBERT", "shared@x", Some("Bob")),
            ("Rob", "shared@x", None),
            ("Cy", "cy@then", None),
            ("Eve", "eve@x", None),
            ("fay", "fay@x", Some("Fay Now")),
            ("nobody", "", None),
        ] {
            assert_eq!(map.name(name.as_bytes(), address.as_bytes()), right.map(str::as_bytes), "{name} <{address}>");
        }
    }
}
