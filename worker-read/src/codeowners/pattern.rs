//! Whether a pattern owns a path: names against names, each wildcard tried at most once from every place.
//! Trust: patterns are the repository's; every comparison is a step, and steps are counted down.

use super::{Scope, TooCostly};

/// One name of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part<'p> {
    /// Names that match this text.
    Like(&'p [u8]),
    /// Any one name.
    Each,
    /// Any number of names, none included.
    Any,
}

/// A path, or what stands for everything that can be below a directory.
#[derive(Debug)]
pub(super) struct Place {
    /// A pattern owns the place where it matches all of these.
    paths: Vec<Vec<Vec<u8>>>,
}

/// A name that no pattern can spell, since NUL is in none.
const NOBODY: &[u8] = b"\0";
/// Another one, longer than all the `?` that fit on a line.
const NOBODY_LONG: usize = 17 << 10;

impl Place {
    /// The place of `path`. A path of dots or slashes alone is the top.
    pub(super) fn new(path: &[u8], scope: Scope) -> Self {
        let names = path.split(|&byte| byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
        let names: Vec<Vec<u8>> = names.map(<[u8]>::to_vec).collect();
        if scope == Scope::File {
            return Self { paths: vec![names] };
        }
        // a pattern that matches short and long names, one and two of them, none of which it can spell, does so by wildcards
        // alone, and so matches all
        let (short, long) = (NOBODY.to_vec(), NOBODY.repeat(NOBODY_LONG));
        let one = [&short, &long].map(|name| vec![name.clone()]);
        let two = [[&short, &short], [&short, &long], [&long, &short], [&long, &long]];
        let two = two.map(|pair| pair.map(Clone::clone).to_vec());
        Self { paths: one.into_iter().chain(two).map(|more| [names.clone(), more].concat()).collect() }
    }

    /// True where `pattern` owns it.
    pub(super) fn is_owned_by(&self, pattern: &[u8], steps: &mut u64) -> Result<bool, TooCostly> {
        let parts = parts(pattern);
        for path in &self.paths {
            if !matches(&parts, path, steps)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The names of a pattern. A pattern that has no slash but a last one matches at any depth.
fn parts(pattern: &[u8]) -> Vec<Part<'_>> {
    let (pattern, inside) = match pattern.strip_suffix(b"/") {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let (pattern, anchored) = match pattern.strip_prefix(b"/") {
        Some(rest) => (rest, true),
        None => (pattern, pattern.contains(&b'/')),
    };
    let mut parts = Vec::new();
    if !anchored {
        parts.push(Part::Any);
    }
    let mut names = pattern.split(|&byte| byte == b'/').peekable();
    while let Some(name) = names.next() {
        let last = names.peek().is_none();
        match name {
            b"**" if last => parts.extend([Part::Each, Part::Any]),
            b"**" => parts.push(Part::Any),
            b"*" => parts.push(Part::Each),
            _ => parts.push(Part::Like(name)),
        }
        match (last, inside) {
            (true, true) => parts.extend([Part::Each, Part::Any]),
            // what matches a directory owns what is below it, but for a lone asterisk
            (true, false) if name != b"*" => parts.push(Part::Any),
            _ => {}
        }
    }
    parts
}

/// Walks both once; on a difference, the last `Any` takes one name more. Earlier ones never need to: what follows them was
/// matched as early as it could be.
fn matches(parts: &[Part<'_>], path: &[Vec<u8>], steps: &mut u64) -> Result<bool, TooCostly> {
    let (mut part, mut at) = (0, 0);
    let mut again: Option<(usize, usize)> = None;
    loop {
        step(steps)?;
        let fits = match parts.get(part) {
            Some(Part::Any) => {
                part += 1;
                again = Some((part, at));
                continue;
            }
            None if at == path.len() => return Ok(true),
            None => false,
            Some(_) if at == path.len() => return Ok(false),
            Some(Part::Each) => true,
            Some(Part::Like(text)) => like(text, &path[at], steps)?,
        };
        if fits {
            (part, at) = (part + 1, at + 1);
            continue;
        }
        match &mut again {
            Some((after, from)) if *from < path.len() => {
                *from += 1;
                (part, at) = (*after, *from);
            }
            _ => return Ok(false),
        }
    }
}

/// One name: `*` is any text, `?` any one character, and a backslash takes the next byte as it is.
fn like(text: &[u8], name: &[u8], steps: &mut u64) -> Result<bool, TooCostly> {
    let (mut t, mut n) = (0, 0);
    let mut again: Option<(usize, usize)> = None;
    loop {
        step(steps)?;
        let (taken, length) = match text.get(t) {
            Some(b'*') => {
                t += 1;
                if t == text.len() {
                    return Ok(true);
                }
                again = Some((t, n));
                continue;
            }
            None if n == name.len() => return Ok(true),
            None => (0, 0),
            Some(_) if n == name.len() => return Ok(false),
            Some(b'?') => (1, character(&name[n..])),
            Some(b'\\') if text.get(t + 1) == Some(&name[n]) => (2, 1),
            Some(byte) if *byte == name[n] && *byte != b'\\' => (1, 1),
            Some(_) => (0, 0),
        };
        if length > 0 {
            (t, n) = (t + taken, n + length);
            continue;
        }
        match &mut again {
            Some((after, from)) if *from < name.len() => {
                *from += 1;
                (t, n) = (*after, *from);
            }
            _ => return Ok(false),
        }
    }
}

/// Bytes of the first character; a byte that is not part of valid UTF-8 counts as one.
fn character(name: &[u8]) -> usize {
    let longest = &name[..name.len().min(4)];
    longest.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next()).map_or(1, char::len_utf8)
}

fn step(steps: &mut u64) -> Result<(), TooCostly> {
    *steps = steps.checked_sub(1).ok_or(TooCostly)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same question, answered by trying everything.
    fn slowly(parts: &[Part<'_>], path: &[Vec<u8>]) -> bool {
        match (parts.split_first(), path.split_first()) {
            (None, None) => true,
            (None, Some(_)) => false,
            (Some((Part::Any, rest)), _) => (0..=path.len()).any(|at| slowly(rest, &path[at..])),
            (Some(_), None) => false,
            (Some((Part::Each, rest)), Some((_, below))) => slowly(rest, below),
            (Some((Part::Like(text), rest)), Some((name, below))) => slowly_like(text, name) && slowly(rest, below),
        }
    }

    fn slowly_like(text: &[u8], name: &[u8]) -> bool {
        match (text, name) {
            ([], []) => true,
            ([b'*', rest @ ..], _) => (0..=name.len()).any(|at| slowly_like(rest, &name[at..])),
            ([b'?', rest @ ..], [_, ..]) => slowly_like(rest, &name[1..]),
            ([b'\\', byte, rest @ ..], [first, ..]) => byte == first && slowly_like(rest, &name[1..]),
            ([byte, rest @ ..], [first, ..]) => byte == first && slowly_like(rest, &name[1..]),
            _ => false,
        }
    }

    /// A generator of numbers that are the same for the same seed (splitmix64).
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, bound: usize) -> usize {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            usize::try_from((z ^ (z >> 31)) % bound as u64).expect("below a usize")
        }

        fn text(&mut self, of: &[&str], most: usize) -> String {
            (0..=self.below(most)).map(|_| of[self.below(of.len())]).collect()
        }
    }

    fn owns(pattern: &str, path: &str, scope: Scope) -> bool {
        Place::new(path.as_bytes(), scope).is_owned_by(pattern.as_bytes(), &mut u64::MAX.clone()).expect("no limit")
    }

    #[test]
    fn random_patterns_match_what_trying_everything_matches() {
        let mut dice = Dice(1);
        for _ in 0..60_000 {
            let pattern = dice.text(&["a", "b", "*", "?", "/", "**/", "/**", "\\*"], 9);
            let path = dice.text(&["a", "b", "/", "*"], 9);
            let place = Place::new(path.as_bytes(), Scope::File);
            let expected = slowly(&parts(pattern.as_bytes()), &place.paths[0]);
            assert_eq!(owns(&pattern, &path, Scope::File), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn what_owns_a_directory_owns_everything_below_it() {
        let mut dice = Dice(2);
        let mut owned = 0;
        for _ in 0..60_000 {
            let pattern = dice.text(&["a", "b", "*", "?", "/", "**/", "/**", "*/"], 6);
            let path = dice.text(&["a", "b", "a/", "b/"], 4);
            if owns(&pattern, &path, Scope::Directory) {
                owned += 1;
                for _ in 0..8 {
                    let below = format!("{path}/{}", dice.text(&["a", "b", "c", "a/", "c/"], 5)).replace("//", "/");
                    let below = below.trim_end_matches('/');
                    assert!(owns(&pattern, below, Scope::File), "{pattern} owns {path} and not {below}");
                }
            }
        }
        assert!(owned > 1_000, "only {owned} were owned, which proves little");
    }

    #[test]
    fn steps_are_bounded_by_the_product_of_the_lengths() {
        let names = [
            ("a*".repeat(500) + "b", "a".repeat(4_000)),
            ("*?".repeat(500), "a".repeat(499)),
            ("**/a/".repeat(200) + "b", "a/".repeat(2_000) + "a"),
        ];
        for (pattern, path) in names {
            let mut steps = MOST;
            let owned = Place::new(path.as_bytes(), Scope::File).is_owned_by(pattern.as_bytes(), &mut steps);
            assert_eq!(owned, Ok(false), "{pattern:.20}");
            let product = (pattern.len() as u64 + 2) * (path.len() as u64 + 2);
            assert!(MOST - steps <= 2 * product, "{} steps for {product}", MOST - steps);
        }
        let mut few = 100;
        let long = "a".repeat(4_000);
        let owned = Place::new(long.as_bytes(), Scope::File).is_owned_by("a*".repeat(500).as_bytes(), &mut few);
        assert_eq!(owned, Err(TooCostly));
    }

    const MOST: u64 = 1 << 40;
}
