//! Where the answer to a request goes: to a line of its own, or into the array that answers its batch.
//! Trust: the supervisor's own; sizes of arrays are bounded here because a client chose how many requests share one.

use super::jsonrpc::{error_line, too_long};
use bulkhead_contract::limits::MAX_RESPONSE_BYTES;
use std::{cell::RefCell, rc::Rc};
use tokio::sync::mpsc;

/// Lines for standard output, without line ending. Full when the client does not read.
pub type Output = mpsc::Sender<String>;

/// Where an answer goes. Every request settles its own exactly once, also when it has nothing to say.
#[derive(Debug, Clone)]
pub enum ReplyTo {
    /// A line.
    Line,
    /// A place in the array of that batch.
    Batch(Rc<RefCell<Batch>>),
}

/// Answers that wait for the rest of their batch.
#[derive(Debug, Default)]
pub struct Batch {
    open: usize,
    bytes: usize,
    lines: Vec<String>,
}

impl Batch {
    /// A batch in which `open` settlements are awaited.
    #[must_use]
    pub fn new(open: usize) -> Rc<RefCell<Batch>> {
        Rc::new(RefCell::new(Batch { open, ..Batch::default() }))
    }

    /// Takes an answer; gives the array once it is complete and not empty.
    fn settle(&mut self, answer: Option<String>) -> Option<String> {
        if let Some(mut line) = answer {
            // brackets and the line ending take three bytes, each answer a comma
            if self.bytes + line.len() + 4 > MAX_RESPONSE_BYTES {
                let id = serde_json::from_str::<serde_json::Value>(&line).ok();
                let id = id.and_then(|value| super::jsonrpc::Id::of(&value["id"]));
                line = error_line(id.as_ref(), &too_long(self.bytes + line.len()));
            }
            self.bytes += line.len() + 1;
            self.lines.push(line);
        }
        self.open = self.open.saturating_sub(1);
        (self.open == 0 && !self.lines.is_empty()).then(|| format!("[{}]", std::mem::take(&mut self.lines).join(",")))
    }
}

impl ReplyTo {
    /// Settles one request; waits while the client does not read. A closed output takes nothing any more.
    pub async fn settle(&self, output: &Output, answer: Option<String>) {
        let line = match self {
            ReplyTo::Line => answer,
            ReplyTo::Batch(batch) => batch.borrow_mut().settle(answer),
        };
        if let Some(line) = line {
            let _ = output.send(line).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn an_array_comes_with_the_last_settlement() {
        let mut batch = Batch { open: 3, ..Batch::default() };
        assert_eq!(batch.settle(Some("1".into())), None);
        assert_eq!(batch.settle(None), None);
        assert_eq!(batch.settle(Some("2".into())).as_deref(), Some("[1,2]"));
    }

    #[test]
    fn nothing_to_say_is_no_array() {
        let mut batch = Batch { open: 1, ..Batch::default() };
        assert_eq!(batch.settle(None), None);
    }

    #[test]
    fn an_array_over_the_bound_gives_up_answers_and_not_ids() {
        let mut batch = Batch { open: 2, ..Batch::default() };
        let long = |id: u64| format!("{{\"id\":{id},\"x\":\"{}\"}}", "y".repeat(MAX_RESPONSE_BYTES / 2));
        assert_eq!(batch.settle(Some(long(1))), None);
        let array = batch.settle(Some(long(2))).expect("the batch is complete");
        assert!(array.len() < MAX_RESPONSE_BYTES);
        let value: Value = serde_json::from_str(&array).expect("arrays are JSON");
        assert_eq!((&value[0]["id"], &value[1]["id"]), (&1.into(), &2.into()));
        assert_eq!(value[1]["error"]["data"]["retryable"], true);
    }
}
