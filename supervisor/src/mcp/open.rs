//! The calls that are being worked on: found by their id to be cancelled, and never two under one id.
//! Trust: ids are the client's; there are at most as many as the session admits.

use super::{jsonrpc::Id, reply_to::ReplyTo};
use crate::control::Stopper;
use std::{cell::RefCell, collections::HashMap, rc::Rc};
use tokio::task;

/// Shared between the session and the calls that it runs; all on one thread.
#[derive(Debug, Clone, Default)]
pub struct OpenCalls(Rc<RefCell<HashMap<Id, Call>>>);

#[derive(Debug)]
struct Call {
    stopper: Stopper,
    cancelled: bool,
    reply_to: ReplyTo,
    task: Option<task::Id>,
}

impl OpenCalls {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.borrow().len()
    }

    /// There are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A call of that id is being worked on.
    #[must_use]
    pub fn holds(&self, id: &Id) -> bool {
        self.0.borrow().contains_key(id)
    }

    /// Enters a call; `started` gives the task that serves it.
    pub fn enter(&self, id: &Id, stopper: Stopper, reply_to: ReplyTo) {
        self.0.borrow_mut().insert(id.clone(), Call { stopper, cancelled: false, reply_to, task: None });
    }

    /// Notes which task serves the call, so that the call is found should the task break.
    pub fn served_by(&self, id: &Id, task: task::Id) {
        if let Some(call) = self.0.borrow_mut().get_mut(id) {
            call.task = Some(task);
        }
    }

    /// The client wants no answer any more: stops the work. Unknown and finished ids are nothing to complain about.
    pub fn cancel(&self, id: &Id) {
        if let Some(call) = self.0.borrow_mut().get_mut(id) {
            call.cancelled = true;
            call.stopper.stop();
        }
    }

    /// Something may still be sent for the call.
    #[must_use]
    pub fn wanted(&self, id: &Id) -> bool {
        self.0.borrow().get(id).is_some_and(|call| !call.cancelled)
    }

    /// The call is over.
    pub fn leave(&self, id: &Id) {
        self.0.borrow_mut().remove(id);
    }

    /// Takes out the call whose task broke; says where its answer goes and whether one is wanted.
    #[must_use]
    pub fn take_broken(&self, task: task::Id) -> Option<(Id, ReplyTo, bool)> {
        let mut calls = self.0.borrow_mut();
        let id = calls.iter().find(|(_, call)| call.task == Some(task)).map(|(id, _)| id.clone())?;
        let call = calls.remove(&id)?;
        Some((id, call.reply_to, !call.cancelled))
    }

    /// Stops all work: the client is gone.
    pub fn stop_all(&self) {
        for call in self.0.borrow().values() {
            call.stopper.stop();
        }
    }
}
