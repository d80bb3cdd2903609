//! What the answer to a proposal means (contract `gateway.md`, *Preview lifecycle*): held, refused, or nobody knows.
//! Trust: the answer was said by whoever listens there; what is not said plainly counts as doubt.

use super::{
    ids::is_preview_id,
    wire::{Ended, Silence, checked, parsed, unusable},
};
use crate::outcome::CallError;
use bulkhead_contract::catalogue::OPEN_STATES;
use serde_json::Value;

/// What became of a proposal, as far as the answer to it says.
#[derive(Debug, Clone)]
pub(super) enum Posted {
    /// The gateway took it.
    Held {
        /// Canonical id.
        id: String,
        /// It said so plainly; else only a record of it will show that.
        certain: bool,
        /// The other side showed that it knows the token.
        proved: bool,
    },
    /// The gateway refused it.
    Refused {
        /// HTTP status.
        status: u16,
        /// What it said.
        body: Value,
        /// As above.
        proved: bool,
    },
    /// It took it under an id that is none.
    BadId {
        /// As above.
        proved: bool,
    },
    /// No answer that could be used.
    Silent(Silence),
    /// The call ends for another reason.
    Stopped(CallError, Silence),
}

/// Reads the answer to a proposal that was sent under the id `own`.
pub(super) fn read(ended: Ended, own: &str, authentic: bool) -> Posted {
    let sent = match &ended {
        Err(interrupted) => interrupted.sent,
        Ok(_) => true,
    };
    let (status, body, proved) = match checked(ended, authentic) {
        Ok(Ok(answer)) => answer,
        Ok(Err(silence)) => return Posted::Silent(silence),
        Err(why) => return Posted::Stopped(why, Silence { reason: String::new(), sent, may_be_held: sent }),
    };
    let json = parsed(&body);
    match status {
        200..=299 => {
            let id = json.as_ref().and_then(|json| json.get("previewId"));
            let open = json.as_ref().and_then(|json| json.get("status")?.as_str());
            let is_open = open.is_some_and(|status| OPEN_STATES.contains(&status));
            match id {
                Some(Value::String(id)) if is_preview_id(id) => Posted::Held { id: id.clone(), certain: true, proved },
                Some(Value::String(_)) => Posted::BadId { proved },
                _ => Posted::Held { id: own.to_owned(), certain: is_open, proved },
            }
        }
        // said by somebody else than the gateway, which never redirects: nothing was taken there
        300..=399 => Posted::Silent(Silence {
            reason: format!("The gateway answered with HTTP status {status}; redirections are not followed."),
            sent: true,
            may_be_held: false,
        }),
        _ => match json {
            Some(body) if body.get("error").is_some() => Posted::Refused { status, body, proved },
            _ => Posted::Silent(Silence {
                reason: format!("The gateway answered with HTTP status {status}, {}.", words(&body, json.is_some())),
                sent: true,
                may_be_held: status >= 500,
            }),
        },
    }
}

fn words(body: &bulkhead_ipc::edge::gateway::Body, is_json: bool) -> &'static str {
    if is_json { "without saying why" } else { unusable(body) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::Interrupted;
    use bulkhead_ipc::edge::gateway::{Body, Failure, Outcome};

    fn answered(status: u16, body: &str) -> Ended {
        Ok(Outcome::Answered { status, body: Body::Whole(body.as_bytes().to_vec()), authentic: false })
    }

    fn held(ended: Ended) -> Option<(String, bool)> {
        match read(ended, "own", false) {
            Posted::Held { id, certain, .. } => Some((id, certain)),
            _ => None,
        }
    }

    #[test]
    fn an_id_of_the_gateway_s_replaces_ours() {
        let some = |id: &str, certain| Some((id.to_owned(), certain));
        assert_eq!(held(answered(202, r#"{"previewId":"CANON_1-x"}"#)), some("CANON_1-x", true));
        assert_eq!(held(answered(202, r#"{"status":"pending"}"#)), some("own", true));
        for doubtful in
            ["", "{{", "5", "[]", r#"{"previewId":5}"#, r#"{"status":"weird"}"#, r#"{"a":1,"a":2,"previewId":"x"}"#]
        {
            assert_eq!(held(answered(200, doubtful)), some("own", false), "{doubtful}");
        }
        assert_eq!(
            held(Ok(Outcome::Answered { status: 202, body: Body::TooLong, authentic: false })),
            some("own", false)
        );
        for bad in [r#"{"previewId":""}"#, r#"{"previewId":"a/b"}"#, r#"{"previewId":"a\r\nb"}"#] {
            assert!(matches!(read(answered(202, bad), "own", false), Posted::BadId { .. }), "{bad}");
        }
    }

    #[test]
    fn a_refusal_says_why_and_everything_else_is_doubt() {
        for (status, body) in
            [(403, r#"{"error":"x"}"#), (500, r#"{"error":null}"#), (429, r#"{"error":{"code":"cap"}}"#)]
        {
            assert!(matches!(read(answered(status, body), "own", false), Posted::Refused { .. }), "{status}");
        }
        for (status, body, may_be_held) in
            [(307, "{}", false), (400, "{}", false), (500, r#"{"x":1}"#, true), (503, "busy", true), (404, "", false)]
        {
            match read(answered(status, body), "own", false) {
                Posted::Silent(silence) => assert_eq!(silence.may_be_held, may_be_held, "{status}"),
                other => panic!("{other:?}"),
            }
        }
        for (why, sent) in [(Failure::Unreachable, false), (Failure::Timeout, true), (Failure::Cut, true)] {
            match read(Ok(Outcome::Failed { why, sent }), "own", false) {
                Posted::Silent(silence) => assert_eq!((silence.sent, silence.may_be_held), (sent, sent)),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn what_should_be_proved_and_is_not_counts_for_nothing() {
        let ended = answered(202, r#"{"previewId":"x"}"#);
        assert!(
            matches!(read(ended, "own", true), Posted::Silent(silence) if silence.reason.starts_with("Bridge not authentic"))
        );
        let stopped = Err(Interrupted { why: CallError::Cancelled, sent: true });
        assert!(
            matches!(read(stopped, "own", false), Posted::Stopped(CallError::Cancelled, silence) if silence.may_be_held)
        );
    }
}
