//! What this server tells others like it about itself: which client asked it about which repositories, lately.
//! Trust: names are the client's and are cut; the file is written by a worker that can do nothing else.
//!
//! No call waits for it, and where it cannot be written, nothing fails.

use crate::{
    carrier::Carrier,
    control::Control,
    errands::{Errands, Notes},
    log,
    reads::Client,
    settings::Settings,
};
use bulkhead_contract::{
    agents::{MAX_CLIENT, client_name},
    isolation::Report,
    path::text_of,
};
use bulkhead_ipc::edge::note::{Ask, MAX_NOTED, Note, NotedRepo};
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::{
    task::spawn_local,
    time::{sleep, timeout},
};

/// Time between two notes: calls that come meanwhile are in the second one.
const PACE: Duration = Duration::from_secs(1);
/// Time for removing the file at the end.
const LEAVING: Duration = Duration::from_millis(500);

/// The own presence file, as far as the supervisor has to do with it.
#[derive(Clone)]
pub struct Presence(Option<Rc<Shared>>);

struct Shared {
    notes: Errands<Notes>,
    note: RefCell<Note>,
    /// What is noted has not been handed over yet.
    new: Cell<bool>,
    /// A task hands it over.
    writing: Cell<bool>,
    /// There may be a file to remove.
    written: Cell<bool>,
    /// It was told once that it fails.
    told: Cell<bool>,
}

impl Presence {
    /// Writes nothing yet; never, where the operator does not want it.
    #[must_use]
    pub fn new(settings: &Rc<Settings>, carrier: &Rc<dyn Carrier>, own: &Report) -> Self {
        Self(settings.agents.note.then(|| {
            let notes = Errands::new(Rc::clone(settings), Rc::clone(carrier), own);
            let note = RefCell::new(Note { client: None, version: None, repos: Vec::new() });
            let [new, writing, written, told] = [false; 4].map(Cell::new);
            Rc::new(Shared { notes, note, new, writing, written, told })
        }))
    }

    /// Takes note of a call of `tool` about the repository at `canonical`.
    pub fn note(&self, client: &Client, tool: &str, canonical: &[u8]) {
        let Some(shared) = &self.0 else { return };
        {
            let note = &mut *shared.note.borrow_mut();
            note.client = client.name.as_deref().and_then(client_name);
            note.version = client.version.as_ref().map(|version| version.chars().take(MAX_CLIENT).collect());
            let path = text_of(canonical).0;
            note.repos.retain(|repo| repo.path != path);
            note.repos.insert(0, NotedRepo { path, tool: tool.to_owned(), at_ms: now_ms() });
            note.repos.truncate(MAX_NOTED);
        }
        shared.new.set(true);
        if !shared.writing.replace(true) {
            drop(spawn_local(Rc::clone(shared).write()));
        }
    }

    /// Removes the file, in half a second at most.
    pub async fn leave(&self) {
        let Some(shared) = &self.0 else { return };
        if shared.written.get() {
            let (_stopper, control) = Control::pair(None);
            let _ = timeout(LEAVING, shared.notes.ask(Ask::Leave, control)).await;
        }
        shared.notes.close();
    }
}

impl Shared {
    /// Hands over what is noted until nothing is new.
    async fn write(self: Rc<Self>) {
        while self.new.replace(false) {
            let note = self.note.borrow().clone();
            let (_stopper, control) = Control::pair(None);
            self.written.set(true);
            let failed = match self.notes.ask(Ask::Note(note), control).await {
                Ok(noted) => noted.failed,
                Err(error) => Some(error.to_string()),
            };
            if let Some(why) = failed
                && !self.told.replace(true)
            {
                log::info(&format!("other servers are not told what this one does: {why}"));
            }
            sleep(PACE).await;
        }
        self.writing.set(false);
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl std::fmt::Debug for Presence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Presence").field("written", &self.0.as_ref().is_some_and(|it| it.written.get())).finish()
    }
}
