//! A unified diff, read far enough to say that it is whole and which files it is about (`git-apply`, *git diff* format).
//! Trust: the text is an agent's, bounded by its row; it is read once from front to back, and nothing is applied.

use super::paths;
use crate::limits::MAX_PROPOSAL_PATHS;

/// Why a text is no patch. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// It changes nothing.
    #[error("must be a unified diff, and holds no change")]
    Empty,
    /// A line does not fit.
    #[error("must be a unified diff: line {line}: {problem}")]
    Line {
        /// Which.
        line: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
}

/// What a patch is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Patch {
    /// Paths in the repository, each once, in the order in which they come.
    pub paths: Vec<String>,
}

/// Reads a patch. Text before the first file is passed over, as `git apply` does.
///
/// # Errors
/// What is wrong first.
pub fn read(text: &str) -> Result<Patch, PatchError> {
    let mut reader = Reader { lines: text.lines().enumerate().peekable(), patch: Patch::default(), changes: 0 };
    while let Some(&(at, line)) = reader.lines.peek() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            reader.lines.next();
            reader.file(at, Some(names))?;
        } else if line.starts_with("--- ") {
            reader.file(at, None)?;
        } else if line.starts_with("@@ -") {
            return Err(wrong(at, "a hunk without the file that it belongs to"));
        } else {
            reader.lines.next();
        }
    }
    if reader.changes == 0 { Err(PatchError::Empty) } else { Ok(reader.patch) }
}

fn wrong(at: usize, problem: &'static str) -> PatchError {
    PatchError::Line { line: at + 1, problem }
}

struct Reader<'a> {
    lines: std::iter::Peekable<std::iter::Enumerate<std::str::Lines<'a>>>,
    patch: Patch,
    changes: usize,
}

impl Reader<'_> {
    /// One file, from behind its `diff --git` line, or from its `---` line on.
    fn file(&mut self, at: usize, names: Option<&str>) -> Result<(), PatchError> {
        let before = self.changes;
        let mut named = false;
        let mut moved = false;
        while let Some(&(at, line)) = self.lines.peek() {
            let header = |words: &[&'static str]| words.iter().find_map(|word| line.strip_prefix(word));
            if let Some(path) = header(&["rename from ", "rename to ", "copy from ", "copy to "]) {
                self.name(at, path, false)?;
                (named, moved) = (true, true);
            } else if header(&["new file mode ", "deleted file mode ", "new mode "]).is_some() {
                moved = true;
            } else if header(&["old mode ", "index ", "similarity index ", "dissimilarity index "]).is_none() {
                break;
            }
            self.lines.next();
        }
        match self.lines.peek() {
            Some(&(at, line)) if line.starts_with("--- ") => {
                self.lines.next();
                let old = self.side(at, &line[4..])?;
                let Some((at, new)) = self.lines.next_if(|(_, line)| line.starts_with("+++ ")) else {
                    return Err(wrong(at, "`---` without `+++` after it"));
                };
                let new = self.side(at, &new[4..])?;
                if !old && !new {
                    return Err(wrong(at, "both sides are /dev/null"));
                }
                named = true;
                self.hunks(at)?;
            }
            Some(&(at, "GIT binary patch")) => {
                self.lines.next();
                self.binary(at)?;
            }
            Some(&(at, line)) if line.starts_with("Binary files ") => {
                return Err(wrong(at, "a binary file without its content; make the diff with --binary"));
            }
            _ => {}
        }
        self.changes += usize::from(moved);
        if self.changes == before {
            return Err(wrong(at, "a file without a change"));
        }
        match names {
            Some(names) if !named => {
                let path = same_name(names).ok_or_else(|| wrong(at, "names that cannot be told apart"))?;
                self.push(at, path)
            }
            _ => Ok(()),
        }
    }

    /// The path behind `---` or `+++`; false for `/dev/null`.
    fn side(&mut self, at: usize, text: &str) -> Result<bool, PatchError> {
        // what follows a tab is a time
        let text = if text.starts_with('"') { text } else { text.split('\t').next().unwrap_or(text) };
        if text == "/dev/null" {
            return Ok(false);
        }
        self.name(at, text, true).map(|()| true)
    }

    fn name(&mut self, at: usize, text: &str, prefixed: bool) -> Result<(), PatchError> {
        let path = unquoted(text.trim_end()).ok_or_else(|| wrong(at, "a quoted path that does not end well"))?;
        let path = match path.split_once('/') {
            Some(("a" | "b" | "i" | "w" | "c" | "o", rest)) if prefixed => rest.to_owned(),
            _ if prefixed => return Err(wrong(at, "a path without its prefix `a/` or `b/`")),
            _ => path,
        };
        self.push(at, path)
    }

    fn push(&mut self, at: usize, path: String) -> Result<(), PatchError> {
        paths::inside(&path).map_err(|problem| wrong(at, problem))?;
        if self.patch.paths.last() != Some(&path) {
            if self.patch.paths.len() >= 2 * MAX_PROPOSAL_PATHS {
                return Err(wrong(at, "too many files"));
            }
            self.patch.paths.push(path);
        }
        Ok(())
    }

    fn hunks(&mut self, at: usize) -> Result<(), PatchError> {
        let before = self.changes;
        while let Some((at, header)) = self.lines.next_if(|(_, line)| line.starts_with("@@ -")) {
            let (mut old, mut new) = counts(header).ok_or_else(|| wrong(at, "no hunk header"))?;
            while old > 0 || new > 0 {
                let Some((at, line)) = self.lines.next() else { return Err(wrong(at, "the hunk ends early")) };
                let (takes_old, takes_new) = match line.bytes().next() {
                    // an editor may have taken off the space of an empty line
                    Some(b' ') | None => (1, 1),
                    Some(b'-') => (1, 0),
                    Some(b'+') => (0, 1),
                    Some(b'\\') => (0, 0),
                    Some(_) => return Err(wrong(at, "neither context nor change, and the hunk is not over")),
                };
                old = u64::checked_sub(old, takes_old).ok_or_else(|| wrong(at, "more lines than the hunk says"))?;
                new = u64::checked_sub(new, takes_new).ok_or_else(|| wrong(at, "more lines than the hunk says"))?;
                self.changes += usize::from(takes_old != takes_new);
            }
            self.lines.next_if(|(_, line)| line.starts_with('\\'));
            if let Some((at, _)) = self.lines.next_if(|(_, line)| {
                line.starts_with(['+', ' ']) || (line.starts_with('-') && !line.starts_with("--- ") && *line != "-- ")
            }) {
                return Err(wrong(at, "more lines than the hunk says"));
            }
        }
        if self.changes == before { Err(wrong(at, "a file without a change")) } else { Ok(()) }
    }

    /// Blocks of base 85, each ended by an empty line.
    fn binary(&mut self, at: usize) -> Result<(), PatchError> {
        let is_block = |line: &str| {
            let size = line.strip_prefix("literal ").or_else(|| line.strip_prefix("delta "));
            size.is_some_and(|size| !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let mut blocks = 0;
        while self.lines.next_if(|(_, line)| is_block(line)).is_some() {
            blocks += 1;
            while let Some((at, line)) = self.lines.next_if(|(_, line)| !line.is_empty()) {
                if line.len() > 66 || !line.is_ascii() {
                    return Err(wrong(at, "no line of a binary patch"));
                }
            }
            self.lines.next_if(|(_, line)| line.is_empty());
        }
        self.changes += usize::from(blocks > 0);
        if blocks == 0 { Err(wrong(at, "a binary patch without content")) } else { Ok(()) }
    }
}

/// Lines of the old and the new side, from `@@ -1,2 +3 @@`.
fn counts(header: &str) -> Option<(u64, u64)> {
    let (ranges, _) = header.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let count = |range: &str| {
        let (start, count) = range.split_once(',').unwrap_or((range, "1"));
        let digits =
            |text: &str| !text.is_empty() && text.len() <= 10 && text.bytes().all(|byte| byte.is_ascii_digit());
        (digits(start) && digits(count)).then(|| count.parse::<u64>().ok()).flatten()
    };
    Some((count(old)?, count(new)?))
}

/// The one name of `a/NAME b/NAME`.
fn same_name(names: &str) -> Option<String> {
    if names.starts_with('"') {
        let end = names.rfind(" \"b/")?;
        return unquoted(&names[..end])?.strip_prefix("a/").map(str::to_owned);
    }
    // both names are the same, so the middle is where the second begins
    let half = names.len().checked_sub(1)? / 2;
    let (first, second) = (names.get(..half)?, names.get(half + 1..)?);
    let name = first.strip_prefix("a/")?;
    (second.strip_prefix("b/") == Some(name) && names.as_bytes().get(half) == Some(&b' ')).then(|| name.to_owned())
}

/// A path as Git writes it, perhaps in C quotes.
fn unquoted(text: &str) -> Option<String> {
    let Some(inner) = text.strip_prefix('"') else { return Some(text.to_owned()) };
    let inner = inner.strip_suffix('"')?;
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        let plain = match byte {
            b'"' => return None,
            b'\\' => match rest.next()? {
                b'a' => 7,
                b'b' => 8,
                b't' => b'\t',
                b'n' => b'\n',
                b'v' => 11,
                b'f' => 12,
                b'r' => b'\r',
                same @ (b'"' | b'\\') => same,
                first @ b'0'..=b'3' => {
                    let digit = |byte: u8| matches!(byte, b'0'..=b'7').then(|| byte - b'0');
                    (digit(first)? << 6) | (digit(rest.next()?)? << 3) | digit(rest.next()?)?
                }
                _ => return None,
            },
            other => other,
        };
        bytes.push(plain);
    }
    // names that are no UTF-8 cannot stand in a JSON text other than so; they are shown with replacements
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";

    fn paths_of(text: &str) -> Vec<String> {
        read(text).unwrap_or_else(|e| panic!("{e}: {text}")).paths
    }

    #[test]
    fn whole_patches_are_read() {
        assert_eq!(paths_of(SMALL), ["x"]);
        assert_eq!(
            paths_of("mail text\n\n--- a/x\t2026-01-01\n+++ b/x\n@@ -1,2 +1,3 @@ fn\n a\n+b\n\n-- \n2.43\n"),
            ["x"]
        );
        assert_eq!(
            paths_of(
                "diff --git a/n b/n\nnew file mode 100644\nindex 0000000..e69de29\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"
            ),
            ["n"]
        );
        assert_eq!(paths_of("diff --git a/s p b/s p\nold mode 100644\nnew mode 100755\n"), ["s p"]);
        assert_eq!(paths_of("diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n"), ["e"]);
        assert_eq!(paths_of("diff --git a/o b/n\nsimilarity index 100%\nrename from o\nrename to n\n"), ["o", "n"]);
        assert_eq!(
            paths_of(
                "diff --git \"a/\\303\\244\" \"b/\\303\\244\"\n--- \"a/\\303\\244\"\n+++ \"b/\\303\\244\"\n@@ -1 +1 @@\n-a\n+b\n"
            ),
            ["ä"]
        );
        assert_eq!(
            paths_of(
                "diff --git a/b.bin b/b.bin\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKc$@(M\n\nliteral 2\nKc$@\n\n"
            ),
            ["b.bin"]
        );
        let two = format!("{SMALL}{}", SMALL.replace('x', "y"));
        assert_eq!(paths_of(&two), ["x", "y"]);
        assert_eq!(paths_of(&SMALL.replace('\n', "\r\n").replace("@@\r", "@@")), ["x"]);
    }

    #[test]
    fn what_is_not_whole_is_refused_with_its_line() {
        for (text, line) in [
            ("--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+b\n", 3),
            ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n+c\n", 6),
            ("--- a/x\n+++ b/x\n@@ -1 +1 @@\nzz\n", 4),
            ("--- a/x\n+++ b/x\n@@ -x +1 @@\n", 3),
            ("--- a/x\n@@ -1 +1 @@\n", 1),
            ("--- a/x\n+++ b/x\n", 2),
            ("diff --git a/x b/x\nindex 1..2\n", 1),
            ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", 2),
            ("--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n", 1),
            ("--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n", 1),
            ("--- a/.git/config\n+++ b/.git/config\n@@ -1 +1 @@\n-a\n+b\n", 1),
            ("diff --git a/x b/x\nBinary files a/x and b/x differ\n", 2),
            ("diff --git a/x b/y\nold mode 1\nnew mode 2\n", 1),
            ("@@ -1 +1 @@\n-a\n+b\n", 1),
            ("--- \"a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", 1),
        ] {
            match read(text) {
                Err(PatchError::Line { line: at, .. }) => assert_eq!(at, line, "{text}"),
                other => panic!("{other:?}: {text}"),
            }
        }
        for text in ["x", "", "\n\n", "Index: x\n"] {
            assert_eq!(read(text), Err(PatchError::Empty), "{text:?}");
        }
    }

    #[test]
    fn no_cut_of_a_patch_breaks_the_reader() {
        let text = format!("{SMALL}diff --git a/ä b/ä\nGIT binary patch\nliteral 3\nKc$@(M\n\n");
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            let _ = read(&text[..end]);
            let _ = read(&text[end..]);
        }
    }
}
