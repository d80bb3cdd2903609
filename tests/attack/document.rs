//! The document about the attacks and the table of them say the same.
//! Trust: the document is the project's own.

use super::catalogue::ATTACKS;
use std::fs;

/// Whether every attack has its row in `docs/attack.md`, and every row its attack; says what is missing.
pub fn agrees() -> bool {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/attack.md");
    let text = fs::read_to_string(path).expect("the source tree is there");
    let rows: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" |").next())
        .filter(|id| id.len() >= 3 && id.starts_with(['R', 'M', 'P']) && id[1..3].bytes().all(|b| b.is_ascii_digit()))
        .collect();
    let missing: Vec<&str> = ATTACKS.iter().map(|attack| attack.id).filter(|id| !rows.contains(id)).collect();
    if !missing.is_empty() {
        eprintln!("docs/attack.md has no row for {}", missing.join(", "));
    }
    missing.is_empty()
}
