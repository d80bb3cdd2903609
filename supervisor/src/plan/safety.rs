//! Questions of safety.* and flux.*; the records that they need are added later.
//! Trust: see the module above.

use super::{Room, number};
use bulkhead_contract::args::Checked;
use bulkhead_ipc::edge::{
    asks::{Held, RestorePoints, RestoreView, Timeline, TimelineEvent},
    read::Ask,
};

/// What `tool` asks; `None` for a tool of another family.
pub(super) fn ask(tool: &str, checked: &Checked<'_>, room: Room) -> Option<Ask> {
    let held = Held::default();
    let text = |name| checked.text(name).map(str::to_owned);
    let points = |view| {
        // problems stand beside the rows
        Ask::RestorePoints(RestorePoints { held: Held::default(), view, chars: room.chars(false) / 8 * 7 })
    };
    Some(match tool {
        "safety.timeline" => Ask::Timeline(Timeline {
            held,
            limit: number(checked, "limit")?,
            reflog_limit: if checked.boolean("includeReflog")? { number(checked, "reflogLimit")? } else { 0 },
            without_restore_points: !checked.boolean("includeRestorePoints")?,
            chars: room.chars(false) / 8 * 7,
        }),
        "safety.eventDetails" => Ask::TimelineEvent(TimelineEvent { held, id: text("eventId") }),
        "flux.latestRestorePoint" => points(RestoreView::Latest),
        "flux.restorePoints" => points(RestoreView::All { limit: number(checked, "limit")? }),
        "flux.restorePointDetails" => points(RestoreView::One { id: text("restorePointId") }),
        _ => return None,
    })
}
