//! The known name that a caller probably meant.
//! Trust: the word is the caller's and may be of any length; the work is bounded before it starts.

/// Words longer than this have no neighbour.
const LONGEST: usize = 48;

/// The candidate closest to `word`, if close enough to be worth saying.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST {
        return None;
    }
    let folded = word.to_ascii_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (distance(&folded, &candidate.to_ascii_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().min(word.len()).div_ceil(3).min(4))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions and replacements between two words.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = corner + usize::from(from != *to);
            corner = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_words_are_found_and_far_ones_are_not() {
        let known = ["repoPath", "repoId", "recentCommits"];
        assert_eq!(nearest("repo_path", known), Some("repoPath"));
        assert_eq!(nearest("recentcommit", known), Some("recentCommits"));
        assert_eq!(nearest("repoid", known), Some("repoId"));
        assert_eq!(nearest("branch", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest(&"r".repeat(1 << 20), known), None);
    }

    #[test]
    fn distance_counts_single_edits() {
        for (a, b, steps) in
            [("", "abc", 3), ("abc", "abc", 0), ("abc", "axc", 1), ("abc", "ac", 1), ("stauts", "status", 2)]
        {
            assert_eq!(distance(a, b), steps, "{a} {b}");
        }
    }
}
