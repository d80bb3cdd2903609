//! operation.status and operation.cancel: one proposal, by the id that the gateway knows it by.
//! Trust: the id is a caller's and a word by its row; answers were said by whoever listens at the gateway's address.

use super::{
    Asker,
    answer::Story,
    wire::{Silence, Standing, Wire, checked, parsed, standing},
};
use crate::{control::Control, outcome::CallError, reads::Reads, settings::Settings, work::Done};
use bulkhead_contract::{
    args::Checked,
    catalogue::{COMPLETED, FAILED_STATES},
    tool::Tool,
};
use bulkhead_ipc::edge::gateway::Method;
use serde_json::{Value, json};

const CANCELLED: &str = "cancelled";

/// A call about one proposal.
#[derive(Debug, Clone)]
pub struct One {
    tool: &'static Tool,
    preview_id: String,
}

impl One {
    /// The call; `None` for a tool that is about no proposal.
    #[must_use]
    pub fn plan(tool: &'static Tool, checked: &Checked<'_>) -> Option<Self> {
        Some(Self { tool, preview_id: checked.text("previewId")?.to_owned() })
    }

    /// Asks the gateway, or has it withdraw the proposal.
    ///
    /// # Errors
    /// What keeps a call from leaving this process. What the gateway says is no error but a [`Done`].
    pub async fn done<R: Reads>(
        self,
        reads: &R,
        settings: &Settings,
        asker: Asker<'_>,
        control: Control,
    ) -> Result<Done, CallError> {
        if settings.gateway.is_none() {
            return Err(CallError::GatewaySilent { configured: false });
        }
        let wire = Wire::new(reads, settings, control);
        if self.tool.annotations.read_only { self.status(&wire).await } else { self.cancel(&wire, asker).await }
    }

    fn story(&self) -> Story {
        Story { tool: self.tool, id: self.preview_id.clone(), key: None, digest: None, proved: None }
    }

    async fn status<R: Reads>(&self, wire: &Wire<'_, R>) -> Result<Done, CallError> {
        let story = self.story();
        Ok(match standing(wire.status(&self.preview_id).await, wire.authentic)? {
            Standing::Record { body, proved, .. } => Story { proved: Some(proved), ..story }.record(body),
            Standing::Unknown { proved } => Story { proved: Some(proved), ..story }.unknown(),
            Standing::Silent(silence) => story.silent(silence),
        })
    }

    async fn cancel<R: Reads>(&self, wire: &Wire<'_, R>, asker: Asker<'_>) -> Result<Done, CallError> {
        asker.entry.intend(None).await?;
        let body = json!({ "agentId": asker.agent() }).to_string().into_bytes();
        let path = format!("operation/cancel/{}", self.preview_id);
        let (ended, checkpoint) =
            tokio::join!(wire.exchange(Method::Post, &path, Some(body)), asker.entry.checkpoint());
        let story = self.story();
        let mut done = match checked(ended, wire.authentic)? {
            Err(silence) => story.silent(silence),
            Ok((status, body, proved)) => {
                let story = Story { proved: Some(proved), ..story };
                match (status, parsed(&body)) {
                    (200..=299, body) => self.withdrawn(wire, story, body).await?,
                    (404, _) => story.unknown(),
                    (300..=399, _) => story.silent(Silence {
                        reason: format!(
                            "The gateway answered with HTTP status {status}; redirections are not followed."
                        ),
                        sent: true,
                        may_be_held: true,
                    }),
                    (_, body) => story.not_cancelled(status, body),
                }
            }
        };
        if let Some(checkpoint) = checkpoint {
            done.members.insert("auditCheckpoint".to_owned(), checkpoint);
        }
        Ok(done)
    }

    /// What a good status means is what the body says, or the record where that says nothing.
    async fn withdrawn<R: Reads>(
        &self,
        wire: &Wire<'_, R>,
        story: Story,
        body: Option<Value>,
    ) -> Result<Done, CallError> {
        let status = |body: &Value| body.get("status").and_then(Value::as_str).map(str::to_owned);
        let (said, body) = match body.as_ref().and_then(status) {
            Some(said) => (said, body.unwrap_or_default()),
            None => match standing(wire.status(&self.preview_id).await, wire.authentic)? {
                Standing::Record { status: Some(said), body, .. } => (said, body),
                Standing::Unknown { .. } => return Ok(story.unknown()),
                Standing::Record { .. } | Standing::Silent(_) => {
                    let reason =
                        "The gateway did not say whether it withdrew the proposal, and neither does its record.";
                    return Ok(story.silent(Silence { reason: reason.to_owned(), sent: true, may_be_held: true }));
                }
            },
        };
        Ok(match said.as_str() {
            CANCELLED => story.cancelled(body),
            over if over == COMPLETED || FAILED_STATES.contains(&over) => story.ended(over, body),
            _ => {
                let reason = "The gateway did not withdraw the proposal, and did not say why.".to_owned();
                story.silent(Silence { reason, sent: true, may_be_held: true })
            }
        })
    }
}
