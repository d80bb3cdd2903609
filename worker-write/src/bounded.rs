//! Texts within a limit.
//! Trust: anybody's texts; they are cut between characters and changed in no other way.

/// A text within a limit, in characters; what is missing is said.
pub(crate) fn bounded(text: String, most: usize) -> String {
    let total = text.chars().count();
    if total <= most {
        return text;
    }
    let end = format!("… [{total} characters in all]");
    text.chars().take(most.saturating_sub(end.chars().count())).chain(end.chars()).collect()
}

/// The same of what a program said, where the last of it counts as much as the first: both are kept. `cut` says that there was
/// more, which nobody counted.
pub(crate) fn both_ends(text: &str, most: usize, cut: bool) -> String {
    let total = text.chars().count();
    let at_least = if cut { "at least " } else { "" };
    if total <= most {
        return if cut { format!("{text}\n… [more was said]") } else { text.to_owned() };
    }
    let between = format!("\n… [{at_least}{total} characters in all] …\n");
    let half = most.saturating_sub(between.chars().count()) / 2;
    text.chars().take(half).chain(between.chars()).chain(text.chars().skip(total - half)).collect()
}
