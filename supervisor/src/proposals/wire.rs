//! Exchanges with the gateway, and what its answer to a question about a proposal says.
//! Trust: an answer was said by whoever listens there; it is JSON by our own strict reading, or nothing.

use crate::{control::Control, gateway::Interrupted, mcp::json, outcome::CallError, reads::Reads, settings::Settings};
use bulkhead_ipc::edge::gateway::{Body, Exchange, Failure, Method, Outcome, PREFIX};
use serde_json::Value;

/// Milliseconds for one exchange (contract `gateway.md`).
const BUDGET_MS: u32 = 5_000;

/// The way to the gateway for one call.
pub(super) struct Wire<'a, R> {
    reads: &'a R,
    control: Control,
    /// The other side has to show that it knows the operator's token.
    pub authentic: bool,
}

/// What an exchange came to.
pub(crate) type Ended = Result<Outcome, Interrupted>;

impl<'a, R: Reads> Wire<'a, R> {
    pub fn new(reads: &'a R, settings: &Settings, control: Control) -> Self {
        Self { reads, control, authentic: settings.gateway.is_some() && settings.gateway_token }
    }

    /// Carries one exchange.
    pub async fn exchange(&self, method: Method, path: &str, body: Option<Vec<u8>>) -> Ended {
        let path = format!("{PREFIX}{path}");
        let exchange = Exchange { method, path, body, budget_ms: BUDGET_MS, authentic: self.authentic };
        self.reads.exchange(exchange, self.control.clone()).await
    }

    /// Asks once where a proposal stands.
    pub async fn status(&self, id: &str) -> Ended {
        self.exchange(Method::Get, &format!("operation/status/{id}"), None).await
    }

    /// Resolves when the asker wants the call stopped.
    pub async fn stopped(&self) {
        self.control.clone().stopped().await;
    }
}

/// Why there is no answer that could be used, and what is known nevertheless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Silence {
    /// A sentence of ours.
    pub reason: String,
    /// A byte of the request may have left.
    pub sent: bool,
    /// The gateway may hold the proposal.
    pub may_be_held: bool,
}

/// Where a proposal stands, as the gateway says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Standing {
    /// Its record.
    Record {
        /// Member `status`, where it is a text.
        status: Option<String>,
        /// As it came.
        body: Value,
        /// The other side showed that it knows the token.
        proved: bool,
    },
    /// There is none by that id.
    Unknown {
        /// The other side showed that it knows the token.
        proved: bool,
    },
    /// Nothing that could be used.
    Silent(Silence),
}

/// What the answer to [`Wire::status`] says.
///
/// # Errors
/// [`CallError`] where the call ends for a reason that is none of the gateway's.
pub(super) fn standing(ended: Ended, authentic: bool) -> Result<Standing, CallError> {
    Ok(match checked(ended, authentic)? {
        Ok((status @ 200..=299, body, proved)) => match parsed(&body) {
            Some(body) => {
                let status = body.get("status").and_then(Value::as_str).map(str::to_owned);
                Standing::Record { status, body, proved }
            }
            None => silent(format!("The gateway answered {status}, {}.", unusable(&body))),
        },
        Ok((404, _, proved)) => Standing::Unknown { proved },
        Ok((status, ..)) => silent(format!("The gateway answered with HTTP status {status}.")),
        Err(silence) => Standing::Silent(silence),
    })
}

fn silent(reason: String) -> Standing {
    Standing::Silent(Silence { reason, sent: true, may_be_held: true })
}

/// Status and body, or why there are none. What should be proved and is not, is no answer.
///
/// # Errors
/// As [`standing`].
pub(super) fn checked(ended: Ended, authentic: bool) -> Result<Result<(u16, Body, bool), Silence>, CallError> {
    checked_within(ended, authentic, BUDGET_MS)
}

/// The same of an exchange that had so many milliseconds.
///
/// # Errors
/// As [`standing`].
pub(crate) fn checked_within(
    ended: Ended,
    authentic: bool,
    budget_ms: u32,
) -> Result<Result<(u16, Body, bool), Silence>, CallError> {
    match ended {
        Ok(Outcome::Answered { status, body, authentic: proved }) if proved || !authentic => {
            Ok(Ok((status, body, proved)))
        }
        Ok(Outcome::Answered { .. }) => Ok(Err(failed(Failure::NotAuthentic, true, budget_ms))),
        Ok(Outcome::Failed { why, sent }) => Ok(Err(failed(why, sent, budget_ms))),
        Err(Interrupted { why, sent }) => match why {
            CallError::WorkerDied { how } => {
                let reason = format!("The process that talks to the gateway ended: {how}.");
                Ok(Err(Silence { reason, sent, may_be_held: sent }))
            }
            CallError::Deadline { .. } => {
                let reason = "The process that talks to the gateway did not finish in time.".to_owned();
                Ok(Err(Silence { reason, sent, may_be_held: sent }))
            }
            // it says itself which process is meant
            CallError::Unavailable { why } | CallError::Gone { why } => {
                let reason = format!("The gateway could not be asked: {why}.");
                Ok(Err(Silence { reason, sent, may_be_held: sent }))
            }
            other => Err(other),
        },
    }
}

fn failed(why: Failure, sent: bool, budget_ms: u32) -> Silence {
    let reason = match why {
        Failure::Unreachable => "Nobody listens at the gateway's address.".to_owned(),
        Failure::ConnectTimeout => "Nobody accepted a connection at the gateway's address in time.".to_owned(),
        Failure::Timeout => format!("The gateway did not answer within {}.", span(budget_ms)),
        Failure::Cut => "The connection to the gateway ended before an answer.".to_owned(),
        Failure::Babble(babble) => format!("The gateway's answer cannot be used: {}.", babble.words()),
        Failure::NotAuthentic => {
            "Bridge not authentic: whoever listens at the gateway's address did not show that it knows the operator's token."
                .to_owned()
        }
    };
    Silence { reason, sent, may_be_held: sent }
}

fn span(ms: u32) -> String {
    if ms.is_multiple_of(1_000) { format!("{} s", ms / 1_000) } else { format!("{ms} ms") }
}

/// The JSON of a body; a key twice, deep nesting or a cut make it none.
pub(crate) fn parsed(body: &Body) -> Option<Value> {
    match body {
        Body::Whole(bytes) => json::parse(bytes).ok(),
        Body::TooLong | Body::Cut => None,
    }
}

/// Why a body has no JSON.
pub(crate) fn unusable(body: &Body) -> &'static str {
    match body {
        Body::Whole(bytes) if bytes.is_empty() => "without a body",
        Body::Whole(_) => "with a body that is not JSON",
        Body::TooLong => "with a body that is too long",
        Body::Cut => "with a body that was cut off",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_keeps_an_exchange_from_its_end_is_said_once() {
        let said = |why: CallError| {
            let ended = Err(Interrupted { why, sent: true });
            let silence = checked_within(ended, false, 10_000).expect("not the call's end").expect_err("no answer");
            assert!(silence.sent && silence.may_be_held);
            silence.reason
        };
        let died = said(CallError::WorkerDied { how: "signal 9".into() });
        assert_eq!(died, "The process that talks to the gateway ended: signal 9.");
        let unavailable = said(CallError::Unavailable { why: "the server is ending".into() });
        assert_eq!(unavailable, "The gateway could not be asked: the server is ending.");
        let late = Ok(Outcome::Failed { why: Failure::Timeout, sent: true });
        let silence = checked_within(late, false, 2_700).expect("not the call's end").expect_err("no answer");
        assert_eq!(silence.reason, "The gateway did not answer within 2700 ms.");
    }
}
