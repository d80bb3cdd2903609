//! Which characters hide, reorder or end a line without being seen; the one list for answers, logs and last words.
//! Trust: asked about texts of repositories, agents and taken-over workers.

/// C1 and DEL of Cc, and Cf, Zl and Zp of Unicode 16. C0 is left to the caller: JSON escapes it in strings and uses it
/// outside of them, and lines end with it.
#[must_use]
pub fn hides(c: char) -> bool {
    matches!(c,
        '\u{7f}'..='\u{9f}'
        | '\u{ad}'
        | '\u{600}'..='\u{605}'
        | '\u{61c}'
        | '\u{6dd}'
        | '\u{70f}'
        | '\u{890}'..='\u{891}'
        | '\u{8e2}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{110bd}'
        | '\u{110cd}'
        | '\u{13430}'..='\u{1343f}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e007f}'
    )
}
