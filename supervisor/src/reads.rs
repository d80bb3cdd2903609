//! What the MCP layer needs of the workers: one question in, one typed answer out.
//! Trust: the question was checked against the contract; the path in it is still the caller's and opaque here.

use crate::{
    control::Control,
    gateway::Interrupted,
    outcome::{Answered, CallError},
};
use bulkhead_ipc::edge::{
    agents,
    gateway::{Exchange, Outcome},
    read::Ask,
    syntax,
    write::{self, Operation},
};

/// One question to a repository.
#[derive(Debug, Clone)]
pub struct Question {
    /// The caller's absolute path, as it came.
    pub path: String,
    /// What is asked.
    pub ask: Ask,
    /// SHA-256 over tool name and canonical arguments: what poison memory knows this call by.
    pub fingerprint: [u8; 32],
}

/// Who asks, in its own words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Client {
    /// Its name.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
}

/// Answers questions; the pool of workers in the product, a stand-in in tests. Runs on one thread.
pub trait Reads {
    /// Answers within the deadline, or says why not.
    fn read(&self, question: Question, control: Control) -> impl Future<Output = Result<Answered, CallError>>;

    /// A call of `tool` by this client was about the repository at `canonical`. Nothing waits for what is made of it.
    fn noted(&self, client: &Client, tool: &str, canonical: &[u8]);

    /// Who works in the repository at `root`: first what the system's processes say, then what other programs keep. Files in it
    /// speak for the agents in `traced`.
    fn scan(
        &self,
        root: Vec<u8>,
        traced: Vec<String>,
        control: Control,
    ) -> impl Future<Output = Result<[agents::Found; 2], CallError>>;

    /// Carries one exchange to the gateway; [`crate::gateway::Bridge::exchange`] says what that promises.
    fn exchange(&self, exchange: Exchange, control: Control) -> impl Future<Output = Result<Outcome, Interrupted>>;

    /// Carries out one write in the repository that is served directly, after all that were asked for before.
    fn write(&self, operation: Operation, control: Control) -> impl Future<Output = Result<write::Outcome, CallError>>;

    /// The same of a worker that parses.
    fn syntax(&self, ask: syntax::Ask, control: Control) -> impl Future<Output = Result<syntax::Reply, CallError>>;
}
