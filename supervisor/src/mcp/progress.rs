//! Progress of one call, for a client that asked for it: strictly rising, and never silent for a second.
//! Trust: units come from a worker that may lie; a lie moves nothing but the number shown.

use super::jsonrpc::Id;
use crate::control::Tick;
use serde_json::{Value, json};
use std::time::Duration;

/// Time between two notifications, while the call runs. Half of the second that is promised, so that a late timer
/// breaks no promise.
pub const EVERY: Duration = Duration::from_millis(500);

/// What one client is told about one call.
#[derive(Debug)]
pub struct Progress {
    token: Id,
    shown: u64,
    latest: Option<Tick>,
}

impl Progress {
    /// For a request whose params carry a usable `_meta.progressToken`.
    #[must_use]
    pub fn asked(params: &Value) -> Option<Progress> {
        let token = Id::of(&params["_meta"]["progressToken"])?;
        Some(Progress { token, shown: 0, latest: None })
    }

    /// Remembers what the worker said last.
    pub fn hear(&mut self, tick: Tick) {
        self.latest = Some(tick);
    }

    /// The next notification. Where the worker said nothing new, the number still rises by one: it is a sign of life.
    pub fn line(&mut self) -> String {
        let done = self.latest.map_or(0, |tick| tick.done);
        self.shown = done.max(self.shown.saturating_add(1));
        let mut params = json!({ "progressToken": self.token, "progress": self.shown });
        if let Some(total) = self.latest.and_then(|tick| tick.total).filter(|&total| total >= self.shown) {
            params["total"] = total.into();
        }
        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(progress: &mut Progress) -> (u64, Option<u64>) {
        let value: Value = serde_json::from_str(&progress.line()).expect("notifications are JSON");
        assert_eq!(value["params"]["progressToken"], "t");
        (value["params"]["progress"].as_u64().expect("a number"), value["params"]["total"].as_u64())
    }

    #[test]
    fn numbers_rise_whatever_the_worker_says() {
        let mut progress = Progress::asked(&json!({"_meta": {"progressToken": "t"}})).expect("a token");
        assert_eq!(shown(&mut progress), (1, None));
        progress.hear(Tick { done: 10, total: Some(12) });
        assert_eq!(shown(&mut progress), (10, Some(12)));
        assert_eq!(shown(&mut progress), (11, Some(12)));
        progress.hear(Tick { done: 3, total: Some(5) });
        assert_eq!(shown(&mut progress), (12, None));
    }

    #[test]
    fn only_strings_and_integers_are_tokens() {
        for token in [json!(null), json!(1.5), json!({}), json!(true)] {
            assert!(Progress::asked(&json!({"_meta": {"progressToken": token}})).is_none());
        }
        assert!(Progress::asked(&json!({"_meta": {"progressToken": 0}})).is_some());
        for params in [json!(null), json!([]), json!({"_meta": 1})] {
            assert!(Progress::asked(&params).is_none());
        }
    }
}
