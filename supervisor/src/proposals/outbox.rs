//! What was proposed under which key of a client, so that a repeated call opens no second card: bounded, in memory.
//! Trust: keys are callers'; they are compared and forgotten.

use crate::recent::Recent;
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};
use tokio::sync::Notify;

/// Bytes of proposals that are worked on at once; one more is refused as busy.
pub const MAX_HELD: usize = 64 << 20;
/// Keys that are remembered. What falls out is proposed again under the same key, which the gateway knows, too.
pub const MAX_KEYS: usize = 1_024;

/// A client's key within its scope: one agent, one operation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    /// Who proposed.
    pub agent: String,
    /// What.
    pub operation: &'static str,
    /// As the client chose it.
    pub key: String,
}

/// The proposals that are worked on, and those of this server's life that have keys.
#[derive(Debug)]
pub struct Outbox {
    known: RefCell<Recent<Key, Rc<Sent>>>,
    held: Cell<usize>,
}

/// Room for a proposal that is worked on.
#[derive(Debug)]
pub struct Held {
    outbox: Rc<Outbox>,
    bytes: usize,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.outbox.held.set(self.outbox.held.get() - self.bytes);
    }
}

/// One of them.
#[derive(Debug)]
struct Sent {
    /// Of the arguments.
    arguments: [u8; 32],
    state: RefCell<State>,
    changed: Notify,
}

/// What is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Another call works on it.
    UnderWay,
    /// Nothing of it is with the gateway.
    Free,
    /// The gateway holds it, or held it, under this id.
    Held {
        /// Canonical id.
        id: String,
    },
    /// It may have reached the gateway.
    Doubt {
        /// The id that was sent.
        id: String,
        /// The time that was sent.
        requested_at: String,
    },
}

/// What a call finds under its key.
#[derive(Debug)]
pub enum Found {
    /// The call may propose; earlier, it may have been tried under this id and time.
    Mine(Turn, Option<(String, String)>),
    /// The gateway holds it under this id.
    Held(String),
    /// Another proposal has that key.
    Other,
}

/// The right to propose under a key. Dropped without a word, it leaves doubt where there was any, and room for the next.
#[derive(Debug)]
pub struct Turn {
    sent: Rc<Sent>,
    after: State,
}

impl Default for Outbox {
    fn default() -> Self {
        Self { known: RefCell::new(Recent::new(MAX_KEYS)), held: Cell::new(0) }
    }
}

impl Outbox {
    /// Room for a proposal of so many bytes; `None` where others take too much. One alone always has room.
    #[must_use]
    pub fn hold(self: &Rc<Self>, bytes: usize) -> Option<Held> {
        let before = self.held.get();
        if before > 0 && before + bytes > MAX_HELD {
            return None;
        }
        self.held.set(before + bytes);
        Some(Held { outbox: Rc::clone(self), bytes })
    }

    /// Looks a key up, and waits while another call works under it; that ends within its own deadlines.
    pub async fn turn(&self, key: Key, arguments: [u8; 32]) -> Found {
        loop {
            let sent = {
                let mut known = self.known.borrow_mut();
                let free = || {
                    let state = RefCell::new(State::Free);
                    Rc::new(Sent { arguments, state, changed: Notify::new() })
                };
                Rc::clone(known.get_or(key.clone(), free))
            };
            let state = sent.state.borrow().clone();
            // a key under which nothing is with the gateway is free for anything
            if sent.arguments != arguments && state != State::Free {
                return Found::Other;
            }
            let before = match state {
                State::Held { id } => return Found::Held(id),
                State::UnderWay => {
                    sent.changed.notified().await;
                    continue;
                }
                State::Free if sent.arguments != arguments => {
                    self.known.borrow_mut().remove(&key);
                    continue;
                }
                State::Free => None,
                State::Doubt { id, requested_at } => Some((id, requested_at)),
            };
            let after = sent.state.replace(State::UnderWay);
            return Found::Mine(Turn { sent, after }, before);
        }
    }
}

impl Turn {
    /// What will be true when this call ends, as far as is known now.
    pub fn leaves(&mut self, state: State) {
        self.after = state;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *self.sent.state.borrow_mut() = self.after.clone();
        self.sent.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::{task::LocalSet, time::timeout};

    fn key(name: &str) -> Key {
        Key { agent: "a".into(), operation: "merge", key: name.into() }
    }

    fn doubt() -> State {
        State::Doubt { id: "p".into(), requested_at: "t".into() }
    }

    #[tokio::test]
    async fn a_key_is_one_proposal_s_for_as_long_as_it_may_be_with_the_gateway() {
        let outbox = Outbox::default();
        let Found::Mine(mut turn, None) = outbox.turn(key("k"), [1; 32]).await else { panic!("it is new") };
        turn.leaves(doubt());
        drop(turn);
        assert!(matches!(outbox.turn(key("k"), [2; 32]).await, Found::Other));
        let Found::Mine(mut turn, Some(before)) = outbox.turn(key("k"), [1; 32]).await else { panic!("doubt") };
        assert_eq!(before, ("p".to_owned(), "t".to_owned()));
        turn.leaves(State::Held { id: "q".into() });
        drop(turn);
        assert!(matches!(outbox.turn(key("k"), [1; 32]).await, Found::Held(id) if id == "q"));
        let other = Key { agent: "b".into(), ..key("k") };
        assert!(matches!(outbox.turn(other, [1; 32]).await, Found::Mine(_, None)), "keys are an agent's own");
    }

    #[tokio::test]
    async fn what_never_left_leaves_the_key_free() {
        let outbox = Outbox::default();
        drop(outbox.turn(key("k"), [1; 32]).await);
        assert!(matches!(outbox.turn(key("k"), [2; 32]).await, Found::Mine(_, None)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_call_waits_for_the_first() {
        let outbox = Rc::new(Outbox::default());
        let local = LocalSet::new();
        local
            .run_until(async {
                let Found::Mine(mut turn, None) = outbox.turn(key("k"), [1; 32]).await else { panic!("it is new") };
                let second = tokio::task::spawn_local({
                    let outbox = Rc::clone(&outbox);
                    async move { outbox.turn(key("k"), [1; 32]).await }
                });
                assert!(
                    timeout(Duration::from_secs(1), async {
                        while !second.is_finished() {
                            tokio::time::sleep(Duration::from_millis(10)).await
                        }
                    })
                    .await
                    .is_err()
                );
                turn.leaves(State::Held { id: "q".into() });
                drop(turn);
                assert!(matches!(second.await.expect("it ends"), Found::Held(id) if id == "q"));
            })
            .await;
    }

    #[test]
    fn what_is_worked_on_at_once_has_a_bound() {
        let outbox = Rc::new(Outbox::default());
        let large = outbox.hold(MAX_HELD + 1).expect("one alone has room");
        assert!(outbox.hold(1).is_none());
        drop(large);
        let many: Vec<_> = (0..8).map_while(|_| outbox.hold(MAX_HELD / 4)).collect();
        assert_eq!(many.len(), 4);
        drop(many);
        assert!(outbox.hold(MAX_HELD).is_some());
    }

    #[tokio::test]
    async fn no_more_keys_than_a_bound_are_kept() {
        let outbox = Outbox::default();
        for number in 0..MAX_KEYS + 5 {
            let Found::Mine(mut turn, _) = outbox.turn(key(&number.to_string()), [1; 32]).await else { panic!("new") };
            turn.leaves(doubt());
        }
        assert!(matches!(outbox.turn(key("0"), [2; 32]).await, Found::Mine(_, None)), "the oldest fell out");
        let newest = key(&(MAX_KEYS + 4).to_string());
        assert!(matches!(outbox.turn(newest, [2; 32]).await, Found::Other));
    }
}
