//! Corrections of this family's recordings.
//! Trust: constants of the test.

use super::Family;

pub const FAMILY: Family = Family {
    tools: &[("repo.history", 9)],
    corrections: Vec::new,
    additions: &["parents", "commitTime", "path", "pathEncoding", "partial"],
    answered_now: &[
        ("repo.history", "empty", "an unborn branch has a history without commits"),
        ("repo.history", "bare", "a bare repository has a history"),
    ],
    refused_now: &[
        (
            "repo.history",
            "badcursor",
            10010,
            "a cursor that was never given out is refused, not taken for the first page",
        ),
        (
            "repo.history",
            "negcursor",
            10010,
            "a cursor that was never given out is refused, not taken for the first page",
        ),
        ("repo.history", "far", 10010, "cursors are positions, and this number is none"),
        ("repo.history", "page2", 10010, "cursors are positions, and this number is none"),
    ],
    failures: &[],
    varying: &["/data/nextCursor"],
};
