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
