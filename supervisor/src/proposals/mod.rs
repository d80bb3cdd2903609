//! Proposals of writes: checked, recorded, carried to the gateway, and never taken for accepted out of doubt.
//! Trust: arguments are an agent's and fit their rows; answers were said by whoever listens at the gateway's address.
//!
//! A proposal goes through `home` (is there such a repository, and what should a person know of it), `outbox` (was it
//! made before), `body` (what leaves), the audit log (on disk before it leaves), the wire, and `posted`. What comes back
//! becomes a result in `answer`.

mod answer;
mod body;
mod facts;
mod home;
mod ids;
mod one;
mod outbox;
mod posted;
pub(crate) mod wire;

pub use answer::Failed;
pub use one::One;
pub use outbox::{Held, MAX_HELD, Outbox};

use crate::{
    audit::Entry,
    company::{self, Company},
    control::Control,
    outcome::{Broken, CallError},
    reads::{Question, Reads},
    settings::Settings,
    work::Done,
};
use answer::Story;
use body::{Common, sealed};
use bulkhead_contract::{agents::client_name, args::Violation, canonical, failure::Reason, rules, tool::Tool};
use bulkhead_ipc::edge::{
    gateway::{MAX_BODY, Method},
    read::Ask,
};
use home::Home;
use outbox::{Found, Key, State, Turn};
use posted::Posted;
use serde_json::Value;
use std::{collections::HashMap, pin::pin, time::Duration};
use wire::{Wire, standing};

/// By which name the gateway knows a client without a usable one (contract `protocol.md`, *Agent id*).
const NAMELESS: &str = "external-mcp-sidecar";
/// How long an answer waits for a look at other agents: it informs, and decides nothing.
const LOOKING: Duration = Duration::from_secs(2);

/// Who proposes, and what is remembered and recorded of it.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    /// Name that the client gave.
    pub client: Option<&'a str>,
    /// Keys of this server's proposals.
    pub outbox: &'a Outbox,
    /// The record of this call.
    pub entry: &'a Entry,
}

impl Asker<'_> {
    fn agent(&self) -> String {
        self.client.and_then(client_name).unwrap_or_else(|| NAMELESS.to_owned())
    }
}

/// A call of `operation.preview.*`.
#[derive(Debug, Clone)]
pub struct Proposal {
    tool: &'static Tool,
    operation: &'static str,
    /// The caller's, checked against the rows: an object.
    given: Value,
    /// What the rules say of them.
    broken: Vec<Violation>,
    fingerprint: [u8; 32],
}

impl Proposal {
    /// The proposal that a call of `tool` is; `None` where that proposes nothing.
    #[must_use]
    pub fn plan(tool: &'static Tool, arguments: &Value, fingerprint: [u8; 32]) -> Option<Self> {
        let operation = tool.proposes()?;
        let broken = rules::check(tool, arguments);
        Some(Self { tool, operation, given: arguments.clone(), broken, fingerprint })
    }

    /// About how many bytes it holds.
    #[must_use]
    pub fn size(&self) -> usize {
        size(&self.given)
    }

    /// The caller's path.
    #[must_use]
    pub fn asked(&self) -> &str {
        self.text("repoPath").unwrap_or_default()
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.given.get(name).and_then(Value::as_str)
    }

    /// Proposes it.
    ///
    /// # Errors
    /// [`CallError::Forbidden`] with everything that is wrong, [`CallError::Read`] where that is the repository alone, and
    /// what keeps a call from leaving this process. What the gateway says is no error but a [`Done`].
    pub async fn done<R: Reads>(
        self,
        reads: &R,
        settings: &Settings,
        asker: Asker<'_>,
        control: Control,
    ) -> Result<Done, CallError> {
        if settings.gateway.is_none() {
            // what is wrong is wrong without a gateway, too; workers are not troubled for it
            self.home_rules_alone()?;
            return Err(CallError::GatewaySilent { configured: false });
        }
        let wire = Wire::new(reads, settings, control.clone());
        let home = home::found(&self, reads, settings, wire.authentic, &control).await?;
        // looked for while the proposal is on its way, and told after the gateway has decided
        let mut look = pin!(self.others(reads, settings, asker, control));
        let mut proposed = pin!(self.proposed(&wire, &home, asker));
        let (done, others) = tokio::select! {
            biased;
            done = &mut proposed => (done, None),
            others = &mut look => (proposed.await, Some(others)),
        };
        let mut done = done?;
        let others = match others {
            Some(others) => others,
            None => look.await,
        };
        if let Some(others) = others {
            done.members.insert("otherAgents".to_owned(), others);
        }
        Ok(done)
    }

    fn home_rules_alone(&self) -> Result<(), CallError> {
        if self.broken.is_empty() { Ok(()) } else { Err(CallError::Forbidden { violations: self.rules_broken() }) }
    }

    fn rules_broken(&self) -> Vec<Broken> {
        let broken = |violation: &Violation| Broken { violation: violation.clone(), reason: Reason::BadArgument };
        self.broken.iter().map(broken).collect()
    }

    async fn proposed<R: Reads>(&self, wire: &Wire<'_, R>, home: &Home, asker: Asker<'_>) -> Result<Done, CallError> {
        let agent = asker.agent();
        let Some(key) = self.text("idempotencyKey").filter(|key| !key.is_empty()) else {
            let key = format!("{}:call:{}", self.operation, ids::uuid());
            return self.carried(wire, home, asker, Attempt::new(&agent, key), None).await;
        };
        let scoped = format!("{}:client:{key}", self.operation);
        let key = Key { agent: agent.clone(), operation: self.operation, key: key.to_owned() };
        let proposed = canonical::digest([&home.canonical(self.asked()).into(), &self.given]);
        let found = tokio::select! {
            biased;
            found = asker.outbox.turn(key, proposed) => found,
            () = wire.stopped() => return Err(CallError::Cancelled),
        };
        let attempt = Attempt::new(&agent, scoped);
        match found {
            Found::Mine(turn, None) => self.carried(wire, home, asker, attempt, Some(turn)).await,
            Found::Mine(mut turn, Some((id, requested_at))) => {
                let attempt = Attempt { id, requested_at, ..attempt };
                let story = attempt.story(self.tool);
                match standing(wire.status(&attempt.id).await, wire.authentic)? {
                    // it has nothing by that id: the same again is no second card
                    wire::Standing::Unknown { .. } => self.carried(wire, home, asker, attempt, Some(turn)).await,
                    known => {
                        if matches!(known, wire::Standing::Record { .. }) {
                            turn.leaves(State::Held { id: attempt.id.clone() });
                        }
                        Ok(story.again(known))
                    }
                }
            }
            Found::Held(id) => {
                let story = Attempt { id, ..attempt }.story(self.tool);
                let read = standing(wire.status(&story.id).await, wire.authentic)?;
                Ok(story.again(read))
            }
            Found::Other => {
                let violation = Violation {
                    path: "arguments.idempotencyKey".to_owned(),
                    problem:
                        "was used for another proposal, which the gateway may hold; a new proposal needs a new key"
                            .to_owned(),
                };
                Err(CallError::Forbidden { violations: vec![Broken { violation, reason: Reason::BadArgument }] })
            }
        }
    }

    /// Sends it, and reads once where it stands.
    async fn carried<R: Reads>(
        &self,
        wire: &Wire<'_, R>,
        home: &Home,
        asker: Asker<'_>,
        attempt: Attempt,
        mut turn: Option<Turn>,
    ) -> Result<Done, CallError> {
        let common = Common {
            preview_id: &attempt.id,
            agent: &attempt.agent,
            key: &attempt.key,
            requested_at: &attempt.requested_at,
        };
        let members = body::members(self.operation, &self.given, &common, |path| home.canonical(path));
        let body = sealed(members, home.facts.clone());
        if body.bytes.len() > MAX_BODY {
            let problem = format!("make a proposal of {} bytes; at most {MAX_BODY} can be sent", body.bytes.len());
            let violation = Violation { path: "arguments".to_owned(), problem };
            return Err(CallError::Forbidden { violations: vec![Broken { violation, reason: Reason::TooLarge }] });
        }
        let digest = body.digest;
        asker.entry.intend(Some(digest)).await?;
        let mut leaves = |state: State| {
            if let Some(turn) = &mut turn {
                turn.leaves(state);
            }
        };
        // true until more is known, also if this call is dropped on its way
        let doubt = || State::Doubt { id: attempt.id.clone(), requested_at: attempt.requested_at.clone() };
        leaves(doubt());
        let path = format!("operation/preview/{}", self.operation);
        let story = Story { digest: Some(digest), ..attempt.story(self.tool) };
        let post = wire.exchange(Method::Post, &path, Some(body.bytes));
        let (outcome, checkpoint) = tokio::join!(post, asker.entry.checkpoint());
        let posted = posted::read(outcome, &attempt.id, wire.authentic);
        leaves(match &posted {
            Posted::Held { id, .. } => State::Held { id: id.clone() },
            Posted::Refused { .. } => State::Free,
            Posted::Silent(silence) | Posted::Stopped(_, silence) if !silence.may_be_held => State::Free,
            _ => doubt(),
        });
        let mut done = match posted {
            Posted::Held { id, certain, proved } => {
                let story = Story { id, proved: Some(proved), ..story };
                let read = standing(wire.status(&story.id).await, wire.authentic);
                // a record of it is as good as a word
                if !certain && !matches!(read, Ok(wire::Standing::Record { .. })) {
                    leaves(doubt());
                }
                story.accepted(read?, certain)
            }
            Posted::Refused { status, body, proved } => Story { proved: Some(proved), ..story }.refused(status, body),
            Posted::BadId { proved } => Story { proved: Some(proved), ..story }.bad_id(),
            Posted::Silent(silence) => story.silent(silence),
            Posted::Stopped(why, _) => return Err(why),
        };
        if let Some(checkpoint) = checkpoint {
            done.members.insert("auditCheckpoint".to_owned(), checkpoint);
        }
        if done.members.get("accepted") == Some(&Value::Bool(true)) {
            done.about = Some(home.canonical(self.asked()).into_bytes());
        }
        Ok(done)
    }

    /// Who else works there. Nothing waits for it for long, and nothing depends on it.
    async fn others<R: Reads>(
        &self,
        reads: &R,
        settings: &Settings,
        asker: Asker<'_>,
        control: Control,
    ) -> Option<Value> {
        if !settings.agents.detect {
            return None;
        }
        let question = Question { path: self.asked().to_owned(), ask: Ask::Traces, fingerprint: self.fingerprint };
        let company = Company { question, asker: company::Asker::of(asker.client) };
        let around = tokio::time::timeout(LOOKING, company.around(reads, settings, control)).await.ok()?.ok()?;
        serde_json::to_value(company::other_agents(around, &self.given)).ok()
    }
}

/// By what a proposal is known while it is on its way.
#[derive(Debug, Clone)]
struct Attempt {
    id: String,
    agent: String,
    key: String,
    requested_at: String,
}

impl Attempt {
    fn new(agent: &str, key: String) -> Self {
        Self { id: ids::uuid(), agent: agent.to_owned(), key, requested_at: ids::now() }
    }

    fn story(&self, tool: &'static Tool) -> Story {
        Story { tool, id: self.id.clone(), key: Some(self.key.clone()), digest: None, proved: None }
    }
}

/// About how many bytes a value holds: its texts, and what stands around each.
fn size(value: &Value) -> usize {
    const AROUND: usize = 32;
    match value {
        Value::String(text) => AROUND + text.len(),
        Value::Array(items) => AROUND + items.iter().map(size).sum::<usize>(),
        Value::Object(members) => AROUND + members.iter().map(|(name, value)| name.len() + size(value)).sum::<usize>(),
        _ => AROUND,
    }
}

/// Canonical paths by the caller's.
type Canonical = HashMap<String, String>;
